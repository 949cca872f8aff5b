// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import sun.misc.Unsafe;

/** Rows of a batch; that they are Spark's to the byte is tested with Spark. */
class SparkRowsTest {
  private static final int CHILDREN = 48;

  @TempDir Path folder;

  private static long word(final long at) {
    try {
      final Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return ((Unsafe) field.get(null)).getLong(at);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  private static long[] columns(final JsonBatches batches) {
    final long children = word(batches.array() + CHILDREN);
    return new long[] {
      SparkRows.BYTES_8, 0, word(children), SparkRows.TEXT, 0, word(children + Long.BYTES)
    };
  }

  @Test
  void rowsOfAnyLength() throws IOException {
    final String text = "x".repeat(2_000_000);
    final String lines = "{\"a\":7,\"s\":\"abc\"}\n{}\n{\"a\":-1,\"s\":\"" + text + "\"}\n";
    final Path path = Files.writeString(folder.resolve("a.json"), lines);
    final Map<String, ?> options = Map.of("schema", "a: int64, s: utf8", "threads", 1);
    try (JsonBatches batches = JsonBatches.open(path, options);
        SparkRows rows = new SparkRows()) {
      assertTrue(batches.next());
      final long[] columns = columns(batches);
      assertEquals(2, rows.write(columns, 0, 2));
      assertEquals(32, rows.bytes(0));
      assertEquals(rows.address(0) + 32, rows.address(1));
      assertEquals(24, rows.bytes(1));
      assertEquals(0, word(rows.address(0)));
      assertEquals(7, word(rows.address(0) + 8));
      assertEquals(24L << 32 | 3, word(rows.address(0) + 16));
      assertEquals('a' | 'b' << 8 | 'c' << 16, word(rows.address(0) + 24));
      assertEquals(3, word(rows.address(1)));
      assertEquals(1, rows.write(columns, 1, 1));
      assertEquals(3, word(rows.address(0)));
      assertThrows(IllegalArgumentException.class, () -> rows.write(new long[] {99, 0, 0}, 0, 1));
      assertThrows(IllegalArgumentException.class, () -> rows.write(columns, 1, 2));
      // The text is too long for that batch.
      assertTrue(batches.next());
      assertEquals(1, rows.write(columns(batches), 0, 1));
      assertEquals(24 + text.length(), rows.bytes(0));
      assertEquals(24L << 32 | text.length(), word(rows.address(0) + 16));
    }
  }

  @Test
  void columnsOfNulls() throws IOException {
    try (SparkRows rows = new SparkRows()) {
      final long[] columns = {SparkRows.STRUCT, 0, 0, SparkRows.DECIMAL, 0, 0};
      assertEquals(2, rows.write(columns, 0, 2));
      assertEquals(40, rows.bytes(1));
      assertEquals(3, word(rows.address(1)));
      assertEquals(24L << 32, word(rows.address(1) + 16));
    }
  }
}
