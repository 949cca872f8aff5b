// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * Supplies the buffers of one batch: those of the previous batch, if they are large enough and not
 * shared, or new ones. Memory that was touched before costs no page faults.
 */
final class Memory implements AutoCloseable {
  private final BufferAllocator allocator;
  private final List<ArrowBuf> given = new ArrayList<>();
  private final Queue<ArrowBuf> old = new ArrayDeque<>();

  /**
   * Makes one.
   *
   * @param allocator where new memory comes from
   * @param before the previous batch, or null
   */
  Memory(final BufferAllocator allocator, final VectorSchemaRoot before) {
    this.allocator = allocator;
    if (before != null) {
      before.getFieldVectors().forEach(this::collect);
    }
  }

  private void collect(final FieldVector vector) {
    for (final ArrowBuf buffer : vector.getFieldBuffers()) {
      old.add(buffer);
    }
    vector.getChildrenFromFields().forEach(this::collect);
  }

  /**
   * The next buffer, in the order of the fields.
   *
   * @param bytes how many bytes will be written
   */
  ArrowBuf next(final long bytes) {
    final ArrowBuf before = old.poll();
    if (before != null
        && before.capacity() >= bytes
        && bytes > 0
        && before.getReferenceManager().getRefCount() == 1) {
      before.getReferenceManager().retain();
      given.add(before);
      before.readerIndex(0);
      before.writerIndex(bytes);
      return before;
    }
    return more(bytes);
  }

  /** One buffer more than the previous batch had. */
  ArrowBuf more(final long bytes) {
    final ArrowBuf buffer = Pooled.buffer(allocator, bytes);
    buffer.writerIndex(bytes);
    given.add(buffer);
    return buffer;
  }

  /** The next buffer, filled with one byte value. */
  ArrowBuf filled(final long bytes, final int fill) {
    final ArrowBuf buffer = next(bytes);
    Mem.fill(buffer.memoryAddress(), bytes, (byte) fill);
    return buffer;
  }

  /**
   * Replaces a buffer by a larger one.
   *
   * @param before the buffer to release
   * @param keep how many of its bytes to keep
   * @param bytes how many bytes will be written
   * @param fill the value of the new bytes
   */
  ArrowBuf grown(final ArrowBuf before, final long keep, final long bytes, final int fill) {
    final ArrowBuf buffer = grown(before, keep, bytes);
    Mem.fill(buffer.memoryAddress() + keep, bytes - keep, (byte) fill);
    return buffer;
  }

  /** As {@link #grown(ArrowBuf, long, long, int)}, with undefined new bytes. */
  ArrowBuf grown(final ArrowBuf before, final long keep, final long bytes) {
    final ArrowBuf buffer = more(bytes);
    Mem.move(before.memoryAddress(), buffer.memoryAddress(), keep);
    if (given.removeIf(one -> one == before)) {
      before.getReferenceManager().release();
    }
    return buffer;
  }

  /** Releases all of them; their users have retained them. */
  @Override
  public void close() {
    given.forEach(buffer -> buffer.getReferenceManager().release());
    given.clear();
  }
}
