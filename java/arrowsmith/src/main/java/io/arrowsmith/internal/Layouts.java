// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnName;
import io.arrowsmith.ColumnsException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Compiles a class to a tree of columns: fields in the order of their declaration, those of
 * superclasses first. Types without a fixed shape, above all a class that contains itself, are
 * refused with the path to them.
 */
public final class Layouts {
  /** Maximum columns of one class; a class that is used several times is counted each time. */
  private static final int COLUMNS_MAX = 1 << 16;

  private final MethodHandles.Lookup lookup;
  private final Map<Class<?>, Codec> codecs = new HashMap<>();
  private final Set<Class<?>> open = new LinkedHashSet<>();
  private int columns;

  private Layouts(final MethodHandles.Lookup lookup) {
    this.lookup = lookup;
  }

  /** The result of compiling a class. */
  static Node compile(final Class<?> type, final MethodHandles.Lookup lookup) {
    if (type.isPrimitive()
        || type.isArray()
        || Kind.of(type) != null
        || Collection.class.isAssignableFrom(type)
        || Map.class.isAssignableFrom(type)) {
      throw new ColumnsException("", type.getName() + " is one value; columns are made of a class with fields");
    }
    return new Layouts(lookup).struct("", "", type);
  }

  private Node node(final String path, final String name, final Type type) {
    if (++columns > COLUMNS_MAX) {
      throw new ColumnsException(path, "more than " + COLUMNS_MAX + " columns");
    }
    if (type instanceof Class<?> raw) {
      return plain(path, name, raw);
    }
    if (type instanceof WildcardType wildcard) {
      return node(path, name, wildcard.getUpperBounds()[0]);
    }
    if (type instanceof GenericArrayType array) {
      return list(path, name, Object[].class, array.getGenericComponentType());
    }
    if (type instanceof ParameterizedType generic && generic.getRawType() instanceof Class<?> raw) {
      if (Collection.class.isAssignableFrom(raw) && generic.getActualTypeArguments().length == 1) {
        return list(path, name, raw, generic.getActualTypeArguments()[0]);
      }
      if (Map.class.isAssignableFrom(raw) && generic.getActualTypeArguments().length == 2) {
        return map(path, name, raw, generic.getActualTypeArguments());
      }
    }
    throw new ColumnsException(path, "cannot become a column: " + type.getTypeName());
  }

  private Node plain(final String path, final String name, final Class<?> type) {
    final Kind kind = Kind.of(type);
    if (kind != null) {
      return new Node(path, name, kind, type, List.of(), null);
    }
    if (type.isArray()) {
      return list(path, name, type, type.getComponentType());
    }
    if (Collection.class.isAssignableFrom(type)) {
      throw new ColumnsException(
          path, "cannot become a column: " + type.getName() + " has no type argument; write List<…>");
    }
    if (Map.class.isAssignableFrom(type)) {
      throw new ColumnsException(
          path, "cannot become a column: " + type.getName() + " has no type arguments; write Map<…, …>");
    }
    return struct(path, name, type);
  }

  private Node list(final String path, final String name, final Class<?> type, final Type element) {
    final Node below = node(path + "[]", "item", element);
    return new Node(path, name, Kind.LIST, type, List.of(below), null);
  }

  private Node map(final String path, final String name, final Class<?> type, final Type[] of) {
    final Node key = node(path + ".key", "key", of[0]).required();
    final Node value = node(path + ".value", "value", of[1]);
    final List<Node> members = List.of(key, value);
    final Codec codec = Generator.entries(path, members);
    final Node entries = new Node(path, "entries", Kind.STRUCT, Map.Entry.class, members, codec);
    return new Node(path, name, Kind.MAP, type, List.of(entries.required()), null);
  }

  private Node struct(final String path, final String name, final Class<?> type) {
    refuseShapeless(path, type);
    if (!open.add(type)) {
      throw new ColumnsException(path, "a cycle: " + cycle(type) + " contains itself");
    }
    final List<Field> fields = fields(path, type);
    if (fields.isEmpty()) {
      throw new ColumnsException(path, type.getName() + " has no fields");
    }
    final List<Node> children = new ArrayList<>();
    final Set<String> names = new LinkedHashSet<>();
    for (final Field field : fields) {
      final ColumnName named = field.getAnnotation(ColumnName.class);
      final String column = named == null ? field.getName() : named.value();
      final String below = path.isEmpty() ? column : path + "." + column;
      if (!names.add(column)) {
        throw new ColumnsException(
            below, "a field before it, or of a superclass, has the same name; @ColumnName gives it another");
      }
      children.add(node(below, column, field.getGenericType()));
    }
    open.remove(type);
    Codec codec = codecs.get(type);
    if (codec == null) {
      codec = Generator.codec(path, type, fields, children, lookup);
      codecs.put(type, codec);
    }
    return new Node(path, name, Kind.STRUCT, type, children, codec);
  }

  private String cycle(final Class<?> again) {
    final List<String> names = new ArrayList<>();
    for (final Class<?> type : open) {
      if (type == again || !names.isEmpty()) {
        names.add(type.getSimpleName());
      }
    }
    names.add(again.getSimpleName());
    return String.join(" → ", names);
  }

  private static void refuseShapeless(final String path, final Class<?> type) {
    if (type.isPrimitive() || type == Void.class) {
      throw new ColumnsException(path, "cannot become a column: " + type.getName());
    }
    if (type.isInterface() || type == Object.class || type == Number.class || type == Enum.class) {
      throw new ColumnsException(
          path, "cannot become a column: " + type.getName() + " has no fixed set of fields");
    }
    if (type.getClassLoader() == null || type.getName().startsWith("java.")) {
      throw new ColumnsException(path, "cannot become a column: " + type.getName());
    }
    if (type.getTypeParameters().length > 0) {
      throw new ColumnsException(
          path, "cannot become a column: " + type.getName() + " has type parameters");
    }
  }

  /** The fields of a class's objects. */
  private static List<Field> fields(final String path, final Class<?> type) {
    final List<Field> fields = new ArrayList<>();
    final Class<?> above = type.getSuperclass();
    if (above != null && above != Object.class && above != Record.class) {
      fields.addAll(fields(path, above));
    }
    try {
      Arrays.stream(type.getDeclaredFields())
          .filter(field -> !Modifier.isStatic(field.getModifiers()))
          .filter(field -> !Modifier.isTransient(field.getModifiers()) && !field.isSynthetic())
          .forEach(fields::add);
    } catch (LinkageError e) {
      throw new ColumnsException(path, type.getName() + " cannot be loaded: " + e.getMessage(), e);
    }
    return fields;
  }
}
