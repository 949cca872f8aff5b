// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * One thread's part of a validity bitmap. All bits are set initially; those of nulls are cleared,
 * so that non-null values cost nothing. Words shared by two threads' parts are changed under a
 * lock.
 */
final class Validity {
  private final Object lock;
  private final long firstWord;
  private final long lastWord;
  private final long start;
  private long address;

  Validity(final Object lock, final long address, final long start, final long count) {
    this.lock = lock;
    this.address = address;
    this.start = start;
    this.firstWord = start >> 6;
    this.lastWord = start + count >> 6;
  }

  /** A value is null. */
  void clear(final long value) {
    final long bit = start + value;
    final long word = bit >> 6;
    final long place = address + (word << 3);
    if (word == firstWord || word >= lastWord) {
      synchronized (lock) {
        Mem.putLong(place, Mem.getLong(place) & ~(1L << bit));
      }
    } else {
      Mem.putLong(place, Mem.getLong(place) & ~(1L << bit));
    }
  }

  /** The bitmap was moved. */
  void move(final long by) {
    address += by;
  }
}
