// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The kinds of values in lines of JSON, as the native library's text. */
public final class NativeKinds {
  private NativeKinds() {}

  /**
   * Reads lines.
   *
   * @param lines what remains in a direct buffer
   * @return JSON text
   * @throws IOException if there is no native memory
   */
  public static String of(final ByteBuffer lines) throws IOException {
    // The length of the text, and the address of an error.
    final long results = Natives.newBuffer(2L * Long.BYTES);
    if (results == 0) {
      throw new OutOfMemoryError("no native memory");
    }
    final long error = results + Long.BYTES;
    try {
      Mem.putLong(error, 0);
      final long text = Natives.jsonKinds(Mem.address(lines), lines.remaining(), results, error);
      if (text == 0) {
        throw Failure.take(Mem.getLong(error));
      }
      try {
        final byte[] bytes = new byte[Math.toIntExact(Mem.getLong(results))];
        Mem.copy(text, bytes, bytes.length);
        return new String(bytes, StandardCharsets.UTF_8);
      } finally {
        Natives.freeBuffer(text);
      }
    } finally {
      Reference.reachabilityFence(lines);
      Natives.freeBuffer(results);
    }
  }
}
