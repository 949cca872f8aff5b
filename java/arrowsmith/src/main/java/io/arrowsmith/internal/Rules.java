// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnIgnore;
import io.arrowsmith.ColumnName;
import io.arrowsmith.ColumnsException;
import io.arrowsmith.DecimalColumn;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * What is said of fields and types beside their declaration: by annotations, or by the caller where
 * the class cannot have any. The caller's come first.
 */
public final class Rules {
  /** Digits of decimals: in all, and after the point. */
  record Digits(int precision, int scale) {}

  private final Map<Field, String> names = new HashMap<>();
  private final Map<Field, Digits> digits = new HashMap<>();
  private final Set<Field> ignored = new HashSet<>();
  private final Map<Class<?>, Conversion> conversions = new HashMap<>();

  /** Rules that no field or type has needed. */
  private final Set<Object> unused = new LinkedHashSet<>();

  private record Conversion(Class<?> to, Around around) {}

  /**
   * Another name of a column.
   *
   * @param field the field
   * @param name the name
   */
  public void name(final Field field, final String name) {
    names.put(field, name);
    unused.add(field);
  }

  /**
   * A field without a column.
   *
   * @param field the field
   */
  public void ignore(final Field field) {
    ignored.add(field);
    unused.add(field);
  }

  /**
   * Digits of the decimals of a field.
   *
   * @param field the field
   * @param precision digits in all
   * @param scale digits after the point
   */
  public void decimal(final Field field, final int precision, final int scale) {
    digits.put(field, new Digits(precision, scale));
    unused.add(field);
  }

  /**
   * Objects of a class as values of another.
   *
   * @param <A> the class
   * @param <B> that of the column's values
   * @param from the class
   * @param to that of the column's values
   * @param encode makes the column's value, of an object that is not null
   * @param decode makes the object, of a value that is not null
   */
  public <A, B> void convert(
      final Class<A> from,
      final Class<B> to,
      final Function<? super A, ? extends B> encode,
      final Function<? super B, ? extends A> decode) {
    final Around around =
        new Around(
            from,
            value -> value == null ? null : to.cast(encode.apply(from.cast(value))),
            value -> value == null ? null : from.cast(decode.apply(to.cast(value))));
    conversions.put(from, new Conversion(to, around));
    unused.add(from);
  }

  /** The name of a field's column. */
  String name(final Field field) {
    final ColumnName named = field.getAnnotation(ColumnName.class);
    final String declared = named == null ? field.getName() : named.value();
    unused.remove(field);
    return names.getOrDefault(field, declared);
  }

  boolean isIgnored(final Field field) {
    if (ignored.contains(field)) {
      unused.remove(field);
      return true;
    }
    return field.isAnnotationPresent(ColumnIgnore.class);
  }

  /** The digits of a field's decimals, or null. */
  Digits digits(final Field field) {
    final DecimalColumn declared = field.getAnnotation(DecimalColumn.class);
    final Digits of = declared == null ? null : new Digits(declared.precision(), declared.scale());
    return digits.getOrDefault(field, of);
  }

  /** What values of a class become, or null. */
  Class<?> converted(final Class<?> type) {
    final Conversion conversion = conversions.get(type);
    return conversion == null ? null : conversion.to;
  }

  /** What objects of a class with a conversion are around their value. */
  Around around(final Class<?> type) {
    unused.remove(type);
    return conversions.get(type).around;
  }

  /** Refuses a rule that has had no effect. */
  void refuseUnused(final Class<?> type) {
    for (final Object rule : unused) {
      final String what =
          rule instanceof Field field
              ? field.getDeclaringClass().getName() + "." + field.getName()
              : ((Class<?>) rule).getName();
      throw new ColumnsException("", "nothing of " + type.getName() + " is of " + what + ", which has a rule");
    }
  }
}
