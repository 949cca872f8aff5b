// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

/**
 * Fields of a primitive type. Generated code writes at {@link #at} itself, except for booleans,
 * which are bits.
 */
final class PrimitiveSlot extends Slot {
  private Bits bits;

  PrimitiveSlot(final Column column) {
    super(column);
  }

  @Override
  void place(final long row, final long offset) {
    super.place(row, offset);
    if (column.node.kind == Kind.BOOL) {
      bits = new Bits(column, column.data.memoryAddress(), row);
    }
  }

  void append(final boolean value) {
    bits.append(value);
  }

  @Override
  void append(final Object value) {
    throw new IllegalStateException("primitive values are not objects");
  }

  @Override
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    super.moved(validityBy, offsetsBy, dataBy);
    if (bits != null) {
      bits.move(dataBy);
    }
  }

  @Override
  void finish() {
    super.finish();
    if (bits != null) {
      bits.finish();
    }
  }
}
