// SPDX-License-Identifier: Apache-2.0
package bench;

/** A way from objects to native memory, where their primitives are added up. */
interface Approach extends AutoCloseable {
    /** Transfers one object. */
    long one(@ROOT@ object) throws Throwable;

    /** Transfers a collection, with this many threads. */
    long all(@ROOT@[] objects, int threads) throws Throwable;

    /**
     * Whether one() and all() return the sum of the primitives; false if native code cannot read
     * the format.
     */
    default boolean sums() {
        return true;
    }

    /** Whether data is transferred that native code may leave unread. */
    default boolean hands() {
        return true;
    }

    /** The sum of the primitives that arrived. */
    default long check(@ROOT@[] objects) throws Throwable {
        return all(objects, 1);
    }

    @Override
    default void close() {}
}
