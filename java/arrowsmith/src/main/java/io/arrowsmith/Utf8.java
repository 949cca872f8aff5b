// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeText;
import java.nio.ByteBuffer;

/** Finds what is not UTF-8, at the speed of memory. Arrow Java is not used. */
public final class Utf8 {
  private Utf8() {}

  /**
   * The first byte that is not UTF-8; a character that is cut short by the end is none.
   *
   * @param text a direct buffer, whose position does not count
   * @param from the first byte to look at
   * @param to the end of what is looked at, at most the limit of the buffer
   * @return its index, or {@code to}
   * @throws IllegalArgumentException if the buffer is not direct
   * @throws IndexOutOfBoundsException if there are no such bytes
   */
  public static int end(final ByteBuffer text, final int from, final int to) {
    if (!text.isDirect()) {
      throw new IllegalArgumentException("the buffer is not direct");
    }
    return NativeText.utf8End(text, from, to);
  }
}
