// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/**
 * A class that cannot become columns, objects that do not fit, or columns that do not fit a class.
 *
 * <p>{@link #path()} is the place: fields, dotted, with {@code []} for the elements of a list.
 */
public final class ColumnsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The place. */
  private final String path;

  /**
   * Makes one.
   *
   * @param path the field, dotted; empty for the class itself
   * @param reason the error there
   */
  public ColumnsException(final String path, final String reason) {
    super(path.isEmpty() ? reason : path + ": " + reason);
    this.path = path;
  }

  /**
   * Makes one with a cause.
   *
   * @param path the field, dotted; empty for the class itself
   * @param reason the error there
   * @param cause the cause
   */
  public ColumnsException(final String path, final String reason, final Throwable cause) {
    super(path.isEmpty() ? reason : path + ": " + reason, cause);
    this.path = path;
  }

  /**
   * The place.
   *
   * @return the field, dotted, such as {@code customer.orders[].price}; empty for the class itself
   */
  public String path() {
    return path;
  }
}
