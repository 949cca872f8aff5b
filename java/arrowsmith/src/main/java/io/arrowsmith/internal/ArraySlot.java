// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/** Arrays of a primitive type as lists: each is copied as a block. */
final class ArraySlot extends Slot {
  private final Kind kind;
  private final int shift;
  private final Slot[] elements;
  private long measured;
  /** Address of the offset after the first row. */
  private long offsetAt;

  /** Address of the first element of the column. */
  private long data;

  /** Address of the next element; for bits its number. */
  long valueAt;

  private long valueEnd;
  private Bits bits;

  ArraySlot(final Column column) {
    super(column);
    this.kind = column.node.element().kind;
    this.shift = kind == Kind.BOOL ? 0 : Integer.numberOfTrailingZeros(kind.width);
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

  /** Sets the start of this chunk's elements. */
  void placeElements(final long first) {
    final long end = first + elements[0].rows;
    data = column.children[0].data.memoryAddress();
    if (kind == Kind.BOOL) {
      bits = new Bits(column, data, first);
      valueAt = first;
      valueEnd = end;
    } else {
      valueAt = data + (first << shift);
      valueEnd = data + (end << shift);
    }
  }

  @Override
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    super.moved(validityBy, offsetsBy, dataBy);
    offsetAt += offsetsBy;
  }

  @Override
  void append(final Object value) {
    final long row = done++;
    valueAt =
        switch (kind) {
          case INT32 -> append((int[]) value, valueAt, row);
          case INT64 -> append((long[]) value, valueAt, row);
          case FLOAT64 -> append((double[]) value, valueAt, row);
          case FLOAT32 -> append((float[]) value, valueAt, row);
          case INT16 -> append((short[]) value, valueAt, row);
          case UINT16 -> append((char[]) value, valueAt, row);
          default -> append((boolean[]) value, valueAt, row);
        };
  }

  // Generated code keeps the address of the next element, and the row number, in registers
  // meanwhile.

  /**
   * Appends a list.
   *
   * @param array its elements, or null
   * @param at the destination
   * @param row its number
   * @return the destination of the next list
   */
  long append(final int[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    final long bytes = (long) array.length << 2;
    final long place = bytes > valueEnd - at ? more(array.length, at) : at;
    Mem.copy(array, array.length, place);
    offset(row, place + bytes - data >> 2);
    return place + bytes;
  }

  /** As {@link #append(int[], long, long)}. */
  long append(final long[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    final long bytes = (long) array.length << 3;
    final long place = bytes > valueEnd - at ? more(array.length, at) : at;
    Mem.copy(array, array.length, place);
    offset(row, place + bytes - data >> 3);
    return place + bytes;
  }

  /** As {@link #append(int[], long, long)}. */
  long append(final double[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    final long bytes = (long) array.length << 3;
    final long place = bytes > valueEnd - at ? more(array.length, at) : at;
    Mem.copy(array, array.length, place);
    offset(row, place + bytes - data >> 3);
    return place + bytes;
  }

  /** As {@link #append(int[], long, long)}. */
  long append(final float[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    final long bytes = (long) array.length << 2;
    final long place = bytes > valueEnd - at ? more(array.length, at) : at;
    Mem.copy(array, array.length, place);
    offset(row, place + bytes - data >> 2);
    return place + bytes;
  }

  /** As {@link #append(int[], long, long)}. */
  long append(final short[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    final long bytes = (long) array.length << 1;
    final long place = bytes > valueEnd - at ? more(array.length, at) : at;
    Mem.copy(array, array.length, place);
    offset(row, place + bytes - data >> 1);
    return place + bytes;
  }

  /** As {@link #append(int[], long, long)}. */
  long append(final char[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    final long bytes = (long) array.length << 1;
    final long place = bytes > valueEnd - at ? more(array.length, at) : at;
    Mem.copy(array, array.length, place);
    offset(row, place + bytes - data >> 1);
    return place + bytes;
  }

  /** As {@link #append(int[], long, long)}; {@code at} is the number of the next element. */
  long append(final boolean[] array, final long at, final long row) {
    if (array == null) {
      return absent(at, row);
    }
    if (array.length > valueEnd - at) {
      more(array.length, at);
    }
    for (final boolean bit : array) {
      bits.append(bit);
    }
    offset(row, at + array.length);
    return at + array.length;
  }

  private long absent(final long at, final long row) {
    validity.clear(row);
    nulls++;
    offset(row, bits == null ? at - data >> shift : at);
    return at;
  }

  private void offset(final long row, final long after) {
    // The number of all elements fits 32 bits: the column has no more.
    Mem.putInt(offsetAt + (row << 2), (int) after);
  }

  /** Grows to this many more elements, if allowed; returns their destination. */
  private long more(final long length, final long at) {
    if (!column.isEstimated()) {
      throw changed(column);
    }
    final long used = bits == null ? at - data >> shift : at;
    final long end = elements[0].reserve(used + length);
    final long moved = column.children[0].data.memoryAddress() - data;
    data += moved;
    if (bits == null) {
      valueEnd = data + (end << shift);
      return at + moved;
    }
    bits.move(moved);
    valueEnd = end;
    return at;
  }

  @Override
  void finish() {
    if (column.isEstimated()) {
      elements[0].expectNoMore(bits == null ? valueAt - data >> shift : valueAt);
    } else if (valueAt != valueEnd) {
      throw changed(column);
    }
    if (bits != null) {
      bits.finish();
    }
    super.finish();
  }
}
