// SPDX-License-Identifier: Apache-2.0
// A Flight client in Java: lists the flights, reads every endpoint in turn, and keeps its batches.

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.Location;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.types.pojo.Schema;

final class Client {
  private Client() {}

  private static Harness.Kept get(BufferAllocator allocator, String uri) throws Exception {
    var address = URI.create(uri);
    var location = Location.forGrpcInsecure(address.getHost(), address.getPort());
    List<ArrowRecordBatch> batches = new ArrayList<>();
    Schema schema = null;
    // Its allocator holds the batches.
    var client = FlightClient.builder(allocator, location).build();
    try {
      var info = client.getInfo(FlightDescriptor.path("taxi"));
      for (var endpoint : info.getEndpoints()) {
        try (var stream = client.getStream(endpoint.getTicket())) {
          var root = stream.getRoot();
          var unloader = new VectorUnloader(root);
          schema = root.getSchema();
          while (stream.next()) {
            // Transfers the buffers without a copy.
            batches.add(unloader.getRecordBatch());
          }
        }
      }
    } catch (Exception error) {
      new Harness.Kept(schema, batches, client).close();
      throw error;
    }
    return new Harness.Kept(schema, batches, client);
  }

  public static void main(String[] arguments) throws Exception {
    var allocator = new RootAllocator();
    Harness.serveCommands(allocator, uri -> get(allocator, uri));
  }
}
