// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The sources of the native library, each in a JVM of its own: the jar, a property, a path, or
 * none.
 */
class LibraryTest {
  record Row(long[] numbers) {}

  @TempDir Path folder;

  /** The program of those JVMs: columns always work, readers report the reason if they do not. */
  public static final class Program {
    private Program() {}

    /** Prints the result. */
    public static void main(final String[] args) throws IOException {
      try (BufferAllocator allocator = new RootAllocator()) {
        final Columns<Row> columns = Columns.of(Row.class);
        try (VectorSchemaRoot root = columns.encode(Collections.nCopies(100, new Row(new long[1000])), allocator)) {
          System.out.println("columns " + columns.decode(root).size());
        }
        try (ArrowReader reader = JsonReader.builder().open(allocator, Input.bytes("{\"a\":1}".getBytes()))) {
          System.out.println("reader " + reader.loadNextBatch());
        } catch (UnsatisfiedLinkError e) {
          System.out.println("none: " + e.getMessage());
        }
        System.out.println("left " + allocator.getAllocatedMemory());
      }
    }
  }

  private List<String> run(final String... flags) throws Exception {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // The flags of this JVM, which are those that Arrow Java needs.
    command.addAll(List.of(System.getProperty("arrowsmith.flags").trim().split(" +")));
    command.add("-Djava.io.tmpdir=" + folder);
    command.addAll(List.of(flags));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Program.class.getName()));
    final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    final List<String> lines = process.inputReader().lines().toList();
    assertEquals(0, process.waitFor(), lines.toString());
    assertTrue(lines.contains("columns 100") && lines.contains("left 0"), lines.toString());
    return lines;
  }

  private List<Path> left() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.getFileName().toString().startsWith("arrowsmith")).toList();
    }
  }

  @Test
  void fromTheJar() throws Exception {
    assertTrue(run().contains("reader true"));
    assertEquals(List.of(), left());
  }

  @Test
  void whatAnEarlierJvmCouldNotDeleteIsSwept() throws Exception {
    final String name = System.mapLibraryName("arrowsmith_ffi");
    final Path old = Files.createDirectory(folder.resolve("arrowsmith-native-1"));
    final Path fresh = Files.createDirectory(folder.resolve("arrowsmith-native-2"));
    final Path other = Files.createDirectory(folder.resolve("arrowsmith-native-3"));
    Files.createFile(old.resolve(name));
    Files.createFile(fresh.resolve(name));
    Files.createFile(other.resolve("something else"));
    final FileTime before = FileTime.from(Instant.now().minus(Duration.ofDays(2)));
    Files.setLastModifiedTime(old, before);
    Files.setLastModifiedTime(other, before);
    assertTrue(run().contains("reader true"));
    assertEquals(List.of(fresh, other), left().stream().sorted().toList());
  }

  /** Extracts the library from the jar to the folder, under this system's file name. */
  private Path extracted() throws IOException {
    final String name = System.mapLibraryName("arrowsmith_ffi");
    final Path file = folder.resolve(name);
    final String machine = System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "x86_64";
    final String system = name.endsWith(".dll") ? "windows" : name.endsWith(".dylib") ? "macos" : "linux";
    try (var library = Columns.class.getResourceAsStream("/io/arrowsmith/native/" + system + "-" + machine + "/" + name)) {
      Files.copy(library, file);
    }
    return file;
  }

  @Test
  void fromAFileOrAPath() throws Exception {
    final Path file = extracted();
    assertTrue(run("-Darrowsmith.library=" + file).contains("reader true"));
    assertTrue(run("-Djava.library.path=nowhere" + File.pathSeparator + folder).contains("reader true"));
  }

  @Test
  void fromNowhere() throws Exception {
    final List<String> missing = run("-Darrowsmith.library=" + folder.resolve("none.so"));
    assertTrue(missing.stream().anyMatch(line -> line.startsWith("none: ") && line.contains("none.so")), missing.toString());
    Files.writeString(folder.resolve("text.so"), "no library");
    final List<String> text = run("-Darrowsmith.library=" + folder.resolve("text.so"));
    assertTrue(text.stream().anyMatch(line -> line.startsWith("none: ")), text.toString());
    final List<String> empty = run("-Darrowsmith.library=");
    assertTrue(empty.toString().contains("the system property arrowsmith.library names no file"), empty.toString());
  }
}
