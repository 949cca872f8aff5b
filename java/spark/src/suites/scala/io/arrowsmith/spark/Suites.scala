// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import io.arrowsmith.JsonBatches
import org.scalatest.{BeforeAndAfterAll, Suite}

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.datasources.json.JsonV1Suite
import org.apache.spark.sql.execution.datasources.parquet._

/** Nothing native may stay after the tests. */
trait NothingStays extends BeforeAndAfterAll { this: Suite =>
  override def afterAll(): Unit =
    try super.afterAll()
    finally {
      assert(JsonBatches.liveReaders == 0, "native readers stay")
      assert(JsonBatches.liveBytes == 0, "native bytes stay")
    }
}

/** Spark's own tests of JSON, with the extension. */
class ArrowsmithJsonV1Suite extends JsonV1Suite with NothingStays {
  override protected def sparkConf: SparkConf = Extended(super.sparkConf)
}

/** Spark's own tests of Parquet, with the extension. */
class ArrowsmithParquetIOSuite extends ParquetIOSuite with NothingStays {
  override protected def sparkConf: SparkConf = Extended(super.sparkConf)
}

class ArrowsmithParquetV1QuerySuite extends ParquetV1QuerySuite with NothingStays {
  override protected def sparkConf: SparkConf = Extended(super.sparkConf)
}

/** Conditions that are pushed down, and what they skip. */
class ArrowsmithParquetV1FilterSuite extends ParquetV1FilterSuite with NothingStays {
  override protected def sparkConf: SparkConf = Extended(super.sparkConf)
}

/** Pairs of types in the file and in the query: those that Spark widens are left to it. */
class ArrowsmithParquetTypeWideningSuite extends ParquetTypeWideningSuite with NothingStays {
  override protected def sparkConf: SparkConf = Extended(super.sparkConf)
}

/** Encodings, most of them by Spark's own reader; batches of several pages. */
class ArrowsmithParquetEncodingSuite extends ParquetEncodingSuite with NothingStays {
  override protected def sparkConf: SparkConf = Extended(super.sparkConf)
}

private object Extended {
  def apply(conf: SparkConf): SparkConf =
    conf.set("spark.sql.extensions", classOf[ArrowsmithExtensions].getName)
}
