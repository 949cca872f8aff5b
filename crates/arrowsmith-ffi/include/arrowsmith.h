/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrowsmith in C: JSON and Parquet in, Arrow's C Data Interface out.
 *
 *   const char *path = "trips.json";
 *   ArrowsmithSource source = {ARROWSMITH_SOURCE_PATH, (const uint8_t *)path, strlen(path), NULL,
 *                              NULL};
 *   ArrowsmithError *error = NULL;
 *   ArrowsmithReader *reader =
 *       arrowsmith_open(ARROWSMITH_FORMAT_JSON, &source, 1, NULL, NULL, 0, &error);
 *   struct ArrowArray batch;
 *   while (reader && arrowsmith_reader_next(reader, &batch, &error) == 1) {
 *       ...
 *       batch.release(&batch);
 *   }
 *   if (error) fprintf(stderr, "%s\n", error->message);
 *   arrowsmith_error_free(error);
 *   arrowsmith_reader_close(reader);
 *
 * Link with -larrowsmith_ffi. Batches are struct arrays, whose memory is the library's until they
 * are released; they may outlive the reader. Functions may be called from any thread; those of one
 * reader that return batches wait for one another. Strings are UTF-8. An `ArrowsmithError **error`
 * may be NULL; it is written only on failure, and the caller frees it.
 */
#ifndef ARROWSMITH_H
#define ARROWSMITH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of the Arrow C Data and C Stream Interfaces, unless another header has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Formats. */
#define ARROWSMITH_FORMAT_JSON 0
#define ARROWSMITH_FORMAT_PARQUET 1

/* Kinds of sources. */
#define ARROWSMITH_SOURCE_PATH 0    /* the path of a file; of Parquet also of a folder */
#define ARROWSMITH_SOURCE_PATTERN 1 /* a path, or a pattern such as trips-?.json */
#define ARROWSMITH_SOURCE_BYTES 2   /* bytes that are lent until `release` is called */
#define ARROWSMITH_SOURCE_BUFFER 3  /* bytes in memory of arrowsmith_buffer_new, which is given away */
#define ARROWSMITH_SOURCE_STREAM 4  /* of JSON: bytes that are written to the ArrowsmithStream that `data` points to */

/* One of the inputs, which are read one after another. */
typedef struct ArrowsmithSource {
    int64_t kind;
    const uint8_t *data;
    uint64_t bytes;
    /* Of borrowed bytes: called once with `context`, on any thread, when they are no longer
     * needed, also if opening fails. NULL if they stay valid while the process runs. */
    void (*release)(void *context);
    void *context;
} ArrowsmithSource;

/* Classes of errors. */
#define ARROWSMITH_ERROR_DATA 1      /* malformed JSON, or a record that does not match the schema */
#define ARROWSMITH_ERROR_FILE 2      /* a malformed or unsupported file */
#define ARROWSMITH_ERROR_SCHEMA 3    /* an invalid schema */
#define ARROWSMITH_ERROR_IO 4        /* reading failed */
#define ARROWSMITH_ERROR_CONFIG 5    /* an invalid option */
#define ARROWSMITH_ERROR_CANCELLED 6 /* arrowsmith_reader_cancel was called */
#define ARROWSMITH_ERROR_OTHER 7     /* another library's error */
#define ARROWSMITH_ERROR_INTERNAL 8  /* a bug of this library: a caught panic */

/* Why a call failed, or why a record was rejected. What does not apply is NULL or -1. */
typedef struct ArrowsmithError {
    int64_t error_class;
    int64_t os_error;     /* errno of an I/O error */
    int64_t record;       /* number of the record in its source, from 0 */
    int64_t line;         /* number of the line, from 1 */
    int64_t offset;       /* offset of the byte in its source, from 0 */
    int64_t row_group;    /* number of the row group in its file, from 0 */
    int64_t page;         /* number of the page in its column chunk, from 0 */
    int64_t kept_as_null; /* of a reject: 1 if its row is there, with a null in place of what does not fit */
    const char *message;  /* all of it, for people */
    const char *kind;     /* for programs: wrong-type, corrupt, ... */
    const char *source;   /* name of the source; NULL for bytes in memory */
    const char *path;     /* the field or column */
    const char *expected;
    const char *found;
    const char *hint;     /* the option or change that helps */
    const uint8_t *text;  /* of a reject: the record, not ended by a NUL */
    uint64_t text_bytes;
} ArrowsmithError;

typedef struct ArrowsmithReader ArrowsmithReader;
typedef struct ArrowsmithMemory ArrowsmithMemory;
typedef struct ArrowsmithStream ArrowsmithStream;

/* The version, such as "0.1.0". It is never freed. */
const char *arrowsmith_version(void);

/*
 * Opens sources. NULL is failure.
 *
 * `options` is JSON text of `options_bytes` bytes, or NULL: an object with names and values of the
 * options that docs/guide/options.md describes.
 * Made from crates/arrowsmith/src/options/table.rs by its tests.
 *   JSON: columns, filter, limit, partitions, engine, threads, memory_bytes_max,
 *   gpu_memory_bytes_max, depth_max, batch_rows, schema, types, coerce, skip, rescued_column,
 *   flatten, file_column, offset_column, record_column, format, records, parent_fields,
 *   range_start, range_end, compression, spool_bytes_max, record_bytes_max, fields_max,
 *   row_bytes_max, batch_bytes_max, allow_nan, dialect, trust, on_error, duplicate_keys,
 *   unknown_keys, late_keys, batch_bytes, infer_records, object_keys_max, infer_timestamps, and
 *   rejects, count_before, refuse_lone_cr (see there)
 *   Parquet: columns, filter, limit, partitions, engine, threads, memory_bytes_max,
 *   gpu_memory_bytes_max, depth_max, batch_rows, row_groups, late_columns, dictionary, strings,
 *   lists, timestamp_unit, arrow_schema, verify_checksums, metadata_bytes_max, page_bytes_max
 * The schema `schema` may be NULL. Of JSON it is what to decode into, of Parquet the types of
 * partition columns; it comes before the option `schema` or `partitions`. It is not released.
 *
 * There, of this interface only: `rejects` is whether arrowsmith_reader_reject gives the records
 * that were skipped or changed: the latest (true), "all", or all as whole "lines", with the white
 * space around the record. With `count_before` false record and line in a byte range are counted
 * from its first line, so that the lines before it are never read. With `refuse_lone_cr` true a
 * carriage return without a line feed is an error that ends the reading: JSON takes it for white
 * space, other programs for the end of a line.
 */
ArrowsmithReader *arrowsmith_open(int64_t format, const ArrowsmithSource *sources, uint64_t source_count,
                                  const struct ArrowSchema *schema, const uint8_t *options, uint64_t options_bytes,
                                  ArrowsmithError **error);

/* Infers the schema of JSON sources. 0 is success, -1 failure. */
int64_t arrowsmith_infer_schema(const ArrowsmithSource *sources, uint64_t source_count, const uint8_t *options,
                                uint64_t options_bytes, struct ArrowSchema *out, ArrowsmithError **error);

/* The metadata of one Parquet file, as JSON text of `*bytes` bytes, freed by
 * arrowsmith_buffer_free. NULL is failure. */
uint8_t *arrowsmith_parquet_metadata(const ArrowsmithSource *source, int64_t pages, uint64_t *bytes,
                                     ArrowsmithError **error);

/* The kinds of values at every place of the records of some lines, one record per line, as JSON
 * text of `*bytes` bytes, freed by arrowsmith_buffer_free: for programs that choose types by rules
 * of their own. NULL is failure. In
 *   {"read": 11, "left": [8],
 *    "kinds": {"seen": ["object"], "fields": {"a": {"seen": ["integer"]}}}}
 * `read` is the number of bytes that were read: fewer than there are if many lines are left. `left`
 * has the positions of lines that have no part in it: those that are not one object in strict JSON,
 * repeat a key, or exceed a limit. A place has the names of the kinds seen there: null, boolean,
 * integer (64 bits), large (integers of up to `digits` digits, at most 38), float (longer integers,
 * too), empty (strings), string, list, object; `items` is the place of the items of its lists,
 * `fields` has those of the fields of its objects, in order of appearance. */
uint8_t *arrowsmith_json_kinds(const uint8_t *lines, uint64_t lines_bytes, uint64_t *bytes, ArrowsmithError **error);

/* The number of bytes before the first that is not UTF-8: `text_bytes` if all of them are. */
uint64_t arrowsmith_utf8_prefix(const uint8_t *text, uint64_t text_bytes);

/* Columns as rows in the binary form of Apache Spark's UnsafeRow, byte for byte as Spark's own
 * projection writes them. `columns` are those of the rows, each followed by those of its parts, and
 * `first` is the index of the first row, after the offsets of the arrays. Writes up to `count` rows
 * to `out`, whose `bytes` bytes are initialised, and the position after each to `ends`; returns
 * their number: 0 if there is no room for one, -1 on failure. */
#define ARROWSMITH_COLUMN_BOOLEAN 0
#define ARROWSMITH_COLUMN_1 1 /* values of 1, 2, 4, 8 bytes */
#define ARROWSMITH_COLUMN_2 2
#define ARROWSMITH_COLUMN_4 3
#define ARROWSMITH_COLUMN_8 4
#define ARROWSMITH_COLUMN_SHORT_DECIMAL 5 /* 128 bits, of at most 18 digits */
#define ARROWSMITH_COLUMN_DECIMAL 6       /* 128 bits */
#define ARROWSMITH_COLUMN_BYTES 7         /* text or bytes; offsets of 32 bits, as those of lists and maps */
#define ARROWSMITH_COLUMN_LIST 8          /* one column follows */
#define ARROWSMITH_COLUMN_MAP 9           /* two follow: keys, values */
#define ARROWSMITH_COLUMN_STRUCT 10       /* `members` follow */

typedef struct {
    int64_t kind;
    int64_t members;
    const struct ArrowArray *array; /* NULL: only nulls, and no parts follow */
} ArrowsmithRowColumn;

int64_t arrowsmith_spark_rows(const ArrowsmithRowColumn *columns, uint64_t column_count, uint64_t first, uint64_t count,
                              uint8_t *out, uint64_t bytes, int32_t *ends, ArrowsmithError **error);

/* The schema of the batches. 0 is success, -1 failure. */
int64_t arrowsmith_reader_schema(const ArrowsmithReader *reader, struct ArrowSchema *out, ArrowsmithError **error);

/* The next batch: 1 if there is one, 0 at the end, -1 on failure, after which there is no more;
 * 2 with `rejects` as "all" or "lines", if many rejects wait and there is no batch yet: take them,
 * call again. */
int64_t arrowsmith_reader_next(const ArrowsmithReader *reader, struct ArrowArray *out, ArrowsmithError **error);

/* The next record that was skipped or changed, oldest first; NULL if there is none yet. Only
 * with the option `rejects`; at most 65536 wait, unless all are wanted. Freed by
 * arrowsmith_error_free. */
ArrowsmithError *arrowsmith_reader_reject(const ArrowsmithReader *reader);

/* Rows decoded so far, and records skipped or changed so far. */
uint64_t arrowsmith_reader_rows(const ArrowsmithReader *reader);
uint64_t arrowsmith_reader_rejects(const ArrowsmithReader *reader);

/* Ends the work: a call that waits for a batch on another thread fails with
 * ARROWSMITH_ERROR_CANCELLED. */
void arrowsmith_reader_cancel(const ArrowsmithReader *reader);

/* The remaining batches, as a stream, once. The reader still has to be closed. 0 is success, -1
 * failure. */
int64_t arrowsmith_reader_stream(const ArrowsmithReader *reader, struct ArrowArrayStream *out, ArrowsmithError **error);

/* Ends the work and frees the reader, which must not be in another call; an exported stream
 * continues. NULL is ignored. */
void arrowsmith_reader_close(ArrowsmithReader *reader);

/* Frees an error or a reject. NULL is ignored. */
void arrowsmith_error_free(ArrowsmithError *error);

/* Memory to be filled and passed as a source. NULL if there is none. */
uint8_t *arrowsmith_buffer_new(uint64_t bytes);
void arrowsmith_buffer_free(uint8_t *buffer);

/*
 * A stream that is written while a reader reads it, in bounded memory; the source of one reader.
 * Opening may wait for its first records, so that another thread writes:
 *   ArrowsmithSource source = {ARROWSMITH_SOURCE_STREAM, (const uint8_t *)stream, 0, NULL, NULL};
 *   there:  while ((count = read(socket, bytes, sizeof bytes)) > 0 &&
 *                  arrowsmith_stream_write(stream, bytes, count)) {}
 *           arrowsmith_stream_end(stream, NULL, 0);
 */
ArrowsmithStream *arrowsmith_stream_new(void);

/* Copies bytes to the stream, and waits while a MiB of it is unread: 1, or 0 if they will not be
 * read, because the reader was cancelled, closed, or could not be opened. */
int64_t arrowsmith_stream_write(const ArrowsmithStream *stream, const uint8_t *bytes, uint64_t count);

/* Ends the stream; with an error of `error_bytes` bytes of UTF-8, the reader fails with it after
 * the rows before it. The first call counts. */
void arrowsmith_stream_end(const ArrowsmithStream *stream, const uint8_t *error, uint64_t error_bytes);

/* Frees a stream that is in no call, arrowsmith_open included; the reader may be open. NULL is
 * ignored. */
void arrowsmith_stream_free(ArrowsmithStream *stream);

/* Memory of the pool of batches, in huge pages, for columns that are written elsewhere; its
 * address goes to `*address`. NULL if there is none. */
ArrowsmithMemory *arrowsmith_memory_new(uint64_t bytes, uint8_t **address);
void arrowsmith_memory_free(ArrowsmithMemory *memory);

/* Releases an array, for callers that cannot call a function pointer. NULL and released arrays are
 * ignored. */
void arrowsmith_array_release(struct ArrowArray *array);

/* Readers that were not closed, and bytes of Arrow memory in use by readers and by batches that
 * were not released, of the whole process. */
uint64_t arrowsmith_live_readers(void);
uint64_t arrowsmith_live_bytes(void);

/* Returns memory that is kept for later batches to the system. */
void arrowsmith_release_memory(void);

#ifdef __cplusplus
}
#endif

#endif
