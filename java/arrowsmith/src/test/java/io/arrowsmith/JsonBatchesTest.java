// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Batches by address, rejects of any number, and gauges that return to where they were. */
class JsonBatchesTest {
  @TempDir Path folder;

  private Path file(final String text) throws IOException {
    return Files.write(folder.resolve("a.json"), text.getBytes(StandardCharsets.UTF_8));
  }

  private static Map<String, Object> options() {
    final Map<String, Object> options = new HashMap<>();
    options.put("schema", "a: int64");
    options.put("threads", 1);
    options.put("on_error", "skip");
    options.put("rejects", "lines");
    return options;
  }

  @Test
  void noRejectIsLost() throws IOException {
    final int count = 150_000;
    final Path path = file(" 7 \n".repeat(count) + "{\"a\":1}\n");
    final long readers = JsonBatches.liveReaders();
    final long bytes = JsonBatches.liveBytes();
    int rows = 0;
    long rejects = 0;
    try (JsonBatches batches = JsonBatches.open(path, options())) {
      assertEquals(readers + 1, JsonBatches.liveReaders());
      while (batches.next()) {
        RejectedRecord reject;
        while ((reject = batches.reject()) != null) {
          assertEquals(rejects++, reject.number());
          assertEquals(" 7 ", new String(reject.text(), StandardCharsets.UTF_8));
        }
        rows += batches.array() == 0 ? 0 : 1;
      }
      assertEquals(0, batches.array());
      assertFalse(batches.next());
    }
    assertEquals(1, rows);
    assertEquals(count, rejects);
    assertEquals(readers, JsonBatches.liveReaders());
    assertEquals(bytes, JsonBatches.liveBytes());
  }

  @Test
  void aBatchIsReleasedByTheNextCall() throws IOException {
    final Path path = file("{\"a\":1}\n{\"a\":2}\n");
    final long bytes = JsonBatches.liveBytes();
    final JsonBatches batches = JsonBatches.open(path, options());
    assertTrue(batches.next());
    assertNotEquals(0, batches.array());
    assertNull(batches.reject());
    batches.close();
    batches.close();
    assertEquals(0, batches.array());
    assertFalse(batches.next());
    assertNull(batches.reject());
    assertEquals(bytes, JsonBatches.liveBytes());
  }

  @Test
  void errorsAreExceptions() throws IOException {
    assertThrows(
        IllegalArgumentException.class, () -> JsonBatches.open(file("{}"), Map.of("thread", 1)));
    final var infinite =
        assertThrows(
            IllegalArgumentException.class,
            () -> JsonBatches.open(file("{}"), Map.of("batch_rows", Double.NaN)));
    assertTrue(infinite.getMessage().contains("batch_rows"), infinite.getMessage());
    final Map<String, Object> options = options();
    options.put("refuse_lone_cr", true);
    try (JsonBatches batches = JsonBatches.open(file("{}\n{\r}"), options)) {
      final DataException error = assertThrows(DataException.class, batches::next);
      assertEquals("a lone carriage return", error.found());
      assertEquals(4, error.offset());
    }
    final long readers = JsonBatches.liveReaders();
    try (JsonBatches batches = JsonBatches.open(folder.resolve("no"), options())) {
      assertThrows(java.nio.file.NoSuchFileException.class, batches::next);
    }
    assertEquals(readers, JsonBatches.liveReaders());
  }
}
