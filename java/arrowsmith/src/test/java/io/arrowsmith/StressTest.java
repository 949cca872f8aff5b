// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.RandomAccess;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.junit.jupiter.api.Test;

/**
 * Many rounds, many threads, objects that change during encoding, readers that are closed while
 * they read.
 */
class StressTest {
  record Point(int x, String name, double[] values, Inner inner, List<Inner> inners) {}

  record Inner(long id, Boolean flag) {}

  private static List<Point> points(final int count) {
    final List<Point> points = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      final Inner inner = new Inner(i, i % 2 == 0);
      points.add(new Point(i, "naïve " + i, new double[i % 10], inner, List.of(inner, inner)));
    }
    return points;
  }

  private static long residentBytes() throws IOException {
    final Path statm = Path.of("/proc/self/statm");
    return Files.exists(statm) ? Long.parseLong(Files.readString(statm).split(" ")[1]) * 4096 : 0;
  }

  /**
   * The program of a JVM with a small heap, all of it touched before: growth is then off-heap
   * memory.
   */
  public static final class Rounds {
    private static final int ROUNDS = 4_000;
    private static final int SETTLED = 1_500;

    private Rounds() {}

    /** Prints the growth of the process in bytes after warm-up. */
    public static void main(final String[] args) throws IOException {
      final Columns<Point> columns = Columns.of(Point.class).withThreads(1);
      final List<Point> points = points(20);
      final byte[] json = "{\"a\":1,\"b\":[1,2]}\n{\"a\":2,\"b\":[]}\n{\"a\":\"bad\"}\n".getBytes();
      final JsonReader builder =
          JsonReader.builder()
              .schema("a: int64, b: list<int64>")
              .threads(1)
              .onError("skip")
              .onReject(reject -> assertEquals("a", reject.error().path()));
      long before = 0;
      try (BufferAllocator allocator = new RootAllocator()) {
        for (int round = 0; round < ROUNDS; round++) {
          if (round == SETTLED) {
            before = residentBytes();
          }
          try (VectorSchemaRoot root = columns.encode(points, allocator)) {
            assertEquals(points.size(), columns.decode(root).size());
          }
          try (ArrowArray array = ArrowArray.allocateNew(allocator);
              ArrowSchema schema = ArrowSchema.allocateNew(allocator)) {
            columns.export(points, allocator, array, schema);
            array.release();
            schema.release();
          }
          final Input input = round % 2 == 0 ? Input.bytes(json) : Input.stream(new ByteArrayInputStream(json));
          try (ArrowReader reader = builder.open(allocator, input)) {
            assertTrue(reader.loadNextBatch());
            assertEquals(2, reader.getVectorSchemaRoot().getRowCount());
          }
          assertEquals(0, allocator.getAllocatedMemory());
        }
      }
      System.out.println("grown " + (residentBytes() - before));
    }
  }

  private static long grown() throws Exception {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(System.getProperty("arrowsmith.flags").trim().split(" +")));
    command.addAll(List.of("-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Rounds.class.getName()));
    final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    final List<String> lines = process.inputReader().lines().toList();
    assertEquals(0, process.waitFor(), lines.toString());
    final String last = lines.get(lines.size() - 1);
    return Long.parseLong(last.substring("grown ".length()));
  }

  @Test
  void memoryIsReturnedOverManyRounds() throws Exception {
    // Leaking eight hundred bytes per round would exceed this.
    final long grown = grown();
    assertTrue(grown < 2_000_000, "it has grown by " + grown + " bytes");
  }

  @Test
  void manyThreadsShareColumns() throws Exception {
    final Columns<Point> columns = Columns.of(Point.class);
    final ExecutorService threads = Executors.newFixedThreadPool(8);
    try (BufferAllocator allocator = new RootAllocator()) {
      final List<Callable<Void>> work = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        final List<Point> points = points(1 + i * 400);
        work.add(
            () -> {
              try (VectorSchemaRoot root = columns.encode(points, allocator)) {
                Oracle.check(root, points, Point.class);
                final List<Point> back = columns.decode(root);
                assertEquals(points.get(points.size() - 1).inners(), back.get(points.size() - 1).inners());
              }
              return null;
            });
      }
      for (final Future<Void> done : threads.invokeAll(work)) {
        done.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  static final class Growing {
    volatile int[] numbers = new int[1];
    volatile byte[] bytes = new byte[1];
    final List<Long> list = new ArrayList<>();
  }

  @Test
  void objectsThatChangeMeanwhile() throws Exception {
    final List<Growing> objects = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      objects.add(new Growing());
    }
    final AtomicBoolean stop = new AtomicBoolean();
    final Thread changer =
        new Thread(
            () -> {
              for (int i = 0; !stop.get(); i++) {
                final Growing one = objects.get(i % objects.size());
                one.numbers = new int[i % 7];
                one.bytes = new byte[i % 5];
              }
            });
    changer.start();
    int changed = 0;
    try (BufferAllocator allocator = new RootAllocator()) {
      final Columns<Growing> columns = Columns.of(Growing.class).withThreads(2);
      for (int round = 0; round < 300; round++) {
        try (VectorSchemaRoot root = columns.encode(objects, allocator)) {
          assertEquals(objects.size(), root.getRowCount());
        } catch (ConcurrentModificationException e) {
          changed++;
        }
      }
    } finally {
      stop.set(true);
      changer.join();
    }
    assertTrue(changed > 0, "it was never noticed");
  }

  /** A list as seen by a thread while another one shortens it. */
  static final class Shrinking extends AbstractList<Long> implements RandomAccess {
    private int sizes;

    @Override
    public int size() {
      return sizes++ < 2 ? 3 : 2;
    }

    @Override
    public Long get(final int index) {
      return List.of(1L, 2L).get(index);
    }
  }

  static final class Listed {
    List<Long> list = new Shrinking();
  }

  /** A collection as seen by a thread while another one adds to it. */
  static final class Outgrown extends AbstractList<Listed> {
    @Override
    public int size() {
      return 1;
    }

    @Override
    public Listed get(final int index) {
      return new Listed();
    }

    @Override
    public Object[] toArray() {
      throw new ArrayIndexOutOfBoundsException(1);
    }
  }

  @Test
  void collectionsThatChangeMeanwhile() {
    try (BufferAllocator allocator = new RootAllocator()) {
      final Columns<Listed> columns = Columns.of(Listed.class);
      final List<Listed> objects = new Outgrown();
      assertThrows(ConcurrentModificationException.class, () -> columns.encode(objects, allocator));
    }
  }

  @Test
  void listsThatShrinkMeanwhile() {
    try (BufferAllocator allocator = new RootAllocator()) {
      final Columns<Listed> columns = Columns.of(Listed.class);
      final List<Listed> objects = List.of(new Listed());
      assertThrows(ConcurrentModificationException.class, () -> columns.encode(objects, allocator));
    }
  }

  @Test
  void readersAreClosedWhileTheyRead() throws Exception {
    final StringBuilder json = new StringBuilder();
    for (int i = 0; i < 200_000; i++) {
      json.append("{\"a\":").append(i).append("}\n");
    }
    final byte[] bytes = json.toString().getBytes();
    try (BufferAllocator allocator = new RootAllocator()) {
      for (int round = 0; round < 20; round++) {
        final ArrowReader reader =
            JsonReader.builder().schema("a: int64").batchRows(1000).open(allocator, Input.bytes(bytes));
        final Thread closer =
            new Thread(
                () -> {
                  try {
                    reader.close();
                  } catch (IOException e) {
                    throw new AssertionError(e);
                  }
                });
        try {
          for (int batch = 0; reader.loadNextBatch(); batch++) {
            if (batch == round) {
              closer.start();
            }
          }
        } catch (CancellationException e) {
          // It was closed before the end, as expected.
        }
        closer.join();
        reader.close();
        assertEquals(0, allocator.getAllocatedMemory());
      }
    }
  }

  @Test
  void readersOnManyThreads() throws Exception {
    final ExecutorService threads = Executors.newFixedThreadPool(6);
    try (BufferAllocator allocator = new RootAllocator()) {
      final List<Callable<Long>> work = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        final int rows = 100 + i;
        work.add(
            () -> {
              final byte[] json = "{\"a\":1}\n".repeat(rows).getBytes();
              long read = 0;
              try (ArrowReader reader = JsonReader.builder().open(allocator, Input.bytes(json))) {
                while (reader.loadNextBatch()) {
                  read += reader.getVectorSchemaRoot().getRowCount();
                }
              }
              return read - rows;
            });
      }
      for (final Future<Long> done : threads.invokeAll(work)) {
        assertEquals(0, done.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
