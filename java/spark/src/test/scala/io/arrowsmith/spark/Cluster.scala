// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Try

import io.arrowsmith.JsonBatches

import org.apache.spark.SparkEnv
import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorRemoved}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.{col, udf}

/**
 * The job of `tools/spark cluster`, which is submitted with the jars as a user does: reads JSON and
 * Parquet on executors that are processes, of which one is killed while it has a batch. The rows
 * have to be those of Spark's own readers, and no executor may hold native memory at the end.
 */
object Cluster {
  private val Records = 200000L
  private val Executors = 2

  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments.head)
    val spark = SparkSession.builder().appName("arrowsmith").getOrCreate()
    val removed = new AtomicInteger
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onExecutorRemoved(executor: SparkListenerExecutorRemoved): Unit =
        removed.incrementAndGet()
    })
    write(spark, folder)
    for ((format, number) <- Seq("json", "parquet").zipWithIndex) {
      val files = folder.resolve(format).toString
      def read = spark.read.schema(Schema).format(format).load(files)
      val expected = off(spark, format)(sorted(read))
      require(expected.length == Records, s"${expected.length} rows of $format")
      // One is to be killed, and the other to go on. After that the master starts a new one.
      onExecutors(spark)(())
      require(isNative(read), s"Spark reads $format itself")
      require(sorted(read) == expected, s"other rows of $format")
      val mark = folder.resolve(s"$format.pid").toString
      val killer = kill(Path.of(mark))
      val rows = sorted(read.withColumn("id", held(mark)(col("id"))))
      killer.join()
      require(rows == expected, s"other rows of $format after an executor was killed")
      eventually("no executor was lost")(removed.get == number + 1)
    }
    val live = onExecutors(spark)((JsonBatches.liveReaders, JsonBatches.liveBytes))
    require(live.forall(_ == (0, 0)), live.mkString)
    val master = spark.sparkContext.master.takeWhile(_ != ':')
    println(s"$master: equal rows on $Executors executors, ${removed.get} of which were killed")
    spark.stop()
  }

  private val Schema =
    "id BIGINT, x DOUBLE, text STRING, tags ARRAY<STRING>, at STRUCT<lat: DOUBLE>"

  private def write(spark: SparkSession, folder: Path): Unit = {
    val rows = spark.range(Records).selectExpr(
      "id",
      "id / 7 as x",
      "if(id % 11 = 0, null, concat('row ', id)) as text",
      "array('a', cast(id as string)) as tags",
      "named_struct('lat', sqrt(id)) as at")
    for (format <- Seq("json", "parquet")) {
      rows.repartition(8).write.format(format).save(folder.resolve(format).toString)
    }
  }

  private def sorted(frame: DataFrame): Seq[String] =
    frame.select("id", "x", "text", "tags", "at").collect().map(_.toString).sorted.toSeq

  private def off[T](spark: SparkSession, format: String)(work: => T): T = {
    spark.conf.set(s"spark.arrowsmith.$format.enabled", "false")
    try work
    finally spark.conf.unset(s"spark.arrowsmith.$format.enabled")
  }

  private def isNative(frame: DataFrame): Boolean =
    frame.queryExecution.executedPlan.toString.contains("Format: Arrowsmith")

  /**
   * A function that writes the process's number to a file in the middle of a batch and stays there,
   * the first time that it is called in the cluster.
   */
  private def held(mark: String) = udf { (id: Long) =>
    if (id % 1000 == 500 && !Files.exists(Path.of(mark))) {
      val own = Path.of(s"$mark-${ProcessHandle.current().pid()}")
      Files.writeString(own, ProcessHandle.current().pid().toString)
      // A link appears with its content, and for one task only.
      if (Try(Files.createLink(Path.of(mark), own)).isSuccess) TimeUnit.MINUTES.sleep(5)
    }
    id
  }

  private def kill(mark: Path): Thread = {
    val killer = new Thread(() => {
      while (!Files.exists(mark)) Thread.sleep(10)
      // SIGKILL.
      ProcessHandle.of(Files.readString(mark).toLong).get.destroyForcibly()
    })
    killer.setDaemon(true)
    killer.start()
    killer
  }

  /** What work gives on each executor, once all of them are there. */
  private def onExecutors[T](spark: SparkSession)(work: => T): Seq[T] = {
    def once = spark.sparkContext.parallelize(0 until 64, 64).map { _ =>
      Thread.sleep(10)
      SparkEnv.get.executorId -> work
    }.collect().toMap
    var found = Map.empty[String, T]
    eventually(s"not $Executors executors") {
      found = once
      found.size == Executors
    }
    found.values.toSeq
  }

  private def eventually(otherwise: String)(condition: => Boolean): Unit = {
    val until = System.nanoTime() + TimeUnit.MINUTES.toNanos(2)
    while (!condition) require(System.nanoTime() < until, otherwise)
  }
}
