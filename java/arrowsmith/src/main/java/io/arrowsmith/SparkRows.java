// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeRows;
import java.io.IOException;

/**
 * Rows of Arrow columns in the binary form of Apache Spark's {@code UnsafeRow}, in memory outside
 * of the heap. Neither Spark nor Arrow Java is used. It is for one thread at a time.
 */
public final class SparkRows implements AutoCloseable {
  /** The kind of a column of booleans. */
  public static final int BOOLEAN = 0;

  /** Values of one byte. */
  public static final int BYTES_1 = 1;

  /** Values of two bytes. */
  public static final int BYTES_2 = 2;

  /** Values of four bytes. */
  public static final int BYTES_4 = 3;

  /** Values of eight bytes. */
  public static final int BYTES_8 = 4;

  /** Decimals of 128 bits with at most 18 digits. */
  public static final int SHORT_DECIMAL = 5;

  /** Decimals of 128 bits. */
  public static final int DECIMAL = 6;

  /** Text or bytes, with offsets of 32 bits. */
  public static final int TEXT = 7;

  /** Lists, with offsets of 32 bits, before the column of their elements. */
  public static final int LIST = 8;

  /** Maps, with offsets of 32 bits, before the columns of their keys and of their values. */
  public static final int MAP = 9;

  /** Structs, before the columns of their members. */
  public static final int STRUCT = 10;

  private final NativeRows rows = new NativeRows();

  /** Holds no memory before the first rows. */
  public SparkRows() {}

  /**
   * Writes rows, in place of those before.
   *
   * @param columns the columns of the rows, each followed by those of its parts; of each its kind,
   *     the number of its members (0 if it is not a struct), and the address of its
   *     {@code ArrowArray}, or 0 if it has only nulls: then no parts follow
   * @param first the index of the first row, after the offsets of the arrays
   * @param count the number of rows, at least 1
   * @return the number of rows that were written, at least 1
   * @throws IOException if the columns do not match their kinds, or a row has more than 2 GiB
   */
  public int write(final long[] columns, final long first, final int count) throws IOException {
    return rows.write(columns, first, count);
  }

  /**
   * Where a row is.
   *
   * @param row its number, of those that were written
   * @return its address, until the next are written
   */
  public long address(final int row) {
    return rows.address(row);
  }

  /**
   * The length of a row.
   *
   * @param row its number, of those that were written
   * @return its bytes
   */
  public int bytes(final int row) {
    return rows.bytes(row);
  }

  /** Frees the memory. */
  @Override
  public void close() {
    rows.close();
  }
}
