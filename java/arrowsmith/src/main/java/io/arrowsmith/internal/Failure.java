// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ArrowsmithException;
import io.arrowsmith.DataException;
import io.arrowsmith.FileException;
import io.arrowsmith.Reject;
import io.arrowsmith.RejectedRecord;
import io.arrowsmith.SchemaException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.CancellationException;

/**
 * Errors of the native library as exceptions. The struct is {@code ArrowsmithError} of {@code
 * arrowsmith.h}: eight-byte fields.
 */
final class Failure {
  // Indices of fields.
  private static final int CLASS = 0;
  private static final int OS_ERROR = 1;
  private static final int RECORD = 2;
  private static final int LINE = 3;
  private static final int OFFSET = 4;
  private static final int ROW_GROUP = 5;
  private static final int PAGE = 6;
  private static final int KEPT_AS_NULL = 7;
  private static final int MESSAGE = 8;
  private static final int KIND = 9;
  private static final int SOURCE = 10;
  private static final int PATH = 11;
  private static final int EXPECTED = 12;
  private static final int FOUND = 13;
  private static final int HINT = 14;
  private static final int TEXT = 15;
  private static final int TEXT_BYTES = 16;

  private static final int ENOENT = 2;
  private static final int EACCES = 13;

  private final long at;

  private Failure(final long at) {
    this.at = at;
  }

  /**
   * The exception for an error, which is freed. The exception for invalid options is thrown, not
   * returned.
   *
   * @param error its address
   */
  static IOException take(final long error) {
    if (error == 0) {
      return new ArrowsmithException("the native library gave no reason");
    }
    try {
      return new Failure(error).exception();
    } finally {
      Natives.freeError(error);
    }
  }

  /**
   * A reject, whose memory is freed.
   *
   * @param reject its address
   */
  static Reject reject(final long reject) {
    try {
      final Failure failure = new Failure(reject);
      final byte[] text = new byte[Math.toIntExact(failure.number(TEXT_BYTES))];
      if (text.length > 0) {
        Mem.copy(failure.number(TEXT), text, text.length);
      }
      return new Reject(failure.data(), failure.number(KEPT_AS_NULL) == 1, text);
    } finally {
      Natives.freeError(reject);
    }
  }

  /**
   * The record of a reject, whose memory is freed.
   *
   * @param reject its address
   */
  static RejectedRecord rejectedRecord(final long reject) {
    try {
      final Failure failure = new Failure(reject);
      final byte[] text = new byte[Math.toIntExact(failure.number(TEXT_BYTES))];
      if (text.length > 0) {
        Mem.copy(failure.number(TEXT), text, text.length);
      }
      return new RejectedRecord(failure.number(RECORD), failure.number(OFFSET), text);
    } finally {
      Natives.freeError(reject);
    }
  }

  private IOException exception() {
    final String message = text(MESSAGE);
    return switch ((int) number(CLASS)) {
      case 1 -> data();
      case 2 ->
          new FileException(
              message, text(KIND), text(SOURCE), number(ROW_GROUP), text(PATH), number(PAGE), number(OFFSET));
      case 3 -> new SchemaException(message, text(PATH));
      case 4 -> io(message);
      case 5 -> throw new IllegalArgumentException(message);
      case 6 -> throw new CancellationException(message);
      case 8 -> throw new IllegalStateException(message);
      default -> new ArrowsmithException(message);
    };
  }

  private DataException data() {
    return new DataException(
        text(MESSAGE),
        text(KIND),
        text(SOURCE),
        number(RECORD),
        number(LINE),
        number(OFFSET),
        text(PATH),
        text(EXPECTED),
        text(FOUND),
        text(HINT));
  }

  private IOException io(final String message) {
    final String source = text(SOURCE);
    if (source == null) {
      return new IOException(message);
    }
    final String reason = message.startsWith(source + ": ") ? message.substring(source.length() + 2) : message;
    return switch ((int) number(OS_ERROR)) {
      case ENOENT -> new NoSuchFileException(source, null, reason);
      case EACCES -> new AccessDeniedException(source, null, reason);
      default -> new FileSystemException(source, null, reason);
    };
  }

  private long number(final int field) {
    return Mem.getLong(at + (long) field * Long.BYTES);
  }

  private String text(final int field) {
    return text(number(field));
  }

  /** A NUL-terminated text. */
  static String text(final long address) {
    if (address == 0) {
      return null;
    }
    int length = 0;
    while (Mem.getByte(address + length) != 0) {
      length++;
    }
    final byte[] bytes = new byte[length];
    Mem.copy(address, bytes, length);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
