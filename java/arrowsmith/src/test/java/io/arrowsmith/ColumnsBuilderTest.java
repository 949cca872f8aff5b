// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.StructVector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Rules beside the classes, and sealed types. */
class ColumnsBuilderTest {
  private final BufferAllocator allocator = new RootAllocator();

  @AfterEach
  void memoryIsReturned() {
    // Throws if memory is leaked.
    allocator.close();
  }

  /** A class without a fixed set of fields. */
  static final class Money {
    final long cents;
    final Object cache = new Object();

    private Money(final long cents) {
      this.cents = cents;
    }

    @Override
    public boolean equals(final Object other) {
      return other instanceof Money money && money.cents == cents;
    }

    @Override
    public int hashCode() {
      return Long.hashCode(cents);
    }
  }

  record Item(String name, Money price) {}

  record Order(
      long id,
      BigDecimal tax,
      Object context,
      Money total,
      Optional<Money> discount,
      List<Money> parts,
      Money[] array,
      Map<Money, Money> rates,
      List<Item> items) {
    @Override
    public boolean equals(final Object other) {
      return other instanceof Order order && values(this).equals(values(order));
    }

    @Override
    public int hashCode() {
      return Long.hashCode(id);
    }

    private static List<Object> values(final Order it) {
      final List<Money> all = it.array == null ? null : Arrays.asList(it.array);
      return Arrays.asList(it.id, it.tax, it.total, it.discount, it.parts, all, it.rates, it.items);
    }
  }

  private static Columns.Builder<Order> orders() {
    return Columns.builder(Order.class)
        .convert(Money.class, Long.class, money -> money.cents, Money::new)
        .name(Order.class, "id", "order id")
        .name(Item.class, "price", "cents")
        .decimal(Order.class, "tax", 5, 2)
        .ignore(Order.class, "context");
  }

  private static Order order(final int n) {
    final Money money = n % 3 == 0 ? null : new Money(n);
    return new Order(
        n,
        BigDecimal.valueOf(n, 2),
        null,
        money,
        Optional.ofNullable(money),
        n % 5 == 0 ? null : Arrays.asList(money, new Money(-n), null),
        n % 7 == 0 ? null : new Money[] {money, new Money(7)},
        Map.of(new Money(n), new Money(-n)),
        List.of(new Item("a" + n, money), new Item(null, new Money(n))));
  }

  @Test
  void objectsAreConvertedWhereverTheyAre() {
    final List<Order> all = new java.util.ArrayList<>();
    for (int n = 0; n < 1000; n++) {
      all.add(order(n));
    }
    for (final int threads : new int[] {1, 3}) {
      final Columns<Order> columns = orders().build().withThreads(threads);
      try (VectorSchemaRoot root = columns.encode(all, allocator)) {
        assertEquals(
            List.of("order id", "tax", "total", "discount", "parts", "array", "rates", "items"),
            root.getSchema().getFields().stream().map(field -> field.getName()).toList());
        final BigIntVector totals = (BigIntVector) root.getVector("total");
        assertTrue(totals.isNull(3));
        assertEquals(4, totals.get(4));
        assertEquals(all, columns.decode(root));
      }
    }
  }

  @Test
  void aRuleForNothingIsAnError() {
    final var none = assertThrows(ColumnsException.class, () -> orders().name(Order.class, "x", "y"));
    assertTrue(none.getMessage().endsWith("Order declares no field x"), none.getMessage());
    final List<Function<Columns.Builder<Order>, Columns.Builder<Order>>> rules =
        List.of(
            it -> it.ignore(ColumnsBuilderTest.class, "allocator"),
            it -> it.convert(Thread.class, Long.class, thread -> 0L, number -> null));
    for (final var rule : rules) {
      final var error = assertThrows(ColumnsException.class, () -> rule.apply(orders()).build());
      assertTrue(error.getMessage().startsWith("nothing of " + Order.class.getName()), error.getMessage());
    }
    assertThrows(
        ColumnsException.class,
        () -> orders().convert(int.class, Long.class, number -> 1L, number -> 1));
    final var digits =
        assertThrows(ColumnsException.class, () -> orders().decimal(Order.class, "tax", 2, 3).build());
    assertEquals("tax", digits.path());
    final var refused = assertThrows(ColumnsException.class, () -> Columns.of(Item.class));
    assertTrue(refused.getMessage().contains("Columns.builder converts its values"), refused.getMessage());
  }

  record Counted(@DecimalColumn(precision = 9, scale = 2) int count) {}

  record Listed(@DecimalColumn(precision = 9, scale = 2) List<Map<String, List<BigDecimal>>> all) {}

  @Test
  void digitsOfWhatIsNoDecimalAreAnError() {
    final var error = assertThrows(ColumnsException.class, () -> Columns.of(Counted.class));
    assertEquals("count", error.path());
    assertTrue(error.getMessage().contains("int has no BigDecimal"), error.getMessage());
    assertTrue(Columns.of(Listed.class).schema().toString().contains("Decimal(9, 2, 128)"));
    assertThrows(ColumnsException.class, () -> orders().decimal(Order.class, "id", 9, 2).build());
  }

  @Test
  void nullIsNamed() {
    final Class<?> none = null;
    for (final Executable call :
        List.<Executable>of(
            () -> orders().name(none, "id", "x"),
            () -> orders().name(Order.class, null, "x"),
            () -> orders().name(Order.class, "id", null),
            () -> orders().convert(null, Long.class, it -> 1L, it -> it),
            () -> orders().convert(Money.class, Long.class, null, null),
            () -> JsonReader.builder().columns("id", null))) {
      final var error = assertThrows(NullPointerException.class, call);
      assertTrue(error.getMessage().matches("of|field|column|from|encode|columns: null among .*"), error.getMessage());
    }
  }

  @Test
  void whatAConversionThrowsIsThrown() {
    final Columns<Item> columns =
        Columns.builder(Item.class)
            .convert(
                Money.class,
                Long.class,
                money -> Math.multiplyExact(money.cents, 100),
                cents -> new Money(cents / 100))
            .build();
    final List<Item> items = List.of(new Item("x", new Money(Long.MAX_VALUE)));
    assertThrows(ArithmeticException.class, () -> columns.encode(items, allocator));
  }

  sealed interface Shape permits Circle, Square, Solid, Plain {}

  record Circle(double radius) implements Shape {}

  record Square(int side, String label) implements Shape {}

  abstract static sealed class Solid implements Shape permits Cube {}

  static final class Cube extends Solid {
    int edge;

    @Override
    public boolean equals(final Object other) {
      return other instanceof Cube cube && cube.edge == edge;
    }

    @Override
    public int hashCode() {
      return edge;
    }
  }

  enum Plain implements Shape {
    POINT,
    LINE {
      @Override
      public String toString() {
        return "a line";
      }
    }
  }

  record Drawing(int id, Shape shape, List<Shape> others) {}

  private static Shape shape(final int n) {
    final Cube cube = new Cube();
    cube.edge = n;
    return switch (n % 6) {
      case 0 -> new Circle(n);
      case 1 -> new Square(n, n % 4 == 1 ? null : "s" + n);
      case 2 -> cube;
      case 3 -> Plain.POINT;
      case 4 -> Plain.LINE;
      default -> null;
    };
  }

  @Test
  void anObjectOfASealedTypeIsInTheColumnOfItsClass() {
    final List<Drawing> all = new java.util.ArrayList<>();
    for (int n = 0; n < 1000; n++) {
      all.add(new Drawing(n, shape(n), Arrays.asList(shape(n + 1), shape(n + 2))));
    }
    final Columns<Drawing> columns = Columns.of(Drawing.class);
    try (VectorSchemaRoot root = columns.encode(all, allocator)) {
      final StructVector shapes = (StructVector) root.getVector("shape");
      assertEquals(List.of("type", "Circle", "Square", "Cube", "Plain"), shapes.getChildFieldNames());
      final VarCharVector types = (VarCharVector) shapes.getChild("type");
      assertEquals("Circle", new String(types.get(0)));
      assertTrue(shapes.isNull(5) && types.isNull(5));
      assertTrue(shapes.getChild("Square").isNull(0));
      assertEquals(all, columns.decode(root));
    }
    final Columns<Shape> roots = Columns.of(Shape.class);
    final Shape[] two = {new Circle(1), Plain.LINE};
    try (VectorSchemaRoot root = roots.encode(two, allocator)) {
      assertArrayEquals(two, roots.decode(root).toArray());
      final VarCharVector types = (VarCharVector) root.getVector("type");
      types.setSafe(1, "Cube".getBytes());
      final var missing = assertThrows(ColumnsException.class, () -> roots.decode(root));
      assertTrue(missing.getMessage().endsWith("Cube has no value"), missing.getMessage());
      types.setSafe(1, "Other".getBytes());
      assertThrows(ColumnsException.class, () -> roots.decode(root));
    }
  }

  sealed interface Open permits Any {}

  static non-sealed class Any implements Open {
    int x;
  }

  sealed interface Expression permits Sum, Number {}

  record Sum(Expression left, Expression right) implements Expression {}

  record Number(int value) implements Expression {}

  sealed interface Result<T> permits Ok {}

  record Ok<T>(T value) implements Result<T> {}

  record OfResult(Result<String> result) {}

  @Test
  void sealedTypesWithoutAFixedShapeAreRefused() {
    final Map<Class<?>, String> reasons =
        Map.of(
            Open.class, "non-sealed",
            Expression.class, "Expression → Sum → Expression",
            OfResult.class, "is sealed and has type parameters",
            Result.class, "is sealed and has type parameters");
    reasons.forEach(
        (type, reason) -> {
          final var error = assertThrows(ColumnsException.class, () -> Columns.of(type));
          assertTrue(error.getMessage().contains(reason), error.getMessage());
        });
  }
}
