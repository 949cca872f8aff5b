// SPDX-License-Identifier: Apache-2.0
package bench;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.util.DefaultInstantiatorStrategy;
import org.objenesis.strategy.StdInstantiatorStrategy;

/**
 * Kryo, with the classes of the layout registered; native code reads every byte of its output, and
 * the content is checked by deserializing it.
 */
final class Kryos {
    private Kryos() {}

    static Shares.Writer writer() {
        return new Writer();
    }

    private static final class Writer implements Shares.Writer {
        private final Kryo kryo = new Kryo();
        private final Output output = new Output(4096, Integer.MAX_VALUE - 16);

        Writer() {
            kryo.setRegistrationRequired(false);
            kryo.setReferences(false);
            kryo.setInstantiatorStrategy(new DefaultInstantiatorStrategy(new StdInstantiatorStrategy()));
            for (Class<?> type : Layout.CLASSES) {
                kryo.register(type);
            }
        }

        @Override
        public long run(@ROOT@[] objects, int from, int to) {
            while (from < to) {
                output.setPosition(0);
                while (from < to && output.position() < Space.SLICE_BYTES) {
                    kryo.writeObject(output, objects[from++]);
                }
                Native.touch(output.getBuffer(), output.position());
            }
            return 0;
        }

        @Override
        public boolean sums() {
            return false;
        }

        @Override
        public long check(@ROOT@[] objects) {
            long sum = 0;
            for (@ROOT@ object : objects) {
                output.setPosition(0);
                kryo.writeObject(output, object);
                sum += Sum.c0(kryo.readObject(new Input(output.getBuffer(), 0, output.position()), @ROOT@.class));
            }
            return sum;
        }
    }
}
