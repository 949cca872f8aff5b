// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/**
 * A class that cannot become columns, objects that do not fit, or columns that do not fit a class.
 *
 * <p>{@link #path()} says where: fields, dotted, with {@code []} for the elements of a list.
 */
public final class ColumnsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Where. */
  private final String path;

  /**
   * Makes one.
   *
   * @param path the field, dotted; empty for the whole class
   * @param reason what is wrong there
   */
  public ColumnsException(final String path, final String reason) {
    super(path.isEmpty() ? reason : path + ": " + reason);
    this.path = path;
  }

  /**
   * Makes one with a cause.
   *
   * @param path the field, dotted; empty for the whole class
   * @param reason what is wrong there
   * @param cause what happened
   */
  public ColumnsException(final String path, final String reason, final Throwable cause) {
    super(path.isEmpty() ? reason : path + ": " + reason, cause);
    this.path = path;
  }

  /**
   * Where it is.
   *
   * @return the field, dotted, such as {@code customer.orders[].price}; empty for the whole class
   */
  public String path() {
    return path;
  }
}
