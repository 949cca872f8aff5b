// SPDX-License-Identifier: Apache-2.0
package bench;

import java.nio.charset.StandardCharsets;

/** Sums of arrays and strings, as the native side makes them. */
final class Sums {
    private Sums() {}

    static long of(boolean[] values) {
        long sum = 0;
        for (boolean value : values) {
            sum += value ? 1 : 0;
        }
        return sum;
    }

    static long of(byte[] values) {
        long sum = 0;
        for (byte value : values) {
            sum += value;
        }
        return sum;
    }

    static long of(short[] values) {
        long sum = 0;
        for (short value : values) {
            sum += value;
        }
        return sum;
    }

    static long of(char[] values) {
        long sum = 0;
        for (char value : values) {
            sum += value;
        }
        return sum;
    }

    static long of(int[] values) {
        long sum = 0;
        for (int value : values) {
            sum += value;
        }
        return sum;
    }

    static long of(long[] values) {
        long sum = 0;
        for (long value : values) {
            sum += value;
        }
        return sum;
    }

    static long of(float[] values) {
        long sum = 0;
        for (float value : values) {
            sum += Float.floatToRawIntBits(value);
        }
        return sum;
    }

    static long of(double[] values) {
        long sum = 0;
        for (double value : values) {
            sum += Double.doubleToRawLongBits(value);
        }
        return sum;
    }

    static byte[] encode(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    /** The sum of the bytes of a string's UTF-8. */
    static long utf8(String text) {
        long sum = 0;
        if (text != null) {
            for (byte value : encode(text)) {
                sum += value & 0xFF;
            }
        }
        return sum;
    }

    /** The number of bytes of a string's UTF-8; an unpaired surrogate is one byte, '?'. */
    static long bytes(String text) {
        if (text == null) {
            return 0;
        }
        long bytes = 0;
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            if (unit < 0x80) {
                bytes += 1;
            } else if (unit < 0x800) {
                bytes += 2;
            } else if (!Character.isSurrogate(unit)) {
                bytes += 3;
            } else if (Character.isHighSurrogate(unit)
                    && at + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(at + 1))) {
                bytes += 4;
                at++;
            } else {
                bytes += 1;
            }
        }
        return bytes;
    }

    /** Refuses an array whose length differs from the layout. */
    static void length(int found, int expected) {
        if (found != expected) {
            throw new IllegalStateException("an array of another length than the layout's");
        }
    }
}
