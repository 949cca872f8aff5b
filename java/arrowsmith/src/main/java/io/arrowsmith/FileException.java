// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/** A Parquet file that is invalid, or uses an unsupported feature. */
public final class FileException extends ArrowsmithException {
  private static final long serialVersionUID = 1L;

  /** The kind, for programs: {@code corrupt}, {@code unsupported}, …. */
  private final String kind;

  /** The name of the file; null for bytes in memory. */
  private final String source;

  /** The number of the row group, from 0; -1 if unknown. */
  private final long rowGroup;

  /** The column, dotted, or null. */
  private final String column;

  /** The number of the page in its column chunk, from 0; -1 if unknown. */
  private final long page;

  /** The offset in the file, in bytes; -1 if unknown. */
  private final long offset;

  /**
   * Makes one.
   *
   * @param message the full message
   * @param kind the kind, for programs: {@code corrupt}, {@code unsupported}, …
   * @param source the name of the file; null for bytes in memory
   * @param rowGroup the number of the row group, from 0; -1 if unknown
   * @param column the column, dotted, or null
   * @param page the number of the page in its column chunk, from 0; -1 if unknown
   * @param offset the offset in the file, in bytes; -1 if unknown
   */
  public FileException(
      final String message,
      final String kind,
      final String source,
      final long rowGroup,
      final String column,
      final long page,
      final long offset) {
    super(message);
    this.kind = kind;
    this.source = source;
    this.rowGroup = rowGroup;
    this.column = column;
    this.page = page;
    this.offset = offset;
  }

  /**
   * The kind, for programs: {@code corrupt}, {@code unsupported}, ….
   *
   * @return the kind, for programs: {@code corrupt}, {@code unsupported}, …
   */
  public String kind() {
    return kind;
  }

  /**
   * The name of the file; null for bytes in memory.
   *
   * @return the name of the file; null for bytes in memory
   */
  public String source() {
    return source;
  }

  /**
   * The number of the row group, from 0; -1 if unknown.
   *
   * @return the number of the row group, from 0; -1 if unknown
   */
  public long rowGroup() {
    return rowGroup;
  }

  /**
   * The column, dotted, or null.
   *
   * @return the column, dotted, or null
   */
  public String column() {
    return column;
  }

  /**
   * The number of the page in its column chunk, from 0; -1 if unknown.
   *
   * @return the number of the page in its column chunk, from 0; -1 if unknown
   */
  public long page() {
    return page;
  }

  /**
   * The offset in the file, in bytes; -1 if unknown.
   *
   * @return the offset in the file, in bytes; -1 if unknown
   */
  public long offset() {
    return offset;
  }
}
