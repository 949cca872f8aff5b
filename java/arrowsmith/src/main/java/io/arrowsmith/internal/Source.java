// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.types.pojo.ArrowType;

/**
 * The values of one column, as Java values. Columns may come from any source, so every offset is
 * checked against the available memory; the memory itself is checked against the number of values
 * once.
 */
final class Source {
  private static final long NANOS = 1_000_000_000L;

  private final Node node;
  private final Kind kind;
  private final Source[] children;
  private final int rows;
  private final boolean nulls;
  private final long validity;
  private final long offsets;
  private final long data;
  private final long dataBytes;
  private final Map<String, Object> constants;

  private Source(final Node node, final FieldVector vector) {
    this.node = node;
    this.kind = node.kind;
    this.rows = vector.getValueCount();
    this.nulls = vector.getNullCount() > 0;
    final List<ArrowBuf> buffers = vector.getFieldBuffers();
    this.validity = nulls ? checked(buffers.get(0), ((long) rows + 7) >> 3) : 0;
    final boolean varies = kind.width < 0 && kind != Kind.STRUCT;
    this.offsets = varies && rows > 0 ? checked(buffers.get(1), ((long) rows + 1) << 2) : 0;
    if (kind == Kind.STRUCT || kind.isList()) {
      this.data = 0;
      this.dataBytes = 0;
    } else {
      final ArrowBuf last = buffers.get(buffers.size() - 1);
      final long needed = kind == Kind.BOOL ? ((long) rows + 7) >> 3 : (long) rows * kind.width;
      this.data = checked(last, Math.max(0, needed));
      this.dataBytes = last.capacity();
    }
    this.children = below(node, vector);
    this.constants = kind == Kind.ENUM ? constants(node.type) : null;
  }

  private long checked(final ArrowBuf buffer, final long bytes) {
    if (buffer.capacity() < bytes) {
      throw new ColumnsException(
          node.path, "a buffer of " + buffer.capacity() + " bytes, where " + rows + " values need " + bytes);
    }
    return buffer.memoryAddress();
  }

  /**
   * The values of a column.
   *
   * @param vector the column, whose type must be the node's
   */
  static Source of(final Node node, final FieldVector vector) {
    final ArrowType found = vector.getField().getType();
    final boolean same =
        node.kind == Kind.MAP ? found instanceof ArrowType.Map : found.equals(node.arrowType);
    if (!same) {
      throw new ColumnsException(node.path, "expected " + node.arrowType + ", found " + found);
    }
    return new Source(node, vector);
  }

  private static Source[] below(final Node node, final FieldVector vector) {
    final List<FieldVector> vectors = vector.getChildrenFromFields();
    if (node.type == Map.Entry.class) {
      // Writers of maps may choose the names of keys and values.
      if (vectors.size() != 2) {
        throw new ColumnsException(node.path, "entries of a map with " + vectors.size() + " members");
      }
      final Source[] entry = {of(node.children.get(0), vectors.get(0)), of(node.children.get(1), vectors.get(1))};
      for (final Source member : entry) {
        member.refuseFewer(vector.getValueCount());
      }
      return entry;
    }
    if (node.kind.isList()) {
      return new Source[] {of(node.element(), vectors.get(0))};
    }
    final Source[] members =
        node.children.stream().map(child -> named(child, vectors)).toArray(Source[]::new);
    for (final Source member : members) {
      member.refuseFewer(vector.getValueCount());
    }
    return members;
  }

  /** The column of this name among others. */
  static Source named(final Node node, final List<FieldVector> vectors) {
    for (final FieldVector vector : vectors) {
      if (vector.getName().equals(node.name)) {
        return of(node, vector);
      }
    }
    throw new ColumnsException(node.path, "there is no such column");
  }

  private static Map<String, Object> constants(final Class<?> type) {
    final Map<String, Object> constants = new HashMap<>();
    for (final Object constant : type.getEnumConstants()) {
      constants.put(((Enum<?>) constant).name(), constant);
    }
    return constants;
  }

  /** Refuses a column that is shorter than its parent. */
  void refuseFewer(final int count) {
    if (rows < count) {
      throw new ColumnsException(node.path, rows + " values, where there are " + count + " rows");
    }
  }

  private boolean isNull(final int row) {
    return nulls && (Mem.getByte(validity + (row >> 3)) >> (row & 7) & 1) == 0;
  }

  /** The row, if it has a value. */
  private long there(final int row) {
    if (isNull(row)) {
      throw new ColumnsException(node.path, "row " + row + " is null, and " + node.type + " cannot be");
    }
    return row;
  }

  boolean getBoolean(final int row) {
    return bit(there(row));
  }

  private boolean bit(final long row) {
    return (Mem.getByte(data + (row >> 3)) >> (row & 7) & 1) != 0;
  }

  byte getByte(final int row) {
    return Mem.getByte(data + there(row));
  }

  short getShort(final int row) {
    return Mem.getShort(data + (there(row) << 1));
  }

  char getChar(final int row) {
    return Mem.getChar(data + (there(row) << 1));
  }

  int getInt(final int row) {
    return Mem.getInt(data + (there(row) << 2));
  }

  long getLong(final int row) {
    return Mem.getLong(data + (there(row) << 3));
  }

  float getFloat(final int row) {
    return Mem.getFloat(data + (there(row) << 2));
  }

  double getDouble(final int row) {
    return Mem.getDouble(data + (there(row) << 3));
  }

  /** The value of a row as an object, or null. */
  Object get(final int row) {
    if (isNull(row)) {
      return null;
    }
    return switch (kind) {
      case BOOL -> bit(row);
      case INT8 -> getByte(row);
      case INT16 -> getShort(row);
      case UINT16 -> getChar(row);
      case INT32 -> getInt(row);
      case INT64 -> getLong(row);
      case FLOAT32 -> getFloat(row);
      case FLOAT64 -> getDouble(row);
      case DATE -> LocalDate.ofEpochDay(getInt(row));
      case INSTANT -> instant(getLong(row));
      case OFFSET_TIME -> instant(getLong(row)).atOffset(ZoneOffset.UTC);
      case ZONED_TIME -> instant(getLong(row)).atZone(ZoneOffset.UTC);
      case DATE_TIME -> LocalDateTime.ofInstant(instant(getLong(row)), ZoneOffset.UTC);
      case TIME -> time(row);
      case DURATION -> Duration.ofNanos(getLong(row));
      case UUID -> uuid(data + ((long) row << 4));
      case DECIMAL -> new BigDecimal(integer(row), ((ArrowType.Decimal) node.arrowType).getScale());
      case BIG_INTEGER -> integer(row);
      case UTF8 -> new String(bytes(row), StandardCharsets.UTF_8);
      case ENUM -> constant(new String(bytes(row), StandardCharsets.UTF_8), row);
      case BINARY -> bytes(row);
      case LIST -> list(row);
      case MAP -> map(row);
      case STRUCT -> node.codec.make(row, children);
    };
  }

  /** The same, with what is around it. */
  private Object outer(final int row) {
    final Object value = get(row);
    return node.around == null ? value : node.around.wrap().apply(value);
  }

  private static Instant instant(final long nanos) {
    return Instant.ofEpochSecond(Math.floorDiv(nanos, NANOS), Math.floorMod(nanos, NANOS));
  }

  private LocalTime time(final int row) {
    final long nanos = getLong(row);
    if (nanos < 0 || nanos >= 86_400 * NANOS) {
      throw new ColumnsException(node.path, "row " + row + ": no time of a day: " + nanos + " ns");
    }
    return LocalTime.ofNanoOfDay(nanos);
  }

  /** The 128 bits of a decimal. */
  private BigInteger integer(final int row) {
    final long at = data + ((long) row << 4);
    final long low = Mem.getLong(at);
    final long high = Mem.getLong(at + Long.BYTES);
    final BigInteger value = BigInteger.valueOf(low);
    if (high == low >> 63) {
      return value;
    }
    // The low half is unsigned.
    return BigInteger.valueOf(low < 0 ? high + 1 : high).shiftLeft(Long.SIZE).add(value);
  }

  private static UUID uuid(final long at) {
    return new UUID(Long.reverseBytes(Mem.getLong(at)), Long.reverseBytes(Mem.getLong(at + 8)));
  }

  private Object constant(final String name, final int row) {
    final Object constant = constants.get(name);
    if (constant == null) {
      throw new ColumnsException(
          node.path, "row " + row + ": " + node.type.getName() + " has no constant " + name);
    }
    return constant;
  }

  /** The first value of a row; the end is the first value of the next row. */
  private int start(final int row, final long limit) {
    final int start = Mem.getInt(offsets + ((long) row << 2));
    final int end = Mem.getInt(offsets + ((long) row + 1 << 2));
    if (start < 0 || end < start || end > limit) {
      throw new ColumnsException(
          node.path, "row " + row + ": offsets " + start + " to " + end + ", where there are " + limit);
    }
    return start;
  }

  private int end(final int row) {
    return Mem.getInt(offsets + ((long) row + 1 << 2));
  }

  private byte[] bytes(final int row) {
    final int start = start(row, dataBytes);
    final byte[] bytes = new byte[end(row) - start];
    Mem.copy(data + start, bytes, bytes.length);
    return bytes;
  }

  private Object list(final int row) {
    final Source element = children[0];
    final int start = start(row, element.rows);
    final int length = end(row) - start;
    if (node.isPrimitiveList()) {
      return element.array(start, length);
    }
    if (node.type.isArray()) {
      final Object[] array = (Object[]) Array.newInstance(element.node.outerType(), length);
      for (int i = 0; i < length; i++) {
        array[i] = element.outer(start + i);
      }
      return array;
    }
    final Collection<Object> collection = collection(length);
    for (int i = 0; i < length; i++) {
      collection.add(element.outer(start + i));
    }
    return collection;
  }

  private Map<Object, Object> map(final int row) {
    final Source entries = children[0];
    final Map<Object, Object> map = map();
    final int end = end(row);
    for (int at = start(row, entries.rows); at < end; at++) {
      final Object entry = entries.get(at);
      if (!(entry instanceof Map.Entry<?, ?> pair) || pair.getKey() == null) {
        throw new ColumnsException(node.path, "row " + row + ": an entry of a map without a key");
      }
      map.put(pair.getKey(), pair.getValue());
    }
    return map;
  }

  private Map<Object, Object> map() {
    if (node.type.isAssignableFrom(LinkedHashMap.class)) {
      return new LinkedHashMap<>();
    }
    if (node.type.isAssignableFrom(TreeMap.class)) {
      return new TreeMap<>();
    }
    throw new ColumnsException(
        node.path, "cannot make a " + node.type.getName() + "; a Map, HashMap, LinkedHashMap or SortedMap can be made");
  }

  private Collection<Object> collection(final int length) {
    if (node.type.isAssignableFrom(ArrayList.class)) {
      return new ArrayList<>(length);
    }
    if (node.type.isAssignableFrom(LinkedHashSet.class)) {
      return new LinkedHashSet<>();
    }
    throw new ColumnsException(
        node.path, "cannot make a " + node.type.getName() + "; a List, ArrayList, Collection or Set can be made");
  }

  private Object array(final int start, final int length) {
    for (int i = 0; nulls && i < length; i++) {
      there(start + i);
    }
    final long at = data + (long) start * kind.width;
    switch (kind) {
      case INT16 -> {
        final short[] array = new short[length];
        Mem.copy(at, array, length);
        return array;
      }
      case UINT16 -> {
        final char[] array = new char[length];
        Mem.copy(at, array, length);
        return array;
      }
      case INT32 -> {
        final int[] array = new int[length];
        Mem.copy(at, array, length);
        return array;
      }
      case INT64 -> {
        final long[] array = new long[length];
        Mem.copy(at, array, length);
        return array;
      }
      case FLOAT32 -> {
        final float[] array = new float[length];
        Mem.copy(at, array, length);
        return array;
      }
      case FLOAT64 -> {
        final double[] array = new double[length];
        Mem.copy(at, array, length);
        return array;
      }
      default -> {
        final boolean[] array = new boolean[length];
        for (int i = 0; i < length; i++) {
          array[i] = bit(start + i);
        }
        return array;
      }
    }
  }

  /** Why objects of a nested class cannot be constructed, or null. */
  static void refuseUnmakeable(final Node node) {
    if (node.codec != null && node.codec.cannotMake != null) {
      throw new ColumnsException(
          node.path, "a " + node.codec.className + " cannot be made: " + node.codec.cannotMake);
    }
    node.children.forEach(Source::refuseUnmakeable);
  }
}
