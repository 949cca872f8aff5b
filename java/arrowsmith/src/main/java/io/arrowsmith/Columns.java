// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import io.arrowsmith.internal.Compiled;
import io.arrowsmith.internal.Rules;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * Objects of a class or record as Arrow columns, and back.
 *
 * <pre>{@code
 * record Trip(long id, String city, double[] speeds) {}
 *
 * Columns<Trip> columns = Columns.of(Trip.class);
 * try (BufferAllocator allocator = new RootAllocator();
 *     VectorSchemaRoot root = columns.encode(trips, allocator)) {
 *   List<Trip> same = columns.decode(root);
 * }
 * }</pre>
 *
 * <p>The class is compiled once, to bytecode that reads its fields and writes Arrow's memory; keep
 * the result. Fields may be private; static and transient ones, and those with {@link
 * ColumnIgnore}, are skipped; those of superclasses come first. Their types become:
 *
 * <table>
 * <caption>Java and Arrow types</caption>
 * <tr><th>Java</th><th>Arrow</th></tr>
 * <tr><td>boolean, byte, short, int, long, float, double</td>
 *     <td>bool, int8 to int64, float32, float64; not nullable</td></tr>
 * <tr><td>char</td><td>uint16; not nullable</td></tr>
 * <tr><td>the boxes of these</td><td>the same, nullable</td></tr>
 * <tr><td>String, enums</td><td>utf8; half a surrogate pair becomes {@code ?}</td></tr>
 * <tr><td>byte[]</td><td>binary</td></tr>
 * <tr><td>Instant, LocalDateTime</td>
 *     <td>timestamp in nanoseconds, with the zone UTC or none</td></tr>
 * <tr><td>LocalDate, LocalTime, Duration</td>
 *     <td>date32, time64 and duration in nanoseconds</td></tr>
 * <tr><td>OffsetDateTime, ZonedDateTime</td><td>timestamp in nanoseconds, in UTC</td></tr>
 * <tr><td>BigDecimal with {@link DecimalColumn}, BigInteger</td>
 *     <td>decimal128 of its precision and scale, or of (38, 0); exact</td></tr>
 * <tr><td>UUID</td><td>fixed-size binary of 16 bytes</td></tr>
 * <tr><td>arrays, collections</td>
 *     <td>list; its items are nullable unless they are primitive</td></tr>
 * <tr><td>{@code Map<K, V>} and its kinds</td><td>map; no key may be null</td></tr>
 * <tr><td>a field of Optional, OptionalInt, OptionalLong, OptionalDouble</td>
 *     <td>that of the value, nullable</td></tr>
 * <tr><td>a class with {@link Builder#convert}</td><td>that of the class that it becomes</td></tr>
 * <tr><td>sealed interfaces and abstract classes</td>
 *     <td>struct: {@code type}, the simple name of the object's class, and for each class a column
 *     of this name, null for objects of others</td></tr>
 * <tr><td>other classes and records, generic ones with their arguments</td>
 *     <td>struct, of the fields of the declared class</td></tr>
 * </table>
 *
 * <p>Objects of this class are immutable, and may be used by many threads at once. Objects must not
 * change while they are encoded; if they do, the result is an error or has old or new values, but
 * memory outside the batch is never accessed.
 *
 * @param <T> the class
 */
public final class Columns<T> {
  private final Class<T> type;
  private final Compiled compiled;
  private final int threads;

  private Columns(final Class<T> type, final Compiled compiled, final int threads) {
    this.type = type;
    this.compiled = compiled;
    this.threads = threads;
  }

  /**
   * Compiles a class.
   *
   * @param <T> the class
   * @param type the class; in a named module, its package has to be open to {@code io.arrowsmith}
   * @return its columns, for as many threads as there are cores
   * @throws ColumnsException if a field has a type without a column type, or the class contains
   * itself; the path says where
   */
  public static <T> Columns<T> of(final Class<T> type) {
    return of(type, MethodHandles.lookup());
  }

  /**
   * Compiles a class of a module that is not open.
   *
   * @param <T> the class
   * @param type the class
   * @param lookup a lookup with access to the private members of the class, and of all that it
   * contains
   * @return its columns, for as many threads as there are cores
   * @throws ColumnsException as {@link #of(Class)}
   */
  public static <T> Columns<T> of(final Class<T> type, final MethodHandles.Lookup lookup) {
    return builder(type).lookup(lookup).build();
  }

  /**
   * For a class that cannot have annotations, or has fields of types without a column.
   *
   * @param <T> the class
   * @param type the class
   * @return a builder of its columns
   */
  public static <T> Builder<T> builder(final Class<T> type) {
    return new Builder<>(type);
  }

  /**
   * Says of fields and types what their classes do not say; it comes before annotations.
   *
   * <pre>{@code
   * Columns<Order> columns =
   *     Columns.builder(Order.class)
   *         .convert(Money.class, Long.class, Money::cents, Money::ofCents)
   *         .name(Order.class, "id", "order_id")
   *         .ignore(Customer.class, "cache")
   *         .build();
   * }</pre>
   *
   * <p>A rule for what the class does not contain is an error.
   *
   * @param <T> the class
   */
  public static final class Builder<T> {
    private final Class<T> type;
    private final Rules rules = new Rules();
    private MethodHandles.Lookup lookup = MethodHandles.lookup();

    private Builder(final Class<T> type) {
      this.type = Objects.requireNonNull(type, "type");
    }

    /**
     * Another name for a column.
     *
     * @param of the class that declares the field
     * @param field the name of the field
     * @param column the name of its column
     * @return this
     * @throws ColumnsException if the class has no such field
     */
    public Builder<T> name(final Class<?> of, final String field, final String column) {
      rules.name(declared(of, field), Objects.requireNonNull(column, "column"));
      return this;
    }

    /**
     * A field without a column, as by {@link ColumnIgnore}.
     *
     * @param of the class that declares the field
     * @param field the name of the field
     * @return this
     * @throws ColumnsException if the class has no such field
     */
    public Builder<T> ignore(final Class<?> of, final String field) {
      rules.ignore(declared(of, field));
      return this;
    }

    /**
     * Digits of the decimals of a field, as by {@link DecimalColumn}.
     *
     * @param of the class that declares the field
     * @param field the name of the field
     * @param precision the most digits of a value, from 1 to 38
     * @param scale the digits after the point of all values, from 0 to the precision
     * @return this
     * @throws ColumnsException if the class has no such field
     */
    public Builder<T> decimal(
        final Class<?> of, final String field, final int precision, final int scale) {
      rules.decimal(declared(of, field), precision, scale);
      return this;
    }

    /**
     * Objects of a class as values of another one, wherever they are: in fields, lists, arrays and
     * maps. The class is that of the declaration. Null stays null.
     *
     * @param <A> the class
     * @param <B> that of the column's values
     * @param from the class; not primitive and not generic
     * @param to the class of the column's values: {@code Long}, {@code String}, a record, …
     * @param encode the value of an object; threads may call it concurrently
     * @param decode the object of a value
     * @return this
     */
    public <A, B> Builder<T> convert(
        final Class<A> from,
        final Class<B> to,
        final Function<? super A, ? extends B> encode,
        final Function<? super B, ? extends A> decode) {
      Objects.requireNonNull(from, "from");
      Objects.requireNonNull(to, "to");
      if (from.isPrimitive() || to.isPrimitive()) {
        throw new ColumnsException("", "a conversion is from and to objects: Integer.class in place of int.class");
      }
      Objects.requireNonNull(encode, "encode");
      Objects.requireNonNull(decode, "decode");
      rules.convert(from, to, encode, decode);
      return this;
    }

    /**
     * For classes of a module that is not open.
     *
     * @param with a lookup with access to the private members of the class, and of all that it
     * contains
     * @return this
     */
    public Builder<T> lookup(final MethodHandles.Lookup with) {
      lookup = Objects.requireNonNull(with, "with");
      return this;
    }

    private static Field declared(final Class<?> of, final String field) {
      Objects.requireNonNull(of, "of");
      Objects.requireNonNull(field, "field");
      try {
        return of.getDeclaredField(field);
      } catch (NoSuchFieldException e) {
        throw new ColumnsException("", of.getName() + " declares no field " + field, e);
      }
    }

    /**
     * Compiles the class.
     *
     * @return its columns, for as many threads as there are cores
     * @throws ColumnsException as {@link Columns#of(Class)}, and for a rule that has no effect
     */
    public Columns<T> build() {
      final int cores = Runtime.getRuntime().availableProcessors();
      return new Columns<>(type, new Compiled(type, rules, lookup), cores);
    }
  }

  /**
   * The same columns with another number of threads.
   *
   * @param count the most threads that may work on one call: the caller's, and others of the common
   * pool
   * @return the same columns
   */
  public Columns<T> withThreads(final int count) {
    if (count < 1) {
      throw new IllegalArgumentException("threads: expected 1 or more, found " + count);
    }
    return new Columns<>(type, compiled, count);
  }

  /**
   * The columns and their types.
   *
   * @return the Arrow schema
   */
  public Schema schema() {
    return compiled.schema();
  }

  /**
   * Encodes objects into a new batch.
   *
   * @param objects the objects; none may be null
   * @param allocator where the memory comes from
   * @return the batch, which the caller closes
   * @throws ColumnsException if an object is null, or the values are too many for one batch
   */
  public VectorSchemaRoot encode(
      final Collection<? extends T> objects, final BufferAllocator allocator) {
    return fresh(Compiled.rows(objects), allocator);
  }

  /**
   * Encodes objects into a new batch.
   *
   * @param objects the objects; none may be null
   * @param allocator where the memory comes from
   * @return the batch, which the caller closes
   * @throws ColumnsException if an object is null, or the values are too many for one batch
   */
  public VectorSchemaRoot encode(final T[] objects, final BufferAllocator allocator) {
    return fresh(objects, allocator);
  }

  private VectorSchemaRoot fresh(final Object[] rows, final BufferAllocator allocator) {
    final VectorSchemaRoot root = VectorSchemaRoot.create(schema(), allocator);
    try {
      compiled.encode(rows, threads, allocator, root);
      return root;
    } catch (RuntimeException | Error e) {
      root.close();
      throw e;
    }
  }

  /**
   * Encodes objects into an existing batch. Its memory is reused if it is large enough and not
   * shared, which saves the cost of fresh memory; the old content is lost, also if this fails.
   *
   * @param objects the objects; none may be null
   * @param root a batch of {@link #schema()}
   * @throws ColumnsException as {@link #encode(Collection, BufferAllocator)}, or if the batch is of
   * another schema
   */
  public void encodeInto(final Collection<? extends T> objects, final VectorSchemaRoot root) {
    into(Compiled.rows(objects), root);
  }

  /**
   * Encodes objects into an existing batch, as {@link #encodeInto(Collection, VectorSchemaRoot)}.
   *
   * @param objects the objects; none may be null
   * @param root a batch of {@link #schema()}
   * @throws ColumnsException as {@link #encode(Collection, BufferAllocator)}, or if the batch is of
   * another schema
   */
  public void encodeInto(final T[] objects, final VectorSchemaRoot root) {
    into(objects, root);
  }

  private void into(final Object[] rows, final VectorSchemaRoot root) {
    if (!root.getSchema().getFields().equals(schema().getFields())) {
      throw new ColumnsException("", "the batch has another schema: " + root.getSchema());
    }
    try {
      compiled.encode(rows, threads, root.getVector(0).getAllocator(), root);
    } catch (RuntimeException | Error e) {
      root.clear();
      throw e;
    }
  }

  /**
   * Encodes objects and exports them to native code.
   *
   * @param objects the objects; none may be null
   * @param allocator where the memory comes from; it is returned when the consumer releases the
   * array
   * @param array gets the batch, as a struct array of the Arrow C Data Interface
   * @param schema gets its schema; may be null
   * @throws ColumnsException as {@link #encode(Collection, BufferAllocator)}
   */
  public void export(
      final Collection<? extends T> objects,
      final BufferAllocator allocator,
      final ArrowArray array,
      final ArrowSchema schema) {
    try (VectorSchemaRoot root = encode(objects, allocator)) {
      if (schema == null) {
        Data.exportVectorSchemaRoot(allocator, root, null, array);
      } else {
        Data.exportVectorSchemaRoot(allocator, root, null, array, schema);
      }
    }
  }

  /**
   * Makes objects from columns. Records are made by their canonical constructor, objects of other
   * classes by the one without parameters, or, if they have final fields, by the one that takes all
   * fields in their order: with their names ({@code javac -parameters}), or with types that differ.
   * A null becomes an empty {@code Optional}. Lists are {@code ArrayList}s, sets {@code
   * LinkedHashSet}s, maps {@code LinkedHashMap}s, or {@code TreeMap}s if the field's type requires
   * it.
   *
   * @param root columns with the names and types of {@link #schema()}, in any order, from any
   * source; others are ignored
   * @return one object per row
   * @throws ColumnsException if a column is missing, of another type, invalid, or null where the
   *     class has a primitive field; or if objects of the class cannot be constructed
   */
  public List<T> decode(final VectorSchemaRoot root) {
    final List<T> objects = new ArrayList<>(root.getRowCount());
    for (final Object object : compiled.decode(root, threads)) {
      objects.add(type.cast(object));
    }
    return objects;
  }

  @Override
  public String toString() {
    return "Columns of " + type.getName() + ": " + Arrays.toString(schema().getFields().toArray());
  }
}
