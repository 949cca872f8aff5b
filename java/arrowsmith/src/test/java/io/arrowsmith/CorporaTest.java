// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Third-party files: for any content, a reader ends with rows or an exception, and frees its
 * memory. With {@code -Darrowsmith.cli=FILE} its result is compared with the command's output for
 * the same files.
 */
class CorporaTest {
  @TempDir Path folder;

  private static List<Path> files(final String... endings) throws IOException {
    final Path corpora =
        Path.of(System.getProperty("arrowsmith.corpora", "../../../shared/corpora"));
    assumeTrue(Files.isDirectory(corpora), "there are no corpora at " + corpora.toAbsolutePath());
    try (Stream<Path> all = Files.walk(corpora)) {
      return all.filter(Files::isRegularFile)
          .filter(file -> Stream.of(endings).anyMatch(file.toString()::endsWith))
          .sorted()
          .toList();
    }
  }

  private static ArrowReader open(final BufferAllocator allocator, final Path file) throws IOException {
    return file.toString().endsWith("json")
        ? JsonReader.builder().threads(1).open(allocator, Input.path(file))
        : ParquetReader.builder().threads(1).open(allocator, Input.path(file));
  }

  private static void readAll(final List<Path> files) throws IOException {
    long good = 0;
    for (final Path file : files) {
      try (BufferAllocator allocator = new RootAllocator()) {
        try (ArrowReader reader = open(allocator, file)) {
          while (reader.loadNextBatch()) {
            final VectorSchemaRoot root = reader.getVectorSchemaRoot();
            if (root.getRowCount() > 0) {
              Oracle.row(root, 0);
              Oracle.row(root, root.getRowCount() - 1);
            }
          }
          good++;
        } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
          // UnsupportedOperationException: types that Arrow Java does not support.
          assertTrue(e.getMessage() != null && !e.getMessage().isEmpty(), file + " gave no reason");
        }
        assertEquals(0, allocator.getAllocatedMemory(), file.toString());
      }
    }
    assertTrue(good * 3 > files.size(), good + " of " + files.size() + " could be read");
  }

  @Test
  void everyJsonFile() throws IOException {
    readAll(files(".json", ".ndjson"));
  }

  @Test
  void everyParquetFile() throws IOException {
    readAll(files(".parquet"));
  }

  /** The command's output for a file, or null if it refuses it. */
  private Path converted(final String cli, final Path file, final int number) throws Exception {
    final Path out = folder.resolve(number + ".arrow");
    final Process process =
        new ProcessBuilder(cli, "convert", file.toString(), "-o", out.toString(), "--threads", "1")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return process.exitValue() == 0 ? out : null;
  }

  @Test
  void equalToWhatTheCommandReads() throws Exception {
    final String cli = System.getProperty("arrowsmith.cli", "");
    assumeTrue(!cli.isEmpty(), "-Darrowsmith.cli names no command");
    int number = 0;
    int compared = 0;
    for (final Path file : files(".parquet", ".json", ".ndjson")) {
      // One in this many: all of them take minutes.
      if (number++ % Integer.getInteger("arrowsmith.corpora.every", 20) != 0 || Files.size(file) > 4 << 20) {
        continue;
      }
      final Path written = converted(cli, file, number);
      if (written != null && compare(file, written)) {
        compared++;
      }
      if (written != null) {
        Files.delete(written);
      }
    }
    assertTrue(compared > 20, compared + " files were compared");
  }

  private static boolean compare(final Path file, final Path written) throws IOException {
    try (BufferAllocator allocator = new RootAllocator();
        ArrowFileReader theirs = new ArrowFileReader(FileChannel.open(written), allocator);
        ArrowReader ours = open(allocator, file)) {
      final List<List<Object>> rows = new ArrayList<>();
      rows.add(rows(theirs));
      rows.add(rows(ours));
      assertEquals(rows.get(0), rows.get(1), file.toString());
      return true;
    } catch (UnsupportedOperationException | IllegalArgumentException e) {
      // Types that Arrow Java does not support, in one of its two readers.
      return false;
    }
  }

  private static List<Object> rows(final ArrowReader reader) throws IOException {
    final List<Object> rows = new ArrayList<>();
    while (reader.loadNextBatch()) {
      final VectorSchemaRoot root = reader.getVectorSchemaRoot();
      for (int row = 0; row < root.getRowCount(); row++) {
        rows.add(Oracle.row(root, row));
      }
    }
    rows.add(reader.getVectorSchemaRoot().getSchema().getFields().stream().map(f -> f.getName()).toList());
    return rows;
  }
}
