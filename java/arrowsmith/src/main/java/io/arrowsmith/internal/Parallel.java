// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;

/** Runs numbered tasks on the caller's thread and on those of the common pool. */
final class Parallel {
  private final IntConsumer work;
  private final int count;
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private int running;
  private boolean over;

  private Parallel(final int count, final IntConsumer work) {
    this.count = count;
    this.work = work;
  }

  /**
   * Runs {@code work} with each number below {@code count}, on at most this many threads. Its first
   * exception is thrown here, after all have ended.
   */
  static void run(final int threads, final int count, final IntConsumer work) {
    final Parallel parallel = new Parallel(count, work);
    for (int helper = 1; helper < Math.min(threads, count); helper++) {
      ForkJoinPool.commonPool().execute(parallel::help);
    }
    parallel.pieces();
    parallel.await();
    final Throwable failure = parallel.failure.get();
    if (failure instanceof RuntimeException exception) {
      throw exception;
    }
    if (failure instanceof Error error) {
      throw error;
    }
  }

  private void pieces() {
    int piece;
    while (failure.get() == null && (piece = next.getAndIncrement()) < count) {
      try {
        work.accept(piece);
      } catch (RuntimeException | Error e) {
        failure.compareAndSet(null, e);
      }
    }
  }

  private void help() {
    synchronized (this) {
      // The pool may start it after everything is done and the memory is freed.
      if (over) {
        return;
      }
      running++;
    }
    try {
      pieces();
    } finally {
      synchronized (this) {
        running--;
        notifyAll();
      }
    }
  }

  /** Waits for helpers that have started; the others will return immediately. */
  private synchronized void await() {
    over = true;
    boolean interrupted = false;
    while (running > 0) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
