// SPDX-License-Identifier: Apache-2.0
// Shared by both programs: options, and the protocol with the command. A user would not write it,
// so it is not counted among the lines of code.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.TimeStampVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.types.pojo.Schema;

final class Harness {
  static final String VERSION = "arrow-java 18.3.0";

  private Harness() {}

  static final class Options {
    Path data;
    boolean memory;
    long batchRows = 65536;

    Options(String[] arguments) {
      for (int at = 0; at + 1 < arguments.length; at += 2) {
        String value = arguments[at + 1];
        switch (arguments[at]) {
          case "--data" -> data = Path.of(value);
          case "--mode" -> memory = value.equals("memory");
          case "--batch-rows" -> batchRows = Long.parseLong(value);
          default -> {}
        }
      }
    }
  }

  /** The client's result: batches, decoded as far as Arrow requires. */
  static final class Kept implements AutoCloseable {
    final Schema schema;
    final List<ArrowRecordBatch> batches;
    /** The owner of the batches' memory: closed after them. */
    private final AutoCloseable owner;

    Kept(Schema schema, List<ArrowRecordBatch> batches, AutoCloseable owner) {
      this.schema = schema;
      this.batches = batches;
      this.owner = owner;
    }

    long rows() {
      return batches.stream().mapToLong(ArrowRecordBatch::getLength).sum();
    }

    @Override
    public void close() throws Exception {
      batches.forEach(ArrowRecordBatch::close);
      owner.close();
    }
  }

  interface Get {
    Kept get(String uri) throws Exception;
  }

  static void ready(String uri) {
    System.out.println("{\"ready\":true,\"version\":\"" + VERSION + "\",\"uri\":\"" + uri + "\"}");
  }

  /** Returns when the command wants the program to end. */
  static void waitForEnd() throws IOException {
    while (System.in.read() >= 0) {}
  }

  /** `get URI` fetches and keeps the batches, `check` sums and frees them. */
  static void serveCommands(BufferAllocator allocator, Get get) throws Exception {
    ready("");
    var in = new BufferedReader(new InputStreamReader(System.in));
    Kept kept = null;
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (line.startsWith("get ")) {
        if (kept != null) {
          kept.close();
          kept = null;
        }
        long start = System.nanoTime();
        try {
          kept = get.get(line.substring(4));
        } catch (Exception error) {
          String text = error.toString().replaceAll("[\"\\\\\\p{Cntrl}]", " ");
          System.out.println("{\"error\":\"" + text + "\"}");
          continue;
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.println(String.format(Locale.ROOT, "{\"seconds\":%.6f,\"rows\":%d}", seconds, kept.rows()));
      } else if (kept != null) {
        System.out.println(check(allocator, kept));
        kept.close();
        kept = null;
      }
    }
    System.exit(0);
  }

  private static final class Total {
    long n;
    long sum;
    double real;
    String kind = "sum";

    String json() {
      String value =
          switch (kind) {
            case "float" -> Double.toString(real);
            case "bytes" -> Long.toString(sum);
            default -> '"' + Long.toUnsignedString(sum) + '"';
          };
      return "{\"n\":" + n + ",\"" + kind + "\":" + value + "}";
    }
  }

  private static String check(BufferAllocator allocator, Kept kept) {
    Map<String, Total> totals = new TreeMap<>();
    try (var root = VectorSchemaRoot.create(kept.schema, allocator)) {
      var loader = new VectorLoader(root);
      for (var batch : kept.batches) {
        loader.load(batch);
        for (var vector : root.getFieldVectors()) {
          add(vector, totals.computeIfAbsent(vector.getName(), name -> new Total()));
        }
      }
    }
    var text = new StringBuilder("{\"rows\":" + kept.rows() + ",\"check\":{");
    String comma = "";
    for (var entry : totals.entrySet()) {
      text.append(comma).append('"').append(entry.getKey()).append("\":").append(entry.getValue().json());
      comma = ",";
    }
    return text.append("}}").toString();
  }

  private static void add(FieldVector vector, Total total) {
    int rows = vector.getValueCount();
    total.n += rows - vector.getNullCount();
    if (vector instanceof IntVector values) {
      for (int row = 0; row < rows; row++) {
        total.sum += values.isNull(row) ? 0 : values.get(row);
      }
    } else if (vector instanceof BigIntVector values) {
      for (int row = 0; row < rows; row++) {
        total.sum += values.isNull(row) ? 0 : values.get(row);
      }
    } else if (vector instanceof TimeStampVector values) {
      for (int row = 0; row < rows; row++) {
        total.sum += values.isNull(row) ? 0 : values.get(row);
      }
    } else if (vector instanceof Float8Vector values) {
      total.kind = "float";
      for (int row = 0; row < rows; row++) {
        total.real += values.isNull(row) ? 0 : values.get(row);
      }
    } else if (vector instanceof VarCharVector values) {
      total.kind = "bytes";
      for (int row = 0; row < rows; row++) {
        total.sum += values.isNull(row) ? 0 : values.getValueLength(row);
      }
    } else {
      throw new IllegalStateException(vector.getField() + " was not expected");
    }
  }
}
