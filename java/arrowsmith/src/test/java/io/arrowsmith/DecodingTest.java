// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Columns from other sources: other orders, other types, nulls, and offsets out of bounds. */
class DecodingTest {
  private final BufferAllocator allocator = new RootAllocator();

  @AfterEach
  void memoryIsReturned() {
    allocator.close();
  }

  record Row(int id, String name, List<Integer> list) {}

  record Varied(int id, String... names) {}

  @Test
  void constructorsOfAnyNumberOfArguments() {
    final Columns<Varied> columns = Columns.of(Varied.class);
    final List<Varied> objects = List.of(new Varied(1, "a", "b"), new Varied(2));
    try (VectorSchemaRoot root = columns.encode(objects, allocator)) {
      final List<Varied> found = columns.decode(root);
      assertEquals(List.of(1, 2), found.stream().map(Varied::id).toList());
      assertArrayEquals(new String[] {"a", "b"}, found.get(0).names());
      assertArrayEquals(new String[0], found.get(1).names());
    }
  }

  private IntVector ids(final Integer... values) {
    final IntVector ids = new IntVector("id", allocator);
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        ids.setNull(i);
      } else {
        ids.setSafe(i, values[i]);
      }
    }
    ids.setValueCount(values.length);
    return ids;
  }

  private VarCharVector names(final String... values) {
    final VarCharVector names = new VarCharVector("name", allocator);
    for (int i = 0; i < values.length; i++) {
      names.setSafe(i, values[i].getBytes());
    }
    names.setValueCount(values.length);
    return names;
  }

  private ListVector lists(final int rows) {
    final ListVector lists = ListVector.empty("list", allocator);
    final var writer = lists.getWriter();
    for (int i = 0; i < rows; i++) {
      writer.setPosition(i);
      writer.startList();
      writer.integer().writeInt(i);
      writer.endList();
    }
    lists.setValueCount(rows);
    return lists;
  }

  @Test
  void columnsInAnotherOrderAndMoreOfThem() {
    final BigIntVector other = new BigIntVector("other", allocator);
    other.setValueCount(2);
    try (VectorSchemaRoot root = VectorSchemaRoot.of(lists(2), other, names("a", "b"), ids(1, 2))) {
      final List<Row> rows = Columns.of(Row.class).decode(root);
      assertEquals(List.of(new Row(1, "a", List.of(0)), new Row(2, "b", List.of(1))), rows);
    }
  }

  private ColumnsException refused(final Class<?> type, final VectorSchemaRoot root) {
    try (root) {
      return assertThrows(ColumnsException.class, () -> Columns.of(type).decode(root));
    }
  }

  @Test
  void nullsWhereThereCanBeNone() {
    final var e = refused(Row.class, VectorSchemaRoot.of(ids(1, null), names("a", "b"), lists(2)));
    assertEquals("id: row 1 is null, and int cannot be", e.getMessage());
    record Array(int[] list) {}
    final ListVector lists = lists(2);
    ((IntVector) lists.getDataVector()).setNull(1);
    assertEquals("list[]", refused(Array.class, VectorSchemaRoot.of(lists)).path());
  }

  @Test
  void otherTypesAndMissingColumns() {
    assertEquals("name", refused(Row.class, VectorSchemaRoot.of(ids(1), lists(1))).path());
    record Wide(long id) {}
    assertEquals("id", refused(Wide.class, VectorSchemaRoot.of(ids(1))).path());
    record Deep(List<String> list) {}
    assertEquals("list[]", refused(Deep.class, VectorSchemaRoot.of(lists(1))).path());
  }

  @Test
  void offsetsThatAreNotSound() {
    record Name(String name) {}
    record Numbers(int[] list) {}
    for (final int[] offsets : new int[][] {{0, -1, 2}, {1, 0, 2}, {0, 1, 1 << 30}, {-5, 1, 2}}) {
      final VarCharVector names = names("a", "b");
      final ListVector lists = lists(2);
      for (int i = 0; i < offsets.length; i++) {
        names.getOffsetBuffer().setInt(i * 4L, offsets[i]);
        lists.getOffsetBuffer().setInt(i * 4L, offsets[i]);
      }
      final VectorSchemaRoot root = VectorSchemaRoot.of(names, lists);
      assertThrows(ColumnsException.class, () -> Columns.of(Name.class).decode(root));
      assertThrows(ColumnsException.class, () -> Columns.of(Numbers.class).decode(root));
      root.clear();
      root.close();
    }
  }

  @Test
  void fewerValuesThanRows() {
    final VectorSchemaRoot root = VectorSchemaRoot.of(ids(1, 2), names("a"), lists(2));
    root.setRowCount(2);
    final IntVector ids = (IntVector) root.getVector("id");
    ids.clear();
    root.getVector("name").setValueCount(2);
    assertTrue(refused(Row.class, root).getMessage().contains("0 values, where there are 2 rows"));
  }

  static final class Final {
    final int id;

    Final(final long id) {
      this.id = (int) id;
    }
  }

  static class NoWay {
    int id;

    NoWay(final int id) {
      this.id = id;
    }
  }

  abstract static class Abstract {
    int id;
  }

  enum Few {
    ONE
  }

  @Test
  void objectsThatCannotBeMade() {
    assertTrue(refused(Final.class, VectorSchemaRoot.of(ids(1))).getMessage().contains("final fields"));
    assertTrue(refused(NoWay.class, VectorSchemaRoot.of(ids(1))).getMessage().contains("without parameters"));
    assertTrue(refused(Abstract.class, VectorSchemaRoot.of(ids(1))).getMessage().contains("abstract"));
    record Named(Few name) {}
    assertTrue(refused(Named.class, VectorSchemaRoot.of(names("TWO"))).getMessage().contains("no constant TWO"));
    record Linked(java.util.LinkedList<Integer> list) {}
    assertEquals("list", refused(Linked.class, VectorSchemaRoot.of(lists(1))).path());
  }

  @Test
  void constructorsThatThrow() {
    record Positive(int id) {
      Positive {
        if (id < 0) {
          throw new IllegalArgumentException("negative");
        }
      }
    }
    try (VectorSchemaRoot root = VectorSchemaRoot.of(ids(-1))) {
      assertThrows(IllegalArgumentException.class, () -> Columns.of(Positive.class).decode(root));
    }
  }
}
