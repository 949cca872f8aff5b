// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.Input;
import io.arrowsmith.Reject;
import io.arrowsmith.SchemaException;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.dictionary.Dictionary;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * A reader of the native library as an Arrow Java reader: its batches are the library's memory,
 * which is freed when their buffers are released. {@code close} may be called on any thread; it
 * ends a call that waits for a batch.
 */
public final class NativeReader extends ArrowReader {
  /** The formats, with the library's numbers. */
  public enum Format {
    /** JSON. */
    JSON,
    /** Parquet. */
    PARQUET
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final CDataDictionaryProvider provider = new CDataDictionaryProvider();
  private final Consumer<Reject> onReject;
  private final List<Pump> pumps;
  private final List<Path> files;
  private volatile long reader;
  private volatile boolean closed;
  private boolean ended;

  private NativeReader(
      final BufferAllocator allocator,
      final long reader,
      final Request request,
      final Consumer<Reject> onReject) {
    super(allocator);
    this.reader = reader;
    this.onReject = onReject;
    this.pumps = request.pumps();
    this.files = request.takeFiles();
  }

  /**
   * Opens inputs.
   *
   * @param format the format of the inputs
   * @param allocator accounts for the batches
   * @param inputs the inputs, read one after another
   * @param options options for the library
   * @param schema the schema to decode to, or for Parquet the types of partition columns; may be
   * null
   * @param onReject receives rejects; may be null
   * @return a reader
   * @throws IOException for invalid inputs or schema
   */
  public static NativeReader open(
      final Format format,
      final BufferAllocator allocator,
      final List<Input> inputs,
      final Options options,
      final Schema schema,
      final Consumer<Reject> onReject)
      throws IOException {
    options.set("rejects", onReject == null ? null : "all");
    try (Request request = new Request(allocator, format, inputs, options);
        ArrowSchema exported = schema == null ? null : ArrowSchema.allocateNew(allocator)) {
      if (exported != null) {
        Data.exportSchema(allocator, schema, null, exported);
      }
      final long reader;
      try {
        request.made();
        reader =
            Natives.open(
                format.ordinal(),
                request.sources,
                request.sourceCount,
                exported == null ? 0 : exported.memoryAddress(),
                request.options,
                request.optionsBytes,
                request.error);
      } finally {
        if (exported != null) {
          exported.release();
        }
      }
      if (reader == 0) {
        throw request.failure();
      }
      return new NativeReader(allocator, reader, request, onReject);
    }
  }

  /**
   * Infers the schema of JSON inputs.
   *
   * @param allocator for the exchange with the native library
   * @param inputs the inputs
   * @param options options for the library
   * @return the schema
   * @throws IOException for invalid inputs
   */
  public static Schema infer(
      final BufferAllocator allocator, final List<Input> inputs, final Options options)
      throws IOException {
    try (Request request = new Request(allocator, Format.JSON, inputs, options);
        ArrowSchema out = ArrowSchema.allocateNew(allocator);
        CDataDictionaryProvider provider = new CDataDictionaryProvider()) {
      request.made();
      final long done =
          Natives.inferSchema(
              request.sources,
              request.sourceCount,
              request.options,
              request.optionsBytes,
              out.memoryAddress(),
              request.error);
      if (done < 0) {
        throw request.failure();
      }
      return imported(allocator, out, provider);
    }
  }

  private static Schema imported(
      final BufferAllocator allocator,
      final ArrowSchema schema,
      final CDataDictionaryProvider provider)
      throws SchemaException {
    try {
      return Data.importSchema(allocator, schema, provider);
    } catch (BufferUnderflowException e) {
      // Arrow looks for the end of a text in its first 32,767 bytes.
      final String message = "schema: the name of a column is too long for Java: 32,767 bytes";
      final SchemaException refused = new SchemaException(message, "");
      refused.initCause(e);
      throw refused;
    }
  }

  @Override
  public Map<Long, Dictionary> getDictionaryVectors() {
    final Map<Long, Dictionary> all = new HashMap<>();
    provider.getDictionaryIds().forEach(id -> all.put(id, provider.lookup(id)));
    return all;
  }

  @Override
  public Dictionary lookup(final long id) {
    return provider.lookup(id);
  }

  @Override
  protected Schema readSchema() throws IOException {
    // A close on another thread would free the reader during the call.
    lock.lock();
    try (Request request = new Request(allocator);
        ArrowSchema schema = ArrowSchema.allocateNew(allocator)) {
      if (Natives.schema(open(), schema.memoryAddress(), request.error) < 0) {
        throw request.failure();
      }
      return imported(allocator, schema, provider);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean loadNextBatch() throws IOException {
    lock.lock();
    try {
      open();
      ensureInitialized();
      final VectorSchemaRoot root = getVectorSchemaRoot();
      root.clear();
      return !ended && load(root);
    } finally {
      lock.unlock();
    }
  }

  private boolean load(final VectorSchemaRoot root) throws IOException {
    try (Request request = new Request(allocator);
        ArrowArray array = ArrowArray.allocateNew(allocator)) {
      long given = 0;
      do {
        try {
          given = Natives.next(reader, array.memoryAddress(), request.error);
          ended = given <= 0;
          if (given < 0) {
            throw Pump.cause(pumps, request.failure());
          }
        } finally {
          handOver(given == 1 ? array : null);
        }
      } while (given == 2 && reader != 0);
      if (ended) {
        return false;
      }
      if (reader == 0) {
        if (given == 1) {
          array.release();
        }
        throw new CancellationException("the reader was closed while it read");
      }
      Data.importIntoVectorSchemaRoot(allocator, array, root, provider);
      return true;
    }
  }

  /**
   * Rejects are delivered before the batch that they are missing from, on the same thread. If the
   * caller's code fails, the batch is released.
   */
  private void handOver(final ArrowArray batch) {
    try {
      long reject;
      while (onReject != null && reader != 0 && (reject = Natives.reject(reader)) != 0) {
        onReject.accept(Failure.reject(reject));
      }
    } catch (RuntimeException | Error e) {
      if (batch != null) {
        batch.release();
      }
      throw e;
    }
  }

  private long open() {
    if (closed || reader == 0) {
      throw new CancellationException("the reader is closed");
    }
    return reader;
  }

  @Override
  public long bytesRead() {
    return 0;
  }

  @Override
  public void close(final boolean closeReadSource) throws IOException {
    closed = true;
    if (!lock.tryLock()) {
      // A call waits for a batch; it ends soon after this.
      synchronized (this) {
        if (reader != 0) {
          Natives.cancel(reader);
        }
      }
      lock.lock();
    }
    try {
      super.close(closeReadSource);
      provider.close();
    } finally {
      lock.unlock();
    }
  }

  @Override
  protected void closeReadSource() {
    final long open;
    synchronized (this) {
      open = reader;
      reader = 0;
    }
    if (open != 0) {
      Natives.close(open);
      files.forEach(Library::discard);
    }
  }
}
