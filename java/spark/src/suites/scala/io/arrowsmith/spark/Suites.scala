// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import io.arrowsmith.JsonBatches

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.datasources.json.JsonV1Suite

/** Spark's own tests of JSON, with the extension. Nothing native may stay after them. */
class ArrowsmithJsonV1Suite extends JsonV1Suite {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set("spark.sql.extensions", classOf[ArrowsmithExtensions].getName)

  override def afterAll(): Unit =
    try super.afterAll()
    finally {
      assert(JsonBatches.liveReaders == 0, "native readers stay")
      assert(JsonBatches.liveBytes == 0, "native bytes stay")
    }
}
