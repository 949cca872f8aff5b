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
 * columns as rows, aggregates of all numbers and texts, of the first of them, and the number of
 * records; of JSON, and of the Parquet files that Spark makes of it. Results have to be equal, and
 * the plans to be what they are said to be. The best of the runs counts.
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
    println(s"Spark ${spark.version}, local[$cores], best of $Runs; MB/s of the files, seconds of CPU")
    println("| data | query | Spark MB/s | Arrowsmith | times | Spark CPU | Arrowsmith | times |")
    println("| -- | -- | -- | -- | -- | -- | -- | -- |")
    files.foreach(file => compare(spark, Path.of(file)))
    spark.stop()
  }

  /** What is read: its name and length, and the reader's name in the settings. */
  private case class Data(name: String, bytes: Long, reader: String)

  private def compare(spark: SparkSession, file: Path): Unit = {
    val path = file.toString
    val json = Data(file.getFileName.toString, Files.size(file), "json")
    val schema = row(spark, json, "the schema") {
      spark.read.json(path).schema
    }.distinct.ensuring(_.length == 1, s"$file: the schemas differ").head
    compare(spark, json, schema, spark.read.schema(schema).json(path))

    val folder = Path.of(s"$path.parquet")
    spark.read.schema(schema).json(path).write.parquet(folder.toString)
    val bytes = Files.list(folder).mapToLong(Files.size(_)).sum
    val parquet = Data(folder.getFileName.toString, bytes, "parquet")
    compare(spark, parquet, schema, spark.read.parquet(folder.toString))
  }

  private def compare(spark: SparkSession, data: Data, schema: StructType, read: => DataFrame) = {
    val sums = schema.flatMap(field => aggregate(field.name, field.dataType))
    val queries = Seq[(String, DataFrame => DataFrame)](
      "all columns, as rows" -> identity,
      "aggregates" -> (_.selectExpr(sums: _*)),
      "one aggregate" -> (_.selectExpr(sums.head)),
      "count(*)" -> (_.selectExpr("count(*)")))
    for ((name, query) <- queries) {
      def frame = query(read)
      row(spark, data, name) {
        frame.write.format("noop").mode("overwrite").save()
      }
      val results = Seq(false, true).map { native =>
        spark.conf.set(s"spark.arrowsmith.${data.reader}.enabled", native.toString)
        require(isNative(frame) == native, s"$name: the plan is not what it should be")
        if (name == queries.head._1) "" else frame.collect().mkString
      }
      require(results.distinct.length == 1, s"${data.name}, $name: $results")
    }
  }

  /** Runs work with both readers, and prints what it took; returns the results of the last run. */
  private def row[T](spark: SparkSession, data: Data, name: String)(work: => T): Seq[T] = {
    val times = Array.fill(2, 2)(Double.MaxValue)
    val results = for (_ <- 0 until Runs) yield Seq(false, true).map { native =>
      spark.conf.set(s"spark.arrowsmith.${data.reader}.enabled", native.toString)
      val index = if (native) 1 else 0
      val (wall, cpu, result) = time(work)
      times(index)(0) = math.min(times(index)(0), wall)
      times(index)(1) = math.min(times(index)(1), cpu)
      result
    }
    val Array(Array(wall, cpu), Array(fastWall, fastCpu)) = times
    val megabytes = data.bytes / 1e6
    println(
      f"| ${data.name} | $name | ${megabytes / wall}%.0f | ${megabytes / fastWall}%.0f | " +
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
      .forall { scan =>
        val format = scan.relation.fileFormat
        format.isInstanceOf[ArrowsmithJsonFormat] || format.isInstanceOf[ArrowsmithParquetFormat]
      }
}
