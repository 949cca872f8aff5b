// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ForeignAllocation;

/**
 * Memory of the native library's pool as Arrow buffers: huge pages that were used before, which are
 * written several times as fast as fresh memory. The allocator accounts for them as for its own.
 */
final class Pooled extends ForeignAllocation {
  /** The allocator caches smaller ones itself. */
  private static final long BYTES_MIN = 256L << 10;

  /** The pool keeps no larger ones. */
  private static final long BYTES_MAX = 1L << 30;

  private final long memory;

  private Pooled(final long bytes, final long address, final long memory) {
    super(bytes, address);
    this.memory = memory;
  }

  /** A buffer; from the pool if it is available and has blocks of this size. */
  static ArrowBuf buffer(final BufferAllocator allocator, final long bytes) {
    if (bytes < BYTES_MIN || bytes > BYTES_MAX || !Library.isLoaded()) {
      return allocator.buffer(bytes);
    }
    final ArrowBuf place = allocator.buffer(Long.BYTES);
    final long memory;
    final long address;
    try {
      memory = Natives.newMemory(bytes, place.memoryAddress());
      address = memory == 0 ? 0 : Mem.getLong(place.memoryAddress());
    } finally {
      place.close();
    }
    if (memory == 0) {
      return allocator.buffer(bytes);
    }
    final Pooled pooled = new Pooled(bytes, address, memory);
    try {
      return allocator.wrapForeignAllocation(pooled);
    } catch (RuntimeException | Error e) {
      // The allocator is at its limit.
      pooled.release0();
      throw e;
    }
  }

  @Override
  protected void release0() {
    Natives.freeMemory(memory);
  }
}
