// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.Arrays;

/** Objects that become structs. They are collected, so that one call writes many. */
final class StructSlot extends Slot {
  /** Objects in a block: their memory stays in the L1 and L2 caches while every member is written.
 */
  private static final int BLOCK = 256;

  private final Codec codec;
  private final Slot[] members;
  private final boolean variable;
  private Object[] block = Column.NO_OBJECTS;
  private int count;

  StructSlot(final Column column) {
    super(column);
    this.codec = column.node.codec;
    this.members = column.slots();
    this.variable = column.node.isVariable();
  }

  @Override
  Slot[] children() {
    return members;
  }

  @Override
  void measure(final Object value) {
    if (!variable) {
      return;
    }
    hold(value);
    if (count == BLOCK) {
      measureBlock();
    }
  }

  private void hold(final Object value) {
    if (count == block.length) {
      block = Arrays.copyOf(block, Math.min(BLOCK, 8 + 2 * count));
    }
    block[count++] = value;
  }

  private void measureBlock() {
    final int held = count;
    count = 0;
    codec.measure(block, 0, held, members);
  }

  @Override
  void settle() {
    if (count > 0) {
      measureBlock();
    }
    super.settle();
  }

  @Override
  void append(final Object value) {
    isThere(value);
    hold(value);
    if (count == BLOCK) {
      writeBlock();
    }
  }

  private void writeBlock() {
    final int held = count;
    count = 0;
    codec.write(block, 0, held, members);
  }

  @Override
  void finish() {
    if (count > 0) {
      writeBlock();
    }
    block = Column.NO_OBJECTS;
    super.finish();
  }
}
