// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.collection.concurrent.TrieMap

import scala.util.{Random, Try}

import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Assertions.{assertEquals, assertFalse, assertThrows, assertTrue}
import org.junit.jupiter.api.Assumptions.assumeTrue

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd, SparkListenerStageCompleted}
import org.apache.spark.sql.{DataFrame, SparkSessionExtensions}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.types._

/** Every query gives the rows that it gives without the extension, and no native memory stays. */
class JsonTest extends SessionTest with AdaptiveSparkPlanHelper {
  private val schema = StructType.fromDDL(
    "id LONG, small INT, tiny BYTE, ok BOOLEAN, x DOUBLE, y FLOAT, name STRING, " +
      "price DECIMAL(12, 2), big DECIMAL(30, 4), tags ARRAY<STRING>, " +
      "at STRUCT<lat: DOUBLE, lon: DOUBLE, who: STRUCT<n: INT>>, " +
      "counts MAP<STRING, LONG>, points ARRAY<STRUCT<p: INT, q: ARRAY<INT>>>")

  private def write(name: String, text: String): String =
    writeBytes(name, text.getBytes(StandardCharsets.UTF_8))

  private def writeBytes(name: String, bytes: Array[Byte]): String = {
    val path = folder.resolve(name)
    Files.createDirectories(path.getParent)
    Files.write(path, bytes)
    path.toString
  }

  /** A record with values of every column; some are missing, null, or in another order. */
  private def record(random: Random, id: Int): String = {
    def text = Seq("plain", "q\\\"uote", "\\u00e9\\n", "日本語", "", "x" * random.nextInt(60))(
      random.nextInt(6))
    val fields = Seq(
      s""""id":$id""",
      s""""small":${random.nextInt()}""",
      s""""tiny":${random.nextInt(256) - 128}""",
      s""""ok":${random.nextBoolean()}""",
      s""""x":${random.nextGaussian() * 1e6}""",
      s""""y":${random.nextFloat()}""",
      s""""name":"$text"""",
      s""""price":${BigDecimal(random.nextInt(10000000), 2)}""",
      s""""big":${BigDecimal(BigInt(80, random), 4)}""",
      s""""tags":[${Seq.fill(random.nextInt(4))(s""""$text"""").mkString(", ")}]""",
      s""""at":{"lat":${random.nextDouble()},"lon":null,"who":{"n":${random.nextInt(9)}},"no":1}""",
      s""""counts":{"a":${random.nextInt(50)},"b":null}""",
      s""""points":[{"p":1,"q":[1,null,3]},null,{"q":[]}]""",
      s""""unknown":{"deep":[{"a":"}"}]}""")
    val kept = fields.filter(_ => random.nextInt(8) > 0)
    (if (random.nextInt(5) == 0) random.shuffle(kept) else kept).mkString("{", ",", "}")
  }

  private def records(count: Int, seed: Int): Seq[String] = {
    val random = new Random(seed)
    Seq.tabulate(count)(record(random, _))
  }

  /** What Spark and the engine disagree on, and what neither reads. */
  private val dirty = Seq(
    """{"id":"7"}""",
    """{"id":1e400}""",
    """{"small":3000000000}""",
    """{"x":"NaN","y":"-INF"}""",
    """{"x":NaN}""",
    """{'id':3,'name':'single'}""",
    """{"name":17.50}""",
    """{"name":{"a": [1, 2]}}""",
    """{"name":true}""",
    """{"price":1.005,"id":5}""",
    """{"price":"12.50"}""",
    """{"price":12345678901234}""",
    """{"tags":"none"}""",
    """{"tags":[1,"b"]}""",
    """{"at":7,"id":9}""",
    """{"at":{"lat":"x","lon":2.0},"id":9}""",
    """{"counts":{"a":"x"}}""",
    """{"id":1,"id":2}""",
    """{"at":{"lat":1},"at":{"lon":2}}""",
    """[{"id":10},{"id":11},{"id":12}]""",
    "[]",
    "null",
    "17",
    """  {"id": 13 , "name" : "spaces"}  """,
    """  {"id": 13 , "name" : 5  }  """,
    """{"id":14} trailing""",
    """{"id":15}{"id":16}""",
    """{"id":17""",
    """{"id":18,}""",
    "garbage",
    """{"id":007}""",
    "{\"name\":\"\\ud800\"}",
    """{"ok":"true"}""",
    """{"ok":1}""",
    """{"id":""}""",
    """{"id":1.0}""",
    """{"ID":5,"Id":6}""",
    """{"x":-0.0,"y":1e-50}""",
    """{"x":1e309}""",
    """{"points":[{"p":"x"},{"q":[1,"y"]}]}""",
    "",
    "   ",
    "\t",
    """{"name":"tab	inside"}""",
    "{}")

  private val modes = Seq("PERMISSIVE", "DROPMALFORMED", "FAILFAST")

  private def mixed(count: Int): Seq[String] = {
    val random = new Random(5)
    records(count, 3).flatMap { record =>
      if (random.nextInt(9) == 0) {
        Seq.fill(1 + random.nextInt(3))(dirty(random.nextInt(dirty.length))) :+ record
      } else {
        Seq(record)
      }
    }
  }

  private def rows(frame: => DataFrame): Try[Seq[String]] =
    Try(frame.collect().toSeq.map(_.toString))

  private def off[T](work: => T): T = withConf("spark.arrowsmith.json.enabled" -> "false")(work)

  private def scans(frame: DataFrame): Seq[FileSourceScanExec] =
    collect(frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }

  private def isNative(frame: DataFrame): Boolean =
    scans(frame).forall(_.relation.fileFormat.isInstanceOf[ArrowsmithJsonFormat])

  /** The same rows in the same order, or the same failure; and the plan is what is expected. */
  private def same(what: String, native: Boolean = true)(frame: => DataFrame): Seq[String] = {
    val expected = off {
      assertFalse(scans(frame).exists(_.relation.fileFormat.isInstanceOf[ArrowsmithJsonFormat]))
      rows(frame)
    }
    val found = rows(frame)
    assertEquals(native, isNative(frame), s"$what: the plan")
    assertEquals(expected.isSuccess, found.isSuccess, s"$what: $expected, $found")
    for (expected <- expected; found <- found) {
      expected.zip(found).zipWithIndex.foreach { case ((one, other), row) =>
        assertEquals(one, other, s"$what: row $row")
      }
      assertEquals(expected.length, found.length, s"$what: rows")
    }
    found.getOrElse(Nil)
  }

  private def split(bytes: Long) = Seq(
    "spark.sql.files.maxPartitionBytes" -> bytes.toString,
    "spark.sql.files.openCostInBytes" -> "0",
    "spark.sql.files.minPartitionNum" -> "1")

  @Test def theClassesOfThePlan(): Unit = {
    val path = write("plan/a.json", records(10, 1).mkString("\n"))
    val frame = spark.read.schema(schema).json(path)
    assertTrue(scans(frame).forall(_.supportsColumnar))
    assertTrue(frame.queryExecution.executedPlan.toString.contains("Format: Arrowsmith JSON"))
    assertTrue(frame.queryExecution.executedPlan.toString.contains("Batched: true"))
    val named = spark.read.schema(schema).format("arrowsmith-json").load(path)
    assertTrue(isNative(named))
    assertEquals(10, named.collect().length)
  }

  @Test def otherVersionsOfSparkKeepTheirReader(): Unit = {
    var rules = 0
    val extensions = new SparkSessionExtensions {
      override def injectOptimizerRule(builder: RuleBuilder): Unit = rules += 1
    }
    Seq("3.5.9", "5.0.0").foreach(new ArrowsmithExtensions(_)(extensions))
    assertEquals(0, rules)
    Seq("4.0.2", "4.2.0").foreach(new ArrowsmithExtensions(_)(extensions))
    new ArrowsmithExtensions()(extensions)
    assertEquals(6, rules)
    Versions.check("arrowsmith-json")
    val refused = assertThrows(
      classOf[UnsupportedOperationException],
      () => Versions.check("arrowsmith-json", "3.5.9"))
    assertEquals("arrowsmith-json is for Spark 4; this is 3.5.9", refused.getMessage)
  }

  /** Values of every type that Spark finds in the names of folders, and an absent one. */
  @Test def typesOfFolders(): Unit = {
    val days = Seq("2024-02-29", "__HIVE_DEFAULT_PARTITION__", "2023-01-01")
    for ((day, n) <- days.zipWithIndex) {
      val time = s"2024-01-0${n + 1} 10%3A11%3A12"
      val folder = s"i=$n/l=${1L << 40}$n/x=$n.5/ok=${n == 0}/s=tëxt$n/d=$day/t=$time"
      write(s"folders/$folder/a.json", records(20, n).mkString("\n") + "\n{\"id\":\"x\"}")
    }
    val of = schema.add("i", IntegerType).add("l", LongType).add("x", DoubleType)
      .add("ok", BooleanType).add("s", StringType).add("d", DateType).add("t", TimestampType)
    for (last <- Seq("DECIMAL(20, 0)", "SHORT", "BYTE", "FLOAT", "BINARY")) {
      val typed = StructType(of.filterNot(_.name == "i") ++ StructType.fromDDL(s"i $last"))
      def read = spark.read.schema(typed).json(folder.resolve("folders").toString)
      assertEquals(63, same(last)(read.drop("i")).length)
      same(s"$last, value")(read.selectExpr("id", "cast(i as string)", "d", "l + 1"))
      assertTrue(scans(read.drop("points")).forall(_.supportsColumnar))
    }
  }

  @Test def cleanRecordsOfAnySplit(): Unit =
    for ((end, name) <- Seq("\n" -> "lf", "\r\n" -> "crlf"); last <- Seq(end, "")) {
      val text = records(3000, 2).mkString(end) + last
      val path = write(s"clean/$name${last.length}.json", text)
      for (bytes <- Seq(4096L, 10007L, 65536L, 1L << 30)) withConf(split(bytes): _*) {
        def read = spark.read.schema(schema).json(path)
        assertEquals(3000, same(s"$name, $bytes")(read).length)
        // A condition that is not pushed down: generated code reads the columns.
        same(s"$name, $bytes, a condition")(read.where("xxhash64(id) <> 17"))
      }
    }

  @Test def dirtyRecordsInEveryMode(): Unit = {
    val path = write("dirty/a.json", mixed(4000).mkString("\n"))
    val corrupt = schema.add("_corrupt_record", StringType)
    for (mode <- modes; bytes <- Seq(4096L, 65536L, 1L << 30)) {
      withConf(split(bytes): _*) {
        def read(schema: StructType) = spark.read.schema(schema).option("mode", mode).json(path)
        same(s"$mode, $bytes")(read(schema))
        same(s"$mode, $bytes, corrupt")(read(corrupt))
        same(s"$mode, $bytes, a condition")(read(corrupt).where("xxhash64(id) <> 17"))
        same(s"$mode, $bytes, some columns")(read(corrupt).select("_corrupt_record", "id", "at"))
        same(s"$mode, $bytes, count")(read(schema).selectExpr("count(*)"))
        same(s"$mode, $bytes, filter")(read(schema).where("id > 100 and price < 5000"))
      }
    }
  }

  @Test def everyDirtyRecordAlone(): Unit = dirty.zipWithIndex.foreach { case (record, number) =>
    val path = write(s"alone/$number.json", record)
    val corrupt = schema.add("_corrupt_record", StringType)
    for (mode <- modes) {
      same(s"$mode: $record")(spark.read.schema(corrupt).option("mode", mode).json(path))
    }
  }

  @Test def manyBadRecordsInARow(): Unit = {
    val bad = Seq.fill(150000)("7").mkString("\n")
    val path = write("many/a.json", s"""{"id":1}\n$bad\n{"id":2}\n""")
    same("all bad")(spark.read.schema("id LONG, _corrupt_record STRING").json(path)
      .selectExpr("count(*)", "sum(id)", "count(_corrupt_record)"))
    val arrays = Seq.fill(9000)("""[{"id":1},{"id":2}]""").mkString("\n")
    same("arrays")(spark.read.schema("id LONG").json(write("many/b.json", arrays)))
  }

  @Test def aLoneCarriageReturnEndsALineInSpark(): Unit = {
    val lines = records(3000, 4)
    val text = lines.take(2000).mkString("\n") + "\r" + lines.drop(2000).mkString("\n") +
      "\n{\"id\":\r7}\n{\"id\":8}"
    val path = write("cr/a.json", text)
    for (bytes <- Seq(4096L, 65536L, 1L << 30)) withConf(split(bytes): _*) {
      same(s"$bytes")(spark.read.schema(schema).json(path))
    }
  }

  /** Queries whose condition Spark tests while it reads, in every mode. */
  private def filtered(what: String, path: String): Unit = {
    val corrupt = schema.add("_corrupt_record", StringType)
    for (mode <- modes) withConf(split(1L << 30): _*) {
      def read(schema: StructType) = spark.read.schema(schema).option("mode", mode).json(path)
      val found = same(s"$what, $mode")(read(schema).where("id >= 3000"))
      assertTrue(mode == "FAILFAST" || found.length > 1000, s"$what, $mode: ${found.length} rows")
      same(s"$what, $mode, corrupt")(
        read(corrupt).where("id < 9000 and (_corrupt_record is null or small > 0)"))
      same(s"$what, $mode, count")(read(schema).where("small > 0").selectExpr("count(*)"))
    }
  }

  @Test def conditionsWhereTheEngineStops(): Unit = {
    val lines = records(16000, 12)
    // Of several batches, with white space between them that is not a record.
    val before = lines.take(14000).mkString("\n").replace("\n{\"id\":5", "\n \t\r\n\n{\"id\":5")
    val after = lines.drop(14000).mkString("\n")
    assertTrue(before.length > (3 << 20))
    filtered("lone CR", write("stop/cr.json", s"$before\r$after"))
    filtered("lone CR in a record", write("stop/in.json", s"$before\n{\"id\":\r7000}\n$after"))
    val bad = "\n{\"id\":10,\"x\":[}\n{\"id\":7000,\"small\":\"x\"}\n[{\"id\":1},{\"id\":8000}]\n"
    val mixed = lines.take(14000).grouped(500).map(_.mkString("\n")).mkString(bad)
    filtered("bad records", write("stop/bad.json", s"$mixed$bad\r$bad$after"))
    // Too long for the engine, not for Spark.
    val long = "x" * 11000000
    val record = s"""{"id":7000,"name":"$long","small":1,"unknown":"$long"}"""
    filtered("a long record", write("stop/long.json", s"$before\n$record\n$after"))
  }

  @Test def repeatedKeysWithACondition(): Unit = {
    val lines = Seq(
      """{"id":1,"id":200}""",
      """{"id":1,"small":5,"id":200}""",
      """{"id":null,"id":200}""",
      """{"id":200,"small":1,"small":2}""",
      "{\"id\":1,\"\\u0069d\":200}",
      """{"name":"a","name":"b","id":300}""",
      """{"at":{"lat":1,"lat":2},"id":300}""",
      """{"unknown":1,"unknown":2,"id":300}""")
    val path = write("repeated/a.json", lines.mkString("\n"))
    for (mode <- modes) {
      def read = spark.read.schema(schema).option("mode", mode).json(path)
      assertEquals(lines.length, same(mode)(read).length)
      assertEquals(4, same(s"$mode, id")(read.where("id > 100")).length)
      assertEquals(0, same(s"$mode, small")(read.where("id > 100 and small > 1")).length)
      assertEquals(0, same(s"$mode, name")(read.where("name = 'b'")).length)
    }
    // Spark's parser fails here, by an assertion.
    val failing = write("repeated/b.json", """{"id":200,"id":300}""")
    same("passed twice")(spark.read.schema(schema).json(failing).where("id > 100"))
  }

  @Test def bytesThatAreNotUtf8(): Unit = {
    // Each character is a byte: alone, cut short, too long a form, half a pair, out of range.
    val broken = Seq("\u00ff", "\u0080", "\u00e2\u0082", "\u00c3", "\u00c0\u0080",
      "\u00e0\u0080\u00af", "\u00ed\u00a0\u0080", "\u00f0\u009f\u0098", "\u00f4\u0090\u0080\u0080",
      "\u00f5\u0080\u0080\u0080", "\u00f8\u0088\u0080\u0080\u0080", "\u00f0\u009f\u0098\u0080")
    val lines = broken.flatMap { bytes =>
      Seq(
        s"""{"id":1,"name":"$bytes"}""",
        s"""{"id":2,"unknown":"$bytes","small":5}""",
        s"""{"id":3,"unknown":{"a":["$bytes"]},"small":5}""",
        s"""{"id":4,"$bytes":1,"small":5}""",
        s"""{"id":5,"at":{"$bytes":1,"lat":2.0},"small":5}""",
        s"""{"id":6,"counts":{"$bytes":1}}""",
        s"""{"id":7,"unknown":{"$bytes":1},"small":5}""")
    }
    val corrupt = schema.add("_corrupt_record", StringType)
    def compare(what: String, text: String, mode: String, bytes: Long): Unit = {
      val path = writeBytes(s"bytes/$what.json", text.getBytes(StandardCharsets.ISO_8859_1))
      withConf(split(bytes): _*) {
        def read(schema: StructType) = spark.read.schema(schema).option("mode", mode).json(path)
        same(s"$what, $mode, $bytes")(read(corrupt).select("id", "small", "at", "_corrupt_record"))
        same(s"$what, $mode, $bytes, condition")(read(schema).select("id").where("id > 2"))
        same(s"$what, $mode, $bytes, count")(read(schema).selectExpr("count(*)"))
      }
    }
    for (mode <- modes) {
      compare("together", lines.mkString("\n"), mode, 1000)
      compare("first", lines(1) + "\n" + records(50, 14).mkString("\n"), mode, 1L << 30)
    }
    // Far from each other: the engine reads what is between them.
    val between = records(1000, 15).mkString("\n", "\n", "\n")
      .getBytes(StandardCharsets.UTF_8).map(byte => (byte & 0xff).toChar).mkString
    assertTrue(between.length > 100000)
    val apart = lines.slice(0, 5).mkString("\r\n", between, between)
    for (mode <- modes; bytes <- Seq(50000L, 1L << 30)) compare("apart", apart, mode, bytes)
    withConf(split(1L << 30): _*) {
      val path = folder.resolve("bytes/apart.json").toString
      val (bytes, values) = metrics(spark.read.schema(schema).json(path).select("id"))
      assertEquals(5L, values("Arrowsmith: records left to Spark"))
      assertTrue(bytes >= Files.size(Path.of(path)))
    }
  }

  @Test def keysThatAreTooLong(): Unit = {
    val corrupt = schema.add("_corrupt_record", StringType)
    for (bytes <- Seq(49990, 50010, 300000); unit <- Seq("k", "\u00e9", "\\\"")) {
      val key = unit * (bytes / unit.getBytes(StandardCharsets.UTF_8).length)
      val padding = records(400, bytes).mkString("\n")
      val lines = Seq(
        padding,
        s"""{"id":1,"$key":1}""",
        s"""{"id":2,"at":{"lat":1,"$key" \t: 1},"small":2}""",
        s"""{"id":3,"name":"$key","tags":["$key","$key"],"unknown":"$key"}""",
        padding,
        s"""{"unknown":[{"a":"\\\\","b\\\\":"$key","$key":[]}],"id":4}""",
        padding)
      val path = write(s"keys/${bytes}_${unit.length}.json", lines.mkString("\n"))
      for (split <- Seq(split(100000), split(1L << 30))) withConf(split: _*) {
        same(s"$bytes of $unit")(
          spark.read.schema(corrupt).json(path).select("id", "small", "_corrupt_record"))
      }
    }
  }

  @Test def partitionsAndMetadata(): Unit = {
    for (day <- 1 to 3; zone <- Seq("a", "b")) {
      write(s"parts/day=$day/zone=$zone/x.json", records(200, day).mkString("\n"))
    }
    def read = spark.read.schema(schema).json(folder.resolve("parts").toString)
    same("all")(read)
    same("pruned")(read.where("day = 2 and zone = 'b'"))
    same("only partitions")(read.select("zone", "day"))
    same("metadata")(read.selectExpr("_metadata.file_name", "id", "input_file_name()", "day"))
  }

  @Test def limitsAndFailuresEndEarly(): Unit = {
    val path = write("early/a.json", records(20000, 6).mkString("\n"))
    withConf(split(65536): _*) {
      same("limit")(spark.read.schema(schema).json(path).limit(5))
      def some(count: Int) = spark.read.schema(schema).json(path).limit(count)
      same("union")(some(3).union(some(2)))
      spark.udf.register("failing", (id: Long) => if (id > 500) sys.error("on purpose") else id)
      same("failing")(spark.read.schema(schema).json(path).selectExpr("sum(failing(id))"))
    }
    val cached = spark.read.schema(schema).json(path).cache()
    assertEquals(20000, cached.count())
    cached.unpersist(true)
  }

  @Test def moreFieldsThanBatchesHave(): Unit = {
    val wide = StructType((0 until 130).map(number => StructField(s"c$number", LongType)))
    val random = new Random(1)
    val lines = Seq.fill(2000) {
      (0 until 130).filter(_ => random.nextInt(3) > 0)
        .map(number => s""""c$number":${random.nextInt()}""").mkString("{", ",", "}")
    }
    val path = write("wide/a.json", (lines :+ """{"c1":"x"}""").mkString("\n"))
    withConf(split(65536): _*) {
      same("wide")(spark.read.schema(wide).json(path))
    }
    val frame = spark.read.schema(wide).json(path)
    assertFalse(scans(frame).exists(_.supportsColumnar))
  }

  @Test def whatIsLeftToSpark(): Unit = {
    val lines = """{"d":"05.01.2024","t":"10h 05.01.2024","n":5,"b":"AQI=","s":1.0}"""
    val path = write("left/a.json", lines)
    def read = spark.read
      .schema("d DATE, t TIMESTAMP, n LONG, b BINARY, s STRING")
      .option("dateFormat", "dd.MM.yyyy")
      .option("timestampFormat", "HH'h' dd.MM.yyyy")
      .json(path)
    assertEquals("[2024-01-05,2024-01-05 10:00:00.0,5,0102,1.0]",
      same("patterns")(read.selectExpr("d", "t", "n", "hex(b)", "s")).head)
    same("only a number")(read.select("n"))
    assertTrue(scans(read.select("n", "b", "s")).forall(_.supportsColumnar))
    assertFalse(scans(read.select("d", "n")).exists(_.supportsColumnar))
    withConf("spark.sql.legacy.timeParserPolicy" -> "LEGACY") {
      assertFalse(scans(read.select("t")).exists(_.supportsColumnar))
      same("legacy")(spark.read.schema("d DATE, t TIMESTAMP, n LONG").json(path))
    }
    withConf("spark.sql.json.enableExactStringParsing" -> "false") {
      assertFalse(scans(read.select("b")).exists(_.supportsColumnar))
      same("text as Jackson writes it")(read.select("s"))
    }
    def one = spark.read.schema("n LONG")
    same("multiLine", native = false)(one.option("multiLine", "true").json(path))
    same("lineSep", native = false)(one.option("lineSep", "\n").json(path))
    same("encoding", native = false)(one.option("encoding", "UTF-8").json(path))
    same("locale", native = false)(one.option("locale", "de-DE").json(path))
    same("unknown", native = false)(one.option("somethingNew", "1").json(path))
    val named = one.format("arrowsmith-json").option("multiLine", "true").load(path)
    assertEquals("[[5]]", named.collect().mkString("[", ",", "]"))
    same("inferred")(spark.read.json(path).select("n", "t"))
  }

  /** Texts of dates, times and base64, of which Spark reads some, and the engine no others. */
  private val moments = {
    val dates = Seq("2024-02-29", "2024-2-9", "2024-02", "2024", "+12024-01-01", "-0044-03-15",
      "0000-01-01", "2023-02-29", "2024-13-01", "2024-001-01", "202-01-01", "", " ", "today",
      "1582-10-10",
      "5881580-07-11", "9999999-01-01", " 2024-01-05\\t", "1900-01-01", "0001-01-01")
    val clocks = Seq("", "T", " ", "T10", "T10:11", " 1:2:3", "T10:11:12", " 10:11:12.5",
      "T10:11:12.", "T10:11:12.123456789", "T10:11:60", "T24:00:00", "T02:30:00", "t10:11:12",
      " anything", "T10:60")
    val zones = Seq("", "Z", "z", "+01:00", "-17:59", "+18:00", "+18:01", "+0530", "+5:30", "+5:3",
      "-8", "+053", " UTC", "GMT", "UT", " Europe/Berlin", "+01:00:30", "EST", "x")
    val random = new Random(9)
    def one(of: Seq[String]) = of(random.nextInt(of.length))
    val texts = dates.flatMap(date => clocks.map(date + _)) ++
      zones.flatMap(zone => Seq("2024-03-31T02:30:00", "2024-10-27 02:30:00.25").map(_ + zone)) ++
      Seq.fill(600)(one(dates) + one(clocks) + one(zones)) ++
      Seq("10:11:12", "T10:11", "AQID", "AQ==", "AQ", "AR==", "-_8=", "+\\/8=", "AQ=\\n=", "19000")
    texts.map(text => s""""$text"""") ++ Seq("0", "-1709201472", "9223372036854", "9223372036855",
      "9223372036854775807", "9223372036854775808", "1.0", "1e3", "true", "null", "{}", "[1, 2]")
  }

  @Test def datesTimestampsAndBinary(): Unit = {
    val path = write("moments/a.json", moments.map(m => s"""{"a":$m}""").mkString("\n"))
    val zones = Seq("UTC", "+05:30", "-00:30", "Europe/Berlin", "America/New_York")
    for (of <- Seq("DATE", "TIMESTAMP_NTZ", "BINARY", "STRING"); mode <- modes) {
      def read = spark.read.schema(s"a $of, _corrupt_record STRING").option("mode", mode).json(path)
      val shown = if (of == "BINARY") "hex(a)" else "a"
      same(s"$of, $mode")(read.selectExpr(shown, "_corrupt_record"))
      assertTrue(scans(read).forall(_.supportsColumnar))
    }
    for (zone <- zones) withConf("spark.sql.session.timeZone" -> zone) {
      def read = spark.read.schema("a TIMESTAMP, _corrupt_record STRING")
      same(s"timestamps, $zone")(
        read.json(path).selectExpr("cast(a as LONG)", "a", "_corrupt_record"))
      same(s"timestamps, $zone, option")(read.option("timeZone", "+02:00").json(path))
      same(s"nested, $zone")(spark.read.schema("a ARRAY<TIMESTAMP>").json(path))
    }
    assertTrue(moments.length > 700)
  }

  /** What Spark's UI shows of a query: bytes that were read, and values by their names. */
  private def metrics(frame: DataFrame): (Long, Map[String, Long]) = {
    val found = TrieMap.empty[String, Long]
    val bytes = new AtomicLong
    val ended = new CountDownLatch(1)
    val listener = new SparkListener {
      override def onStageCompleted(stage: SparkListenerStageCompleted): Unit = {
        bytes.addAndGet(stage.stageInfo.taskMetrics.inputMetrics.bytesRead)
        for (value <- stage.stageInfo.accumulables.values; name <- value.name) {
          found(name) = value.value.fold(0L)(_.toString.toLong)
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
    (bytes.get, found.toMap)
  }

  @Test def mostRecordsAreRefused(): Unit = {
    val lines = (1 to 20000).map { number =>
      if (number % 10 < 8) s"""  {"id":"$number","name":"a"}  """
      else s"""{"id":$number,"name":"bé"}"""
    }
    val path = write("most/a.json", ("""{"id":0}""" +: lines).mkString("\n"))
    def read = spark.read.schema("id LONG, name STRING, _corrupt_record STRING").json(path)
    for (bytes <- Seq(40000L, 100007L, 1L << 30)) withConf(split(bytes): _*) {
      for (mode <- modes) {
        def plain = spark.read.schema("id LONG, name STRING").option("mode", mode)
        same(s"$bytes, $mode")(plain.json(path))
      }
      same(s"$bytes")(read)
    }
    withConf(split(1L << 30): _*) {
      val (_, values) = metrics(read)
      assertEquals(1L, values("Arrowsmith: splits left to Spark"))
      assertTrue(values("Arrowsmith: records left to Spark") < 20000)
    }
  }

  @Test def metricsOfTheScan(): Unit = {
    val path = write("metrics/a.json", (records(3000, 8) :+ "garbage").mkString("\n"))
    withConf(split(1L << 30): _*) {
      val (bytes, values) = metrics(spark.read.schema(schema).json(path))
      assertEquals(Files.size(Path.of(path)), bytes)
      assertEquals(1L, values("Arrowsmith: records left to Spark"))
      assertFalse(values.contains("Arrowsmith: splits left to Spark"))
    }
  }

  @Test def compressedAndMissingFiles(): Unit = {
    spark.range(1000).selectExpr("id", "cast(id as string) s").write.option("compression", "gzip")
      .json(folder.resolve("gz").toString)
    def read = spark.read.schema("id LONG, s STRING").json(folder.resolve("gz").toString)
    assertEquals(1000, same("gzip")(read.orderBy("id")).length)
    val gzip = Files.list(folder.resolve("gz")).filter(_.toString.endsWith(".gz")).findFirst.get
    for (name <- Seq("a.gzip", "a.json.gzip", "a.json", "a.zst", "a.zstd", "a.bz2")) {
      val renamed = Files.createDirectories(folder.resolve("renamed")).resolve(name)
      Files.copy(gzip, renamed)
      same(name)(spark.read.schema("id LONG, s STRING").json(renamed.toString))
    }
    val path = write("gone/a.json", """{"id":1}""")
    val frame = spark.read.schema("id LONG").json(path)
    Files.delete(Path.of(path))
    assertTrue(rows(frame).isFailure)
    val ignored =
      withConf("spark.sql.files.ignoreMissingFiles" -> "true")(rows(frame.where("id > 0")))
    assertEquals(Seq(), ignored.getOrElse(Seq("a failure")))
  }

  @Test def longLinesAndMarks(): Unit = {
    val long = s"""{"id":2,"name":"${"x" * 300000}"}"""
    val path = write("long/a.json", s"\uFEFF{\"id\":1}\n$long\n{\"id\":3}\n\n$long")
    for (bytes <- Seq(4096L, 65536L, 1L << 30)) withConf(split(bytes): _*) {
      same(s"$bytes")(spark.read.schema("id LONG, name STRING").json(path))
    }
  }

  @Test def namesOfFilesAndColumns(): Unit = {
    val names =
      Seq("a b", "tab\there", "quote\"", "dot.dot", "ü", "back\\slash", "A", "a", "#", "1")
    val schema = StructType(names.map(StructField(_, LongType)))
    val keys = names.map(_.replace("\\", "\\\\").replace("\"", "\\\"").replace("\t", "\\t"))
    val record = keys.zipWithIndex.map { case (key, number) => s""""$key":$number""" }
    val path = write("names/x=1 2/ü %20#?.json", record.mkString("{", ",", "}"))
    withConf("spark.sql.caseSensitive" -> "true") {
      val found = same("names")(spark.read.schema(schema).json(folder.resolve("names").toString))
      assertEquals(names.indices.mkString("[", ",", ",1 2]"), found.head)
      same("the file")(spark.read.schema(schema).json(path.replace("?", "*")))
    }
  }

  /** What is known to differ, as docs/guide/spark.md says. */
  @Test def theIntegerMinusZero(): Unit = {
    val path = write("zero/a.json", """{"x":-0}""")
    def read = spark.read.schema("x DOUBLE").json(path)
    assertEquals(Seq("[-0.0]"), rows(read).get)
    assertEquals(Seq("[0.0]"), off(rows(read)).get)
    same("equal")(read.selectExpr("x = 0.0", "x < 0.0"))
  }

  @Test def workloadsOfTheCommand(): Unit = {
    val command = System.getProperty("arrowsmith.cli", "")
    assumeTrue(command.nonEmpty, "no command")
    for (workload <- Seq("battery", "trip", "lineitem", "logs")) {
      val path = folder.resolve(s"$workload.json")
      val written =
        new ProcessBuilder(command, "generate", workload, "--bytes", "2MiB", "-o", path.toString)
          .redirectErrorStream(true)
          .start()
      val said = new String(written.getInputStream.readAllBytes(), StandardCharsets.UTF_8)
      assertEquals(0, written.waitFor(), said)
      withConf(split(100000): _*) {
        same(workload)(spark.read.json(path.toString))
      }
    }
  }
}
