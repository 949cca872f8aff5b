// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.Try

import io.arrowsmith.JsonBatches
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.parquet.example.data.Group
import org.apache.parquet.example.data.simple.{NanoTime, SimpleGroupFactory}
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageTypeParser
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Assertions.{assertEquals, assertFalse, assertTrue}
import org.junit.jupiter.api.Assumptions.assumeTrue

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd, SparkListenerStageCompleted}
import org.apache.spark.sql.{DataFrame, DataFrameReader, Row}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types._

/** Every query gives the rows that it gives without the extension, and no native memory stays. */
class ParquetTest extends SessionTest with AdaptiveSparkPlanHelper {
  private def at(name: String): String = folder.resolve(name).toString

  /** Rows with values of every type, some of them null; of types that nest, too. */
  private def rows(count: Long, seed: Int = 1): DataFrame = {
    def sometimes(sql: String, every: Int) = s"if((id * 7 + $seed) % $every = 0, null, $sql)"
    val text = "substr('plain é 日本語 😀 text', cast(id % 7 + 1 as int), cast(id % 13 as int))"
    val inner = "named_struct('d', if(id % 4 = 0, null, 1.5D), 'e', id % 2 = 0)"
    val points = "array(named_struct('p', id, 'q', array(id)), null, " +
      "named_struct('p', null, 'q', array()))"
    val day = "date_add(date'2020-01-01', cast(id * 17 % 40000 - 20000 as int))"
    spark.range(count).repartition(1).selectExpr(
      "id",
      s"${sometimes("id % 3 = 0", 5)} as ok",
      s"${sometimes("cast(id % 256 - 128 as byte)", 6)} as tiny",
      s"${sometimes("cast(id * 31 % 65536 - 32768 as short)", 7)} as small",
      s"${sometimes("cast(id * 1000003 % 4294967296 - 2147483648 as int)", 8)} as int",
      s"${sometimes("cast(id * 7919 % 50 as int)", 8)} as few",
      s"${sometimes("cast(sin(id) as float)", 9)} as x",
      s"${sometimes("if(id % 50 = 0, double('NaN'), cos(id) * 1e100)", 5)} as y",
      s"${sometimes(text, 4)} as name",
      s"repeat(uuid(), 2) as unique",
      s"${sometimes(s"cast($text as binary)", 6)} as bytes",
      s"${sometimes(day, 6)} as day",
      s"${sometimes("timestamp_micros(id * 86399999999 - 100000000000000)", 7)} as moment",
      s"${sometimes("cast(timestamp_micros(id * 3599999999) as timestamp_ntz)", 7)} as local",
      s"${sometimes("cast(id * 37 % 100000 / 100 as decimal(7, 2))", 5)} as price",
      s"${sometimes("cast(-id * 123456789 as decimal(18, 4))", 5)} as long_price",
      s"${sometimes("cast(id as decimal(38, 10)) * -1234567890123", 5)} as big",
      s"${sometimes("transform(sequence(0, id % 4), i -> if(i = 2, null, i * id))", 6)} as list",
      s"${sometimes("array_repeat(array('a', null), cast(id % 3 as int))", 6)} as lists",
      s"${sometimes(s"named_struct('a', id, 'b', $text, 'c', $inner)", 5)} as at",
      s"${sometimes(s"map('k', id, $text || 'x', null)", 6)} as counts",
      s"${sometimes(s"map(id, array(named_struct('p', id, 'q', $text)))", 6)} as deep",
      s"${sometimes(points, 5)} as points")
  }

  /** A folder with a file of several row groups. */
  private def file(name: String, frame: DataFrame, settings: (String, String)*): String = {
    frame.write.options(settings.toMap).mode("overwrite").parquet(at(name))
    at(name)
  }

  private def found(frame: => DataFrame): Try[Seq[String]] =
    Try(frame.collect().toSeq.map(shown(_)))

  private def shown(value: Any): String = value match {
    case bytes: Array[Byte] => bytes.mkString("x", ",", "")
    case row: Row => row.toSeq.map(shown).mkString("[", ",", "]")
    case map: scala.collection.Map[_, _] => map.map { case (k, v) => shown(k) -> shown(v) }.toString
    case all: scala.collection.Seq[_] => all.map(shown).mkString("(", ",", ")")
    case other => String.valueOf(other)
  }

  private def off[T](work: => T): T = withConf("spark.arrowsmith.parquet.enabled" -> "false")(work)

  private def scans(frame: DataFrame): Seq[FileSourceScanExec] =
    collect(frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }

  private def isNative(scan: FileSourceScanExec): Boolean =
    scan.relation.fileFormat.isInstanceOf[ArrowsmithParquetFormat]

  /** The same rows in the same order, or the same failure; and the plan is what is expected. */
  private def same(what: String, native: Boolean = true)(frame: => DataFrame): Seq[String] = {
    val expected = off {
      assertFalse(scans(frame).exists(isNative))
      found(frame)
    }
    val result = found(frame)
    val lengths = s"${expected.map(_.length)}, ${result.map(_.length)}"
    assertEquals(expected.isSuccess, result.isSuccess, s"$what: $lengths")
    assertEquals(native, scans(frame).forall(isNative), s"$what: the plan")
    for (expected <- expected; result <- result) {
      expected.zip(result).zipWithIndex.foreach { case ((one, other), row) =>
        assertEquals(one, other, s"$what: row $row")
      }
      assertEquals(expected.length, result.length, s"$what: rows")
    }
    result.getOrElse(Nil)
  }

  /** What Spark's UI shows of a query: bytes that were read, and values by their names. */
  private def metrics(frame: DataFrame): (Long, Map[String, Long]) = {
    val values = TrieMap.empty[String, Long]
    val bytes = new AtomicLong
    val ended = new CountDownLatch(1)
    val listener = new SparkListener {
      override def onStageCompleted(stage: SparkListenerStageCompleted): Unit = {
        bytes.addAndGet(stage.stageInfo.taskMetrics.inputMetrics.bytesRead)
        for (value <- stage.stageInfo.accumulables.values; name <- value.name) {
          values(name) = value.value.fold(0L)(_.toString.toLong)
        }
      }
      override def onJobEnd(job: SparkListenerJobEnd): Unit = ended.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      frame.collect()
      assertTrue(ended.await(60, TimeUnit.SECONDS))
    } finally {
      spark.sparkContext.removeSparkListener(listener)
    }
    (bytes.get, values.toMap)
  }

  /** Splits that Spark's reader has read. */
  private def left(frame: DataFrame): Long =
    metrics(frame)._2.getOrElse("Arrowsmith: splits left to Spark", 0L)

  /** The same, and the engine has read every split, or none. */
  private def engine(what: String, reads: Boolean = true)(frame: => DataFrame): Seq[String] = {
    val rows = same(what)(frame)
    assertEquals(reads, left(frame) == 0, s"$what: the engine reads it")
    rows
  }

  private def split(bytes: Long) = Seq(
    "spark.sql.files.maxPartitionBytes" -> bytes.toString,
    "spark.sql.files.openCostInBytes" -> "0",
    "spark.sql.files.minPartitionNum" -> "1")

  @Test def theClassesOfThePlan(): Unit = {
    val path = file("plan", rows(10))
    def read = spark.read.parquet(path)
    assertTrue(scans(read).forall(_.supportsColumnar))
    assertTrue(read.queryExecution.executedPlan.toString.contains("Format: Arrowsmith Parquet"))
    assertTrue(read.queryExecution.executedPlan.toString.contains("Batched: true"))
    off(assertTrue(read.queryExecution.executedPlan.toString.contains("Format: Parquet")))
    val named = off(spark.read.format("arrowsmith-parquet").load(path))
    assertTrue(scans(named).forall(isNative))
    assertEquals(10, named.collect().length)
    spark.sql(s"CREATE TABLE planned USING parquet LOCATION '${Path.of(path).toUri}'")
    engine("a table")(spark.table("planned"))
    spark.sql("DROP TABLE planned")
  }

  @Test def everyTypeInEveryForm(): Unit = {
    val codecs = Seq("none", "snappy", "gzip", "zstd", "lz4", "lz4_raw", "brotli")
    val forms = for {
      version <- Seq("v1", "v2")
      dictionary <- Seq("true", "false")
    } yield Seq("parquet.writer.version" -> version, "parquet.enable.dictionary" -> dictionary)
    val settings = codecs.map(codec => Seq("compression" -> codec)) ++ forms
    var read = 0
    for (set <- settings) {
      val small = set ++ Seq("parquet.block.size" -> "80000", "parquet.page.size" -> "3000")
      val path = s"types/${set.map(_._2).mkString}"
      // Some codecs are not there without native libraries.
      if (Try(file(path, rows(2000), small: _*)).isSuccess) {
        read += 1
        for (bytes <- Seq(60000L, 1L << 30)) withConf(split(bytes): _*) {
          def read = spark.read.parquet(at(path))
          assertEquals(2000, engine(s"$set, $bytes")(read).length)
          // A condition on all rows: generated code reads the columns.
          engine(s"$set, $bytes, a condition")(read.where("xxhash64(id) <> 17"))
        }
      }
    }
    assertTrue(read >= 8, s"$read forms were written")
  }

  @Test def rowsInsteadOfBatches(): Unit = {
    val path = file("rows", rows(3000))
    def read = spark.read.parquet(path)
    withConf("spark.sql.codegen.maxFields" -> "3") {
      engine("few fields")(read)
      assertFalse(scans(read).exists(_.supportsColumnar))
    }
    withConf("spark.sql.parquet.enableVectorizedReader" -> "false")(engine("rows")(read))
    withConf("spark.sql.parquet.enableNestedColumnVectorizedReader" -> "false") {
      engine("nested")(read)
      engine("flat")(read.select("id", "name"))
    }
    withConf("spark.sql.codegen.wholeStage" -> "false")(engine("no codegen")(read))
    withConf("spark.sql.columnVector.offheap.enabled" -> "true")(engine("off heap")(read))
  }

  @Test def someColumns(): Unit = {
    val path = file("some", rows(3000))
    def read = spark.read.parquet(path)
    engine("in another order")(read.select("points", "name", "id"))
    engine("inside of structs")(read.selectExpr("at.c.e", "at.a", "at"))
    engine("one inside")(read.selectExpr("at.c.d"))
    engine("inside of lists")(read.selectExpr("points.q", "id"))
    engine("keys and values")(read.selectExpr("map_keys(deep)", "map_values(counts)"))
    engine("values inside")(read.selectExpr("transform(map_values(deep), v -> v.q)"))
    engine("none")(read.selectExpr("1"))
    engine("count")(read.selectExpr("count(*)"))
    engine("aggregates")(
      read.selectExpr("sum(id)", "max(name)", "sum(big)", "min(day)", "max(moment)"))
    withConf("spark.sql.optimizer.nestedSchemaPruning.enabled" -> "false") {
      engine("without pruning")(read.selectExpr("points.q", "at.c.e"))
    }
  }

  @Test def missingColumnsAndOtherNames(): Unit = {
    val one = file("names/k=1", rows(500).selectExpr("id", "name as Name", "at", "points"))
    val other = "named_struct('c', at.c, 'new', id) as at"
    file("names/k=2", rows(400, 2).selectExpr("name", "int", other, "id"))
    def read(schema: String) = spark.read.schema(schema).parquet(at("names"))
    engine("missing")(
      read("id LONG, NAME STRING, int INT, none ARRAY<INT>, k INT").orderBy("k", "id"))
    engine("inside")(
      read("at STRUCT<A: LONG, new: LONG, c: STRUCT<e: BOOLEAN, d: DOUBLE>>, id LONG"))
    engine("all missing")(read("x LONG, y STRUCT<z: INT>, k INT"))
    engine("in lists")(
      read("points ARRAY<STRUCT<q: ARRAY<LONG>, none: MAP<STRING, INT>, P: LONG>>"))
    // Whether a struct is null is not known without one of its members.
    engine("no member", reads = false)(
      spark.read.schema("at STRUCT<x: LONG, y: LONG>").parquet(one))
    withConf("spark.sql.caseSensitive" -> "true") {
      engine("case")(read("Name STRING, name STRING, NAME STRING, id LONG"))
      file("cases", spark.range(10).selectExpr("id as a", "id + 1 as A", "id + 2 as b"))
      engine("two")(spark.read.parquet(at("cases")))
    }
    same("ambiguous")(
      spark.read.schema("b LONG, a LONG").parquet(at("cases")).select("a"))
    engine("not ambiguous")(spark.read.schema("b LONG, a LONG").parquet(at("cases")).select("b"))
    for (merge <- Seq("true", "false")) {
      def merged = spark.read.option("mergeSchema", merge).parquet(at("names"))
      same(s"merge: $merge")(merged.orderBy("k", "id"))
    }
    val odd = Seq("a b", "quote\"", "dot.dot", "ü", "back\\slash", "#", "1", "tab\t", "a.b.c")
    file("odd", spark.range(100).selectExpr(odd.zipWithIndex.map { case (name, n) =>
      val inside = name.replace("\\", "\\\\")
      s"if(id % 3 = 0, null, named_struct('$n', id + $n, '$inside', id)) as `$name`"
    }: _*))
    engine("odd names")(spark.read.parquet(at("odd")))
  }

  @Test def partitionsAndMetadata(): Unit = {
    for (day <- Seq("2024-02-29", "__HIVE_DEFAULT_PARTITION__"); zone <- Seq("a", "ü b")) {
      file(s"parts/day=$day/zone=$zone", rows(300, zone.length))
    }
    def read = spark.read.parquet(at("parts"))
    engine("all")(read.orderBy("day", "zone", "id"))
    engine("pruned")(read.where("day is not null and zone = 'a'"))
    engine("only partitions")(read.select("zone", "day").orderBy("zone", "day"))
    engine("metadata")(read
      .selectExpr("_metadata.file_name", "id", "input_file_name()", "day", "_metadata.file_size")
      .orderBy("id", "day", "input_file_name()"))
    same("index of the row")(
      read.selectExpr("_metadata.row_index", "id").orderBy("id", "row_index"))
    // In the files and in the names of folders.
    file("both/id=7", rows(100))
    engine("overlap")(spark.read.parquet(at("both")))
  }

  @Test def conditions(): Unit = {
    val blocks = Seq("parquet.block.size" -> "100000", "parquet.page.size" -> "3000")
    val path = file("conditions", rows(20000), blocks: _*)
    val conditions = Seq("id > 19000", "id between 5000 and 5010", "id in (3, 12000)", "id = 77",
      "name is null and id < 100", "name like 'plain%'", "day < date'1980-01-01'", "price = 12.21",
      "moment > timestamp'2020-01-01 00:00:00'", "y > 0", "y = double('NaN')", "at.a > 19500",
      "unique = 'none'", "tiny = 5 and id > 10000", "not ok", "ok is null or int = 5", "big > 0")
    for (where <- conditions; bytes <- Seq(300000L, 1L << 30)) withConf(split(bytes): _*) {
      engine(where)(spark.read.parquet(path).where(where))
    }
    withConf(split(1L << 30): _*) {
      def read = spark.read.parquet(path).select("id", "unique")
      val (all, _) = metrics(read)
      val (few, _) = metrics(read.where("id > 19000"))
      assertTrue(few * 3 < all, s"$few of $all bytes")
      assertTrue(all > 20000 * 36, s"$all bytes")
    }
    engine("count")(spark.read.parquet(path).where("id > 19000").selectExpr("count(*)"))
    withConf("spark.sql.parquet.filterPushdown" -> "false") {
      engine("not pushed down")(spark.read.parquet(path).where("id > 19000"))
    }
  }

  @Test def splitsHaveTheRowGroupsOfTheirMiddle(): Unit = {
    val blocks = Seq("parquet.block.size" -> "30000", "parquet.page.size" -> "3000")
    val path = file("splits", rows(20000).select("id", "name", "unique"), blocks: _*)
    for (bytes <- Seq(1000L, 29999L, 30000L, 77777L, 1L << 30)) withConf(split(bytes): _*) {
      def read = spark.read.parquet(path)
      engine(s"$bytes")(read)
      engine(s"$bytes, count")(read.selectExpr("count(*)"))
      same(s"$bytes, parts")(read.selectExpr("spark_partition_id()", "id"))
      assertEquals(20000, read.collect().length)
    }
  }

  @Test def otherCalendars(): Unit = {
    val values = Seq("1000-01-01", "1582-10-04", "1582-10-15", "1900-06-01", "2024-02-29")
    val frame = spark.createDataFrame(values.zipWithIndex.map { case (value, n) => (value, n) })
      .selectExpr("_2 as n", "cast(_1 as date) as d", "cast(_1 as timestamp) as t",
        "cast(_1 as timestamp_ntz) as l").repartition(1)
    for {
      mode <- Seq("LEGACY", "CORRECTED")
      form <- Seq("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS")
      zone <- Seq("UTC", "America/Los_Angeles")
    } withConf(
      "spark.sql.session.timeZone" -> zone,
      "spark.sql.parquet.datetimeRebaseModeInWrite" -> mode,
      "spark.sql.parquet.int96RebaseModeInWrite" -> mode,
      "spark.sql.parquet.outputTimestampType" -> form) {
      val path = file(s"calendars/$mode$form${zone.length}", frame)
      val corrected = mode == "CORRECTED"
      engine(s"$mode, $form", corrected)(spark.read.parquet(path))
      engine(s"$mode, $form, date", corrected)(spark.read.parquet(path).select("d"))
      engine(s"$mode, $form, time", corrected)(spark.read.parquet(path).select("t"))
      engine(s"$mode, $form, local")(spark.read.parquet(path).select("n", "l"))
      withConf("spark.sql.parquet.int96TimestampConversion" -> "true") {
        same(s"$mode, $form, converted")(spark.read.parquet(path))
      }
    }
  }

  /** Files of a writer that does not say what it is, as of old versions and of other programs. */
  private def groups(name: String, schema: String)(rows: (SimpleGroupFactory => Group)*): String = {
    val message = MessageTypeParser.parseMessageType(schema)
    val path = folder.resolve(name)
    Files.createDirectories(path.getParent)
    val writer = ExampleParquetWriter.builder(new HadoopPath(path.toUri))
      .withConf(new Configuration).withType(message).build()
    try rows.foreach(row => writer.write(row(new SimpleGroupFactory(message))))
    finally writer.close()
    path.toString
  }

  @Test def filesWithoutACalendar(): Unit = {
    val path = groups("old/a.parquet",
      """message m {
           required int32 d (DATE);
           required int64 t (TIMESTAMP_MICROS);
           required int96 i;
           required int64 n;
         }""")(
      (-400000 to 20000 by 60000).map { day => factory: SimpleGroupFactory =>
        factory.newGroup().append("d", day).append("t", day * 86400000000L)
          .append("i", new NanoTime(2440588 + day, 5001999L))
          .append("n", day.toLong)
      }: _*)
    for (mode <- Seq("LEGACY", "CORRECTED", "EXCEPTION")) {
      def read = calendar(mode).parquet(path)
      same(mode)(read)
      engine(s"$mode, no dates")(read.select("n"))
      withConf(
        "spark.sql.parquet.datetimeRebaseModeInRead" -> mode,
        "spark.sql.parquet.int96RebaseModeInRead" -> mode) {
        same(s"$mode, setting")(spark.read.parquet(path))
      }
    }
    engine("corrected")(calendar("CORRECTED").parquet(path))
  }

  private def calendar(mode: String): DataFrameReader =
    spark.read.option("datetimeRebaseMode", mode).option("int96RebaseMode", mode)

  @Test def otherTypesThanTheFile(): Unit = {
    val path = file("widen", rows(1000))
    val wanted = Seq(
      "tiny" -> "SHORT", "tiny" -> "INT", "small" -> "INT", "small" -> "LONG", "int" -> "LONG",
      "int" -> "DOUBLE", "int" -> "SHORT", "int" -> "BYTE", "int" -> "DECIMAL(20, 2)",
      "x" -> "DOUBLE", "id" -> "INT", "id" -> "DECIMAL(20, 0)", "price" -> "DECIMAL(9, 2)",
      "price" -> "DECIMAL(10, 4)", "price" -> "DECIMAL(5, 2)", "price" -> "DECIMAL(7, 3)",
      "long_price" -> "DECIMAL(38, 4)", "name" -> "BINARY", "bytes" -> "STRING", "name" -> "LONG",
      "day" -> "TIMESTAMP_NTZ", "day" -> "INT", "moment" -> "TIMESTAMP_NTZ",
      "local" -> "TIMESTAMP", "moment" -> "LONG", "ok" -> "INT", "list" -> "ARRAY<INT>",
      "counts" -> "MAP<STRING, INT>", "at" -> "STRUCT<a: STRING>", "at" -> "STRING",
      "list" -> "STRING")
    for ((column, of) <- wanted; vectors <- Seq("true", "false")) {
      withConf("spark.sql.parquet.enableVectorizedReader" -> vectors) {
        same(s"$column as $of")(spark.read.schema(s"$column $of").parquet(path))
      }
    }
    same("collated", native = false)(
      spark.read.schema("name STRING COLLATE UTF8_LCASE").parquet(path))
    engine("text as bytes")(spark.read.schema("name BINARY").parquet(path))
    engine("bytes as text")(spark.read.schema("bytes STRING").parquet(path))
  }

  @Test def whatOtherProgramsWrite(): Unit = {
    val unsigned = groups("others/unsigned.parquet",
      """message m {
           required int32 a (UINT_8);
           required int32 b (UINT_16);
           required int32 c (UINT_32);
           required int64 d (UINT_64);
           optional binary e (ENUM);
           optional binary j (JSON);
           optional int32 i8 (INT_8);
         }""")(
      factory => factory.newGroup().append("a", 200).append("b", 60000).append("c", -5)
        .append("d", -6L).append("e", "word").append("j", "{}").append("i8", 300),
      factory => factory.newGroup().append("a", 1).append("b", 2).append("c", 3).append("d", 4L))
    engine("unsigned", reads = false)(spark.read.parquet(unsigned))
    engine("words")(spark.read.parquet(unsigned).select("j", "e", "i8"))
    val lists = groups("others/lists.parquet",
      """message m {
           required group a (LIST) { repeated int32 array; }
           required group b (LIST) { repeated group bag { optional int64 array_element; } }
           repeated int32 c;
           required group d (LIST) { repeated group d_tuple { required int32 x; } }
           required group m (MAP_KEY_VALUE) {
             repeated group map { required binary key (UTF8); optional int32 value; }
           }
           required group n (MAP) {
             repeated group map (MAP_KEY_VALUE) {
               required binary key (UTF8);
               optional int32 value;
             }
           }
         }""")(
      { factory =>
        val group = factory.newGroup()
        group.addGroup("a").append("array", 1).append("array", 2)
        val b = group.addGroup("b")
        b.addGroup("bag").append("array_element", 5L)
        b.addGroup("bag")
        group.append("c", 7).append("c", 8)
        group.addGroup("d").addGroup("d_tuple").append("x", 9)
        group.addGroup("m").addGroup("map").append("key", "k").append("value", 3)
        group.addGroup("n").addGroup("map").append("key", "k")
        group
      })
    engine("old lists", reads = false)(spark.read.parquet(lists))
    engine("bags and old maps")(spark.read.parquet(lists).select("b", "n"))
  }

  @Test def textThatIsNotUtf8(): Unit = {
    val bad = Binary.fromConstantByteArray(Array(0x61, 0xff, 0x62).map(_.toByte))
    val count = 60000
    for (where <- Seq(0, 5, 20001, count - 1)) {
      val schema = "message m { required int64 id; optional binary s (UTF8); }"
      val path = groups(s"utf8/$where.parquet", schema)(
        (0 until count).map { n => factory: SimpleGroupFactory =>
          val group = factory.newGroup().append("id", n.toLong)
          if (n == where) group.append("s", bad) else group.append("s", s"text $n")
          group
        }: _*)
      def read = spark.read.parquet(path)
      assertEquals(count, engine(s"$where", reads = false)(read.selectExpr("id", "hex(s)")).length)
      withConf("spark.sql.codegen.maxFields" -> "1") {
        engine(s"$where, rows", reads = false)(read.selectExpr("id", "hex(s)"))
      }
      engine(s"$where, condition", reads = false)(
        read.where("id > 19999").selectExpr("id", "hex(s)"))
      engine(s"$where, not read")(read.select("id"))
      withConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
        same(s"$where, ignore", native = false)(read.selectExpr("count(s)"))
      }
    }
    // The same after several row groups, of which a condition leaves some out.
    val path = folder.resolve("utf8/groups.parquet")
    spark.range(60000).repartition(1).sortWithinPartitions("id").selectExpr(
      "id", "if(id = 45000, cast(x'61ff62' as string), 'text ' || id) as s")
      .write.option("parquet.block.size", "50000").option("parquet.page.size", "2000")
      .parquet(path.toString)
    for (bytes <- Seq(100000L, 1L << 30)) withConf(split(bytes): _*) {
      def read = spark.read.parquet(path.toString).selectExpr("id", "hex(s) as s")
      assertEquals(60000, engine(s"$bytes", reads = false)(read).length)
      engine(s"$bytes, condition", reads = false)(read.where("id > 30000 or id < 3000"))
    }
  }

  @Test def badFiles(): Unit = {
    val whole = Files.list(Path.of(file("bad/whole", rows(3000)))).iterator.asScala
      .find(_.toString.endsWith(".parquet")).get
    val bytes = Files.readAllBytes(whole)
    def written(name: String, content: Array[Byte]): String = {
      val path = folder.resolve(s"bad/$name.parquet")
      Files.write(path, content)
      path.toString
    }
    val schema = spark.read.parquet(whole.toString).schema
    def read(path: String) = spark.read.schema(schema).parquet(path)
    same("empty")(read(written("empty", Array.empty)))
    same("no footer")(read(written("cut", bytes.take(bytes.length / 2))))
    same("text")(read(written("text", "id,name\n1,a\n".getBytes)))
    // Without checksums a reader may take other bytes for other values, or notice.
    withConf("parquet.page.verify-checksum.enabled" -> "true") {
      for (at <- 5 until bytes.length - 60 by bytes.length / 40) {
        val damaged = bytes.clone()
        (at until at + 60).foreach(index => damaged(index) = (damaged(index) ^ 0x5a).toByte)
        val path = written(s"damaged$at", damaged)
        same(s"damaged at $at")(read(path))
        withConf("parquet.page.verify-checksum.enabled" -> "false")(found(read(path)))
      }
    }
    val gone = written("gone", bytes)
    val frame = read(gone)
    Files.delete(Path.of(gone))
    assertTrue(found(frame).isFailure)
    withConf("spark.sql.files.ignoreMissingFiles" -> "true") {
      assertEquals(Seq(), found(frame.where("id > 0")).get)
    }
  }

  @Test def earlyEnds(): Unit = {
    val blocks = Seq("parquet.block.size" -> "100000", "parquet.page.size" -> "3000")
    val path = file("early", rows(20000), blocks: _*)
    def read = spark.read.parquet(path)
    withConf(split(300000): _*) {
      engine("limit")(read.limit(5))
      engine("union")(read.limit(3).union(read.limit(2)))
      spark.udf.register("failing", (id: Long) => if (id > 500) sys.error("on purpose") else id)
      same("failing")(read.selectExpr("sum(failing(id))"))
      spark.udf.register("slow", (id: Long) => { Thread.sleep(20); id })
      val cancelled = new Thread(() => {
        spark.sparkContext.setJobGroup("cancelled", "", interruptOnCancel = true)
        Try(read.selectExpr("sum(slow(id))").collect())
        ()
      })
      cancelled.start()
      while (JsonBatches.liveReaders == 0) Thread.sleep(5)
      spark.sparkContext.cancelJobGroup("cancelled")
      cancelled.join(60000)
      val deadline = System.nanoTime + 60000000000L
      while (JsonBatches.liveReaders > 0 && System.nanoTime < deadline) Thread.sleep(20)
    }
    val cached = read.cache()
    assertEquals(20000, cached.count())
    assertEquals(20000, cached.collect().length)
    cached.unpersist(true)
    engine("joined")(
      read.select("id", "name").join(read.selectExpr("id", "at"), "id").orderBy("id"))
  }

  @Test def moreFieldsThanBatchesHave(): Unit = {
    val columns = (0 until 130).map(n => s"if(id % ${n + 2} = 0, null, id * $n) as c$n")
    val path = file("wide", spark.range(2000).selectExpr(columns: _*))
    engine("wide")(spark.read.parquet(path))
    assertFalse(scans(spark.read.parquet(path)).exists(_.supportsColumnar))
  }

  @Test def streamsOfFiles(): Unit = {
    val path = file("stream", rows(1000))
    def collected(name: String): Seq[String] = {
      val schema = spark.read.parquet(path).schema
      val query = spark.readStream.schema(schema).parquet(path).select("id", "at", "name")
        .writeStream.format("memory").queryName(name).trigger(Trigger.AvailableNow()).start()
      query.processAllAvailable()
      query.stop()
      spark.table(name).orderBy("id").collect().toSeq.map(_.toString)
    }
    assertEquals(off(collected("spark")), collected("engine"))
    assertEquals(1000, spark.table("engine").count())
  }

  @Test def whatIsLeftToSpark(): Unit = {
    val path = file("left", rows(10).selectExpr("id", "make_interval(1) as i", "name").drop("i"))
    def read = spark.read
    same("an option", native = false)(read.option("somethingNew", "1").parquet(path))
    val schema = new StructType().add("id", LongType, true,
      new MetadataBuilder().putLong("parquet.field.id", 1).build())
    withConf("spark.sql.parquet.fieldId.read.enabled" -> "true",
      "spark.sql.parquet.fieldId.read.ignoreMissing" -> "true") {
      same("ids of fields", native = false)(read.schema(schema).parquet(path))
    }
    val intervals = file("intervals",
      spark.range(10).selectExpr("id", "make_dt_interval(id) as i", "make_ym_interval(1) as y"))
    same("intervals")(read.parquet(intervals))
    engine("a column beside them")(read.parquet(intervals).select("id"))
    val named = off(read.format("arrowsmith-parquet").load(intervals))
    assertEquals(10, named.collect().length)
  }

  @Test def metricsOfTheScan(): Unit = {
    val path = file("metrics", rows(20000).select("id", "unique", "name"))
    val size = Files.list(Path.of(path)).iterator.asScala
      .filter(_.toString.endsWith(".parquet")).map(Files.size(_)).sum
    withConf(split(1L << 30): _*) {
      val (bytes, values) = metrics(spark.read.parquet(path))
      assertTrue(bytes > size * 9 / 10 && bytes < size * 12 / 10, s"$bytes of $size")
      assertFalse(values.contains("Arrowsmith: splits left to Spark"))
      val (few, _) = metrics(spark.read.parquet(path).select("name"))
      assertTrue(few < bytes / 3, s"$few of $bytes")
    }
  }

  @Test def filesOfOtherWriters(): Unit = {
    val corpora = System.getProperty("arrowsmith.corpora", "corpora")
    assumeTrue(Files.isDirectory(Path.of(corpora)), s"there are no corpora at $corpora")
    val files = Files.walk(Path.of(corpora)).iterator.asScala
      .filter(path => path.toString.endsWith(".parquet") && Files.isRegularFile(path))
      .filter(Files.size(_) < (4 << 20)).toSeq.sorted
    assertTrue(files.length > 50, s"${files.length} files")
    val copied = Files.createDirectories(folder.resolve("corpora"))
    val every = Integer.getInteger("arrowsmith.corpora.every", 10)
    var read = 0
    for ((path, number) <- files.zipWithIndex if number % every == 0) {
      val copy = copied.resolve(s"$number.parquet")
      Files.copy(path, copy, StandardCopyOption.REPLACE_EXISTING)
      def all = spark.read.parquet(copy.toString)
      // The engine knows encodings and codecs that Spark does not.
      val unknown = Seq("Unsupported encoding", "BrotliCodec", "Lz4Codec", "LzoCodec")
      val refused = off(found(all)).failed.toOption
        .exists(failure => unknown.exists(messages(failure).contains))
      if (Try(all.schema).isSuccess && !refused) {
        same(path.toString)(all)
        if (Try(left(all)).toOption.contains(0L)) read += 1
        all.columns.take(4).foreach { column =>
          same(s"$path, $column")(all.select(s"`${column.replace("`", "``")}`"))
        }
      }
      Files.delete(copy)
    }
    assertTrue(read > 10, s"the engine read $read of ${files.length / every} files")
  }

  private def messages(failure: Throwable): String =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).mkString("; ")
}
