// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.ArrowType;

/**
 * Compiles a class to a tree of columns: fields in the order of their declaration, those of
 * superclasses first. Types without a fixed shape, above all a class that contains itself, are
 * refused with the path to them.
 */
public final class Layouts {
  /** Maximum columns of one class; a class that is used several times is counted each time. */
  private static final int COLUMNS_MAX = 1 << 16;

  /**
   * Maximum depth of classes in classes: a generic class can contain itself with ever other types.
   */
  private static final int DEPTH_MAX = 256;

  /** The way out of a field that cannot become a column. */
  private static final String LEAVE_OUT =
      "; @ColumnIgnore leaves a field out, Columns.builder converts its values";

  /** An array of what a type parameter stands for. */
  private static final Class<?> ARRAY = Object[].class;

  private final MethodHandles.Lookup lookup;
  private final Rules rules;
  private final Map<Type, Codec> codecs = new HashMap<>();
  private final Set<Type> open = new LinkedHashSet<>();
  private int columns;

  private Layouts(final Rules rules, final MethodHandles.Lookup lookup) {
    this.rules = rules;
    this.lookup = lookup;
  }

  /** A generic class with the types that its parameters stand for, all of them known. */
  private record Applied(Class<?> raw, List<Type> arguments) implements Type {
    @Override
    public String getTypeName() {
      return raw.getName()
          + arguments.stream().map(Type::getTypeName).collect(Collectors.joining(", ", "<", ">"));
    }

    /** What the parameters stand for. */
    Map<TypeVariable<?>, Type> known() {
      final Map<TypeVariable<?>, Type> known = new HashMap<>();
      final TypeVariable<?>[] parameters = raw.getTypeParameters();
      for (int at = 0; at < parameters.length; at++) {
        known.put(parameters[at], arguments.get(at));
      }
      return known;
    }
  }

  /** A field, and its type where the class is used. */
  private record Member(Field field, Type type) {}

  /** The result of compiling a class. */
  static Node compile(final Class<?> type, final Rules rules, final MethodHandles.Lookup lookup) {
    if (type.isPrimitive()
        || type.isArray()
        || Kind.of(type) != null
        || Collection.class.isAssignableFrom(type)
        || Map.class.isAssignableFrom(type)) {
      throw new ColumnsException("", type.getName() + " is one value; columns are made of a class with fields");
    }
    final Node root = new Layouts(rules, lookup).struct("", "", type);
    rules.refuseUnused(type);
    return root;
  }

  private static ColumnsException refused(final String path, final String why) {
    final String wayOut = path.isEmpty() ? "" : LEAVE_OUT;
    return new ColumnsException(path, "cannot become a column: " + why + wayOut);
  }

  /** A type without type parameters, wildcards and the like. */
  private static Type resolved(
      final String path, final Type type, final Map<TypeVariable<?>, Type> known) {
    if (type instanceof Class<?>) {
      return type;
    }
    if (type instanceof WildcardType wildcard) {
      return resolved(path, wildcard.getUpperBounds()[0], known);
    }
    if (type instanceof TypeVariable<?> && known.containsKey(type)) {
      return known.get(type);
    }
    if (type instanceof GenericArrayType array) {
      return new Applied(ARRAY, List.of(resolved(path, array.getGenericComponentType(), known)));
    }
    if (type instanceof ParameterizedType generic && generic.getRawType() instanceof Class<?> raw) {
      final List<Type> arguments = new ArrayList<>();
      for (final Type argument : generic.getActualTypeArguments()) {
        arguments.add(resolved(path, argument, known));
      }
      return new Applied(raw, arguments);
    }
    throw refused(path, type.getTypeName());
  }

  private Node node(
      final String path, final String name, final Type type, final Rules.Digits digits) {
    if (++columns > COLUMNS_MAX) {
      throw new ColumnsException(path, "more than " + COLUMNS_MAX + " columns");
    }
    if (!(type instanceof Applied generic)) {
      final Class<?> value = rules.converted((Class<?>) type);
      return value == null
          ? plain(path, name, (Class<?>) type, digits)
          : plain(path, name, value, digits).in(rules.around((Class<?>) type));
    }
    final Class<?> raw = generic.raw();
    final List<Type> arguments = generic.arguments();
    if (raw == ARRAY || Collection.class.isAssignableFrom(raw) && arguments.size() == 1) {
      return list(path, name, raw, arguments.get(0), digits);
    }
    if (Map.class.isAssignableFrom(raw) && arguments.size() == 2) {
      return map(path, name, raw, arguments, digits);
    }
    refuseWrapper(path, raw);
    return struct(path, name, type);
  }

  private Node plain(
      final String path, final String name, final Class<?> type, final Rules.Digits digits) {
    final Kind kind = Kind.of(type);
    if (kind != null) {
      final Node value = new Node(path, name, kind, type, List.of(), null);
      return kind == Kind.DECIMAL ? value.typed(decimal(path, digits)) : value;
    }
    if (type.isArray()) {
      return list(path, name, type, type.getComponentType(), digits);
    }
    if (Collection.class.isAssignableFrom(type)) {
      throw refused(path, type.getName() + " has no type argument; write List<…>");
    }
    if (Map.class.isAssignableFrom(type)) {
      throw refused(path, type.getName() + " has no type arguments; write Map<…, …>");
    }
    refuseWrapper(path, type);
    return struct(path, name, type);
  }

  private static ArrowType decimal(final String path, final Rules.Digits digits) {
    if (digits == null) {
      throw refused(
          path, "a BigDecimal has any number of digits; @DecimalColumn(precision = …, scale = …) says how many");
    }
    final int precision = digits.precision();
    if (precision < 1 || precision > Kind.DIGITS_MAX || digits.scale() < 0 || digits.scale() > precision) {
      throw new ColumnsException(
          path, "precision " + precision + ", scale " + digits.scale() + ": the precision is from 1 to " + Kind.DIGITS_MAX + ", the scale from 0 to the precision");
    }
    return new ArrowType.Decimal(precision, digits.scale(), 128);
  }

  /** What a field has around its value is known there; elsewhere null says the same. */
  private static void refuseWrapper(final String path, final Class<?> type) {
    if (Wrapper.of(type) != null) {
      throw refused(path, type.getSimpleName() + " is the type of a field, with a type argument; elsewhere use null");
    }
  }

  private Node list(
      final String path,
      final String name,
      final Class<?> type,
      final Type element,
      final Rules.Digits digits) {
    final Node below = node(path + "[]", "item", element, digits);
    return new Node(path, name, Kind.LIST, type, List.of(below), null);
  }

  private Node map(
      final String path,
      final String name,
      final Class<?> type,
      final List<Type> of,
      final Rules.Digits digits) {
    final Node key = node(path + ".key", "key", of.get(0), digits).required();
    final Node value = node(path + ".value", "value", of.get(1), digits);
    final List<Node> members = List.of(key, value);
    final Codec codec = Generator.entries(path, members);
    final Node entries = new Node(path, "entries", Kind.STRUCT, Map.Entry.class, members, codec);
    return new Node(path, name, Kind.MAP, type, List.of(entries.required()), null);
  }

  private Node struct(final String path, final String name, final Type key) {
    final Class<?> type = key instanceof Applied generic ? generic.raw() : (Class<?>) key;
    if (Cases.is(type)) {
      return sealed(path, name, type, key);
    }
    refuseShapeless(path, type, key);
    enter(path, key);
    final List<Member> members = members(path, key);
    if (members.isEmpty()) {
      throw empty(path, type);
    }
    final List<Node> children = new ArrayList<>();
    final Set<String> names = new LinkedHashSet<>();
    for (final Member member : members) {
      final Field field = member.field();
      final String column = rules.name(field);
      final String below = path.isEmpty() ? column : path + "." + column;
      if (!names.add(column)) {
        throw new ColumnsException(
            below, "a field before it, or of a superclass, has the same name; @ColumnName gives it another");
      }
      children.add(member(below, column, member));
    }
    open.remove(key);
    Codec codec = codecs.get(key);
    if (codec == null) {
      final List<Field> fields = members.stream().map(Member::field).toList();
      codec = Generator.codec(path, type, fields, allFields(type), children, lookup);
      codecs.put(key, codec);
    }
    return new Node(path, name, Kind.STRUCT, type, children, codec);
  }

  private void enter(final String path, final Type key) {
    if (!open.add(key)) {
      throw new ColumnsException(path, "a cycle: " + cycle(key) + " contains itself" + LEAVE_OUT);
    }
    if (open.size() > DEPTH_MAX) {
      throw new ColumnsException(path, "more than " + DEPTH_MAX + " classes in each other");
    }
  }

  /** One of several classes: its name, and a column for each of them. */
  private Node sealed(
      final String path, final String name, final Class<?> type, final Type key) {
    if (key != type || type.getTypeParameters().length > 0) {
      throw refused(path, type.getName() + " is sealed and has type parameters");
    }
    enter(path, key);
    final String start = path.isEmpty() ? "" : path + ".";
    final List<Node> members = new ArrayList<>();
    members.add(new Node(start + Cases.TAG, Cases.TAG, Kind.UTF8, String.class, List.of(), null));
    final Set<String> names = new LinkedHashSet<>(Set.of(Cases.TAG));
    final List<Class<?>> classes = Cases.of(type);
    for (final Class<?> one : classes) {
      final String column = one.getSimpleName();
      if (Cases.isOpen(one)) {
        throw refused(path, one.getName() + " is non-sealed: its subclasses are not known");
      }
      if (!names.add(column)) {
        throw refused(path, "of the classes of " + type.getName() + ", two are called " + column);
      }
      members.add(node(start + column, column, one, null));
    }
    open.remove(key);
    final Codec codec = Generator.cases(path, type, new Cases(path, classes), members);
    return new Node(path, name, Kind.STRUCT, type, members, codec);
  }

  private static ColumnsException empty(final String path, final Class<?> type) {
    final String name = type.getName();
    if (path.isEmpty()) {
      return new ColumnsException(
          path, name + " has no fields but static, transient and @ColumnIgnore ones; columns are made of others");
    }
    return refused(path, name + " has no fields that become columns");
  }

  private Node member(final String path, final String name, final Member member) {
    final Rules.Digits digits = rules.digits(member.field());
    final Node node = member(path, name, member, digits);
    if (digits != null && !hasDecimal(node)) {
      final String type = member.type().getTypeName();
      throw new ColumnsException(path, type + " has no BigDecimal, of which precision and scale would be");
    }
    return node;
  }

  /** Whether a column has values of which the digits of its field are. */
  private static boolean hasDecimal(final Node node) {
    return node.kind == Kind.DECIMAL
        || (node.kind == Kind.LIST || node.kind == Kind.MAP)
            && node.children.stream().anyMatch(Layouts::hasDecimal)
        || node.type == Map.Entry.class && node.children.stream().anyMatch(Layouts::hasDecimal);
  }

  private Node member(
      final String path, final String name, final Member member, final Rules.Digits digits) {
    final Type type = member.type();
    final Class<?> declared = member.field().getType();
    final Wrapper wrapper = rules.converted(declared) == null ? Wrapper.of(declared) : null;
    if (wrapper == null) {
      return node(path, name, type, digits);
    }
    if (wrapper.value != null) {
      return node(path, name, wrapper.value, digits).in(wrapper.around);
    }
    if (type instanceof Applied generic) {
      return node(path, name, generic.arguments().get(0), digits).in(wrapper.around);
    }
    throw refused(path, type.getTypeName() + " has no type argument; write Optional<…>");
  }

  private String cycle(final Type again) {
    final List<String> names = new ArrayList<>();
    for (final Type type : open) {
      if (type.equals(again) || !names.isEmpty()) {
        names.add(simple(type));
      }
    }
    names.add(simple(again));
    return String.join(" → ", names);
  }

  private static String simple(final Type type) {
    return type instanceof Class<?> raw ? raw.getSimpleName() : type.getTypeName();
  }

  private static void refuseShapeless(final String path, final Class<?> type, final Type key) {
    if (type.isPrimitive() || type == Void.class) {
      throw refused(path, type.getName());
    }
    if (type.isInterface() || type == Object.class || type == Number.class || type == Enum.class) {
      throw refused(path, type.getName() + " has no fixed set of fields");
    }
    if (type.getClassLoader() == null || type.getName().startsWith("java.")) {
      throw refused(path, type.getName());
    }
    if (key == type && type.getTypeParameters().length > 0) {
      throw refused(path, type.getName() + " has type parameters, and nothing says what they stand for");
    }
  }

  /** The fields of a class's objects, those of superclasses first. */
  private List<Member> members(final String path, final Type key) {
    final Class<?> type = key instanceof Applied generic ? generic.raw() : (Class<?>) key;
    final Map<TypeVariable<?>, Type> known = key instanceof Applied generic ? generic.known() : Map.of();
    final List<Member> members = new ArrayList<>();
    final Class<?> above = type.getSuperclass();
    if (above != null && above != Object.class && above != Record.class) {
      members.addAll(members(path, resolved(path, type.getGenericSuperclass(), known)));
    }
    try {
      for (final Field field : ownFields(type)) {
        if (!rules.isIgnored(field)) {
          final String below = path.isEmpty() ? field.getName() : path + "." + field.getName();
          members.add(new Member(field, resolved(below, field.getGenericType(), known)));
        }
      }
    } catch (LinkageError e) {
      throw new ColumnsException(path, type.getName() + " cannot be loaded: " + e.getMessage(), e);
    }
    return members;
  }

  private static List<Field> ownFields(final Class<?> type) {
    return Arrays.stream(type.getDeclaredFields())
        .filter(field -> !Modifier.isStatic(field.getModifiers()))
        .filter(field -> !Modifier.isTransient(field.getModifiers()) && !field.isSynthetic())
        .toList();
  }

  /** The fields that a constructor may take, ignored ones too. */
  private static List<Field> allFields(final Class<?> type) {
    final Class<?> above = type.getSuperclass();
    final boolean inherits = above != null && above != Object.class && above != Record.class;
    final List<Field> fields = new ArrayList<>(inherits ? allFields(above) : List.of());
    fields.addAll(ownFields(type));
    return fields;
  }
}
