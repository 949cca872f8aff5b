// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/**
 * A record that was skipped, or in which values became null.
 *
 * @param error the error, with its position
 * @param keptAsNull whether its row was kept, with nulls for the values that do not match
 * @param text the record, as in the source
 */
public record Reject(DataException error, boolean keptAsNull, byte[] text) {}
