// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.file.{Files, Path}
import java.util.Comparator

import io.arrowsmith.JsonBatches
import org.junit.jupiter.api.{AfterAll, AfterEach, BeforeAll, TestInstance}
import org.junit.jupiter.api.Assertions.assertEquals

import org.apache.spark.sql.SparkSession

/** A session with the extension, and a folder; after each test no native memory is left. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SessionTest {
  protected var spark: SparkSession = _
  protected var folder: Path = _

  @BeforeAll def start(): Unit = {
    folder = Files.createTempDirectory("arrowsmith-spark-")
    spark = SparkSession
      .builder()
      .master("local[2]")
      .appName("arrowsmith")
      .config("spark.sql.extensions", classOf[ArrowsmithExtensions].getName)
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.sql.shuffle.partitions", "2")
      .config("spark.sql.session.timeZone", "UTC")
      .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toUri.toString)
      .getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
  }

  @AfterAll def stop(): Unit = {
    spark.stop()
    Files.walk(folder).sorted(Comparator.reverseOrder[Path]).forEach(path => Files.delete(path))
  }

  @AfterEach def nothingStays(): Unit = {
    assertEquals(0, JsonBatches.liveReaders, "readers")
    assertEquals(0, JsonBatches.liveBytes, "bytes")
  }

  protected def withConf[T](settings: (String, String)*)(work: => T): T = {
    val before = settings.map { case (name, _) => name -> spark.conf.getOption(name) }
    settings.foreach { case (name, value) => spark.conf.set(name, value) }
    try work
    finally before.foreach {
      case (name, Some(value)) => spark.conf.set(name, value)
      case (name, None) => spark.conf.unset(name)
    }
  }
}
