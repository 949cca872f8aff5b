// SPDX-License-Identifier: Apache-2.0
package bench;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;

/**
 * Java serialization. Native code cannot read its format: it reads every byte, and the content is
 * checked by deserializing it.
 */
final class Serialized {
    private Serialized() {}

    /** A ByteArrayOutputStream whose bytes are not copied again. */
    static final class Bytes extends ByteArrayOutputStream {
        byte[] array() {
            return buf;
        }
    }

    static final class Java implements Shares.Writer {
        private static final int OBJECTS = 1024;
        private final Bytes bytes = new Bytes();

        @Override
        public long run(@ROOT@[] objects, int from, int to) throws IOException {
            while (from < to) {
                bytes.reset();
                ObjectOutputStream out = new ObjectOutputStream(bytes);
                // A stream remembers every object: written in slices, so that memory is bounded.
                int end = from;
                while (end < to && end - from < OBJECTS && bytes.size() < Space.SLICE_BYTES) {
                    out.writeObject(objects[end++]);
                }
                out.flush();
                Native.touch(bytes.array(), bytes.size());
                from = end;
            }
            return 0;
        }

        @Override
        public boolean sums() {
            return false;
        }

        /** The sum of the deserialized objects. */
        @Override
        public long check(@ROOT@[] objects) throws IOException, ClassNotFoundException {
            long sum = 0;
            for (@ROOT@ object : objects) {
                Bytes bytes = new Bytes();
                try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                    out.writeObject(object);
                }
                try (ObjectInputStream in =
                        new ObjectInputStream(new ByteArrayInputStream(bytes.array(), 0, bytes.size()))) {
                    sum += Sum.c0((@ROOT@) in.readObject());
                }
            }
            return sum;
        }
    }
}
