// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.junit.jupiter.api.Test;

/**
 * Random classes, compiled, with random objects: columns match {@link Oracle}, also through the C
 * Data Interface, and decode to equal objects. {@code -Darrowsmith.seeds=N} tries more.
 */
class RandomLayoutsTest {
  private static final String[] SCALARS = {
    "boolean", "byte", "short", "char", "int", "long", "float", "double", "Boolean", "Byte", "Short", "Character",
    "Integer", "Long", "Float", "Double", "String", "byte[]", "Kind", "java.util.UUID", "java.time.Instant",
    "java.time.LocalDate", "java.time.Duration"
  };

  private final StringBuilder classes = new StringBuilder();
  private Random random;
  private int count;

  @Test
  void randomLayouts() throws Exception {
    final int seeds = Integer.getInteger("arrowsmith.seeds", 25);
    for (int seed = 0; seed < seeds; seed++) {
      random = new Random(seed);
      try {
        check();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed " + seed + "\n" + classes, e);
      }
    }
  }

  private void check() throws Exception {
    classes.setLength(0);
    count = 0;
    final String root = type(0);
    final String source =
        "public class Layout {\n  enum Kind { A, BB, ÇÇÇ }\n" + classes + "}\n";
    final Class<?> layout = Compiler.compile("Layout", source);
    check(layout.getClassLoader().loadClass("Layout$" + root));
  }

  /** Writes a random class or record, and its nested ones; returns its name. */
  private String type(final int depth) {
    final String name = "T" + count++;
    final int fields = 1 + random.nextInt(depth == 0 ? 9 : 5);
    final List<String> members = new ArrayList<>();
    for (int i = 0; i < fields; i++) {
      members.add(member(depth) + " f" + i);
    }
    if (random.nextBoolean()) {
      classes.append("  record ").append(name).append("(").append(String.join(", ", members)).append(") {}\n");
    } else {
      classes.append("  static class ").append(name).append(" {\n    private ");
      classes.append(String.join(";\n    private ", members)).append(";\n  }\n");
    }
    return name;
  }

  private String member(final int depth) {
    final int choice = random.nextInt(10);
    if (depth < 3 && choice == 0) {
      return type(depth + 1);
    }
    if (choice <= 2) {
      return boxed(depth) + "[]";
    }
    if (choice == 3) {
      return "java.util.List<" + reference(depth) + ">";
    }
    if (choice == 4) {
      return "java.util.Map<" + (random.nextBoolean() ? "String" : "Long") + ", " + reference(depth) + ">";
    }
    return SCALARS[random.nextInt(SCALARS.length)];
  }

  private String boxed(final int depth) {
    return random.nextInt(4) == 0 ? reference(depth) : SCALARS[random.nextInt(SCALARS.length)];
  }

  private String reference(final int depth) {
    return switch (random.nextInt(4)) {
      case 0 -> depth < 3 ? type(depth + 1) : "String";
      case 1 -> depth < 3 ? "java.util.List<" + reference(depth + 1) + ">" : "Long";
      case 2 -> SCALARS[random.nextInt(8)] + "[]";
      default -> SCALARS[8 + random.nextInt(SCALARS.length - 8)];
    };
  }

  private <T> void check(final Class<T> type) throws Exception {
    final List<T> objects = new ArrayList<>();
    final int rows = random.nextInt(4) == 0 ? random.nextInt(3) : random.nextInt(700);
    for (int i = 0; i < rows; i++) {
      objects.add(type.cast(object(type)));
    }
    final Columns<T> columns = Columns.of(type).withThreads(1 + random.nextInt(4));
    try (BufferAllocator allocator = new RootAllocator()) {
      try (VectorSchemaRoot root = columns.encode(objects, allocator)) {
        Oracle.check(root, objects, type);
        same(objects, columns.decode(root), type);
        // Memory that holds other values now.
        final List<T> half = objects.subList(rows / 3, rows);
        columns.encodeInto(half, root);
        Oracle.check(root, half, type);
      }
      try (ArrowArray array = ArrowArray.allocateNew(allocator);
          ArrowSchema schema = ArrowSchema.allocateNew(allocator)) {
        columns.export(objects, allocator, array, schema);
        try (VectorSchemaRoot root = Data.importVectorSchemaRoot(allocator, array, schema, null)) {
          assertEquals(columns.schema(), root.getSchema());
          Oracle.check(root, objects, type);
          same(objects, columns.decode(root), type);
        }
      }
    }
  }

  private static <T> void same(final List<T> objects, final List<T> back, final Class<T> type) {
    assertEquals(objects.size(), back.size());
    for (int row = 0; row < objects.size(); row++) {
      assertEquals(Oracle.expected(objects.get(row), type), Oracle.expected(back.get(row), type));
    }
  }

  private Object object(final Class<?> type) throws Exception {
    if (type.isRecord()) {
      final Constructor<?> constructor = type.getDeclaredConstructors()[0];
      constructor.setAccessible(true);
      final Type[] types = constructor.getGenericParameterTypes();
      final Object[] values = new Object[types.length];
      for (int i = 0; i < values.length; i++) {
        values[i] = value(types[i]);
      }
      return constructor.newInstance(values);
    }
    final Constructor<?> constructor = type.getDeclaredConstructor();
    constructor.setAccessible(true);
    final Object object = constructor.newInstance();
    for (final Field field : Oracle.fields(type)) {
      field.set(object, value(field.getGenericType()));
    }
    return object;
  }

  private Object value(final Type type) throws Exception {
    if (type instanceof Class<?> raw && raw.isPrimitive()) {
      return scalar(raw);
    }
    if (random.nextInt(6) == 0) {
      return null;
    }
    if (type instanceof ParameterizedType map && map.getRawType() == Map.class) {
      final Map<Object, Object> values = new LinkedHashMap<>();
      for (int i = length(); i > 0; i--) {
        values.put(scalar((Class<?>) map.getActualTypeArguments()[0]), value(map.getActualTypeArguments()[1]));
      }
      return values;
    }
    if (type instanceof ParameterizedType list) {
      final List<Object> values = new ArrayList<>();
      for (int i = length(); i > 0; i--) {
        values.add(value(list.getActualTypeArguments()[0]));
      }
      return values;
    }
    if (type instanceof GenericArrayType array) {
      final Object[] values = new List<?>[length()];
      for (int i = 0; i < values.length; i++) {
        values[i] = value(array.getGenericComponentType());
      }
      return values;
    }
    final Class<?> raw = (Class<?>) type;
    if (raw.isArray()) {
      final int length = length();
      final Object values = Array.newInstance(raw.getComponentType(), length);
      for (int i = 0; i < length; i++) {
        Array.set(values, i, value(raw.getComponentType()));
      }
      return values;
    }
    return raw.getName().startsWith("Layout$T") ? object(raw) : scalar(raw);
  }

  private int length() {
    return random.nextInt(8) == 0 ? random.nextInt(40) : random.nextInt(4);
  }

  private Object scalar(final Class<?> type) {
    if (type.isEnum()) {
      return type.getEnumConstants()[random.nextInt(3)];
    }
    return switch (type.getSimpleName().toLowerCase()) {
      case "boolean" -> random.nextBoolean();
      case "byte" -> (byte) random.nextInt();
      case "short" -> (short) random.nextInt();
      case "char", "character" -> (char) random.nextInt();
      case "int", "integer" -> random.nextInt();
      case "long" -> random.nextLong();
      case "float" -> random.nextFloat();
      case "double" -> random.nextGaussian();
      case "uuid" -> new UUID(random.nextLong(), random.nextLong());
      case "instant" -> Instant.ofEpochSecond(0, random.nextLong());
      case "localdate" -> LocalDate.ofEpochDay(random.nextInt(1_000_000) - 500_000);
      case "duration" -> Duration.ofNanos(random.nextLong());
      case "string" -> text();
      default -> throw new AssertionError(type);
    };
  }

  private String text() {
    final StringBuilder text = new StringBuilder();
    final int above = random.nextInt(4) == 0 ? 0x500 : 0x7f;
    for (int i = random.nextInt(20); i > 0; i--) {
      text.append((char) random.nextInt(above));
    }
    return random.nextInt(10) == 0 ? text.append("😀").toString() : text.toString();
  }
}
