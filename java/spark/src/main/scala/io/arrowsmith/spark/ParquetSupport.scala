// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.util.Locale

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Which queries of Parquet the engine may read: what does not depend on a file. */
private object ParquetSupport {

  /** Options that do not change what a value is, or that are followed. */
  private val options: Set[String] = Set(
    // Files.
    "path",
    "paths",
    "basepath",
    "recursivefilelookup",
    "pathglobfilter",
    "modifiedbefore",
    "modifiedafter",
    "ignoremissingfiles",
    "serialization.format",
    "compression",
    "parquet.compression",
    "returning_batch",
    Support.Swapped,
    // Schema and calendar.
    "mergeschema",
    "datetimerebasemode",
    "int96rebasemode",
    // Streams.
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "cleansource",
    "sourcearchivedir")

  /** Whether files are read as they are with these options and settings. */
  def settings(named: Map[String, String], conf: SQLConf): Boolean =
    named.keys.forall(name => options.contains(name.toLowerCase(Locale.ROOT))) &&
      // How much of a corrupt file is read depends on the length of batches.
      !conf.ignoreCorruptFiles && !conf.parquetFieldIdReadEnabled &&
      // The reader tests the conditions on each row.
      !conf.parquetRecordFilterEnabled

  /** Whether the engine may read these columns. */
  def isSupported(
      named: Map[String, String],
      required: StructType,
      conf: SQLConf,
      hadoopConf: Configuration): Boolean =
    settings(named, conf) && Support.columns(required) &&
      required.forall { field =>
        ParquetColumns.isReadable(field.dataType) &&
        field.name != ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME
      } &&
      hadoopConf.get("parquet.crypto.factory.class") == null
}
