// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import org.apache.arrow.memory.ArrowBuf;

/** One column while it is encoded: the memory that all chunks write to. Its monitor guards words that two chunks share. */
final class Column {
  static final Slot[] NO_SLOTS = {};

  final Node node;
  final Column[] children;

  /** Values of all chunks. */
  long rows;

  /** Nulls of all chunks. */
  long nulls;

  ArrowBuf validity;
  ArrowBuf offsets;
  ArrowBuf data;

  Column(final Node node) {
    this.node = node;
    this.children = node.children.stream().map(Column::new).toArray(Column[]::new);
  }

  /** New slots of the columns below, for one chunk. */
  Slot[] slots() {
    final Slot[] slots = new Slot[children.length];
    for (int child = 0; child < slots.length; child++) {
      slots[child] = children[child].node.slot(children[child]);
    }
    return slots;
  }
}
