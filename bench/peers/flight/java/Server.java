// SPDX-License-Identifier: Apache-2.0
// A Flight server in Java over a folder of files: one flight, one endpoint. Parquet is read through
// the dataset module, which calls the C++ library; Arrow files are loaded once.

import java.io.FileInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.arrow.dataset.file.FileFormat;
import org.apache.arrow.dataset.file.FileSystemDatasetFactory;
import org.apache.arrow.dataset.jni.NativeMemoryPool;
import org.apache.arrow.dataset.scanner.ScanOptions;
import org.apache.arrow.dataset.source.Dataset;
import org.apache.arrow.flight.BackpressureStrategy;
import org.apache.arrow.flight.CallStatus;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightServer;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.NoOpFlightProducer;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.types.pojo.Schema;

final class Server extends NoOpFlightProducer implements AutoCloseable {
  private static final long PATIENCE_MS = 60_000;

  private final BufferAllocator allocator;
  private final long batchRows;
  private final List<ArrowRecordBatch> batches = new ArrayList<>();
  private final ExecutorService senders = Executors.newCachedThreadPool();
  private Dataset dataset;
  private Schema schema;

  Server(BufferAllocator allocator, Harness.Options options) throws Exception {
    this.allocator = allocator;
    this.batchRows = options.batchRows;
    if (options.memory) {
      try (var files = Files.list(options.data)) {
        for (Path file : files.sorted().toList()) {
          load(file);
        }
      }
    } else {
      var pool = NativeMemoryPool.getDefault();
      var factory =
          new FileSystemDatasetFactory(allocator, pool, FileFormat.PARQUET, options.data.toUri().toString());
      schema = factory.inspect();
      dataset = factory.finish(schema);
    }
  }

  private void load(Path file) throws Exception {
    try (var reader = new ArrowFileReader(new FileInputStream(file.toFile()).getChannel(), allocator)) {
      var root = reader.getVectorSchemaRoot();
      schema = root.getSchema();
      var unloader = new VectorUnloader(root);
      while (reader.loadNextBatch()) {
        batches.add(unloader.getRecordBatch());
      }
    }
  }

  @Override
  public FlightInfo getFlightInfo(CallContext context, FlightDescriptor descriptor) {
    var ticket = new Ticket("taxi".getBytes(StandardCharsets.UTF_8));
    return new FlightInfo(schema, descriptor, List.of(new FlightEndpoint(ticket)), -1, -1);
  }

  @Override
  public void getStream(CallContext context, Ticket ticket, ServerStreamListener listener) {
    var pressure = new BackpressureStrategy.CallbackBackpressureStrategy();
    pressure.register(listener);
    // The call's own thread must stay free, or the listener is not notified that it is ready again.
    senders.execute(() -> send(listener, pressure));
  }

  private void send(ServerStreamListener listener, BackpressureStrategy pressure) {
    try {
      if (dataset == null) {
        sendBatches(listener, pressure);
      } else {
        sendFiles(listener, pressure);
      }
      listener.completed();
    } catch (Exception error) {
      listener.error(CallStatus.INTERNAL.withCause(error).toRuntimeException());
    }
  }

  private void sendBatches(ServerStreamListener listener, BackpressureStrategy pressure) {
    try (var root = VectorSchemaRoot.create(schema, allocator)) {
      var loader = new VectorLoader(root);
      listener.start(root);
      for (var batch : batches) {
        loader.load(batch);
        put(listener, pressure);
      }
    }
  }

  private void sendFiles(ServerStreamListener listener, BackpressureStrategy pressure) throws Exception {
    try (var scanner = dataset.newScan(new ScanOptions(batchRows));
        var reader = scanner.scanBatches()) {
      listener.start(reader.getVectorSchemaRoot());
      while (reader.loadNextBatch()) {
        put(listener, pressure);
      }
    }
  }

  private static void put(ServerStreamListener listener, BackpressureStrategy pressure) {
    var result = pressure.waitForListener(PATIENCE_MS);
    if (result != BackpressureStrategy.WaitResult.READY) {
      throw new IllegalStateException("the client takes nothing: " + result);
    }
    listener.putNext();
  }

  @Override
  public void close() throws Exception {
    senders.shutdownNow();
    batches.forEach(ArrowRecordBatch::close);
    if (dataset != null) {
      dataset.close();
    }
  }

  public static void main(String[] arguments) throws Exception {
    var location = Location.forGrpcInsecure("127.0.0.1", 0);
    try (var allocator = new RootAllocator();
        var producer = new Server(allocator, new Harness.Options(arguments));
        var server = FlightServer.builder(allocator, location, producer).build().start()) {
      Harness.ready("grpc://127.0.0.1:" + server.getPort());
      Harness.waitForEnd();
    }
    System.exit(0);
  }
}
