// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.time.{Instant, ZoneId, ZoneOffset}
import java.util.Locale

import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types._

/**
 * What the native engine reads as Spark does: whatever it accepts is what Spark's parser would
 * give, and what it refuses, Spark's parser reads. Everything that is not listed is left to Spark.
 *
 * @param dialect whether the engine reads Spark's dialect: columns of strings keep any value's text
 * as it stands, and base64 is that of Spark
 * @param temporal whether dates and timestamps are read in the forms that need no pattern
 */
private final case class Support(dialect: Boolean, temporal: Boolean) {

  /** Whether values of this type are read. */
  def dataType(of: DataType): Boolean = of match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType =>
      true
    case text: StringType => text == StringType
    case decimal: DecimalType => decimal.scale >= 0
    case BinaryType => dialect
    case DateType | TimestampType | TimestampNTZType => temporal
    case ArrayType(element, _) => dataType(element)
    case MapType(key, value, _) => key == StringType && dataType(value)
    case struct: StructType =>
      struct.nonEmpty && Support.columns(struct) &&
      struct.forall(field => dataType(field.dataType))
    case _ => false
  }
}

private object Support {

  /** What holds for any options and settings. */
  val least: Support = Support(dialect = false, temporal = false)

  /** What is read with these options and settings. */
  def of(options: Map[String, String], conf: SQLConf): Support = {
    val dialect = conf.getConf(SQLConf.JSON_EXACT_STRING_PARSING)
    val patterns = options.keysIterator.map(_.toLowerCase(Locale.ROOT)).exists(formats.contains)
    val legacy = conf.legacyTimeParserPolicy == LegacyBehaviorPolicy.LEGACY
    Support(dialect, dialect && !patterns && !legacy)
  }

  private val formats: Set[String] = Set("dateformat", "timestampformat", "timestampntzformat")

  /** An option of relations whose format was replaced. */
  val Swapped = "arrowsmith"

  /** Options that do not change what a valid record is, or that only Spark's own steps use. */
  private val options: Set[String] = Set(
    // Files.
    "path",
    "paths",
    "basepath",
    "recursivefilelookup",
    "pathglobfilter",
    "modifiedbefore",
    "modifiedafter",
    "ignorecorruptfiles",
    "ignoremissingfiles",
    "serialization.format",
    "compression",
    "returning_batch",
    Swapped,
    // Bad records, and what Jackson accepts beyond JSON.
    "mode",
    "columnnameofcorruptrecord",
    "allowcomments",
    "allowunquotedfieldnames",
    "allowsinglequotes",
    "allownumericleadingzeros",
    "allownonnumericnumbers",
    "allowbackslashescapinganycharacter",
    "allowunquotedcontrolchars",
    // Inference, and types that are left to Spark.
    "samplingratio",
    "primitivesasstring",
    "prefersdecimal",
    "dropfieldifallnull",
    "infertimestamp",
    "dateformat",
    "timestampformat",
    "timestampntzformat",
    "timeformat",
    "timezone",
    "enabledatetimeparsingfallback",
    // Writing.
    "ignorenullfields",
    "pretty",
    "sortkeys",
    "writenonasciicharacterascodepoint",
    // Streams.
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "cleansource",
    "sourcearchivedir")

  /** Whether records are read as they are without these options. */
  def options(named: Map[String, String]): Boolean = named.forall { case (name, value) =>
    name.toLowerCase(Locale.ROOT) match {
      case "multiline" => value.equalsIgnoreCase("false")
      case known => options.contains(known)
    }
  }

  /** Whether no column has a default for records without it. */
  def columns(schema: StructType): Boolean =
    schema.forall(field => !field.metadata.contains("EXISTS_DEFAULT"))

  /** The columns in the text form of a schema; times without a zone are of this one. */
  def schemaText(schema: StructType, zone: ZoneId): String = {
    def text(field: StructField) = s"${quoted(field.name)}: ${typeText(field.dataType, zone)}"
    schema.map(text).mkString(", ")
  }

  private def typeText(of: DataType, zone: ZoneId): String = of match {
    case BooleanType => "bool"
    case ByteType => "int8"
    case ShortType => "int16"
    case IntegerType => "int32"
    case LongType => "int64"
    case FloatType => "float32"
    case DoubleType => "float64"
    case _: StringType => "utf8"
    case BinaryType => "binary"
    case DateType => "date32"
    case TimestampType => s"""timestamp(us, "${zoneText(zone)}")"""
    case TimestampNTZType => "timestamp(us)"
    case decimal: DecimalType => s"decimal128(${decimal.precision}, ${decimal.scale})"
    case ArrayType(element, _) => s"list<${typeText(element, zone)}>"
    case MapType(_, value, _) => s"map<utf8, ${typeText(value, zone)}>"
    case struct: StructType => s"struct<${schemaText(struct, zone)}>"
    case other => throw new IllegalArgumentException(s"no column for $other")
  }

  /** UTC or an offset; for other zones the engine refuses times without an offset. */
  private def zoneText(zone: ZoneId): String = {
    val rules = zone.getRules
    val seconds = if (rules.isFixedOffset) rules.getOffset(Instant.EPOCH).getTotalSeconds else 0
    if (!rules.isFixedOffset || seconds % 60 != 0) "local"
    else if (seconds == 0) "UTC"
    else ZoneOffset.ofTotalSeconds(seconds).getId
  }

  private def quoted(name: String): String = {
    val text = new StringBuilder("\"")
    name.foreach { char =>
      if (char < ' ' || char == '"' || char == '\\') text.append(f"\\u${char.toInt}%04x")
      else text.append(char)
    }
    text.append('"').toString
  }
}
