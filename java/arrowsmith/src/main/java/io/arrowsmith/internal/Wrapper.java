// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * A class of the JDK around a value that may be absent. A field that is null itself is read as an
 * empty one.
 */
final class Wrapper {
  private static final List<Wrapper> ALL =
      List.of(
          of(Optional.class, null, it -> it.orElse(null), Optional::ofNullable),
          of(
              OptionalInt.class,
              Integer.class,
              it -> it.isPresent() ? (Object) it.getAsInt() : null,
              value -> value == null ? OptionalInt.empty() : OptionalInt.of((Integer) value)),
          of(
              OptionalLong.class,
              Long.class,
              it -> it.isPresent() ? (Object) it.getAsLong() : null,
              value -> value == null ? OptionalLong.empty() : OptionalLong.of((Long) value)),
          of(
              OptionalDouble.class,
              Double.class,
              it -> it.isPresent() ? (Object) it.getAsDouble() : null,
              value -> value == null ? OptionalDouble.empty() : OptionalDouble.of((Double) value)));

  /** The class of the value, if it has no choice. */
  final Class<?> value;

  final Around around;

  private Wrapper(final Class<?> value, final Around around) {
    this.value = value;
    this.around = around;
  }

  private static <W> Wrapper of(
      final Class<W> type,
      final Class<?> value,
      final Function<W, Object> unwrap,
      final Function<Object, W> wrap) {
    return new Wrapper(
        value, new Around(type, it -> it == null ? null : unwrap.apply(type.cast(it)), wrap::apply));
  }

  /** The wrapper that a class is, or null. */
  static Wrapper of(final Class<?> type) {
    return ALL.stream().filter(wrapper -> wrapper.around.type() == type).findFirst().orElse(null);
  }
}
