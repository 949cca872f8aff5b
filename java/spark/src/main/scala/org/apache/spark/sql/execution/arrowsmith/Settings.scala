// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.arrowsmith

import java.nio.ByteBuffer
import java.util.Locale

import scala.annotation.nowarn

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path}
import org.apache.hadoop.io.compress.CompressionCodecFactory

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.storage.StorageUtils
import org.apache.spark.util.SerializableConfiguration

/**
 * Hadoop's settings for tasks, and what follows from them. In Spark's package, because this is only
 * visible there.
 */
object Settings {

  /** Sends the settings to the executors. */
  def broadcast(session: SparkSession, conf: Configuration): Broadcast[SerializableConfiguration] =
    session.sparkContext.broadcast(new SerializableConfiguration(conf))

  /**
   * Counts bytes of a file as read by this thread, where Hadoop's file systems count theirs: Spark
   * takes its metric from there.
   */
  @nowarn("cat=deprecation")
  def countBytes(bytes: Long): Unit =
    FileSystem.getStatistics("file", classOf[LocalFileSystem]).incrementBytesRead(bytes)

  /** Gives back the memory of a file that was mapped; it must not be used any more. */
  def unmap(mapped: ByteBuffer): Unit = StorageUtils.dispose(mapped)

  /** Whether some version of Spark takes a file of this name for a compressed one. */
  def isCompressed(conf: Configuration, path: Path): Boolean = {
    val name = path.getName.toLowerCase(Locale.ROOT)
    new CompressionCodecFactory(conf).getCodec(path) != null ||
    Seq(".gzip", ".zst", ".zstd").exists(name.endsWith)
  }
}
