// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Assertions.{assertEquals, assertFalse, assertTrue}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.ColumnarToRowExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.functions.{col, xxhash64}

/** Rows that the engine writes are Spark's, to the byte, and what reads them finds them. */
class RowsTest extends SessionTest with AdaptiveSparkPlanHelper {
  private def at(name: String): String = folder.resolve(name).toString

  /** Values of every type, alone and in lists, structs and maps, some of them null. */
  private def values(count: Long): DataFrame = {
    val flat = Seq(
      "id",
      "id % 3 = 0",
      "cast(id % 256 - 128 as byte)",
      "cast(id * 31 % 65536 - 32768 as short)",
      "cast(id * 1000003 % 4294967296 - 2147483648 as int)",
      "cast(sin(id) as float)",
      "if(id % 9 = 0, -0D, cos(id) * 1e100)",
      "substr('plain é 日本語 😀 text', cast(id % 7 + 1 as int), cast(id % 13 as int))",
      "cast(repeat('b', cast(id % 25 as int)) as binary)",
      "date_add(date'2020-01-01', cast(id * 17 % 40000 - 20000 as int))",
      "timestamp_micros(id * 86399999999 - 100000000000000)",
      "cast(timestamp_micros(id * 3599999999) as timestamp_ntz)",
      "cast(id * 37 % 100000 / 100 - 500 as decimal(7, 2))",
      "cast(-id * 123456789 as decimal(18, 4))",
      "cast(id as decimal(38, 10)) * (id % 3 - 1) * 1234567890123",
      "cast((id % 700 - 350) as decimal(20, 0))")
    val nullable = flat.zipWithIndex.map { case (sql, index) =>
      s"if((id + $index) % ${index % 5 + 3} = 0, null, $sql)"
    }
    val all = flat.indices.map(index => s"'m$index', c$index").mkString(", ")
    val lists = flat.indices.map { index =>
      s"if(id % 11 = $index, null, array_repeat(c$index, cast((id + $index) % 70 as int))) as l$index"
    }
    val pairs = flat.indices.map { index =>
      s"if(id % 7 = 1, null, array(c$index, null, c$index)) as p$index"
    }
    val nested = Seq(
      s"if(id % 6 = 0, null, named_struct($all, 'in', named_struct($all))) as at",
      s"transform(sequence(0, id % 3), i -> if(i = 1, null, named_struct($all))) as points",
      "if(id % 5 = 0, null, map(concat('k', id), c14, 'x', null)) as decimals",
      "map('k', array(map('in', c7), null)) as deep",
      "array_repeat(array_repeat(c3, cast(id % 3 as int)), cast(id % 4 as int)) as short_lists")
    spark.range(count).repartition(1)
      .selectExpr("id" +: nullable.zipWithIndex.map { case (sql, index) => s"$sql as c$index" }: _*)
      .selectExpr("*" +: (lists ++ pairs ++ nested): _*)
      .drop("id")
  }

  private def off[T](work: => T): T =
    withConf("spark.arrowsmith.json.enabled" -> "false", "spark.arrowsmith.parquet.enabled" -> "false")(work)

  /** The bytes of the rows. */
  private def bytes(frame: DataFrame): Seq[Seq[Byte]] =
    frame.queryExecution.toRdd.map(_.asInstanceOf[UnsafeRow].getBytes.toSeq).collect().toSeq

  private def written(frame: DataFrame): Int =
    collect(frame.queryExecution.executedPlan) { case rows: NativeRowsExec => rows }.length

  private def generated(frame: DataFrame): Int =
    collect(frame.queryExecution.executedPlan) { case rows: ColumnarToRowExec => rows }.length

  /** The same bytes; the engine writes the rows. */
  private def same(what: String)(frame: => DataFrame): Unit = {
    val expected = off(bytes(frame))
    val found = bytes(frame)
    assertEquals(1, written(frame), s"$what: ${frame.queryExecution.executedPlan}")
    assertEquals(expected.length, found.length, s"$what: rows")
    expected.zip(found).zipWithIndex.foreach { case ((one, other), row) =>
      assertEquals(one, other, s"$what: row $row")
    }
    // The same columns, read by generated code.
    val filtered = frame.where(xxhash64(col(frame.columns.head)) =!= 17)
    assertEquals(1, generated(filtered), s"$what: ${filtered.queryExecution.executedPlan}")
    assertEquals(expected, bytes(filtered), s"$what: in generated code")
  }

  @Test def theBytesAreThoseOfSpark(): Unit = {
    val frame = values(1500)
    frame.write.parquet(at("values.parquet"))
    frame.write.option("ignoreNullFields", "false").json(at("values.json"))
    val columns = frame.columns.toSeq
    // With more fields than this Spark reads no columns.
    withConf("spark.sql.codegen.maxFields" -> "1000") {
      for (part <- Seq(columns, columns.drop(20), columns.reverse.take(7), columns.take(1))) {
        val schema = frame.select(part.map(col): _*).schema
        same(s"Parquet, ${part.length}")(spark.read.schema(schema).parquet(at("values.parquet")))
        same(s"JSON, ${part.length}")(spark.read.schema(schema).json(at("values.json")))
      }
      val missing =
        frame.selectExpr("c3", "c14 as no_decimal", "p14 as no_list", "at as no", "c7").schema
      same("columns that are missing")(spark.read.schema(missing).parquet(at("values.parquet")))
    }
  }

  @Test def longRowsAndManyBatches(): Unit = {
    val long = "if(id % 100 = 0, repeat(cast(id as string), 300000), cast(id as string)) as text"
    spark.range(3000).repartition(1).selectExpr("id", long).write.parquet(at("long.parquet"))
    same("long rows")(spark.read.parquet(at("long.parquet")))
    val lines = (0 until 60000).map { id =>
      if (id % 5000 == 17) s"""{"id":"$id"}""" else s"""{"id":$id,"text":"t$id"}"""
    }
    Files.write(Path.of(at("lines.json")), lines.mkString("\n").getBytes)
    def read = spark.read.schema("id LONG, text STRING, _corrupt_record STRING").json(at("lines.json"))
    val expected = off(bytes(read))
    assertEquals(expected, bytes(read))
    assertEquals(lines.length, expected.length)
  }

  @Test def whatReadsTheRows(): Unit = {
    values(2000)
      .selectExpr("c0", "c3", "c7", "c14", "l7", "named_struct('a', c7, 'b', c14) as at").write.parquet(at("read.parquet"))
    def read = spark.read.parquet(at("read.parquet"))
    val queries = Seq[(String, DataFrame => DataFrame)](
      "shuffle" -> (_.repartition(3, col("c3")).selectExpr("c3", "c7", "xxhash64(*) as h").orderBy("h")),
      "sort" -> (_.orderBy("c0", "c3", "c7").select("c0", "l7")),
      "join" -> (frame => frame.join(read.selectExpr("c0", "c14 as other"), "c0").orderBy("c0", "c3", "c7")),
      "sort-merge join" -> (frame =>
        frame.hint("merge").join(read.selectExpr("c0", "c14 as other"), "c0").orderBy("c0", "c3", "c7")),
      "window" -> (_.selectExpr("c0", "lag(c7) over (partition by c3 % 5 order by c0, c3)")
        .orderBy("c0")),
      "limit" -> (_.limit(700).selectExpr("count(c7)")),
      "union" -> (frame => frame.select("c7").limit(5).union(frame.select("c7").limit(3))),
      "distinct" -> (_.select("c7", "c14").distinct().orderBy("c7", "c14")))
    for ((what, query) <- queries; adaptive <- Seq("true", "false")) {
      withConf("spark.sql.adaptive.enabled" -> adaptive) {
        val expected = off(query(read).collect().toSeq.map(_.toString))
        assertEquals(expected, query(read).collect().toSeq.map(_.toString), s"$what, $adaptive")
      }
    }
    val cached = read.cache()
    assertEquals(off(read.collect().map(_.toString).toSeq), cached.collect().map(_.toString).toSeq)
    cached.unpersist(true)
    val local = read.toLocalIterator().asScala.map(_.toString).toSeq
    assertEquals(off(read.collect().map(_.toString).toSeq), local)
    read.write.parquet(at("again.parquet"))
    assertEquals(off(bytes(read)), off(bytes(spark.read.parquet(at("again.parquet")))))
  }

  @Test def whereTheEngineWritesThem(): Unit = {
    values(50).selectExpr("c0", "c7", "c3 as k").write.partitionBy("k").parquet(at("parts.parquet"))
    def read = spark.read.parquet(at("parts.parquet"))
    // Values in the names of folders are Spark's.
    assertEquals(0, written(read))
    assertEquals(1, written(read.select("c7", "c0")))
    def folders = read.where("k > -32768").select("c7", "c0")
    assertEquals(1, written(folders))
    assertEquals(off(bytes(folders)), bytes(folders))
    assertEquals(0, written(read.where("c0 + 1 > 3").select("c0")))
    assertEquals(0, written(read.selectExpr("sum(c0)")))
    withConf("spark.sql.adaptive.enabled" -> "false") {
      assertEquals(1, written(read.select("c0").repartition(2)))
    }
    assertEquals(0, off(written(read.select("c0"))))
    val text = read.select("c0").queryExecution.executedPlan.toString
    assertTrue(text.contains("Arrowsmith Rows"), text)
    assertFalse(text.contains("ColumnarToRow"), text)
  }
}
