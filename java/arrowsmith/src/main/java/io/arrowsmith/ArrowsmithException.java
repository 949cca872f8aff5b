// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.io.IOException;

/** An error of a reader. The subclasses say where it is. */
public class ArrowsmithException extends IOException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param message what happened, and where
   */
  public ArrowsmithException(final String message) {
    super(message);
  }
}
