// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import com.sun.management.OperatingSystemMXBean

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.types._

/**
 * Spark's reader and Arrowsmith's by turns, on the same files in one session: the schema, all
 * columns as rows, aggregates of all numbers and texts, and the number of records. Results have to
 * be equal, and the plans to be what they are said to be. The best of the runs counts.
 */
object Bench extends AdaptiveSparkPlanHelper {
  private val Runs = 3

  def main(files: Array[String]): Unit = {
    val cores = sys.props.getOrElse("cores", "1")
    val spark = SparkSession
      .builder()
      .master(s"local[$cores]")
      .config("spark.sql.extensions", classOf[ArrowsmithExtensions].getName)
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.sql.session.timeZone", "UTC")
      .getOrCreate()
    println(s"Spark ${spark.version}, local[$cores], best of $Runs; MB/s of text, seconds of CPU")
    println("| data | query | Spark MB/s | Arrowsmith | times | Spark CPU | Arrowsmith | times |")
    println("| -- | -- | -- | -- | -- | -- | -- | -- |")
    files.foreach(file => compare(spark, Path.of(file)))
    spark.stop()
  }

  private def compare(spark: SparkSession, file: Path): Unit = {
    val path = file.toString
    val schema = row(spark, file, "the schema") {
      spark.read.json(path).schema
    }.distinct.ensuring(_.length == 1, s"$file: the schemas differ").head
    val sums = schema.flatMap(field => aggregate(field.name, field.dataType))
    val queries = Seq[(String, DataFrame => DataFrame)](
      "all columns, as rows" -> identity,
      "aggregates" -> (_.selectExpr(sums: _*)),
      "count(*)" -> (_.selectExpr("count(*)")))
    for ((name, query) <- queries) {
      def frame = query(spark.read.schema(schema).json(path))
      row(spark, file, name) {
        frame.write.format("noop").mode("overwrite").save()
      }
      val results = Seq(false, true).map { native =>
        spark.conf.set("spark.arrowsmith.json.enabled", native.toString)
        require(isNative(frame) == native, s"$name: the plan is not what it should be")
        if (name == queries.head._1) "" else frame.collect().mkString
      }
      require(results.distinct.length == 1, s"$file, $name: $results")
    }
  }

  /** Runs work with both readers, and prints what it took; returns the results of the last run. */
  private def row[T](spark: SparkSession, file: Path, name: String)(work: => T): Seq[T] = {
    val times = Array.fill(2, 2)(Double.MaxValue)
    val results = for (_ <- 0 until Runs) yield Seq(false, true).map { native =>
      spark.conf.set("spark.arrowsmith.json.enabled", native.toString)
      val index = if (native) 1 else 0
      val (wall, cpu, result) = time(work)
      times(index)(0) = math.min(times(index)(0), wall)
      times(index)(1) = math.min(times(index)(1), cpu)
      result
    }
    val Array(Array(wall, cpu), Array(fastWall, fastCpu)) = times
    val megabytes = Files.size(file) / 1e6
    println(
      f"| ${file.getFileName} | $name | ${megabytes / wall}%.0f | ${megabytes / fastWall}%.0f | " +
        f"${wall / fastWall}%.1f | $cpu%.2f | $fastCpu%.2f | ${cpu / fastCpu}%.1f |")
    results.last
  }

  /** Sums that do not depend on the order of the rows. */
  private def aggregate(name: String, of: DataType): Option[String] = of match {
    case LongType => Some(s"sum(cast(`$name` as decimal(20, 0)))")
    case DoubleType => Some(s"max(`$name`)")
    case StringType => Some(s"sum(length(`$name`))")
    case BooleanType => Some(s"count_if(`$name`)")
    case ArrayType(_, _) => Some(s"sum(size(`$name`))")
    case struct: StructType =>
      struct.headOption.map(field => s"count(`$name`.`${field.name}`)")
    case _ => None
  }

  private def time[T](work: => T): (Double, Double, T) = {
    val system = ManagementFactory.getOperatingSystemMXBean.asInstanceOf[OperatingSystemMXBean]
    val (start, cpu) = (System.nanoTime(), system.getProcessCpuTime)
    val result = work
    ((System.nanoTime() - start) / 1e9, (system.getProcessCpuTime - cpu) / 1e9, result)
  }

  private def isNative(frame: DataFrame): Boolean =
    collect(frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }
      .forall(_.relation.fileFormat.isInstanceOf[ArrowsmithJsonFormat])
}
