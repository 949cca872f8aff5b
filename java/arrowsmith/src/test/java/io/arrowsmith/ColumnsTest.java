// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The columns of classes, value by value, and refused classes. */
class ColumnsTest {
  private final BufferAllocator allocator = new RootAllocator();

  @AfterEach
  void memoryIsReturned() {
    // Throws if memory is leaked.
    allocator.close();
  }

  enum Color {
    RED,
    GRÜN
  }

  record Scalars(
      boolean z, byte b, short s, char c, int i, long l, float f, double d,
      Boolean zz, Byte bb, Short ss, Character cc, Integer ii, Long ll, Float ff, Double dd) {}

  record Others(
      String text, Color color, byte[] bytes, UUID uuid,
      Instant instant, LocalDateTime dateTime, LocalDate date, LocalTime time, Duration duration) {}

  record Inner(int x, String y) {}

  record Nested(
      Inner inner, Inner[] array, List<Inner> list, Collection<String> texts, Set<Long> set,
      int[] ints, double[][] matrix, boolean[] bits, List<? extends Inner> wild, List<List<Inner>> deep,
      List<String>[] generic) {}

  private <T> void roundTrip(final Class<T> type, final List<T> objects) {
    for (final int threads : new int[] {1, 3}) {
      final Columns<T> columns = Columns.of(type).withThreads(threads);
      try (VectorSchemaRoot root = columns.encode(objects, allocator)) {
        Oracle.check(root, objects, type);
        final List<T> back = columns.decode(root);
        for (int row = 0; row < objects.size(); row++) {
          assertEquals(Oracle.expected(objects.get(row), type), Oracle.expected(back.get(row), type));
        }
      }
    }
  }

  @Test
  void scalars() {
    final var low =
        new Scalars(
            true, Byte.MIN_VALUE, Short.MIN_VALUE, '\0', Integer.MIN_VALUE, Long.MIN_VALUE, Float.NaN, -0.0,
            true, Byte.MIN_VALUE, Short.MIN_VALUE, '\uffff', Integer.MIN_VALUE, Long.MIN_VALUE, -0f, Double.NaN);
    final var none =
        new Scalars(false, (byte) 1, (short) 2, 'c', 3, 4, 5, 6, null, null, null, null, null, null, null, null);
    roundTrip(Scalars.class, List.of(low, none, low));
    assertEquals(
        "Schema<z: Bool not null, b: Int(8, true) not null, s: Int(16, true) not null, c: Int(16, false) not null, "
            + "i: Int(32, true) not null, l: Int(64, true) not null, f: FloatingPoint(SINGLE) not null, "
            + "d: FloatingPoint(DOUBLE) not null, zz: Bool, bb: Int(8, true), ss: Int(16, true), cc: Int(16, false), "
            + "ii: Int(32, true), ll: Int(64, true), ff: FloatingPoint(SINGLE), dd: FloatingPoint(DOUBLE)>",
        Columns.of(Scalars.class).schema().toString());
  }

  @Test
  void otherValues() {
    final var all =
        new Others(
            "grün 😀", Color.GRÜN, new byte[] {1, -1}, UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"),
            Instant.ofEpochSecond(0, Long.MIN_VALUE), LocalDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999),
            LocalDate.of(1, 1, 1), LocalTime.MAX, Duration.ofNanos(-1));
    final var none = new Others(null, null, null, null, null, null, null, null, null);
    final var empty =
        new Others("", Color.RED, new byte[0], new UUID(0, 0), Instant.EPOCH, null, LocalDate.EPOCH, null, Duration.ZERO);
    roundTrip(Others.class, List.of(all, none, empty, all));
  }

  record Moments(OffsetDateTime offset, ZonedDateTime zoned, List<OffsetDateTime> list) {}

  @Test
  void momentsAreInUtc() {
    final OffsetDateTime offset = OffsetDateTime.of(2024, 2, 29, 10, 11, 12, 13, ZoneOffset.ofHours(5));
    final ZonedDateTime zoned = ZonedDateTime.of(1969, 12, 31, 23, 59, 59, 999_999_999, ZoneId.of("Europe/Berlin"));
    final var all = new Moments(offset, zoned, Arrays.asList(offset, null));
    final var none = new Moments(null, null, null);
    final Columns<Moments> columns = Columns.of(Moments.class);
    try (VectorSchemaRoot root = columns.encode(List.of(all, none), allocator)) {
      assertEquals("Timestamp(NANOSECOND, UTC)", root.getVector("zoned").getField().getType().toString());
      final var utc =
          new Moments(
              offset.withOffsetSameInstant(ZoneOffset.UTC), zoned.withZoneSameInstant(ZoneOffset.UTC),
              Arrays.asList(offset.withOffsetSameInstant(ZoneOffset.UTC), null));
      assertEquals(List.of(utc, none), columns.decode(root));
    }
    final var far = new Moments(OffsetDateTime.MAX, null, null);
    assertThrows(ColumnsException.class, () -> columns.encode(List.of(far), allocator));
  }

  record Amounts(
      @DecimalColumn(precision = 10, scale = 2) BigDecimal price,
      @DecimalColumn(precision = 38, scale = 38) List<BigDecimal> parts,
      BigInteger count) {}

  private static Amounts amounts(final String price, final String part, final BigInteger count) {
    return new Amounts(new BigDecimal(price), Arrays.asList(new BigDecimal(part), null), count);
  }

  @Test
  void decimals() {
    final BigInteger most = BigInteger.TEN.pow(38).subtract(BigInteger.ONE);
    final List<Amounts> objects = new ArrayList<>();
    for (final BigInteger count :
        List.of(
            most, most.negate(), BigInteger.ZERO, BigInteger.ONE.negate(), BigInteger.ONE.shiftLeft(63),
            BigInteger.ONE.shiftLeft(64), BigInteger.ONE.shiftLeft(126).subtract(BigInteger.ONE),
            BigInteger.ONE.shiftLeft(64).negate(), BigInteger.valueOf(Long.MIN_VALUE).subtract(BigInteger.ONE))) {
      objects.add(amounts("-99999999.99", "0." + "9".repeat(38), count));
    }
    objects.add(new Amounts(null, null, null));
    final Columns<Amounts> columns = Columns.of(Amounts.class);
    assertEquals(
        "Schema<price: Decimal(10, 2, 128), parts: List<item: Decimal(38, 38, 128)>, count: Decimal(38, 0, 128)>",
        columns.schema().toString());
    try (VectorSchemaRoot root = columns.encode(objects, allocator)) {
      assertEquals(objects, columns.decode(root));
      for (int row = 0; row < objects.size() - 1; row++) {
        assertEquals(new BigDecimal(objects.get(row).count), root.getVector("count").getObject(row));
        assertEquals(objects.get(row).price, root.getVector("price").getObject(row));
      }
    }
    // Written another way, the same value.
    final List<Amounts> ways =
        List.of(
            amounts("1.5", "0", BigInteger.ONE), amounts("1E+2", "0E+500", BigInteger.ONE),
            amounts("7.1000000", "1E-38", BigInteger.ONE), amounts("0E-999999999", "0.10", BigInteger.ONE));
    try (VectorSchemaRoot root = columns.encode(ways, allocator)) {
      final List<String> prices = columns.decode(root).stream().map(a -> a.price.toString()).toList();
      assertEquals(List.of("1.50", "100.00", "7.10", "0.00"), prices);
    }
  }

  @Test
  void decimalsThatDoNotFitAreNotRounded() {
    record Plain(BigDecimal price) {}
    record Wide(@DecimalColumn(precision = 39, scale = 0) BigDecimal price) {}
    final Columns<Amounts> columns = Columns.of(Amounts.class);
    for (final String price : List.of("1.234", "100000000", "-1E+8", "1E+999999999", "1E-999999999")) {
      final var error =
          assertThrows(
              ColumnsException.class,
              () -> columns.encode(List.of(amounts(price, "0", BigInteger.ZERO)), allocator));
      assertEquals("price", error.path());
    }
    final Amounts large = amounts("0", "0", BigInteger.TEN.pow(38));
    assertThrows(ColumnsException.class, () -> columns.encode(List.of(large), allocator));
    assertTrue(refused(Plain.class).getMessage().contains("@DecimalColumn"), refused(Plain.class).getMessage());
    assertTrue(refused(Wide.class).getMessage().contains("from 1 to 38"), refused(Wide.class).getMessage());
  }

  record Maybe(
      Optional<String> text, OptionalInt i, OptionalLong l, OptionalDouble d, Optional<List<Inner>> list,
      @DecimalColumn(precision = 5, scale = 1) Optional<BigDecimal> price) {}

  static class MaybeClass {
    private Optional<String> text = Optional.of("x");
    private OptionalInt number = OptionalInt.empty();
  }

  @Test
  void optionalValuesAreNullOrThere() {
    final var all =
        new Maybe(
            Optional.of("é"), OptionalInt.of(-1), OptionalLong.of(2), OptionalDouble.of(0.5),
            Optional.of(List.of(new Inner(1, "a"))), Optional.of(new BigDecimal("1.5")));
    final var none =
        new Maybe(
            Optional.empty(), OptionalInt.empty(), OptionalLong.empty(), OptionalDouble.empty(), Optional.empty(),
            Optional.empty());
    final Columns<Maybe> columns = Columns.of(Maybe.class);
    try (VectorSchemaRoot root =
        columns.encode(List.of(all, none, new Maybe(null, null, null, null, null, null)), allocator)) {
      assertEquals(
          "Schema<text: Utf8, i: Int(32, true), l: Int(64, true), d: FloatingPoint(DOUBLE), "
              + "list: List<item: Struct<x: Int(32, true) not null, y: Utf8>>, price: Decimal(5, 1, 128)>",
          root.getSchema().toString());
      assertEquals(1, root.getVector("i").getNullCount() - 1);
      assertEquals(List.of(all, none, none), columns.decode(root));
    }
    final Columns<MaybeClass> classes = Columns.of(MaybeClass.class);
    try (VectorSchemaRoot root = classes.encode(List.of(new MaybeClass()), allocator)) {
      final MaybeClass back = classes.decode(root).get(0);
      assertEquals(Optional.of("x"), back.text);
      assertEquals(OptionalInt.empty(), back.number);
    }
    record Raw(@SuppressWarnings("rawtypes") Optional text) {}
    record Deep(List<Optional<String>> texts) {}
    assertTrue(refused(Raw.class).getMessage().contains("write Optional<…>"));
    assertEquals("texts[]", refused(Deep.class).path());
  }

  record Pair<A, B>(A first, B second) {}

  record Pairs(
      Pair<String, Integer> one, Pair<Integer, String> two, List<Pair<Pair<Long, int[]>, List<String>>> deep,
      Pair<? extends Inner, Long[]> wild) {}

  static class Holder<T> {
    protected T value;
    protected T[] more;
    protected List<? extends T> list;
  }

  static class Texts extends Holder<String> {
    private int own = 1;
  }

  static class Endless<T> {
    Endless<List<T>> next;
  }

  record OfEndless(Endless<String> endless) {}

  @Test
  void typeParametersAreWhatTheyStandFor() {
    final var all =
        new Pairs(
            new Pair<>("a", 1), new Pair<>(2, "b"),
            List.of(new Pair<>(new Pair<>(3L, new int[] {4}), List.of("c"))), new Pair<>(new Inner(5, "d"), new Long[] {6L}));
    final Columns<Pairs> columns = Columns.of(Pairs.class);
    try (VectorSchemaRoot root = columns.encode(List.of(all, new Pairs(null, null, null, null)), allocator)) {
      assertEquals(
          "one: Struct<first: Utf8, second: Int(32, true)>", root.getVector("one").getField().toString());
      assertEquals(
          "two: Struct<first: Int(32, true), second: Utf8>", root.getVector("two").getField().toString());
      final Pairs back = columns.decode(root).get(0);
      assertEquals(all.one, back.one);
      assertEquals(all.two, back.two);
      assertEquals(4, back.deep.get(0).first().second()[0]);
      assertEquals(List.of("c"), back.deep.get(0).second());
      assertEquals(6L, back.wild.second()[0]);
      assertEquals(new Inner(5, "d"), back.wild.first());
    }
    final Texts texts = new Texts();
    texts.value = "v";
    texts.more = new String[] {"m", null};
    texts.list = List.of("l");
    final Columns<Texts> inherited = Columns.of(Texts.class);
    try (VectorSchemaRoot root = inherited.encode(List.of(texts), allocator)) {
      assertEquals(
          "Schema<value: Utf8, more: List<item: Utf8>, list: List<item: Utf8>, own: Int(32, true) not null>",
          root.getSchema().toString());
      final Texts back = inherited.decode(root).get(0);
      assertEquals("v", back.value);
      assertEquals(Arrays.asList("m", null), Arrays.asList(back.more));
      assertEquals(List.of("l"), back.list);
    }
    assertTrue(refused(OfEndless.class).getMessage().contains("classes in each other"));
  }

  static final class Fixed {
    private final int x;
    private final Optional<String> text;

    Fixed(final int x, final Optional<String> text) {
      this.x = x;
      this.text = text;
    }
  }

  static final class Unclear {
    final int x;
    final int y;

    Unclear(final int y, final int x) {
      this.x = x;
      this.y = y;
    }
  }

  @Test
  void finalFieldsAreSetByTheConstructorThatTakesThem() {
    final Columns<Fixed> columns = Columns.of(Fixed.class);
    try (VectorSchemaRoot root = columns.encode(List.of(new Fixed(3, Optional.of("t"))), allocator)) {
      final Fixed back = columns.decode(root).get(0);
      assertEquals(3, back.x);
      assertEquals(Optional.of("t"), back.text);
    }
    final Columns<Unclear> unclear = Columns.of(Unclear.class);
    try (VectorSchemaRoot root = unclear.encode(List.of(new Unclear(1, 2)), allocator)) {
      final var error = assertThrows(ColumnsException.class, () -> unclear.decode(root));
      assertTrue(error.getMessage().contains("javac -parameters"), error.getMessage());
    }
  }

  record Ignoring(@ColumnIgnore int before, long id, @ColumnIgnore Object context, String name) {}

  static class IgnoringClass {
    @ColumnIgnore Thread thread = Thread.currentThread();
    private int kept = 1;
  }

  @Test
  void ignoredFieldsHaveNoColumn() {
    final Columns<Ignoring> columns = Columns.of(Ignoring.class);
    try (VectorSchemaRoot root = columns.encode(List.of(new Ignoring(1, 2, this, "a")), allocator)) {
      assertEquals("Schema<id: Int(64, true) not null, name: Utf8>", root.getSchema().toString());
      assertEquals(List.of(new Ignoring(0, 2, null, "a")), columns.decode(root));
    }
    final Columns<IgnoringClass> classes = Columns.of(IgnoringClass.class);
    try (VectorSchemaRoot root = classes.encode(List.of(new IgnoringClass()), allocator)) {
      final IgnoringClass back = classes.decode(root).get(0);
      assertEquals(1, back.kept);
      assertSame(Thread.currentThread(), back.thread);
    }
    assertTrue(refused(Any.class).getMessage().endsWith("; @ColumnIgnore leaves a field out, Columns.builder converts its values"));
  }

  record Named(@ColumnName("the id") long id, @ColumnName("id") String text, NamedInner inner) {}

  record NamedInner(@ColumnName("X") int x) {}

  record NamedTwice(int a, @ColumnName("a") int b) {}

  @Test
  void columnsHaveTheNamesThatAreGiven() {
    final Columns<Named> columns = Columns.of(Named.class);
    final List<Named> objects = List.of(new Named(1, "a", new NamedInner(2)), new Named(3, null, null));
    try (VectorSchemaRoot root = columns.encode(objects, allocator)) {
      assertEquals(
          "Schema<the id: Int(64, true) not null, id: Utf8, inner: Struct<X: Int(32, true) not null>>",
          root.getSchema().toString());
      assertEquals(objects, columns.decode(root));
    }
    final var error = assertThrows(ColumnsException.class, () -> Columns.of(NamedTwice.class));
    assertTrue(error.getMessage().contains("@ColumnName"), error.getMessage());
  }

  @Test
  void nested() {
    final Inner inner = new Inner(1, "é");
    final List<Inner> inners = Arrays.asList(inner, null, new Inner(2, null));
    @SuppressWarnings("unchecked")
    final List<String>[] generic = new List[] {List.of("a"), null, List.of()};
    final var all =
        new Nested(
            inner, new Inner[] {null, inner}, inners, new LinkedList<>(Arrays.asList("x", null)),
            new LinkedHashSet<>(List.of(3L, 1L)), new int[] {1, 2}, new double[][] {{1}, null, {}},
            new boolean[] {true, false, true}, inners, Arrays.asList(inners, null, List.of()), generic);
    final var none = new Nested(null, null, null, null, null, null, null, null, null, null, null);
    final var empty =
        new Nested(
            new Inner(0, ""), new Inner[0], List.of(), List.of(), Set.of(), new int[0], new double[0][],
            new boolean[0], List.of(), List.of(), null);
    final List<Nested> objects = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      objects.add(all);
      objects.add(i % 3 == 0 ? none : empty);
    }
    roundTrip(Nested.class, objects);
    roundTrip(Nested.class, List.of());
  }

  static class Base {
    private int hidden = 1;
    protected String name = "n";
  }

  static class Derived extends Base {
    static int count = 7;
    transient int cache = 8;
    private long own = 2;
  }

  @Test
  void privateAndInheritedFields() {
    final Columns<Derived> columns = Columns.of(Derived.class);
    assertEquals(
        "Schema<hidden: Int(32, true) not null, name: Utf8, own: Int(64, true) not null>",
        columns.schema().toString());
    roundTrip(Derived.class, List.of(new Derived(), new Derived()));
  }

  @Test
  void textOfEveryKind() {
    record Text(String text) {}
    final List<Text> texts = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      // ASCII, Latin, Greek, emoji, unpaired surrogates, NULs: in every chunk some have more bytes
      // than characters.
      texts.add(
          new Text(
              switch (i % 7) {
                case 0 -> "plain " + i;
                case 1 -> "é\0ü" + i;
                case 2 -> "λ".repeat(i % 50);
                case 3 -> "😀" + i;
                case 4 -> "a\ud800b";
                case 5 -> null;
                default -> "";
              }));
    }
    roundTrip(Text.class, texts);
    roundTrip(Text.class, texts.subList(0, 1));
    // All of them ASCII except the last one, which does not fit.
    final List<Text> last = new ArrayList<>(Collections.nCopies(1000, new Text("0123456789")));
    last.add(new Text("é"));
    roundTrip(Text.class, last);
    try (VectorSchemaRoot root = Columns.of(Text.class).encode(List.of(new Text("a\ud800b")), allocator)) {
      assertEquals("a?b", root.getVector(0).getObject(0).toString());
    }
  }

  record Node(int value, Node next) {}

  record Tree(Branch left) {}

  record Branch(List<Tree[]> trees) {}

  record Raw(@SuppressWarnings("rawtypes") List list) {}

  record Any(Object any) {}

  record Generic<A>(A a) {}

  record OfGeneric(@SuppressWarnings("rawtypes") List<Generic> list) {}

  record Empty() {}

  interface Shape {}

  record Shaped(Inner inner, Shape[] shapes) {}

  static class Twice extends Base {
    int hidden;
  }

  private static ColumnsException refused(final Class<?> type) {
    return assertThrows(ColumnsException.class, () -> Columns.of(type));
  }

  @Test
  void refusedClasses() {
    assertEquals("next", refused(Node.class).path());
    assertEquals(
        "next: a cycle: Node → Node contains itself; @ColumnIgnore leaves a field out, Columns.builder converts its values",
        refused(Node.class).getMessage());
    assertEquals("left.trees[][]", refused(Tree.class).path());
    assertTrue(refused(Tree.class).getMessage().contains("Tree → Branch → Tree"));
    assertEquals("list", refused(Raw.class).path());
    assertEquals("any", refused(Any.class).path());
    assertEquals("list[]", refused(OfGeneric.class).path());
    assertEquals("shapes[]", refused(Shaped.class).path());
    assertEquals("hidden", refused(Twice.class).path());
    for (final Class<?> type :
        List.of(Empty.class, String.class, int[].class, int.class, List.class, Shape.class, Thread.class)) {
      assertEquals("", refused(type).path());
    }
  }

  record Unlinked(int value, @ColumnIgnore Unlinked next) {}

  record Marked(int value, Empty mark) {}

  record Unmarked(int value, @ColumnIgnore Empty mark) {}

  record Ignored(@ColumnIgnore int value) {}

  @Test
  void refusedClassesHaveAWayOut() {
    final ColumnsException inner = refused(Marked.class);
    assertEquals("mark", inner.path());
    assertEquals(
        "mark: cannot become a column: " + Empty.class.getName()
            + " has no fields that become columns; @ColumnIgnore leaves a field out, Columns.builder converts its values",
        inner.getMessage());
    assertEquals(
        Ignored.class.getName()
            + " has no fields but static, transient and @ColumnIgnore ones; columns are made of others",
        refused(Ignored.class).getMessage());
    roundTrip(Unlinked.class, List.of(new Unlinked(1, null), new Unlinked(2, null)));
    roundTrip(Unmarked.class, List.of(new Unmarked(1, null)));
  }

  @Test
  void theSameClassTwiceIsNoCycle() {
    record Twin(Inner one, Inner two, List<Inner> more) {}
    roundTrip(Twin.class, List.of(new Twin(new Inner(1, "a"), null, List.of(new Inner(2, "b")))));
  }

  @Test
  void rowsAreNotNull() {
    final var e =
        assertThrows(
            ColumnsException.class,
            () -> Columns.of(Inner.class).encode(Arrays.asList(new Inner(1, ""), null), allocator));
    assertTrue(e.getMessage().contains("object 1 is null"));
  }

  @Test
  @SuppressWarnings({"unchecked", "rawtypes"})
  void otherObjectsAreRefused() {
    final Columns columns = Columns.of(Inner.class);
    assertThrows(ClassCastException.class, () -> columns.encode(List.of("text"), allocator));
  }

  @Test
  void timesThatDoNotFit() {
    record Time(Instant at) {}
    final var e =
        assertThrows(
            ColumnsException.class,
            () -> Columns.of(Time.class).encode(List.of(new Time(Instant.MAX)), allocator));
    assertEquals("at", e.path());
  }

  @Test
  void memoryIsUsedAgain() {
    record Point(long x, double[] y, String z) {}
    final Columns<Point> columns = Columns.of(Point.class).withThreads(1);
    final List<Point> many = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      many.add(new Point(i, new double[] {i, i}, "text " + i));
    }
    try (VectorSchemaRoot root = columns.encode(many, allocator)) {
      final long address = root.getVector("x").getDataBufferAddress();
      columns.encodeInto(many.subList(100, 900), root);
      assertEquals(address, root.getVector("x").getDataBufferAddress());
      Oracle.check(root, many.subList(100, 900), Point.class);
      // Shared buffers must not be written to.
      try (VectorSchemaRoot held = root.slice(0)) {
        columns.encodeInto(many.subList(0, 10).toArray(Point[]::new), root);
        Oracle.check(held, many.subList(100, 900), Point.class);
        Oracle.check(root, many.subList(0, 10), Point.class);
      }
      columns.encodeInto(List.of(), root);
      assertEquals(0, root.getRowCount());
      columns.encodeInto(many, root);
      Oracle.check(root, many, Point.class);
    }
    try (VectorSchemaRoot other = VectorSchemaRoot.create(Columns.of(Inner.class).schema(), allocator)) {
      assertThrows(ColumnsException.class, () -> columns.encodeInto(many, other));
    }
  }

  @Test
  void manyFields() throws Exception {
    final StringBuilder source = new StringBuilder("public class Wide {\n");
    for (int i = 0; i < 700; i++) {
      source.append(i % 5 == 0 ? "  String" : i % 3 == 0 ? "  long" : "  int").append(" f").append(i).append(";\n");
    }
    final Class<?> wide = Compiler.compile("Wide", source.append("}\n").toString());
    final Object one = wide.getDeclaredConstructor().newInstance();
    for (final var field : Oracle.fields(wide)) {
      if (field.getType() == String.class) {
        field.set(one, field.getName());
      } else if (field.getType() == int.class) {
        field.set(one, field.getName().hashCode());
      }
    }
    manyFields(wide, one);
  }

  private <T> void manyFields(final Class<T> type, final Object one) {
    roundTrip(type, Collections.nCopies(300, type.cast(one)));
  }

  @Test
  void limitsOfTheAllocator() {
    record Text(String text, long[] numbers) {}
    final var text = new Text("x".repeat(100), new long[1000]);
    try (BufferAllocator small = new RootAllocator(1 << 20)) {
      assertThrows(
          OutOfMemoryException.class,
          () -> Columns.of(Text.class).encode(Collections.nCopies(1000, text), small));
      assertEquals(0, small.getAllocatedMemory());
    }
  }

  @Test
  void moreThanOneBatchHolds() {
    record Big(long[] numbers) {}
    final var big = new Big(new long[1 << 22]);
    final var e =
        assertThrows(
            ColumnsException.class,
            () -> Columns.of(Big.class).encode(Collections.nCopies(512, big), allocator));
    assertEquals("numbers[]", e.path());
    record Bytes(byte[] bytes) {}
    final var bytes = new Bytes(new byte[1 << 22]);
    assertThrows(
        ColumnsException.class,
        () -> Columns.of(Bytes.class).encode(Collections.nCopies(512, bytes), allocator));
  }

  @Test
  void threadsAndLookups() {
    assertThrows(IllegalArgumentException.class, () -> Columns.of(Inner.class).withThreads(0));
    final var lookup = java.lang.invoke.MethodHandles.lookup();
    final Columns<Inner> columns = Columns.of(Inner.class, lookup);
    try (VectorSchemaRoot root = columns.encode(new Inner[] {new Inner(5, "five")}, allocator)) {
      assertEquals(List.of(new Inner(5, "five")), columns.decode(root));
    }
    assertTrue(columns.toString().contains("Inner"));
  }

  @Test
  void maps() {
    record Maps(
        Map<String, Integer> plain, HashMap<Long, List<String>> hash, TreeMap<String, Inner> sorted,
        Map<UUID, Map<String, int[]>> deep) {}
    final var full =
        new Maps(
            Map.of("a", 1), new HashMap<>(Map.of(5L, List.of("x", "y"))), new TreeMap<>(Map.of("k", new Inner(1, null))),
            Map.of(new UUID(1, 2), Map.of("z", new int[] {1, 2}), new UUID(3, 4), Map.of()));
    final var values = new HashMap<String, Integer>();
    values.put("none", null);
    final var sparse = new Maps(values, null, new TreeMap<>(), null);
    final List<Maps> objects = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      objects.add(i % 3 == 0 ? full : sparse);
    }
    roundTrip(Maps.class, objects);
    assertEquals(
        "plain: Map(false)<entries: Struct<key: Utf8 not null, value: Int(32, true)> not null>",
        Columns.of(Maps.class).schema().findField("plain").toString());
    final var noKey = new HashMap<String, Integer>();
    noKey.put(null, 1);
    final var bad = new Maps(noKey, null, null, null);
    final var e =
        assertThrows(ColumnsException.class, () -> Columns.of(Maps.class).encode(List.of(bad), allocator));
    assertEquals("plain.key", e.path());
    record Raw(@SuppressWarnings("rawtypes") Map map) {}
    assertThrows(ColumnsException.class, () -> Columns.of(Raw.class));
    record Odd(java.util.concurrent.ConcurrentSkipListMap<String, Long> map) {}
    try (VectorSchemaRoot root =
        Columns.of(Odd.class).encode(List.of(new Odd(new java.util.concurrent.ConcurrentSkipListMap<>())), allocator)) {
      assertThrows(ColumnsException.class, () -> Columns.of(Odd.class).decode(root));
    }
  }

  record Sized(int[] ints, String text, boolean[] bits, List<Inner> list, byte[] bytes) {}

  private static Sized sized(final int length, final String text) {
    final List<Inner> list = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      list.add(new Inner(i, text));
    }
    final int[] ints = new int[length];
    Arrays.setAll(ints, i -> i * 7 - length);
    final boolean[] bits = new boolean[length];
    Arrays.fill(bits, true);
    return new Sized(ints, text, bits, list, text.getBytes(StandardCharsets.UTF_8));
  }

  /** All alike; alike except some that a small sample misses; ever longer; with nulls late. */
  @Test
  void lengthsThatMislead() {
    final int count = 3000;
    final List<Sized> alike = new ArrayList<>(Collections.nCopies(count, sized(5, "abc")));
    roundTrip(Sized.class, alike);
    for (final Sized odd :
        List.of(sized(6, "abc"), sized(4, "abc"), sized(5, "abü"), sized(5, "abcd"), new Sized(null, null, null, null, null))) {
      for (final int at : new int[] {1, 1501, count - 1}) {
        final List<Sized> objects = new ArrayList<>(alike);
        objects.set(at, odd);
        roundTrip(Sized.class, objects);
      }
    }
    final List<Sized> longer = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      longer.add(sized(i < count - 40 ? i % 3 : 900, i < count - 40 ? "x" : "y".repeat(9000)));
    }
    roundTrip(Sized.class, longer);
  }

  @Test
  void decodedCollections() {
    record Lists(ArrayList<String> list, Set<String> set, int[] none) {}
    final var lists = new Lists(new ArrayList<>(List.of("a")), Set.of("b"), null);
    try (VectorSchemaRoot root = Columns.of(Lists.class).encode(List.of(lists), allocator)) {
      final Lists back = Columns.of(Lists.class).decode(root).get(0);
      assertSame(ArrayList.class, back.list.getClass());
      assertSame(LinkedHashSet.class, back.set.getClass());
      assertNull(back.none);
    }
  }
}
