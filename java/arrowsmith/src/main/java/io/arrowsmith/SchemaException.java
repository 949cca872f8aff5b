// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/** A schema that makes no sense, or cannot be decoded into. */
public final class SchemaException extends ArrowsmithException {
  private static final long serialVersionUID = 1L;

  /** The field, dotted; empty for the whole schema. */
  private final String path;

  /**
   * Makes one.
   *
   * @param message the whole message
   * @param path the field, dotted; empty for the whole schema
   */
  public SchemaException(
      final String message,
      final String path) {
    super(message);
    this.path = path;
  }

  /**
   * The field, dotted; empty for the whole schema.
   *
   * @return the field, dotted; empty for the whole schema
   */
  public String path() {
    return path;
  }
}
