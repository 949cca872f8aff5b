// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Compiles source text to a class, in a class loader that knows only the JDK, like that of an
 * application's plug-in.
 */
final class Compiler {
  private Compiler() {}

  /** The class of this name in a source text, which may contain others. */
  static Class<?> compile(final String name, final String source) throws Exception {
    final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    final Map<String, ByteArrayOutputStream> classes = new HashMap<>();
    final JavaFileObject text =
        new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(final boolean ignored) {
            return source;
          }
        };
    final JavaFileManager files =
        new ForwardingJavaFileManager<>(compiler.getStandardFileManager(null, null, null)) {
          @Override
          public JavaFileObject getJavaFileForOutput(
              final Location location,
              final String className,
              final JavaFileObject.Kind kind,
              final FileObject sibling) {
            return new SimpleJavaFileObject(URI.create("bytes:///" + className + ".class"), kind) {
              @Override
              public OutputStream openOutputStream() {
                return classes.computeIfAbsent(className, any -> new ByteArrayOutputStream());
              }
            };
          }
        };
    if (!compiler.getTask(null, files, null, List.of("-proc:none"), null, List.of(text)).call()) {
      throw new AssertionError("does not compile:\n" + source);
    }
    final ClassLoader loader =
        new ClassLoader(ClassLoader.getPlatformClassLoader()) {
          @Override
          protected Class<?> findClass(final String wanted) throws ClassNotFoundException {
            final ByteArrayOutputStream bytes = classes.get(wanted);
            if (bytes == null) {
              throw new ClassNotFoundException(wanted);
            }
            return defineClass(wanted, bytes.toByteArray(), 0, bytes.size());
          }
        };
    return loader.loadClass(name);
  }
}
