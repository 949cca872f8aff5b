// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import static org.objectweb.asm.Opcodes.*;

import io.arrowsmith.ColumnsException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Type;

/**
 * Writes the {@link Codec} of a class as bytecode, and loads it as a hidden class.
 *
 * <p>Fields are accessed through method handles that are constants of the hidden class, which the
 * JIT compiles to plain loads. So the hidden class never names the user's class: it may be private,
 * and its class loader need not know this library. Members are handled in small groups, one method
 * per group: the JIT stops inlining handles in a method that has many, and a call takes ten times
 * as long as a load (64 fields: 1,070 ns in groups of 48, 300 in groups of 16, 48 in groups of 8).
 *
 * <pre>
 * write(rows, from, to, slots):                 for each group of members
 *   load each member's slot, and its address if it is primitive, or where its elements go if it is
 *   an array of primitives
 *   for each row: for each member:              primitive: store at address + row * width
 *                                               array:     place = slot.append(array, place, row)
 *                                               object:    slot.append(value)
 * </pre>
 */
final class Generator {
  private static final int GROUP = 8;

  private static final String CODEC = Type.getInternalName(Codec.class);
  private static final String SLOT = Type.getInternalName(Slot.class);
  private static final String ARRAY_SLOT = Type.getInternalName(ArraySlot.class);
  private static final String SOURCE = Type.getInternalName(Source.class);
  private static final String MEM = Type.getInternalName(Mem.class);
  private static final String HANDLE = Type.getInternalName(MethodHandle.class);
  private static final String OBJECT = "Ljava/lang/Object;";
  private static final String LOOP = "([Ljava/lang/Object;II[L" + SLOT + ";)V";
  private static final String MAKE = "(I[L" + SOURCE + ";)Ljava/lang/Object;";
  private static final String FILL = "(Ljava/lang/Object;I[L" + SOURCE + ";)V";

  /** The class whose bytecode looks up constants of the class data. */
  private static final Handle CLASS_DATA =
      new Handle(
          H_INVOKESTATIC,
          "java/lang/invoke/MethodHandles",
          "classDataAt",
          "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;I)Ljava/lang/Object;",
          false);

  // Local variables of the loops.
  private static final int ROWS = 0;
  private static final int FROM = 1;
  private static final int TO = 2;
  private static final int SLOTS = 3;
  private static final int ROW = 4;
  private static final int OBJ = 5;
  private static final int DONE = 6;
  private static final int MEMBERS = 8;

  private final String name;
  private final List<Node> members;
  private final List<MethodHandle> handles = new ArrayList<>();
  private final ClassWriter writer;

  private Generator(final String name, final List<Node> members) {
    this.name = name;
    this.members = members;
    this.writer =
        new ClassWriter(ClassWriter.COMPUTE_FRAMES) {
          @Override
          protected String getCommonSuperClass(final String one, final String other) {
            return "java/lang/Object";
          }
        };
  }

  /** The codec of the entries of maps. */
  static Codec entries(final String path, final List<Node> members) {
    final Generator generator = new Generator(CODEC + "$Entry", members);
    final MethodHandles.Lookup lookup = MethodHandles.publicLookup();
    try {
      final MethodType get = MethodType.methodType(Object.class);
      for (final String name : List.of("getKey", "getValue")) {
        final Node member = members.get(generator.handles.size());
        final MethodHandle getter = lookup.findVirtual(Map.Entry.class, name, get);
        generator.handles.add(unwrapping(getter, member));
      }
      final MethodType make = MethodType.methodType(void.class, Object.class, Object.class);
      MethodHandle entry = lookup.findConstructor(AbstractMap.SimpleImmutableEntry.class, make);
      entry = wrapping(wrapping(entry, 0, members.get(0)), 1, members.get(1));
      generator.handles.add(entry.asType(make.changeReturnType(Object.class)));
    } catch (ReflectiveOperationException e) {
      throw new ColumnsException(path, "no code could be generated for entries", e);
    }
    return generator.load(path, Map.Entry.class, null, true);
  }

  /** The codec of a sealed type. */
  static Codec cases(
      final String path, final Class<?> type, final Cases cases, final List<Node> members) {
    final Generator generator = new Generator(CODEC + "$" + type.getSimpleName(), members);
    try {
      final List<MethodHandle> handles = cases.handles();
      for (int member = 0; member < members.size(); member++) {
        generator.handles.add(unwrapping(handles.get(member), members.get(member)));
      }
      generator.handles.add(handles.get(members.size()));
    } catch (ReflectiveOperationException | IllegalArgumentException e) {
      throw new ColumnsException(path, "no code could be generated for " + type.getName(), e);
    }
    return generator.load(path, type, null, true);
  }

  /**
   * The codec of a class.
   *
   * @param fields those that have a column
   * @param all these and ignored ones
   * @param members the columns
   */
  static Codec codec(
      final String path,
      final Class<?> type,
      final List<Field> fields,
      final List<Field> all,
      final List<Node> members,
      final MethodHandles.Lookup lookup) {
    final String name = Type.getInternalName(Codec.class) + "$" + type.getSimpleName();
    final Generator generator = new Generator(name, members);
    for (int member = 0; member < members.size(); member++) {
      generator.handles.add(getter(path, fields.get(member), members.get(member), lookup));
    }
    final boolean whole = type.isRecord() || fields.stream().anyMatch(Generator::isFinal);
    final String cannotMake = generator.makers(type, fields, whole ? all : null, lookup);
    return generator.load(path, type, cannotMake, whole);
  }

  /** Loads the generated class; {@code whole} if objects are made by one call. */
  private Codec load(
      final String path, final Class<?> type, final String cannotMake, final boolean whole) {
    try {
      final byte[] bytes = bytes(cannotMake == null, whole);
      final MethodHandles.Lookup made =
          MethodHandles.lookup().defineHiddenClassWithClassData(bytes, handles, true);
      final MethodHandle constructor =
          made.findConstructor(made.lookupClass(), MethodType.methodType(void.class));
      final Codec codec = (Codec) constructor.invoke();
      codec.cannotMake = cannotMake;
      codec.className = type.getName();
      return codec;
    } catch (Error | RuntimeException e) {
      throw e;
    } catch (Throwable e) {
      throw new ColumnsException(path, "no code could be generated for " + type.getName(), e);
    }
  }

  /** A lookup with access to a class's private members. */
  private static MethodHandles.Lookup inside(
      final String path, final Class<?> type, final MethodHandles.Lookup lookup) {
    try {
      return MethodHandles.privateLookupIn(type, lookup);
    } catch (IllegalAccessException e) {
      throw new ColumnsException(
          path,
          type.getName()
              + " is not open to Arrowsmith: its module has to say `opens "
              + type.getPackageName()
              + " to io.arrowsmith`, or give a lookup of its own",
          e);
    }
  }

  private static MethodHandle getter(
      final String path,
      final Field field,
      final Node node,
      final MethodHandles.Lookup lookup) {
    try {
      return unwrapping(inside(path, field.getDeclaringClass(), lookup).unreflectGetter(field), node);
    } catch (IllegalAccessException e) {
      throw new ColumnsException(path, field + " cannot be read", e);
    }
  }

  private static MethodHandle unwrapping(final MethodHandle getter, final Node node) {
    final MethodHandle plain = node.around == null ? getter : node.around.unwrapping(getter);
    return plain.asType(MethodType.methodType(node.valueType(), Object.class));
  }

  private static boolean isFinal(final Field field) {
    return Modifier.isFinal(field.getModifiers());
  }

  /**
   * Adds the handles that construct objects; returns the reason if it cannot.
   *
   * @param all the fields that one call makes an object of, or null if they are set one by one
   */
  private String makers(
      final Class<?> type,
      final List<Field> fields,
      final List<Field> all,
      final MethodHandles.Lookup lookup) {
    try {
      if (Modifier.isAbstract(type.getModifiers())) {
        return "it is abstract";
      }
      final MethodHandles.Lookup inside = inside("", type, lookup);
      if (all != null) {
        final Constructor<?> constructor = ofAllFields(type, all);
        if (constructor == null) {
          return "it has final fields, and no constructor with all fields in their order, which has their"
              + " names (javac -parameters) or different types; a record can be made";
        }
        // A constructor with `...` would take its last argument for one of several.
        MethodHandle make = inside.unreflectConstructor(constructor).asFixedArity();
        for (int at = all.size() - 1; at >= 0; at--) {
          if (!fields.contains(all.get(at))) {
            final Object zero = Array.get(Array.newInstance(all.get(at).getType(), 1), 0);
            make = MethodHandles.insertArguments(make, at, zero);
          }
        }
        for (int member = 0; member < fields.size(); member++) {
          make = wrapping(make, member, members.get(member));
        }
        handles.add(make.asType(erased(make.type()).changeReturnType(Object.class)));
        return null;
      }
      final MethodHandle make = inside.unreflectConstructor(type.getDeclaredConstructor());
      final List<MethodHandle> setters = new ArrayList<>();
      for (int member = 0; member < fields.size(); member++) {
        final Field field = fields.get(member);
        final MethodHandle plain =
            inside("", field.getDeclaringClass(), lookup).unreflectSetter(field);
        final MethodHandle setter = wrapping(plain, 1, members.get(member));
        setters.add(setter.asType(erased(setter.type())));
      }
      handles.add(make.asType(MethodType.methodType(Object.class)));
      handles.addAll(setters);
      return null;
    } catch (NoSuchMethodException e) {
      return "it has no constructor without parameters";
    } catch (IllegalAccessException | ColumnsException e) {
      return "it has no constructor that can be called";
    } catch (IllegalArgumentException e) {
      return "it has too many fields for a method handle";
    }
  }

  private static MethodHandle wrapping(final MethodHandle handle, final int at, final Node node) {
    return node.around == null ? handle : node.around.wrapping(handle, at);
  }

  /**
   * The constructor that takes all fields in their order: the canonical one of a record. Of another
   * class one whose parameters have the names of the fields, or, if it was compiled without names,
   * whose types leave no choice; null if there is none.
   */
  private static Constructor<?> ofAllFields(final Class<?> type, final List<Field> fields) {
    final Class<?>[] types = fields.stream().map(Field::getType).toArray(Class<?>[]::new);
    final Constructor<?> constructor;
    try {
      constructor = type.getDeclaredConstructor(types);
    } catch (NoSuchMethodException e) {
      return null;
    }
    final List<Parameter> parameters = List.of(constructor.getParameters());
    final boolean isSure =
        parameters.stream().allMatch(Parameter::isNamePresent)
            ? parameters.stream().map(Parameter::getName).toList().equals(fields.stream().map(Field::getName).toList())
            : Arrays.stream(types).distinct().count() == types.length;
    return type.isRecord() || isSure ? constructor : null;
  }

  private static MethodType erased(final MethodType type) {
    final Class<?>[] parameters =
        Arrays.stream(type.parameterArray())
            .map(parameter -> parameter.isPrimitive() ? parameter : Object.class)
            .toArray(Class<?>[]::new);
    return MethodType.methodType(type.returnType(), parameters);
  }

  private byte[] bytes(final boolean makes, final boolean record) {
    writer.visit(V17, ACC_FINAL | ACC_SYNTHETIC, name, null, CODEC, null);
    final MethodVisitor constructor = method(0, "<init>", "()V");
    constructor.visitVarInsn(ALOAD, 0);
    constructor.visitMethodInsn(INVOKESPECIAL, CODEC, "<init>", "()V", false);
    end(constructor, RETURN);
    loops("measure");
    loops("write");
    if (!makes) {
      final MethodVisitor none = method(0, "make", MAKE);
      none.visitInsn(ACONST_NULL);
      end(none, ARETURN);
    } else if (record) {
      makeRecord();
    } else {
      makeFilled();
    }
    writer.visitEnd();
    return writer.toByteArray();
  }

  private MethodVisitor method(final int access, final String method, final String type) {
    final MethodVisitor code = writer.visitMethod(access, method, type, null, null);
    code.visitCode();
    return code;
  }

  private static void end(final MethodVisitor code, final int result) {
    code.visitInsn(result);
    code.visitMaxs(0, 0);
    code.visitEnd();
  }

  private static void push(final MethodVisitor code, final int number) {
    if (number <= Short.MAX_VALUE) {
      code.visitIntInsn(SIPUSH, number);
    } else {
      code.visitLdcInsn(number);
    }
  }

  private static void handle(final MethodVisitor code, final int index) {
    code.visitLdcInsn(new ConstantDynamic("_", "L" + HANDLE + ";", CLASS_DATA, index));
  }

  private static void invoke(final MethodVisitor code, final String type) {
    code.visitMethodInsn(INVOKEVIRTUAL, HANDLE, "invokeExact", type, false);
  }

  /** One loop over the rows for every group of members, and a method that runs them all. */
  private void loops(final String method) {
    final boolean write = method.equals("write");
    final List<Integer> taken = new ArrayList<>();
    for (int member = 0; member < members.size(); member++) {
      if (write || members.get(member).isVariable()) {
        taken.add(member);
      }
    }
    final MethodVisitor all = method(0, method, LOOP);
    for (int first = 0; first < taken.size(); first += GROUP) {
      final List<Integer> group = taken.subList(first, Math.min(first + GROUP, taken.size()));
      final String loop = method + first;
      final MethodVisitor code = method(ACC_STATIC, loop, LOOP);
      loop(code, group, write);
      all.visitVarInsn(ALOAD, 1);
      all.visitVarInsn(ILOAD, 2);
      all.visitVarInsn(ILOAD, 3);
      all.visitVarInsn(ALOAD, 4);
      all.visitMethodInsn(INVOKESTATIC, name, loop, LOOP, false);
    }
    end(all, RETURN);
  }

  /** Whether generated code stores the values itself. */
  private boolean isStored(final int member) {
    final Node node = members.get(member);
    return node.isPrimitive() && node.kind != Kind.BOOL;
  }

  private void loop(final MethodVisitor code, final List<Integer> group, final boolean write) {
    for (int i = 0; i < group.size(); i++) {
      final int member = group.get(i);
      slot(code, member);
      if (isStored(member)) {
        code.visitFieldInsn(GETFIELD, SLOT, "at", "J");
        code.visitVarInsn(LSTORE, variable(i));
      } else {
        code.visitTypeInsn(CHECKCAST, Type.getInternalName(members.get(member).slotClass()));
        code.visitVarInsn(ASTORE, variable(i));
      }
      if (write && members.get(member).isPrimitiveList()) {
        code.visitVarInsn(ALOAD, variable(i));
        code.visitFieldInsn(GETFIELD, ARRAY_SLOT, "valueAt", "J");
        code.visitVarInsn(LSTORE, variable(i) + 1);
      }
    }
    code.visitVarInsn(ILOAD, FROM);
    code.visitVarInsn(ISTORE, ROW);
    code.visitInsn(LCONST_0);
    code.visitVarInsn(LSTORE, DONE);
    final Label test = new Label();
    final Label again = new Label();
    final Label absent = new Label();
    final Label next = new Label();
    code.visitJumpInsn(GOTO, test);
    code.visitLabel(again);
    code.visitVarInsn(ALOAD, ROWS);
    code.visitVarInsn(ILOAD, ROW);
    code.visitInsn(AALOAD);
    code.visitVarInsn(ASTORE, OBJ);
    code.visitVarInsn(ALOAD, OBJ);
    code.visitJumpInsn(IFNULL, absent);
    for (int i = 0; i < group.size(); i++) {
      value(code, group.get(i), variable(i), write, true);
    }
    code.visitJumpInsn(GOTO, next);
    code.visitLabel(absent);
    if (write) {
      for (int i = 0; i < group.size(); i++) {
        value(code, group.get(i), variable(i), true, false);
      }
    }
    code.visitLabel(next);
    code.visitIincInsn(ROW, 1);
    code.visitVarInsn(LLOAD, DONE);
    code.visitInsn(LCONST_1);
    code.visitInsn(LADD);
    code.visitVarInsn(LSTORE, DONE);
    code.visitLabel(test);
    code.visitVarInsn(ILOAD, ROW);
    code.visitVarInsn(ILOAD, TO);
    code.visitJumpInsn(IF_ICMPLT, again);
    for (int i = 0; i < group.size(); i++) {
      final int member = group.get(i);
      if (isStored(member)) {
        slot(code, member);
        place(code, member, variable(i));
        code.visitFieldInsn(PUTFIELD, SLOT, "at", "J");
      } else if (write && members.get(member).isPrimitiveList()) {
        code.visitVarInsn(ALOAD, variable(i));
        code.visitVarInsn(LLOAD, variable(i) + 1);
        code.visitFieldInsn(PUTFIELD, ARRAY_SLOT, "valueAt", "J");
        code.visitVarInsn(ALOAD, variable(i));
        row(code, variable(i));
        code.visitFieldInsn(PUTFIELD, SLOT, "done", "J");
      }
    }
    end(code, RETURN);
  }

  /**
   * The first local variable of a member: its slot, or the address of its values; after a slot, the
   * address of the elements.
   */
  private static int variable(final int i) {
    return MEMBERS + 3 * i;
  }

  /** The number of the current row in a slot. */
  private static void row(final MethodVisitor code, final int variable) {
    code.visitVarInsn(ALOAD, variable);
    code.visitFieldInsn(GETFIELD, SLOT, "done", "J");
    code.visitVarInsn(LLOAD, DONE);
    code.visitInsn(LADD);
  }

  private static void slot(final MethodVisitor code, final int member) {
    code.visitVarInsn(ALOAD, SLOTS);
    push(code, member);
    code.visitInsn(AALOAD);
  }

  /** The address of the current row's value. */
  private void place(final MethodVisitor code, final int member, final int variable) {
    code.visitVarInsn(LLOAD, variable);
    code.visitVarInsn(LLOAD, DONE);
    push(code, Integer.numberOfTrailingZeros(members.get(member).kind.width));
    code.visitInsn(LSHL);
    code.visitInsn(LADD);
  }

  private void value(
      final MethodVisitor code,
      final int member,
      final int variable,
      final boolean write,
      final boolean there) {
    final Node node = members.get(member);
    final String type = Type.getDescriptor(node.valueType());
    final boolean stored = isStored(member);
    if (stored) {
      place(code, member, variable);
    } else {
      code.visitVarInsn(ALOAD, variable);
    }
    if (there) {
      handle(code, member);
      code.visitVarInsn(ALOAD, OBJ);
      invoke(code, "(" + OBJECT + ")" + type);
    } else {
      code.visitInsn(zero(type));
    }
    if (write && node.isPrimitiveList()) {
      code.visitVarInsn(LLOAD, variable + 1);
      row(code, variable);
      final String takes = "(" + type + "JJ)J";
      code.visitMethodInsn(INVOKEVIRTUAL, ARRAY_SLOT, "append", takes, false);
      code.visitVarInsn(LSTORE, variable + 1);
    } else if (stored) {
      code.visitMethodInsn(INVOKESTATIC, MEM, "put" + accessor(type), "(J" + type + ")V", false);
    } else {
      final String owner = Type.getInternalName(node.slotClass());
      final String method = write ? "append" : "measure";
      final String takes = write ? type : OBJECT;
      code.visitMethodInsn(INVOKEVIRTUAL, owner, method, "(" + takes + ")V", false);
    }
  }

  private static int zero(final String type) {
    return switch (type) {
      case "J" -> LCONST_0;
      case "F" -> FCONST_0;
      case "D" -> DCONST_0;
      default -> type.length() > 1 ? ACONST_NULL : ICONST_0;
    };
  }

  private static String accessor(final String type) {
    return switch (type) {
      case "Z" -> "Boolean";
      case "B" -> "Byte";
      case "S" -> "Short";
      case "C" -> "Char";
      case "I" -> "Int";
      case "J" -> "Long";
      case "F" -> "Float";
      case "D" -> "Double";
      default -> "";
    };
  }

  /** Pushes a member's value of a row. */
  private void source(
      final MethodVisitor code, final int member, final int row, final int sources) {
    final Node node = members.get(member);
    final String type = node.isPrimitive() ? node.kind.primitive : OBJECT;
    code.visitVarInsn(ALOAD, sources);
    push(code, member);
    code.visitInsn(AALOAD);
    code.visitVarInsn(ILOAD, row);
    code.visitMethodInsn(INVOKEVIRTUAL, SOURCE, "get" + accessor(type), "(I)" + type, false);
  }

  private void makeRecord() {
    final MethodVisitor code = method(0, "make", MAKE);
    final StringBuilder types = new StringBuilder("(");
    handle(code, members.size());
    for (int member = 0; member < members.size(); member++) {
      source(code, member, 1, 2);
      final Node node = members.get(member);
      types.append(node.isPrimitive() ? node.kind.primitive : OBJECT);
    }
    invoke(code, types.append(")").append(OBJECT).toString());
    end(code, ARETURN);
  }

  private void makeFilled() {
    final MethodVisitor make = method(0, "make", MAKE);
    handle(make, members.size());
    invoke(make, "()" + OBJECT);
    make.visitVarInsn(ASTORE, 3);
    for (int first = 0; first < members.size(); first += GROUP) {
      final MethodVisitor fill = method(ACC_STATIC, "fill" + first, FILL);
      for (int member = first; member < Math.min(first + GROUP, members.size()); member++) {
        final Node node = members.get(member);
        handle(fill, members.size() + 1 + member);
        fill.visitVarInsn(ALOAD, 0);
        source(fill, member, 1, 2);
        final String type = node.isPrimitive() ? node.kind.primitive : OBJECT;
        invoke(fill, "(" + OBJECT + type + ")V");
      }
      end(fill, RETURN);
      make.visitVarInsn(ALOAD, 3);
      make.visitVarInsn(ILOAD, 1);
      make.visitVarInsn(ALOAD, 2);
      make.visitMethodInsn(INVOKESTATIC, name, "fill" + first, FILL, false);
    }
    make.visitVarInsn(ALOAD, 3);
    end(make, ARETURN);
  }
}
