// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.io.{CharConversionException, IOException}
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.charset.MalformedInputException
import java.nio.file.Path

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.arrowsmith.JsonKinds
import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.catalyst.arrowsmith.Canonical
import org.apache.spark.sql.catalyst.json.{JSONOptionsInRead, JsonInferSchema}
import org.apache.spark.sql.catalyst.util.{DropMalformedMode, FailFastMode, PermissiveMode}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.arrowsmith.Settings
import org.apache.spark.sql.types._

/**
 * Infers the schema of lines of JSON: the engine finds the kinds of the values of every field, and
 * Spark's own rules make types of them. Records that the engine leaves are read by Spark's
 * inference.
 */
private object Inference {

  /** The schema that Spark infers; `None` if that is left to Spark. */
  def schema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] = {
    val conf = session.sessionState.conf
    val parsed =
      new JSONOptionsInRead(options, conf.sessionLocalTimeZone, conf.columnNameOfCorruptRecord)
    val hadoop = session.sessionState.newHadoopConf()
    val plain = files.forall { file =>
      file.getPath.toUri.getScheme == "file" && !Settings.isCompressed(hadoop, file.getPath)
    }
    val native = Support.options(options) && parsed.samplingRatio == 1.0 &&
      !parsed.prefersDecimal && !parsed.inferTimestamp
    if (files.isEmpty || !plain || !native) {
      None
    } else {
      val parallelism = session.sparkContext.defaultParallelism
      val parts = split(files, conf.filesMaxPartitionBytes, conf.filesOpenCostInBytes, parallelism)
      SQLExecution.withSQLConfPropagated(session.asInstanceOf[classic.SparkSession]) {
        val inference = new JsonInferSchema(parsed)
        val task = InferenceTask(inference, parsed, Counters(session.sparkContext))
        val records = if (parts.isEmpty) {
          Array.empty[Records]
        } else {
          session.sparkContext.parallelize(parts, parts.length).map(task).collect()
        }
        merged(records, parsed).map(Canonical.schema(_, inference, parsed))
      }
    }
  }

  /** The files in parts, and several of these in a task if they are small: as Spark does it. */
  private def split(
      files: Seq[FileStatus],
      bytesMax: Long,
      openBytes: Long,
      parallelism: Int): Seq[Seq[Part]] = {
    val total = files.map(_.getLen + openBytes).sum
    val size = math.max(1L, math.min(bytesMax, math.max(openBytes, total / parallelism)))
    val parts = files.flatMap { file =>
      val path = file.getPath.toUri.getPath
      (0L until file.getLen by size).map { start =>
        Part(path, start, math.min(start + size, file.getLen))
      }
    }
    val tasks = ArrayBuffer(ArrayBuffer.empty[Part])
    var filled = 0L
    parts.sortBy(part => part.start - part.end).foreach { part =>
      val bytes = part.end - part.start
      if (filled > 0 && filled + bytes > size) {
        tasks += ArrayBuffer.empty
        filled = 0
      }
      tasks.last += part
      filled += bytes + openBytes
    }
    tasks.filter(_.nonEmpty).map(_.toSeq).toSeq
  }

  /** The type of all records; `None` if only Spark knows it. */
  private def merged(records: Array[Records], options: JSONOptionsInRead): Option[DataType] = {
    val merge =
      JsonInferSchema.compatibleRootType(options.columnNameOfCorruptRecord, options.parseMode)
    val objects = records.map(_.objects).foldLeft[DataType](StructType(Nil))(merge)
    val others = records.flatMap(_.others).reduceOption(merge)
    // What is not an object adds the column of bad records, unless records have a field of that
    // name: then the type depends on which Spark sees first.
    val corrupt = objects match {
      case struct: StructType =>
        struct.exists { field =>
          field.name == options.columnNameOfCorruptRecord && field.dataType != StringType
        }
      case _ => false
    }
    val failed = records.exists(_.failed) || (others.isDefined && corrupt)
    if (failed) None else Some(others.foldLeft(objects)(merge))
  }
}

/** A part of a file: lines that begin after `start`, or with 0 at it, and at `end` or before. */
private final case class Part(path: String, start: Long, end: Long)

/**
 * The types of records.
 *
 * @param objects that of all objects
 * @param others that of records that are none, if there are any
 * @param failed whether Spark has to look at all of them itself, and perhaps to fail
 */
private final case class Records(objects: DataType, others: Option[DataType], failed: Boolean)

/** Finds the types of the records of parts. */
private final case class InferenceTask(
    inference: JsonInferSchema,
    options: JSONOptionsInRead,
    counters: Counters)
    extends (Seq[Part] => Records) {

  override def apply(parts: Seq[Part]): Records = {
    val found = new Found(this)
    try {
      parts.foreach(new Blocks(_).foreach(found.add))
    } catch {
      // A file that is gone, a line that does not fit into memory: Spark knows what to do with it.
      case _: IOException => found.fail()
    }
    found.records
  }
}

/** The types of the records that a task has seen. */
private final class Found(task: InferenceTask) {
  import task.{counters, inference, options}

  private val merge =
    JsonInferSchema.compatibleRootType(options.columnNameOfCorruptRecord, options.parseMode)
  private val factory = options.buildJsonFactory()
  private val mapper = new ObjectMapper()

  private var objects: DataType = StructType(Nil)
  private var others: Option[DataType] = None
  private var failed = false

  /** Time in the engine. */
  private var nanos = 0L

  /** What was found, at the end. */
  def records: Records = {
    counters.millis.add(nanos / 1000000)
    Records(objects, others, failed)
  }

  def fail(): Unit = failed = true

  /** Adds the records of a block of lines. */
  def add(lines: ByteBuffer): Unit = while (lines.hasRemaining && !failed) {
    val began = System.nanoTime
    val kinds = mapper.readTree(JsonKinds.of(lines))
    nanos += System.nanoTime - began
    val seen = typeOf(kinds.get("kinds"))
    if (seen.isInstanceOf[StructType]) {
      objects = merge(objects, seen)
    }
    kinds.get("left").elements.asScala.foreach { at =>
      left(lines, lines.position() + at.intValue)
    }
    lines.position(lines.position() + kinds.get("read").intValue)
  }

  /** The type of the values of a place, by Spark's rules. */
  private def typeOf(place: JsonNode): DataType =
    place.get("seen").elements.asScala.foldLeft[DataType](NullType) { (before, kind) =>
      JsonInferSchema.compatibleType(before, typeOf(place, kind.textValue))
    }

  private def typeOf(place: JsonNode, kind: String): DataType = kind match {
    case "null" | "empty" => NullType
    case "boolean" | "integer" | "large" | "float" if options.primitivesAsString => StringType
    case "boolean" => BooleanType
    case "integer" => LongType
    case "large" => DecimalType(place.get("digits").intValue, 0)
    case "float" => DoubleType
    case "string" => StringType
    case "list" => ArrayType(typeOf(place.get("items")))
    case "object" =>
      val fields = place.get("fields").properties.asScala.toArray.map { field =>
        StructField(field.getKey, typeOf(field.getValue))
      }
      java.util.Arrays.sort(fields, JsonInferSchema.structFieldComparator)
      StructType(fields)
  }

  /** The line at `start`, which the engine has left. */
  private def left(lines: ByteBuffer, start: Int): Unit = {
    var at = start
    var from = start
    // A carriage return ends a line, too.
    while (at < lines.limit && lines.get(at) != '\n') {
      if (lines.get(at) == '\r') {
        line(lines, from, at)
        from = at + 1
      }
      at += 1
    }
    line(lines, from, at)
  }

  private def line(lines: ByteBuffer, from: Int, to: Int): Unit = if (from < to && !failed) {
    val bytes = new Array[Byte](to - from)
    lines.get(from, bytes)
    counters.refused.add(1)
    typeOf(bytes).foreach {
      case known @ (_: StructType | NullType) => objects = merge(objects, known)
      case _ if options.parseMode == FailFastMode => failed = true
      case other => others = Some(others.fold(other)(merge(_, other)))
    }
  }

  /** The type of a record, by Spark's inference. */
  private def typeOf(record: Array[Byte]): Option[DataType] =
    try {
      val parser = factory.createParser(record, 0, record.length)
      try {
        parser.nextToken()
        Some(inference.inferField(parser))
      } finally {
        parser.close()
      }
    } catch {
      case _: RuntimeException | _: JsonProcessingException | _: MalformedInputException |
          _: CharConversionException =>
        options.parseMode match {
          case PermissiveMode =>
            Some(StructType(Seq(StructField(options.columnNameOfCorruptRecord, StringType))))
          case DropMalformedMode => None
          case FailFastMode =>
            failed = true
            None
        }
    }
}

/** Reads the lines of a part in blocks. */
private final class Blocks(part: Part) {
  import Blocks._

  /** Calls `use` with each block, which is valid during the call. */
  def foreach(use: ByteBuffer => Unit): Unit = {
    val channel = FileChannel.open(Path.of(part.path))
    var block = ByteBuffer.allocateDirect(BytesMin)
    try {
      var at = bound(channel, part.start)
      val last = bound(channel, part.end)
      if (at == 0) {
        at = afterMark(channel)
      }
      while (at < last) {
        fill(channel, block, at, last)
        val end = if (at + block.limit >= last) block.limit else wholeLines(block)
        if (end == 0) {
          block = larger(block)
        } else {
          use(block.duplicate().limit(end))
          at += end
        }
      }
    } finally {
      Settings.unmap(block)
      channel.close()
    }
  }
}

private object Blocks {

  /** Bytes of a block, unless a line is longer. */
  private val BytesMin = 4 << 20
  private val BytesMax = 64 << 20

  /** Where the first line begins that begins after `offset`, or at 0. */
  private def bound(channel: FileChannel, offset: Long): Long = {
    val piece = ByteBuffer.allocate(8192)
    var at = offset
    while (offset > 0 && at < channel.size) {
      piece.clear()
      val count = channel.read(piece, at)
      val found = piece.array.indexOf('\n'.toByte)
      if (found >= 0 && found < count) {
        return at + found + 1
      }
      at += math.max(count, 0)
    }
    at
  }

  /** The first byte after a mark of the byte order. */
  private def afterMark(channel: FileChannel): Long = {
    val mark = ByteBuffer.allocate(3)
    channel.read(mark, 0)
    if (mark.array.sameElements(Array(0xef, 0xbb, 0xbf).map(_.toByte))) 3 else 0
  }

  private def fill(channel: FileChannel, block: ByteBuffer, at: Long, last: Long): Unit = {
    block.clear().limit(math.min(block.capacity, last - at).toInt)
    while (block.hasRemaining) {
      if (channel.read(block, at + block.position()) < 0) {
        throw new IOException("the file was truncated")
      }
    }
    block.flip()
  }

  /** The bytes of the whole lines of a block. */
  private def wholeLines(block: ByteBuffer): Int = {
    var end = block.limit
    while (end > 0 && block.get(end - 1) != '\n') {
      end -= 1
    }
    end
  }

  private def larger(block: ByteBuffer): ByteBuffer = {
    if (block.capacity >= BytesMax) {
      throw new IOException("a line is too long")
    }
    Settings.unmap(block)
    ByteBuffer.allocateDirect(2 * block.capacity)
  }
}
