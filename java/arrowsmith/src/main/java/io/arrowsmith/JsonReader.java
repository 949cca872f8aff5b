// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeReader;
import io.arrowsmith.internal.Options;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * JSON to Arrow: newline-delimited, concatenated or an array of records.
 *
 * <pre>{@code
 * try (ArrowReader reader = JsonReader.builder().threads(2).open(allocator, Input.path(path))) {
 *   while (reader.loadNextBatch()) {
 *     VectorSchemaRoot batch = reader.getVectorSchemaRoot();
 *   }
 * }
 * }</pre>
 *
 * <p>Names and meaning of options are those of the Python package and the command line; {@code null} gives an option its default back. A reader's
 * memory is that of the native library: nothing is copied on the way. Errors of the data come with the batches, after the rows before
 * them: {@link DataException}, {@link SchemaException}, or an I/O error.
 */
public final class JsonReader {
  private final Options options = new Options();
  private Schema schema;
  private Consumer<Reject> onReject;

  private JsonReader() {}

  /**
   * Starts with the defaults.
   *
   * @return a builder
   */
  public static JsonReader builder() {
    return new JsonReader();
  }

  /**
   * Paths of the columns to keep, such as {@code user.name}.
   *
   * @param columns paths of the columns to keep, such as {@code user.name}
   * @return this
   */
  public JsonReader columns(final String... columns) {
    options.set("columns", List.of(columns));
    return this;
  }

  /**
   * What decodes: {@code cpu} or {@code reference}.
   *
   * @param engine what decodes: {@code cpu} or {@code reference}
   * @return this
   */
  public JsonReader engine(final String engine) {
    options.set("engine", engine);
    return this;
  }

  /**
   * Threads that decode; one for each core if nothing is said.
   *
   * @param threads threads that decode; one for each core if nothing is said
   * @return this
   */
  public JsonReader threads(final Integer threads) {
    options.set("threads", threads);
    return this;
  }

  /**
   * How records follow one another: {@code auto}, {@code ndjson}, {@code concatenated} or {@code array}.
   *
   * @param format how records follow one another: {@code auto}, {@code ndjson}, {@code concatenated} or {@code array}
   * @return this
   */
  public JsonReader format(final String format) {
    options.set("format", format);
    return this;
  }

  /**
   * How inputs are compressed: {@code auto}, {@code none}, {@code gzip}, {@code zstd} or {@code lz4}.
   *
   * @param compression how inputs are compressed: {@code auto}, {@code none}, {@code gzip}, {@code zstd} or {@code lz4}
   * @return this
   */
  public JsonReader compression(final String compression) {
    options.set("compression", compression);
    return this;
  }

  /**
   * What a record that does not fit does: {@code fail}, {@code skip}, or {@code null} in place of what does not fit.
   *
   * @param onError what a record that does not fit does: {@code fail}, {@code skip}, or {@code null} in place of what does not fit
   * @return this
   */
  public JsonReader onError(final String onError) {
    options.set("on_error", onError);
    return this;
  }

  /**
   * What equal keys in an object are: {@code last} counts, or an {@code error}.
   *
   * @param duplicateKeys what equal keys in an object are: {@code last} counts, or an {@code error}
   * @return this
   */
  public JsonReader duplicateKeys(final String duplicateKeys) {
    options.set("duplicate_keys", duplicateKeys);
    return this;
  }

  /**
   * What keys that the schema does not have are: {@code skip} or {@code error}.
   *
   * @param unknownKeys what keys that the schema does not have are: {@code skip} or {@code error}
   * @return this
   */
  public JsonReader unknownKeys(final String unknownKeys) {
    options.set("unknown_keys", unknownKeys);
    return this;
  }

  /**
   * Whether {@code NaN} and {@code Infinity} are numbers.
   *
   * @param allowNan whether {@code NaN} and {@code Infinity} are numbers
   * @return this
   */
  public JsonReader allowNan(final boolean allowNan) {
    options.set("allow_nan", allowNan);
    return this;
  }

  /**
   * Whether what no column takes is left unchecked.
   *
   * @param trust whether what no column takes is left unchecked
   * @return this
   */
  public JsonReader trust(final boolean trust) {
    options.set("trust", trust);
    return this;
  }

  /**
   * Rows of each batch but the last.
   *
   * @param batchRows rows of each batch but the last
   * @return this
   */
  public JsonReader batchRows(final Integer batchRows) {
    options.set("batch_rows", batchRows);
    return this;
  }

  /**
   * Arrow bytes of a batch, about.
   *
   * @param batchBytes Arrow bytes of a batch, about
   * @return this
   */
  public JsonReader batchBytes(final Long batchBytes) {
    options.set("batch_bytes", batchBytes);
    return this;
  }

  /**
   * The deepest nesting of a record.
   *
   * @param depthMax the deepest nesting of a record
   * @return this
   */
  public JsonReader depthMax(final Integer depthMax) {
    options.set("depth_max", depthMax);
    return this;
  }

  /**
   * The longest record, in bytes.
   *
   * @param recordBytesMax the longest record, in bytes
   * @return this
   */
  public JsonReader recordBytesMax(final Long recordBytesMax) {
    options.set("record_bytes_max", recordBytesMax);
    return this;
  }

  /**
   * Working memory beyond mapped inputs and batches, in bytes.
   *
   * @param memoryBytesMax working memory beyond mapped inputs and batches, in bytes
   * @return this
   */
  public JsonReader memoryBytesMax(final Long memoryBytesMax) {
    options.set("memory_bytes_max", memoryBytesMax);
    return this;
  }

  /**
   * Records that a schema is inferred from.
   *
   * @param inferRecords records that a schema is inferred from
   * @return this
   */
  public JsonReader inferRecords(final Long inferRecords) {
    options.set("infer_records", inferRecords);
    return this;
  }

  /**
   * Whether strings that are all dates or timestamps become such.
   *
   * @param inferTimestamps whether strings that are all dates or timestamps become such
   * @return this
   */
  public JsonReader inferTimestamps(final boolean inferTimestamps) {
    options.set("infer_timestamps", inferTimestamps);
    return this;
  }

  /**
   * What to decode into; inferred if there is none.
   *
   * @param arrow the Arrow schema
   * @return this
   */
  public JsonReader schema(final Schema arrow) {
    this.schema = arrow;
    return this;
  }

  /**
   * What to decode into, as text, such as {@code id: int64, name: utf8}.
   *
   * @param text the text form, as the command line and Python take it
   * @return this
   */
  public JsonReader schema(final String text) {
    options.set("schema", text);
    return this;
  }

  /**
   * Infers a schema from all records, instead of the first ones.
   *
   * @return this
   */
  public JsonReader inferAllRecords() {
    options.set("infer_records", "all");
    return this;
  }

  /**
   * Takes records that were left out or changed. It is called by {@code loadNextBatch}, before that returns, with at most 65,536 of them each
   * time, the last ones.
   *
   * @param take gets each
   * @return this
   */
  public JsonReader onReject(final Consumer<Reject> take) {
    this.onReject = take;
    return this;
  }

  /**
   * Opens inputs, which are read one after another.
   *
   * @param allocator accounts for the batches, which it must outlive
   * @param inputs the inputs
   * @return a reader, which the caller closes; closing it on another thread ends a call that waits
   * @throws IOException if an input cannot be read or is not sound: {@link DataException}, {@link SchemaException}, or an I/O error
   * @throws IllegalArgumentException if an option makes no sense
   */
  public ArrowReader open(final BufferAllocator allocator, final Input... inputs) throws IOException {
    return NativeReader.open(
        NativeReader.Format.JSON, allocator, Input.all(inputs), options, schema, onReject);
  }

  /**
   * Infers a schema that the first records fit.
   *
   * @param allocator for what passes between the library and here
   * @param inputs the inputs
   * @return the schema
   * @throws IOException if an input cannot be read, or is no JSON
   * @throws IllegalArgumentException if an option makes no sense
   */
  public Schema inferSchema(final BufferAllocator allocator, final Input... inputs) throws IOException {
    return NativeReader.infer(allocator, Input.all(inputs), options);
  }
}
