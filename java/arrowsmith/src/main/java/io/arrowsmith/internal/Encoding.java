// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;

/**
 * Encodes one batch of objects to columns.
 *
 * <p>The memory needed by columns of varying length is not known in advance. A sample of objects
 * selects the method:
 *
 * <ul>
 *   <li>all of them need the same: the others are expected to need it too, and every chunk of
 *       objects gets its part immediately; if that fails, the batch is made again by measuring;
 *   <li>they differ, and one thread works: the size is estimated, and memory grows;
 *   <li>else threads first measure all chunks, then the memory is allocated, then threads fill the
 *       parts.
 * </ul>
 *
 * <p>Measuring follows every reference twice, which for small objects is most of the work.
 */
final class Encoding {
  /** Chunks per thread, so that uneven ones balance. */
  private static final int CHUNKS_PER_THREAD = 4;

  /** With fewer values than this, threads cost more than they save. */
  private static final long VALUES_PARALLEL_MIN = 1 << 14;

  /** Size of the sample. */
  private static final int SAMPLE = 32;

  /** With fewer objects than this, measuring all costs less than sampling. */
  private static final int ROWS_SAMPLED_MIN = 256;

  /** Rows written at a time. */
  private static final int BLOCK = 1 << 8;

  private enum Way {
    /** All objects have the same size. */
    UNIFORM,
    /** Columns grow. */
    ESTIMATED,
    /** All are measured first. */
    MEASURED
  }

  private final Node root;
  private final Column all;
  private final Column[] columns;
  private final Object[] rows;
  private final Way way;
  private final int threads;
  private final int chunks;
  private final Slot[][] slots;

  private Encoding(final Node root, final Object[] rows, final Way way, final int threads) {
    this.root = root;
    this.rows = rows;
    this.way = way;
    this.threads = threads;
    this.chunks = threads == 1 || rows.length == 0 ? 1 : Math.min(rows.length, threads * CHUNKS_PER_THREAD);
    this.all = new Column(root);
    this.columns = all.children;
    this.slots = new Slot[chunks][];
    for (int chunk = 0; chunk < chunks; chunk++) {
      slots[chunk] = all.slots();
    }
  }

  /**
   * Encodes objects into a batch.
   *
   * @param root the class
   * @param rows the objects
   * @param threads the most threads that may work
   * @param into the batch, whose memory is reused if possible
   */
  static void encode(
      final Node root,
      final Object[] rows,
      final int threads,
      final BufferAllocator allocator,
      final VectorSchemaRoot into) {
    final Sample sample = root.isVariable() && rows.length >= ROWS_SAMPLED_MIN ? new Sample(root, rows) : null;
    if (sample != null) {
      final Way way = sample.uniform ? Way.UNIFORM : Way.ESTIMATED;
      final int workers = sample.values(rows.length) < VALUES_PARALLEL_MIN ? 1 : threads;
      if (way == Way.UNIFORM || workers == 1) {
        try (Memory memory = new Memory(allocator, into)) {
          new Encoding(root, rows, way, workers).run(memory, into, sample);
          return;
        } catch (RuntimeException e) {
          // The other objects differ from the sample, or there is too little memory for an
          // estimate: measuring is exact.
        }
      }
    }
    try (Memory memory = new Memory(allocator, into)) {
      new Encoding(root, rows, Way.MEASURED, threads).run(memory, into, sample);
    }
  }

  /** The sizes of the sample. */
  private static final class Sample {
    private final Slot[] first;
    private final Slot[] total;
    private final boolean uniform;
    private final int count;

    Sample(final Node root, final Object[] rows) {
      final Column all = new Column(root);
      final int step = rows.length / SAMPLE;
      boolean same = true;
      first = measured(all, rows, 0);
      total = measured(all, rows, 0);
      for (int at = 1; at < SAMPLE; at++) {
        final Slot[] other = measured(all, rows, at * step);
        for (int child = 0; child < first.length; child++) {
          same &= other[child].isLike(first[child]);
          total[child].add(other[child]);
        }
      }
      uniform = same;
      count = SAMPLE;
    }

    private static Slot[] measured(final Column all, final Object[] rows, final int row) {
      final Slot[] slots = all.slots();
      look(() -> all.node.codec.measure(rows, row, row + 1, slots));
      for (final Slot slot : slots) {
        slot.rows = 1;
        slot.settle();
      }
      return slots;
    }

    long values(final long rows) {
      long values = 0;
      for (final Slot slot : total) {
        values += values(slot);
      }
      return values * rows / count;
    }

    private static long values(final Slot slot) {
      long values = slot.rows + (slot.bytes >> 3);
      for (final Slot child : slot.children()) {
        values += values(child);
      }
      return values;
    }
  }

  private void run(final Memory memory, final VectorSchemaRoot into, final Sample sample) {
    long values = 0;
    switch (way) {
      case UNIFORM -> expect(sample.first, 1, 0);
      case ESTIMATED -> expect(sample.total, sample.count, 1);
      default -> {
        final boolean many = rows.length >= VALUES_PARALLEL_MIN / (1 + columns.length);
        Parallel.run(many ? threads : 1, chunks, this::measure);
      }
    }
    for (int child = 0; child < columns.length; child++) {
      values += take(memory, columns[child], column(slots, child));
    }
    Parallel.run(values >= VALUES_PARALLEL_MIN ? threads : 1, chunks, this::write);
    for (int child = 0; child < columns.length; child++) {
      settle(memory, columns[child], column(slots, child));
    }
    final List<ArrowFieldNode> nodes = new ArrayList<>();
    final List<ArrowBuf> buffers = new ArrayList<>();
    for (final Column column : columns) {
      gather(column, nodes, buffers);
    }
    try (ArrowRecordBatch batch = new ArrowRecordBatch(rows.length, nodes, buffers)) {
      new VectorLoader(into).load(batch);
    }
  }

  /**
   * Instead of measuring: chunks expect the sample's sizes, scaled by their rows; slightly more for
   * an estimate.
   */
  private void expect(final Slot[] sample, final long of, final int guess) {
    for (int chunk = 0; chunk < chunks; chunk++) {
      final long count = first(chunk + 1) - first(chunk);
      for (int child = 0; child < columns.length; child++) {
        slots[chunk][child].expect(
            count,
            sample[child],
            had -> {
              final long need = Math.multiplyExact(had, count) / of;
              return guess == 0 ? need : need + (need >> 4) + 64;
            });
      }
    }
  }

  private int first(final int chunk) {
    return (int) ((long) rows.length * chunk / chunks);
  }

  private void measure(final int chunk) {
    final int from = first(chunk);
    final int to = first(chunk + 1);
    if (root.isVariable()) {
      look(() -> root.codec.measure(rows, from, to, slots[chunk]));
    }
    for (final Slot slot : slots[chunk]) {
      slot.rows = to - from;
      slot.settle();
    }
  }

  private void write(final int chunk) {
    final int to = first(chunk + 1);
    for (int from = first(chunk); from < to; from += BLOCK) {
      final int end = Math.min(to, from + BLOCK);
      for (int row = from; row < end; row++) {
        if (rows[row] == null) {
          throw new ColumnsException("", "object " + row + " is null");
        }
      }
      final int start = from;
      look(() -> root.codec.write(rows, start, end, slots[chunk]));
    }
    for (final Slot slot : slots[chunk]) {
      slot.finish();
    }
  }

  /** The objects of a collection. */
  static Object[] rows(final Collection<?> objects) {
    final Object[][] rows = new Object[1][];
    look(() -> rows[0] = objects.toArray());
    return rows[0];
  }

  /**
   * Reads objects. A collection that another thread changes throws an exception of its own, which
   * is treated the same.
   */
  private static void look(final Runnable reading) {
    try {
      reading.run();
    } catch (IndexOutOfBoundsException | NoSuchElementException e) {
      throw changed(e);
    } catch (NullPointerException e) {
      // A linked list does so; one that a converter throws is thrown as it is.
      final StackTraceElement[] trace = e.getStackTrace();
      throw trace.length > 0 && trace[0].getClassName().startsWith("java.util.") ? changed(e) : e;
    }
  }

  private static ConcurrentModificationException changed(final RuntimeException cause) {
    final ConcurrentModificationException changed =
        new ConcurrentModificationException("the objects were changed while they were encoded");
    changed.initCause(cause);
    return changed;
  }

  /** The slots of all chunks for one child. */
  private static Slot[] column(final Slot[][] slots, final int child) {
    final Slot[] column = new Slot[slots.length];
    for (int chunk = 0; chunk < column.length; chunk++) {
      column[chunk] = slots[chunk][child];
    }
    return column;
  }

  private static Slot[] below(final Slot[] slots, final int child) {
    final Slot[] column = new Slot[slots.length];
    for (int chunk = 0; chunk < column.length; chunk++) {
      column[chunk] = slots[chunk].children()[child];
    }
    return column;
  }

  /**
   * Allocates the memory of a column and its children, and assigns the slots their parts; returns
   * the number of values.
   */
  private long take(final Memory memory, final Column column, final Slot[] slots) {
    long bytes = 0;
    for (final Slot slot : slots) {
      column.rows += slot.rows;
      bytes += slot.bytes;
    }
    column.take(memory, bytes, way == Way.ESTIMATED);
    long row = 0;
    long offset = 0;
    for (final Slot slot : slots) {
      slot.place(row, offset);
      row += slot.rows;
      offset += slot.bytes;
    }
    long values = column.rows + (bytes >> 3);
    for (int child = 0; child < column.children.length; child++) {
      values += take(memory, column.children[child], below(slots, child));
    }
    if (column.node.kind.isList()) {
      placeElements(slots);
    }
    return values;
  }

  private static void placeElements(final Slot[] slots) {
    long first = 0;
    for (final Slot slot : slots) {
      if (slot instanceof ArraySlot array) {
        array.placeElements(first);
      } else {
        ((ListSlot) slot).placeElements(first);
      }
      first += slot.children()[0].rows;
    }
  }

  /** Moves spilled bytes into place, and adds up nulls. */
  private static void settle(final Memory memory, final Column column, final Slot[] slots) {
    boolean inPlace = true;
    long bytes = 0;
    for (final Slot slot : slots) {
      column.nulls += slot.nulls;
      if (slot instanceof BytesSlot chunk) {
        inPlace &= chunk.isInPlace();
        bytes += chunk.used();
      }
    }
    if (!inPlace) {
      if (bytes > Integer.MAX_VALUE) {
        throw BytesSlot.tooLong(column);
      }
      column.data = memory.more(bytes);
      long offset = 0;
      for (final Slot slot : slots) {
        final BytesSlot chunk = (BytesSlot) slot;
        chunk.move(column.data.memoryAddress(), offset);
        offset += chunk.used();
      }
    }
    if (column.isEstimated()) {
      column.trim(slots[0].rows, bytes);
    }
    column.cut();
    if (column.node.required && column.nulls > 0) {
      throw new ColumnsException(column.node.path, "a map has a null key, which Arrow's have not");
    }
    for (int child = 0; child < column.children.length; child++) {
      settle(memory, column.children[child], below(slots, child));
    }
  }

  private static void gather(
      final Column column, final List<ArrowFieldNode> nodes, final List<ArrowBuf> buffers) {
    nodes.add(new ArrowFieldNode(column.rows, column.nulls));
    buffers.add(column.validity);
    if (column.offsets != null) {
      buffers.add(column.offsets);
    }
    if (column.data != null) {
      buffers.add(column.data);
    }
    for (final Column child : column.children) {
      gather(child, nodes, buffers);
    }
  }
}
