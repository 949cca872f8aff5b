// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Map;
import java.util.UUID;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;

/** The Arrow type of a value, and its width. */
enum Kind {
  BOOL(new ArrowType.Bool(), 0, "Z"),
  INT8(new ArrowType.Int(8, true), 1, "B"),
  INT16(new ArrowType.Int(16, true), 2, "S"),
  UINT16(new ArrowType.Int(16, false), 2, "C"),
  INT32(new ArrowType.Int(32, true), 4, "I"),
  INT64(new ArrowType.Int(64, true), 8, "J"),
  FLOAT32(new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE), 4, "F"),
  FLOAT64(new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE), 8, "D"),
  INSTANT(new ArrowType.Timestamp(TimeUnit.NANOSECOND, "UTC"), 8, null),
  OFFSET_TIME(new ArrowType.Timestamp(TimeUnit.NANOSECOND, "UTC"), 8, null),
  ZONED_TIME(new ArrowType.Timestamp(TimeUnit.NANOSECOND, "UTC"), 8, null),
  DATE_TIME(new ArrowType.Timestamp(TimeUnit.NANOSECOND, null), 8, null),
  DATE(new ArrowType.Date(DateUnit.DAY), 4, null),
  TIME(new ArrowType.Time(TimeUnit.NANOSECOND, 64), 8, null),
  DURATION(new ArrowType.Duration(TimeUnit.NANOSECOND), 8, null),
  UUID(new ArrowType.FixedSizeBinary(16), 16, null),
  /** Precision and scale are the column's own. */
  DECIMAL(new ArrowType.Decimal(Kind.DIGITS_MAX, 0, 128), 16, null),
  BIG_INTEGER(new ArrowType.Decimal(Kind.DIGITS_MAX, 0, 128), 16, null),
  UTF8(new ArrowType.Utf8(), -1, null),
  ENUM(new ArrowType.Utf8(), -1, null),
  BINARY(new ArrowType.Binary(), -1, null),
  LIST(new ArrowType.List(), -1, null),
  MAP(new ArrowType.Map(false), -1, null),
  STRUCT(new ArrowType.Struct(), -1, null);

  /** Maximum decimal digits of 128 bits. */
  static final int DIGITS_MAX = 38;

  /** Primitive types, and those whose values have one width. */
  private static final Map<Class<?>, Kind> KINDS =
      Map.ofEntries(
          Map.entry(boolean.class, BOOL),
          Map.entry(byte.class, INT8),
          Map.entry(short.class, INT16),
          Map.entry(char.class, UINT16),
          Map.entry(int.class, INT32),
          Map.entry(long.class, INT64),
          Map.entry(float.class, FLOAT32),
          Map.entry(double.class, FLOAT64),
          Map.entry(Boolean.class, BOOL),
          Map.entry(Byte.class, INT8),
          Map.entry(Short.class, INT16),
          Map.entry(Character.class, UINT16),
          Map.entry(Integer.class, INT32),
          Map.entry(Long.class, INT64),
          Map.entry(Float.class, FLOAT32),
          Map.entry(Double.class, FLOAT64),
          Map.entry(Instant.class, INSTANT),
          Map.entry(OffsetDateTime.class, OFFSET_TIME),
          Map.entry(ZonedDateTime.class, ZONED_TIME),
          Map.entry(LocalDateTime.class, DATE_TIME),
          Map.entry(LocalDate.class, DATE),
          Map.entry(LocalTime.class, TIME),
          Map.entry(Duration.class, DURATION),
          Map.entry(UUID.class, UUID),
          Map.entry(BigDecimal.class, DECIMAL),
          Map.entry(BigInteger.class, BIG_INTEGER),
          Map.entry(String.class, UTF8),
          Map.entry(byte[].class, BINARY));

  /** The Arrow type; the children of a list or struct are separate. */
  final ArrowType type;

  /** Bytes of a value; 0 for a bit, -1 for varying length. */
  final int width;

  /** The descriptor of the underlying primitive type, or null. */
  final String primitive;

  Kind(final ArrowType type, final int width, final String primitive) {
    this.type = type;
    this.width = width;
    this.primitive = primitive;
  }

  /** Whether it has offsets. */
  boolean isOffset() {
    return width < 0 && this != STRUCT;
  }

  /** Whether a value has elements: lists, and maps of entries. */
  boolean isList() {
    return this == LIST || this == MAP;
  }

  /** Whether values are byte sequences of any length. */
  boolean isText() {
    return this == UTF8 || this == ENUM || this == BINARY;
  }

  /** The kind of a class that is a single value, or null. */
  static Kind of(final Class<?> type) {
    return type.isEnum() ? ENUM : KINDS.get(type);
  }
}
