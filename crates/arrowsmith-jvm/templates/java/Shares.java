// SPDX-License-Identifier: Apache-2.0
package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * An approach whose bytecode walks the objects: each thread has a share of the collection and a
 * buffer of its own.
 */
final class Shares implements Approach {
    /** The state of one thread: its buffer, reused by later calls. */
    interface Writer extends AutoCloseable {
        /** Writes some objects and adds them up in native code. */
        long run(@ROOT@[] objects, int from, int to) throws Throwable;

        /** Whether run() returns the sum of the primitives. */
        default boolean sums() {
            return true;
        }

        /** The sum of the primitives that arrived. */
        default long check(@ROOT@[] objects) throws Throwable {
            return run(objects, 0, objects.length);
        }

        @Override
        default void close() {}
    }

    interface Factory {
        Writer make() throws Throwable;
    }

    private final Factory factory;
    private final List<Writer> writers = new ArrayList<>();
    private final @ROOT@[] single = new @ROOT@[1];
    private ExecutorService pool;

    Shares(Factory factory) throws Throwable {
        this.factory = factory;
        writers.add(factory.make());
    }

    @Override
    public long one(@ROOT@ object) throws Throwable {
        single[0] = object;
        return writers.get(0).run(single, 0, 1);
    }

    @Override
    public long all(@ROOT@[] objects, int threads) throws Throwable {
        while (writers.size() < threads) {
            writers.add(factory.make());
        }
        if (pool == null && threads > 1) {
            pool = Executors.newCachedThreadPool(task -> {
                Thread thread = new Thread(task);
                thread.setDaemon(true);
                return thread;
            });
        }
        List<Future<Long>> others = new ArrayList<>();
        for (int thread = 1; thread < threads; thread++) {
            int at = thread;
            others.add(pool.submit((Callable<Long>) () -> share(objects, at, threads)));
        }
        long sum = share(objects, 0, threads);
        for (Future<Long> other : others) {
            sum += other.get();
        }
        return sum;
    }

    @Override
    public boolean sums() {
        return writers.get(0).sums();
    }

    @Override
    public long check(@ROOT@[] objects) throws Throwable {
        return writers.get(0).check(objects);
    }

    private long share(@ROOT@[] objects, int thread, int threads) throws Exception {
        int from = (int) ((long) objects.length * thread / threads);
        int to = (int) ((long) objects.length * (thread + 1) / threads);
        try {
            return writers.get(thread).run(objects, from, to);
        } catch (RuntimeException | Error failure) {
            throw failure;
        } catch (Throwable failure) {
            throw new IllegalStateException(failure);
        }
    }

    @Override
    public void close() {
        writers.forEach(Writer::close);
        if (pool != null) {
            pool.shutdown();
        }
    }
}
