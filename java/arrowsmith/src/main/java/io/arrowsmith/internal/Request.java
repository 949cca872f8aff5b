// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.Input;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;

/**
 * The arguments of a native call, in off-heap memory: inputs, options, and the address for the
 * error. Bytes of inputs are copied to buffers of the library, which it owns from the call on;
 * streams are pumped from then on.
 */
final class Request implements AutoCloseable {
  private static final int SOURCE_BYTES = 5 * Long.BYTES;
  private static final int PATH = 0;
  private static final int PATTERN = 1;
  private static final int BUFFER = 3;
  private static final int STREAM = 4;
  private static final int PIECE_BYTES = 1 << 16;

  /** Where the call writes the address of its error. */
  final long error;

  final long sources;
  final long sourceCount;
  final long options;
  final long optionsBytes;

  private final ArrowBuf memory;
  private final List<Long> buffers = new ArrayList<>();
  private final List<Pump> pumps = new ArrayList<>();
  private final List<Path> files = new ArrayList<>();

  /** A call without inputs. */
  Request(final BufferAllocator allocator) throws IOException {
    this(allocator, null, List.of(), new Options());
  }

  Request(
      final BufferAllocator allocator,
      final NativeReader.Format format,
      final List<Input> given,
      final Options said)
      throws IOException {
    final List<Input> inputs = format == NativeReader.Format.PARQUET ? kept(given, said) : given;
    final List<byte[]> texts = new ArrayList<>();
    long bytes = Long.BYTES;
    for (final Input input : inputs) {
      final byte[] text =
          input.text() == null ? new byte[0] : input.text().getBytes(StandardCharsets.UTF_8);
      texts.add(text);
      bytes += SOURCE_BYTES + text.length;
    }
    final byte[] json = said.json().getBytes(StandardCharsets.UTF_8);
    try {
      memory = allocator.buffer(bytes + json.length);
    } catch (RuntimeException | Error e) {
      forget();
      throw e;
    }
    try {
      error = memory.memoryAddress();
      Mem.putLong(error, 0);
      sources = error + Long.BYTES;
      sourceCount = inputs.size();
      long text = sources + sourceCount * SOURCE_BYTES;
      for (int i = 0; i < inputs.size(); i++) {
        final long source = sources + (long) i * SOURCE_BYTES;
        final Input input = inputs.get(i);
        if (input.kind() == Input.Kind.BYTES) {
          final ByteBuffer content = input.content();
          put(source, BUFFER, copy(content), content.remaining());
        } else if (input.kind() == Input.Kind.STREAM) {
          final Pump pump = new Pump(input.source());
          pumps.add(pump);
          put(source, STREAM, pump.stream, 0);
        } else {
          final byte[] name = texts.get(i);
          Mem.copy(name, name.length, text);
          put(source, input.kind() == Input.Kind.PATH ? PATH : PATTERN, text, name.length);
          text += name.length;
        }
      }
      options = text;
      optionsBytes = json.length;
      Mem.copy(json, json.length, text);
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private static void put(final long at, final long kind, final long data, final long bytes) {
    Mem.putLong(at, kind);
    Mem.putLong(at + 8, data);
    Mem.putLong(at + 16, bytes);
    Mem.putLong(at + 24, 0);
    Mem.putLong(at + 32, 0);
  }

  private long buffer(final long length) {
    final long buffer = Natives.newBuffer(length);
    if (buffer == 0) {
      throw new OutOfMemoryException("no memory for an input of " + length + " bytes");
    }
    buffers.add(buffer);
    return buffer;
  }

  /** The inputs; streams are read to their ends. */
  private List<Input> kept(final List<Input> inputs, final Options said) throws IOException {
    final List<Input> kept = new ArrayList<>();
    try {
      for (final Input input : inputs) {
        if (input.kind() != Input.Kind.STREAM) {
          kept.add(input);
          continue;
        }
        final Spill spill = Spill.of(input.source(), said.streamBytesMax());
        if (spill.file != null) {
          files.add(spill.file);
        }
        kept.add(spill.file == null ? Input.bytes(spill.bytes) : Input.path(spill.file));
      }
      return kept;
    } catch (IOException | RuntimeException | Error e) {
      forget();
      throw e;
    }
  }

  private long copy(final ByteBuffer content) {
    final int length = content.remaining();
    final long buffer = buffer(length);
    final byte[] piece = new byte[Math.min(length, PIECE_BYTES)];
    final ByteBuffer from = content.duplicate();
    if (from.hasArray() && from.arrayOffset() == 0 && from.position() == 0) {
      Mem.copy(from.array(), length, buffer);
      return buffer;
    }
    for (long at = buffer; from.hasRemaining(); ) {
      final int next = Math.min(piece.length, from.remaining());
      from.get(piece, 0, next);
      Mem.copy(piece, next, at);
      at += next;
    }
    return buffer;
  }

  /** Marks the call as made, which transfers the buffers, and starts the streams. */
  void made() {
    try {
      pumps.forEach(Pump::start);
    } catch (Error e) {
      pumps.forEach(Pump::abandon);
      throw e;
    }
    buffers.clear();
  }

  /** The streams that are pumped to the library. */
  List<Pump> pumps() {
    return List.copyOf(pumps);
  }

  /** The files that the reader needs while it is open; their owner deletes them. */
  List<Path> takeFiles() {
    final List<Path> taken = List.copyOf(files);
    files.clear();
    return taken;
  }

  /** The exception for the error that the call wrote. */
  IOException failure() {
    return Pump.cause(pumps, Failure.take(Mem.getLong(error)));
  }

  @Override
  public void close() {
    buffers.forEach(Natives::freeBuffer);
    buffers.clear();
    pumps.forEach(Pump::release);
    pumps.clear();
    forget();
    memory.close();
  }

  private void forget() {
    files.forEach(Library::discard);
    files.clear();
  }
}
