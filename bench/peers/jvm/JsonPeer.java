// SPDX-License-Identifier: Apache-2.0
// JSON text into Arrow Java's vectors, in one JVM, in rotation: Arrowsmith's reader, and Jackson
// into plain objects whose values are set one by one. Arguments: file, threads, rounds, warm-up
// rounds. Prints one JSON object per line.

import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import io.arrowsmith.Input;
import io.arrowsmith.JsonReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;

public final class JsonPeer {
    private static final String[] LISTS =
            {"sec_in_band", "braking", "accel", "small_speed_var", "large_speed_var"};
    private static final int BATCH_ROWS = 8_192;

    private JsonPeer() {}

    /** Jackson's object for a record. */
    public static final class Trip {
        public String timestamp;
        public long timezone;
        public long odometer;
        public boolean hypermiling;
        public long avgspeed;
        public long[] sec_in_band;
        public long[] braking;
        public long[] accel;
        public boolean orientation;
        public long[] small_speed_var;
        public long[] large_speed_var;
    }

    /** Rows, and on request the sum of all integers in them. */
    private record Read(long rows, long sum) {}

    private interface Way {
        Read read(boolean check) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[0]);
        int threads = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        int before = Integer.parseInt(arguments[3]);
        byte[] text = Files.readAllBytes(file);
        BufferAllocator allocator = new RootAllocator();
        String[] names = {"json-arrowsmith", "json-jackson"};
        Way[] ways = {
            check -> arrowsmith(file, threads, allocator, check), check -> jackson(text, threads, allocator, check)
        };
        Read[] found = {ways[0].read(true), ways[1].read(true)};
        boolean valid = found[0].equals(found[1]) && found[0].rows > 0;
        double[][] seconds = new double[2][rounds];
        for (int round = -before; round < rounds; round++) {
            for (int turn = 0; turn < 2; turn++) {
                int way = Math.floorMod(turn + round, 2);
                long start = System.nanoTime();
                long rows = ways[way].read(false).rows;
                if (round >= 0) {
                    seconds[way][round] = (System.nanoTime() - start) / 1e9;
                }
                valid &= rows == found[way].rows;
            }
        }
        for (int way = 0; way < 2; way++) {
            System.out.println("{\"approach\":\"" + names[way] + "\",\"threads\":" + threads + ",\"bytes\":" + text.length
                    + ",\"rows\":" + found[way].rows + ",\"sum\":\"" + found[way].sum + "\",\"seconds\":"
                    + Arrays.toString(seconds[way]) + ",\"valid\":" + valid + "}");
        }
        System.exit(0);
    }

    private static Read arrowsmith(Path file, int threads, BufferAllocator allocator, boolean check) throws Exception {
        long rows = 0;
        long sum = 0;
        try (ArrowReader reader =
                JsonReader.builder().schema(schema()).threads(threads).open(allocator, Input.path(file))) {
            while (reader.loadNextBatch()) {
                VectorSchemaRoot batch = reader.getVectorSchemaRoot();
                rows += batch.getRowCount();
                sum += check ? sum(batch) : 0;
            }
        }
        return new Read(rows, sum);
    }

    private static Read jackson(byte[] text, int threads, BufferAllocator allocator, boolean check) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Read>> parts = new ArrayList<>();
            int from = 0;
            for (int thread = 1; thread <= threads; thread++) {
                int to = (int) ((long) text.length * thread / threads);
                // A part ends at a line end.
                while (to < text.length && text[to - 1] != '\n') {
                    to++;
                }
                int begin = from;
                int end = to;
                parts.add(pool.submit((Callable<Read>) () -> part(text, begin, end, allocator, check)));
                from = to;
            }
            long rows = 0;
            long sum = 0;
            for (Future<Read> part : parts) {
                rows += part.get().rows;
                sum += part.get().sum;
            }
            return new Read(rows, sum);
        } finally {
            pool.shutdown();
        }
    }

    private static final ObjectReader READER = new ObjectMapper().readerFor(Trip.class);

    private static Read part(byte[] text, int from, int to, BufferAllocator allocator, boolean check) throws Exception {
        long rows = 0;
        long sum = 0;
        try (VectorSchemaRoot root = VectorSchemaRoot.create(schema(), allocator);
                MappingIterator<Trip> trips = READER.readValues(text, from, to - from)) {
            int row = 0;
            while (trips.hasNextValue()) {
                set(root, row++, trips.nextValue());
                if (row == BATCH_ROWS) {
                    root.setRowCount(row);
                    rows += row;
                    sum += check ? sum(root) : 0;
                    root.getFieldVectors().forEach(FieldVector::reset);
                    row = 0;
                }
            }
            root.setRowCount(row);
            rows += row;
            sum += check ? sum(root) : 0;
        }
        return new Read(rows, sum);
    }

    private static Schema schema() {
        List<Field> fields = new ArrayList<>();
        ArrowType integer = new ArrowType.Int(64, true);
        fields.add(Field.nullable("timestamp", ArrowType.Utf8.INSTANCE));
        for (String name : new String[] {"timezone", "odometer", "avgspeed"}) {
            fields.add(Field.nullable(name, integer));
        }
        fields.add(Field.nullable("hypermiling", ArrowType.Bool.INSTANCE));
        fields.add(Field.nullable("orientation", ArrowType.Bool.INSTANCE));
        for (String name : LISTS) {
            Field item = Field.nullable("item", integer);
            fields.add(new Field(name, FieldType.nullable(ArrowType.List.INSTANCE), List.of(item)));
        }
        return new Schema(fields);
    }

    private static void set(VectorSchemaRoot root, int row, Trip trip) {
        ((VarCharVector) root.getVector(0)).setSafe(row, trip.timestamp.getBytes(StandardCharsets.UTF_8));
        ((BigIntVector) root.getVector(1)).setSafe(row, trip.timezone);
        ((BigIntVector) root.getVector(2)).setSafe(row, trip.odometer);
        ((BigIntVector) root.getVector(3)).setSafe(row, trip.avgspeed);
        ((BitVector) root.getVector(4)).setSafe(row, trip.hypermiling ? 1 : 0);
        ((BitVector) root.getVector(5)).setSafe(row, trip.orientation ? 1 : 0);
        list((ListVector) root.getVector(6), row, trip.sec_in_band);
        list((ListVector) root.getVector(7), row, trip.braking);
        list((ListVector) root.getVector(8), row, trip.accel);
        list((ListVector) root.getVector(9), row, trip.small_speed_var);
        list((ListVector) root.getVector(10), row, trip.large_speed_var);
    }

    private static void list(ListVector list, int row, long[] values) {
        BigIntVector items = (BigIntVector) list.getDataVector();
        int first = list.startNewValue(row);
        for (int at = 0; at < values.length; at++) {
            items.setSafe(first + at, values[at]);
        }
        list.endValue(row, values.length);
    }

    private static long sum(VectorSchemaRoot root) {
        long sum = 0;
        for (FieldVector vector : root.getFieldVectors()) {
            sum += sum(vector);
        }
        return sum;
    }

    private static long sum(FieldVector vector) {
        if (vector instanceof ListVector list) {
            return sum(list.getDataVector());
        }
        long sum = 0;
        if (vector instanceof BitVector bits) {
            for (int at = 0; at < bits.getValueCount(); at++) {
                sum += bits.get(at);
            }
        } else if (vector instanceof VarCharVector text) {
            for (int at = 0; at < text.getValueCount(); at++) {
                sum += Arrays.hashCode(text.get(at));
            }
        } else if (vector instanceof BaseFixedWidthVector) {
            for (int at = 0; at < vector.getValueCount(); at++) {
                sum += vector.getDataBuffer().getLong(8L * at);
            }
        }
        return sum;
    }
}
