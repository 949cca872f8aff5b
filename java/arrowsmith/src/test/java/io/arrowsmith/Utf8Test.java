// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** What is not UTF-8, anywhere in a buffer. */
class Utf8Test {
  private static ByteBuffer direct(final byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  @Test
  void theFirstBrokenByte() {
    final byte[] bytes = "é日本語😀 and more ASCII, é".repeat(20).getBytes(StandardCharsets.UTF_8);
    assertEquals(bytes.length, Utf8.end(direct(bytes), 0, bytes.length));
    for (int at = 0; at < bytes.length; at++) {
      final byte[] broken = bytes.clone();
      broken[at] = (byte) 0xff;
      // The start of the character that the byte is in.
      int start = at;
      while ((bytes[start] & 0xc0) == 0x80) {
        start--;
      }
      assertEquals(start, Utf8.end(direct(broken), 0, bytes.length));
      assertEquals(start, Utf8.end(direct(bytes), 0, at));
    }
    final ByteBuffer moved = direct(bytes).position(7);
    assertEquals(5, Utf8.end(moved, 2, 5));
    assertEquals(3, Utf8.end(moved, 3, 5));
    assertEquals(4, Utf8.end(moved, 4, 4));
  }

  @Test
  void whatIsNotThere() {
    final ByteBuffer text = direct(new byte[4]);
    assertThrows(IndexOutOfBoundsException.class, () -> Utf8.end(text, 0, 5));
    assertThrows(IndexOutOfBoundsException.class, () -> Utf8.end(text, -1, 4));
    assertThrows(IndexOutOfBoundsException.class, () -> Utf8.end(text, 3, 2));
    assertThrows(IllegalArgumentException.class, () -> Utf8.end(ByteBuffer.allocate(4), 0, 4));
  }
}
