// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Strings, enums and byte arrays. A string is measured as if it were ASCII, which is common and
 * costs no scan; the bytes of longer ones go to a spill buffer, and are moved into place when all
 * chunks are done.
 */
final class BytesSlot extends Slot {
  private static final int SPILL_BYTES_MIN = 1 << 10;
  private static final int SPILL_BYTES_MAX = Integer.MAX_VALUE - 8;

  private final Kind kind;
  private long firstRow;
  private long offsetAt;
  private long first;
  private long start;
  private long place;
  private long limit;
  private byte[] spill;
  private int spilled;

  BytesSlot(final Column column) {
    super(column);
    this.kind = column.node.kind;
  }

  @Override
  void measure(final Object value) {
    if (value != null) {
      bytes +=
          switch (kind) {
            case UTF8 -> ((String) value).length();
            case ENUM -> ((Enum<?>) value).name().length();
            default -> ((byte[]) value).length;
          };
    }
  }

  @Override
  void place(final long row, final long offset) {
    super.place(row, offset);
    firstRow = row;
    offsetAt = column.offsets.memoryAddress() + (row + 1) * Integer.BYTES;
    first = offset;
    start = column.data.memoryAddress() + offset;
    place = start;
    limit = start + bytes;
  }

  @Override
  void append(final Object value) {
    switch (kind) {
      case UTF8 -> append((String) value);
      case ENUM -> append(value == null ? null : ((Enum<?>) value).name());
      default -> append((byte[]) value);
    }
  }

  void append(final String text) {
    if (isThere(text)) {
      text(text);
    }
    offset();
  }

  void append(final byte[] array) {
    if (isThere(array)) {
      binary(array);
    }
    offset();
  }

  private void offset() {
    // Whether 32 bits are enough is checked when all chunks are done.
    Mem.putInt(offsetAt, (int) (first + (place - start) + spilled));
    offsetAt += Integer.BYTES;
  }

  private void text(final String text) {
    if (spill == null) {
      final long after = Mem.putUtf8(text, place, limit);
      if (after >= 0) {
        place = after;
        return;
      }
    }
    binary(text.getBytes(StandardCharsets.UTF_8));
  }

  private void binary(final byte[] array) {
    if (array.length > limit - place && column.isEstimated()) {
      grow(array.length);
    }
    if (spill == null && array.length <= limit - place) {
      Mem.copy(array, array.length, place);
      place += array.length;
    } else {
      spill(array);
    }
  }

  private void grow(final int more) {
    final long used = place - start;
    bytes = column.growBytes(bytes, used + more);
    start = column.data.memoryAddress();
    place = start + used;
    limit = start + bytes;
  }

  @Override
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    super.moved(validityBy, offsetsBy, dataBy);
    offsetAt += offsetsBy;
  }

  private void spill(final byte[] more) {
    final long needed = (long) spilled + more.length;
    if (needed > SPILL_BYTES_MAX) {
      throw tooLong(column);
    }
    if (spill == null || needed > spill.length) {
      final long room = Math.max(needed, Math.max(SPILL_BYTES_MIN, 2L * spilled));
      final int length = (int) Math.min(room, SPILL_BYTES_MAX);
      spill = spill == null ? new byte[length] : Arrays.copyOf(spill, length);
    }
    System.arraycopy(more, 0, spill, spilled, more.length);
    spilled += more.length;
  }

  static ColumnsException tooLong(final Column column) {
    return new ColumnsException(
        column.node.path, "more than 2147483647 bytes in one batch; encode fewer objects at once");
  }

  /** Bytes appended. */
  long used() {
    return place - start + spilled;
  }

  /** Whether its bytes are in place, and fill their part. */
  boolean isInPlace() {
    return spilled == 0 && (place == limit || column.isEstimated());
  }

  /** Moves its bytes and offsets to another buffer. */
  void move(final long address, final long offset) {
    Mem.move(start, address + offset, place - start);
    if (spill != null) {
      Mem.copy(spill, spilled, address + offset + (place - start));
    }
    final int by = (int) (offset - first);
    final long offsets = column.offsets.memoryAddress() + (firstRow + 1) * Integer.BYTES;
    for (long row = 0; row < rows; row++) {
      final long at = offsets + row * Integer.BYTES;
      Mem.putInt(at, Mem.getInt(at) + by);
    }
  }
}
