// SPDX-License-Identifier: Apache-2.0
package bench;

import java.util.SplittableRandom;

/** Random values. */
final class Fill {
    private Fill() {}

    static int length(SplittableRandom random, int most) {
        return most == Integer.MAX_VALUE ? random.nextInt() >>> 1 : random.nextInt(most + 1);
    }

    static void fill(SplittableRandom random, boolean[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = random.nextInt(2) == 0;
        }
    }

    static void fill(SplittableRandom random, byte[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = (byte) random.nextInt();
        }
    }

    static void fill(SplittableRandom random, short[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = (short) random.nextInt();
        }
    }

    static void fill(SplittableRandom random, char[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = (char) random.nextInt(0xD800);
        }
    }

    static void fill(SplittableRandom random, int[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = random.nextInt();
        }
    }

    static void fill(SplittableRandom random, long[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = random.nextLong();
        }
    }

    static void fill(SplittableRandom random, float[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = (float) random.nextDouble();
        }
    }

    static void fill(SplittableRandom random, double[] values) {
        for (int at = 0; at < values.length; at++) {
            values[at] = random.nextDouble();
        }
    }

    /** Mostly ASCII; some Latin-1, some of all planes. */
    static String string(SplittableRandom random, int most) {
        int length = length(random, most);
        int kind = random.nextInt(8);
        StringBuilder text = new StringBuilder(length);
        while (text.length() < length) {
            if (kind == 0 && length - text.length() > 1 && random.nextInt(4) == 0) {
                text.appendCodePoint(0x10000 + random.nextInt(0x1000));
            } else if (kind == 0) {
                text.append((char) (1 + random.nextInt(0xD7FF)));
            } else if (kind == 1) {
                text.append((char) (1 + random.nextInt(0xFF)));
            } else {
                text.append((char) (' ' + random.nextInt(95)));
            }
        }
        return text.toString();
    }
}
