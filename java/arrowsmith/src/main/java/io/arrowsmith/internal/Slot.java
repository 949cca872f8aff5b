// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.ConcurrentModificationException;
import java.util.function.LongUnaryOperator;

/**
 * Writes the values of one column for one chunk of rows, on one thread. First it measures the
 * values or is given the expected size, then it gets the start of its part of the column, then it
 * appends. It never writes outside of that part, even if objects change meanwhile: if more values
 * come than expected, an estimated column grows; otherwise that is an error.
 */
abstract class Slot {
  final Column column;

  /** Number of values of the chunk in this column. */
  long rows;

  /** Expected bytes of the values, for strings and binary values. */
  long bytes;

  /** Address of the next value, for values of one width. */
  long at;

  /** Nulls so far. */
  long nulls;

  /** Values appended; not updated for fields that generated code appends. */
  long done;

  /** Which values are non-null; null if all are. */
  Validity validity;

  Slot(final Column column) {
    this.column = column;
  }

  /** Adds up the memory of a value. Only for columns of varying length. */
  void measure(final Object value) {}

  /** Appends a value. */
  abstract void append(Object value);

  /** Child slots, in the order of the column's children. */
  Slot[] children() {
    return Column.NO_SLOTS;
  }

  /** Passes the measured sizes on to the child slots. */
  void settle() {
    for (final Slot child : children()) {
      child.rows = rows;
      child.settle();
    }
  }

  /**
   * Instead of measuring: expects the sizes of a sample.
   *
   * @param count values of this column
   * @param other the sample's sizes
   * @param scale from the sample to this chunk
   */
  final void expect(final long count, final Slot other, final LongUnaryOperator scale) {
    rows = count;
    bytes = scale.applyAsLong(other.bytes);
    final Slot[] children = children();
    final Slot[] others = other.children();
    for (int child = 0; child < children.length; child++) {
      final boolean same = column.node.kind == Kind.STRUCT;
      children[child].expect(
          same ? count : scale.applyAsLong(others[child].rows), others[child], scale);
    }
  }

  /** Whether another slot had the same sizes, recursively. */
  final boolean isLike(final Slot other) {
    final Slot[] children = children();
    final Slot[] others = other.children();
    boolean like = rows == other.rows && bytes == other.bytes;
    for (int child = 0; like && child < children.length; child++) {
      like = children[child].isLike(others[child]);
    }
    return like;
  }

  /** Adds another slot's sizes. */
  final void add(final Slot other) {
    rows += other.rows;
    bytes += other.bytes;
    final Slot[] children = children();
    final Slot[] others = other.children();
    for (int child = 0; child < children.length; child++) {
      children[child].add(others[child]);
    }
  }

  /**
   * Sets the start of the chunk's part of the column.
   *
   * @param row its first value
   * @param offset its first byte, for strings and binary values
   */
  void place(final long row, final long offset) {
    if (!column.node.isPrimitive()) {
      validity = new Validity(column, column.validity.memoryAddress(), row, rows);
    }
    if (column.node.kind.width > 0) {
      at = column.data.memoryAddress() + row * column.node.kind.width;
    }
  }

  /** Grows an estimated column to this many values; returns the new capacity. */
  final long reserve(final long values) {
    if (values > column.rows) {
      final long[] before = column.addresses();
      column.grow(values);
      final long[] after = column.addresses();
      moved(after[0] - before[0], after[1] - before[1], after[2] - before[2]);
    }
    if (column.node.kind == Kind.STRUCT) {
      for (final Slot child : children()) {
        child.reserve(column.rows);
      }
    }
    return column.rows;
  }

  /** The buffers were moved. */
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    if (validity != null) {
      validity.move(validityBy);
    }
    at += dataBy;
  }

  /** The number of values is now known. */
  final void expectNoMore(final long count) {
    rows = count;
    if (column.node.kind == Kind.STRUCT) {
      for (final Slot child : children()) {
        child.expectNoMore(count);
      }
    }
  }

  /** Writes out buffered data, after everything was appended, and checks that it is complete. */
  void finish() {
    for (final Slot child : children()) {
      child.finish();
    }
  }

  final boolean isThere(final Object value) {
    final long row = done++;
    if (value == null) {
      validity.clear(row);
      nulls++;
      return false;
    }
    return true;
  }

  static ConcurrentModificationException changed(final Column column) {
    return new ConcurrentModificationException(
        column.node.path + ": the objects were changed while they were encoded");
  }
}
