// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.arrowsmith

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.RowToColumnConverter
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType

/** Rows to columns on the heap. In Spark's package, because its converter is only visible there. */
final class Rows(schema: StructType) {
  private val nullable = schema.asNullable
  private val converter = new RowToColumnConverter(nullable)

  private lazy val columns = OnHeapColumnVector.allocateColumns(64, nullable)
  private lazy val writable = columns.asInstanceOf[Array[WritableColumnVector]]

  /**
   * Copies at most `limit` rows; returns the columns, and how many rows they have. They are the
   * columns of the call before, with other rows.
   */
  def take(rows: Iterator[InternalRow], limit: Int): (Array[OnHeapColumnVector], Int) = {
    columns.foreach(_.reset())
    var count = 0
    while (count < limit && rows.hasNext) {
      converter.convert(rows.next(), writable)
      count += 1
    }
    (columns, count)
  }
}
