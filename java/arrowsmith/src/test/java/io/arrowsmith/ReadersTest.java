// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.zip.GZIPOutputStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** JSON and Parquet in Java: inputs, options, errors with their positions, and ownership of memory.
 */
class ReadersTest {
  private final BufferAllocator allocator = new RootAllocator();

  @TempDir Path folder;

  @AfterEach
  void memoryIsReturned() {
    allocator.close();
  }

  private static Input text(final String json) {
    return Input.bytes(json.getBytes(StandardCharsets.UTF_8));
  }

  /** All rows, each as a map. */
  private static List<Object> rows(final ArrowReader reader) throws IOException {
    final List<Object> rows = new ArrayList<>();
    try (reader) {
      while (reader.loadNextBatch()) {
        final VectorSchemaRoot root = reader.getVectorSchemaRoot();
        for (int row = 0; row < root.getRowCount(); row++) {
          rows.add(Oracle.row(root, row));
        }
      }
      assertFalse(reader.loadNextBatch());
    }
    return rows;
  }

  /** Arrow's Java library imports no longer ones, and underflows. */
  @Test
  void namesThatJavaCannotImportAreAnError() throws IOException {
    for (final int length : new int[] {32_766, 32_767, 1 << 20}) {
      final Input input = text("{\"" + "a".repeat(length) + "\":1}");
      try (ArrowReader reader = JsonReader.builder().open(allocator, input)) {
        if (length < 32_767) {
          assertTrue(reader.loadNextBatch());
        } else {
          assertThrows(SchemaException.class, reader::loadNextBatch);
        }
      }
      if (length >= 32_767) {
        final JsonReader infers = JsonReader.builder();
        assertThrows(SchemaException.class, () -> infers.inferSchema(allocator, input));
      }
    }
  }

  @Test
  void inputsOfEveryKind() throws IOException {
    final byte[] json = "{\"a\":1}\n{\"a\":2}\n".getBytes();
    Files.write(folder.resolve("one.json"), json);
    Files.write(folder.resolve("zwei ü [x].json"), json);
    final ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(json);
    }
    final ByteBuffer direct = ByteBuffer.allocateDirect(json.length + 5);
    direct.position(3).put(json).flip().position(3);
    final var all =
        rows(
            JsonReader.builder()
                .open(
                    allocator,
                    Input.path(folder.resolve("one.json")),
                    Input.path(folder.resolve("zwei ü [x].json")),
                    Input.pattern(folder + "/*.json"),
                    Input.bytes(packed.toByteArray()),
                    Input.buffer(direct),
                    Input.stream(Files.newInputStream(folder.resolve("one.json"))),
                    Input.buffer(ByteBuffer.wrap(json, 8, 8).asReadOnlyBuffer()),
                    Input.bytes(new byte[0])));
    assertEquals(15, all.size());
    assertEquals("[{a=1}, {a=2}]", all.subList(0, 2).toString());
    assertEquals("{a=2}", all.get(14).toString());
    assertEquals(3, direct.position());
  }

  @Test
  void noInputs() {
    assertThrows(IllegalArgumentException.class, () -> JsonReader.builder().open(allocator));
  }

  @Test
  void schemasAreInferredOrGiven() throws IOException {
    final String json = "{\"a\":1,\"b\":{\"c\":[\"x\",null]},\"t\":\"2024-01-01T00:00:00Z\"}";
    final Schema found = JsonReader.builder().inferTimestamps(true).inferSchema(allocator, text(json));
    assertEquals(
        "Schema<a: Int(64, true), b: Struct<c: List<item: Utf8>>, t: Timestamp(MICROSECOND, UTC)>",
        found.toString());
    final Schema mine =
        new Schema(List.of(Field.notNullable("a", new ArrowType.Int(16, false)), Field.nullable("z", new ArrowType.Bool())));
    try (ArrowReader reader = JsonReader.builder().schema(mine).open(allocator, text(json))) {
      assertEquals(mine, reader.getVectorSchemaRoot().getSchema());
      assertTrue(reader.loadNextBatch());
      assertEquals('\1', reader.getVectorSchemaRoot().getVector("a").getObject(0));
      assertNull(reader.getVectorSchemaRoot().getVector("z").getObject(0));
    }
    assertEquals(
        "[{b={c=[x, null]}}]",
        rows(JsonReader.builder().columns("b.c").inferAllRecords().open(allocator, text(json))).toString());
  }

  @Test
  void errorsSayWhere() throws IOException {
    Files.writeString(folder.resolve("bad.json"), "{\"u\":{\"a\":1}}\n{\"u\":{\"a\":\"ü\0\"}}\n");
    final var reader =
        JsonReader.builder().schema("u: struct<a: int64>").open(allocator, Input.path(folder.resolve("bad.json")));
    final DataException e = assertThrows(DataException.class, () -> rows(reader));
    assertEquals(2, e.line());
    assertEquals(1, e.record());
    assertEquals("u.a", e.path());
    assertTrue(e.source().endsWith("bad.json"));
    assertTrue(e.offset() > 14);
    assertNotNull(e.kind());
    assertNotNull(e.expected());
    assertNotNull(e.found());
    assertTrue(e.getMessage().contains("line 2"));
    final var file =
        assertThrows(
            FileException.class, () -> rows(ParquetReader.builder().open(allocator, Input.bytes(new byte[50]))));
    assertEquals("format", file.kind());
    assertNull(file.source());
    final var missing =
        assertThrows(
            NoSuchFileException.class,
            () -> rows(JsonReader.builder().open(allocator, Input.path(folder.resolve("none")))));
    assertTrue(missing.getFile().endsWith("none"));
    assertThrows(
        SchemaException.class, () -> JsonReader.builder().schema("a: int65").open(allocator, text("{}")));
    final var column =
        assertThrows(
            SchemaException.class, () -> JsonReader.builder().columns("nope").open(allocator, text("{\"a\":1}")));
    assertEquals("nope", column.path());
  }

  @Test
  void optionsThatMakeNoSense() {
    for (final JsonReader reader :
        List.of(
            JsonReader.builder().engine("abacus"),
            JsonReader.builder().threads(0),
            JsonReader.builder().format("xml"),
            JsonReader.builder().onError("\"\\\n"),
            JsonReader.builder().batchRows(-1),
            JsonReader.builder().inferRecords(0L))) {
      assertThrows(IllegalArgumentException.class, () -> reader.open(allocator, text("{\"a\":1}")));
    }
  }

  @Test
  void rejects() throws IOException {
    final List<Reject> rejects = new ArrayList<>();
    final String bad = "{\"a\":\"\"}";
    final var rows =
        rows(
            JsonReader.builder()
                .schema("a: int64")
                .onError("skip")
                .onReject(rejects::add)
                .open(allocator, text("{\"a\":1}\n" + bad + "\n{\"a\":3}\n")));
    assertEquals("[{a=1}, {a=3}]", rows.toString());
    assertEquals(1, rejects.size());
    assertEquals(2, rejects.get(0).error().line());
    assertFalse(rejects.get(0).keptAsNull());
    assertArrayEquals(bad.getBytes(), rejects.get(0).text());
    final var nulls =
        rows(
            JsonReader.builder()
                .schema("a: int64")
                .onError(JsonReader.OnError.NULL)
                .onReject(rejects::add)
                .open(allocator, text(bad)));
    assertEquals("[{}]", nulls.toString());
    assertTrue(rejects.get(1).keptAsNull());
  }

  @Test
  void callbacksThatThrowOrClose() throws IOException {
    final long bytes = JsonBatches.liveBytes();
    final JsonReader skipping = JsonReader.builder().schema("a: int64").onError("skip");
    final var throwing =
        skipping
            .onReject(
                reject -> {
                  throw new IllegalStateException("enough");
                })
            .open(allocator, text("{\"a\":1}\n{\"a\":\"\"}\n"));
    assertThrows(IllegalStateException.class, () -> rows(throwing));
    throwing.close();
    assertEquals(bytes, JsonBatches.liveBytes(), "the batch is released");
    final ArrowReader[] held = new ArrowReader[1];
    held[0] =
        skipping
            .onReject(
                reject -> {
                  try {
                    held[0].close();
                  } catch (IOException e) {
                    throw new AssertionError(e);
                  }
                })
            .open(allocator, text("{\"a\":1}\n{\"a\":\"\"}\n"));
    assertThrows(CancellationException.class, () -> rows(held[0]));
  }

  @Test
  void closedReaders() throws IOException {
    final ArrowReader reader = JsonReader.builder().open(allocator, text("{\"a\":1}"));
    reader.close();
    reader.close();
    assertThrows(CancellationException.class, reader::loadNextBatch);
  }

  @Test
  void batchesOutliveTheirReader() throws IOException {
    final VectorSchemaRoot kept;
    try (ArrowReader reader = JsonReader.builder().open(allocator, text("{\"a\":1,\"s\":\"text\"}"))) {
      assertTrue(reader.loadNextBatch());
      kept = reader.getVectorSchemaRoot().slice(0);
      assertTrue(allocator.getAllocatedMemory() > 0);
    }
    assertEquals("text", kept.getVector("s").getObject(0).toString());
    kept.close();
  }

  @Test
  void columnsAndReadersAgree() throws IOException {
    record Trip(long id, String name, List<Double> speeds) {}
    final String json = "{\"id\":1,\"name\":\"é\",\"speeds\":[0.5,null]}\n{\"id\":2}\n";
    final Columns<Trip> columns = Columns.of(Trip.class);
    try (ArrowReader reader = JsonReader.builder().schema(columns.schema()).open(allocator, text(json))) {
      assertTrue(reader.loadNextBatch());
      final List<Trip> trips = columns.decode(reader.getVectorSchemaRoot());
      assertEquals(new Trip(1, "é", java.util.Arrays.asList(0.5, null)), trips.get(0));
      assertEquals(new Trip(2, null, null), trips.get(1));
    }
  }
}
