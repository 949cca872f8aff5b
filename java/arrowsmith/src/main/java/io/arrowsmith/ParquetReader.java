// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.NativeReader;
import io.arrowsmith.internal.Options;
import java.io.IOException;
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

  // Made from crates/arrowsmith/src/options/table.rs by its tests.

  /**
   * The columns to keep, as paths such as {@code user.name}. Default: all.
   *
   * @param columns the value
   * @return this
   */
  public ParquetReader columns(final String... columns) {
    options.set("columns", columns);
    return this;
  }

  /**
   * Keep only rows that match this condition: {@code fare > 10 and (zone = 'A' or zone is null)}.
   *
   * @param filter the value
   * @return this
   */
  public ParquetReader filter(final String filter) {
    options.set("filter", filter);
    return this;
  }

  /**
   * Read at most this many rows, of those that match. Default: all rows.
   *
   * @param limit the value
   * @return this
   */
  public ParquetReader limit(final Long limit) {
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
  public ParquetReader partitions(final String partitions) {
    options.set("partitions", partitions);
    return this;
  }

  /**
   * The engine that decodes; what it declines, the next one decodes. Default: {@code cpu}.
   *
   * @param engine the value
   * @return this
   */
  public ParquetReader engine(final String engine) {
    options.set("engine", engine);
    return this;
  }

  /**
   * Number of decoder threads. Default: one per core.
   *
   * @param threads the value
   * @return this
   */
  public ParquetReader threads(final Integer threads) {
    options.set("threads", threads);
    return this;
  }

  /**
   * Working memory, not counting mapped input and output batches. Default: {@code 256MiB}.
   *
   * @param memoryBytesMax the value
   * @return this
   */
  public ParquetReader memoryBytesMax(final Long memoryBytesMax) {
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
  public ParquetReader gpuMemoryBytesMax(final Long gpuMemoryBytesMax) {
    options.set("gpu_memory_bytes_max", gpuMemoryBytesMax);
    return this;
  }

  /**
   * Maximum nesting depth of a record, or of a file's schema. Default: {@code 128}.
   *
   * @param depthMax the value
   * @return this
   */
  public ParquetReader depthMax(final Integer depthMax) {
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
  public ParquetReader batchRows(final Integer batchRows) {
    options.set("batch_rows", batchRows);
    return this;
  }

  /**
   * Read only these row groups of a single file, in this order. Default: all.
   *
   * @param rowGroups the value
   * @return this
   */
  public ParquetReader rowGroups(final int... rowGroups) {
    options.set("row_groups", rowGroups);
    return this;
  }

  /** Values of {@link #lateColumns(LateColumns)}. */
  public enum LateColumns {
    /** Fail, with the column's name, unless only other columns are read. */
    ERROR,
    /** Add columns: the metadata of all files is read first, and types hold their values. */
    ADD,
    /** Leave the column out. */
    IGNORE
  }

  /**
   * How to handle columns, and fields of structs, that the first of several files lacks: {@code
   * error} (fail, with the column's name, unless only other columns are read), {@code add} (add
   * columns: the metadata of all files is read first, and types hold their values), {@code ignore}
   * (leave the column out). Default: {@code error}.
   *
   * @param lateColumns the value
   * @return this
   */
  public ParquetReader lateColumns(final LateColumns lateColumns) {
    options.set("late_columns", lateColumns);
    return this;
  }

  /**
   * How to handle columns, and fields of structs, that the first of several files lacks: {@code
   * error} (fail, with the column's name, unless only other columns are read), {@code add} (add
   * columns: the metadata of all files is read first, and types hold their values), {@code ignore}
   * (leave the column out). Default: {@code error}.
   *
   * @param lateColumns the value
   * @return this
   */
  public ParquetReader lateColumns(final String lateColumns) {
    options.set("late_columns", lateColumns);
    return this;
  }

  /**
   * String and binary columns to read as dictionaries, as paths, or all of them. Default: {@code
   * false}.
   *
   * @param dictionary the value
   * @return this
   */
  public ParquetReader dictionary(final boolean dictionary) {
    options.set("dictionary", dictionary);
    return this;
  }

  /**
   * String and binary columns to read as dictionaries, as paths, or all of them. Default: {@code
   * false}.
   *
   * @param dictionaryColumns the value
   * @return this
   */
  public ParquetReader dictionaryColumns(final String... dictionaryColumns) {
    options.set("dictionary", dictionaryColumns);
    return this;
  }

  /** Values of {@link #strings(Strings)}. */
  public enum Strings {
    /** As in the Arrow schema that is stored in the file, else small. */
    AUTO,
    /** 32-bit offsets: utf8, binary. */
    SMALL,
    /** 64-bit offsets: large_utf8, large_binary. */
    LARGE,
    /** Views: utf8_view, binary_view. */
    VIEW
  }

  /**
   * The Arrow type of strings and binary values: {@code auto} (as in the Arrow schema that is
   * stored in the file, else small), {@code small} (32-bit offsets: utf8, binary), {@code large}
   * (64-bit offsets: large_utf8, large_binary), {@code view} (views: utf8_view, binary_view).
   * Default: {@code auto}.
   *
   * @param strings the value
   * @return this
   */
  public ParquetReader strings(final Strings strings) {
    options.set("strings", strings);
    return this;
  }

  /**
   * The Arrow type of strings and binary values: {@code auto} (as in the Arrow schema that is
   * stored in the file, else small), {@code small} (32-bit offsets: utf8, binary), {@code large}
   * (64-bit offsets: large_utf8, large_binary), {@code view} (views: utf8_view, binary_view).
   * Default: {@code auto}.
   *
   * @param strings the value
   * @return this
   */
  public ParquetReader strings(final String strings) {
    options.set("strings", strings);
    return this;
  }

  /** Values of {@link #lists(Lists)}. */
  public enum Lists {
    /** As in the Arrow schema that is stored in the file, else small. */
    AUTO,
    /** 32-bit offsets: list. */
    SMALL,
    /** 64-bit offsets: large_list. */
    LARGE
  }

  /**
   * The Arrow type of lists: {@code auto} (as in the Arrow schema that is stored in the file, else
   * small), {@code small} (32-bit offsets: list), {@code large} (64-bit offsets: large_list).
   * Default: {@code auto}.
   *
   * @param lists the value
   * @return this
   */
  public ParquetReader lists(final Lists lists) {
    options.set("lists", lists);
    return this;
  }

  /**
   * The Arrow type of lists: {@code auto} (as in the Arrow schema that is stored in the file, else
   * small), {@code small} (32-bit offsets: list), {@code large} (64-bit offsets: large_list).
   * Default: {@code auto}.
   *
   * @param lists the value
   * @return this
   */
  public ParquetReader lists(final String lists) {
    options.set("lists", lists);
    return this;
  }

  /** Values of {@link #timestampUnit(TimestampUnit)}. */
  public enum TimestampUnit {
    /** {@code s}. */
    S,
    /** {@code ms}. */
    MS,
    /** {@code us}. */
    US,
    /** {@code ns}. */
    NS
  }

  /**
   * The unit of all timestamps; what is finer is truncated: {@code s}, {@code ms}, {@code us},
   * {@code ns}. Default: that of the file.
   *
   * @param timestampUnit the value
   * @return this
   */
  public ParquetReader timestampUnit(final TimestampUnit timestampUnit) {
    options.set("timestamp_unit", timestampUnit);
    return this;
  }

  /**
   * The unit of all timestamps; what is finer is truncated: {@code s}, {@code ms}, {@code us},
   * {@code ns}. Default: that of the file.
   *
   * @param timestampUnit the value
   * @return this
   */
  public ParquetReader timestampUnit(final String timestampUnit) {
    options.set("timestamp_unit", timestampUnit);
    return this;
  }

  /**
   * Use the Arrow schema that is stored in the file by its writer.
   *
   * @param arrowSchema the value
   * @return this
   */
  public ParquetReader arrowSchema(final boolean arrowSchema) {
    options.set("arrow_schema", arrowSchema);
    return this;
  }

  /**
   * Verify page checksums.
   *
   * @param verifyChecksums the value
   * @return this
   */
  public ParquetReader verifyChecksums(final boolean verifyChecksums) {
    options.set("verify_checksums", verifyChecksums);
    return this;
  }

  /**
   * Maximum size of the footer of a file. Default: {@code 256MiB}.
   *
   * @param metadataBytesMax the value
   * @return this
   */
  public ParquetReader metadataBytesMax(final Long metadataBytesMax) {
    options.set("metadata_bytes_max", metadataBytesMax);
    return this;
  }

  /**
   * Maximum size of a page, before and after decompression, and of a column in one batch. Default:
   * {@code 2147483647}.
   *
   * @param pageBytesMax the value
   * @return this
   */
  public ParquetReader pageBytesMax(final Long pageBytesMax) {
    options.set("page_bytes_max", pageBytesMax);
    return this;
  }

  // End of what is made.

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
