// SPDX-License-Identifier: Apache-2.0
package bench;

/** The size of objects in the wire form, and the size of a buffer's slice. */
final class Space {
    /** A buffer is passed on when the next object would exceed this size: memory is bounded. */
    static final long SLICE_BYTES = 256L << 20;

    private Space() {}

    /** The end of the slice that begins at an object: it has at least one. */
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

    /** A capacity for this many bytes: grown by half, to reduce reallocations. */
    static int capacity(long bytes, int before) {
        if (bytes > Integer.MAX_VALUE - 16) {
            throw new IllegalStateException("an object does not fit into a buffer");
        }
        return (int) Math.max(bytes, Math.min(Integer.MAX_VALUE - 16, before + before / 2L));
    }
}
