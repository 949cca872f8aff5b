// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeKinds;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The kinds of values at every place of JSON records: for programs that choose types by rules of
 * their own, such as query engines. Arrow Java is not used.
 */
public final class JsonKinds {
  private JsonKinds() {}

  /**
   * Reads lines, with a record each; the last may lack its line feed.
   *
   * @param lines what remains in a direct buffer; its position stays
   * @return the JSON text that {@code arrowsmith_json_kinds} in {@code arrowsmith.h} describes:
   * {@code {"read": 11, "left": [8], "kinds": {"seen": ["object"], "fields": {…}}}}
   * @throws IOException if there is no native memory
   * @throws IllegalArgumentException if the buffer is not direct
   */
  public static String of(final ByteBuffer lines) throws IOException {
    if (!lines.isDirect()) {
      throw new IllegalArgumentException("the buffer is not direct");
    }
    return NativeKinds.of(lines);
  }
}
