// SPDX-License-Identifier: Apache-2.0
// Java's official client: lists flights and reads every endpoint of `trips`; prints rows, the sum
// of ids, null zones.

import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;

public final class Core {
  private Core() {}

  public static void main(final String[] arguments) throws Exception {
    final String[] address = arguments[0].split(":");
    final Location location = Location.forGrpcInsecure(address[0], Integer.parseInt(address[1]));
    try (BufferAllocator allocator = new RootAllocator();
        FlightClient client = FlightClient.builder(allocator, location).build()) {
      final FlightInfo info = client.getInfo(FlightDescriptor.path("trips"));
      long rows = 0;
      long sum = 0;
      long nulls = 0;
      for (final FlightEndpoint endpoint : info.getEndpoints()) {
        try (FlightStream stream = client.getStream(endpoint.getTicket())) {
          final VectorSchemaRoot root = stream.getRoot();
          while (stream.next()) {
            final BigIntVector id = (BigIntVector) root.getVector("id");
            final FieldVector zone = root.getVector("zone");
            rows += root.getRowCount();
            nulls += zone.getNullCount();
            for (int row = 0; row < root.getRowCount(); row++) {
              sum += id.get(row);
            }
          }
        }
      }
      try (FlightStream stream = client.getStream(new Ticket(new byte[] {1, 2, 3}))) {
        stream.next();
        throw new AssertionError("a bad ticket was taken");
      } catch (final FlightRuntimeException expected) {
        System.out.println("refused: " + expected.status().code());
      }
      System.out.println(rows + " " + sum + " " + nulls);
    }
  }
}
