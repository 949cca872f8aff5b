// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.channels.FileChannel.MapMode
import java.nio.file.Path

import io.arrowsmith.Utf8

import org.apache.spark.sql.execution.arrowsmith.Settings

/**
 * A part of a split: the lines that begin after `start`, or with 0 at it, and at `end` or before.
 *
 * @param native whether the engine reads it, or Spark
 */
private final case class Stretch(start: Long, end: Long, native: Boolean)

/**
 * The stretches of a split. The engine does not validate the UTF-8 of keys and of values that no
 * column needs, and takes keys of any length. Jackson calls most such records malformed: the lines
 * with these are Spark's, and what is between them if it is little. Everything is looked at once,
 * and not far ahead of what is read: a query may end.
 *
 * @param path the file
 * @param start of the split
 * @param last the end of the split
 */
private final class Stretches(path: Path, start: Long, last: Long) extends Iterator[Stretch] {
  import Stretches._

  private var at = start
  private var begun = false
  private var window = WindowBytesMin

  /** The stretch after one of the engine, if it is known. */
  private var following: Stretch = _

  /** Where the next stretch starts. */
  def position: Long = at

  // At least one: it is the reader of a stretch that notices a file that is gone.
  override def hasNext: Boolean = !begun || at < last

  override def next(): Stretch = {
    begun = true
    val stretch = if (following == null) look() else following
    if (following eq stretch) {
      following = null
    }
    at = stretch.end
    stretch
  }

  private def look(): Stretch = {
    val to = if (last - at < 2 * window) last else at + window
    window = math.min(2 * window, WindowBytesMax)
    val channel = FileChannel.open(path)
    try {
      val end = math.min(channel.size, to + LineBytesMax)
      if (end <= at) {
        Stretch(at, last, native = true)
      } else {
        val text = channel.map(MapMode.READ_ONLY, at, end - at)
        try split(text, (to - at).toInt)
        finally Settings.unmap(text)
      }
    } finally {
      channel.close()
    }
  }

  /** The stretch at the start of the text, which ends with a line around `to`. */
  private def split(text: ByteBuffer, to: Int): Stretch = {
    val first = if (at == 0) 0 else after(text, 0)
    val end = lineEnd(text, math.min(to, text.limit))
    val left = if (first <= end) leftLine(text, first, end) else -1
    if (left < 0) {
      Stretch(at, if (at + to == last) last else at + end, native = true)
    } else {
      var leftEnd = lineEnd(text, left)
      var more = 0
      while (more >= 0) {
        val next = math.min(leftEnd + 1, end)
        more = leftLine(text, next, lineEnd(text, math.min(next + NearBytes, end)))
        if (more >= 0) {
          leftEnd = lineEnd(text, more)
        }
      }
      val spark = Stretch(at + math.max(left - 1, 0), at + leftEnd, native = false)
      if (left == first) {
        spark
      } else {
        following = spark
        Stretch(at, spark.start, native = true)
      }
    }
  }
}

private object Stretches {

  /** Bytes that are looked at in one go: few at first. */
  private val WindowBytesMin = 4L << 20
  private val WindowBytesMax = 64L << 20

  /** More than any line that the engine reads: longer ones end the reading, and are Spark's. */
  private val LineBytesMax = 32L << 20

  /** Opening the engine once more takes as long as Spark's parser does for this. */
  private val NearBytes = 64 << 10

  /** Jackson's limit, of the bytes of a key. */
  private val KeyBytesMax = 50000

  /**
   * The first line that begins from `from` on and is to be left to Spark, or -1; `to` is the end of
   * a line.
   */
  private def leftLine(text: ByteBuffer, from: Int, to: Int): Int = {
    val broken = Utf8.end(text, from, to)
    val line = if (broken == to) -1 else lineStart(text, from, broken)
    val long = lineWithLongKey(text, from, if (broken == to) to else line)
    if (long < 0) line else long
  }

  /** The first line with a key that is too long, or -1. Only long lines are looked at. */
  private def lineWithLongKey(text: ByteBuffer, from: Int, to: Int): Int = {
    var line = from
    while (to - line > KeyBytesMax) {
      val within = lineStart(text, line, line + KeyBytesMax)
      if (within > line) {
        line = within
      } else {
        val end = lineEnd(text, line + KeyBytesMax)
        if (hasLongKey(text, line, end)) {
          return line
        }
        line = end + 1
      }
    }
    -1
  }

  /** Whether a string of a line is too long for a key, and before a colon. */
  private def hasLongKey(text: ByteBuffer, line: Int, end: Int): Boolean = {
    var quote = line
    while (end - quote > KeyBytesMax) {
      // One that follows no backslash is the start or the end of a string.
      var next = quote + KeyBytesMax
      while (next > quote && !(text.get(next) == '"' && text.get(next - 1) != '\\')) {
        next -= 1
      }
      if (next == quote) {
        next += 1
        while (next < end && text.get(next) != '"') {
          next += (if (text.get(next) == '\\') 2 else 1)
        }
        var colon = next + 1
        while (colon < end && Blanks.indexOf(text.get(colon).toInt) >= 0) {
          colon += 1
        }
        if (colon < end && text.get(colon) == ':') {
          return true
        }
      }
      quote = next
    }
    false
  }

  /** The start of the line of a byte, not before `from`. */
  private def lineStart(text: ByteBuffer, from: Int, byte: Int): Int = {
    var at = byte
    while (at > from && text.get(at - 1) != '\n') {
      at -= 1
    }
    at
  }

  /** The line feed of the line of a byte, or the end of the text. */
  private def lineEnd(text: ByteBuffer, byte: Int): Int = {
    var at = byte
    while (at < text.limit && text.get(at) != '\n') {
      at += 1
    }
    at
  }

  /** The start of the line after that of a byte. */
  private def after(text: ByteBuffer, byte: Int): Int =
    math.min(lineEnd(text, byte) + 1, text.limit)

  /** The white space of JSON. */
  val Blanks = " \t\r\n"
}
