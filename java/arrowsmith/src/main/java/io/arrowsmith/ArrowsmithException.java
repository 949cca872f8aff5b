// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.io.IOException;

/** What a reader met that it could not read. The classes below say where. */
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
