// SPDX-License-Identifier: Apache-2.0
package bench;

/** A way from objects to native memory, where their primitives are added up. */
interface Approach extends AutoCloseable {
    /** Hands over one object. */
    long one(@ROOT@ object) throws Throwable;

    /** Hands over a collection, by so many threads. */
    long all(@ROOT@[] objects, int threads) throws Throwable;

    /** Whether one() and all() give the sum of the primitives; if not, native code cannot read what it gets. */
    default boolean sums() {
        return true;
    }

    /** Whether something is handed over that native code may leave unread. */
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
