// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/**
 * A record that was left out, or in which something became null.
 *
 * @param error why, and where
 * @param keptAsNull whether its row is there, with nulls in place of what does not fit
 * @param text the record, as it stood in the source
 */
public record Reject(DataException error, boolean keptAsNull, byte[] text) {}
