// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.util.Locale

import org.apache.spark.sql.types._

/**
 * What the native engine reads as Spark does: whatever it accepts is what Spark's parser would
 * give, and what it refuses, Spark's parser reads. Everything that is not listed is left to Spark.
 */
private object Support {

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

  /** Whether values of this type are read: temporal and binary ones have rules of Spark's own. */
  def dataType(of: DataType): Boolean = of match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType =>
      true
    case text: StringType => text == StringType
    case decimal: DecimalType => decimal.scale >= 0
    case ArrayType(element, _) => dataType(element)
    case MapType(key, value, _) => key == StringType && dataType(value)
    case struct: StructType =>
      struct.nonEmpty && columns(struct) && struct.forall(field => dataType(field.dataType))
    case _ => false
  }

  /** The columns in the text form of a schema. */
  def schemaText(schema: StructType): String =
    schema.map(field => s"${quoted(field.name)}: ${typeText(field.dataType)}").mkString(", ")

  private def typeText(of: DataType): String = of match {
    case BooleanType => "bool"
    case ByteType => "int8"
    case ShortType => "int16"
    case IntegerType => "int32"
    case LongType => "int64"
    case FloatType => "float32"
    case DoubleType => "float64"
    case _: StringType => "utf8"
    case decimal: DecimalType => s"decimal128(${decimal.precision}, ${decimal.scale})"
    case ArrayType(element, _) => s"list<${typeText(element)}>"
    case MapType(_, value, _) => s"map<utf8, ${typeText(value)}>"
    case struct: StructType => s"struct<${schemaText(struct)}>"
    case other => throw new IllegalArgumentException(s"no column for $other")
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
