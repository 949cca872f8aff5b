// SPDX-License-Identifier: Apache-2.0
package bench;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Runs an approach repeatedly and prints the growth of the process in KiB. Arguments: approach,
 * rounds.
 */
public final class Leak {
    private Leak() {}

    public static void main(String[] arguments) throws Throwable {
        Native.classes(Layout.CLASSES);
        @ROOT@[] objects = Run.instantiate(10, 1);
        int rounds = Integer.parseInt(arguments[1]);
        try (Closing approach = new Closing(Approaches.make(arguments[0]))) {
            // The first rounds compile code and allocate caches.
            repeat(approach.of, objects, rounds);
            System.gc();
            long before = resident();
            repeat(approach.of, objects, rounds);
            System.gc();
            System.out.println("grown " + (resident() - before));
        }
        System.exit(0);
    }

    private record Closing(Approach of) implements AutoCloseable {
        @Override
        public void close() {
            of.close();
        }
    }

    private static void repeat(Approach approach, @ROOT@[] objects, int rounds) throws Throwable {
        for (int round = 0; round < rounds; round++) {
            approach.all(objects, 1 + (round & 1));
            approach.one(objects[round % objects.length]);
        }
    }

    private static long resident() throws java.io.IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IllegalStateException("no VmRSS");
    }
}
