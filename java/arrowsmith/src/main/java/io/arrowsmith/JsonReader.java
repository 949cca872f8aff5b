// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeReader;
import io.arrowsmith.internal.Options;
import java.io.IOException;
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

  // Made from crates/arrowsmith/src/options/table.rs by its tests.

  /**
   * The columns to keep, as paths such as {@code user.name}. Default: all.
   *
   * @param columns the value
   * @return this
   */
  public JsonReader columns(final String... columns) {
    options.set("columns", columns);
    return this;
  }

  /**
   * Keep only rows that match this condition: {@code fare > 10 and (zone = 'A' or zone is null)}.
   *
   * @param filter the value
   * @return this
   */
  public JsonReader filter(final String filter) {
    options.set("filter", filter);
    return this;
  }

  /**
   * Read at most this many rows, of those that match. Default: all rows.
   *
   * @param limit the value
   * @return this
   */
  public JsonReader limit(final Long limit) {
    options.set("limit", limit);
    return this;
  }

  /**
   * Types of partition columns, whose values are in folder names: {@code year: int32, zone: utf8}.
   * Default: inferred.
   *
   * @param partitions the value
   * @return this
   */
  public JsonReader partitions(final String partitions) {
    options.set("partitions", partitions);
    return this;
  }

  /**
   * The engine that decodes; what it declines, the next one decodes. Default: {@code cpu}.
   *
   * @param engine the value
   * @return this
   */
  public JsonReader engine(final String engine) {
    options.set("engine", engine);
    return this;
  }

  /**
   * Number of decoder threads. Default: one per core.
   *
   * @param threads the value
   * @return this
   */
  public JsonReader threads(final Integer threads) {
    options.set("threads", threads);
    return this;
  }

  /**
   * Working memory, not counting mapped input and output batches. Default: {@code 256MiB}.
   *
   * @param memoryBytesMax the value
   * @return this
   */
  public JsonReader memoryBytesMax(final Long memoryBytesMax) {
    options.set("memory_bytes_max", memoryBytesMax);
    return this;
  }

  /**
   * GPU memory per decoder thread; larger inputs are split, or decoded on the CPU. Default: {@code
   * 2GiB}.
   *
   * @param gpuMemoryBytesMax the value
   * @return this
   */
  public JsonReader gpuMemoryBytesMax(final Long gpuMemoryBytesMax) {
    options.set("gpu_memory_bytes_max", gpuMemoryBytesMax);
    return this;
  }

  /**
   * Maximum nesting depth of a record, or of a file's schema. Default: {@code 128}.
   *
   * @param depthMax the value
   * @return this
   */
  public JsonReader depthMax(final Integer depthMax) {
    options.set("depth_max", depthMax);
    return this;
  }

  /**
   * Rows per batch: of JSON exactly, the last batch excepted; of Parquet the maximum. Default: the
   * rows in 1 MiB of JSON; for Parquet at most 131072.
   *
   * @param batchRows the value
   * @return this
   */
  public JsonReader batchRows(final Integer batchRows) {
    options.set("batch_rows", batchRows);
    return this;
  }

  /**
   * The schema: its text form, or a file with it (text, Arrow or Parquet). Default: inferred.
   *
   * @param schema the value
   * @return this
   */
  public JsonReader schema(final String schema) {
    options.set("schema", schema);
    return this;
  }

  /**
   * Types of some columns, by their paths: {@code id: utf8, user.born: date32}. The other types are
   * those of the schema, given or inferred.
   *
   * @param types the value
   * @return this
   */
  public JsonReader types(final String types) {
    options.set("types", types);
    return this;
  }

  /**
   * Values that columns take beyond those of their types: {@code scalars} (numbers in strings and
   * back, 0 and 1 as booleans), {@code epoch ms} (numbers in timestamps), {@code format
   * "%d.%m.%Y"}, {@code nulls "N/A" "-"}; null words in all columns, the others where the type is
   * given.
   *
   * @param coerce the value
   * @return this
   */
  public JsonReader coerce(final String coerce) {
    options.set("coerce", coerce);
    return this;
  }

  /**
   * Skip this many rows, of those that match. Default: {@code 0}.
   *
   * @param skip the value
   * @return this
   */
  public JsonReader skip(final Long skip) {
    options.set("skip", skip);
    return this;
  }

  /**
   * Add a column of this name with the keys that the schema lacks and their values, as a JSON
   * object; null where it has them all. An inferred schema does not grow then.
   *
   * @param rescuedColumn the value
   * @return this
   */
  public JsonReader rescuedColumn(final String rescuedColumn) {
    options.set("rescued_column", rescuedColumn);
    return this;
  }

  /**
   * Make the fields of objects columns of their own, with dotted names: {@code user.name}.
   *
   * @param flatten the value
   * @return this
   */
  public JsonReader flatten(final boolean flatten) {
    options.set("flatten", flatten);
    return this;
  }

  /**
   * Add a column of this name with the name of the file that a row is from.
   *
   * @param fileColumn the value
   * @return this
   */
  public JsonReader fileColumn(final String fileColumn) {
    options.set("file_column", fileColumn);
    return this;
  }

  /**
   * Add a column of this name with the byte of its file, uncompressed, at which the record starts.
   *
   * @param offsetColumn the value
   * @return this
   */
  public JsonReader offsetColumn(final String offsetColumn) {
    options.set("offset_column", offsetColumn);
    return this;
  }

  /**
   * Add a column of this name with the number of the record in its file, from 0.
   *
   * @param recordColumn the value
   * @return this
   */
  public JsonReader recordColumn(final String recordColumn) {
    options.set("record_column", recordColumn);
    return this;
  }

  /** Values of {@link #format(Format)}. */
  public enum Format {
    /** Detect from the first bytes: an array, one record per line, or else concatenated. */
    AUTO,
    /** One record per line. */
    NDJSON,
    /** Records one after another, each on any number of lines. */
    CONCATENATED,
    /** The elements of one array. */
    ARRAY
  }

  /**
   * How records are separated: {@code auto} (detect from the first bytes: an array, one record per
   * line, or else concatenated), {@code ndjson} (one record per line), {@code concatenated}
   * (records one after another, each on any number of lines), {@code array} (the elements of one
   * array). Default: {@code auto}.
   *
   * @param format the value
   * @return this
   */
  public JsonReader format(final Format format) {
    options.set("format", format);
    return this;
  }

  /**
   * How records are separated: {@code auto} (detect from the first bytes: an array, one record per
   * line, or else concatenated), {@code ndjson} (one record per line), {@code concatenated}
   * (records one after another, each on any number of lines), {@code array} (the elements of one
   * array). Default: {@code auto}.
   *
   * @param format the value
   * @return this
   */
  public JsonReader format(final String format) {
    options.set("format", format);
    return this;
  }

  /**
   * The records of a document are the elements of the array at this path: keys with dots between
   * them ({@code data.items}), or a JSON pointer ({@code /data/items}). Default: documents are
   * records.
   *
   * @param records the value
   * @return this
   */
  public JsonReader records(final String records) {
    options.set("records", records);
    return this;
  }

  /**
   * Fields of a document, beside its records, that these have as columns, too: paths as that of the
   * records, through objects only, or {@code NAME=PATH}.
   *
   * @param parentFields the value
   * @return this
   */
  public JsonReader parentFields(final String... parentFields) {
    options.set("parent_fields", parentFields);
    return this;
  }

  /**
   * Read only lines that begin after this byte, or with 0 from the first one: with {@code
   * range_end} the part of one plain file. Adjacent ranges have every line once. Default: {@code
   * 0}.
   *
   * @param rangeStart the value
   * @return this
   */
  public JsonReader rangeStart(final Long rangeStart) {
    options.set("range_start", rangeStart);
    return this;
  }

  /**
   * Read only lines that begin at this byte or before it; the last one is read to its end. Default:
   * the end.
   *
   * @param rangeEnd the value
   * @return this
   */
  public JsonReader rangeEnd(final Long rangeEnd) {
    options.set("range_end", rangeEnd);
    return this;
  }

  /** Values of {@link #compression(Compression)}. */
  public enum Compression {
    /** Detect from the first bytes. */
    AUTO,
    /** {@code none}. */
    NONE,
    /** {@code gzip}. */
    GZIP,
    /** {@code zstd}. */
    ZSTD,
    /** {@code lz4}. */
    LZ4,
    /** {@code bzip2}. */
    BZIP2,
    /** {@code xz}. */
    XZ
  }

  /**
   * How the input is compressed: {@code auto} (detect from the first bytes), {@code none}, {@code
   * gzip}, {@code zstd}, {@code lz4}, {@code bzip2}, {@code xz}. Default: {@code auto}.
   *
   * @param compression the value
   * @return this
   */
  public JsonReader compression(final Compression compression) {
    options.set("compression", compression);
    return this;
  }

  /**
   * How the input is compressed: {@code auto} (detect from the first bytes), {@code none}, {@code
   * gzip}, {@code zstd}, {@code lz4}, {@code bzip2}, {@code xz}. Default: {@code auto}.
   *
   * @param compression the value
   * @return this
   */
  public JsonReader compression(final String compression) {
    options.set("compression", compression);
    return this;
  }

  /**
   * Maximum bytes of standard input and other streams, together, that are kept in a temporary file,
   * so that they can be read again when an inferred schema grows. Default: {@code 1GiB}.
   *
   * @param spoolBytesMax the value
   * @return this
   */
  public JsonReader spoolBytesMax(final Long spoolBytesMax) {
    options.set("spool_bytes_max", spoolBytesMax);
    return this;
  }

  /**
   * Maximum size of a record. Default: {@code 128MiB}.
   *
   * @param recordBytesMax the value
   * @return this
   */
  public JsonReader recordBytesMax(final Long recordBytesMax) {
    options.set("record_bytes_max", recordBytesMax);
    return this;
  }

  /**
   * Maximum number of fields of a schema, given or inferred, nested fields included. Default:
   * {@code 10000}.
   *
   * @param fieldsMax the value
   * @return this
   */
  public JsonReader fieldsMax(final Integer fieldsMax) {
    options.set("fields_max", fieldsMax);
    return this;
  }

  /**
   * Maximum Arrow size of an empty record: bounds columns of fixed size. Default: {@code 1MiB}.
   *
   * @param rowBytesMax the value
   * @return this
   */
  public JsonReader rowBytesMax(final Long rowBytesMax) {
    options.set("row_bytes_max", rowBytesMax);
    return this;
  }

  /**
   * Maximum Arrow size of one record. Default: {@code 1GiB}.
   *
   * @param batchBytesMax the value
   * @return this
   */
  public JsonReader batchBytesMax(final Long batchBytesMax) {
    options.set("batch_bytes_max", batchBytesMax);
    return this;
  }

  /**
   * Accept {@code NaN}, {@code Infinity} and {@code -Infinity} in floating-point columns.
   *
   * @param allowNan the value
   * @return this
   */
  public JsonReader allowNan(final boolean allowNan) {
    options.set("allow_nan", allowNan);
    return this;
  }

  /** Values of {@link #dialect(Dialect)}. */
  public enum Dialect {
    /** Exactly ISO 8601; strings only in columns of strings. */
    ISO,
    /** As Apache Spark 4 reads JSON. */
    SPARK
  }

  /**
   * Whose rules apply to values: with {@code spark}, dates, timestamps, base64, and values in
   * columns of strings are read as by the JSON source of Apache Spark: {@code iso} (exactly ISO
   * 8601; strings only in columns of strings), {@code spark} (as Apache Spark 4 reads JSON).
   * Default: {@code iso}.
   *
   * @param dialect the value
   * @return this
   */
  public JsonReader dialect(final Dialect dialect) {
    options.set("dialect", dialect);
    return this;
  }

  /**
   * Whose rules apply to values: with {@code spark}, dates, timestamps, base64, and values in
   * columns of strings are read as by the JSON source of Apache Spark: {@code iso} (exactly ISO
   * 8601; strings only in columns of strings), {@code spark} (as Apache Spark 4 reads JSON).
   * Default: {@code iso}.
   *
   * @param dialect the value
   * @return this
   */
  public JsonReader dialect(final String dialect) {
    options.set("dialect", dialect);
    return this;
  }

  /**
   * Trust the input to be valid JSON: values that no column needs are not validated.
   *
   * @param trust the value
   * @return this
   */
  public JsonReader trust(final boolean trust) {
    options.set("trust", trust);
    return this;
  }

  /** Values of {@link #onError(OnError)}. */
  public enum OnError {
    /** Stop with an error; the rows before it are kept. */
    FAIL,
    /** Replace a value that does not match by null. */
    NULL,
    /** Skip the record. */
    SKIP
  }

  /**
   * How to handle records that do not match the schema: {@code fail} (stop with an error; the rows
   * before it are kept), {@code null} (replace a value that does not match by null), {@code skip}
   * (skip the record). Default: {@code fail}.
   *
   * @param onError the value
   * @return this
   */
  public JsonReader onError(final OnError onError) {
    options.set("on_error", onError);
    return this;
  }

  /**
   * How to handle records that do not match the schema: {@code fail} (stop with an error; the rows
   * before it are kept), {@code null} (replace a value that does not match by null), {@code skip}
   * (skip the record). Default: {@code fail}.
   *
   * @param onError the value
   * @return this
   */
  public JsonReader onError(final String onError) {
    options.set("on_error", onError);
    return this;
  }

  /** Values of {@link #duplicateKeys(DuplicateKeys)}. */
  public enum DuplicateKeys {
    /** Use the last value. */
    LAST,
    /** Treat the record as one that does not match the schema. */
    ERROR
  }

  /**
   * How to handle a key that appears twice in an object: {@code last} (use the last value), {@code
   * error} (treat the record as one that does not match the schema). Default: {@code last}.
   *
   * @param duplicateKeys the value
   * @return this
   */
  public JsonReader duplicateKeys(final DuplicateKeys duplicateKeys) {
    options.set("duplicate_keys", duplicateKeys);
    return this;
  }

  /**
   * How to handle a key that appears twice in an object: {@code last} (use the last value), {@code
   * error} (treat the record as one that does not match the schema). Default: {@code last}.
   *
   * @param duplicateKeys the value
   * @return this
   */
  public JsonReader duplicateKeys(final String duplicateKeys) {
    options.set("duplicate_keys", duplicateKeys);
    return this;
  }

  /** Values of {@link #unknownKeys(UnknownKeys)}. */
  public enum UnknownKeys {
    /** Ignore the key and its value. */
    SKIP,
    /** Treat the record as one that does not match the schema. */
    ERROR
  }

  /**
   * How to handle a key that is not in the schema: {@code skip} (ignore the key and its value),
   * {@code error} (treat the record as one that does not match the schema). Default: {@code skip}.
   *
   * @param unknownKeys the value
   * @return this
   */
  public JsonReader unknownKeys(final UnknownKeys unknownKeys) {
    options.set("unknown_keys", unknownKeys);
    return this;
  }

  /**
   * How to handle a key that is not in the schema: {@code skip} (ignore the key and its value),
   * {@code error} (treat the record as one that does not match the schema). Default: {@code skip}.
   *
   * @param unknownKeys the value
   * @return this
   */
  public JsonReader unknownKeys(final String unknownKeys) {
    options.set("unknown_keys", unknownKeys);
    return this;
  }

  /** Values of {@link #lateKeys(LateKeys)}. */
  public enum LateKeys {
    /** Add columns; an error in streams, whose schema comes first. */
    ADD,
    /** Fail, with the key and its position. */
    ERROR,
    /** Skip the key and its value, and count it. */
    IGNORE
  }

  /**
   * How to handle keys that an inferred schema lacks because they first appear after the records
   * that it was inferred from: {@code add} (add columns; an error in streams, whose schema comes
   * first), {@code error} (fail, with the key and its position), {@code ignore} (skip the key and
   * its value, and count it). Default: {@code add}.
   *
   * @param lateKeys the value
   * @return this
   */
  public JsonReader lateKeys(final LateKeys lateKeys) {
    options.set("late_keys", lateKeys);
    return this;
  }

  /**
   * How to handle keys that an inferred schema lacks because they first appear after the records
   * that it was inferred from: {@code add} (add columns; an error in streams, whose schema comes
   * first), {@code error} (fail, with the key and its position), {@code ignore} (skip the key and
   * its value, and count it). Default: {@code add}.
   *
   * @param lateKeys the value
   * @return this
   */
  public JsonReader lateKeys(final String lateKeys) {
    options.set("late_keys", lateKeys);
    return this;
  }

  /**
   * Approximate Arrow size of a batch.
   *
   * @param batchBytes the value
   * @return this
   */
  public JsonReader batchBytes(final Long batchBytes) {
    options.set("batch_bytes", batchBytes);
    return this;
  }

  /**
   * Number of records to infer the schema from, or {@code all}. Default: {@code 10000}.
   *
   * @param inferRecords the value
   * @return this
   */
  public JsonReader inferRecords(final Long inferRecords) {
    options.set("infer_records", inferRecords);
    return this;
  }

  /**
   * Infer a map for objects below the record with more distinct keys than this. Default: {@code
   * 1000}.
   *
   * @param objectKeysMax the value
   * @return this
   */
  public JsonReader objectKeysMax(final Long objectKeysMax) {
    options.set("object_keys_max", objectKeysMax);
    return this;
  }

  /**
   * Infer dates and timestamps for string fields whose values are all in ISO 8601.
   *
   * @param inferTimestamps the value
   * @return this
   */
  public JsonReader inferTimestamps(final boolean inferTimestamps) {
    options.set("infer_timestamps", inferTimestamps);
    return this;
  }

  // End of what is made.

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
