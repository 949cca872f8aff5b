// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Batches by address, errors, and gauges that return to where they were. */
class ParquetBatchesTest {
  /** {@code a: int64, b: utf8} with the rows {@code 1, x} and {@code 2, null}. */
  private static final String TWO_ROWS =
      "UEFSMRUAFSAVICwVBBUKFQYVBgAAAgAAAAMDgAEEAgICAAAAABUAFRYVFiwVBBUAFQYVBgAAAgAA"
          + "AAMBAQAAAHgZEgIZGAgBAAAAAAAAABkYCAIAAAAAAAAAFQIZFgApJgAEABkSAhkYAXgZGAF4FQIZ"
          + "FgIpJgICABkcFggVQhYAAAAZHBZKFTgWAAAZFgIAFQIZPEgMYXJyb3dfc2NoZW1hFQQAFQQlAhgB"
          + "YQAVDCUCGAFiJQBMHAAAABYEGRwZLCYAHBUEGSUGChkYAWEVABYEFkIWQiYIPBgIAgAAAAAAAAAY"
          + "CAEAAAAAAAAAFgAoCAIAAAAAAAAAGAgBAAAAAAAAABERABkcFQAVChUCADw5JgAEAAAW8gEVFBaC"
          + "ARVGACYAHBUMGSUABhkYAWIVABYEFjgWOCZKPDYCKAF4GAF4EREAGRwVABUAFQIAPBYCKSYCAgAA"
          + "FoYCFRoWyAEVKgAWehYEJggWehQAABkcGAxBUlJPVzpzY2hlbWEY6AEvLy8vLzZRQUFBQVFBQUFB"
          + "QUFBS0FBd0FDZ0FKQUFRQUNnQUFBQkFBQUFBQUFRUUFDQUFJQUFBQUJBQUlBQUFBQkFBQUFBSUFB"
          + "QUJBQUFBQUJBQUFBTmovLy84WUFBQUFEQUFBQUFBQUFRVVFBQUFBQUFBQUFBUUFCQUFFQUFBQUFR"
          + "QUFBR0lBQUFBUUFCUUFFQUFPQUE4QUJBQUFBQWdBRUFBQUFCZ0FBQUFnQUFBQUFBQUJBaHdBQUFB"
          + "SUFBd0FCQUFMQUFnQUFBQkFBQUFBQUFBQUFRQUFBQUFCQUFBQVlRQUFBQT09ABgYYXJyb3dzbWl0"
          + "aCB2ZXJzaW9uIDAuMS4wGSwcAAAcAAAA+wEAAFBBUjE=";

  @TempDir Path folder;

  private Path file() throws IOException {
    return Files.write(folder.resolve("a.parquet"), Base64.getDecoder().decode(TWO_ROWS));
  }

  @Test
  void aBatchIsReleasedByTheNextCall() throws IOException {
    final long readers = JsonBatches.liveReaders();
    final long bytes = JsonBatches.liveBytes();
    final Map<String, ?> options =
        Map.of("columns", List.of("b", "a"), "row_groups", List.of(0), "threads", 1);
    final ParquetBatches batches = ParquetBatches.open(file(), options);
    assertEquals(readers + 1, JsonBatches.liveReaders());
    assertEquals(0, batches.array());
    assertTrue(batches.next());
    assertNotEquals(0, batches.array());
    assertFalse(batches.next());
    assertEquals(0, batches.array());
    batches.close();
    batches.close();
    assertFalse(batches.next());
    assertEquals(readers, JsonBatches.liveReaders());
    assertEquals(bytes, JsonBatches.liveBytes());
  }

  @Test
  void errorsAreThoseOfTheReader() throws IOException {
    final long readers = JsonBatches.liveReaders();
    final Path good = file();
    final Path bad = Files.write(folder.resolve("b.parquet"), new byte[50]);
    assertThrows(IOException.class, () -> ParquetBatches.open(folder.resolve("no"), Map.of()));
    assertThrows(FileException.class, () -> ParquetBatches.open(bad, Map.of()));
    for (final Map<String, ?> options :
        List.of(Map.of("columns", List.of("c")), Map.of("row_groups", List.of(1)), Map.of("x", 1))) {
      assertThrows(IllegalArgumentException.class, () -> ParquetBatches.open(good, options));
    }
    assertEquals(readers, JsonBatches.liveReaders());
  }
}
