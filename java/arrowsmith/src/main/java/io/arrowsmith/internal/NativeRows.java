// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.io.IOException;

/** Rows in the form of Apache Spark, in a buffer of the native library. */
public final class NativeRows implements AutoCloseable {
  /** Few enough that they stay in the cache until they are read. */
  private static final int BYTES_MIN = 256 << 10;

  /** The largest multiple of 8 that an {@code int} holds. */
  private static final int BYTES_MAX = Integer.MAX_VALUE - 7;

  private static final int ROWS_MAX = 4096;

  /** The numbers of a column. */
  private static final int FIELDS = 3;

  /** The ends of the rows, and the address of an error. */
  private long ends;

  /** The rows. */
  private long buffer;

  private int capacity;

  /** The columns. */
  private long given;

  private int givenLength;

  /** Holds no memory before the first rows. */
  public NativeRows() {}

  /**
   * Writes rows.
   *
   * @param columns the kind, the members and the address of each column
   * @param first the index of the first row
   * @param count the number of rows
   * @return the number of rows that were written
   * @throws IOException if a column is invalid, or a row has more than 2 GiB
   */
  public int write(final long[] columns, final long first, final int count) throws IOException {
    pass(columns);
    final long error = ends + (long) ROWS_MAX * Integer.BYTES;
    final int wanted = Math.min(count, ROWS_MAX);
    while (true) {
      Mem.putLong(error, 0);
      final long written =
          Natives.sparkRows(
              given, columns.length / FIELDS, first, wanted, buffer, capacity, ends, error);
      if (written < 0) {
        throw Failure.take(Mem.getLong(error));
      }
      if (written > 0) {
        return (int) written;
      }
      if (capacity == BYTES_MAX) {
        throw new IOException("a row is too long");
      }
      grow(capacity > BYTES_MAX / 2 ? BYTES_MAX : 2 * capacity);
    }
  }

  private void pass(final long[] columns) {
    if (ends == 0) {
      ends = allocate((long) ROWS_MAX * Integer.BYTES + Long.BYTES);
      grow(BYTES_MIN);
    }
    if (givenLength < columns.length) {
      Natives.freeBuffer(given);
      given = 0;
      givenLength = 0;
      given = allocate((long) columns.length * Long.BYTES);
      givenLength = columns.length;
    }
    Mem.copy(columns, columns.length, given);
  }

  private void grow(final int bytes) {
    Natives.freeBuffer(buffer);
    buffer = 0;
    capacity = 0;
    buffer = allocate(bytes);
    capacity = bytes;
  }

  private static long allocate(final long bytes) {
    final long memory = Natives.newBuffer(bytes);
    if (memory == 0) {
      throw new OutOfMemoryError("no native memory for " + bytes + " bytes");
    }
    // The library writes to initialised memory only.
    Mem.fill(memory, bytes, (byte) 0);
    return memory;
  }

  /**
   * Where a row is.
   *
   * @param row its number
   * @return its address
   */
  public long address(final int row) {
    return buffer + start(row);
  }

  /**
   * The length of a row.
   *
   * @param row its number
   * @return its bytes
   */
  public int bytes(final int row) {
    return Mem.getInt(ends + (long) row * Integer.BYTES) - start(row);
  }

  private int start(final int row) {
    return row == 0 ? 0 : Mem.getInt(ends + (row - 1L) * Integer.BYTES);
  }

  @Override
  public void close() {
    Natives.freeBuffer(given);
    Natives.freeBuffer(buffer);
    Natives.freeBuffer(ends);
    given = 0;
    givenLength = 0;
    buffer = 0;
    capacity = 0;
    ends = 0;
  }
}
