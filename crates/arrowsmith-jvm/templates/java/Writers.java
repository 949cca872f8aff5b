// SPDX-License-Identifier: Apache-2.0
package bench;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The buffers that bytecode writes to. */
final class Writers {
    private Writers() {}

    /** A ByteBuffer in the heap. */
    static final class Heap implements Shares.Writer {
        private ByteBuffer buffer = ByteBuffer.allocate(4096).order(ByteOrder.nativeOrder());

        @Override
        public long run(@ROOT@[] objects, int from, int to) {
            long sum = 0;
            while (from < to) {
                int end = Space.end(objects, from, to);
                long bytes = Space.bytes(objects, from, end);
                if (buffer.capacity() < bytes) {
                    buffer = ByteBuffer.allocate(Space.capacity(bytes, buffer.capacity())).order(ByteOrder.nativeOrder());
                }
                buffer.clear();
                for (int at = from; at < end; at++) {
                    ToHeap.c0(objects[at], buffer);
                }
                sum += Native.sumBytes(buffer.array(), buffer.position(), end - from);
                from = end;
            }
            return sum;
        }
    }

    /** A ByteBuffer off the heap. */
    static final class Direct implements Shares.Writer {
        private ByteBuffer buffer = allocate(4096);

        private static ByteBuffer allocate(int capacity) {
            return ByteBuffer.allocateDirect(capacity).order(ByteOrder.nativeOrder());
        }

        @Override
        public long run(@ROOT@[] objects, int from, int to) {
            long sum = 0;
            while (from < to) {
                int end = Space.end(objects, from, to);
                long bytes = Space.bytes(objects, from, end);
                if (buffer.capacity() < bytes) {
                    buffer = allocate(Space.capacity(bytes, buffer.capacity()));
                }
                buffer.clear();
                for (int at = from; at < end; at++) {
                    ToDirect.c0(objects[at], buffer);
                }
                sum += Native.sumBuffer(buffer, buffer.position(), end - from);
                from = end;
            }
            return sum;
        }
    }

    /** A ByteBuffer off the heap, through VarHandles. */
    static final class Handle implements Shares.Writer {
        private ByteBuffer buffer = Direct.allocate(4096);

        @Override
        public long run(@ROOT@[] objects, int from, int to) {
            long sum = 0;
            while (from < to) {
                int end = Space.end(objects, from, to);
                long bytes = Space.bytes(objects, from, end);
                if (buffer.capacity() < bytes) {
                    buffer = Direct.allocate(Space.capacity(bytes, buffer.capacity()));
                }
                int place = 0;
                for (int at = from; at < end; at++) {
                    place = ToVarHandle.c0(objects[at], buffer, place);
                }
                sum += Native.sumBuffer(buffer, place, end - from);
                from = end;
            }
            return sum;
        }
    }

    /** Memory of sun.misc.Unsafe. */
    static final class Off implements Shares.Writer {
        private long size = 4096;
        private long base = Memory.U.allocateMemory(size);

        @Override
        public long run(@ROOT@[] objects, int from, int to) {
            long sum = 0;
            while (from < to) {
                int end = Space.end(objects, from, to);
                long bytes = Space.bytes(objects, from, end);
                if (size < bytes) {
                    size = Math.max(bytes, size + size / 2);
                    Memory.U.freeMemory(base);
                    base = 0;
                    base = Memory.U.allocateMemory(size);
                }
                long place = base;
                for (int at = from; at < end; at++) {
                    place = ToUnsafe.c0(objects[at], place, base + bytes);
                }
                sum += Native.sumAddress(base, place - base, end - from);
                from = end;
            }
            return sum;
        }

        @Override
        public void close() {
            Memory.U.freeMemory(base);
            base = 0;
        }
    }
}
