// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * Off-heap memory by sun.misc.Unsafe. Data of variable length is checked against the end of the
 * buffer.
 */
final class Memory {
    static final Unsafe U;

    static {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            U = (Unsafe) field.get(null);
        } catch (ReflectiveOperationException failure) {
            throw new ExceptionInInitializerError(failure);
        }
    }

    private Memory() {}

    static void need(long at, long end, long bytes) {
        if (end - at < bytes) {
            throw new IllegalStateException("objects were changed while they were read");
        }
    }

    static long put(long at, boolean[] values) {
        long bytes = (long) values.length;
        U.copyMemory(values, Unsafe.ARRAY_BOOLEAN_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, boolean[] values) {
        need(at, end, (long) values.length);
        return put(at, values);
    }

    static long put(long at, byte[] values) {
        long bytes = (long) values.length;
        U.copyMemory(values, Unsafe.ARRAY_BYTE_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, byte[] values) {
        need(at, end, (long) values.length);
        return put(at, values);
    }

    static long put(long at, short[] values) {
        long bytes = (long) values.length << 1;
        U.copyMemory(values, Unsafe.ARRAY_SHORT_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, short[] values) {
        need(at, end, (long) values.length << 1);
        return put(at, values);
    }

    static long put(long at, char[] values) {
        long bytes = (long) values.length << 1;
        U.copyMemory(values, Unsafe.ARRAY_CHAR_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, char[] values) {
        need(at, end, (long) values.length << 1);
        return put(at, values);
    }

    static long put(long at, int[] values) {
        long bytes = (long) values.length << 2;
        U.copyMemory(values, Unsafe.ARRAY_INT_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, int[] values) {
        need(at, end, (long) values.length << 2);
        return put(at, values);
    }

    static long put(long at, long[] values) {
        long bytes = (long) values.length << 3;
        U.copyMemory(values, Unsafe.ARRAY_LONG_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, long[] values) {
        need(at, end, (long) values.length << 3);
        return put(at, values);
    }

    static long put(long at, float[] values) {
        long bytes = (long) values.length << 2;
        U.copyMemory(values, Unsafe.ARRAY_FLOAT_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, float[] values) {
        need(at, end, (long) values.length << 2);
        return put(at, values);
    }

    static long put(long at, double[] values) {
        long bytes = (long) values.length << 3;
        U.copyMemory(values, Unsafe.ARRAY_DOUBLE_BASE_OFFSET, null, at, bytes);
        return at + bytes;
    }

    static long put(long at, long end, double[] values) {
        need(at, end, (long) values.length << 3);
        return put(at, values);
    }
}
