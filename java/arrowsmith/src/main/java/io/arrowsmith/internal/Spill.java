// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A stream whose format must be read from its end, as a Parquet file: small ones in memory, larger
 * ones in a file that only its owner may read, up to a limit.
 */
final class Spill {
  /** Streams up to this length stay in memory. */
  private static final int MEMORY_BYTES_MAX = 4 << 20;

  private static final int PIECE_BYTES = 1 << 16;

  /** The content, if it is short; else null. */
  final byte[] bytes;

  /** The file, if it is long; the owner of this object deletes it. Else null. */
  final Path file;

  private Spill(final byte[] bytes, final Path file) {
    this.bytes = bytes;
    this.file = file;
  }

  /**
   * Reads a stream to its end.
   *
   * @param stream the stream; it is not closed
   * @param bytesMax its maximum length
   * @throws IOException from the stream or the file, or if the stream is longer
   */
  static Spill of(final InputStream stream, final long bytesMax) throws IOException {
    final byte[] head = stream.readNBytes((int) Math.min(bytesMax, MEMORY_BYTES_MAX) + 1);
    check(head.length, bytesMax);
    if (head.length <= MEMORY_BYTES_MAX) {
      return new Spill(head, null);
    }
    final Path file = Files.createTempFile("arrowsmith-", ".parquet");
    try (OutputStream to = Files.newOutputStream(file)) {
      long length = head.length;
      to.write(head);
      final byte[] piece = new byte[PIECE_BYTES];
      for (int read; (read = stream.read(piece)) >= 0; ) {
        length += read;
        check(length, bytesMax);
        to.write(piece, 0, read);
      }
      return new Spill(null, file);
    } catch (IOException | RuntimeException | Error e) {
      Files.deleteIfExists(file);
      throw e;
    }
  }

  private static void check(final long length, final long bytesMax) throws IOException {
    if (length > bytesMax) {
      throw new IOException(
          "the stream is longer than " + bytesMax + " bytes; streamBytesMax allows more");
    }
  }
}
