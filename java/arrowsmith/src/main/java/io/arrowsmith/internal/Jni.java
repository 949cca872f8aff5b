// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * The native library through the Java Native Interface, for JDK 17 to 21. Addresses are numbers; no
 * heap objects are passed.
 */
final class Jni {
  private Jni() {}

  static native long version();

  static native long open(long format, long sources, long sourceCount, long schema, long options, long optionsBytes, long error);

  static native long inferSchema(long sources, long sourceCount, long options, long optionsBytes, long out, long error);

  static native long parquetMetadata(long source, long pages, long bytes, long error);

  static native long jsonKinds(long lines, long linesBytes, long bytes, long error);

  static native long utf8Prefix(long text, long textBytes);

  static native long sparkRows(long columns, long columnCount, long first, long rows, long out, long bytes, long ends, long error);

  static native long schema(long reader, long out, long error);

  static native long next(long reader, long out, long error);

  static native long reject(long reader);

  static native long rows(long reader);

  static native long rejects(long reader);

  static native void cancel(long reader);

  static native void close(long reader);

  static native void freeError(long error);

  static native long newBuffer(long bytes);

  static native void freeBuffer(long buffer);

  static native long newMemory(long bytes, long address);

  static native void freeMemory(long memory);

  static native long newStream();

  static native long writeStream(long stream, long bytes, long count);

  static native void endStream(long stream, long error, long errorBytes);

  static native void freeStream(long stream);

  static native void releaseArray(long array);

  static native long liveReaders();

  static native long liveBytes();

  static native void releaseMemory();
}
