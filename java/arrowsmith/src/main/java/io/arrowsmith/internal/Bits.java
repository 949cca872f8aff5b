// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * Appends bits to a bitmap that other threads append to at other positions: words shared by two
 * threads' parts are merged under a lock. The map is initially all zeros. Bits are in Arrow's
 * order, which is that of a little-endian machine.
 */
final class Bits {
  private final Object lock;
  private final long start;
  private long address;
  private long at;
  private long word;

  Bits(final Object lock, final long address, final long start) {
    this.lock = lock;
    this.address = address;
    this.start = start;
    this.at = start;
  }

  void append(final boolean bit) {
    if (bit) {
      word |= 1L << at;
    }
    at++;
    if ((at & 63) == 0) {
      flush();
    }
  }

  /** The bitmap was moved. */
  void move(final long by) {
    address += by;
  }

  private void flush() {
    final long first = at - 64;
    if (first < start) {
      join(first);
    } else {
      Mem.putLong(address + (first >> 3), word);
    }
    word = 0;
  }

  private void join(final long first) {
    final long place = address + (first >> 3);
    synchronized (lock) {
      Mem.putLong(place, Mem.getLong(place) | word);
    }
  }

  void finish() {
    if ((at & 63) != 0) {
      join(at & -64);
      word = 0;
    }
  }
}
