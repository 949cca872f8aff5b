// SPDX-License-Identifier: Apache-2.0
package example;

import io.arrowsmith.Columns;
import io.arrowsmith.DataException;
import io.arrowsmith.Input;
import io.arrowsmith.JsonReader;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;

/** Objects to columns and back, and JSON into the same columns. */
public final class Trips {
  /** The class of the columns: one per field, the speeds as a list, the place as a struct. */
  record Trip(long id, Place from, double[] speeds) {}

  record Place(String name, double latitude, double longitude) {}

  private Trips() {}

  public static void main(final String[] args) throws Exception {
    final Columns<Trip> columns = Columns.of(Trip.class);
    System.out.println(columns.schema());

    final List<Trip> trips = new ArrayList<>();
    for (int id = 0; id < 1_000_000; id++) {
      trips.add(new Trip(id, new Place("Delft", 52.0, 4.36), new double[] {id * 0.5, id * 0.25}));
    }
    try (BufferAllocator allocator = new RootAllocator()) {
      try (VectorSchemaRoot root = columns.encode(trips, allocator)) {
        System.out.println(root.getRowCount() + " rows; the last: " + columns.decode(root).get(999_999).from());
        // The same memory, reused for the next objects.
        columns.encodeInto(trips.subList(0, 10), root);
        System.out.println(root.getRowCount() + " rows");
      }

      final String json =
          """
          {"id": 7, "from": {"name": "Aachen", "latitude": 50.78, "longitude": 6.08}, "speeds": [3.5]}
          {"id": "eight"}
          """;
      try (ArrowReader reader =
          JsonReader.builder().schema(columns.schema()).open(allocator, Input.bytes(json.getBytes()))) {
        while (reader.loadNextBatch()) {
          final VectorSchemaRoot root = reader.getVectorSchemaRoot();
          System.out.println("id " + ((BigIntVector) root.getVector("id")).get(0));
          System.out.println(columns.decode(root).get(0).from());
        }
      } catch (DataException e) {
        System.out.println("line " + e.line() + ", " + e.path() + ": expected " + e.expected() + ", found " + e.found());
      }
      System.out.println(allocator.getAllocatedMemory() + " bytes left");
    }
  }
}
