// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * Takes objects of one class apart, member by member, and makes them again. {@link Generator} writes one class below this for
 * every class that becomes a struct; all state is in slots and sources, so that one codec serves all threads.
 */
abstract class Codec {
  /** Why objects cannot be made, or null. */
  String cannotMake;

  /** The class, for messages. */
  String className;

  /**
   * Adds up what members of varying length need.
   *
   * @param rows objects; null ones need nothing
   * @param from the first
   * @param to the one after the last
   * @param slots one for each member
   */
  abstract void measure(Object[] rows, int from, int to, Slot[] slots);

  /**
   * Appends all members of all objects; a null object gives zeros and nulls.
   *
   * @param rows objects
   * @param from the first
   * @param to the one after the last
   * @param slots one for each member
   */
  abstract void write(Object[] rows, int from, int to, Slot[] slots);

  /**
   * Makes the object of a row.
   *
   * @param row its number in the columns
   * @param sources one for each member
   */
  abstract Object make(int row, Source[] sources);
}
