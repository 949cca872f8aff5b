// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * Carries the bytes of a Java stream to the native library, on a thread of its own: as many as the
 * library takes, plus one piece ahead. When the reader is closed it ends after the current read. It
 * never closes the stream.
 */
final class Pump implements Runnable {
  private static final int PIECE_BYTES = 1 << 16;

  /** The native stream. */
  final long stream;

  private final InputStream from;
  private int users = 1;
  private volatile Throwable failure;

  /**
   * Creates the native stream, which is freed after both {@link #release()} and the end of the
   * thread.
   */
  Pump(final InputStream from) {
    this.from = from;
    this.stream = Natives.newStream();
  }

  /** Starts the thread. */
  void start() {
    synchronized (this) {
      users++;
    }
    final Thread thread = new Thread(this, "arrowsmith-stream");
    thread.setDaemon(true);
    try {
      thread.start();
    } catch (Error e) {
      release();
      throw e;
    }
  }

  /** Ends a thread whose bytes will not be read. */
  void abandon() {
    Natives.endStream(stream, 0, 0);
  }

  /** Releases one of the two references: the creator's, or the thread's. */
  void release() {
    synchronized (this) {
      users--;
      if (users > 0) {
        return;
      }
    }
    Natives.freeStream(stream);
  }

  @Override
  public void run() {
    final long piece = Natives.newBuffer(PIECE_BYTES);
    try {
      carry(piece);
      Natives.endStream(stream, 0, 0);
    } catch (Throwable e) {
      // Before the library can report an error.
      failure = e;
      final byte[] why = e.toString().getBytes(StandardCharsets.UTF_8);
      final int length = piece == 0 ? 0 : Math.min(why.length, PIECE_BYTES);
      Mem.copy(why, length, piece);
      // A non-null address signals the error, whatever the length.
      Natives.endStream(stream, piece == 0 ? stream : piece, length);
    } finally {
      Natives.freeBuffer(piece);
      release();
    }
  }

  private void carry(final long piece) throws IOException {
    if (piece == 0) {
      throw new IOException("no memory for a piece of a stream");
    }
    final byte[] bytes = new byte[PIECE_BYTES];
    for (int read; (read = from.read(bytes)) >= 0; ) {
      if (read == 0) {
        // Not allowed, and done by some; the read of one byte has no such answer.
        final int one = from.read();
        if (one < 0) {
          return;
        }
        bytes[0] = (byte) one;
        read = 1;
      }
      Objects.checkFromIndexSize(0, read, bytes.length);
      Mem.copy(bytes, read, piece);
      if (Natives.writeStream(stream, piece, read) == 0) {
        return;
      }
    }
  }

  /**
   * The exception of a reader: that of its stream, if the library only reports that the stream
   * failed.
   *
   * @param pumps the reader's streams
   * @param failed the library's exception
   */
  static IOException cause(final List<Pump> pumps, final IOException failed) {
    if (failed.getClass() != IOException.class) {
      return failed;
    }
    for (final Pump pump : pumps) {
      final Throwable failure = pump.failure;
      if (failure instanceof IOException exception) {
        // The stack trace of the stream's exception shows the read; the suppressed one shows the
        // request of the batch.
        exception.addSuppressed(failed);
        return exception;
      }
      if (failure != null) {
        return new IOException("the stream failed: " + failure, failure);
      }
    }
    return failed;
  }
}
