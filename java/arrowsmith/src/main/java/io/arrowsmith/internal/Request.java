// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.Input;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;

/**
 * What a call to the native library is told, in memory outside of the heap: inputs, options, and where the error goes. Bytes of inputs
 * are copied to buffers of the library, which it takes over when it is called.
 */
final class Request implements AutoCloseable {
  private static final int SOURCE_BYTES = 5 * Long.BYTES;
  private static final int PATH = 0;
  private static final int PATTERN = 1;
  private static final int BUFFER = 3;
  private static final int PIECE_BYTES = 1 << 16;

  /** Where the call writes the address of its error. */
  final long error;

  final long sources;
  final long sourceCount;
  final long options;
  final long optionsBytes;

  private final ArrowBuf memory;
  private final List<Long> buffers = new ArrayList<>();

  Request(final BufferAllocator allocator, final List<Input> inputs, final String json)
      throws IOException {
    final List<byte[]> texts = new ArrayList<>();
    long bytes = Long.BYTES;
    for (final Input input : inputs) {
      final byte[] text =
          input.text() == null ? new byte[0] : input.text().getBytes(StandardCharsets.UTF_8);
      texts.add(text);
      bytes += SOURCE_BYTES + text.length;
    }
    final byte[] said = json.getBytes(StandardCharsets.UTF_8);
    memory = allocator.buffer(bytes + said.length);
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
          final long bytesRead = copy(input.source());
          put(source, BUFFER, buffers.get(buffers.size() - 1), bytesRead);
        } else {
          final byte[] name = texts.get(i);
          Mem.copy(name, name.length, text);
          put(source, input.kind() == Input.Kind.PATH ? PATH : PATTERN, text, name.length);
          text += name.length;
        }
      }
      options = text;
      optionsBytes = said.length;
      Mem.copy(said, said.length, text);
    } catch (IOException | RuntimeException | Error e) {
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

  /** Copies what is left of a stream to a new buffer, the last one; gives its length. */
  private long copy(final InputStream stream) throws IOException {
    final byte[] piece = new byte[PIECE_BYTES];
    long room = PIECE_BYTES;
    long buffer = buffer(room);
    long length = 0;
    for (int read; (read = stream.read(piece)) >= 0; length += read) {
      if (read > room - length) {
        final long larger = buffer(Math.multiplyExact(room, 2));
        Mem.move(buffer, larger, length);
        buffers.remove(buffers.size() - 2);
        Natives.freeBuffer(buffer);
        buffer = larger;
        room *= 2;
      }
      Mem.copy(piece, read, buffer + length);
    }
    return length;
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

  /** Says that the call was made, which took the buffers over. */
  void made() {
    buffers.clear();
  }

  /** The exception for the error that the call wrote. */
  IOException failure() {
    return Failure.take(Mem.getLong(error));
  }

  @Override
  public void close() {
    buffers.forEach(Natives::freeBuffer);
    buffers.clear();
    memory.close();
  }
}
