// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import javax.management.ObjectName

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.arrowsmith.JsonBatches
import org.junit.jupiter.api.{BeforeAll, Test}
import org.junit.jupiter.api.Assertions.{assertEquals, assertFalse, assertTrue}

import org.apache.spark.TaskContext
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.types.StructType

/**
 * Jobs that end in every way, round after round in one session: cancelled, limited, failed by
 * FAILFAST and by a function of the user, and cached. After each round no reader and no batch is
 * left, and the process does not grow. `-Darrowsmith.soak=100` sets the number of rounds.
 */
class SoakTest extends SessionTest {
  import SoakTest._

  private val rounds = sys.props.get("arrowsmith.soak").filter(_.nonEmpty).fold(20)(_.toInt)
  /** Those that load classes, compile them and fill pools. */
  private val warmUp = math.min(rounds / 2, 20)
  private val schema = StructType.fromDDL("id LONG, tags ARRAY<STRING>, text STRING")
  private var good: String = _
  private var bad: String = _

  @BeforeAll def write(): Unit = {
    good = folder.resolve("good").toString
    bad = folder.resolve("bad.json").toString
    val text = "x" * 150
    val lines = (0 until Records).map(id => s"""{"id":$id,"text":"$text","tags":["a","b"]}""")
    Files.write(Path.of(s"$good.json"), lines.asJava)
    Files.write(Path.of(bad), lines.updated(Records * 3 / 4, """{"id":"none"}""").asJava)
    spark.read.schema(schema).json(s"$good.json").write.parquet(s"$good.parquet")
  }

  @Test def nothingStaysHoweverJobsEnd(): Unit = {
    val memory = for (round <- 1 to rounds) yield {
      for (format <- Seq("json", "parquet")) {
        def read = spark.read.schema(schema).format(format).load(s"$good.$format")
        cancelled(read)
        assertEquals(10, read.limit(10).collect().length)
        failing(read)
        cached(read)
      }
      assertEquals(schema, spark.read.json(s"$good.json").schema)
      val failFast = spark.read.option("mode", "FAILFAST").schema(schema).json(bad)
      assertTrue(Try(failFast.collect()).isFailure)
      nothingIsHeld(round)
      if (round == warmUp || round == rounds) nativeBytes() else 0
    }
    val grown = memory.last - memory(warmUp - 1)
    assertTrue(grown < GrowthMax, s"$grown bytes more after $rounds rounds than after $warmUp")
  }

  /** Cancelled in the middle of a batch, which each task holds until it is told to end. */
  private def cancelled(frame: DataFrame): Unit = {
    held = new CountDownLatch(1)
    val job = new Thread(() => {
      spark.sparkContext.setJobGroup("cancelled", "", interruptOnCancel = true)
      outcome = Try(frame.select(hold(col("id")), col("text")).collect())
    })
    job.start()
    assertTrue(held.await(60, TimeUnit.SECONDS), "no task came to the middle of a batch")
    spark.sparkContext.cancelJobGroup("cancelled")
    job.join()
    assertTrue(outcome.isFailure, "the job was not cancelled")
  }

  private def failing(frame: DataFrame): Unit = {
    val error = Try(frame.select(fail(col("id")), col("tags")).collect()).failed.get
    val causes = Iterator.iterate(error)(_.getCause).takeWhile(_ != null)
    assertTrue(causes.exists(_.getMessage.contains("a failure of the user")), error.toString)
  }

  private def cached(frame: DataFrame): Unit = {
    val cached = frame.cache()
    assertEquals(Records, cached.count())
    assertEquals(Records / 2, cached.where("id % 2 = 0").count())
    cached.unpersist(blocking = true)
    assertFalse(cached.storageLevel.useMemory)
  }

  /** Tasks of a cancelled or failed job end after the job. */
  private def nothingIsHeld(round: Int): Unit = {
    val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
    def live = (JsonBatches.liveReaders, JsonBatches.liveBytes)
    while (live != (0, 0) && System.nanoTime() < until) Thread.sleep(1)
    assertEquals((0L, 0L), live, s"readers and bytes after round $round")
  }
}

private object SoakTest {
  private val Records = 20000
  /** More than the JVM itself grows; a batch lost in each of 100 rounds is more. */
  private val GrowthMax = 64L << 20

  @volatile private var held = new CountDownLatch(1)
  @volatile private var outcome: Try[Any] = _

  private val hold = udf { (id: Long) =>
    if (id % 1000 == 999) {
      held.countDown()
      while (!TaskContext.get().isInterrupted()) Thread.sleep(1)
    }
    id
  }

  private val fail = udf { (id: Long) =>
    if (id == 7777) throw new IllegalStateException("a failure of the user")
    id
  }

  /** Resident memory of the process, without what belongs to the JVM: heap, classes and code. */
  private def nativeBytes(): Long = {
    val diagnostics = new ObjectName("com.sun.management:type=DiagnosticCommand")
    val text = ManagementFactory.getPlatformMBeanServer
      .invoke(diagnostics, "gcHeapInfo", Array(null), Array(classOf[Array[String]].getName))
      .toString
    val heap = """\[0x([0-9a-f]+), ?0x([0-9a-f]+)\)""".r.findFirstMatchIn(text).get
    val Seq(start, end) = heap.subgroups.map(java.lang.Long.parseLong(_, 16))
    var (kib, ours) = (0L, true)
    Files.readAllLines(Path.of("/proc/self/smaps")).forEach {
      case Mapping(from) =>
        val address = java.lang.Long.parseUnsignedLong(from, 16)
        ours = address < start || address >= end
      case s"Rss:$value kB" => if (ours) kib += value.trim.toLong
      case _ =>
    }
    kib * 1024 - ManagementFactory.getMemoryMXBean.getNonHeapMemoryUsage.getCommitted
  }

  /** The first line of a mapping in smaps. */
  private val Mapping = """([0-9a-f]+)-[0-9a-f]+ .*""".r
}
