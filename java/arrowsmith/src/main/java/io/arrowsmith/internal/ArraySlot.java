// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/** Arrays of a primitive type as lists: each is copied whole. */
final class ArraySlot extends Slot {
  private final Kind kind;
  private final int width;
  private final Slot[] elements;
  private long measured;
  private long offsetAt;
  private long valueAt;
  private long next;
  private long end;
  private Bits bits;

  ArraySlot(final Column column) {
    super(column);
    this.kind = column.node.element().kind;
    this.width = kind.width;
    this.elements = column.slots();
  }

  @Override
  Slot[] children() {
    return elements;
  }

  @Override
  void measure(final Object value) {
    if (value != null) {
      measured += length(value);
    }
  }

  private int length(final Object array) {
    return switch (kind) {
      case INT32 -> ((int[]) array).length;
      case INT64 -> ((long[]) array).length;
      case FLOAT64 -> ((double[]) array).length;
      case FLOAT32 -> ((float[]) array).length;
      case INT16 -> ((short[]) array).length;
      case UINT16 -> ((char[]) array).length;
      default -> ((boolean[]) array).length;
    };
  }

  @Override
  void settle() {
    elements[0].rows = measured;
  }

  @Override
  void place(final long row, final long offset) {
    super.place(row, offset);
    offsetAt = column.offsets.memoryAddress() + (row + 1) * Integer.BYTES;
  }

  /** Says where the elements of this chunk begin. */
  void placeElements(final long first) {
    next = first;
    end = first + measured;
    final long data = column.children[0].data.memoryAddress();
    if (kind == Kind.BOOL) {
      bits = new Bits(column, data, first);
    } else {
      valueAt = data + first * width;
    }
  }

  @Override
  void append(final Object value) {
    if (isThere(value)) {
      copy(value);
    }
    // It was seen that 32 bits hold the number of all elements.
    Mem.putInt(offsetAt, (int) next);
    offsetAt += Integer.BYTES;
  }

  private void copy(final Object value) {
    final int length = length(value);
    if (length > end - next) {
      throw changed(column);
    }
    final long place = valueAt;
    switch (kind) {
      case INT32 -> Mem.copy((int[]) value, length, place);
      case INT64 -> Mem.copy((long[]) value, length, place);
      case FLOAT64 -> Mem.copy((double[]) value, length, place);
      case FLOAT32 -> Mem.copy((float[]) value, length, place);
      case INT16 -> Mem.copy((short[]) value, length, place);
      case UINT16 -> Mem.copy((char[]) value, length, place);
      default -> {
        for (final boolean bit : (boolean[]) value) {
          bits.append(bit);
        }
      }
    }
    next += length;
    valueAt = place + (long) length * width;
  }

  @Override
  void finish() {
    if (next != end) {
      throw changed(column);
    }
    if (bits != null) {
      bits.finish();
    }
    super.finish();
  }
}
