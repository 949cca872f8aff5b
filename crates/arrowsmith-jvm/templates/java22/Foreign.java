// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * The Foreign Function & Memory API: a writer, and a call during which the VM reaches no safepoint.
 */
final class Foreign {
    private static final MethodHandle SUM;
    private static final MethodHandle DIRECT;

    static {
        SymbolLookup library = SymbolLookup.libraryLookup(Path.of(System.getProperty("bench.native")), Arena.global());
        Linker linker = Linker.nativeLinker();
        SUM = linker.downcallHandle(
                library.find("sum_segment").orElseThrow(),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.ADDRESS,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.ADDRESS));
        // Critical: the thread stays "in Java" while native code runs, so that no safepoint begins
        // before it returns.
        DIRECT = linker.downcallHandle(
                library.find("direct_call").orElseThrow(),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.ADDRESS),
                Linker.Option.critical(false));
    }

    private Foreign() {}

    /** Found by reflection: a VM older than 22 lacks these classes. */
    static Shares.Writer writer() {
        return new Writer();
    }

    static long direct(long ref, long count, int threads, int operation, int dwellMs, MemorySegment fault)
            throws Throwable {
        return (long) DIRECT.invokeExact(ref, count, threads, operation, dwellMs, fault);
    }

    /** Calls with the object as a global reference, which native code resolves to an address. */
    static Protection.Call call() {
        MemorySegment fault = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);
        return (target, count, threads, operation, dwellMs) -> {
            long ref = Native.globalRef(target);
            long sum;
            try {
                sum = direct(ref, count, threads, operation, dwellMs, fault);
            } finally {
                Native.deleteGlobalRef(ref);
            }
            int found = fault.get(ValueLayout.JAVA_INT, 0);
            if (found != 0) {
                Native.fault(found);
            }
            return sum;
        };
    }

    private static final class Writer implements Shares.Writer {
        private Arena arena = Arena.ofShared();
        private MemorySegment segment = arena.allocate(4096, 8);
        private final MemorySegment fault = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);

        @Override
        public long run(@ROOT@[] objects, int from, int to) throws Throwable {
            long sum = 0;
            while (from < to) {
                int end = Space.end(objects, from, to);
                long bytes = Space.bytes(objects, from, end);
                if (segment.byteSize() < bytes) {
                    long size = Math.max(bytes, segment.byteSize() + segment.byteSize() / 2);
                    arena.close();
                    arena = Arena.ofShared();
                    segment = arena.allocate(size, 8);
                }
                long place = 0;
                for (int at = from; at < end; at++) {
                    place = ToSegment.c0(objects[at], segment, place);
                }
                sum += (long) SUM.invokeExact(segment, place, (long) (end - from), fault);
                int found = fault.get(ValueLayout.JAVA_INT, 0);
                if (found != 0) {
                    Native.fault(found);
                }
                from = end;
            }
            return sum;
        }

        @Override
        public void close() {
            arena.close();
        }
    }
}
