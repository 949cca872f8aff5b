// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * The functions of the native library, described in {@code arrowsmith.h}: by the Java Native
 * Interface, for JDK 17 to 21. Addresses are numbers, and callers are responsible for their
 * validity.
 */
final class Natives {
  static {
    Library.load();
  }

  private Natives() {}

  /** Address of the version, a C string. */
  static long version() {
    return Jni.version();
  }

  /** Opens a reader; 0 is failure. */
  static long open(final long format, final long sources, final long sourceCount, final long schema, final long options, final long optionsBytes, final long error) {
    return Jni.open(format, sources, sourceCount, schema, options, optionsBytes, error);
  }

  /** Infers a schema; -1 is failure. */
  static long inferSchema(final long sources, final long sourceCount, final long options, final long optionsBytes, final long out, final long error) {
    return Jni.inferSchema(sources, sourceCount, options, optionsBytes, out, error);
  }

  /** The metadata of a Parquet file, as a buffer; 0 is failure. */
  static long parquetMetadata(final long source, final long pages, final long bytes, final long error) {
    return Jni.parquetMetadata(source, pages, bytes, error);
  }

  /** The kinds of values in lines of JSON, as a buffer; 0 is failure. */
  static long jsonKinds(final long lines, final long linesBytes, final long bytes, final long error) {
    return Jni.jsonKinds(lines, linesBytes, bytes, error);
  }

  /** The bytes before the first that is not UTF-8. */
  static long utf8Prefix(final long text, final long textBytes) {
    return Jni.utf8Prefix(text, textBytes);
  }

  /** Writes rows of columns; 0 if there is no room for one, -1 is failure. */
  static long sparkRows(final long columns, final long columnCount, final long first, final long rows, final long out, final long bytes, final long ends, final long error) {
    return Jni.sparkRows(columns, columnCount, first, rows, out, bytes, ends, error);
  }

  /** A reader's schema; -1 is failure. */
  static long schema(final long reader, final long out, final long error) {
    return Jni.schema(reader, out, error);
  }

  /** The next batch: 1, 2 if rejects have to be taken first, 0 at the end, -1 is failure. */
  static long next(final long reader, final long out, final long error) {
    return Jni.next(reader, out, error);
  }

  /** The next reject, or 0. */
  static long reject(final long reader) {
    return Jni.reject(reader);
  }

  /** Rows so far. */
  static long rows(final long reader) {
    return Jni.rows(reader);
  }

  /** Rejects so far. */
  static long rejects(final long reader) {
    return Jni.rejects(reader);
  }

  /** Cancels another thread's call. */
  static void cancel(final long reader) {
    Jni.cancel(reader);
  }

  /** Frees a reader. */
  static void close(final long reader) {
    Jni.close(reader);
  }

  /** Frees an error or a reject. */
  static void freeError(final long error) {
    Jni.freeError(error);
  }

  /** Memory for the bytes of a source; 0 if there is none. */
  static long newBuffer(final long bytes) {
    return Jni.newBuffer(bytes);
  }

  /** Frees a buffer. */
  static void freeBuffer(final long buffer) {
    Jni.freeBuffer(buffer);
  }

  /** A block of the pool; 0 if there is none. */
  static long newMemory(final long bytes, final long address) {
    return Jni.newMemory(bytes, address);
  }

  /** Gives a block back to the pool. */
  static void freeMemory(final long memory) {
    Jni.freeMemory(memory);
  }

  /** A stream. */
  static long newStream() {
    return Jni.newStream();
  }

  /** Copies bytes to a stream, and waits while it is full; 0 if it has no reader any more. */
  static long writeStream(final long stream, final long bytes, final long count) {
    return Jni.writeStream(stream, bytes, count);
  }

  /** Ends a stream: with the address of an error text, or 0. */
  static void endStream(final long stream, final long error, final long errorBytes) {
    Jni.endStream(stream, error, errorBytes);
  }

  /** Frees a stream. */
  static void freeStream(final long stream) {
    Jni.freeStream(stream);
  }

  /** Releases an array of the C Data Interface. */
  static void releaseArray(final long array) {
    Jni.releaseArray(array);
  }

  /** Readers that are open. */
  static long liveReaders() {
    return Jni.liveReaders();
  }

  /** Bytes of Arrow memory in use. */
  static long liveBytes() {
    return Jni.liveBytes();
  }

  /** Returns the pool's free memory to the system. */
  static void releaseMemory() {
    Jni.releaseMemory();
  }
}
