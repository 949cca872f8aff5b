// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.lang.invoke.MethodHandles;
import java.util.Collection;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/** A compiled class: the implementation of {@code Columns}. */
public final class Compiled {
  /** Rows that one thread decodes before it takes more. */
  private static final int ROWS_PIECE = 1 << 12;

  private final Node root;
  private final Schema schema;

  /**
   * Compiles a class.
   *
   * @param type the class
   * @param rules what is said of it beside its declaration
   * @param lookup a lookup with access to it
   */
  public Compiled(final Class<?> type, final Rules rules, final MethodHandles.Lookup lookup) {
    this.root = Layouts.compile(type, rules, lookup);
    this.schema = new Schema(root.children.stream().map(Node::field).toList());
  }

  /**
   * The columns' schema.
   *
   * @return the schema
   */
  public Schema schema() {
    return schema;
  }

  /**
   * Objects to columns.
   *
   * @param rows the objects
   * @param threads the most threads that may work
   * @param allocator where new memory comes from
   * @param into the batch, whose memory is reused if possible
   */
  public void encode(
      final Object[] rows,
      final int threads,
      final BufferAllocator allocator,
      final VectorSchemaRoot into) {
    Encoding.encode(root, rows, threads, allocator, into);
  }

  /**
   * The objects of a collection.
   *
   * @param objects the collection
   * @return its objects, in its order
   */
  public static Object[] rows(final Collection<?> objects) {
    return Encoding.rows(objects);
  }

  /**
   * Columns to objects.
   *
   * @param from the columns; those of other names are ignored
   * @param threads the most threads that may work
   * @return one object per row
   */
  public Object[] decode(final VectorSchemaRoot from, final int threads) {
    Source.refuseUnmakeable(root);
    final List<FieldVector> vectors = from.getFieldVectors();
    final Source[] sources =
        root.children.stream().map(child -> Source.named(child, vectors)).toArray(Source[]::new);
    final int count = from.getRowCount();
    for (final Source source : sources) {
      source.refuseFewer(count);
    }
    final Object[] rows = new Object[count];
    final int pieces = (int) (((long) count + ROWS_PIECE - 1) / ROWS_PIECE);
    Parallel.run(
        threads,
        pieces,
        piece -> {
          final int end = (int) Math.min(count, (piece + 1L) * ROWS_PIECE);
          for (int row = piece * ROWS_PIECE; row < end; row++) {
            rows[row] = root.codec.make(row, sources);
          }
        });
    return rows;
  }
}
