// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.zip.GZIPOutputStream

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Random, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Assertions.{assertEquals, assertTrue}

import org.apache.spark.SparkThrowable
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd, SparkListenerJobStart}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.types.StructType

/** Every schema is the one that Spark infers without the extension. */
class InferenceTest extends SessionTest {
  private def write(name: String, text: String): String =
    write(name, text.getBytes(StandardCharsets.UTF_8))

  private def write(name: String, bytes: Array[Byte]): String = {
    val path = folder.resolve(name)
    Files.createDirectories(path.getParent)
    Files.write(path, bytes)
    path.toString
  }

  private def off[T](work: => T): T = withConf("spark.arrowsmith.json.enabled" -> "false")(work)

  /** What a failure is, whichever task it is from. */
  private def condition(thrown: Throwable): String =
    Iterator.iterate(thrown)(_.getCause).takeWhile(_ != null).collectFirst {
      case known: SparkThrowable => known.getCondition
    }.getOrElse(thrown.getClass.getName)

  /**
   * The schema is the same by `spark.read.json` and by `arrowsmith-json`, and so is a failure.
   *
   * @param native whether it is inferred natively
   */
  private def same(
      what: String,
      native: Boolean,
      options: Map[String, String],
      paths: String*): StructType = {
    def infer(format: String) =
      Try(spark.read.options(options).format(format).load(paths: _*).schema)
    val expected = off(infer("json"))
    for (format <- Seq("json", "arrowsmith-json")) {
      (expected, infer(format)) match {
        case (Success(one), Success(other)) =>
          assertEquals(one.prettyJson, other.prettyJson, s"$what, $format")
        case (Failure(one), Failure(other)) =>
          assertEquals(condition(one), condition(other), s"$what, $format")
        case other => throw new AssertionError(s"$what, $format: $other")
      }
    }
    val files = paths.flatMap { path =>
      val named = new HadoopPath(s"file:$path")
      named.getFileSystem(new Configuration()).listStatus(named)
    }
    assertEquals(native, Inference.schema(spark, options, files).isDefined, s"$what: natively")
    expected.getOrElse(new StructType())
  }

  private val modes = Seq("PERMISSIVE", "DROPMALFORMED", "FAILFAST")

  /** Options that change what is inferred, or what a record is. */
  private val options = Seq(
    Map.empty[String, String],
    Map("primitivesAsString" -> "true"),
    Map("dropFieldIfAllNull" -> "true"),
    Map("columnNameOfCorruptRecord" -> "a"),
    Map("allowSingleQuotes" -> "false", "allowNonNumericNumbers" -> "false"),
    Map("allowComments" -> "true", "allowUnquotedFieldNames" -> "true"),
    Map("allowNumericLeadingZeros" -> "true", "allowUnquotedControlChars" -> "true"),
    Map("allowBackslashEscapingAnyCharacter" -> "true", "inferTimestamp" -> "false"))

  /** Values of every kind; some are only read with some options, or never. */
  private val values = Seq(
    "null", "true", "false", "0", "-0", "17", "-9223372036854775808", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "12345678901234567890",
    "99999999999999999999999999999999999999", "999999999999999999999999999999999999999",
    "1.5", "-0.0", "1e5", "1E400", "1.25e-3", "123456789.123456789123456789", "\"\"", "\"x\"",
    "\"2024-01-02\"", "\"12.5\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"日本語\"", "[]", "{}",
    "[null]", "[[]]", "[{}]", "{\"\":1}", "[1,\"x\"]", "[1,2.5]", "[1,null,20000000000000000000]",
    "[true,1]", "[[1],[\"x\"],null]", "[{\"a\":1},{\"b\":[]},{\"a\":\"\"}]", "{\"a\":{\"b\":1}}",
    "{\"b\":{},\"a\":[]}", "{\"Z\":1,\"a\":2,\"\u00e9\":3,\"\ufb01\":4,\"\ud83d\ude00\":5}",
    "{\"a\\u0062\":1}", "{\"q\\\"\":1}", "{\"a.b\":1,\"`\":2}", "NaN", "-Infinity", "+INF", "007",
    "'x'", "{a:1}", "\"a\tb\"", "\"\\x\"", "/* */ 1", "1.", ".5", "tru", "[1,]", "{\"a\":1,\"a\":2.5}",
    "{\"a\":{\"b\":1},\"a\":[1]}", "{\"\\ud800\":1}", "\"\\u12\"", "1 2", "{\"a\":1")

  /** Whole lines that are not an object with keys. */
  private val lines = Seq(
    "", "  ", "\t", "{}", " { } ", "[]", "[{\"a\":1},{\"a\":\"x\",\"c\":2}]", "[[{\"d\":1}]]", "[1]",
    "null", "17", "\"text\"", "\"\"", "true", "1.5", "garbage", "{", "}", "{\"a\":1} trailing",
    "{\"a\":1}{\"b\":2}", "\ufeff{\"a\":1}", "{\"_corrupt_record\":1}", "{\"_corrupt_record\":\"x\"}",
    "{\"_corrupt_record\":{\"a\":1}}", "\u0000{\"a\":1}", "{\"a\":\r1}", "{\"a\":1}\r{\"b\":\"x\"}",
    "\r\r{\"a\":2}", "{\"a\":1}\u00a0")

  @Test def everyValueAlone(): Unit = values.zipWithIndex.foreach { case (value, number) =>
    val path = write(s"values/$number.json", s"""{"a":$value}""")
    same(value, native = true, Map.empty, path)
  }

  @Test def everyPairOfValues(): Unit = {
    // Fields of their own for each pair: one file for all.
    val pairs = for (one <- values; other <- values) yield (one, other)
    val text = pairs.zipWithIndex.flatMap { case ((one, other), field) =>
      Seq(s"""{"f$field":$one}""", s"""{"f$field":$other}""", s"""{"g$field":[$one,$other]}""")
    }
    val path = write("pairs/a.json", text.mkString("\n"))
    for (some <- options.take(4)) {
      same(s"pairs with $some", native = true, some, path)
    }
  }

  @Test def everyLineInEveryMode(): Unit = for ((line, number) <- lines.zipWithIndex) {
    val path = write(s"lines/$number.json", s"$line\n")
    for (mode <- modes) {
      val named = Map("mode" -> mode)
      // Spark has to find the error, or has none with an array.
      val good = off(Try(spark.read.options(named).json(path).schema)).isSuccess
      val native = mode != "FAILFAST" || (good && !line.startsWith("["))
      same(s"$line, $mode", native, named, path)
    }
    val beside = write(s"beside/$number.json", s"""{"b":1}\n$line\n{"a":null}\n""")
    same(s"$line beside others", native = true, Map.empty, beside)
  }

  private def value(random: Random, depth: Int): String =
    random.nextInt(if (depth > 0) 5 else 3) match {
      case 0 => Seq("null", "\"\"", "true", "1", "2.5", "\"x\"")(random.nextInt(6))
      case 1 => Seq("1", "-7", "\"text\"", "3.25", "12345678901234567890")(random.nextInt(5))
      case 2 => values(random.nextInt(40))
      case 3 => Seq.fill(random.nextInt(4))(value(random, depth - 1)).mkString("[", ", ", "]")
      case _ => record(random, depth - 1)
    }

  private def record(random: Random, depth: Int): String = {
    val names = Seq("a", "b", "c", "B", "\\u00e9", "é", "x y", "日", "long" * 20)
    val kept = names.filter(_ => random.nextInt(3) == 0)
    (if (random.nextInt(3) == 0) random.shuffle(kept) else kept)
      .map(name => s""""$name":${if (random.nextBoolean()) " " else ""}${value(random, depth)}""")
      .mkString("{", ",", "}")
  }

  @Test def randomRecordsOfAnySplit(): Unit = for (seed <- 0 until 40) {
    val random = new Random(seed)
    val end = Seq("\n", "\r\n", "\r", "\n\n")(random.nextInt(4))
    val files = Seq.tabulate(1 + random.nextInt(3)) { number =>
      val text = Seq.fill(random.nextInt(80)) {
        random.nextInt(12) match {
          case 0 => lines(random.nextInt(lines.length))
          case 1 => s"""{"a":${values(random.nextInt(values.length))}}"""
          case _ => record(random, 3)
        }
      }
      val mark = if (random.nextInt(4) == 0) "\ufeff" else ""
      write(s"random/$seed-$number.json", mark + text.mkString(end) + Seq("", end)(number % 2))
    }
    val chosen = options(random.nextInt(options.length)) + ("mode" -> modes(random.nextInt(2)))
    val bytes = Seq(700L, 5000L, 1L << 27)(random.nextInt(3))
    withConf(
      "spark.sql.files.maxPartitionBytes" -> bytes.toString,
      "spark.sql.files.openCostInBytes" -> "0") {
      // Where a record is not an object, and others have a field of the name of bad ones, Spark
      // looks.
      def statuses = files.map(file => new HadoopPath(s"file:$file"))
        .flatMap(path => path.getFileSystem(new Configuration()).listStatus(path))
      val native = Inference.schema(spark, chosen, statuses).isDefined
      same(s"seed $seed, $chosen, $bytes", native, chosen, files: _*)
    }
  }

  @Test def longLinesAndManyKeys(): Unit = {
    val long = s"""{"a":"${"x" * 9000000}","b":1}"""
    val deep = s"""{"deep":${"[" * 100}${"]" * 100}}"""
    val keys = Seq.tabulate(70000)(key => s""""k$key":1""").mkString("{", ",", "}")
    val key = s"""{"${"k" * 40000}":1,"${"k" * 60000}":1}"""
    for ((text, number) <- Seq(long, deep, keys, key).zipWithIndex) {
      val path = write(s"long/$number.json", s"""{"b":"x"}\n$text\n{"c":[1]}\n""")
      same(s"long $number", native = true, Map.empty, path)
    }
  }

  @Test def bytesThatAreNotUtf8(): Unit = {
    val good = "{\"a\":\"日本語\",\"b\":1}\n".getBytes(StandardCharsets.UTF_8)
    val texts = Seq("{\"a\":\"\u00ff\"}\n", "{\"\u00c3(\":1}\n", "{\"c\":\"\u00c0\u0080\"}\n", "\u00fe\u00ff\n")
    for ((text, number) <- texts.zipWithIndex) {
      val bad = text.getBytes(StandardCharsets.ISO_8859_1)
      same(text, native = true, Map.empty, write(s"utf8/$number.json", good ++ bad ++ good))
    }
  }

  @Test def theFormatStaysThatOfSpark(): Unit = {
    write("parts/day=2024-01-02/a.json", "{\"a\":1,\"day\":\"x\"}")
    write("parts/day=2024-01-03/a.json", "{\"b\":[1.5]}")
    val path = folder.resolve("parts").toString
    def read(): DataFrame = spark.read.json(path)
    val expected = off(read().schema)
    val stages = new ConcurrentLinkedQueue[String]()
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit =
        job.stageInfos.flatMap(_.rddInfos).foreach(rdd => stages.add(rdd.name))
      override def onJobEnd(job: SparkListenerJobEnd): Unit = stages.add("end")
    }
    spark.sparkContext.addSparkListener(listener)
    val frame = read()
    while (!stages.contains("end")) Thread.sleep(10)
    spark.sparkContext.removeSparkListener(listener)
    // Spark's inference reads files as texts.
    assertTrue(!stages.asScala.exists(_.contains("FileScan")), stages.toString)
    assertEquals(expected.prettyJson, frame.schema.prettyJson)
    frame.queryExecution.analyzed match {
      case LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
        assertEquals(classOf[JsonFileFormat], files.fileFormat.getClass)
      case other => throw new AssertionError(other.toString)
    }
    assertEquals(off(read().collect().toSet), frame.collect().toSet)
    // A schema that is given, other formats, and what has no files.
    assertEquals("a BIGINT", spark.read.schema("a LONG").json(path).schema.toDDL.take(8))
    assertEquals("value STRING", spark.read.text(write("t/a.txt", "x")).schema.toDDL)
    val missing = folder.resolve("missing").toString
    assertEquals(
      condition(off(Try(spark.read.json(missing))).failed.get),
      condition(Try(spark.read.json(missing)).failed.get))
    Files.createDirectories(folder.resolve("empty"))
    val empty = folder.resolve("empty").toString
    assertEquals(
      condition(off(Try(spark.read.json(empty))).failed.get),
      condition(Try(spark.read.json(empty)).failed.get))
    same("an empty file", native = true, Map.empty, write("nothing/a.json", ""))
  }

  @Test def whatIsLeftToSpark(): Unit = {
    val text = "{\"a\":\"2024-01-02T03:04:05\",\"b\":1.5}\n{\"a\":\"7\"}\n"
    val path = write("left/a.json", text)
    for (option <- Seq(
        "prefersDecimal" -> "true",
        "inferTimestamp" -> "true",
        "multiLine" -> "true",
        "lineSep" -> "7",
        "encoding" -> "UTF-8",
        "singleVariantColumn" -> "v",
        "locale" -> "de-DE")) {
      same(option.toString, native = false, Map(option), path)
    }
    val zipped = folder.resolve("left/b.json.gz")
    val out = new GZIPOutputStream(Files.newOutputStream(zipped))
    out.write(text.getBytes(StandardCharsets.UTF_8))
    out.close()
    same("gzip", native = false, Map.empty, path, zipped.toString)
    val other = write("left/c.json", "17\n{\"_corrupt_record\":1}\n")
    same("a field of the name of bad records", native = false, Map.empty, other)
    val named = "17\n{\"_corrupt_record\":\"\\n\"}"
    same("a text of that name", native = true, Map.empty, write("left/d.json", named))
    // Half of the records.
    same("a sample", native = false, Map("samplingRatio" -> "0.5"), path)
  }

  @Test def manyBadRecords(): Unit = {
    val text = Seq.tabulate(40000)(n => s"""{"a":1}\nbad $n\n""").mkString
    val path = write("many/a.json", text)
    for (mode <- modes) {
      same(mode, mode != "FAILFAST", Map("mode" -> mode), path)
    }
  }
}
