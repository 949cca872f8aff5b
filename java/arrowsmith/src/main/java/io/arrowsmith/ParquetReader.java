// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeReader;
import io.arrowsmith.internal.Options;
import java.io.IOException;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * Parquet to Arrow: files, folders and patterns.
 *
 * <pre>{@code
 * try (ArrowReader reader =
 *     ParquetReader.builder().columns("id", "fare").filter("fare > 10").open(allocator,
 *     Input.path(path))) {
 *   while (reader.loadNextBatch()) {
 *     VectorSchemaRoot batch = reader.getVectorSchemaRoot();
 *   }
 * }
 * }</pre>
 *
 * <p>Names and meaning of options are those of the Python package and the command line; {@code
 * null} restores an option's default. Batches are in the native library's memory: they are not
 * copied. Errors in the data are thrown with the batches, after the rows before them: {@link
 * FileException}, or an I/O error.
 */
public final class ParquetReader {
  private final Options options = new Options();
  private Schema partitions;

  private ParquetReader() {}

  /**
   * Starts with the defaults.
   *
   * @return a builder
   */
  public static ParquetReader builder() {
    return new ParquetReader();
  }

  /**
   * Paths of the columns to read, such as {@code user.name}.
   *
   * @param columns paths of the columns to read, such as {@code user.name}
   * @return this
   */
  public ParquetReader columns(final String... columns) {
    options.set("columns", List.of(columns));
    return this;
  }

  /**
   * The condition on rows to read, such as {@code fare > 10 and zone is null}.
   *
   * @param filter the condition on rows to read, such as {@code fare > 10 and zone is null}
   * @return this
   */
  public ParquetReader filter(final String filter) {
    options.set("filter", filter);
    return this;
  }

  /**
   * Numbers of the row groups to read, of a single file.
   *
   * @param rowGroups numbers of the row groups to read, of a single file
   * @return this
   */
  public ParquetReader rowGroups(final int... rowGroups) {
    options.set("row_groups", java.util.Arrays.stream(rowGroups).boxed().toList());
    return this;
  }

  /**
   * The maximum number of rows.
   *
   * @param limit the maximum number of rows
   * @return this
   */
  public ParquetReader limit(final Long limit) {
    options.set("limit", limit);
    return this;
  }

  /**
   * The decoding engine: {@code cpu}, {@code reference}, or another engine that the native library
   * was built with.
   *
   * @param engine the engine's name
   * @return this
   */
  public ParquetReader engine(final String engine) {
    options.set("engine", engine);
    return this;
  }

  /**
   * Decoding threads; by default one per core.
   *
   * @param threads decoding threads; by default one per core
   * @return this
   */
  public ParquetReader threads(final Integer threads) {
    options.set("threads", threads);
    return this;
  }

  /**
   * The maximum rows of a batch.
   *
   * @param batchRows the maximum rows of a batch
   * @return this
   */
  public ParquetReader batchRows(final Integer batchRows) {
    options.set("batch_rows", batchRows);
    return this;
  }

  /**
   * Whether to read all string and binary columns as dictionaries.
   *
   * @param dictionary whether to read all string and binary columns as dictionaries
   * @return this
   */
  public ParquetReader dictionary(final boolean dictionary) {
    options.set("dictionary", dictionary);
    return this;
  }

  /**
   * Paths of string and binary columns to read as dictionaries.
   *
   * @param dictionaryColumns paths of string and binary columns to read as dictionaries
   * @return this
   */
  public ParquetReader dictionaryColumns(final String... dictionaryColumns) {
    options.set("dictionary", List.of(dictionaryColumns));
    return this;
  }

  /**
   * The Arrow type of strings: {@code auto}, {@code small}, {@code large} or {@code view}.
   *
   * @param strings the Arrow type of strings: {@code auto}, {@code small}, {@code large} or {@code
   * view}
   * @return this
   */
  public ParquetReader strings(final String strings) {
    options.set("strings", strings);
    return this;
  }

  /**
   * The unit of all timestamps: {@code s}, {@code ms}, {@code us} or {@code ns}.
   *
   * @param timestampUnit the unit of all timestamps: {@code s}, {@code ms}, {@code us} or {@code
   * ns}
   * @return this
   */
  public ParquetReader timestampUnit(final String timestampUnit) {
    options.set("timestamp_unit", timestampUnit);
    return this;
  }

  /**
   * Whether to use the Arrow schema that a writer stored in the file.
   *
   * @param arrowSchema whether to use the Arrow schema that a writer stored in the file
   * @return this
   */
  public ParquetReader arrowSchema(final boolean arrowSchema) {
    options.set("arrow_schema", arrowSchema);
    return this;
  }

  /**
   * Whether to verify page checksums.
   *
   * @param verifyChecksums whether to verify page checksums
   * @return this
   */
  public ParquetReader verifyChecksums(final boolean verifyChecksums) {
    options.set("verify_checksums", verifyChecksums);
    return this;
  }

  /**
   * The maximum working memory, in bytes, without mapped files and batches.
   *
   * @param memoryBytesMax the maximum working memory, in bytes, without mapped files and batches
   * @return this
   */
  public ParquetReader memoryBytesMax(final Long memoryBytesMax) {
    options.set("memory_bytes_max", memoryBytesMax);
    return this;
  }

  /**
   * The maximum length of a {@link Input#stream stream}, in bytes: 16 GiB by default.
   *
   * @param streamBytesMax the maximum length of a stream, in bytes
   * @return this
   * @throws IllegalArgumentException if it is below 0
   */
  public ParquetReader streamBytesMax(final Long streamBytesMax) {
    options.setStreamBytesMax(streamBytesMax);
    return this;
  }

  /**
   * Types of partition columns (from folder names); those of the others are inferred.
   *
   * @param types the Arrow fields
   * @return this
   */
  public ParquetReader partitions(final Schema types) {
    this.partitions = types;
    return this;
  }

  /**
   * Opens inputs, which are read one after another.
   *
   * @param allocator accounts for the batches, which it must outlive
   * @param inputs the inputs
   * @return a reader, which the caller closes; closing it on another thread ends a waiting call
   * @throws IOException if an input cannot be read or is invalid: {@link FileException}, or an I/O
   * error
   * @throws IllegalArgumentException if an option is invalid
   */
  public ArrowReader open(final BufferAllocator allocator, final Input... inputs) throws IOException {
    return NativeReader.open(
        NativeReader.Format.PARQUET, allocator, Input.all(inputs), options, partitions, null);
  }
}
