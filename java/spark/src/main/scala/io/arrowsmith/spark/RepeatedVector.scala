// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import org.apache.spark.sql.types.Decimal
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A column whose rows are all the first one of another: a value in the name of a folder. The call
 * that fills Spark's own class for this differs between its versions.
 */
private final class RepeatedVector(of: ColumnVector) extends ColumnVector(of.dataType) {
  override def close(): Unit = ()
  override def hasNull: Boolean = of.isNullAt(0)
  override def numNulls: Int = if (hasNull) Int.MaxValue else 0
  override def isNullAt(row: Int): Boolean = of.isNullAt(0)
  override def getBoolean(row: Int): Boolean = of.getBoolean(0)
  override def getByte(row: Int): Byte = of.getByte(0)
  override def getShort(row: Int): Short = of.getShort(0)
  override def getInt(row: Int): Int = of.getInt(0)
  override def getLong(row: Int): Long = of.getLong(0)
  override def getFloat(row: Int): Float = of.getFloat(0)
  override def getDouble(row: Int): Double = of.getDouble(0)
  override def getArray(row: Int): ColumnarArray = of.getArray(0)
  override def getMap(row: Int): ColumnarMap = of.getMap(0)
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    of.getDecimal(0, precision, scale)
  override def getUTF8String(row: Int): UTF8String = of.getUTF8String(0)
  override def getBinary(row: Int): Array[Byte] = of.getBinary(0)
  override def getChild(ordinal: Int): ColumnVector = new RepeatedVector(of.getChild(ordinal))
}
