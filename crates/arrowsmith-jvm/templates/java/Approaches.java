// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.reflect.InvocationTargetException;
import java.util.List;

/** All approaches by name. */
final class Approaches {
    /** The paper's (Table 1), then today's. */
    static final List<String> NAMES = List.of(
            "bytebuffer", "bytebuffer-direct", "unsafe", "jni", "direct-copy", "direct",
            "jni-critical", "ffm", "varhandle", "java-serialization", "kryo", "protobuf", "arrow-java", "columns");

    private Approaches() {}

    /** Creates one; throws UnsupportedOperationException with the reason if it is unavailable. */
    static Approach make(String name) throws Throwable {
        switch (name) {
            case "bytebuffer":
                return new Shares(Writers.Heap::new);
            case "bytebuffer-direct":
                return new Shares(Writers.Direct::new);
            case "varhandle":
                return new Shares(Writers.Handle::new);
            case "unsafe":
                return new Shares(Writers.Off::new);
            case "jni":
                return new Jni(false);
            case "jni-critical":
                return new Jni(true);
            case "direct-copy":
                return new Direct(Direct.COPY, Protection.find(), 0);
            case "direct":
                return new Direct(Direct.READ, Protection.find(), 0);
            case "java-serialization":
                return new Shares(Serialized.Java::new);
            case "ffm":
                return new Shares(() -> (Shares.Writer) optional("Foreign", "writer", "JDK 22"));
            case "kryo":
                return new Shares(() -> (Shares.Writer) optional("Kryos", "writer", "Kryo on the class path"));
            case "protobuf":
                return new Shares(() -> (Shares.Writer) optional("Protobufs", "writer", "Protobuf on the class path"));
            case "arrow-java":
                return (Approach) optional("Vectors", "setters", "Arrow Java on the class path");
            case "columns":
                return (Approach) optional("Ours", "columns", "Arrowsmith's jar on the class path");
            default:
                throw new IllegalArgumentException("unknown approach " + name + "; there are " + NAMES);
        }
    }

    /** Approaches that were not compiled, because the JDK or a library is missing, are refused. */
    private static Object optional(String type, String method, String needs) throws Throwable {
        try {
            return Class.forName("bench." + type).getDeclaredMethod(method).invoke(null);
        } catch (InvocationTargetException failure) {
            if (failure.getCause() instanceof NoClassDefFoundError) {
                throw new UnsupportedOperationException("needs " + needs, failure);
            }
            throw failure.getCause();
        } catch (ClassNotFoundException | LinkageError failure) {
            throw new UnsupportedOperationException("needs " + needs, failure);
        }
    }
}
