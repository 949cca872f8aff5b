// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.arrow.vector.VectorSchemaRoot;

/**
 * The expected content of columns, computed slowly by reflection, in a form common to both sides:
 * maps of members, lists, strings, numbers. It shares no code with the library.
 */
final class Oracle {
  private Oracle() {}

  /** The members of an object, including those of its superclasses. */
  static List<Field> fields(final Class<?> type) {
    final List<Field> fields = new ArrayList<>();
    if (type.getSuperclass() != null && type.getSuperclass() != Record.class) {
      fields.addAll(fields(type.getSuperclass()));
    }
    for (final Field field : type.getDeclaredFields()) {
      final int modifiers = field.getModifiers();
      if (!Modifier.isStatic(modifiers) && !Modifier.isTransient(modifiers) && !field.isSynthetic()) {
        field.setAccessible(true);
        fields.add(field);
      }
    }
    return fields;
  }

  /** An object's value in the common form. */
  static Object expected(final Object value, final Class<?> declared) {
    if (value == null
        || value instanceof Number
        || value instanceof Boolean
        || value instanceof Character
        || value instanceof LocalDateTime
        || value instanceof Duration) {
      return value;
    }
    if (value instanceof String text) {
      return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }
    if (value instanceof Enum<?> constant) {
      return constant.name();
    }
    if (value instanceof byte[] bytes) {
      return ByteBuffer.wrap(bytes);
    }
    if (value instanceof Instant instant) {
      return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
    }
    if (value instanceof LocalDate date) {
      return (int) date.toEpochDay();
    }
    if (value instanceof LocalTime time) {
      return time.toNanoOfDay();
    }
    if (value instanceof UUID uuid) {
      return ByteBuffer.allocate(16)
          .putLong(uuid.getMostSignificantBits())
          .putLong(uuid.getLeastSignificantBits())
          .flip();
    }
    final List<Object> list = new ArrayList<>();
    if (value.getClass().isArray()) {
      for (int i = 0; i < Array.getLength(value); i++) {
        list.add(expected(Array.get(value, i), value.getClass().getComponentType()));
      }
      return list;
    }
    if (value instanceof Map<?, ?> map) {
      map.forEach(
          (key, one) -> {
            final Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("key", expected(key, key.getClass()));
            if (one != null) {
              entry.put("value", expected(one, one.getClass()));
            }
            list.add(entry);
          });
      return list;
    }
    if (value instanceof Collection<?> collection) {
      collection.forEach(one -> list.add(expected(one, one == null ? null : one.getClass())));
      return list;
    }
    return members(value, declared);
  }

  private static Map<String, Object> members(final Object value, final Class<?> declared) {
    final Map<String, Object> members = new LinkedHashMap<>();
    for (final Field field : fields(declared)) {
      try {
        final Object member = expected(field.get(value), field.getType());
        // Arrow Java omits nulls of a struct.
        if (member != null) {
          members.put(field.getName(), member);
        }
      } catch (IllegalAccessException e) {
        throw new AssertionError(e);
      }
    }
    return members;
  }

  /** A value of Arrow Java, in the common form. */
  static Object found(final Object value) {
    if (value instanceof org.apache.arrow.vector.util.Text text) {
      return text.toString();
    }
    if (value instanceof byte[] bytes) {
      return ByteBuffer.wrap(bytes);
    }
    if (value instanceof List<?> list) {
      return list.stream().map(Oracle::found).collect(ArrayList::new, List::add, List::addAll);
    }
    if (value instanceof Map<?, ?> map) {
      final Map<String, Object> members = new LinkedHashMap<>();
      map.forEach((name, member) -> members.put((String) name, found(member)));
      return members;
    }
    return value;
  }

  /** A row of a batch, in the common form. */
  static Map<String, Object> row(final VectorSchemaRoot root, final int row) {
    final Map<String, Object> members = new LinkedHashMap<>();
    root.getFieldVectors()
        .forEach(
            vector -> {
              final Object member = found(vector.getObject(row));
              if (member != null) {
                members.put(vector.getName(), member);
              }
            });
    return members;
  }

  /** Whether a batch contains these objects. */
  static void check(final VectorSchemaRoot root, final List<?> objects, final Class<?> type) {
    if (root.getRowCount() != objects.size()) {
      throw new AssertionError(root.getRowCount() + " rows of " + objects.size() + " objects");
    }
    for (int row = 0; row < objects.size(); row++) {
      final Object expected = expected(objects.get(row), type);
      final Object found = row(root, row);
      if (!expected.equals(found)) {
        throw new AssertionError("row " + row + ": expected\n" + expected + "\nfound\n" + found);
      }
    }
  }
}
