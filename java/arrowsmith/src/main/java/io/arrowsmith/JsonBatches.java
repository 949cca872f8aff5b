// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeBatches;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * JSON files as structs of the Arrow C Data Interface, by address: for programs that have columns
 * of their own, such as query engines. Neither Arrow Java nor its memory is used.
 *
 * <pre>{@code
 * try (JsonBatches batches = JsonBatches.open(path, Map.of("schema", "id: int64", "threads", 1))) {
 *   while (batches.next()) {
 *     // an ArrowArray of struct type, or 0; valid until the next call
 *     long array = batches.array();
 *   }
 * }
 * }</pre>
 *
 * <p>Options have the names of the Python package. Of this class only are {@code rejects}, {@code
 * count_before} and {@code refuse_lone_cr}, which {@code arrowsmith.h} describes. It is for one
 * thread at a time.
 */
public final class JsonBatches implements AutoCloseable {
  private final NativeBatches batches;

  private JsonBatches(final NativeBatches batches) {
    this.batches = batches;
  }

  /**
   * Opens a file.
   *
   * @param path the file
   * @param options names and values: texts, numbers, booleans and lists of these
   * @return its batches
   * @throws IOException if the file cannot be read or is invalid
   * @throws IllegalArgumentException if an option is invalid
   */
  public static JsonBatches open(final Path path, final Map<String, ?> options) throws IOException {
    return new JsonBatches(NativeBatches.open(NativeBatches.JSON, path, options));
  }

  /**
   * Goes on to the next batch; the memory of the one before is released.
   *
   * @return false at the end; otherwise there is a batch, or only rejects
   * @throws IOException if the data are invalid or cannot be read, after the rows before
   */
  public boolean next() throws IOException {
    return batches.next();
  }

  /**
   * The batch.
   *
   * @return the address of an {@code ArrowArray}; 0 if there are only rejects, which have to be
   * taken
   */
  public long array() {
    return batches.array();
  }

  /**
   * The next record that was skipped or changed, in the order of the file; some may belong to later
   * batches.
   *
   * @return the record; null if there is none yet
   */
  public RejectedRecord reject() {
    return batches.reject();
  }

  /** Ends the reading, and releases the batch. */
  @Override
  public void close() {
    batches.close();
  }

  /**
   * Native readers that are open, of the whole process.
   *
   * @return their number
   */
  public static long liveReaders() {
    return NativeBatches.liveReaders();
  }

  /**
   * Native Arrow memory in use, by readers and batches of the whole process.
   *
   * @return its bytes
   */
  public static long liveBytes() {
    return NativeBatches.liveBytes();
  }
}
