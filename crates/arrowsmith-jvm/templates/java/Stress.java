// SPDX-License-Identifier: Apache-2.0
package bench;

import java.util.Arrays;

/**
 * Moves objects as often as possible while native code reads them: threads make garbage and replace
 * the objects, another requests full collections now and then; survivors move at every minor one.
 * Prints the number of wrong sums. Arguments: the protection ("auto" selects the one for this VM),
 * read or copy, rounds, milliseconds that native code waits before it reads.
 */
public final class Stress {
    private static volatile boolean done;
    private static volatile Object sink;

    private Stress() {}

    public static void main(String[] arguments) throws Throwable {
        Native.classes(Layout.CLASSES);
        Protection protection =
                arguments[0].equals("auto") ? Protection.find() : Protection.valueOf(arguments[0]);
        int operation = arguments[1].equals("copy") ? Direct.COPY : Direct.READ;
        int rounds = Integer.parseInt(arguments[2]);
        Direct direct = new Direct(operation, protection, Integer.parseInt(arguments[3]));
        for (int thread = 0; thread < 2; thread++) {
            start(Stress::litter);
        }
        start(() -> {
            while (!done) {
                System.gc();
                pause(150);
            }
        });
        int wrong = 0;
        for (int round = 0; round < rounds; round++) {
            // New ones each time: collectors move young objects.
            @ROOT@[] objects = Run.instantiate(2_000, round);
            long expected = Run.sum(objects);
            if (direct.all(objects, 2) != expected) {
                wrong++;
            }
        }
        done = true;
        System.out.println("protection " + protection + ", " + rounds + " rounds, " + wrong + " wrong");
        System.exit(wrong == 0 ? 0 : 3);
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
    }

    private static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Overwrites the memory that a collector has freed. */
    private static void litter() {
        while (!done) {
            try {
                byte[] bytes = new byte[20_000];
                Arrays.fill(bytes, (byte) 0x5A);
                sink = bytes;
            } catch (OutOfMemoryError full) {
                // A collection that waits for the reader can come too late for this thread; the
                // next one will be in time.
                pause(1);
            }
        }
    }
}
