// SPDX-License-Identifier: Apache-2.0
package bench;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/** Arrow Java's own vectors, filled by their setters. */
final class Vectors {
    private Vectors() {}

    static Approach setters() throws Throwable {
        return new Shares(Writer::new);
    }

    private static final class Writer implements Shares.Writer {
        private final BufferAllocator allocator = new RootAllocator();
        private final VectorSchemaRoot root = VectorSchemaRoot.create(ToVectors.schema(), allocator);
        private final ToVectors to = new ToVectors(root);

        @Override
        public long run(@ROOT@[] objects, int from, int end) {
            long sum = 0;
            while (from < end) {
                int next = Space.end(objects, from, end);
                // The memory of the previous round is reused.
                root.getFieldVectors().forEach(FieldVector::reset);
                for (int at = from; at < next; at++) {
                    to.set(at - from, objects[at]);
                }
                root.setRowCount(next - from);
                sum += VectorSums.of(root, 0, next - from);
                from = next;
            }
            return sum;
        }

        @Override
        public void close() {
            root.close();
            allocator.close();
        }
    }
}
