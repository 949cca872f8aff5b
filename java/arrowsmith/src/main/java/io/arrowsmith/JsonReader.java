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
 * <p>Names and meaning of options are those of the Python package and the command line; {@code
 * null} restores an option's default. Batches are in the native library's memory: they are not
 * copied. Errors in the data are thrown with the batches, after the rows before them: {@link
 * DataException}, {@link SchemaException}, or an I/O error.
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
   * The decoding engine: {@code cpu}, {@code reference}, or another engine that the native library
   * was built with.
   *
   * @param engine the engine's name
   * @return this
   */
  public JsonReader engine(final String engine) {
    options.set("engine", engine);
    return this;
  }

  /**
   * Decoding threads; by default one per core.
   *
   * @param threads decoding threads; by default one per core
   * @return this
   */
  public JsonReader threads(final Integer threads) {
    options.set("threads", threads);
    return this;
  }

  /**
   * How records are separated: {@code auto}, {@code ndjson}, {@code concatenated} or {@code array}.
   *
   * @param format how records are separated: {@code auto}, {@code ndjson}, {@code concatenated} or
   * {@code array}
   * @return this
   */
  public JsonReader format(final String format) {
    options.set("format", format);
    return this;
  }

  /**
   * How inputs are compressed: {@code auto}, {@code none}, {@code gzip}, {@code zstd} or {@code
   * lz4}.
   *
   * @param compression how inputs are compressed: {@code auto}, {@code none}, {@code gzip}, {@code
   * zstd} or {@code lz4}
   * @return this
   */
  public JsonReader compression(final String compression) {
    options.set("compression", compression);
    return this;
  }

  /**
   * How to handle records that do not match the schema: {@code fail}, {@code skip}, or {@code null}
   * for values that do not match.
   *
   * @param onError how to handle records that do not match the schema: {@code fail}, {@code skip},
   * or {@code null} for values that do not match
   * @return this
   */
  public JsonReader onError(final String onError) {
    options.set("on_error", onError);
    return this;
  }

  /**
   * How to handle duplicate keys in an object: use the {@code last}, or {@code error}.
   *
   * @param duplicateKeys how to handle duplicate keys in an object: use the {@code last}, or {@code
   * error}
   * @return this
   */
  public JsonReader duplicateKeys(final String duplicateKeys) {
    options.set("duplicate_keys", duplicateKeys);
    return this;
  }

  /**
   * How to handle keys that are not in the schema: {@code skip} or {@code error}.
   *
   * @param unknownKeys how to handle keys that are not in the schema: {@code skip} or {@code error}
   * @return this
   */
  public JsonReader unknownKeys(final String unknownKeys) {
    options.set("unknown_keys", unknownKeys);
    return this;
  }

  /**
   * Whether to accept {@code NaN} and {@code Infinity} as numbers.
   *
   * @param allowNan whether to accept {@code NaN} and {@code Infinity} as numbers
   * @return this
   */
  public JsonReader allowNan(final boolean allowNan) {
    options.set("allow_nan", allowNan);
    return this;
  }

  /**
   * Whether to skip validation of data outside the columns.
   *
   * @param trust whether to skip validation of data outside the columns
   * @return this
   */
  public JsonReader trust(final boolean trust) {
    options.set("trust", trust);
    return this;
  }

  /**
   * Rows of each batch except the last.
   *
   * @param batchRows rows of each batch except the last
   * @return this
   */
  public JsonReader batchRows(final Integer batchRows) {
    options.set("batch_rows", batchRows);
    return this;
  }

  /**
   * Approximate Arrow bytes of a batch.
   *
   * @param batchBytes approximate Arrow bytes of a batch
   * @return this
   */
  public JsonReader batchBytes(final Long batchBytes) {
    options.set("batch_bytes", batchBytes);
    return this;
  }

  /**
   * The maximum nesting depth of a record.
   *
   * @param depthMax the maximum nesting depth of a record
   * @return this
   */
  public JsonReader depthMax(final Integer depthMax) {
    options.set("depth_max", depthMax);
    return this;
  }

  /**
   * The maximum length of a record, in bytes.
   *
   * @param recordBytesMax the maximum length of a record, in bytes
   * @return this
   */
  public JsonReader recordBytesMax(final Long recordBytesMax) {
    options.set("record_bytes_max", recordBytesMax);
    return this;
  }

  /**
   * The maximum working memory, in bytes, without mapped inputs and batches.
   *
   * @param memoryBytesMax the maximum working memory, in bytes, without mapped inputs and batches
   * @return this
   */
  public JsonReader memoryBytesMax(final Long memoryBytesMax) {
    options.set("memory_bytes_max", memoryBytesMax);
    return this;
  }

  /**
   * The number of records that a schema is inferred from.
   *
   * @param inferRecords the number of records that a schema is inferred from
   * @return this
   */
  public JsonReader inferRecords(final Long inferRecords) {
    options.set("infer_records", inferRecords);
    return this;
  }

  /**
   * Whether to infer dates and timestamps from strings that all have that form.
   *
   * @param inferTimestamps whether to infer dates and timestamps from strings that all have that
   * form
   * @return this
   */
  public JsonReader inferTimestamps(final boolean inferTimestamps) {
    options.set("infer_timestamps", inferTimestamps);
    return this;
  }

  /**
   * The schema to decode to; inferred by default.
   *
   * @param arrow the Arrow schema
   * @return this
   */
  public JsonReader schema(final Schema arrow) {
    this.schema = arrow;
    return this;
  }

  /**
   * The schema to decode to, as text, such as {@code id: int64, name: utf8}.
   *
   * @param text the text form, as in the command line and Python
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
   * Receives rejected and changed records. It is called by {@code loadNextBatch}, before that
   * returns, with at most 65,536 of them each time, the last ones.
   *
   * @param take receives each
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
   * @return a reader, which the caller closes; closing it on another thread ends a waiting call
   * @throws IOException if an input cannot be read or is invalid: {@link DataException}, {@link
   * SchemaException}, or an I/O error
   * @throws IllegalArgumentException if an option is invalid
   */
  public ArrowReader open(final BufferAllocator allocator, final Input... inputs) throws IOException {
    return NativeReader.open(
        NativeReader.Format.JSON, allocator, Input.all(inputs), options, schema, onReject);
  }

  /**
   * Infers a schema from the first records.
   *
   * @param allocator for the exchange with the native library
   * @param inputs the inputs
   * @return the schema
   * @throws IOException if an input cannot be read, or is not JSON
   * @throws IllegalArgumentException if an option is invalid
   */
  public Schema inferSchema(final BufferAllocator allocator, final Input... inputs) throws IOException {
    return NativeReader.infer(allocator, Input.all(inputs), options);
  }
}
