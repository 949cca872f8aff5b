// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Objects;

/** Checks of text in memory outside of the heap. */
public final class NativeText {
  private NativeText() {}

  /**
   * The first byte that is not UTF-8.
   *
   * @param text a direct buffer
   * @param from the first byte to look at
   * @param to the end of what is looked at
   * @return its index, or {@code to}
   */
  public static int utf8End(final ByteBuffer text, final int from, final int to) {
    Objects.checkFromToIndex(from, to, text.limit());
    // The address is that of the position.
    final long start = Mem.address(text) - text.position();
    final long prefix = Natives.utf8Prefix(start + from, to - from);
    Reference.reachabilityFence(text);
    return from + (int) prefix;
  }
}
