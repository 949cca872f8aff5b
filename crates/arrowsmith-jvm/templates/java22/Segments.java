// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Values into a MemorySegment. */
final class Segments {
    static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    static final ValueLayout.OfChar CHAR = ValueLayout.JAVA_CHAR_UNALIGNED;
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;
    static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    private Segments() {}

    static long put(MemorySegment segment, long at, boolean[] values) {
        for (int i = 0; i < values.length; i++) {
            segment.set(BYTE, at + i, (byte) (values[i] ? 1 : 0));
        }
        return at + 1L * values.length;
    }

    static long put(MemorySegment segment, long at, byte[] values) {
        MemorySegment.copy(values, 0, segment, BYTE, at, values.length);
        return at + 1L * values.length;
    }

    static long put(MemorySegment segment, long at, short[] values) {
        MemorySegment.copy(values, 0, segment, SHORT, at, values.length);
        return at + 2L * values.length;
    }

    static long put(MemorySegment segment, long at, char[] values) {
        MemorySegment.copy(values, 0, segment, CHAR, at, values.length);
        return at + 2L * values.length;
    }

    static long put(MemorySegment segment, long at, int[] values) {
        MemorySegment.copy(values, 0, segment, INT, at, values.length);
        return at + 4L * values.length;
    }

    static long put(MemorySegment segment, long at, long[] values) {
        MemorySegment.copy(values, 0, segment, LONG, at, values.length);
        return at + 8L * values.length;
    }

    static long put(MemorySegment segment, long at, float[] values) {
        MemorySegment.copy(values, 0, segment, FLOAT, at, values.length);
        return at + 4L * values.length;
    }

    static long put(MemorySegment segment, long at, double[] values) {
        MemorySegment.copy(values, 0, segment, DOUBLE, at, values.length);
        return at + 8L * values.length;
    }
}
