// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/** The input is not JSON, or does not fit the schema. */
public final class DataException extends ArrowsmithException {
  private static final long serialVersionUID = 1L;

  /** The kind, for programs: {@code syntax}, {@code wrong-type}, {@code overflow}, …. */
  private final String kind;

  /** The name of the source; null for bytes in memory. */
  private final String source;

  /** The number of the record in its source, from 0. */
  private final long record;

  /** The number of the line in its source, from 1. */
  private final long line;

  /** The offset in the source of the first invalid byte, from 0. */
  private final long offset;

  /** The field, such as {@code user.tags[3]}; empty at the top. */
  private final String path;

  /** What the schema expects there. */
  private final String expected;

  /** What was found there. */
  private final String found;

  /** The option or change that helps, or null. */
  private final String hint;

  /**
   * Makes one.
   *
   * @param message the full message
   * @param kind the kind, for programs: {@code syntax}, {@code wrong-type}, {@code overflow}, …
   * @param source the name of the source; null for bytes in memory
   * @param record the number of the record in its source, from 0
   * @param line the number of the line in its source, from 1
   * @param offset the offset in the source of the first invalid byte, from 0
   * @param path the field, such as {@code user.tags[3]}; empty at the top
   * @param expected what the schema expects there
   * @param found what was found there
   * @param hint the option or change that helps, or null
   */
  public DataException(
      final String message,
      final String kind,
      final String source,
      final long record,
      final long line,
      final long offset,
      final String path,
      final String expected,
      final String found,
      final String hint) {
    super(message);
    this.kind = kind;
    this.source = source;
    this.record = record;
    this.line = line;
    this.offset = offset;
    this.path = path;
    this.expected = expected;
    this.found = found;
    this.hint = hint;
  }

  /**
   * The kind, for programs: {@code syntax}, {@code wrong-type}, {@code overflow}, ….
   *
   * @return the kind, for programs: {@code syntax}, {@code wrong-type}, {@code overflow}, …
   */
  public String kind() {
    return kind;
  }

  /**
   * The name of the source; null for bytes in memory.
   *
   * @return the name of the source; null for bytes in memory
   */
  public String source() {
    return source;
  }

  /**
   * The number of the record in its source, from 0.
   *
   * @return the number of the record in its source, from 0
   */
  public long record() {
    return record;
  }

  /**
   * The number of the line in its source, from 1.
   *
   * @return the number of the line in its source, from 1
   */
  public long line() {
    return line;
  }

  /**
   * The offset in the source of the first invalid byte, from 0.
   *
   * @return the offset in the source of the first invalid byte, from 0
   */
  public long offset() {
    return offset;
  }

  /**
   * The field, such as {@code user.tags[3]}; empty at the top.
   *
   * @return the field, such as {@code user.tags[3]}; empty at the top
   */
  public String path() {
    return path;
  }

  /**
   * What the schema expects there.
   *
   * @return what the schema expects there
   */
  public String expected() {
    return expected;
  }

  /**
   * What was found there.
   *
   * @return what was found there
   */
  public String found() {
    return found;
  }

  /**
   * The option or change that helps, or null.
   *
   * @return the option or change that helps, or null
   */
  public String hint() {
    return hint;
  }
}
