// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * The functions of the native library, described in {@code arrowsmith.h}: by the Foreign Function
 * &amp; Memory API, for JDK 22 and newer. Addresses are numbers, and callers are responsible for
 * their validity.
 */
final class Natives {
  static {
    Library.load();
  }

  private static final MethodHandle VERSION = number("arrowsmith_version", 0);
  private static final MethodHandle OPEN = number("arrowsmith_open", 7);
  private static final MethodHandle INFER_SCHEMA = number("arrowsmith_infer_schema", 6);
  private static final MethodHandle PARQUET_METADATA = number("arrowsmith_parquet_metadata", 4);
  private static final MethodHandle JSON_KINDS = number("arrowsmith_json_kinds", 4);
  private static final MethodHandle UTF8_PREFIX = number("arrowsmith_utf8_prefix", 2);
  private static final MethodHandle SPARK_ROWS = number("arrowsmith_spark_rows", 8);
  private static final MethodHandle SCHEMA = number("arrowsmith_reader_schema", 3);
  private static final MethodHandle NEXT = number("arrowsmith_reader_next", 3);
  private static final MethodHandle REJECT = number("arrowsmith_reader_reject", 1);
  private static final MethodHandle ROWS = number("arrowsmith_reader_rows", 1);
  private static final MethodHandle REJECTS = number("arrowsmith_reader_rejects", 1);
  private static final MethodHandle CANCEL = nothing("arrowsmith_reader_cancel", 1);
  private static final MethodHandle CLOSE = nothing("arrowsmith_reader_close", 1);
  private static final MethodHandle FREE_ERROR = nothing("arrowsmith_error_free", 1);
  private static final MethodHandle NEW_BUFFER = number("arrowsmith_buffer_new", 1);
  private static final MethodHandle FREE_BUFFER = nothing("arrowsmith_buffer_free", 1);
  private static final MethodHandle NEW_MEMORY = number("arrowsmith_memory_new", 2);
  private static final MethodHandle FREE_MEMORY = nothing("arrowsmith_memory_free", 1);
  private static final MethodHandle NEW_STREAM = number("arrowsmith_stream_new", 0);
  private static final MethodHandle WRITE_STREAM = number("arrowsmith_stream_write", 3);
  private static final MethodHandle END_STREAM = nothing("arrowsmith_stream_end", 3);
  private static final MethodHandle FREE_STREAM = nothing("arrowsmith_stream_free", 1);
  private static final MethodHandle RELEASE_ARRAY = nothing("arrowsmith_array_release", 1);
  private static final MethodHandle LIVE_READERS = number("arrowsmith_live_readers", 0);
  private static final MethodHandle LIVE_BYTES = number("arrowsmith_live_bytes", 0);
  private static final MethodHandle RELEASE_MEMORY = nothing("arrowsmith_release_memory", 0);

  private Natives() {}

  private static MemoryLayout[] longs(final int count) {
    final MemoryLayout[] layouts = new MemoryLayout[count];
    Arrays.fill(layouts, JAVA_LONG);
    return layouts;
  }

  private static MethodHandle number(final String name, final int parameters) {
    return find(name, FunctionDescriptor.of(JAVA_LONG, longs(parameters)));
  }

  private static MethodHandle nothing(final String name, final int parameters) {
    return find(name, FunctionDescriptor.ofVoid(longs(parameters)));
  }

  private static MethodHandle find(final String name, final FunctionDescriptor type) {
    return SymbolLookup.loaderLookup()
        .find(name)
        .map(function -> Linker.nativeLinker().downcallHandle(function, type))
        .orElseThrow(() -> new UnsatisfiedLinkError(name));
  }

  /** No native function throws. */
  private static IllegalStateException impossible(final Throwable thrown) {
    return new IllegalStateException(thrown);
  }

  /** Address of the version, a C string. */
  static long version() {
    try {
      return (long) VERSION.invokeExact();
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Opens a reader; 0 is failure. */
  static long open(final long format, final long sources, final long sourceCount, final long schema, final long options, final long optionsBytes, final long error) {
    try {
      return (long) OPEN.invokeExact(format, sources, sourceCount, schema, options, optionsBytes, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Infers a schema; -1 is failure. */
  static long inferSchema(final long sources, final long sourceCount, final long options, final long optionsBytes, final long out, final long error) {
    try {
      return (long) INFER_SCHEMA.invokeExact(sources, sourceCount, options, optionsBytes, out, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** The metadata of a Parquet file, as a buffer; 0 is failure. */
  static long parquetMetadata(final long source, final long pages, final long bytes, final long error) {
    try {
      return (long) PARQUET_METADATA.invokeExact(source, pages, bytes, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** The kinds of values in lines of JSON, as a buffer; 0 is failure. */
  static long jsonKinds(final long lines, final long linesBytes, final long bytes, final long error) {
    try {
      return (long) JSON_KINDS.invokeExact(lines, linesBytes, bytes, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** The bytes before the first that is not UTF-8. */
  static long utf8Prefix(final long text, final long textBytes) {
    try {
      return (long) UTF8_PREFIX.invokeExact(text, textBytes);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Writes rows of columns; 0 if there is no room for one, -1 is failure. */
  static long sparkRows(final long columns, final long columnCount, final long first, final long rows, final long out, final long bytes, final long ends, final long error) {
    try {
      return (long) SPARK_ROWS.invokeExact(columns, columnCount, first, rows, out, bytes, ends, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** A reader's schema; -1 is failure. */
  static long schema(final long reader, final long out, final long error) {
    try {
      return (long) SCHEMA.invokeExact(reader, out, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** The next batch: 1, 2 if rejects have to be taken first, 0 at the end, -1 is failure. */
  static long next(final long reader, final long out, final long error) {
    try {
      return (long) NEXT.invokeExact(reader, out, error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** The next reject, or 0. */
  static long reject(final long reader) {
    try {
      return (long) REJECT.invokeExact(reader);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Rows so far. */
  static long rows(final long reader) {
    try {
      return (long) ROWS.invokeExact(reader);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Rejects so far. */
  static long rejects(final long reader) {
    try {
      return (long) REJECTS.invokeExact(reader);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Cancels another thread's call. */
  static void cancel(final long reader) {
    try {
      CANCEL.invokeExact(reader);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Frees a reader. */
  static void close(final long reader) {
    try {
      CLOSE.invokeExact(reader);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Frees an error or a reject. */
  static void freeError(final long error) {
    try {
      FREE_ERROR.invokeExact(error);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Memory for the bytes of a source; 0 if there is none. */
  static long newBuffer(final long bytes) {
    try {
      return (long) NEW_BUFFER.invokeExact(bytes);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Frees a buffer. */
  static void freeBuffer(final long buffer) {
    try {
      FREE_BUFFER.invokeExact(buffer);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** A block of the pool; 0 if there is none. */
  static long newMemory(final long bytes, final long address) {
    try {
      return (long) NEW_MEMORY.invokeExact(bytes, address);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Gives a block back to the pool. */
  static void freeMemory(final long memory) {
    try {
      FREE_MEMORY.invokeExact(memory);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** A stream. */
  static long newStream() {
    try {
      return (long) NEW_STREAM.invokeExact();
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Copies bytes to a stream, and waits while it is full; 0 if it has no reader any more. */
  static long writeStream(final long stream, final long bytes, final long count) {
    try {
      return (long) WRITE_STREAM.invokeExact(stream, bytes, count);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Ends a stream: with the address of an error text, or 0. */
  static void endStream(final long stream, final long error, final long errorBytes) {
    try {
      END_STREAM.invokeExact(stream, error, errorBytes);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Frees a stream. */
  static void freeStream(final long stream) {
    try {
      FREE_STREAM.invokeExact(stream);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Releases an array of the C Data Interface. */
  static void releaseArray(final long array) {
    try {
      RELEASE_ARRAY.invokeExact(array);
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Readers that are open. */
  static long liveReaders() {
    try {
      return (long) LIVE_READERS.invokeExact();
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Bytes of Arrow memory in use. */
  static long liveBytes() {
    try {
      return (long) LIVE_BYTES.invokeExact();
    } catch (Throwable e) {
      throw impossible(e);
    }
  }

  /** Returns the pool's free memory to the system. */
  static void releaseMemory() {
    try {
      RELEASE_MEMORY.invokeExact();
    } catch (Throwable e) {
      throw impossible(e);
    }
  }
}
