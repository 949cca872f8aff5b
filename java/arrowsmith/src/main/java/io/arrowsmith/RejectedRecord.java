// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

/**
 * A record that was skipped or changed, without the reason.
 *
 * @param number its number in the source, from 0; with the option {@code count_before} as false, in
 * the byte range that is read
 * @param offset the byte of the file that is the reason: in the record, or where its line ends
 * @param text the record
 */
public record RejectedRecord(long number, long offset, byte[] text) {}
