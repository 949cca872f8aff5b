// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Streams: in pieces, endless, failing, hanging, abandoned in the middle; and Parquet from streams.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StreamsTest {
  private static final int PAGE_BYTES = 1 << 16;

  private final BufferAllocator allocator = new RootAllocator();

  @AfterEach
  void memoryIsReturned() {
    allocator.close();
  }

  /** A stream that counts its bytes, and records when it is closed. */
  private abstract static class Source extends InputStream {
    volatile long given;
    volatile boolean closed;

    /** Fills the start of a piece. */
    abstract int next(byte[] piece, int from, int length) throws IOException;

    @Override
    public int read() throws IOException {
      final byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0];
    }

    @Override
    public int read(final byte[] piece, final int from, final int length) throws IOException {
      final int count = next(piece, from, length);
      given += Math.max(0, count);
      return count;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  /** Bytes in pieces of random lengths, followed by a given ending. */
  private static Source pieces(final byte[] bytes, final int longest, final IOException end) {
    final Random random = new Random(bytes.length);
    return new Source() {
      @Override
      int next(final byte[] piece, final int from, final int length) throws IOException {
        final int left = bytes.length - (int) given;
        if (left == 0 && end != null) {
          throw end;
        }
        if (left == 0) {
          return -1;
        }
        final int count = Math.min(Math.min(left, length), 1 + random.nextInt(longest));
        System.arraycopy(bytes, (int) given, piece, from, count);
        return count;
      }
    };
  }

  private static byte[] records(final int count, final String last) {
    final StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append("{\"a\":").append(i).append(",\"s\":\"ü").append("x".repeat(i % 50)).append("\"}\n");
    }
    return text.append(last).toString().getBytes(StandardCharsets.UTF_8);
  }

  private static List<Object> rows(final ArrowReader reader) throws IOException {
    final List<Object> rows = new ArrayList<>();
    try (reader) {
      while (reader.loadNextBatch()) {
        final VectorSchemaRoot root = reader.getVectorSchemaRoot();
        for (int row = 0; row < root.getRowCount(); row++) {
          rows.add(Oracle.row(root, row));
        }
      }
    }
    return rows;
  }

  private static byte[] packed(final byte[] bytes) throws IOException {
    final ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(bytes);
    }
    return packed.toByteArray();
  }

  @Test
  void whatIsReadIsWhatIsInMemory() throws IOException {
    final byte[] json = records(30_000, "");
    final List<Object> expected = rows(JsonReader.builder().open(allocator, Input.bytes(json)));
    assertEquals(30_000, expected.size());
    for (final int threads : new int[] {1, 3}) {
      for (final int longest : new int[] {7, 5_000, 1 << 20}) {
        final Source source = pieces(json, longest, null);
        final JsonReader builder = JsonReader.builder().threads(threads);
        assertEquals(expected, rows(builder.open(allocator, Input.stream(source))));
        assertFalse(source.closed, "it stays open");
        final Input gzip = Input.stream(pieces(packed(json), longest, null));
        assertEquals(expected, rows(builder.open(allocator, gzip)));
      }
    }
    final Input[] several = {
      Input.stream(pieces(json, 100, null)), Input.bytes(json), Input.stream(new ByteArrayInputStream(json))
    };
    assertEquals(90_000, rows(JsonReader.builder().open(allocator, several)).size());
    assertEquals(
        "Schema<a: Int(64, true), s: Utf8>",
        JsonReader.builder().inferSchema(allocator, Input.stream(pieces(json, 100, null))).toString());
    final Input nothing = Input.stream(InputStream.nullInputStream());
    assertEquals(List.of(), rows(JsonReader.builder().schema("a: int64").open(allocator, nothing)));
    assertThrows(
        IllegalArgumentException.class,
        () -> JsonReader.builder().threads(0).open(allocator, Input.stream(pieces(json, 100, null))));
  }

  /** Endless: the amount read stays close to the amount requested. */
  @Test
  void streamsNeedNoEnd() throws Exception {
    final byte[] page = records(1_000, "");
    for (final int threads : new int[] {1, 2}) {
      final Source endless =
          new Source() {
            @Override
            int next(final byte[] piece, final int from, final int length) {
              final int at = (int) (given % page.length);
              final int count = Math.min(length, page.length - at);
              System.arraycopy(page, at, piece, from, count);
              return count;
            }
          };
      final long memory = 8 << 20;
      final ArrowReader reader =
          JsonReader.builder()
              .schema("a: int64, s: utf8")
              .threads(threads)
              .memoryBytesMax(memory)
              .open(allocator, Input.stream(endless));
      long rows = 0;
      while (rows < 1_000_000) {
        assertTrue(reader.loadNextBatch());
        rows += reader.getVectorSchemaRoot().getRowCount();
      }
      // Long enough for a thread that does not wait to go on.
      Thread.sleep(300);
      final long asked = rows * page.length / 1_000;
      assertTrue(endless.given >= asked);
      // Data decoded ahead, a MiB in the stream, and a piece.
      assertTrue(endless.given < asked + memory + (3 << 20), endless.given + " of " + asked);
      reader.close();
      assertFalse(endless.closed);
      final long before = endless.given;
      Thread.sleep(100);
      assertTrue(endless.given <= before + PAGE_BYTES, "it is read on after the reader was closed");
    }
  }

  /** Such a stream breaks the contract of {@link InputStream}; the thread never ended. */
  @Test
  void nothingIsReadByTheByte() throws IOException {
    final byte[] text = records(100, "");
    final InputStream lazy =
        new ByteArrayInputStream(text) {
          @Override
          public int read(final byte[] piece, final int from, final int length) {
            return 0;
          }
        };
    int rows = 0;
    try (ArrowReader reader = JsonReader.builder().open(allocator, Input.stream(lazy))) {
      while (reader.loadNextBatch()) {
        rows += reader.getVectorSchemaRoot().getRowCount();
      }
    }
    assertEquals(100, rows);
  }

  @Test
  void errorsSayWhereInTheWholeStream() {
    final byte[] json = records(50_000, "{\"a\":[]}\n");
    final List<DataException> errors = new ArrayList<>();
    for (final Input input : List.of(Input.bytes(json), Input.stream(pieces(json, 9_000, null)))) {
      errors.add(
          assertThrows(
              DataException.class,
              () -> rows(JsonReader.builder().schema("a: int64, s: utf8").open(allocator, input))));
    }
    assertEquals(50_000, errors.get(1).record());
    assertEquals(50_001, errors.get(1).line());
    assertEquals(errors.get(0).offset(), errors.get(1).offset());
    assertEquals(errors.get(0).getMessage(), errors.get(1).getMessage());
    assertNull(errors.get(1).source());
  }

  @Test
  void whatTheStreamThrowsComesAfterTheRowsBefore() throws IOException {
    for (final int threads : new int[] {1, 2}) {
      final EOFException cut = new EOFException("the line was cut");
      final Input input = Input.stream(pieces(records(20_000, "{\"a\":"), 3_000, cut));
      long rows = 0;
      try (ArrowReader reader =
          JsonReader.builder().schema("a: int64, s: utf8").threads(threads).open(allocator, input)) {
        while (true) {
          try {
            assertTrue(reader.loadNextBatch());
            rows += reader.getVectorSchemaRoot().getRowCount();
          } catch (IOException e) {
            assertSame(cut, e);
            break;
          }
        }
      }
      assertEquals(20_000, rows);
    }
    final EOFException atOnce = new EOFException();
    final Input empty = Input.stream(pieces(new byte[0], 1, atOnce));
    assertSame(atOnce, assertThrows(IOException.class, () -> JsonReader.builder().open(allocator, empty)));
    // A stream that violates its contract, and one that throws an undeclared exception.
    final Source liar =
        new Source() {
          @Override
          int next(final byte[] piece, final int from, final int length) {
            return length + 1;
          }
        };
    final var lied =
        assertThrows(IOException.class, () -> JsonReader.builder().open(allocator, Input.stream(liar)));
    assertTrue(lied.getCause() instanceof IndexOutOfBoundsException, lied.toString());
    // The error in the data comes first, though the stream fails too.
    final Input both = Input.stream(pieces(records(9, "nonsense\n{\"a\":1}\n"), 3_000, new EOFException()));
    assertThrows(
        DataException.class,
        () -> rows(JsonReader.builder().schema("a: int64").open(allocator, both)));
  }

  /** A stream that returns some bytes, and then blocks until released. */
  private static Source hanging(final byte[] first, final CountDownLatch hangs, final CountDownLatch goOn) {
    return new Source() {
      @Override
      int next(final byte[] piece, final int from, final int length) throws IOException {
        if (given == 0) {
          System.arraycopy(first, 0, piece, from, first.length);
          return first.length;
        }
        hangs.countDown();
        try {
          goOn.await();
        } catch (InterruptedException e) {
          throw new IOException("interrupted, which may close the underlying stream", e);
        }
        return -1;
      }
    };
  }

  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("arrowsmith-stream"))
        .count();
  }

  @Test
  void closingEndsACallThatWaitsForTheStream() throws Exception {
    for (final int threads : new int[] {1, 2}) {
      for (final boolean gzip : new boolean[] {false, true}) {
        final CountDownLatch hangs = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        final byte[] json = records(100, "");
        final Source source = hanging(gzip ? Arrays.copyOf(packed(json), 300) : json, hangs, goOn);
        final ArrowReader reader =
            JsonReader.builder().schema("a: int64, s: utf8").threads(threads).open(allocator, Input.stream(source));
        final Thread closer =
            new Thread(
                () -> {
                  try {
                    hangs.await();
                    Thread.sleep(50);
                    reader.close();
                  } catch (IOException | InterruptedException e) {
                    throw new AssertionError(e);
                  }
                });
        closer.start();
        assertThrows(
            CancellationException.class,
            () -> {
              while (reader.loadNextBatch()) {}
            });
        closer.join();
        // The stream's own thread is in a read that cannot be interrupted from here; it ends when
        // that returns.
        goOn.countDown();
        assertFalse(source.closed);
        for (int wait = 0; threads() > 0; wait++) {
          assertTrue(wait < 1_000, "the stream's thread goes on");
          Thread.sleep(10);
        }
      }
    }
  }

  @Test
  void noThreadOrMemoryIsLeftOverManyRounds() throws Exception {
    final byte[] json = records(100, "");
    for (int round = 0; round < 600; round++) {
      final Input input = Input.stream(pieces(json, 4_000, round % 3 == 0 ? new EOFException() : null));
      try (ArrowReader reader =
          JsonReader.builder().schema("a: int64, s: utf8").threads(1 + round % 2).open(allocator, input)) {
        if (round % 2 == 0) {
          reader.loadNextBatch();
        }
      } catch (EOFException e) {
        assertEquals(0, round % 3);
      }
    }
    for (int wait = 0; threads() > 0; wait++) {
      assertTrue(wait < 1_000, threads() + " threads are left");
      Thread.sleep(10);
    }
  }

  /**
   * A file of the seeds of the fuzz targets, with this many unreferenced bytes between data and
   * footer.
   */
  private static byte[] parquet(final int more) throws IOException {
    final byte[] file = Files.readAllBytes(Path.of("../../fuzz/seeds/parquet_file/random-6"));
    int footer = 8;
    for (int at = 0; at < 4; at++) {
      footer += (file[file.length - 8 + at] & 0xff) << (8 * at);
    }
    final byte[] longer = Arrays.copyOf(file, file.length + more);
    System.arraycopy(file, file.length - footer, longer, longer.length - footer, footer);
    return longer;
  }

  private static long spilled() throws IOException {
    try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      return files.filter(file -> file.toString().endsWith(".parquet") && file.toString().contains("arrowsmith-")).count();
    }
  }

  @Test
  void parquetIsKeptUntilTheReaderIsClosed() throws IOException {
    final long before = spilled();
    final byte[] small = parquet(0);
    final List<Object> expected = rows(ParquetReader.builder().open(allocator, Input.bytes(small)));
    assertFalse(expected.isEmpty());
    for (final byte[] file : new byte[][] {small, parquet(9 << 20)}) {
      final Source source = pieces(file, 50_000, null);
      final ArrowReader reader = ParquetReader.builder().open(allocator, Input.stream(source));
      assertEquals(file.length > (4 << 20) ? before + 1 : before, spilled());
      assertEquals(expected, rows(reader));
      assertEquals(before, spilled());
      assertFalse(source.closed);
      final var longer =
          assertThrows(
              IOException.class,
              () ->
                  ParquetReader.builder()
                      .streamBytesMax(file.length - 1L)
                      .open(allocator, Input.stream(pieces(file, 50_000, null))));
      assertTrue(longer.getMessage().contains("streamBytesMax"), longer.toString());
      final EOFException cut = new EOFException();
      assertSame(
          cut,
          assertThrows(
              IOException.class,
              () -> ParquetReader.builder().open(allocator, Input.stream(pieces(file, 50_000, cut)))));
      final byte[] broken = Arrays.copyOf(file, file.length - 1);
      assertThrows(
          FileException.class,
          () -> rows(ParquetReader.builder().open(allocator, Input.stream(pieces(broken, 50_000, null)))));
      assertEquals(before, spilled());
    }
    assertThrows(IllegalArgumentException.class, () -> ParquetReader.builder().streamBytesMax(-1L));
  }
}
