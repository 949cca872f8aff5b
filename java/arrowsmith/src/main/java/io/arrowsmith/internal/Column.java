// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import org.apache.arrow.memory.ArrowBuf;

/**
 * One column during encoding: the memory that all chunks write to. Its monitor guards words that
 * two chunks share.
 */
final class Column {
  static final Slot[] NO_SLOTS = {};
  static final Object[] NO_OBJECTS = {};

  /** Maximum values of one batch. */
  static final long ROWS_MAX = Integer.MAX_VALUE - 64;

  final Node node;
  final Column[] children;

  /** Values of all chunks; for an estimated column, its capacity. */
  long rows;

  /** Nulls of all chunks. */
  long nulls;

  ArrowBuf validity;
  ArrowBuf offsets;
  ArrowBuf data;

  private Memory memory;
  private boolean estimated;

  Column(final Node node) {
    this.node = node;
    this.children = node.children.stream().map(Column::new).toArray(Column[]::new);
  }

  /** New slots of the child columns, for one chunk. */
  Slot[] slots() {
    final Slot[] slots = new Slot[children.length];
    for (int child = 0; child < slots.length; child++) {
      slots[child] = children[child].node.slot(children[child]);
    }
    return slots;
  }

  /** Allocates memory for its values, and for this many bytes of strings. */
  void take(final Memory from, final long bytes, final boolean isEstimate) {
    memory = from;
    estimated = isEstimate;
    if (rows > ROWS_MAX) {
      throw new ColumnsException(
          node.path, rows + " values in one batch are too many; encode fewer objects at once");
    }
    if (bytes > Integer.MAX_VALUE) {
      throw BytesSlot.tooLong(this);
    }
    // Also for non-nullable columns: Arrow Java would create one itself, byte by byte.
    validity = memory.filled(bitBytes(rows), -1);
    if (node.kind.isOffset()) {
      offsets = memory.next((rows + 1) * Integer.BYTES);
      Mem.putInt(offsets.memoryAddress(), 0);
    }
    if (node.kind == Kind.BOOL) {
      data = memory.filled(bitBytes(rows), 0);
    } else if (node.kind.width > 0) {
      data = memory.next(rows * node.kind.width);
    } else if (node.kind.isText()) {
      data = memory.next(bytes);
    }
  }

  /** Bit maps are written in words of 64 bits. */
  private static long bitBytes(final long bits) {
    return (bits + 63 >> 6) << 3;
  }

  /** Whether it grows when it is full. */
  boolean isEstimated() {
    return estimated;
  }

  /** Addresses of its buffers: validity, offsets, data; 0 for a missing one. */
  long[] addresses() {
    return new long[] {address(validity), address(offsets), address(data)};
  }

  private static long address(final ArrowBuf buffer) {
    return buffer == null ? 0 : buffer.memoryAddress();
  }

  private static long grown(final long before, final long needed, final long most) {
    return Math.max(needed, Math.min(most, before + (before >> 1)));
  }

  /** Grows to at least this many values, and keeps the old ones. */
  void grow(final long values) {
    if (values > ROWS_MAX) {
      throw new ColumnsException(
          node.path, values + " values in one batch are too many; encode fewer objects at once");
    }
    final long more = grown(rows, values, ROWS_MAX);
    validity = memory.grown(validity, bitBytes(rows), bitBytes(more), -1);
    if (offsets != null) {
      offsets = memory.grown(offsets, (rows + 1) * Integer.BYTES, (more + 1) * Integer.BYTES);
    }
    if (node.kind == Kind.BOOL) {
      data = memory.grown(data, bitBytes(rows), bitBytes(more), 0);
    } else if (node.kind.width > 0) {
      data = memory.grown(data, rows * node.kind.width, more * node.kind.width);
    }
    rows = more;
  }

  /** Grows to at least this many bytes of strings; returns the new capacity. */
  long growBytes(final long before, final long needed) {
    if (needed > Integer.MAX_VALUE) {
      throw BytesSlot.tooLong(this);
    }
    final long more = grown(before, needed, Integer.MAX_VALUE);
    data = memory.grown(data, before, more);
    return more;
  }

  /** Clears the unused bits of the last word. */
  void cut() {
    if ((rows & 63) != 0) {
      final long place = validity.memoryAddress() + (rows >> 6 << 3);
      Mem.putLong(place, Mem.getLong(place) & ~(-1L << rows));
    }
  }

  /** Replaces the estimate by the actual count. */
  void trim(final long values, final long bytes) {
    rows = values;
    validity.writerIndex(bitBytes(rows));
    if (offsets != null) {
      offsets.writerIndex((rows + 1) * Integer.BYTES);
    }
    if (node.kind == Kind.BOOL) {
      data.writerIndex(bitBytes(rows));
    } else if (node.kind.width > 0) {
      data.writerIndex(rows * node.kind.width);
    } else if (data != null) {
      data.writerIndex(bytes);
    }
  }
}
