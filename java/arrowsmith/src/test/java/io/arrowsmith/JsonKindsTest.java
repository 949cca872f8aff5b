// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Kinds of values in lines, which are a part of a buffer. */
class JsonKindsTest {
  private static String kinds(final String before, final String lines, final String after)
      throws IOException {
    final byte[] all = (before + lines + after).getBytes(StandardCharsets.UTF_8);
    final ByteBuffer buffer = ByteBuffer.allocateDirect(all.length).put(all).flip();
    buffer.position(before.getBytes(StandardCharsets.UTF_8).length);
    buffer.limit(buffer.limit() - after.getBytes(StandardCharsets.UTF_8).length);
    final String kinds = JsonKinds.of(buffer);
    assertEquals(lines.getBytes(StandardCharsets.UTF_8).length, buffer.remaining());
    return kinds;
  }

  @Test
  void whatRemainsInABufferIsRead() throws IOException {
    final String expected =
        "{\"read\":32,\"left\":[30],\"kinds\":{\"seen\":[\"object\"],\"fields\":{"
            + "\"é\":{\"seen\":[\"integer\",\"list\"],\"items\":{\"seen\":[\"string\"]}},"
            + "\"b\":{\"seen\":[\"float\"]}}}}";
    final String lines = "{\"é\":1}\n{\"é\":[\"x\"],\"b\":2.5}\nno";
    assertEquals(expected, kinds("", lines, ""));
    assertEquals(expected, kinds("{\"x\":1}\n", lines, "}{\n"));
    assertEquals("{\"read\":0,\"left\":[],\"kinds\":{\"seen\":[]}}", kinds("x", "", "y"));
  }

  @Test
  void onlyDirectBuffersAreRead() {
    assertThrows(IllegalArgumentException.class, () -> JsonKinds.of(ByteBuffer.allocate(8)));
  }
}
