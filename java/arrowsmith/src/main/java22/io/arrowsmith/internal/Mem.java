// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Off-heap memory, by address, for JDK 22 and newer: with the Foreign Function &amp; Memory API.
 * Callers check every bound; the segment covers all of memory, because columns are given as
 * addresses.
 */
final class Mem {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  /** A word in which every byte has its highest bit set, as no ASCII character has. */
  private static final long NOT_ASCII = 0x8080808080808080L;

  /** Maximum length of arrays that are copied word by word. */
  private static final int SHORT_BYTES_MAX = 128;

  private Mem() {}

  /** The address of the first byte that remains in a direct buffer, valid while it is reachable. */
  static long address(final ByteBuffer direct) {
    return MemorySegment.ofBuffer(direct).address();
  }

  static void putByte(final long at, final byte value) {
    ALL.set(ValueLayout.JAVA_BYTE, at, value);
  }

  static void putShort(final long at, final short value) {
    ALL.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, value);
  }

  static void putChar(final long at, final char value) {
    ALL.set(ValueLayout.JAVA_CHAR_UNALIGNED, at, value);
  }

  static void putInt(final long at, final int value) {
    ALL.set(ValueLayout.JAVA_INT_UNALIGNED, at, value);
  }

  static void putLong(final long at, final long value) {
    ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, at, value);
  }

  static void putFloat(final long at, final float value) {
    ALL.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, value);
  }

  static void putDouble(final long at, final double value) {
    ALL.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, value);
  }

  static byte getByte(final long at) {
    return ALL.get(ValueLayout.JAVA_BYTE, at);
  }

  static short getShort(final long at) {
    return ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, at);
  }

  static char getChar(final long at) {
    return ALL.get(ValueLayout.JAVA_CHAR_UNALIGNED, at);
  }

  static int getInt(final long at) {
    return ALL.get(ValueLayout.JAVA_INT_UNALIGNED, at);
  }

  static long getLong(final long at) {
    return ALL.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
  }

  static float getFloat(final long at) {
    return ALL.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
  }

  static double getDouble(final long at) {
    return ALL.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
  }

  static void fill(final long at, final long bytes, final byte value) {
    ALL.asSlice(at, bytes).fill(value);
  }

  static void move(final long from, final long to, final long bytes) {
    MemorySegment.copy(ALL, from, ALL, to, bytes);
  }

  /** Short arrays by words: a call would take longer. */
  private static void words(final MemorySegment from, final long bytes, final long to) {
    long at = 0;
    for (; at + 32 <= bytes; at += 32) {
      final long one = from.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
      final long two = from.get(ValueLayout.JAVA_LONG_UNALIGNED, at + 8);
      final long three = from.get(ValueLayout.JAVA_LONG_UNALIGNED, at + 16);
      final long four = from.get(ValueLayout.JAVA_LONG_UNALIGNED, at + 24);
      putLong(to + at, one);
      putLong(to + at + 8, two);
      putLong(to + at + 16, three);
      putLong(to + at + 24, four);
    }
    for (; at + 8 <= bytes; at += 8) {
      putLong(to + at, from.get(ValueLayout.JAVA_LONG_UNALIGNED, at));
    }
    for (; at < bytes; at++) {
      putByte(to + at, from.get(ValueLayout.JAVA_BYTE, at));
    }
  }

  static void copy(final byte[] from, final int length, final long to) {
    MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_BYTE, to, length);
  }

  static void copy(final short[] from, final int length, final long to) {
    if (length <= SHORT_BYTES_MAX >> 1) {
      words(MemorySegment.ofArray(from), (long) length << 1, to);
    } else {
      MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_SHORT_UNALIGNED, to, length);
    }
  }

  static void copy(final char[] from, final int length, final long to) {
    if (length <= SHORT_BYTES_MAX >> 1) {
      words(MemorySegment.ofArray(from), (long) length << 1, to);
    } else {
      MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_CHAR_UNALIGNED, to, length);
    }
  }

  static void copy(final int[] from, final int length, final long to) {
    if (length <= SHORT_BYTES_MAX >> 2) {
      words(MemorySegment.ofArray(from), (long) length << 2, to);
    } else {
      MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_INT_UNALIGNED, to, length);
    }
  }

  static void copy(final long[] from, final int length, final long to) {
    if (length <= SHORT_BYTES_MAX >> 3) {
      words(MemorySegment.ofArray(from), (long) length << 3, to);
    } else {
      MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_LONG_UNALIGNED, to, length);
    }
  }

  static void copy(final float[] from, final int length, final long to) {
    if (length <= SHORT_BYTES_MAX >> 2) {
      words(MemorySegment.ofArray(from), (long) length << 2, to);
    } else {
      MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_FLOAT_UNALIGNED, to, length);
    }
  }

  static void copy(final double[] from, final int length, final long to) {
    if (length <= SHORT_BYTES_MAX >> 3) {
      words(MemorySegment.ofArray(from), (long) length << 3, to);
    } else {
      MemorySegment.copy(from, 0, ALL, ValueLayout.JAVA_DOUBLE_UNALIGNED, to, length);
    }
  }

  static void copy(final long from, final byte[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_BYTE, from, to, 0, length);
  }

  static void copy(final long from, final short[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_SHORT_UNALIGNED, from, to, 0, length);
  }

  static void copy(final long from, final char[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_CHAR_UNALIGNED, from, to, 0, length);
  }

  static void copy(final long from, final int[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_INT_UNALIGNED, from, to, 0, length);
  }

  static void copy(final long from, final long[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_LONG_UNALIGNED, from, to, 0, length);
  }

  static void copy(final long from, final float[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_FLOAT_UNALIGNED, from, to, 0, length);
  }

  static void copy(final long from, final double[] to, final int length) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_DOUBLE_UNALIGNED, from, to, 0, length);
  }

  /**
   * Writes a text as UTF-8.
   *
   * <p>The JDK copies a string whose bytes are all ASCII directly; it does not return how many
   * bytes it wrote, but if the first bytes, as many as there are characters, are all ASCII, then
   * that is the number.
   *
   * @return the address after it, or -1 if it does not fit before {@code limit}; then nothing was
   * written
   */
  static long putUtf8(final String text, final long at, final long limit) {
    final int length = text.length();
    // The JDK writes a NUL after it.
    if (limit - at > 3L * length) {
      ALL.setString(at, text, StandardCharsets.UTF_8);
      if (isAscii(at, length)) {
        return at + length;
      }
    }
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > limit - at) {
      return -1;
    }
    copy(bytes, bytes.length, at);
    return at + bytes.length;
  }

  private static boolean isAscii(final long at, final int length) {
    long seen = 0;
    int done = 0;
    for (; done + Long.BYTES <= length; done += Long.BYTES) {
      seen |= getLong(at + done);
    }
    for (; done < length; done++) {
      seen |= getByte(at + done);
    }
    return (seen & NOT_ASCII) == 0;
  }
}
