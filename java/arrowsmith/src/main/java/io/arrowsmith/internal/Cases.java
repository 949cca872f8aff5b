// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import io.arrowsmith.ColumnsException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/**
 * The classes of a sealed type. Its struct has the name of an object's class, and a column for each
 * class, of which one has the object.
 */
final class Cases {
  /** The column with the name of the class. */
  static final String TAG = "type";

  private final String path;
  private final List<Class<?>> classes;

  Cases(final String path, final List<Class<?>> classes) {
    this.path = path;
    this.classes = classes;
  }

  /** Whether a type stands for some classes that are all known. */
  static boolean is(final Class<?> type) {
    return type.isSealed() && Modifier.isAbstract(type.getModifiers());
  }

  /** The classes of a type. A concrete one may have subclasses, too. */
  static List<Class<?>> of(final Class<?> type) {
    final List<Class<?>> all = new ArrayList<>();
    for (final Class<?> permitted : type.getPermittedSubclasses()) {
      if (!is(permitted)) {
        all.add(permitted);
      }
      if (permitted.isSealed() && !permitted.isEnum()) {
        of(permitted).stream().filter(one -> !all.contains(one)).forEach(all::add);
      }
    }
    return all;
  }

  /** Whether other classes may extend it. */
  static boolean isOpen(final Class<?> type) {
    return !type.isEnum() && !type.isSealed() && !Modifier.isFinal(type.getModifiers());
  }

  /** The handles of a codec's members, then the one that makes an object of their values. */
  List<MethodHandle> handles() throws ReflectiveOperationException {
    final MethodHandles.Lookup lookup = MethodHandles.lookup();
    final List<MethodHandle> handles = new ArrayList<>();
    final MethodType tag = MethodType.methodType(String.class, Object.class);
    handles.add(lookup.findVirtual(Cases.class, "tag", tag).bindTo(this));
    final MethodType pick = MethodType.methodType(Object.class, int.class, Object.class);
    for (int at = 0; at < classes.size(); at++) {
      final MethodHandle picks = lookup.findVirtual(Cases.class, "pick", pick).bindTo(this);
      handles.add(MethodHandles.insertArguments(picks, 0, at));
    }
    final MethodType make = MethodType.methodType(Object.class, Object[].class);
    final MethodHandle makes = lookup.findVirtual(Cases.class, "make", make).bindTo(this);
    handles.add(makes.asCollector(Object[].class, 1 + classes.size()));
    return handles;
  }

  private static boolean isOf(final Class<?> type, final Object object) {
    // Constants of an enum may have classes of their own.
    return type.isEnum() ? type.isInstance(object) : object.getClass() == type;
  }

  // Called by handles.

  private String tag(final Object object) {
    for (final Class<?> type : classes) {
      if (isOf(type, object)) {
        return type.getSimpleName();
      }
    }
    throw new ColumnsException(path, object.getClass().getName() + " is not one of " + classes);
  }

  private Object pick(final int at, final Object object) {
    return isOf(classes.get(at), object) ? object : null;
  }

  private Object make(final Object[] values) {
    for (int at = 0; at < classes.size(); at++) {
      if (classes.get(at).getSimpleName().equals(values[0])) {
        if (values[1 + at] == null) {
          throw new ColumnsException(path, values[0] + " has no value");
        }
        return values[1 + at];
      }
    }
    throw new ColumnsException(path, "no class is called " + values[0]);
  }
}
