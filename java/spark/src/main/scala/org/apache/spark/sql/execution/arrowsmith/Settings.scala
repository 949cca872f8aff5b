// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.arrowsmith

import org.apache.hadoop.conf.Configuration

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

/** Hadoop's settings for tasks. In Spark's package, because this is only visible there. */
object Settings {

  /** Sends the settings to the executors. */
  def broadcast(session: SparkSession, conf: Configuration): Broadcast[SerializableConfiguration] =
    SerializableConfiguration.broadcast(session.sparkContext, conf)
}
