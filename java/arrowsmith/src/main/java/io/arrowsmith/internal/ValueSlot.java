// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.UUID;
import org.apache.arrow.vector.types.pojo.ArrowType;

/** Objects that are one value of fixed width: boxed primitives, decimals, dates, times, UUIDs. */
final class ValueSlot extends Slot {
  private static final long NANOS = 1_000_000_000L;

  private final Kind kind;
  private Bits bits;

  ValueSlot(final Column column) {
    super(column);
    this.kind = column.node.kind;
  }

  @Override
  void place(final long row, final long offset) {
    super.place(row, offset);
    if (kind == Kind.BOOL) {
      bits = new Bits(column, column.data.memoryAddress(), row);
    }
  }

  @Override
  void append(final Object value) {
    final boolean there = isThere(value);
    if (kind == Kind.BOOL) {
      bits.append(there && (Boolean) value);
      return;
    }
    final long place = at;
    at = place + kind.width;
    if (there) {
      put(place, value);
    } else {
      Mem.fill(place, kind.width, (byte) 0);
    }
  }

  private void put(final long place, final Object value) {
    switch (kind) {
      case INT8 -> Mem.putByte(place, (Byte) value);
      case INT16 -> Mem.putShort(place, (Short) value);
      case UINT16 -> Mem.putChar(place, (Character) value);
      case INT32 -> Mem.putInt(place, (Integer) value);
      case INT64 -> Mem.putLong(place, (Long) value);
      case FLOAT32 -> Mem.putFloat(place, (Float) value);
      case FLOAT64 -> Mem.putDouble(place, (Double) value);
      case UUID -> {
        final UUID uuid = (UUID) value;
        Mem.putLong(place, Long.reverseBytes(uuid.getMostSignificantBits()));
        Mem.putLong(place + 8, Long.reverseBytes(uuid.getLeastSignificantBits()));
      }
      case DECIMAL -> putDecimal(place, (BigDecimal) value);
      case BIG_INTEGER -> putDecimal(place, new BigDecimal((BigInteger) value));
      default -> putTime(place, value);
    }
  }

  private void putDecimal(final long place, final BigDecimal value) {
    final ArrowType.Decimal type = (ArrowType.Decimal) column.node.arrowType;
    // Checked before anything is scaled: 1E+999999999 would have as many digits.
    final BigDecimal exact = value.scale() > type.getScale() ? value.stripTrailingZeros() : value;
    final long digits = (long) exact.precision() - exact.scale() + type.getScale();
    final boolean isZero = exact.signum() == 0;
    if (!isZero && (exact.scale() > type.getScale() || digits > type.getPrecision())) {
      throw new ColumnsException(
          column.node.path,
          value + " does not fit " + type.getPrecision() + " digits, " + type.getScale() + " of them after the point");
    }
    final BigInteger unscaled = isZero ? BigInteger.ZERO : exact.setScale(type.getScale()).unscaledValue();
    Mem.putLong(place, unscaled.longValue());
    Mem.putLong(place + Long.BYTES, unscaled.shiftRight(Long.SIZE).longValue());
  }

  private void putTime(final long place, final Object value) {
    try {
      switch (kind) {
        case INSTANT -> putInstant(place, (Instant) value);
        case OFFSET_TIME -> putInstant(place, ((OffsetDateTime) value).toInstant());
        case ZONED_TIME -> putInstant(place, ((ZonedDateTime) value).toInstant());
        case DATE_TIME -> {
          final LocalDateTime time = (LocalDateTime) value;
          Mem.putLong(place, nanos(time.toEpochSecond(ZoneOffset.UTC), time.getNano()));
        }
        case DATE -> Mem.putInt(place, Math.toIntExact(((LocalDate) value).toEpochDay()));
        case TIME -> Mem.putLong(place, ((LocalTime) value).toNanoOfDay());
        case DURATION -> {
          final Duration duration = (Duration) value;
          Mem.putLong(place, nanos(duration.getSeconds(), duration.getNano()));
        }
        default -> throw new IllegalStateException(kind.name());
      }
    } catch (ArithmeticException e) {
      throw new ColumnsException(
          column.node.path, value + " does not fit 64 bits of nanoseconds, or 32 bits of days", e);
    }
  }

  private static void putInstant(final long place, final Instant instant) {
    Mem.putLong(place, nanos(instant.getEpochSecond(), instant.getNano()));
  }

  /** Nanoseconds; exact at the lower end too, where the seconds alone overflow. */
  private static long nanos(final long seconds, final int nano) {
    if (seconds < 0 && nano > 0) {
      return Math.addExact(Math.multiplyExact(seconds + 1, NANOS), nano - NANOS);
    }
    return Math.addExact(Math.multiplyExact(seconds, NANOS), nano);
  }

  @Override
  void moved(final long validityBy, final long offsetsBy, final long dataBy) {
    super.moved(validityBy, offsetsBy, dataBy);
    if (bits != null) {
      bits.move(dataBy);
    }
  }

  @Override
  void finish() {
    super.finish();
    if (bits != null) {
      bits.finish();
    }
  }
}
