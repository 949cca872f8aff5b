// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * Reads the members of objects of one class, and constructs such objects. {@link Generator} writes
 * one subclass for every class that becomes a struct; all state is in slots and sources, so that
 * one codec serves all threads.
 */
abstract class Codec {
  /** Why objects cannot be constructed, or null. */
  String cannotMake;

  /** The class, for messages. */
  String className;

  /**
   * Adds up the memory of members of varying length.
   *
   * @param rows objects; null ones need none
   * @param from the first
   * @param to the one after the last
   * @param slots one for each member
   */
  abstract void measure(Object[] rows, int from, int to, Slot[] slots);

  /**
   * Appends all members of all objects; a null object yields zeros and nulls.
   *
   * @param rows objects
   * @param from the first
   * @param to the one after the last
   * @param slots one for each member
   */
  abstract void write(Object[] rows, int from, int to, Slot[] slots);

  /**
   * Constructs the object of a row.
   *
   * @param row its number in the columns
   * @param sources one for each member
   */
  abstract Object make(int row, Source[] sources);
}
