// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;

/** Arrays of objects and collections as lists, maps as lists of their entries. */
final class ListSlot extends Slot {
  private final Slot element;
  private final Slot[] elements;
  private final Around around;
  private final boolean deep;
  private long measured;
  private long offsetAt;
  private long next;
  private long end;

  ListSlot(final Column column) {
    super(column);
    this.elements = column.slots();
    this.element = elements[0];
    this.around = column.node.element().around;
    this.deep = column.node.element().isVariable();
  }

  @Override
  Slot[] children() {
    return elements;
  }

  @Override
  void measure(final Object value) {
    if (value == null) {
      return;
    }
    if (value instanceof Object[] array) {
      measured += array.length;
      if (deep) {
        for (final Object one : array) {
          element.measure(inner(one));
        }
      }
      return;
    }
    final Collection<?> collection = collection(value);
    if (!deep) {
      measured += collection.size();
      return;
    }
    for (final Object one : collection) {
      measured++;
      element.measure(inner(one));
    }
  }

  private Object inner(final Object one) {
    return around == null ? one : around.unwrap().apply(one);
  }

  private static Collection<?> collection(final Object value) {
    return value instanceof Map<?, ?> map ? map.entrySet() : (Collection<?>) value;
  }

  @Override
  void settle() {
    element.rows = measured;
    element.settle();
  }

  @Override
  void place(final long row, final long offset) {
    super.place(row, offset);
    offsetAt = column.offsets.memoryAddress() + (row + 1) * Integer.BYTES;
  }

  /** Sets the start of this chunk's elements. */
  void placeElements(final long first) {
    next = first;
    end = first + element.rows;
  }

  @Override
  void append(final Object value) {
    if (isThere(value)) {
      if (value instanceof Object[] array) {
        take(array.length);
        for (final Object one : array) {
          element.append(inner(one));
        }
      } else if (value instanceof RandomAccess && value instanceof List<?> list) {
        final int size = list.size();
        take(size);
        for (int i = 0; i < size; i++) {
          element.append(inner(list.get(i)));
        }
      } else {
        // A single pass: an iterator may return more or fewer elements than the size.
        final Object[] array = collection(value).toArray();
        take(array.length);
        for (final Object one : array) {
          element.append(inner(one));
        }
      }
    }
    // The number of all elements fits 32 bits: the column has no more.
    Mem.putInt(offsetAt, (int) next);
    offsetAt += Integer.BYTES;
  }

  private void take(final int count) {
    if (count > end - next) {
      if (!column.isEstimated()) {
        throw changed(column);
      }
      end = element.reserve(next + count);
    }
    next += count;
  }

  @Override
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    super.moved(validityBy, offsetsBy, dataBy);
    offsetAt += offsetsBy;
  }

  @Override
  void finish() {
    if (column.isEstimated()) {
      element.expectNoMore(next);
    } else if (next != end) {
      throw changed(column);
    }
    super.finish();
  }
}
