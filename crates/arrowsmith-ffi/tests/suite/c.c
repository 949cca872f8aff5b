/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C program that uses all of arrowsmith.h, for tests/suite/c.rs: exit status 0, or the line of
 * the check that failed.
 */
#include <arrowsmith.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) exit((__LINE__ % 250) + 1);                                                                  \
    } while (0)

static int released = 0;

static void release(void *context) {
    CHECK(context == &released);
    released++;
}

static ArrowsmithSource lent(const char *text) {
    ArrowsmithSource source = {ARROWSMITH_SOURCE_BYTES, (const uint8_t *)text, strlen(text), release, &released};
    return source;
}

static ArrowsmithReader *json(const char *text, const char *options, ArrowsmithError **error) {
    ArrowsmithSource source = lent(text);
    return arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, (const uint8_t *)options, strlen(options), error);
}

static void batches(void) {
    ArrowsmithError *error = NULL;
    ArrowsmithReader *reader = json("{\"a\":7,\"s\":\"x\"}\n{\"a\":8}\n", "{\"threads\":1}", &error);
    CHECK(reader && !error);
    struct ArrowSchema schema;
    CHECK(arrowsmith_reader_schema(reader, &schema, &error) == 0);
    CHECK(schema.n_children == 2 && strcmp(schema.children[0]->format, "l") == 0);
    struct ArrowArray batch;
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == 1);
    CHECK(batch.length == 2 && batch.n_children == 2 && batch.children[1]->null_count == 1);
    struct ArrowArray end;
    CHECK(arrowsmith_reader_next(reader, &end, &error) == 0 && !error);
    CHECK(arrowsmith_reader_rows(reader) == 2 && arrowsmith_reader_rejects(reader) == 0);
    arrowsmith_reader_close(reader);
    CHECK(released == 1);
    /* The batch outlives its reader. */
    CHECK(((const int64_t *)batch.children[0]->buffers[1])[1] == 8);
    batch.release(&batch);

    /* With that schema, and as a stream. */
    ArrowsmithSource source = lent("{\"a\":1}");
    reader = arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, &schema, NULL, 0, &error);
    CHECK(reader && schema.release);
    struct ArrowArrayStream stream;
    CHECK(arrowsmith_reader_stream(reader, &stream, &error) == 0);
    CHECK(arrowsmith_reader_stream(reader, &stream, &error) == -1 && error->error_class == ARROWSMITH_ERROR_CONFIG);
    arrowsmith_error_free(error);
    error = NULL;
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 1);
    batch.release(&batch);
    arrowsmith_reader_close(reader);
    CHECK(stream.get_next(&stream, &batch) == 0 && !batch.release);
    stream.release(&stream);
    schema.release(&schema);
}

/* Keys of columns that are not selected are not unknown. */
static void columns(void) {
    ArrowsmithError *error = NULL;
    const char *options = "{\"schema\":\"a: int64, b: int64\",\"columns\":[\"a\"],\"unknown_keys\":\"error\"}";
    ArrowsmithReader *reader = json("{\"b\":2,\"a\":1}\n{\"a\":3,\"c\":4}\n", options, &error);
    CHECK(reader);
    struct ArrowArray batch;
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == 1 && batch.n_children == 1 && batch.length == 1);
    batch.release(&batch);
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == -1);
    CHECK(error->line == 2 && strcmp(error->kind, "unknown-key") == 0);
    arrowsmith_error_free(error);
    arrowsmith_reader_close(reader);
}

static void errors(void) {
    ArrowsmithError *error = NULL;
    ArrowsmithReader *reader = json("{\"a\":1}\n{\"a\":\"\\u0000\"}\n", "{\"schema\":\"a: int64\"}", &error);
    CHECK(reader);
    struct ArrowArray batch;
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == 1);
    batch.release(&batch);
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == -1);
    CHECK(error->error_class == ARROWSMITH_ERROR_DATA && error->line == 2 && error->record == 1);
    CHECK(strcmp(error->kind, "wrong-type") == 0 && strcmp(error->path, "a") == 0 && !error->source);
    arrowsmith_error_free(error);
    arrowsmith_reader_close(reader);

    /* Without an error pointer. */
    CHECK(!json("", "{\"thread\":1}", NULL));
    CHECK(!json("", "{\"threads\":", &error) && error->error_class == ARROWSMITH_ERROR_CONFIG);
    arrowsmith_error_free(error);
    CHECK(!arrowsmith_open(9, NULL, 0, NULL, NULL, 0, &error) && error->message);
    arrowsmith_error_free(error);
    ArrowsmithSource none = {ARROWSMITH_SOURCE_PATH, (const uint8_t *)"/no/such", 8, NULL, NULL};
    CHECK(!arrowsmith_open(ARROWSMITH_FORMAT_PARQUET, &none, 1, NULL, NULL, 0, &error));
    CHECK(error->error_class == ARROWSMITH_ERROR_IO && error->os_error == 2);
    arrowsmith_error_free(error);
    ArrowsmithSource unknown = {77, NULL, 0, NULL, NULL}, null = {ARROWSMITH_SOURCE_BYTES, NULL, 5, NULL, NULL};
    CHECK(!arrowsmith_open(ARROWSMITH_FORMAT_JSON, &unknown, 1, NULL, NULL, 0, NULL));
    CHECK(!arrowsmith_open(ARROWSMITH_FORMAT_JSON, &null, 1, NULL, NULL, 0, NULL));
    arrowsmith_error_free(NULL);
    arrowsmith_reader_close(NULL);
}

static void rejects(void) {
    ArrowsmithError *error = NULL;
    ArrowsmithReader *reader =
        json("{\"a\":1}\n[]\n{\"a\":2}\n", "{\"schema\":\"a: int64\",\"on_error\":\"skip\",\"rejects\":true}", &error);
    CHECK(reader);
    struct ArrowArray batch;
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == 1 && batch.length == 2);
    batch.release(&batch);
    ArrowsmithError *reject = arrowsmith_reader_reject(reader);
    CHECK(reject && reject->line == 2 && reject->kept_as_null == 0);
    CHECK(reject->text_bytes == 2 && memcmp(reject->text, "[]", 2) == 0);
    arrowsmith_error_free(reject);
    CHECK(!arrowsmith_reader_reject(reader) && arrowsmith_reader_rejects(reader) == 1);
    arrowsmith_reader_cancel(reader);
    arrowsmith_reader_close(reader);
}

/* More rejects than are kept, none of which is lost; a range of a file; the gauges. */
static void all_rejects(void) {
    enum { RECORDS = 200000 };
    ArrowsmithError *error = NULL;
    char *text = malloc(RECORDS * 2 + 8);
    CHECK(text);
    for (int i = 0; i < RECORDS; i++) memcpy(text + 2 * i, "7\n", 2);
    memcpy(text + 2 * RECORDS, "{\"a\":1}", 8);
    ArrowsmithSource source = {ARROWSMITH_SOURCE_BYTES, (const uint8_t *)text, RECORDS * 2 + 7, NULL, NULL};
    const char *options = "{\"schema\":\"a: int64\",\"on_error\":\"skip\",\"rejects\":\"all\",\"threads\":1,"
                          "\"range_start\":2,\"count_before\":false,\"refuse_lone_cr\":true}";
    CHECK(arrowsmith_live_readers() == 0);
    ArrowsmithReader *reader = arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, (const uint8_t *)options,
                                               strlen(options), &error);
    CHECK(reader && !error && arrowsmith_live_readers() == 1);
    struct ArrowArray batch;
    int64_t next, taken = 0;
    while ((next = arrowsmith_reader_next(reader, &batch, &error)) > 0) {
        ArrowsmithError *reject;
        while ((reject = arrowsmith_reader_reject(reader))) {
            CHECK(reject->record == taken++);
            arrowsmith_error_free(reject);
        }
        if (next == 1) {
            CHECK(batch.length == 1 && arrowsmith_live_bytes() > 0);
            arrowsmith_array_release(&batch);
            arrowsmith_array_release(&batch);
            CHECK(!batch.release);
        }
    }
    CHECK(next == 0 && taken == RECORDS - 2 && arrowsmith_reader_rows(reader) == 1);
    arrowsmith_reader_close(reader);
    CHECK(arrowsmith_live_readers() == 0 && arrowsmith_live_bytes() == 0);
    arrowsmith_array_release(NULL);

    memcpy(text, "{}\r{}", 5);
    source.bytes = 5;
    options = "{\"schema\":\"a: int64\",\"refuse_lone_cr\":true}";
    reader = arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, (const uint8_t *)options, strlen(options),
                             &error);
    CHECK(reader && arrowsmith_reader_next(reader, &batch, &error) == -1);
    CHECK(error->offset == 2 && strcmp(error->found, "a lone carriage return") == 0);
    arrowsmith_error_free(error);
    arrowsmith_reader_close(reader);

    /* Whole lines. */
    static const char spaced[] = "{}\n \t[ ]  \r\n  {\"a\":\n{\"a\":true} ";
    static const char *const lines[] = {" \t[ ]  ", "  {\"a\":", "{\"a\":true} "};
    source.data = (const uint8_t *)spaced;
    source.bytes = sizeof spaced - 1;
    options = "{\"schema\":\"a: int64\",\"on_error\":\"skip\",\"rejects\":\"lines\"}";
    reader = arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, (const uint8_t *)options, strlen(options),
                             &error);
    CHECK(reader && arrowsmith_reader_next(reader, &batch, &error) == 1);
    arrowsmith_array_release(&batch);
    for (int i = 0; i < 3; i++) {
        ArrowsmithError *reject = arrowsmith_reader_reject(reader);
        CHECK(reject && reject->text_bytes == strlen(lines[i]));
        CHECK(memcmp(reject->text, lines[i], reject->text_bytes) == 0);
        arrowsmith_error_free(reject);
    }
    arrowsmith_reader_close(reader);
    free(text);
}

static void streams(void) {
    static const char text[] = "{\"a\":1}\n{\"a\":2}\n{\"a\":3";
    ArrowsmithError *error = NULL;
    ArrowsmithStream *stream = arrowsmith_stream_new();
    CHECK(stream);
    ArrowsmithSource source = {ARROWSMITH_SOURCE_STREAM, (const uint8_t *)stream, 0, NULL, NULL};
    CHECK(arrowsmith_stream_write(stream, (const uint8_t *)text, sizeof text - 1) == 1);
    arrowsmith_stream_end(stream, (const uint8_t *)"cut off", 7);
    const char *options = "{\"schema\":\"a: int64\",\"threads\":1}";
    ArrowsmithReader *reader = arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, (const uint8_t *)options,
                                               strlen(options), &error);
    CHECK(reader && !error);
    /* It is the source of one reader. */
    CHECK(!arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, NULL, 0, NULL));
    struct ArrowArray batch;
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == 1 && batch.length == 2);
    batch.release(&batch);
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == -1);
    CHECK(error->error_class == ARROWSMITH_ERROR_IO && strcmp(error->message, "cut off") == 0);
    arrowsmith_error_free(error);
    error = NULL;
    arrowsmith_reader_close(reader);
    CHECK(arrowsmith_stream_write(stream, (const uint8_t *)text, 1) == 0);
    arrowsmith_stream_free(stream);
    arrowsmith_stream_free(NULL);

    stream = arrowsmith_stream_new();
    source.data = (const uint8_t *)stream;
    CHECK(!arrowsmith_open(ARROWSMITH_FORMAT_PARQUET, &source, 1, NULL, NULL, 0, &error));
    CHECK(error->error_class == ARROWSMITH_ERROR_CONFIG);
    arrowsmith_error_free(error);
    CHECK(arrowsmith_stream_write(stream, (const uint8_t *)text, 1) == 0);
    arrowsmith_stream_free(stream);
    source.data = NULL;
    CHECK(!arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, NULL, 0, NULL));
}

static void memory(void) {
    uint8_t *buffer = arrowsmith_buffer_new(8), *address = NULL;
    CHECK(buffer);
    memcpy(buffer, "{\"b\":1}\n", 8);
    ArrowsmithSource source = {ARROWSMITH_SOURCE_BUFFER, buffer, 8, NULL, NULL};
    struct ArrowSchema schema;
    CHECK(arrowsmith_infer_schema(&source, 1, NULL, 0, &schema, NULL) == 0);
    CHECK(strcmp(schema.children[0]->name, "b") == 0);
    schema.release(&schema);
    arrowsmith_buffer_free(arrowsmith_buffer_new(0));
    arrowsmith_buffer_free(NULL);
    CHECK(!arrowsmith_buffer_new(UINT64_MAX));
    CHECK(!arrowsmith_memory_new(UINT64_MAX, &address) && !arrowsmith_memory_new(0, &address));
    ArrowsmithMemory *block = arrowsmith_memory_new(3 << 20, &address);
    CHECK(block && address && (uintptr_t)address % 64 == 0);
    memset(address, 1, 3 << 20);
    arrowsmith_memory_free(block);
    arrowsmith_memory_free(NULL);
    arrowsmith_release_memory();
    uint64_t bytes = 0;
    ArrowsmithError *error = NULL;
    ArrowsmithSource bad = lent("PAR1");
    CHECK(!arrowsmith_parquet_metadata(&bad, 1, &bytes, &error) && error->error_class == ARROWSMITH_ERROR_FILE);
    arrowsmith_error_free(error);
}

static void kinds(void) {
    const char *lines = "{\"a\":1}\n{\"a\":[\"x\"],\"b\":2}\nno\n";
    const char *expected = "{\"read\":29,\"left\":[26],\"kinds\":{\"seen\":[\"object\"],\"fields\":{"
                           "\"a\":{\"seen\":[\"integer\",\"list\"],\"items\":{\"seen\":[\"string\"]}},"
                           "\"b\":{\"seen\":[\"integer\"]}}}}";
    uint64_t bytes = 0;
    uint8_t *text = arrowsmith_json_kinds((const uint8_t *)lines, strlen(lines), &bytes, NULL);
    CHECK(text && bytes == strlen(expected) && !memcmp(text, expected, bytes));
    arrowsmith_buffer_free(text);
    text = arrowsmith_json_kinds(NULL, 0, &bytes, NULL);
    CHECK(text && bytes == strlen("{\"read\":0,\"left\":[],\"kinds\":{\"seen\":[]}}"));
    arrowsmith_buffer_free(text);
}

/*
 * {7, "x", null}, {null, "longer than a word", [false, null]}; the bytes are those of Spark's
 * UnsafeRow.
 */
static void rows(void) {
    ArrowsmithError *error = NULL;
    const char *options = "{\"schema\":\"a: int32, s: utf8, l: list<bool>\",\"threads\":1}";
    ArrowsmithReader *reader =
        json("{\"a\":7,\"s\":\"x\"}\n{\"s\":\"longer than a word\",\"l\":[false,null]}\n", options, &error);
    CHECK(reader);
    struct ArrowArray batch;
    CHECK(arrowsmith_reader_next(reader, &batch, &error) == 1 && batch.length == 2);
    const struct ArrowArray *list = batch.children[2];
    ArrowsmithRowColumn columns[] = {
        {ARROWSMITH_COLUMN_4, 0, batch.children[0]}, {ARROWSMITH_COLUMN_BYTES, 0, batch.children[1]},
        {ARROWSMITH_COLUMN_LIST, 0, list},           {ARROWSMITH_COLUMN_BOOLEAN, 0, list->children[0]},
        {ARROWSMITH_COLUMN_DECIMAL, 0, NULL}};
    static const uint64_t expected[] = {
        /* The nulls, the fields, the text, the place of the decimal. */
        12, 7, (uint64_t)40 << 32 | 1, 0, (uint64_t)48 << 32, 'x', 0, 0,
        /* The nulls and the fields; the text is checked below. */
        9, 0, (uint64_t)40 << 32 | 18, (uint64_t)64 << 32 | 24, (uint64_t)88 << 32,
        /* The array: its length, its nulls, its elements; and the place of the decimal. */
        2, 2, 0, 0, 0};
    uint64_t out[40];
    int32_t ends[3];
    memset(out, 0xff, sizeof out);
    CHECK(arrowsmith_spark_rows(columns, 5, 0, 2, (uint8_t *)out, sizeof out, ends, &error) == 2);
    CHECK(ends[0] == 64 && ends[1] == 168);
    CHECK(memcmp(out, expected, 104) == 0);
    /* The text of the second row. */
    CHECK(memcmp((uint8_t *)out + 104, "longer than a word\0\0\0\0\0\0", 24) == 0);
    CHECK(memcmp((uint8_t *)out + 128, expected + 13, 40) == 0);
    /* One row fits, one does not, none does. */
    CHECK(arrowsmith_spark_rows(columns, 5, 0, 2, (uint8_t *)out, 167, ends, &error) == 1);
    CHECK(arrowsmith_spark_rows(columns, 5, 1, 1, (uint8_t *)out, 103, ends, &error) == 0);
    CHECK(arrowsmith_spark_rows(columns, 5, 1, 1, (uint8_t *)out, 104, ends, &error) == 1 && ends[0] == 104);
    /* There are two rows, and eleven kinds. */
    CHECK(arrowsmith_spark_rows(columns, 5, 1, 2, (uint8_t *)out, sizeof out, ends, &error) == -1);
    arrowsmith_error_free(error);
    columns[4].kind = 11;
    columns[4].array = list;
    CHECK(arrowsmith_spark_rows(columns, 5, 0, 1, (uint8_t *)out, sizeof out, ends, &error) == -1);
    CHECK(error->error_class == ARROWSMITH_ERROR_CONFIG);
    arrowsmith_error_free(error);
    batch.release(&batch);
    arrowsmith_reader_close(reader);
}

static void utf8(void) {
    CHECK(arrowsmith_utf8_prefix((const uint8_t *)"a\xc3\xa9", 3) == 3);
    CHECK(arrowsmith_utf8_prefix((const uint8_t *)"a\xc3\xa9", 2) == 1);
    CHECK(arrowsmith_utf8_prefix((const uint8_t *)"a\xff\xc3\xa9", 4) == 1);
    CHECK(arrowsmith_utf8_prefix(NULL, 0) == 0);
}

int main(void) {
    CHECK(strlen(arrowsmith_version()) >= 5);
    batches();
    columns();
    errors();
    rejects();
    all_rejects();
    streams();
    memory();
    kinds();
    rows();
    utf8();
    /* Every borrowed text was released. */
    CHECK(released == 9);
    return 0;
}
