// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Views of a direct ByteBuffer by VarHandles. */
final class Views {
    static final VarHandle SHORT = view(short[].class);
    static final VarHandle CHAR = view(char[].class);
    static final VarHandle INT = view(int[].class);
    static final VarHandle LONG = view(long[].class);
    static final VarHandle FLOAT = view(float[].class);
    static final VarHandle DOUBLE = view(double[].class);

    private Views() {}

    private static VarHandle view(Class<?> type) {
        return MethodHandles.byteBufferViewVarHandle(type, ByteOrder.nativeOrder());
    }

    static int put(ByteBuffer buffer, int at, boolean[] values) {
        for (int i = 0; i < values.length; i++) {
            buffer.put(at + i, (byte) (values[i] ? 1 : 0));
        }
        return at + 1 * values.length;
    }

    static int put(ByteBuffer buffer, int at, byte[] values) {
        buffer.put(at, values);
        return at + 1 * values.length;
    }

    static int put(ByteBuffer buffer, int at, short[] values) {
        for (int i = 0; i < values.length; i++) {
            SHORT.set(buffer, at + 2 * i, values[i]);
        }
        return at + 2 * values.length;
    }

    static int put(ByteBuffer buffer, int at, char[] values) {
        for (int i = 0; i < values.length; i++) {
            CHAR.set(buffer, at + 2 * i, values[i]);
        }
        return at + 2 * values.length;
    }

    static int put(ByteBuffer buffer, int at, int[] values) {
        for (int i = 0; i < values.length; i++) {
            INT.set(buffer, at + 4 * i, values[i]);
        }
        return at + 4 * values.length;
    }

    static int put(ByteBuffer buffer, int at, long[] values) {
        for (int i = 0; i < values.length; i++) {
            LONG.set(buffer, at + 8 * i, values[i]);
        }
        return at + 8 * values.length;
    }

    static int put(ByteBuffer buffer, int at, float[] values) {
        for (int i = 0; i < values.length; i++) {
            FLOAT.set(buffer, at + 4 * i, values[i]);
        }
        return at + 4 * values.length;
    }

    static int put(ByteBuffer buffer, int at, double[] values) {
        for (int i = 0; i < values.length; i++) {
            DOUBLE.set(buffer, at + 8 * i, values[i]);
        }
        return at + 8 * values.length;
    }
}
