// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.ConcurrentModificationException;
import java.util.function.LongUnaryOperator;

/**
 * Where one thread puts the values of one column for one chunk of rows: first it measures or is told what to expect, then where its part of
 * the column begins, then it appends. Nothing is written outside of that part, even if objects change meanwhile: if more comes than
 * was expected, the column grows where that was only an estimate; else it is an error.
 */
abstract class Slot {
  final Column column;

  /** Values that the chunk has in this column. */
  long rows;

  /** Bytes that the values are expected to have, of strings and binary values. */
  long bytes;

  /** Address of the next value, where values have one width. */
  long at;

  /** Nulls so far. */
  long nulls;

  /** Values that were appended; not kept by slots of fields that generated code appends to. */
  long done;

  /** Which values are there; null where all are. */
  Validity validity;

  Slot(final Column column) {
    this.column = column;
  }

  /** Adds up what a value needs. Only for columns of varying length. */
  void measure(final Object value) {}

  /** Appends a value. */
  abstract void append(Object value);

  /** Slots below, in the order of the column's children. */
  Slot[] children() {
    return Column.NO_SLOTS;
  }

  /** What was measured is passed on to the slots below. */
  void settle() {
    for (final Slot child : children()) {
      child.rows = rows;
      child.settle();
    }
  }

  /**
   * Instead of measuring: expects what others had.
   *
   * @param count values of this column
   * @param other what a sample had
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

  /** Whether others had as much, all the way down. */
  final boolean isLike(final Slot other) {
    final Slot[] children = children();
    final Slot[] others = other.children();
    boolean like = rows == other.rows && bytes == other.bytes;
    for (int child = 0; like && child < children.length; child++) {
      like = children[child].isLike(others[child]);
    }
    return like;
  }

  /** Adds what others had. */
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
   * Says where the chunk's part of the column begins.
   *
   * @param row its first value
   * @param offset its first byte, of strings and binary values
   */
  void place(final long row, final long offset) {
    if (!column.node.isPrimitive()) {
      validity = new Validity(column, column.validity.memoryAddress(), row, rows);
    }
    if (column.node.kind.width > 0) {
      at = column.data.memoryAddress() + row * column.node.kind.width;
    }
  }

  /** Makes room for as many values of a column that was estimated; gives how many fit. */
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

  /** The buffers lie elsewhere now. */
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    if (validity != null) {
      validity.move(validityBy);
    }
    at += dataBy;
  }

  /** How many values there are is known now. */
  final void expectNoMore(final long count) {
    rows = count;
    if (column.node.kind == Kind.STRUCT) {
      for (final Slot child : children()) {
        child.expectNoMore(count);
      }
    }
  }

  /** Writes out what is held back, once everything was appended, and checks that it is all. */
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
