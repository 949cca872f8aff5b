// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.parquet.schema.Type.Repetition

import org.apache.spark.sql.types._

/**
 * What the engine reads of a file.
 *
 * @param leaves the leaves, as names from the root
 * @param layout where the columns of the query are among those that are read
 */
private final case class ParquetProjection(leaves: Seq[Seq[String]], layout: Layout) {

  /** The leaves as the engine names them: the names in quotes. */
  def paths: Seq[String] = leaves.map { names =>
    names.map(name => "\"" + name.replace("\\", "\\\\").replace("\"", "\\\"") + "\"").mkString(".")
  }
}

/**
 * Finds the columns of a query in a file. A pair of a file's type and Spark's is read if it is
 * listed here: then what the engine gives is what Spark's reader gives. All other pairs, and lists
 * and maps of old forms, are Spark's.
 *
 * @param caseSensitive whether names have to match in case
 * @param corrected whether dates and timestamps of the file are in today's calendar
 * @param int96 whether those of 96 bits are, and are instants
 */
private final class ParquetColumns(
    caseSensitive: Boolean,
    corrected: Boolean,
    int96: Boolean) {
  import ParquetColumns._

  /** The columns in a file; none if one of them has to be read by Spark. */
  def in(file: GroupType, wanted: StructType): Option[ParquetProjection] =
    members(file, wanted, Nil, root = true)

  private def members(
      group: GroupType,
      wanted: StructType,
      path: Seq[String],
      root: Boolean): Option[ParquetProjection] = {
    val fields = group.getFields.asScala.toSeq
    val byName = fields.groupBy(field => name(field.getName))
    // Two fields of a name: Spark refuses them, or takes one of them.
    val matches = wanted.map(field => byName.getOrElse(name(field.name), Nil))
    val repeated = matches.exists(_.length > 1) ||
      matches.flatten.distinctBy(field => name(field.getName)).length != matches.flatten.length
    val required = matches.zip(wanted).exists { case (one, field) =>
      one.isEmpty && !field.nullable
    }
    if (repeated || required) {
      None
    } else {
      val found = matches.zip(wanted).map {
        case (Seq(field), column) => value(field, column.dataType, path :+ field.getName)
        case _ => Some(missing)
      }
      // Of the members of a struct one has to be there, to tell which structs are null.
      if (found.contains(None) || (!root && matches.forall(_.isEmpty))) {
        None
      } else {
        Some(together(fields, matches, found.flatten, root))
      }
    }
  }

  /** Columns come in the order of the query, members of a struct in that of the file. */
  private def together(
      fields: Seq[Type],
      matches: Seq[Seq[Type]],
      found: Seq[ParquetProjection],
      root: Boolean): ParquetProjection = {
    val present = matches.flatten
    val order =
      if (root) present else fields.filter(field => present.exists(_ eq field))
    val places = matches.map(_.headOption.fold(-1)(field => order.indexWhere(_ eq field)))
    ParquetProjection(found.flatMap(_.leaves), new Layout.Of(places, found.map(_.layout)))
  }

  private def value(field: Type, of: DataType, path: Seq[String]): Option[ParquetProjection] =
    if (field.isRepetition(Repetition.REPEATED)) {
      None
    } else if (field.isPrimitive) {
      val leaf = ParquetProjection(Seq(path), Layout.InOrder)
      if (pair(field.asPrimitiveType, of)) Some(leaf) else None
    } else {
      val group = field.asGroupType
      (group.getLogicalTypeAnnotation, of) match {
        case (null, struct: StructType) => members(group, struct, path, root = false)
        case (_: ListLogicalTypeAnnotation, ArrayType(element, _)) => list(group, element, path)
        case (_: MapLogicalTypeAnnotation, MapType(key, value, _)) => map(group, key, value, path)
        case _ => None
      }
    }

  private def list(
      group: GroupType,
      element: DataType,
      path: Seq[String]): Option[ParquetProjection] =
    for {
      repeated <- single(group)
      item <- Some(repeated).filter(_.getFieldCount == 1).map(_.getType(0))
      // Otherwise the group itself is the element.
      if repeated.getLogicalTypeAnnotation == null && repeated.getName != "array" &&
        repeated.getName != s"${group.getName}_tuple"
      inside <- value(item, element, path ++ Seq(repeated.getName, item.getName))
    } yield ParquetProjection(inside.leaves, new Layout.Of(Seq(0), Seq(inside.layout)))

  private def map(
      group: GroupType,
      key: DataType,
      of: DataType,
      path: Seq[String]): Option[ParquetProjection] =
    for {
      entries <- single(group)
      if entries.getFieldCount == 2 && entries.getType(0).isRepetition(Repetition.REQUIRED)
      Seq(first, second) = Seq(entries.getType(0), entries.getType(1))
      keys <- value(first, key, path ++ Seq(entries.getName, first.getName))
      values <- value(second, of, path ++ Seq(entries.getName, second.getName))
    } yield ParquetProjection(
      keys.leaves ++ values.leaves,
      new Layout.Of(Seq(0, 1), Seq(keys.layout, values.layout)))

  /** The repeated group of a list or map. */
  private def single(group: GroupType): Option[GroupType] =
    Some(group).filter(_.getFieldCount == 1).map(_.getType(0)).collect {
      case repeated: GroupType if repeated.isRepetition(Repetition.REPEATED) => repeated
    }

  private def pair(file: PrimitiveType, of: DataType): Boolean = {
    val logical = Option(file.getLogicalTypeAnnotation)
    def integer(bits: Int): Boolean = logical match {
      case Some(int: IntLogicalTypeAnnotation) => int.isSigned && int.getBitWidth == bits
      case _ => false
    }
    (file.getPrimitiveTypeName, of) match {
      case (PrimitiveTypeName.BOOLEAN, BooleanType) => logical.isEmpty
      case (PrimitiveTypeName.INT32, ByteType) => integer(8)
      case (PrimitiveTypeName.INT32, ShortType) => integer(16)
      case (PrimitiveTypeName.INT32, IntegerType) => logical.isEmpty || integer(32)
      case (PrimitiveTypeName.INT64, LongType) => logical.isEmpty || integer(64)
      case (PrimitiveTypeName.FLOAT, FloatType) => logical.isEmpty
      case (PrimitiveTypeName.DOUBLE, DoubleType) => logical.isEmpty
      case (PrimitiveTypeName.BINARY, BinaryType) => logical.forall(isText)
      case (PrimitiveTypeName.BINARY, text: StringType) =>
        text == StringType && logical.forall(isText)
      case (PrimitiveTypeName.INT32, DateType) =>
        corrected && logical.exists(_.isInstanceOf[DateLogicalTypeAnnotation])
      case (PrimitiveTypeName.INT64, TimestampType) => corrected && isInstant(logical, utc = true)
      case (PrimitiveTypeName.INT64, TimestampNTZType) => isInstant(logical, utc = false)
      case (PrimitiveTypeName.INT96, TimestampType) => int96 && logical.isEmpty
      case (_, decimal: DecimalType) => isDecimal(file, decimal)
      case _ => false
    }
  }

  private def isText(logical: LogicalTypeAnnotation): Boolean = logical match {
    case _: StringLogicalTypeAnnotation | _: EnumLogicalTypeAnnotation |
        _: JsonLogicalTypeAnnotation | _: BsonLogicalTypeAnnotation =>
      true
    case _ => false
  }

  private def isInstant(logical: Option[LogicalTypeAnnotation], utc: Boolean): Boolean =
    logical match {
      case Some(time: TimestampLogicalTypeAnnotation) =>
        time.isAdjustedToUTC == utc && time.getUnit != TimeUnit.NANOS
      case _ => false
    }

  /** Of the same precision and scale, in at most the bytes that the engine's decimals have. */
  private def isDecimal(file: PrimitiveType, of: DecimalType): Boolean = {
    val bytes = file.getPrimitiveTypeName match {
      case PrimitiveTypeName.INT32 => 4
      case PrimitiveTypeName.INT64 => 8
      case PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY => file.getTypeLength
      case _ => Int.MaxValue
    }
    file.getLogicalTypeAnnotation match {
      case decimal: DecimalLogicalTypeAnnotation =>
        bytes <= 16 && decimal.getPrecision == of.precision && decimal.getScale == of.scale &&
        of.scale >= 0
      case _ => false
    }
  }

  private def name(of: String): String = if (caseSensitive) of else of.toLowerCase(Locale.ROOT)
}

private object ParquetColumns {

  private val missing = ParquetProjection(Nil, Layout.InOrder)

  /** Whether some file may have values of this type that the engine reads. */
  def isReadable(of: DataType): Boolean = of match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType |
        BinaryType | DateType | TimestampType | TimestampNTZType =>
      true
    case text: StringType => text == StringType
    case decimal: DecimalType => decimal.scale >= 0
    case ArrayType(element, _) => isReadable(element)
    case MapType(key, value, _) => isReadable(key) && isReadable(value)
    case struct: StructType =>
      struct.nonEmpty && struct.forall(field => isReadable(field.dataType))
    case _ => false
  }
}
