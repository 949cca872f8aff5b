// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/** A schema that is invalid, or cannot be decoded to. */
public final class SchemaException extends ArrowsmithException {
  private static final long serialVersionUID = 1L;

  /** The field, dotted; empty for the schema itself. */
  private final String path;

  /**
   * Makes one.
   *
   * @param message the full message
   * @param path the field, dotted; empty for the schema itself
   */
  public SchemaException(
      final String message,
      final String path) {
    super(message);
    this.path = path;
  }

  /**
   * The field, dotted; empty for the schema itself.
   *
   * @return the field, dotted; empty for the schema itself
   */
  public String path() {
    return path;
  }
}
