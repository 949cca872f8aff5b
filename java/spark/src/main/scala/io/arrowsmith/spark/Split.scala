// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.io.{Closeable, IOException}
import java.nio.file.Path
import java.util.{Map => JavaMap}

import com.fasterxml.jackson.core.JsonFactory
import io.arrowsmith.{JsonBatches, RejectedRecord}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.io.Text

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{CreateJacksonParser, JSONOptionsInRead, JacksonParser}
import org.apache.spark.sql.catalyst.util.FailureSafeParser
import org.apache.spark.sql.execution.arrowsmith.{Rows, Settings}
import org.apache.spark.sql.execution.datasources.{HadoopFileLinesReader, PartitionedFile}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a query reads of JSON.
 *
 * @param required the columns that are wanted, perhaps with that of bad records
 * @param partitions columns with the values in the names of folders
 * @param filters conditions that may spare Spark's parser work
 * @param options how records are read
 * @param dialect whether the engine reads Spark's dialect
 */
private case class Scan(
    required: StructType,
    partitions: StructType,
    filters: Seq[Filter],
    options: JSONOptionsInRead,
    dialect: Boolean) {

  /** The number of the column with the text of bad records, or -1. */
  val corrupt: Int = required.fieldNames.indexOf(options.columnNameOfCorruptRecord)

  /** The columns of the records. */
  val asked: StructType =
    StructType(required.filterNot(_.name == options.columnNameOfCorruptRecord))

  /** The columns that the engine reads: at least one, perhaps of a name that no record has. */
  val decoded: StructType =
    if (asked.isEmpty) new StructType().add("\u0001", LongType) else asked

  /** All columns. */
  def output: StructType = StructType(required ++ partitions)

  def columns: Int = required.length + partitions.length
}

/**
 * The batches of a split, one stretch after another: those of the engine, and between them the rows
 * of the records that it refused, from Spark's parser, at the place of these records. If the engine
 * cannot go on, Spark's parser reads the lines after the records that were read already. If it
 * refuses most records, Spark's reader reads the rest of the split, from the next record on.
 *
 * A batch is valid until the next one is requested.
 */
private final class Split(
    file: PartitionedFile,
    scan: Scan,
    counters: Counters,
    conf: => Configuration,
    spark: PartitionedFile => Iterator[InternalRow])
    extends Iterator[ColumnarBatch]
    with Closeable {
  import Split._

  private val path = Path.of(file.toPath.toUri.getPath)
  private val last = file.start + file.length

  /** The next stretches; none once Spark has taken over. */
  private var stretches = new Stretches(path, file.start, last)

  /** Where the engine's stretch starts, and its reader. */
  private var start = file.start
  private var native: JsonBatches = _
  private var nativeBytes = 0L
  private var ended = false

  /** The batches of Spark's reader, of a stretch or of all that is left. */
  private var rest: Iterator[ColumnarBatch] = _

  /** The next batch, if it was requested. */
  private var ready: ColumnarBatch = _

  /** The engine's batch, its rows, and how many of them were returned. */
  private var decoded: Array[ColumnVector] = _
  private var rows = 0
  private var taken = 0

  /** Number of the next record of the stretch. */
  private var record = 0L
  private var reject: RejectedRecord = _

  /** Records that were refused. */
  private var refusals = 0L

  /** Time in the engine. */
  private var nanos = 0L

  private lazy val fallback = new Fallback(scan)
  private lazy val partitions = constants(file, scan)

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => close()))

  override def hasNext: Boolean = {
    if (ready == null && !ended) {
      ready = advance()
      if (ready == null) {
        ended = true
      }
    }
    ready != null
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) {
      throw new NoSuchElementException("the split has ended")
    }
    val batch = ready
    ready = null
    batch
  }

  /** The next batch, or null. */
  @scala.annotation.tailrec
  private def advance(): ColumnarBatch = {
    if (rest != null && rest.hasNext) {
      rest.next()
    } else if (rest != null) {
      rest = null
      advance()
    } else if (peek() != null && reject.number == record) {
      val batch = refused()
      if (batch == null) advance() else batch
    } else if (taken < rows) {
      accepted()
    } else if (native == null) {
      if (stretches == null || !stretches.hasNext) {
        null
      } else {
        engine(begin())
        advance()
      }
    } else if (engine(load()) || rest != null) {
      advance()
    } else if (peek() == null) {
      Settings.countBytes(nativeBytes)
      close()
      advance()
    } else if (reject.number == record) {
      advance()
    } else {
      throw new IllegalStateException(s"record $record of $file was lost")
    }
  }

  /** The next record that was refused, if it is known. */
  private def peek(): RejectedRecord = {
    if (reject == null && native != null) {
      reject = native.reject()
    }
    reject
  }

  /** The rows before the next reject. */
  private def accepted(): ColumnarBatch = {
    val before = if (reject == null) Long.MaxValue else reject.number - record
    val count = math.min((rows - taken).toLong, before).toInt
    val columns = new Array[ColumnVector](scan.columns)
    ArrowsmithVector.show(decoded, ArrowsmithVector.offset(native.array) + taken, count)
    var column = 0
    while (column < scan.required.length) {
      columns(column) =
        if (column == scan.corrupt) ArrowsmithVector.nulls(StringType, count)
        else decoded(if (scan.corrupt >= 0 && column > scan.corrupt) column - 1 else column)
      column += 1
    }
    taken += count
    record += count
    complete(columns, count)
  }

  /** The rows of records in a row that were refused; null if Spark's parser drops them. */
  private def refused(): ColumnarBatch = {
    var left = BatchRows
    var offset = 0L
    val texts = new Iterator[Text] {
      override def hasNext: Boolean =
        left > 0 && peek() != null && reject.number == record
      override def next(): Text = {
        left -= 1
        val text = new Text(reject.text)
        offset = reject.offset
        reject = null
        record += 1
        refusals += 1
        text
      }
    }
    val (columns, count) = fallback.take(fallback.rows(texts), Int.MaxValue)
    if (refusals >= RefusalsMin && refusals > record / 2) {
      leave(offset)
    }
    if (count == 0) null else complete(columns, count)
  }

  /** Leaves the records after the one at this byte to Spark's reader. */
  private def leave(offset: Long): Unit = {
    close()
    stretches = null
    counters.splits.add(1)
    Settings.countBytes(offset - start)
    rest = batches(spark(part(offset, last)), scan)
  }

  /** A part of the file. It begins with the first line that begins after its start. */
  private def part(from: Long, to: Long): PartitionedFile =
    file.copy(start = from, length = math.max(0L, to - from))

  /** The rows of some lines, by Spark's parser. */
  private def parsed(lines: Iterator[Text]): Iterator[ColumnarBatch] = {
    val rows = fallback.rows(lines)
    new Iterator[ColumnarBatch] {
      override def hasNext: Boolean = rows.hasNext
      override def next(): ColumnarBatch = {
        val (columns, count) = fallback.take(rows, BatchRows)
        complete(columns, count)
      }
    }
  }

  private def lines(from: Long, to: Long): Iterator[Text] = {
    val lines = new HadoopFileLinesReader(part(from, to), conf)
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => lines.close()))
    lines
  }

  /** The lines without as many at the start as have `count` records. */
  private def without(count: Long, lines: Iterator[Text]): Iterator[Text] = {
    var left = count
    while (left > 0 && lines.hasNext) {
      if (!isBlank(lines.next())) {
        left -= 1
      }
    }
    lines
  }

  private def complete(columns: Array[ColumnVector], count: Int): ColumnarBatch = {
    Array.copy(partitions, 0, columns, scan.required.length, partitions.length)
    new ColumnarBatch(columns, count)
  }

  /** What the engine does, if it can; else Spark reads all that is left of the split. */
  private def engine(work: => Boolean): Boolean = {
    val began = System.nanoTime
    try work
    catch {
      case _: IOException | _: IllegalArgumentException =>
        // A record that is too long, a lone carriage return, a file that is not there: Spark
        // knows what to do with it.
        val read = record
        close()
        stretches = null
        // Records are counted, not rows: a condition that was pushed down takes rows from Spark's
        // parser, but none from the engine.
        rest = parsed(without(read, lines(start, last)))
        false
    } finally {
      nanos += System.nanoTime - began
    }
  }

  /** Begins with the next stretch. */
  private def begin(): Boolean = {
    start = stretches.position
    val stretch = stretches.next()
    if (stretch.native) {
      native = open(path, stretch, scan)
      nativeBytes = stretch.end - stretch.start
    } else {
      rest = parsed(lines(stretch.start, stretch.end).map { line =>
        counters.refused.add(1)
        line
      })
    }
    true
  }

  /** Goes on to the engine's next batch; false if there is none. */
  private def load(): Boolean = {
    rows = 0
    taken = 0
    val more = native.next()
    if (more && native.array != 0) {
      rows = ArrowsmithVector.length(native.array)
      decoded = ArrowsmithVector.columns(scan.decoded, native.array, Layout.InOrder)
    }
    more
  }

  override def close(): Unit = if (native != null) {
    native.close()
    native = null
    counters.refused.add(refusals)
    counters.millis.add(nanos / 1000000)
    nanos %= 1000000
    refusals = 0
    reject = null
    record = 0
    rows = 0
    taken = 0
  }
}

private object Split {

  /** Rows of a batch that is made of rows. */
  private val BatchRows = 4096

  /** Records that have to be refused, as most of those read, before Spark's reader takes over. */
  private val RefusalsMin = 1000L

  /** Bytes of a record at which Spark's reader takes over: the limit of its parser for a text. */
  private val RecordBytesMax = 20000000L

  /** Working memory of a reader, of which there is one per core. */
  private val MemoryBytesMax = 64L << 20

  private def open(path: Path, stretch: Stretch, scan: Scan): JsonBatches = {
    val options = JavaMap.ofEntries[String, Any](
      JavaMap.entry("schema", Support.schemaText(scan.decoded, scan.options.zoneId)),
      JavaMap.entry("dialect", if (scan.dialect) "spark" else "iso"),
      JavaMap.entry("format", "ndjson"),
      // Compressed content is refused, whatever its name; Spark knows more of names.
      JavaMap.entry("compression", "auto"),
      JavaMap.entry("threads", 1),
      JavaMap.entry("on_error", "skip"),
      JavaMap.entry("rejects", "lines"),
      JavaMap.entry("count_before", false),
      JavaMap.entry("refuse_lone_cr", true),
      // Spark tests a condition on the first value of a key, and does not look at later ones.
      JavaMap.entry("duplicate_keys", if (scan.filters.isEmpty) "last" else "error"),
      JavaMap.entry("range_start", stretch.start),
      JavaMap.entry("range_end", stretch.end),
      JavaMap.entry("record_bytes_max", RecordBytesMax),
      JavaMap.entry("memory_bytes_max", MemoryBytesMax))
    JsonBatches.open(path, options)
  }

  /** Rows as batches. */
  def batches(rows: Iterator[InternalRow], scan: Scan): Iterator[ColumnarBatch] = {
    val copied = new Rows(scan.output)
    new Iterator[ColumnarBatch] {
      override def hasNext: Boolean = rows.hasNext
      override def next(): ColumnarBatch = {
        val (columns, count) = copied.take(rows, BatchRows)
        new ColumnarBatch(columns.toArray[ColumnVector], count)
      }
    }
  }

  /** Whether a line is not a record. */
  private def isBlank(line: Text): Boolean = {
    var at = 0
    while (at < line.getLength && Stretches.Blanks.indexOf(line.getBytes()(at).toInt) >= 0) {
      at += 1
    }
    at == line.getLength
  }

  private def constants(file: PartitionedFile, scan: Scan): Array[ColumnVector] =
    if (scan.partitions.isEmpty) {
      Array.empty
    } else {
      val (columns, _) = new Rows(scan.partitions).take(Iterator(file.partitionValues), 1)
      columns.map(new RepeatedVector(_))
    }

  /** Reads records with Spark's parser. */
  private final class Fallback(scan: Scan) {
    private val converter = new Rows(scan.required)
    private val parser =
      new JacksonParser(scan.asked, scan.options, allowArrayAsStructs = true, scan.filters)
    private val safe = new FailureSafeParser[Text](
      text => parser.parse(text, CreateJacksonParser.text(_: JsonFactory, _: Text), shown),
      scan.options.parseMode,
      scan.required,
      scan.options.columnNameOfCorruptRecord)

    private def shown(text: Text): UTF8String =
      UTF8String.fromBytes(text.getBytes, 0, text.getLength)

    /** The rows of records, of which one may have several. */
    def rows(texts: Iterator[Text]): Iterator[InternalRow] = texts.flatMap(safe.parse)

    /** At most `limit` rows as columns, before those of partitions. */
    def take(rows: Iterator[InternalRow], limit: Int): (Array[ColumnVector], Int) = {
      val (columns, count) = converter.take(rows, limit)
      (columns.toArray[ColumnVector].padTo(scan.columns, null), count)
    }
  }
}
