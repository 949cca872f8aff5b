// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;

/**
 * One batch of objects becoming columns.
 *
 * <p>Objects are cut into chunks. If anything has a varying length, threads first measure all chunks; then the memory is taken,
 * every chunk gets its part of every column, and threads fill the parts.
 */
final class Encoding {
  /** Pieces for each thread, so that uneven ones even out. */
  private static final int CHUNKS_PER_THREAD = 4;

  /** With fewer values than this, threads cost more than they bring. */
  private static final long VALUES_PARALLEL_MIN = 1 << 14;

  private static final long ROWS_MAX = Integer.MAX_VALUE - 64;

  private final Node root;
  private final Column[] columns;
  private final Object[] rows;
  private final int threads;
  private final int chunks;
  private final Slot[][] slots;

  private Encoding(final Node root, final Object[] rows, final int threads) {
    this.root = root;
    this.rows = rows;
    this.threads = threads;
    this.chunks = threads == 1 || rows.length == 0 ? 1 : Math.min(rows.length, threads * CHUNKS_PER_THREAD);
    final Column all = new Column(root);
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
   * @param threads how many may work
   * @param into the batch, whose memory is used again where it can be
   */
  static void encode(
      final Node root,
      final Object[] rows,
      final int threads,
      final BufferAllocator allocator,
      final VectorSchemaRoot into) {
    try (Memory memory = new Memory(allocator, into)) {
      new Encoding(root, rows, threads).run(memory, into);
    }
  }

  private void run(final Memory memory, final VectorSchemaRoot into) {
    final boolean many = rows.length >= VALUES_PARALLEL_MIN / (1 + columns.length);
    Parallel.run(many ? threads : 1, chunks, this::measure);
    long values = 0;
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

  private int first(final int chunk) {
    return (int) ((long) rows.length * chunk / chunks);
  }

  private void measure(final int chunk) {
    final int from = first(chunk);
    final int to = first(chunk + 1);
    for (int row = from; row < to; row++) {
      if (rows[row] == null) {
        throw new ColumnsException("", "object " + row + " is null");
      }
    }
    if (root.isVariable()) {
      root.codec.measure(rows, from, to, slots[chunk]);
    }
    for (final Slot slot : slots[chunk]) {
      slot.rows = to - from;
      slot.settle();
    }
  }

  private void write(final int chunk) {
    root.codec.write(rows, first(chunk), first(chunk + 1), slots[chunk]);
    for (final Slot slot : slots[chunk]) {
      slot.finish();
    }
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

  /** Takes the memory of a column and those below, and tells the slots their parts; gives the number of values in them. */
  private static long take(final Memory memory, final Column column, final Slot[] slots) {
    final Node node = column.node;
    long bytes = 0;
    for (final Slot slot : slots) {
      column.rows += slot.rows;
      bytes += slot.bytes;
    }
    if (column.rows > ROWS_MAX) {
      throw new ColumnsException(
          node.path, column.rows + " values in one batch are too many; encode fewer objects at once");
    }
    if (bytes > Integer.MAX_VALUE) {
      throw BytesSlot.tooLong(column);
    }
    column.validity =
        node.isPrimitive() ? memory.none() : zeros(memory, bitBytes(column.rows));
    if (node.kind != Kind.STRUCT && node.kind.width < 0) {
      column.offsets = memory.next((column.rows + 1) * Integer.BYTES);
      Mem.putInt(column.offsets.memoryAddress(), 0);
    }
    if (node.kind == Kind.BOOL) {
      column.data = zeros(memory, bitBytes(column.rows));
    } else if (node.kind.width > 0) {
      column.data = memory.next(column.rows * node.kind.width);
    } else if (node.kind != Kind.STRUCT && node.kind != Kind.LIST) {
      column.data = memory.next(bytes);
    }
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
    if (node.kind == Kind.LIST) {
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

  /** Bit maps are written in words of 64 bits. */
  private static long bitBytes(final long bits) {
    return (bits + 63 >> 6) << 3;
  }

  private static ArrowBuf zeros(final Memory memory, final long bytes) {
    final ArrowBuf buffer = memory.next(bytes);
    Mem.fill(buffer.memoryAddress(), bytes, (byte) 0);
    return buffer;
  }

  /** Puts spilled bytes in their place, and adds up nulls. */
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
