// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.{HadoopReadOptions, ParquetReadOptions}
import org.apache.parquet.filter2.compat.{FilterCompat, RowGroupFilter}
import org.apache.parquet.filter2.compat.RowGroupFilter.FilterLevel
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile

import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFilters
import org.apache.spark.sql.internal.LegacyBehaviorPolicy

/**
 * A row group that the engine reads.
 *
 * @param number its number in the file
 * @param rows its rows
 * @param before rows of the split before it, also those of row groups that are not read
 * @param bytes what the columns that are read take in the file
 */
private final case class RowGroup(number: Int, rows: Long, before: Long, bytes: Long)

/**
 * What is read of a split of a file.
 *
 * @param columns the columns
 * @param groups the row groups that may have rows that the query wants
 */
private final case class ParquetFile(columns: ParquetProjection, groups: Seq[RowGroup]) {

  /** The rows that are read. */
  def rows: Long = groups.map(_.rows).sum
}

/** Reads the footer of a file, with the library by which Spark reads it. */
private object ParquetFile {

  /** What the engine reads of a split; none if Spark has to read it. */
  def of(file: PartitionedFile, scan: ParquetScan, conf: Configuration): Option[ParquetFile] = {
    val input = HadoopInputFile.fromPath(file.toPath, conf)
    val options = HadoopReadOptions.builder(conf, file.toPath).build()
    val reader = ParquetFileReader.open(input, options)
    try {
      val footer = reader.getFooter
      val about = footer.getFileMetaData
      val blocks = footer.getBlocks.asScala.toSeq
      val encrypted = about.getEncryptionType != FileMetaData.EncryptionType.UNENCRYPTED
      val dates = DataSourceUtils.datetimeRebaseSpec(about.getKeyValueMetaData.get, scan.dates)
      val int96 = DataSourceUtils.int96RebaseSpec(about.getKeyValueMetaData.get, scan.int96)
      val columns = new ParquetColumns(
        scan.caseSensitive,
        isCorrected(dates),
        isCorrected(int96) && !scan.int96Conversion)
      columns.in(about.getSchema, scan.required).filter(_ => !encrypted).map { columns =>
        // Row groups belong to the split by the library's own rule.
        val whole = file.start == 0 && file.length == file.fileSize
        val own = (if (whole) blocks else inside(input, file, conf)).filter(_.getRowCount > 0)
        val before = own.map(_.getRowIndexOffset).zip(own.scanLeft(0L)(_ + _.getRowCount)).toMap
        val wanted = filtered(own, reader, options, scan, dates).map(_.getRowIndexOffset).toSet
        val leaves = columns.leaves.toSet
        val groups = for {
          (block, number) <- blocks.zipWithIndex
          if block.getRowCount > 0 && wanted(block.getRowIndexOffset)
        } yield {
          val chunks = block.getColumns.asScala.filter(chunk => leaves(chunk.getPath.toArray.toSeq))
          val bytes = chunks.map(_.getTotalSize).sum
          RowGroup(number, block.getRowCount, before(block.getRowIndexOffset), bytes)
        }
        ParquetFile(columns, groups)
      }
    } finally reader.close()
  }

  private def isCorrected(spec: RebaseSpec): Boolean =
    spec.mode == LegacyBehaviorPolicy.CORRECTED

  /** The row groups of a split, which is a part of the file. */
  private def inside(
      input: HadoopInputFile,
      file: PartitionedFile,
      conf: Configuration): Seq[BlockMetaData] = {
    val options = HadoopReadOptions
      .builder(conf, file.toPath)
      .withRange(file.start, file.start + file.length)
      .build()
    val reader = ParquetFileReader.open(input, options)
    try reader.getFooter.getBlocks.asScala.toSeq
    finally reader.close()
  }

  /** The row groups that may have rows that pass the conditions, as Spark's reader finds them. */
  private def filtered(
      blocks: Seq[BlockMetaData],
      reader: ParquetFileReader,
      options: ParquetReadOptions,
      scan: ParquetScan,
      dates: RebaseSpec): Seq[BlockMetaData] = {
    val schema = reader.getFooter.getFileMetaData.getSchema
    val condition = scan.pushdown.flatMap { pushdown =>
      val filters = new ParquetFilters(
        schema,
        pushdown.dates,
        pushdown.timestamps,
        pushdown.decimals,
        pushdown.strings,
        pushdown.values,
        scan.caseSensitive,
        dates)
      scan.filters.flatMap(filters.createFilter).reduceOption(FilterApi.and)
    }
    condition.fold(blocks) { condition =>
      val levels = Seq(
        FilterLevel.STATISTICS -> options.useStatsFilter,
        FilterLevel.DICTIONARY -> options.useDictionaryFilter,
        FilterLevel.BLOOMFILTER -> options.useBloomFilter)
      val used = levels.collect { case (level, true) => level }
      RowGroupFilter
        .filterRowGroups(used.asJava, FilterCompat.get(condition), blocks.asJava, reader)
        .asScala
        .toSeq
    }
  }
}
