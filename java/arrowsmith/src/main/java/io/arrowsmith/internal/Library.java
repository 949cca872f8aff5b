// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Set;

/**
 * Finds and loads the native library, once.
 *
 * <p>It tries the file that the system property {@code arrowsmith.library} names; then a library
 * {@code arrowsmith_ffi} in a folder of {@code java.library.path}; then the one in the jar for this
 * platform, which is written to a new folder that only this user may enter, verified by its
 * checksum, loaded, and deleted. Windows keeps a loaded file as long as the JVM runs: there a later
 * JVM deletes it.
 */
final class Library {
  private static final String PROPERTY = "arrowsmith.library";
  private static final String NAME = "arrowsmith_ffi";

  /** Prefix of the temporary folders for the library. */
  private static final String FOLDER = "arrowsmith-native-";

  private static final Throwable FAILURE = attempt();

  private Library() {}

  /** Loads the library if it is not loaded. */
  static void load() {
    if (FAILURE != null) {
      final UnsatisfiedLinkError error =
          new UnsatisfiedLinkError("the native library of Arrowsmith cannot be loaded: " + FAILURE.getMessage());
      error.initCause(FAILURE);
      throw error;
    }
  }

  /** Whether it is available; for code that can do without it. */
  static boolean isLoaded() {
    return FAILURE == null;
  }

  private static Throwable attempt() {
    try {
      final String named = System.getProperty(PROPERTY);
      if (named != null && named.isEmpty()) {
        throw new IOException("the system property " + PROPERTY + " names no file");
      } else if (named != null) {
        System.load(Path.of(named).toAbsolutePath().toString());
      } else if (!onPath()) {
        fromJar();
      }
      return null;
    } catch (IOException | RuntimeException | LinkageError e) {
      return e;
    }
  }

  private static boolean onPath() {
    final String file = System.mapLibraryName(NAME);
    for (final String folder : System.getProperty("java.library.path", "").split(java.io.File.pathSeparator)) {
      if (!folder.isEmpty() && Files.isRegularFile(Path.of(folder, file))) {
        System.loadLibrary(NAME);
        return true;
      }
    }
    return false;
  }

  /** The folder of this platform in the jar, such as {@code linux-x86_64}. */
  static String platform() {
    final String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    final String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    final String os =
        system.startsWith("linux")
            ? "linux"
            : system.startsWith("mac") ? "macos" : system.startsWith("windows") ? "windows" : system;
    final String arch =
        switch (machine) {
          case "amd64", "x86_64", "x64" -> "x86_64";
          case "aarch64", "arm64" -> "aarch64";
          default -> machine;
        };
    return os + "-" + arch;
  }

  private static void fromJar() throws IOException {
    final String file = System.mapLibraryName(NAME);
    final String resource = "native/" + platform() + "/" + file;
    final byte[] library = resource("/io/arrowsmith/" + resource);
    final byte[] sum = resource("/io/arrowsmith/" + resource + ".sha256");
    if (library == null || sum == null) {
      throw new IOException(
          "the jar has none for "
              + platform()
              + "; name one by -D"
              + PROPERTY
              + "=FILE, or put one on java.library.path");
    }
    final Path folder = Files.createTempDirectory(FOLDER, forOwner());
    final Path extracted = folder.resolve(file);
    sweep(folder.getParent(), file, Instant.now().minus(Duration.ofDays(1)));
    try {
      Files.write(extracted, library);
      final String found = HexFormat.of().formatHex(sha256(Files.readAllBytes(extracted)));
      if (!new String(sum, StandardCharsets.US_ASCII).startsWith(found)) {
        throw new IOException(extracted + " does not have the checksum that it should have");
      }
      System.load(extracted.toString());
    } finally {
      discard(extracted);
      discard(folder);
    }
  }

  private static byte[] resource(final String name) throws IOException {
    try (InputStream stream = Library.class.getResourceAsStream(name)) {
      return stream == null ? null : stream.readAllBytes();
    }
  }

  private static FileAttribute<?>[] forOwner() {
    final Set<PosixFilePermission> owner = PosixFilePermissions.fromString("rwx------");
    return Path.of("").getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(owner)}
        : new FileAttribute<?>[0];
  }

  private static byte[] sha256(final byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /**
   * Deletes the remains of earlier JVMs: folders older than {@code until}, with their file. Files
   * in use stay.
   */
  private static void sweep(final Path within, final String file, final Instant until) {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(within, FOLDER + "*")) {
      for (final Path folder : folders) {
        sweepOne(folder, file, until);
      }
    } catch (IOException | DirectoryIteratorException e) {
      // Best effort: the next JVM tries again.
      return;
    }
  }

  private static void sweepOne(final Path folder, final String file, final Instant until) {
    try {
      final BasicFileAttributes known =
          Files.readAttributes(folder, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      if (known.isDirectory() && known.lastModifiedTime().toInstant().isBefore(until)) {
        Files.deleteIfExists(folder.resolve(file));
        Files.delete(folder);
      }
    } catch (IOException e) {
      // In use, or another user's.
      return;
    }
  }

  /** Deletes a file that was created here, now or when the JVM ends. */
  static void discard(final Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      // In use, as a loaded library is on Windows. If the end of the JVM does not delete it either,
      // a later JVM does.
      path.toFile().deleteOnExit();
    }
  }
}
