// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.UnaryOperator;

/**
 * What a Java value is around the value of its column: an {@code Optional}, or an object that a
 * conversion makes a number of. A value of null, and one that is absent, is null in the column.
 *
 * @param type the Java type
 * @param unwrap from the Java value, or null, to that of the column
 * @param wrap from the value of the column, or null, to that of Java
 */
record Around(Class<?> type, UnaryOperator<Object> unwrap, UnaryOperator<Object> wrap) {
  private static final MethodHandle APPLY;

  static {
    try {
      final MethodType operator = MethodType.methodType(Object.class, Object.class);
      APPLY = MethodHandles.publicLookup().findVirtual(UnaryOperator.class, "apply", operator);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The same, inside of something else; null for nothing. */
  Around in(final Around outer) {
    return new Around(
        outer.type, value -> unwrap.apply(outer.unwrap.apply(value)), value -> outer.wrap.apply(wrap.apply(value)));
  }

  /** A handle that returns the Java value, to one that returns the column's. */
  MethodHandle unwrapping(final MethodHandle getter) {
    final MethodType objects = getter.type().changeReturnType(Object.class);
    return MethodHandles.filterReturnValue(getter.asType(objects), APPLY.bindTo(unwrap));
  }

  /** A handle that takes the Java value, to one that takes the column's as an object. */
  MethodHandle wrapping(final MethodHandle setter, final int at) {
    final Class<?> taken = setter.type().parameterType(at);
    final MethodType typed = MethodType.methodType(taken, Object.class);
    return MethodHandles.filterArguments(setter, at, APPLY.bindTo(wrap).asType(typed));
  }
}
