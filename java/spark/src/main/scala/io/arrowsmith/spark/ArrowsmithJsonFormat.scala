// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.json.JSONOptionsInRead
import org.apache.spark.sql.execution.arrowsmith.Settings
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

/**
 * Spark's JSON format with the native engine: lines of plain local files become columns without
 * rows between. Records that the engine refuses, and files and types that it does not read, are
 * read by Spark's own parser, so that the rows are the same.
 *
 * @param support the types that become batches
 */
class ArrowsmithJsonFormat private[spark] (private val support: Support)
    extends InferringJsonFormat {

  /** The data source: its options are not known when Spark calls `supportBatch`. */
  def this() = this(Support.least)

  override val shortName: String = "arrowsmith-json"

  override def toString: String = "Arrowsmith JSON"

  // Spark drops a relation that equals the one before the rule: equality is that of this class.
  override def equals(other: Any): Boolean = other.isInstanceOf[ArrowsmithJsonFormat] &&
    other.asInstanceOf[ArrowsmithJsonFormat].support == support

  override def hashCode: Int = support.hashCode

  override def canEqual(other: Any): Boolean = other.isInstanceOf[ArrowsmithJsonFormat]

  override def supportBatch(session: SparkSession, schema: StructType): Boolean =
    schema.forall(field => support.dataType(field.dataType))

  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] = {
    Versions.check(shortName)
    super.inferSchema(session, options, files)
  }

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration): PartitionedFile => Iterator[InternalRow] = {
    Versions.check(shortName)
    val spark = super.buildReaderWithPartitionValues(
      session,
      dataSchema,
      partitionSchema,
      requiredSchema,
      filters,
      options,
      hadoopConf)
    val conf = SQLConf.get
    val parsed =
      new JSONOptionsInRead(options, conf.sessionLocalTimeZone, conf.columnNameOfCorruptRecord)
    val readable = Support.of(options, conf)
    val native = Support.options(options) && Support.columns(dataSchema) &&
      requiredSchema.forall(field => readable.dataType(field.dataType))
    Reader(
      spark,
      Settings.broadcast(session, hadoopConf),
      Scan(requiredSchema, partitionSchema, filters, parsed, readable.dialect),
      Counters(session.sparkContext),
      native,
      options.get(FileFormat.OPTION_RETURNING_BATCH).contains("true"))
  }
}

/**
 * Reads a split of a file.
 *
 * @param spark Spark's own reader
 * @param conf Hadoop's settings
 * @param scan what is read
 * @param counters what was read how, for the page of a stage
 * @param native whether the engine reads it
 * @param batches whether Spark wants batches, or rows
 */
private case class Reader(
    spark: PartitionedFile => Iterator[InternalRow],
    conf: Broadcast[SerializableConfiguration],
    scan: Scan,
    counters: Counters,
    native: Boolean,
    batches: Boolean)
    extends (PartitionedFile => Iterator[InternalRow]) {

  override def apply(file: PartitionedFile): Iterator[InternalRow] =
    if (native && isPlain(file)) {
      val split = new Split(file, scan, counters, conf.value.value, spark)
      if (batches) split.asInstanceOf[Iterator[InternalRow]] else rows(split)
    } else if (batches) {
      Split.batches(spark(file), scan).asInstanceOf[Iterator[InternalRow]]
    } else {
      spark(file)
    }

  private def rows(split: Iterator[ColumnarBatch]): Iterator[InternalRow] = {
    val projection = UnsafeProjection.create(scan.output)
    split.flatMap(_.rowIterator.asScala.map(projection))
  }

  /** Whether the file is local, and not compressed by its name. */
  private def isPlain(file: PartitionedFile): Boolean = {
    val path = file.toPath
    path.toUri.getScheme == "file" && !Settings.isCompressed(conf.value.value, path)
  }
}
