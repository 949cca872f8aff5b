// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.arrowsmith.SparkRows

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Lets the engine make rows of the columns that it has read, where Spark wants rows: before a
 * shuffle, a sink or a cache. Where Spark's generated code reads columns value by value
 * (conditions, aggregates), it stays as it is.
 */
private object WriteRows extends ColumnarRule {
  override def postColumnarTransitions: Rule[SparkPlan] = plan => written(plan, generated = false)

  /** @param generated whether the code that reads the rows is generated together with this */
  private def written(plan: SparkPlan, generated: Boolean): SparkPlan = plan match {
    case ColumnarToRowExec(scan: FileSourceScanExec) if !generated && isNative(scan, scan.output) =>
      NativeRowsExec(scan.output, scan)
    case ProjectExec(Attributes(some), ColumnarToRowExec(scan: FileSourceScanExec))
        if !generated && isNative(scan, some) =>
      NativeRowsExec(some, scan)
    case other =>
      val together = other match {
        case code: CodegenSupport => code.supportCodegen
        case _ => false
      }
      other.mapChildren(written(_, together))
  }

  private object Attributes {
    def unapply(list: Seq[NamedExpression]): Option[Seq[Attribute]] = {
      val attributes = list.collect { case attribute: Attribute => attribute }
      if (attributes.length == list.length) Some(attributes) else None
    }
  }

  /** Whether these columns are of the engine: those of folders are not. */
  private def isNative(scan: FileSourceScanExec, some: Seq[Attribute]): Boolean = {
    val format = scan.relation.fileFormat
    val ours =
      format.isInstanceOf[ArrowsmithJsonFormat] || format.isInstanceOf[ArrowsmithParquetFormat]
    ours && some.nonEmpty &&
    AttributeSet(some).subsetOf(AttributeSet(scan.output.take(scan.requiredSchema.length)))
  }
}

/** The rows of a scan's batches, written by the engine; those that Spark has read, by Spark. */
private case class NativeRowsExec(output: Seq[Attribute], child: SparkPlan)
    extends ColumnarToRowTransition {
  override def nodeName: String = "Arrowsmith Rows"

  override def outputPartitioning: Partitioning = child.outputPartitioning match {
    case partitioning: Expression if !partitioning.references.subsetOf(outputSet) =>
      UnknownPartitioning(partitioning.numPartitions)
    case partitioning => partitioning
  }

  override def outputOrdering: Seq[SortOrder] =
    child.outputOrdering.takeWhile(_.references.subsetOf(outputSet))

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numInputBatches" -> SQLMetrics.createMetric(sparkContext, "number of input batches"))

  override protected def doExecute(): RDD[InternalRow] = {
    val (all, some) = (child.output, output)
    val (rows, batches) = (longMetric("numOutputRows"), longMetric("numInputBatches"))
    child.executeColumnar().mapPartitions(new BatchRows(_, all, some, rows, batches))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): NativeRowsExec =
    copy(child = newChild)
}

/**
 * The rows of some columns of batches. As with Spark's own, a row is valid until the next one is
 * requested: its memory is not that of the batch, which `hasNext` may release.
 */
private final class BatchRows(
    batches: Iterator[ColumnarBatch],
    all: Seq[Attribute],
    some: Seq[Attribute],
    rows: SQLMetric,
    inputs: SQLMetric)
    extends Iterator[InternalRow] {
  private val written = new SparkRows
  private val row = new UnsafeRow(some.length)
  private val places = some.map(one => all.indexWhere(_.exprId == one.exprId)).toArray
  private lazy val projection = UnsafeProjection.create(some, all)

  /** The engine's batch, and the first of its rows that are not written, and their number. */
  private var columns: Array[Long] = _
  private var first = 0L
  private var left = 0

  /** Rows that are written, and the next of them. */
  private var ready = 0
  private var position = 0

  /** The rows of another batch. */
  private var others: Iterator[InternalRow] = Iterator.empty

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => written.close()))

  override def hasNext: Boolean = {
    while (position == ready && left == 0 && !others.hasNext && batches.hasNext) {
      take(batches.next())
    }
    position < ready || left > 0 || others.hasNext
  }

  override def next(): InternalRow = {
    if (!hasNext) {
      throw new NoSuchElementException("there are no more rows")
    }
    if (others.hasNext) {
      others.next()
    } else {
      if (position == ready) {
        position = 0
        ready = written.write(columns, first, left)
        first += ready
        left -= ready
      }
      row.pointTo(null, written.address(position), written.bytes(position))
      position += 1
      row
    }
  }

  private def take(batch: ColumnarBatch): Unit = {
    inputs += 1
    rows += batch.numRows
    val wanted = places.map(batch.column)
    val described = mutable.ArrayBuilder.make[Long]
    if (wanted.forall(ArrowsmithVector.describe(_, described))) {
      columns = described.result()
      first = wanted.collectFirst { case own: ArrowsmithVector => own.first }.getOrElse(0L)
      left = batch.numRows
    } else {
      others = batch.rowIterator.asScala.map(projection)
    }
  }
}
