// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import sun.misc.Unsafe;

/**
 * Off-heap memory, by address, for JDK 17 to 21: with {@code sun.misc.Unsafe}, as in Arrow Java.
 * From JDK 22 on the class of the same name under {@code META-INF/versions/22} replaces it. Callers
 * check every bound.
 */
final class Mem {
  private static final Unsafe UNSAFE = unsafe();

  /** Where a direct buffer has its address. */
  private static final long ADDRESS = addressOffset();

  /** Maximum length of arrays that are copied word by word. */
  private static final long SHORT_BYTES_MAX = 128;

  private Mem() {}

  private static Unsafe unsafe() {
    try {
      final Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static long addressOffset() {
    try {
      return UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField("address"));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The address of the first byte that remains in a direct buffer, valid while it is reachable. */
  static long address(final ByteBuffer direct) {
    return UNSAFE.getLong(direct, ADDRESS) + direct.position();
  }

  static void putByte(final long at, final byte value) {
    UNSAFE.putByte(at, value);
  }

  static void putShort(final long at, final short value) {
    UNSAFE.putShort(at, value);
  }

  static void putChar(final long at, final char value) {
    UNSAFE.putChar(at, value);
  }

  static void putInt(final long at, final int value) {
    UNSAFE.putInt(at, value);
  }

  static void putLong(final long at, final long value) {
    UNSAFE.putLong(at, value);
  }

  static void putFloat(final long at, final float value) {
    UNSAFE.putFloat(at, value);
  }

  static void putDouble(final long at, final double value) {
    UNSAFE.putDouble(at, value);
  }

  static byte getByte(final long at) {
    return UNSAFE.getByte(at);
  }

  static short getShort(final long at) {
    return UNSAFE.getShort(at);
  }

  static char getChar(final long at) {
    return UNSAFE.getChar(at);
  }

  static int getInt(final long at) {
    return UNSAFE.getInt(at);
  }

  static long getLong(final long at) {
    return UNSAFE.getLong(at);
  }

  static float getFloat(final long at) {
    return UNSAFE.getFloat(at);
  }

  static double getDouble(final long at) {
    return UNSAFE.getDouble(at);
  }

  static void fill(final long at, final long bytes, final byte value) {
    UNSAFE.setMemory(at, bytes, value);
  }

  static void move(final long from, final long to, final long bytes) {
    UNSAFE.copyMemory(from, to, bytes);
  }

  /** Short arrays by words: a call would take longer. */
  private static void copy(final Object from, final long base, final long bytes, final long to) {
    if (bytes > SHORT_BYTES_MAX) {
      UNSAFE.copyMemory(from, base, null, to, bytes);
      return;
    }
    long at = 0;
    for (; at + 32 <= bytes; at += 32) {
      final long one = UNSAFE.getLong(from, base + at);
      final long two = UNSAFE.getLong(from, base + at + 8);
      final long three = UNSAFE.getLong(from, base + at + 16);
      final long four = UNSAFE.getLong(from, base + at + 24);
      UNSAFE.putLong(to + at, one);
      UNSAFE.putLong(to + at + 8, two);
      UNSAFE.putLong(to + at + 16, three);
      UNSAFE.putLong(to + at + 24, four);
    }
    for (; at + 8 <= bytes; at += 8) {
      UNSAFE.putLong(to + at, UNSAFE.getLong(from, base + at));
    }
    for (; at < bytes; at++) {
      UNSAFE.putByte(to + at, UNSAFE.getByte(from, base + at));
    }
  }

  static void copy(final byte[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_BYTE_BASE_OFFSET, length, to);
  }

  static void copy(final short[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_SHORT_BASE_OFFSET, (long) length << 1, to);
  }

  static void copy(final char[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_CHAR_BASE_OFFSET, (long) length << 1, to);
  }

  static void copy(final int[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_INT_BASE_OFFSET, (long) length << 2, to);
  }

  static void copy(final float[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_FLOAT_BASE_OFFSET, (long) length << 2, to);
  }

  static void copy(final long[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_LONG_BASE_OFFSET, (long) length << 3, to);
  }

  static void copy(final double[] from, final int length, final long to) {
    copy(from, Unsafe.ARRAY_DOUBLE_BASE_OFFSET, (long) length << 3, to);
  }

  static void copy(final long from, final byte[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_BYTE_BASE_OFFSET, length);
  }

  static void copy(final long from, final short[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_SHORT_BASE_OFFSET, (long) length << 1);
  }

  static void copy(final long from, final char[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_CHAR_BASE_OFFSET, (long) length << 1);
  }

  static void copy(final long from, final int[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_INT_BASE_OFFSET, (long) length << 2);
  }

  static void copy(final long from, final float[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_FLOAT_BASE_OFFSET, (long) length << 2);
  }

  static void copy(final long from, final long[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_LONG_BASE_OFFSET, (long) length << 3);
  }

  static void copy(final long from, final double[] to, final int length) {
    UNSAFE.copyMemory(null, from, to, Unsafe.ARRAY_DOUBLE_BASE_OFFSET, (long) length << 3);
  }

  /**
   * Writes a text as UTF-8.
   *
   * @return the address after it, or -1 if it does not fit before {@code limit}; then nothing was
   * written
   */
  static long putUtf8(final String text, final long at, final long limit) {
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > limit - at) {
      return -1;
    }
    copy(bytes, bytes.length, at);
    return at + bytes.length;
  }
}
