// SPDX-License-Identifier: Apache-2.0
package bench;

/** How much the wire form of objects takes, and how much of it a buffer takes at a time. */
final class Space {
    /** A buffer is handed over when the next object would not fit into so much: memory is bounded. */
    static final long SLICE_BYTES = 256L << 20;

    private Space() {}

    /** Where the slice ends that begins at an object: behind at least one. */
    static int end(@ROOT@[] objects, int from, int to) {
        if (Layout.EXACT) {
            return (int) Math.min(to, from + Math.max(1, SLICE_BYTES / Layout.OBJECT_BYTES));
        }
        long bytes = Size.c0(objects[from]);
        int at = from + 1;
        while (at < to) {
            bytes += Size.c0(objects[at]);
            if (bytes > SLICE_BYTES) {
                break;
            }
            at++;
        }
        return at;
    }

    static long bytes(@ROOT@[] objects, int from, int to) {
        if (Layout.EXACT) {
            return (long) (to - from) * Layout.OBJECT_BYTES;
        }
        long bytes = 0;
        for (int at = from; at < to; at++) {
            bytes += Size.c0(objects[at]);
        }
        return bytes;
    }

    /** A capacity that takes so many bytes: grown by half, so that it is not grown often. */
    static int capacity(long bytes, int before) {
        if (bytes > Integer.MAX_VALUE - 16) {
            throw new IllegalStateException("an object does not fit into a buffer");
        }
        return (int) Math.max(bytes, Math.min(Integer.MAX_VALUE - 16, before + before / 2L));
    }
}
