// SPDX-License-Identifier: Apache-2.0
package bench;

import com.google.protobuf.InvalidProtocolBufferException;
import java.io.IOException;

/** Protobuf messages; native code reads every byte, and the content is checked by parsing it again.
 */
final class Protobufs {
    private Protobufs() {}

    static Shares.Writer writer() {
        return new Writer();
    }

    private static final class Writer implements Shares.Writer {
        private final Serialized.Bytes bytes = new Serialized.Bytes();

        @Override
        public long run(@ROOT@[] objects, int from, int to) throws IOException {
            while (from < to) {
                bytes.reset();
                while (from < to && bytes.size() < Space.SLICE_BYTES) {
                    ToProtobuf.c0(objects[from++]).writeDelimitedTo(bytes);
                }
                Native.touch(bytes.array(), bytes.size());
            }
            return 0;
        }

        @Override
        public boolean sums() {
            return false;
        }

        @Override
        public long check(@ROOT@[] objects) throws InvalidProtocolBufferException {
            long sum = 0;
            for (@ROOT@ object : objects) {
                sum += OfProtobuf.c0(Wire.M0.parseFrom(ToProtobuf.c0(object).toByteArray()));
            }
            return sum;
        }
    }
}
