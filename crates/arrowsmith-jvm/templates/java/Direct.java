// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import sun.misc.Unsafe;

/**
 * Native code reads the objects in place. The running VM provides the offsets of fields, lengths
 * and elements.
 */
final class Direct implements Approach {
    static final int READ = 0;
    static final int COPY = 1;
    private static final int PROBE = 2;

    private final Protection.Call call;
    private final int operation;
    private final int dwellMs;

    Direct(int operation, Protection protection, int dwellMs) throws Throwable {
        this.call = protection.call();
        this.operation = operation;
        this.dwellMs = dwellMs;
        Native.heap(facts(), offsets());
        Object[] probes = new Object[16];
        for (int at = 0; at < probes.length; at++) {
            probes[at] = new int[at * 7];
        }
        Native.probes(probes);
        // References as the walk reads them, compared with the VM's own handles: a final
        // consistency check.
        call.run(probes, probes.length, 1, PROBE, 0);
    }

    @Override
    public long one(@ROOT@ object) throws Throwable {
        return call.run(object, -1, 1, operation, dwellMs);
    }

    @Override
    public long all(@ROOT@[] objects, int threads) throws Throwable {
        return call.run(objects, objects.length, threads, operation, dwellMs);
    }

    @Override
    public boolean hands() {
        return operation != READ;
    }

    private static long[] facts() throws ReflectiveOperationException {
        Unsafe unsafe = Memory.U;
        boolean narrow = unsafe.arrayIndexScale(Object[].class) == 4;
        long[] references = {0, 0};
        if (narrow) {
            references = Native.narrowReferences();
            if (references == null) {
                throw new UnsupportedOperationException("the VM does not report how it compresses references");
            }
        }
        Class<?>[] arrays = {
            boolean[].class, byte[].class, short[].class, char[].class, int[].class,
            long[].class, float[].class, double[].class, Object[].class
        };
        long[] facts = new long[15];
        facts[0] = narrow ? 1 : 0;
        facts[1] = references[0];
        facts[2] = references[1];
        facts[3] = length();
        facts[4] = unsafe.objectFieldOffset(String.class.getDeclaredField("value"));
        facts[5] = unsafe.objectFieldOffset(String.class.getDeclaredField("coder"));
        for (int at = 0; at < arrays.length; at++) {
            facts[6 + at] = unsafe.arrayBaseOffset(arrays[at]);
            int scale = unsafe.arrayIndexScale(arrays[at]);
            int expected = at == 8 ? (narrow ? 4 : 8) : new int[] {1, 1, 2, 2, 4, 8, 4, 8}[at];
            if (scale != expected) {
                throw new UnsupportedOperationException("elements of arrays are spread in this VM");
            }
        }
        return facts;
    }

    /** The offset of the length in the header of arrays. */
    private static long length() {
        int found = -1;
        for (int at = 0; at + 4 <= Memory.U.arrayBaseOffset(byte[].class); at += 4) {
            boolean fits = true;
            for (int length : new int[] {3, 1_000, 77_777}) {
                fits &= Memory.U.getInt(new byte[length], (long) at) == length;
                fits &= Memory.U.getInt(new long[length], (long) at) == length;
                fits &= Memory.U.getInt(new Object[length], (long) at) == length;
            }
            if (fits && found >= 0) {
                throw new UnsupportedOperationException("arrays of this VM have their length twice");
            }
            found = fits ? at : found;
        }
        if (found < 0) {
            throw new UnsupportedOperationException("arrays of this VM do not have their length in their header");
        }
        return found;
    }

    private static long[] offsets() throws ReflectiveOperationException {
        long[] offsets = new long[Layout.FIELDS.length];
        for (int at = 0; at < offsets.length; at++) {
            Field field = Layout.FIELDS[at].getDeclaredField(Layout.NAMES[at]);
            if (Modifier.isStatic(field.getModifiers())) {
                throw new UnsupportedOperationException(field + " is static");
            }
            try {
                offsets[at] = Memory.U.objectFieldOffset(field);
            } catch (UnsupportedOperationException record) {
                throw new UnsupportedOperationException("the VM does not report where the fields of records are: "
                        + field.getDeclaringClass().getName(), record);
            }
        }
        return offsets;
    }
}
