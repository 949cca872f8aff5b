// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.io.{Closeable, IOException}
import java.nio.file.Path
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import io.arrowsmith.ParquetBatches

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrowsmith.{Rows, Settings}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * The batches of a split, from the engine. If it cannot go on (text that is not UTF-8, a page that
 * is too large), Spark's reader reads the rows after those that were returned already.
 *
 * A batch is valid until the next one is requested.
 *
 * @param rest Spark's reader, without conditions: its rows are those of the row groups
 */
private final class ParquetSplit(
    file: PartitionedFile,
    scan: ParquetScan,
    read: ParquetFile,
    counters: Counters,
    rest: PartitionedFile => Iterator[InternalRow])
    extends Iterator[ColumnarBatch]
    with Closeable {
  import ParquetSplit._

  private var native: ParquetBatches = _

  /** The batches of Spark's reader, once it has taken over. */
  private var others: Iterator[ColumnarBatch] = _

  /** The next batch, if it was requested. */
  private var ready: ColumnarBatch = _
  private var ended = false

  /** Rows that were returned. */
  private var taken = 0L

  /** Time in the engine. */
  private var nanos = 0L

  private lazy val partitions: Array[ColumnVector] =
    if (scan.partitions.isEmpty) {
      Array.empty
    } else {
      val (columns, _) = new Rows(scan.partitions).take(Iterator(file.partitionValues), 1)
      columns.map(new RepeatedVector(_))
    }

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => close()))

  override def hasNext: Boolean = {
    if (ready == null && !ended) {
      ready = advance()
      ended = ready == null
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
  private def advance(): ColumnarBatch =
    if (others == null && taken < read.rows) {
      val batch = if (read.columns.leaves.isEmpty) absent() else decoded()
      if (batch == null) advance() else batch
    } else if (others != null && others.hasNext) {
      others.next()
    } else {
      close()
      null
    }

  /** Rows without a column that the file has: nothing is read. */
  private def absent(): ColumnarBatch = {
    val count = math.min(read.rows - taken, AbsentRows.toLong).toInt
    taken += count
    val columns = scan.required.map(field => ArrowsmithVector.nulls(field.dataType, count))
    complete(columns.toArray, count)
  }

  /** The engine's next batch; null if it cannot go on. */
  private def decoded(): ColumnarBatch = {
    val began = System.nanoTime
    try {
      if (native == null) {
        native = open()
      }
      if (!native.next()) {
        throw new IllegalStateException(s"rows of $file were lost")
      }
      if (!ArrowsmithVector.fits(scan.required, native.array, read.columns.layout)) {
        // The two libraries understand the footer differently.
        throw new IOException("other columns were read")
      }
      val count = ArrowsmithVector.length(native.array)
      val columns = ArrowsmithVector.columns(scan.required, native.array, read.columns.layout)
      taken += count
      if (taken > read.rows) {
        throw new IllegalStateException(s"there are too many rows of $file")
      }
      complete(columns, count)
    } catch {
      // Spark knows what to do with it.
      case _: IOException | _: IllegalArgumentException =>
        close()
        counters.splits.add(1)
        others = remaining()
        null
    } finally {
      nanos += System.nanoTime - began
    }
  }

  /** What Spark reads after the rows that were returned. */
  private def remaining(): Iterator[ColumnarBatch] = {
    var left = taken
    val (_, following) = read.groups.span { group =>
      val passed = left >= group.rows
      if (passed) left -= group.rows
      passed
    }
    var skip = following.head.before + left
    batches(rest(file), scan).flatMap { batch =>
      val count = batch.numRows
      val skipped = math.min(skip, count.toLong).toInt
      skip -= skipped
      if (skipped == 0) Iterator(batch)
      else batches(batch.rowIterator.asScala.drop(skipped), scan)
    }
  }

  private def complete(columns: Array[ColumnVector], count: Int): ColumnarBatch =
    new ColumnarBatch(columns ++ partitions, count)

  private def open(): ParquetBatches = {
    val options = JavaMap.ofEntries[String, Any](
      JavaMap.entry("columns", read.columns.paths.asJava),
      JavaMap.entry("row_groups", read.groups.map(_.number).asJava),
      JavaMap.entry("arrow_schema", false),
      JavaMap.entry("strings", "small"),
      JavaMap.entry("lists", "small"),
      JavaMap.entry("timestamp_unit", "us"),
      JavaMap.entry("verify_checksums", scan.verifyChecksums),
      JavaMap.entry("batch_rows", BatchRows),
      JavaMap.entry("threads", 1),
      JavaMap.entry("memory_bytes_max", MemoryBytesMax))
    ParquetBatches.open(Path.of(file.toPath.toUri.getPath), options)
  }

  override def close(): Unit = if (native != null) {
    native.close()
    native = null
    var left = taken
    read.groups.foreach { group =>
      if (left > 0) Settings.countBytes(group.bytes)
      left -= group.rows
    }
    counters.millis.add(nanos / 1000000)
    nanos %= 1000000
  }
}

private object ParquetSplit {

  /** Rows of a batch of the engine. */
  private val BatchRows = 16384

  /** Rows of a batch without columns, and of one that is made of rows. */
  private val AbsentRows = 1 << 16
  private val CopiedRows = 4096

  /** Working memory of a reader, of which there is one per core. */
  private val MemoryBytesMax = 64L << 20

  /** What Spark's reader gives, rows or batches, as batches. */
  def batches(read: Iterator[InternalRow], scan: ParquetScan): Iterator[ColumnarBatch] = {
    val copied = new Rows(scan.output)
    val all = read.asInstanceOf[Iterator[Any]].buffered
    new Iterator[ColumnarBatch] {
      override def hasNext: Boolean = all.hasNext
      override def next(): ColumnarBatch = all.head match {
        case batch: ColumnarBatch =>
          all.next()
          batch
        case _ =>
          val (columns, count) = copied.take(all.asInstanceOf[Iterator[InternalRow]], CopiedRows)
          new ColumnarBatch(columns.toArray[ColumnVector], count)
      }
    }
  }
}
