// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;

/**
 * Existing classes, and records: creates their objects, and reads their private fields, by
 * reflection.
 */
final class Existing {
    private Existing() {}

    static Field field(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException | RuntimeException failure) {
            throw new IllegalStateException(owner.getName() + "." + name + " cannot be read: " + failure, failure);
        }
    }

    static VarHandle handle(Class<?> owner, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException | RuntimeException failure) {
            throw new IllegalStateException(owner.getName() + "." + name + " cannot be read: " + failure, failure);
        }
    }

    /** An object with these field values; of a record, by its constructor. */
    static Object make(Class<?> type, Field[] fields, Object[] values) {
        try {
            if (type.isRecord()) {
                Class<?>[] types = new Class<?>[fields.length];
                for (int at = 0; at < fields.length; at++) {
                    types[at] = fields[at].getType();
                }
                Constructor<?> constructor = type.getDeclaredConstructor(types);
                constructor.setAccessible(true);
                return constructor.newInstance(values);
            }
            Object made = Memory.U.allocateInstance(type);
            for (int at = 0; at < fields.length; at++) {
                fields[at].set(made, values[at]);
            }
            return made;
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(type.getName() + " cannot be made: " + failure, failure);
        }
    }
}
