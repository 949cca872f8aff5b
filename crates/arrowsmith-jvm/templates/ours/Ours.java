// SPDX-License-Identifier: Apache-2.0
package bench;

import io.arrowsmith.Columns;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;

/** Arrowsmith's columns: the library manages threads and memory. */
final class Ours implements Approach {
    private final Columns<@ROOT@> columns = Columns.of(@ROOT@.class);
    private final BufferAllocator allocator = new RootAllocator();
    private final VectorSchemaRoot root = VectorSchemaRoot.create(columns.schema(), allocator);
    private final @ROOT@[] single = new @ROOT@[1];
    private final ExecutorService pool = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });

    private Ours() {}

    static Approach columns() {
        return new Ours();
    }

    @Override
    public long one(@ROOT@ object) throws Throwable {
        single[0] = object;
        return all(single, 1);
    }

    @Override
    public long all(@ROOT@[] objects, int threads) throws Throwable {
        Columns<@ROOT@> parallel = columns.withThreads(threads);
        long sum = 0;
        for (int from = 0; from < objects.length; ) {
            int end = Space.end(objects, from, objects.length);
            if (end == objects.length && from == 0) {
                parallel.encodeInto(objects, root);
            } else {
                parallel.encodeInto(Arrays.copyOfRange(objects, from, end), root);
            }
            sum += sum(root.getRowCount(), threads);
            from = end;
        }
        return sum;
    }

    private long sum(int rows, int threads) throws Exception {
        if (threads == 1) {
            return VectorSums.of(root, 0, rows);
        }
        List<Future<Long>> others = new ArrayList<>();
        for (int thread = 1; thread < threads; thread++) {
            long from = (long) rows * thread / threads;
            long to = (long) rows * (thread + 1) / threads;
            others.add(pool.submit((Callable<Long>) () -> VectorSums.of(root, from, to)));
        }
        long sum = VectorSums.of(root, 0, rows / threads);
        for (Future<Long> other : others) {
            sum += other.get();
        }
        return sum;
    }

    @Override
    public void close() {
        pool.shutdown();
        root.close();
        allocator.close();
    }
}
