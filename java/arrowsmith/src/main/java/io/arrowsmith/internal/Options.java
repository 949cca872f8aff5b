// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * Options of a reader: as the JSON text for the native library, which validates it; and options of
 * this side.
 */
public final class Options {
  /** Maximum length of a stream that is kept in a file, in bytes. */
  private static final long STREAM_BYTES_MAX = 16L << 30;

  private final Map<String, Object> values = new LinkedHashMap<>();
  private long streamBytesMax = STREAM_BYTES_MAX;

  /** No options. */
  public Options() {}

  /**
   * Sets an option.
   *
   * @param name its name, as in Python
   * @param value a text, number, boolean, enum, or an array or collection of these; null removes
   *     the option
   * @throws NullPointerException if an element of an array is null
   */
  public void set(final String name, final Object value) {
    if (value == null) {
      values.remove(name);
    } else if (value instanceof Object[] all) {
      for (final Object one : all) {
        Objects.requireNonNull(one, () -> name + ": null among " + Arrays.toString(all));
      }
      values.put(name, List.of(all));
    } else if (value instanceof int[] numbers) {
      values.put(name, Arrays.stream(numbers).boxed().toList());
    } else {
      values.put(name, value);
    }
  }

  /**
   * Sets the maximum length of a stream that is kept.
   *
   * @param bytes its length; null restores the default
   * @throws IllegalArgumentException if it is below 0
   */
  public void setStreamBytesMax(final Long bytes) {
    if (bytes != null && bytes < 0) {
      throw new IllegalArgumentException("streamBytesMax: expected 0 or more, found " + bytes);
    }
    streamBytesMax = bytes == null ? STREAM_BYTES_MAX : bytes;
  }

  /** The maximum length of a stream that is kept. */
  long streamBytesMax() {
    return streamBytesMax;
  }

  /**
   * The options for the native library.
   *
   * @return JSON text
   */
  public String json() {
    final StringBuilder json = new StringBuilder();
    write(json, values);
    return json.toString();
  }

  private static void write(final StringBuilder json, final Object value) {
    if (value instanceof Map<?, ?> map) {
      json.append('{');
      map.forEach(
          (name, inner) -> {
            separate(json, '{');
            write(json, name);
            json.append(':');
            write(json, inner);
          });
      json.append('}');
    } else if (value instanceof Collection<?> all) {
      json.append('[');
      for (final Object inner : all) {
        separate(json, '[');
        write(json, inner);
      }
      json.append(']');
    } else if (value instanceof Double number && !Double.isFinite(number)) {
      // JSON has none: the library names the option that it is not for.
      text(json, number.toString());
    } else if (value instanceof Number || value instanceof Boolean) {
      json.append(value);
    } else if (value instanceof Enum<?> word) {
      text(json, word.name().toLowerCase(Locale.ROOT));
    } else {
      text(json, value.toString());
    }
  }

  private static void separate(final StringBuilder json, final char open) {
    if (json.charAt(json.length() - 1) != open) {
      json.append(',');
    }
  }

  private static void text(final StringBuilder json, final String text) {
    json.append('"');
    for (int at = 0; at < text.length(); at++) {
      final char one = text.charAt(at);
      if (one < ' ' || one == '"' || one == '\\') {
        json.append(String.format("\\u%04x", (int) one));
      } else {
        json.append(one);
      }
    }
    json.append('"');
  }
}
