// SPDX-License-Identifier: Apache-2.0
package bench;

import java.nio.ByteBuffer;

/** Arrays into a ByteBuffer. */
final class Buffers {
    private Buffers() {}

    static void put(ByteBuffer buffer, boolean[] values) {
        for (boolean value : values) {
            buffer.put((byte) (value ? 1 : 0));
        }
    }

    static void put(ByteBuffer buffer, byte[] values) {
        buffer.put(values);
    }

    static void put(ByteBuffer buffer, short[] values) {
        buffer.asShortBuffer().put(values);
        buffer.position(buffer.position() + 2 * values.length);
    }

    static void put(ByteBuffer buffer, char[] values) {
        buffer.asCharBuffer().put(values);
        buffer.position(buffer.position() + 2 * values.length);
    }

    static void put(ByteBuffer buffer, int[] values) {
        buffer.asIntBuffer().put(values);
        buffer.position(buffer.position() + 4 * values.length);
    }

    static void put(ByteBuffer buffer, long[] values) {
        buffer.asLongBuffer().put(values);
        buffer.position(buffer.position() + 8 * values.length);
    }

    static void put(ByteBuffer buffer, float[] values) {
        buffer.asFloatBuffer().put(values);
        buffer.position(buffer.position() + 4 * values.length);
    }

    static void put(ByteBuffer buffer, double[] values) {
        buffer.asDoubleBuffer().put(values);
        buffer.position(buffer.position() + 8 * values.length);
    }
}
