// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Prints the classes of an object's fields, recursively, as JSON. It loads classes and runs none of
 * their code.
 */
public final class Describe {
    private Describe() {}

    /** Types that cannot be transferred. */
    private static final class Refused extends RuntimeException {
        final String path;

        Refused(String path, String reason) {
            super(reason);
            this.path = path;
        }
    }

    public static void main(String[] arguments) {
        try {
            System.out.println(describe(arguments[0]));
        } catch (Refused refused) {
            System.out.println("{\"path\":" + quote(refused.path) + ",\"reason\":" + quote(refused.getMessage()) + "}");
        } catch (ClassNotFoundException | LinkageError failure) {
            System.out.println("{\"path\":" + quote(arguments[0]) + ",\"reason\":"
                    + quote("the class cannot be loaded: " + failure) + "}");
        }
    }

    private static Class<?> load(String name) throws ClassNotFoundException {
        return Class.forName(name, false, ClassLoader.getSystemClassLoader());
    }

    private static String describe(String root) throws ClassNotFoundException {
        Map<Class<?>, String> described = new LinkedHashMap<>();
        Map<Class<?>, String> paths = new LinkedHashMap<>();
        Deque<Class<?>> open = new ArrayDeque<>();
        Class<?> first = load(root);
        open.add(first);
        paths.put(first, first.getSimpleName());
        while (!open.isEmpty()) {
            Class<?> type = open.remove();
            if (described.containsKey(type)) {
                continue;
            }
            if (described.size() > 1_000) {
                throw new Refused(root, "it is made of more than 1000 classes");
            }
            described.put(type, describe(type, paths, open));
        }
        return "{\"classes\":[" + String.join(",", described.values()) + "]}";
    }

    private static String describe(Class<?> type, Map<Class<?>, String> paths, Deque<Class<?>> open) {
        String path = paths.get(type);
        check(type, path);
        List<Field> fields = new ArrayList<>();
        if (type.isRecord()) {
            for (RecordComponent component : type.getRecordComponents()) {
                try {
                    fields.add(type.getDeclaredField(component.getName()));
                } catch (NoSuchFieldException impossible) {
                    throw new Refused(path, "a record without its field " + component.getName());
                }
            }
        } else {
            for (Class<?> from = type; from != null && from != Object.class; from = from.getSuperclass()) {
                List<Field> own = new ArrayList<>();
                for (Field field : from.getDeclaredFields()) {
                    int modifiers = field.getModifiers();
                    if (Modifier.isStatic(modifiers) || Modifier.isTransient(modifiers)) {
                        continue;
                    }
                    own.add(field);
                }
                if (from != type && !own.isEmpty()) {
                    check(from, path);
                }
                fields.addAll(0, own);
            }
        }
        List<String> texts = new ArrayList<>();
        for (Field field : fields) {
            texts.add(describe(field, path + "." + field.getName(), paths, open));
        }
        return "{\"java\":" + quote(type.getCanonicalName()) + ",\"binary\":" + quote(binary(type))
                + ",\"record\":" + type.isRecord() + ",\"fields\":[" + String.join(",", texts) + "]}";
    }

    private static String describe(Field field, String path, Map<Class<?>, String> paths, Deque<Class<?>> open) {
        if (field.isSynthetic()) {
            throw new Refused(path, "is a reference to the object around it; make the class static");
        }
        Class<?> type = field.getType();
        int dimensions = 0;
        while (type.isArray()) {
            type = type.getComponentType();
            dimensions++;
            path += "[]";
        }
        String base;
        if (type.isPrimitive()) {
            base = type.getName();
        } else if (type == String.class) {
            base = "string";
        } else {
            check(type, path);
            base = binary(type);
            paths.putIfAbsent(type, path);
            open.add(type);
        }
        boolean visible = Modifier.isPublic(field.getModifiers());
        return "{\"name\":" + quote(field.getName())
                + ",\"owner\":" + quote(field.getDeclaringClass().getCanonicalName())
                + ",\"public\":" + visible + ",\"base\":" + quote(base) + ",\"dimensions\":" + dimensions + "}";
    }

    private static void check(Class<?> type, String path) {
        if (type.isInterface() || type.isEnum() || type.isAnnotation() || type.isArray() || type.isPrimitive()) {
            throw new Refused(path, type.getName() + " is not a class with fields; primitives, strings, arrays and "
                    + "plain classes can be handed over");
        }
        if (type.getModule().isNamed()) {
            throw new Refused(path, type.getName() + " is of the module " + type.getModule().getName()
                    + "; primitives, strings, arrays and plain classes can be handed over");
        }
        for (Class<?> around = type; around != null; around = around.getEnclosingClass()) {
            if (!Modifier.isPublic(around.getModifiers())) {
                throw new Refused(path, around.getName() + " is not public");
            }
        }
        if (type.getCanonicalName() == null) {
            throw new Refused(path, type.getName() + " has no name that Java source could use");
        }
        if (type.getPackageName().isEmpty()) {
            throw new Refused(path, type.getName() + " is in no package");
        }
    }

    private static String binary(Class<?> type) {
        return type.getName().replace('.', '/');
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char unit : String.valueOf(text).toCharArray()) {
            if (unit == '"' || unit == '\\') {
                quoted.append('\\').append(unit);
            } else if (unit < ' ' || unit > '~') {
                quoted.append(String.format("\\u%04x", (int) unit));
            } else {
                quoted.append(unit);
            }
        }
        return quoted.append('"').toString();
    }
}
