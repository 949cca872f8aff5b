// SPDX-License-Identifier: Apache-2.0
package bench;

/** The native side: native/entry.h. */
final class Native {
    static {
        System.load(System.getProperty("bench.native"));
    }

    private Native() {}

    /** Adds up objects of the wire form in a byte array, which is a critical array meanwhile. */
    static native long sumBytes(byte[] bytes, long length, long count);

    static native long sumBuffer(java.nio.ByteBuffer buffer, long length, long count);

    static native long sumAddress(long address, long length, long count);

    /** The sum of all bytes: for formats that only a JVM can read. */
    static native long touch(byte[] bytes, long length);

    /** Adds up the values of an Arrow vector. */
    static native long column(int kind, long values, long validity, long from, long to);

    static native long jni(Object[] objects, int threads, boolean critical);

    static native long jniOne(Object object, boolean critical);

    /** Reads the heap: see Protection. */
    static native long direct(Object target, long count, int threads, int operation, int dwellMs, byte[] pin);

    static native long globalRef(Object object);

    static native void deleteGlobalRef(long ref);

    /** Throws the exception for an error code. */
    static native void fault(int fault);

    static native long[] narrowReferences();

    static native void classes(Class<?>[] classes);

    static native void heap(long[] facts, long[] offsets);

    static native void probes(Object[] probes);

    /**
     * Whether native code adds up the transferred data; data that it reads from the heap itself is
     * always added.
     */
    static native void summing(boolean on);

    static native long bandwidth(long bytes, int threads, boolean copy);
}
