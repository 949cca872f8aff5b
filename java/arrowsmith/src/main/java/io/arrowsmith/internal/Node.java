// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.util.List;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/**
 * One column of a class, with its children. A class is first compiled to a tree of these; they are
 * immutable.
 */
final class Node {
  /** The path, for errors. */
  final String path;

  final String name;
  final Kind kind;

  /** The Arrow type; without its children. */
  final ArrowType arrowType;

  /** The Java type; erased. */
  final Class<?> type;

  /** For a struct its members' columns, for a list that of its elements. */
  final List<Node> children;

  /** For a struct, the codec of its objects. */
  final Codec codec;

  /**
   * Whether it is never null in Arrow, although Java has no such type: entries of maps and their
   * keys.
   */
  final boolean required;

  /** What the Java value is around that of the column, or null if it is that. */
  final Around around;

  Node(
      final String path,
      final String name,
      final Kind kind,
      final Class<?> type,
      final List<Node> children,
      final Codec codec) {
    this.path = path;
    this.name = name;
    this.kind = kind;
    this.arrowType = kind.type;
    this.type = type;
    this.children = children;
    this.codec = codec;
    this.required = false;
    this.around = null;
  }

  private Node(
      final Node other, final ArrowType arrowType, final boolean required, final Around around) {
    this.path = other.path;
    this.name = other.name;
    this.kind = other.kind;
    this.arrowType = arrowType;
    this.type = other.type;
    this.children = other.children;
    this.codec = other.codec;
    this.required = required;
    this.around = around;
  }

  /** The same, but never null. */
  Node required() {
    return new Node(this, arrowType, true, around);
  }

  /** The same, with another Arrow type of the same kind. */
  Node typed(final ArrowType other) {
    return new Node(this, other, required, around);
  }

  /** The same, with this around the Java value. */
  Node in(final Around outer) {
    return new Node(this, arrowType, required, around == null ? outer : around.in(outer));
  }

  /** The Java type, with what is around the value; erased. */
  Class<?> outerType() {
    return around == null ? type : around.type();
  }

  /** Whether it is a field of a primitive type, which is never null. */
  boolean isPrimitive() {
    return type.isPrimitive();
  }

  /** Whether it is an array of a primitive type, which is copied as a block. */
  boolean isPrimitiveList() {
    return kind == Kind.LIST && type.isArray() && type.getComponentType().isPrimitive();
  }

  /** The elements of a list. */
  Node element() {
    return children.get(0);
  }

  /** Whether objects must be visited to know how much memory the column needs. */
  boolean isVariable() {
    return kind == Kind.STRUCT
        ? children.stream().anyMatch(Node::isVariable)
        : kind.width < 0;
  }

  /** The Arrow field. */
  Field field() {
    final FieldType fieldType = new FieldType(!isPrimitive() && !required, arrowType, null);
    return new Field(name, fieldType, children.stream().map(Node::field).toList());
  }

  /** The class of the slots that take a member's values, so that calls to it can be inlined. */
  Class<? extends Slot> slotClass() {
    switch (kind) {
      case STRUCT:
        return StructSlot.class;
      case LIST:
        return isPrimitiveList() ? ArraySlot.class : ListSlot.class;
      case MAP:
        return ListSlot.class;
      case UTF8:
      case ENUM:
      case BINARY:
        return BytesSlot.class;
      default:
        return isPrimitive() ? PrimitiveSlot.class : ValueSlot.class;
    }
  }

  /** The parameter type of its slots for fields of a struct: as precise as generated code needs. */
  Class<?> valueType() {
    if (isPrimitive() || isPrimitiveList()) {
      return type;
    }
    return kind == Kind.UTF8 ? String.class : kind == Kind.BINARY ? byte[].class : Object.class;
  }

  /** A new slot of this column, for one chunk. */
  Slot slot(final Column column) {
    switch (kind) {
      case STRUCT:
        return new StructSlot(column);
      case LIST:
        return isPrimitiveList() ? new ArraySlot(column) : new ListSlot(column);
      case MAP:
        return new ListSlot(column);
      case UTF8:
      case ENUM:
      case BINARY:
        return new BytesSlot(column);
      default:
        return isPrimitive() ? new PrimitiveSlot(column) : new ValueSlot(column);
    }
  }
}
