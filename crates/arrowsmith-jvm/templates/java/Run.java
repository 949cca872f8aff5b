// SPDX-License-Identifier: Apache-2.0
package bench;

import java.io.NotSerializableException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Runs approaches in rotation and prints one JSON object per line: the VM's properties, then the
 * measurement of each approach.
 *
 * <p>Arguments are key=value: approaches, mode (one or all), objects, threads, rounds, warmup,
 * calls, seed.
 */
public final class Run {
    private static final long BAND_BYTES_MIN = 64L << 20;
    private static final long BAND_BYTES_MAX = 512L << 20;

    private final Map<String, String> options = new HashMap<>();
    private final boolean one;
    private final int rounds;
    private final int warmup;
    private final int calls;
    private @ROOT@[] objects;
    private long expected;

    private Run(String[] arguments) {
        for (String argument : arguments) {
            int at = argument.indexOf('=');
            if (at < 0) {
                throw new IllegalArgumentException(argument + " is not key=value");
            }
            options.put(argument.substring(0, at), argument.substring(at + 1));
        }
        one = option("mode", "all").equals("one");
        rounds = number("rounds", 5);
        warmup = number("warmup", 3);
        calls = number("calls", 1);
    }

    private String option(String key, String otherwise) {
        return options.getOrDefault(key, otherwise);
    }

    private int number(String key, int otherwise) {
        return Integer.parseInt(option(key, Integer.toString(otherwise)));
    }

    public static void main(String[] arguments) throws Throwable {
        new Run(arguments).run();
        // Threads of libraries must not keep the process alive.
        System.exit(0);
    }

    static @ROOT@[] instantiate(int count, long seed) {
        @ROOT@[] objects = new @ROOT@[count];
        for (int at = 0; at < count; at++) {
            objects[at] = Instantiate.c0(new SplittableRandom(seed + at * 0x9E3779B97F4A7C15L));
        }
        return objects;
    }

    static long sum(@ROOT@[] objects) {
        long sum = 0;
        for (@ROOT@ object : objects) {
            sum += Sum.c0(object);
        }
        return sum;
    }

    private void run() throws Throwable {
        Native.classes(Layout.CLASSES);
        objects = instantiate(one ? 1 : number("objects", 1024), Long.parseLong(option("seed", "0")));
        expected = sum(objects);
        long payload = 0;
        for (@ROOT@ object : objects) {
            payload += Payload.c0(object);
        }
        String collector;
        try {
            collector = Protection.collector();
        } catch (UnsupportedOperationException unknown) {
            collector = "unknown";
        }
        System.out.println("{\"java\":" + quote(System.getProperty("java.vm.version"))
                + ",\"feature\":" + Runtime.version().feature()
                + ",\"collector\":" + quote(collector)
                + ",\"objects\":" + objects.length
                + ",\"payload_bytes\":" + payload
                + ",\"expected\":\"" + expected + "\"}");
        List<String> names = new ArrayList<>();
        List<Approach> approaches = new ArrayList<>();
        for (String name : option("approaches", String.join(",", Approaches.NAMES)).split(",")) {
            make(name, names, approaches);
        }
        System.gc();
        for (String threads : option("threads", "1").split(",")) {
            measure(Integer.parseInt(threads), names, approaches, payload);
        }
        approaches.forEach(Approach::close);
    }

    /**
     * Creates an approach and checks it once; one that is unavailable, or computes another sum, is
     * reported.
     */
    private void make(String name, List<String> names, List<Approach> approaches) {
        Approach approach = null;
        try {
            approach = Approaches.make(name);
            // Part of a large collection: every round checks that all of it arrives.
            @ROOT@[] some = approach.sums() ? objects : Arrays.copyOf(objects, Math.min(objects.length, 1000));
            long found = approach.check(some);
            if (found != sum(some)) {
                throw new IllegalStateException("the sum is " + found + ", not " + sum(some));
            }
            names.add(name);
            approaches.add(approach);
        } catch (UnsupportedOperationException | NotSerializableException refusal) {
            System.out.println("{\"approach\":" + quote(name) + ",\"refused\":" + quote(said(refusal)) + "}");
        } catch (Throwable failure) {
            System.out.println("{\"approach\":" + quote(name) + ",\"failed\":" + quote(said(failure)) + "}");
            if (approach != null) {
                approach.close();
            }
        }
    }

    private static String said(Throwable failure) {
        String text = failure.getClass().getSimpleName() + ": " + failure.getMessage();
        return failure.getMessage() == null || failure instanceof UnsupportedOperationException
                ? String.valueOf(failure.getMessage() == null ? text : failure.getMessage())
                : text;
    }

    private void measure(int threads, List<String> names, List<Approach> approaches, long payload) throws Throwable {
        int count = approaches.size();
        double[][] seconds = new double[count + 2][rounds];
        double[][] handed = new double[count][rounds];
        boolean[] valid = new boolean[count];
        Arrays.fill(valid, true);
        long band = Math.max(BAND_BYTES_MIN, Math.min(BAND_BYTES_MAX, payload)) & ~7L;
        for (int round = -warmup; round < rounds; round++) {
            for (int turn = 0; turn < count; turn++) {
                // The order rotates, so that no approach always follows the same one.
                int at = Math.floorMod(turn + round, count);
                Approach approach = approaches.get(at);
                long before = System.nanoTime();
                long sum = one ? repeated(approach) : approach.all(objects, threads);
                long nanos = System.nanoTime() - before;
                long right = one ? expected * calls : expected;
                valid[at] &= !approach.sums() || sum == right;
                if (round >= 0) {
                    seconds[at][round] = nanos / 1e9 / (one ? calls : 1);
                }
                if (approach.hands()) {
                    nanos = unread(approach, threads);
                    if (round >= 0) {
                        handed[at][round] = nanos / 1e9 / (one ? calls : 1);
                    }
                } else {
                    handed[at] = new double[0];
                }
            }
            for (int kind = 0; kind < 2 && !one; kind++) {
                long nanos = Native.bandwidth(band, threads, kind == 0);
                if (round >= 0) {
                    seconds[count + kind][round] = nanos / 1e9;
                }
            }
        }
        for (int at = 0; at < count; at++) {
            print(names.get(at), threads, payload, seconds[at], handed[at], valid[at]);
        }
        if (!one) {
            print("copy-bandwidth", threads, band, seconds[count], new double[0], true);
            print("read-bandwidth", threads, band, seconds[count + 1], new double[0], true);
        }
    }

    /** The same again, but native code does not read the data: the cost of the transfer only. */
    private long unread(Approach approach, int threads) throws Throwable {
        Native.summing(false);
        try {
            long before = System.nanoTime();
            if (one) {
                repeated(approach);
            } else {
                approach.all(objects, threads);
            }
            return System.nanoTime() - before;
        } finally {
            Native.summing(true);
        }
    }

    private long repeated(Approach approach) throws Throwable {
        @ROOT@ object = objects[0];
        long sum = 0;
        for (int call = 0; call < calls; call++) {
            sum += approach.one(object);
        }
        return sum;
    }

    private void print(String name, int threads, long bytes, double[] seconds, double[] handed, boolean valid) {
        System.out.println("{\"approach\":" + quote(name) + ",\"threads\":" + threads + ",\"bytes\":" + bytes
                + ",\"seconds\":" + Arrays.toString(seconds) + ",\"handed_seconds\":" + Arrays.toString(handed) + ",\"valid\":" + valid + "}");
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char unit : text.toCharArray()) {
            if (unit == '"' || unit == '\\') {
                quoted.append('\\').append(unit);
            } else if (unit < ' ') {
                quoted.append(String.format("\\u%04x", (int) unit));
            } else {
                quoted.append(unit);
            }
        }
        return quoted.append('"').toString();
    }
}
