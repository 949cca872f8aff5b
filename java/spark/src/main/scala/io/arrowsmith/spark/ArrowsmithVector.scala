// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import java.math.BigInteger

import scala.collection.mutable

import io.arrowsmith.SparkRows

import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * A column of native memory: an `ArrowArray` of the C Data Interface, read by address. The memory
 * belongs to the reader, which releases it when it goes on; so closing a column does nothing.
 *
 * @param of its type
 * @param array address of the struct
 * @param layout which children of the struct it has
 */
private final class ArrowsmithVector(of: DataType, array: Long, layout: Layout)
    extends ColumnVector(of) {
  import ArrowsmithVector._

  /** The first row that is shown, and how many are: all elements of lists, which have offsets. */
  private var start = Platform.getLong(null, array + Offset)
  private var rows = length(array)
  private val buffers = Platform.getLong(null, array + Buffers)
  private val validity = Platform.getLong(null, buffers)
  private val nullable = validity != 0 && Platform.getLong(null, array + NullCount) != 0
  private val values = of match {
    case _: StructType => 0L
    case _ => Platform.getLong(null, buffers + 8)
  }
  private val text = of match {
    case _: StringType | BinaryType => Platform.getLong(null, buffers + 16)
    case _ => 0L
  }
  private val children: Array[ColumnVector] = of match {
    case struct: StructType =>
      val members = columns(struct, array, layout)
      ArrowsmithVector.show(members, start, rows)
      members
    case ArrayType(element, _) =>
      Array(new ArrowsmithVector(element, child(array, 0), layout.inside(0)))
    case MapType(key, value, _) =>
      val entries = child(array, 0)
      val members = Array[ColumnVector](
        new ArrowsmithVector(key, child(entries, 0), layout.inside(0)),
        new ArrowsmithVector(value, child(entries, 1), layout.inside(1)))
      ArrowsmithVector.show(members, Platform.getLong(null, entries + Offset), length(entries))
      members
    case _ => null
  }

  /** Shows `count` rows from `first` on, counted from the array's offset. */
  private def show(first: Long, count: Int): Unit = {
    start = Platform.getLong(null, array + Offset) + first
    rows = count
    if (of.isInstanceOf[StructType]) {
      ArrowsmithVector.show(children, start, count)
    }
  }

  /** The first row that is shown, counted from the array's offset. */
  def first: Long = start - Platform.getLong(null, array + Offset)

  /** Adds what `SparkRows` has to know of it and its parts; false if one of these is not native. */
  def describe(to: mutable.ArrayBuilder[Long]): Boolean = {
    to += kind(of) += (if (of.isInstanceOf[StructType]) children.length else 0) += array
    children == null || children.forall(ArrowsmithVector.describe(_, to))
  }

  override def close(): Unit = ()

  override def hasNull: Boolean = nullable

  override def numNulls: Int = if (nullable) (0 until rows).count(isNullAt) else 0

  override def isNullAt(row: Int): Boolean = nullable && !bit(validity, start + row)

  override def getBoolean(row: Int): Boolean = bit(values, start + row)

  override def getByte(row: Int): Byte = Platform.getByte(null, values + start + row)

  override def getShort(row: Int): Short = Platform.getShort(null, values + ((start + row) << 1))

  override def getInt(row: Int): Int = Platform.getInt(null, values + ((start + row) << 2))

  override def getLong(row: Int): Long = Platform.getLong(null, values + ((start + row) << 3))

  override def getFloat(row: Int): Float = Platform.getFloat(null, values + ((start + row) << 2))

  override def getDouble(row: Int): Double = Platform.getDouble(null, values + ((start + row) << 3))

  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    if (isNullAt(row)) {
      null
    } else {
      val at = values + ((start + row) << 4)
      if (precision <= Decimal.MAX_LONG_DIGITS) {
        Decimal.createUnsafe(Platform.getLong(null, at), precision, scale)
      } else {
        val bytes = Array.tabulate(16)(index => Platform.getByte(null, at + 15 - index))
        Decimal(new java.math.BigDecimal(new BigInteger(bytes), scale), precision, scale)
      }
    }

  override def getUTF8String(row: Int): UTF8String =
    if (isNullAt(row)) {
      null
    } else {
      val from = listStart(row)
      UTF8String.fromAddress(null, text + from, listStart(row + 1) - from)
    }

  override def getBinary(row: Int): Array[Byte] =
    if (isNullAt(row)) {
      null
    } else {
      val from = listStart(row)
      val bytes = new Array[Byte](listStart(row + 1) - from)
      Platform.copyMemory(
        null,
        text + from,
        bytes,
        Platform.BYTE_ARRAY_OFFSET.toLong,
        bytes.length.toLong)
      bytes
    }

  override def getArray(row: Int): ColumnarArray =
    if (isNullAt(row)) {
      null
    } else {
      val from = listStart(row)
      new ColumnarArray(children(0), from, listStart(row + 1) - from)
    }

  override def getMap(row: Int): ColumnarMap =
    if (isNullAt(row)) {
      null
    } else {
      val from = listStart(row)
      new ColumnarMap(children(0), children(1), from, listStart(row + 1) - from)
    }

  override def getChild(ordinal: Int): ColumnVector = children(ordinal)

  private def listStart(row: Int): Int = Platform.getInt(null, values + ((start + row) << 2))
}

private object ArrowsmithVector {

  /** Offsets of fields of an `ArrowArray`. */
  private val Length = 0
  private val NullCount = 8
  private val Offset = 16
  private val BufferCount = 24
  private val ChildCount = 32
  private val Buffers = 40
  private val Children = 48
  private val Dictionary = 56

  /** The rows of a batch. */
  def length(array: Long): Int = Math.toIntExact(Platform.getLong(null, array + Length))

  /** The row of a batch's columns that is its first. */
  def offset(array: Long): Long = Platform.getLong(null, array + Offset)

  /**
   * The columns of a batch, or members of a struct, whose type is `schema`; those that it does not
   * have are null.
   */
  def columns(schema: StructType, array: Long, layout: Layout): Array[ColumnVector] =
    Array.tabulate(schema.length) { index =>
      val place = layout.place(index)
      val of = schema(index).dataType
      if (place < 0) nulls(of, length(array))
      else new ArrowsmithVector(of, child(array, place), layout.inside(index))
    }

  /** A column of nulls. */
  def nulls(of: DataType, count: Int): ColumnVector = {
    val column = new ConstantColumnVector(count, of)
    column.setNull()
    column
  }

  /** Shows `count` rows of columns from `first` on: cheaper than new columns, of short parts. */
  def show(columns: Array[ColumnVector], first: Long, count: Int): Unit = {
    var index = 0
    while (index < columns.length) {
      columns(index) match {
        case column: ArrowsmithVector => column.show(first, count)
        case _ =>
      }
      index += 1
    }
  }

  /** As that of a column, for columns of nulls, too. */
  def describe(column: ColumnVector, to: mutable.ArrayBuilder[Long]): Boolean = column match {
    case own: ArrowsmithVector => own.describe(to)
    case nulls: ConstantColumnVector if nulls.isNullAt(0) =>
      to += kind(nulls.dataType) += 0 += 0
      true
    case _ => false
  }

  private def kind(of: DataType): Long = of match {
    case BooleanType => SparkRows.BOOLEAN
    case ByteType => SparkRows.BYTES_1
    case ShortType => SparkRows.BYTES_2
    case IntegerType | FloatType | DateType => SparkRows.BYTES_4
    case decimal: DecimalType =>
      if (decimal.precision <= Decimal.MAX_LONG_DIGITS) SparkRows.SHORT_DECIMAL
      else SparkRows.DECIMAL
    case _: StringType | BinaryType => SparkRows.TEXT
    case _: ArrayType => SparkRows.LIST
    case _: MapType => SparkRows.MAP
    case _: StructType => SparkRows.STRUCT
    case _ => SparkRows.BYTES_8
  }

  /** Whether an array has the buffers and children of this type. */
  def fits(of: DataType, array: Long, layout: Layout): Boolean = {
    val buffers = of match {
      case _: StructType => 1
      case _: StringType | BinaryType => 3
      case _ => 2
    }
    val children = Platform.getLong(null, array + ChildCount)
    Platform.getLong(null, array + BufferCount) == buffers &&
    Platform.getLong(null, array + Dictionary) == 0 && (of match {
      case struct: StructType =>
        val present = struct.indices.filter(layout.place(_) >= 0)
        children == present.length && present.forall { index =>
          fits(struct(index).dataType, child(array, layout.place(index)), layout.inside(index))
        }
      case ArrayType(element, _) =>
        children == 1 && fits(element, child(array, 0), layout.inside(0))
      case MapType(key, value, _) =>
        val entries = new StructType().add("key", key).add("value", value)
        children == 1 && fits(entries, child(array, 0), layout)
      case _ => children == 0
    })
  }

  private def child(array: Long, index: Int): Long =
    Platform.getLong(null, Platform.getLong(null, array + Children) + 8L * index)

  private def bit(bits: Long, at: Long): Boolean =
    (Platform.getByte(null, bits + (at >> 3)) >> (at & 7).toInt & 1) != 0
}
