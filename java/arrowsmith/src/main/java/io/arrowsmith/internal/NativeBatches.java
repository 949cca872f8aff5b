// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.RejectedRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/**
 * A reader of the native library whose batches stay structs of the C Data Interface. It needs no
 * class of Arrow Java.
 */
public final class NativeBatches implements AutoCloseable {
  /** JSON, as a number of the library. */
  public static final int JSON = 0;

  /** Parquet, as a number of the library. */
  public static final int PARQUET = 1;

  private static final int ARRAY_BYTES = 80;

  /** Offset of {@code release} in an {@code ArrowArray}. */
  private static final int RELEASE = 64;

  private static final int SOURCE_FIELDS = 5;
  private static final int NEXT_BATCH = 1;

  /** An {@code ArrowArray}, and after it the address of an error. */
  private long memory;

  private long reader;
  private boolean filled;

  private NativeBatches(final long memory, final long reader) {
    this.memory = memory;
    this.reader = reader;
  }

  /**
   * Opens a file.
   *
   * @param format its format
   * @param path the file
   * @param options names and values
   * @return its batches
   * @throws IOException if the file cannot be read or is invalid
   */
  public static NativeBatches open(
      final int format, final Path path, final Map<String, ?> options) throws IOException {
    final Options known = new Options();
    options.forEach(known::set);
    final byte[] json = known.json().getBytes(StandardCharsets.UTF_8);
    final byte[] name = path.toString().getBytes(StandardCharsets.UTF_8);
    final long memory = buffer(ARRAY_BYTES + Long.BYTES);
    final long request;
    try {
      request = buffer((long) SOURCE_FIELDS * Long.BYTES + name.length + json.length);
    } catch (OutOfMemoryError e) {
      Natives.freeBuffer(memory);
      throw e;
    }
    try {
      final long text = request + (long) SOURCE_FIELDS * Long.BYTES;
      Mem.fill(request, (long) SOURCE_FIELDS * Long.BYTES, (byte) 0);
      Mem.putLong(request + 8, text);
      Mem.putLong(request + 16, name.length);
      Mem.copy(name, name.length, text);
      Mem.copy(json, json.length, text + name.length);
      final long error = memory + ARRAY_BYTES;
      Mem.fill(memory, ARRAY_BYTES + Long.BYTES, (byte) 0);
      final long reader =
          Natives.open(
              format, request, 1, 0, text + name.length, json.length, error);
      if (reader == 0) {
        throw Failure.take(Mem.getLong(error));
      }
      return new NativeBatches(memory, reader);
    } catch (IOException | RuntimeException | Error e) {
      Natives.freeBuffer(memory);
      throw e;
    } finally {
      Natives.freeBuffer(request);
    }
  }

  private static long buffer(final long bytes) {
    final long buffer = Natives.newBuffer(bytes);
    if (buffer == 0) {
      throw new OutOfMemoryError("no native memory for " + bytes + " bytes");
    }
    return buffer;
  }

  /**
   * Goes on to the next batch.
   *
   * @return whether there is one, or there are rejects
   * @throws IOException if reading fails
   */
  public boolean next() throws IOException {
    if (reader == 0) {
      return false;
    }
    release();
    final long error = memory + ARRAY_BYTES;
    Mem.putLong(error, 0);
    final long given = Natives.next(reader, memory, error);
    if (given < 0) {
      throw Failure.take(Mem.getLong(error));
    }
    filled = given == NEXT_BATCH;
    return given != 0;
  }

  /**
   * The batch.
   *
   * @return the address of an {@code ArrowArray}, or 0
   */
  public long array() {
    return filled ? memory : 0;
  }

  /**
   * The next reject.
   *
   * @return the record, or null
   */
  public RejectedRecord reject() {
    final long reject = reader == 0 ? 0 : Natives.reject(reader);
    return reject == 0 ? null : Failure.rejectedRecord(reject);
  }

  private void release() {
    if (filled) {
      filled = false;
      Natives.releaseArray(memory);
      Mem.putLong(memory + RELEASE, 0);
    }
  }

  @Override
  public void close() {
    if (reader != 0) {
      release();
      Natives.close(reader);
      reader = 0;
      Natives.freeBuffer(memory);
      memory = 0;
    }
  }

  /**
   * Readers that are open.
   *
   * @return their number
   */
  public static long liveReaders() {
    return Natives.liveReaders();
  }

  /**
   * Arrow memory in use.
   *
   * @return its bytes
   */
  public static long liveBytes() {
    return Natives.liveBytes();
  }
}
