// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** A source of bytes for a reader. Inputs are read one after another; compression is detected. */
public final class Input {
  /** The kind of input, for {@code io.arrowsmith.internal}. */
  public enum Kind {
    /** A file; for Parquet also a folder. */
    PATH,
    /** A path or pattern, as text. */
    PATTERN,
    /** Bytes in memory. */
    BYTES,
    /** Bytes of a stream. */
    STREAM
  }

  private final Kind kind;
  private final String text;
  private final ByteBuffer bytes;
  private final InputStream stream;

  private Input(
      final Kind kind, final String text, final ByteBuffer bytes, final InputStream stream) {
    this.stream = stream;
    this.kind = kind;
    this.text = text;
    this.bytes = bytes;
  }

  /**
   * A file; for Parquet also a folder, whose {@code name=value} folders are columns.
   *
   * @param path the path
   * @return an input
   */
  public static Input path(final Path path) {
    return new Input(Kind.PATH, Objects.requireNonNull(path, "path").toString(), null, null);
  }

  /**
   * The files that a pattern such as {@code data/*.json} matches, in the order of their names, or
   * the one file of that name.
   *
   * @param pattern a path with {@code *}, {@code ?}, {@code [a-z]} or {@code **} in it
   * @return an input
   */
  public static Input pattern(final String pattern) {
    return new Input(Kind.PATTERN, Objects.requireNonNull(pattern, "pattern"), null, null);
  }

  /**
   * Bytes of an array; they are copied when the reader is opened.
   *
   * @param bytes the bytes
   * @return an input
   */
  public static Input bytes(final byte[] bytes) {
    return new Input(
        Kind.BYTES, null, ByteBuffer.wrap(Objects.requireNonNull(bytes, "bytes")), null);
  }

  /**
   * Bytes of a buffer, from its position to its limit; they are copied when the reader is opened.
   * The buffer's position does not change.
   *
   * @param buffer the buffer
   * @return an input
   */
  public static Input buffer(final ByteBuffer buffer) {
    return new Input(
        Kind.BYTES, null, Objects.requireNonNull(buffer, "buffer").duplicate(), null);
  }

  /**
   * Bytes of a stream, read once; errors have no name for it. It is never closed, not even with the
   * reader.
   *
   * <p>JSON is read while batches are requested, on a thread of its own, in bounded memory: about 1
   * MiB ahead of the decoder. Opening waits for the records that a schema is inferred from. An
   * exception of the stream is rethrown by {@code loadNextBatch}, after the rows before it. When a
   * reader is closed, the rest of the stream stays unread; if its thread is then waiting in {@code
   * read}, it ends when that returns.
   *
   * <p>A Parquet file is read from its end, so a stream is read completely when the reader is
   * opened: up to 4 MiB into memory, else into a temporary file. Only its owner may read this file,
   * errors name it, and it is deleted when the reader is closed. {@link
   * ParquetReader#streamBytesMax} limits its length.
   *
   * @param stream the stream
   * @return an input, for one reader
   */
  public static Input stream(final InputStream stream) {
    return new Input(Kind.STREAM, null, null, Objects.requireNonNull(stream, "stream"));
  }

  /** The inputs of a reader, none of which may be null. */
  static List<Input> all(final Input... inputs) {
    Objects.requireNonNull(inputs, "inputs");
    for (int at = 0; at < inputs.length; at++) {
      if (inputs[at] == null) {
        throw new NullPointerException("input " + at + " is null");
      }
    }
    return List.of(inputs);
  }

  /**
   * The kind of input.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * The path or pattern.
   *
   * @return its text; null for bytes
   */
  public String text() {
    return text;
  }

  /**
   * The stream.
   *
   * @return the stream; null for all else
   */
  public InputStream source() {
    return stream;
  }

  /**
   * The bytes.
   *
   * @return a view of them; null for all else
   */
  public ByteBuffer content() {
    return bytes == null ? null : bytes.duplicate();
  }
}
