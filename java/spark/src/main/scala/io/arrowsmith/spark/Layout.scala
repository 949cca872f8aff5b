// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

/** Where the members of a struct are among the children of its `ArrowArray`, at every level. */
private trait Layout {

  /** The place of member `index`, or -1 if it is not there. */
  def place(index: Int): Int

  /** What is inside of member `index`; of an array its element, of a map its key and value. */
  def inside(index: Int): Layout
}

private object Layout {

  /** Every member is there, in the order of the type. */
  object InOrder extends Layout {
    override def place(index: Int): Int = index
    override def inside(index: Int): Layout = this
  }

  /** Members at these places. */
  final class Of(places: Seq[Int], members: Seq[Layout]) extends Layout {
    private val (at, within) = (places.toArray, members.toArray)
    override def place(index: Int): Int = at(index)
    override def inside(index: Int): Layout = within(index)
  }
}
