// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.ConcurrentModificationException;

/**
 * Where one thread puts the values of one column for one chunk of rows: first it measures, then it is told where its part of
 * the column begins, then it appends. Nothing is written outside of what was measured, even if objects change meanwhile.
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

  /** Which values are there; null where all are. */
  Bits validity;

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
   * Says where the chunk's part of the column begins.
   *
   * @param row its first value
   * @param offset its first byte, of strings and binary values
   */
  void place(final long row, final long offset) {
    if (!column.node.isPrimitive()) {
      validity = new Bits(column, column.validity.memoryAddress(), row);
    }
    if (column.node.kind.width > 0) {
      at = column.data.memoryAddress() + row * column.node.kind.width;
    }
  }

  /** Writes out what is held back, once everything was appended, and checks that it is all. */
  void finish() {
    if (validity != null) {
      validity.finish();
    }
    for (final Slot child : children()) {
      child.finish();
    }
  }

  final boolean isThere(final Object value) {
    final boolean there = value != null;
    validity.append(there);
    if (!there) {
      nulls++;
    }
    return there;
  }

  static ConcurrentModificationException changed(final Column column) {
    return new ConcurrentModificationException(
        column.node.path + ": the objects were changed while they were encoded");
  }
}
