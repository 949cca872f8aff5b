// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A class around a value that may be absent, which is null in its column. A field that is null itself
 * is read as an empty one.
 */
enum Wrapper {
  OPTIONAL(Optional.class, null),
  OPTIONAL_INT(OptionalInt.class, Integer.class),
  OPTIONAL_LONG(OptionalLong.class, Long.class),
  OPTIONAL_DOUBLE(OptionalDouble.class, Double.class);

  /** The class. */
  final Class<?> type;

  /** The class of the value, if it has no choice. */
  final Class<?> value;

  /** From an object of the class to the value as an object, or null. */
  final MethodHandle unwrap;

  /** From the value as an object, or null, to an object of the class. */
  final MethodHandle wrap;

  Wrapper(final Class<?> type, final Class<?> value) {
    this.type = type;
    this.value = value;
    final MethodHandles.Lookup lookup = MethodHandles.lookup();
    try {
      this.unwrap = lookup.findStatic(Wrapper.class, "unwrap", MethodType.methodType(Object.class, type));
      final String name = "to" + type.getSimpleName();
      this.wrap = lookup.findStatic(Wrapper.class, name, MethodType.methodType(type, Object.class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The wrapper that a class is, or null. */
  static Wrapper of(final Class<?> type) {
    for (final Wrapper wrapper : values()) {
      if (wrapper.type == type) {
        return wrapper;
      }
    }
    return null;
  }

  // Called by handles.

  private static Object unwrap(final Optional<?> optional) {
    return optional == null ? null : optional.orElse(null);
  }

  private static Object unwrap(final OptionalInt optional) {
    return optional == null || optional.isEmpty() ? null : (Object) optional.getAsInt();
  }

  private static Object unwrap(final OptionalLong optional) {
    return optional == null || optional.isEmpty() ? null : (Object) optional.getAsLong();
  }

  private static Object unwrap(final OptionalDouble optional) {
    return optional == null || optional.isEmpty() ? null : (Object) optional.getAsDouble();
  }

  private static Optional<?> toOptional(final Object value) {
    return Optional.ofNullable(value);
  }

  private static OptionalInt toOptionalInt(final Object value) {
    return value == null ? OptionalInt.empty() : OptionalInt.of((Integer) value);
  }

  private static OptionalLong toOptionalLong(final Object value) {
    return value == null ? OptionalLong.empty() : OptionalLong.of((Long) value);
  }

  private static OptionalDouble toOptionalDouble(final Object value) {
    return value == null ? OptionalDouble.empty() : OptionalDouble.of((Double) value);
  }
}
