// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeBatches;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * Parquet files as structs of the Arrow C Data Interface, by address: for programs that have
 * columns of their own, such as query engines. Neither Arrow Java nor its memory is used.
 *
 * <pre>{@code
 * try (ParquetBatches batches = ParquetBatches.open(path, Map.of("columns", List.of("id")))) {
 *   while (batches.next()) {
 *     long array = batches.array();  // an ArrowArray of struct type, valid until the next call
 *   }
 * }
 * }</pre>
 *
 * <p>Options have the names of the Python package. It is for one thread at a time; {@link
 * JsonBatches#liveReaders} and {@link JsonBatches#liveBytes} count its readers and memory, too.
 */
public final class ParquetBatches implements AutoCloseable {
  private final NativeBatches batches;

  private ParquetBatches(final NativeBatches batches) {
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
  public static ParquetBatches open(final Path path, final Map<String, ?> options)
      throws IOException {
    return new ParquetBatches(NativeBatches.open(NativeBatches.PARQUET, path, options));
  }

  /**
   * Goes on to the next batch; the memory of the one before is released.
   *
   * @return false at the end
   * @throws IOException if the data are invalid or cannot be read, after the rows before
   */
  public boolean next() throws IOException {
    return batches.next();
  }

  /**
   * The batch.
   *
   * @return the address of an {@code ArrowArray}; 0 if there is none
   */
  public long array() {
    return batches.array();
  }

  /** Ends the reading, and releases the batch. */
  @Override
  public void close() {
    batches.close();
  }
}
