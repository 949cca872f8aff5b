// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.arrowsmith.Settings
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetOptions}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

/**
 * Spark's Parquet format with the native engine, for local files whose columns are all of types
 * that the engine reads as Spark does. Other files are read by Spark's own reader, and so is what
 * remains of a split if the engine cannot go on.
 */
class ArrowsmithParquetFormat extends ParquetFileFormat {
  override def shortName(): String = "arrowsmith-parquet"

  override def toString: String = "Arrowsmith Parquet"

  override def equals(other: Any): Boolean = other.isInstanceOf[ArrowsmithParquetFormat]

  override def hashCode(): Int = getClass.hashCode()

  /** Batches of the engine and of Spark's reader follow each other. */
  override def vectorTypes(
      requiredSchema: StructType,
      partitionSchema: StructType,
      conf: SQLConf): Option[Seq[String]] = None

  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] = {
    Versions.check(shortName())
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
    Versions.check(shortName())
    def spark(filters: Seq[Filter]) = super.buildReaderWithPartitionValues(
      session,
      dataSchema,
      partitionSchema,
      requiredSchema,
      filters,
      options,
      hadoopConf)
    val own = spark(filters)
    val conf = SQLConf.get
    // Without columns Spark's reader looks at the footer only.
    val isSupported = ParquetSupport.isSupported(options, requiredSchema, conf, hadoopConf)
    if (isSupported && requiredSchema.nonEmpty) {
      val scan = ParquetScan.of(requiredSchema, partitionSchema, filters, options, conf, hadoopConf)
      ParquetReader(
        own,
        if (scan.pushdown.isEmpty) own else spark(Nil),
        Settings.broadcast(session, hadoopConf),
        scan,
        Counters(session.sparkContext),
        options.get(FileFormat.OPTION_RETURNING_BATCH).contains("true"))
    } else {
      own
    }
  }
}

/**
 * What a query reads of Parquet.
 *
 * @param required the columns that are wanted
 * @param partitions columns with the values in the names of folders
 * @param filters conditions by which row groups are skipped
 * @param pushdown which of them are; none if they are not used
 * @param caseSensitive whether names of columns have to match in case
 * @param dates the calendar of dates and timestamps in files that do not say it
 * @param int96 the same for timestamps of 96 bits
 * @param int96Conversion whether these may be local times
 * @param verifyChecksums whether the checksums of pages are verified
 */
private case class ParquetScan(
    required: StructType,
    partitions: StructType,
    filters: Seq[Filter],
    pushdown: Option[Pushdown],
    caseSensitive: Boolean,
    dates: String,
    int96: String,
    int96Conversion: Boolean,
    verifyChecksums: Boolean) {

  /** All columns. */
  def output: StructType = StructType(required ++ partitions)
}

/** Which conditions are pushed down, and of how many values at most. */
private case class Pushdown(
    dates: Boolean,
    timestamps: Boolean,
    decimals: Boolean,
    strings: Boolean,
    values: Int)

private object ParquetScan {
  def of(
      required: StructType,
      partitions: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      conf: SQLConf,
      hadoopConf: Configuration): ParquetScan = {
    val parsed = new ParquetOptions(options, conf)
    val pushdown = Pushdown(
      conf.parquetFilterPushDownDate,
      conf.parquetFilterPushDownTimestamp,
      conf.parquetFilterPushDownDecimal,
      conf.parquetFilterPushDownStringPredicate,
      conf.parquetFilterPushDownInFilterThreshold)
    ParquetScan(
      required,
      partitions,
      filters,
      if (conf.parquetFilterPushDown && filters.nonEmpty) Some(pushdown) else None,
      conf.caseSensitiveAnalysis,
      parsed.datetimeRebaseModeInRead,
      parsed.int96RebaseModeInRead,
      conf.isParquetINT96TimestampConversion,
      hadoopConf.getBoolean("parquet.page.verify-checksum.enabled", false))
  }
}

/**
 * Reads a split of a file.
 *
 * @param spark Spark's own reader
 * @param rest the same without conditions
 * @param conf Hadoop's settings
 * @param scan what is read
 * @param counters what was read how, for the page of a stage
 * @param batches whether Spark wants batches, or rows
 */
private case class ParquetReader(
    spark: PartitionedFile => Iterator[InternalRow],
    rest: PartitionedFile => Iterator[InternalRow],
    conf: Broadcast[SerializableConfiguration],
    scan: ParquetScan,
    counters: Counters,
    batches: Boolean)
    extends (PartitionedFile => Iterator[InternalRow]) {

  override def apply(file: PartitionedFile): Iterator[InternalRow] = open(file) match {
    case None =>
      counters.splits.add(1)
      spark(file)
    case Some(read) =>
      val split = new ParquetSplit(file, scan, read, counters, rest)
      if (batches) split.asInstanceOf[Iterator[InternalRow]] else rows(split)
  }

  /** What the engine reads; none if it cannot, or if Spark has to report why. */
  private def open(file: PartitionedFile): Option[ParquetFile] =
    try {
      if (file.toPath.toUri.getScheme == "file") ParquetFile.of(file, scan, conf.value.value)
      else None
    } catch {
      case NonFatal(_) => None
    }

  private def rows(split: Iterator[ColumnarBatch]): Iterator[InternalRow] = {
    val projection = UnsafeProjection.create(scan.output)
    split.flatMap(_.rowIterator.asScala.map(projection))
  }
}
