// SPDX-License-Identifier: Apache-2.0
// The runtime of generated walks: sums, the wire form, JNI, and the heap of the running VM. It
// depends on no layout. It assumes no offset of a field, a length or an element: Java queries the
// VM and passes them to `setup`.
#include <jni.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FAULT_NULL = 1, FAULT_LENGTH, FAULT_MEMORY, FAULT_SHORT, FAULT_JNI, FAULT_PROBE };

struct walk {
    uint8_t *base;    // the wire form being written: reused by later calls
    size_t at, size;
    const uint8_t *p, *end;  // the wire form being read
    int64_t sum;
    int fault;
};

struct field_name {
    int of;
    const char *name, *descriptor;
};

static jclass classes[CLASSES];
static jfieldID field_ids[FIELDS];
static int64_t offsets[FIELDS];
static int64_t array_base[9];  // of boolean[], byte[], short[], char[], int[], long[], float[], double[], Object[]
static int64_t length_offset, string_value, string_coder;
static uintptr_t narrow_base;
static int narrow_shift;
static bool narrow;

#define FAULT(w, code) do { (w)->fault = (code); return; } while (0)
#define OUT_NEED(w, n) \
    do { if ((w)->size - (w)->at < (size_t)(n) && !grow((w), (n))) FAULT((w), FAULT_MEMORY); } while (0)
#define WIRE_NEED(w, n) do { if ((size_t)((w)->end - (w)->p) < (size_t)(n)) FAULT((w), FAULT_SHORT); } while (0)
#define PUT(w, v) do { memcpy((w)->base + (w)->at, &(v), sizeof(v)); (w)->at += sizeof(v); } while (0)

static bool grow(struct walk *w, size_t need) {
    if (need > SIZE_MAX / 4 || w->at > SIZE_MAX / 4) return false;
    size_t size = w->size < 4096 ? 4096 : w->size;
    while (size - w->at < need) size *= 2;
    uint8_t *base = realloc(w->base, size);
    if (base == NULL) return false;
    w->base = base;
    w->size = size;
    return true;
}

#define KIND(kind, type) \
    static inline int64_t load_##kind(const uint8_t *p) { \
        type v; \
        memcpy(&v, p, sizeof v); \
        return (int64_t)v; \
    } \
    static inline int64_t sum_##kind(const uint8_t *p, size_t n) { \
        uint64_t sum = 0; \
        for (size_t i = 0; i < n; i++) { \
            type v; \
            memcpy(&v, p + i * sizeof v, sizeof v); \
            sum += (uint64_t)(int64_t)v; \
        } \
        return (int64_t)sum; \
    } \
    static inline void wire_##kind(struct walk *w, size_t n) { \
        w->sum += sum_##kind(w->p, n); \
        w->p += n * sizeof(type); \
    } \
    static inline void copy_##kind(struct walk *w, const uint8_t *from) { \
        memcpy(w->base + w->at, from, sizeof(type)); \
        w->at += sizeof(type); \
    }
KIND(u8, uint8_t)
KIND(i8, int8_t)
KIND(i16, int16_t)
KIND(u16, uint16_t)
KIND(i32, int32_t)
KIND(i64, int64_t)

// The wire form.

static inline int32_t wire_count(struct walk *w) {
    if (w->end - w->p < 4) {
        w->fault = FAULT_SHORT;
        return -1;
    }
    int32_t count;
    memcpy(&count, w->p, 4);
    w->p += 4;
    return count;
}

static inline bool wire_presence(struct walk *w) {
    if (w->end - w->p < 1) {
        w->fault = FAULT_SHORT;
        return false;
    }
    return *w->p++ != 0;
}

static inline void wire_string(struct walk *w) {
    int32_t count = wire_count(w);
    if (count <= 0) return;
    WIRE_NEED(w, count);
    wire_u8(w, (size_t)count);
}

static inline void copy_bytes(struct walk *w, const uint8_t *from, size_t n) {
    memcpy(w->base + w->at, from, n);
    w->at += n;
}

// Text: the output of Java's own UTF-8 encoder, including '?' for an unpaired surrogate.

static inline uint32_t next_point(const uint8_t *chars, size_t n, size_t *at) {
    uint16_t first, second;
    memcpy(&first, chars + 2 * (*at)++, 2);
    if (first < 0xD800 || first > 0xDFFF) return first;
    if (first > 0xDBFF || *at >= n) return '?';
    memcpy(&second, chars + 2 * *at, 2);
    if (second < 0xDC00 || second > 0xDFFF) return '?';
    (*at)++;
    return 0x10000 + ((uint32_t)(first - 0xD800) << 10) + (second - 0xDC00);
}

static inline int utf8(uint32_t point, uint8_t out[4]) {
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xC0 | point >> 6);
        out[1] = (uint8_t)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | point >> 12);
        out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | point >> 18);
    out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (point & 0x3F));
    return 4;
}

static void put_null(struct walk *w) {
    OUT_NEED(w, 4);
    const int32_t count = -1;
    PUT(w, count);
}

static void put_utf16(struct walk *w, const uint8_t *chars, size_t n) {
    OUT_NEED(w, 4 + 3 * n);
    const size_t place = w->at;
    w->at += 4;
    for (size_t at = 0; at < n;) w->at += (size_t)utf8(next_point(chars, n, &at), w->base + w->at);
    const int32_t count = (int32_t)(w->at - place - 4);
    memcpy(w->base + place, &count, 4);
}

static void jni_string(JNIEnv *env, jobject string, struct walk *w) {
    if (string == NULL) {
        put_null(w);
        return;
    }
    const jsize n = (*env)->GetStringLength(env, string);
    const jchar *chars = (*env)->GetStringChars(env, string, NULL);
    if (chars == NULL) FAULT(w, FAULT_JNI);
    put_utf16(w, (const uint8_t *)chars, (size_t)n);
    (*env)->ReleaseStringChars(env, string, chars);
}

static void critical_string(JNIEnv *env, jobject string, struct walk *w) {
    if (string == NULL) {
        put_null(w);
        return;
    }
    const jsize n = (*env)->GetStringLength(env, string);
    const jchar *chars = (*env)->GetStringCritical(env, string, NULL);
    if (chars == NULL) FAULT(w, FAULT_JNI);
    put_utf16(w, (const uint8_t *)chars, (size_t)n);
    (*env)->ReleaseStringCritical(env, string, chars);
}

#define JNI_ELEMENTS(w, array, Title, type, n) \
    do { \
        j##type *v = (*env)->Get##Title##ArrayElements(env, (array), NULL); \
        if (v == NULL) FAULT((w), FAULT_JNI); \
        copy_bytes((w), (const uint8_t *)v, (size_t)(n) * sizeof *v); \
        (*env)->Release##Title##ArrayElements(env, (array), v, JNI_ABORT); \
    } while (0)

#define CRITICAL_ELEMENTS(w, array, n) \
    do { \
        void *v = (*env)->GetPrimitiveArrayCritical(env, (array), NULL); \
        if (v == NULL) FAULT((w), FAULT_JNI); \
        copy_bytes((w), v, (n)); \
        (*env)->ReleasePrimitiveArrayCritical(env, (array), v, JNI_ABORT); \
    } while (0)

// The heap. Only while no object can move: see Protection.java.

static inline const uint8_t *heap_reference(const uint8_t *slot) {
    if (narrow) {
        uint32_t v;
        memcpy(&v, slot, 4);
        return v == 0 ? NULL : (const uint8_t *)(narrow_base + ((uintptr_t)v << narrow_shift));
    }
    uintptr_t v;
    memcpy(&v, slot, sizeof v);
    return (const uint8_t *)v;
}

static inline int32_t heap_length(const uint8_t *array) {
    return array == NULL ? -1 : (int32_t)load_i32(array + length_offset);
}

static inline const uint8_t *heap_element(const uint8_t *array, size_t index) {
    return heap_reference(array + array_base[8] + index * (narrow ? 4 : sizeof(uintptr_t)));
}

static void copy_string(const uint8_t *string, struct walk *w) {
    if (string == NULL) {
        put_null(w);
        return;
    }
    const uint8_t *value = heap_reference(string + string_value);
    const size_t n = (size_t)heap_length(value);
    const uint8_t *bytes = value + array_base[1];
    if (string[string_coder] != 0) {
        put_utf16(w, bytes, n / 2);
        return;
    }
    OUT_NEED(w, 4 + 2 * n);
    const size_t place = w->at;
    w->at += 4;
    for (size_t at = 0; at < n; at++) w->at += (size_t)utf8(bytes[at], w->base + w->at);
    const int32_t count = (int32_t)(w->at - place - 4);
    memcpy(w->base + place, &count, 4);
}

static void read_string(const uint8_t *string, struct walk *w) {
    if (string == NULL) return;
    const uint8_t *value = heap_reference(string + string_value);
    const size_t n = (size_t)heap_length(value);
    const uint8_t *bytes = value + array_base[1];
    const bool wide = string[string_coder] != 0;
    const size_t chars = wide ? n / 2 : n;
    for (size_t at = 0; at < chars;) {
        uint8_t out[4];
        const uint32_t point = wide ? next_point(bytes, chars, &at) : bytes[at++];
        const int length = utf8(point, out);
        for (int i = 0; i < length; i++) w->sum += out[i];
    }
}

// Threads: the caller and others take chunks until none are left.

struct job {
    void (*run)(struct job *job, int thread, size_t from, size_t to);
    void (*begin)(struct job *job, int thread);
    void (*end)(struct job *job, int thread);
    void *argument;
    size_t count, chunk;
    atomic_size_t next;
};

struct worker {
    struct job *job;
    int thread;
};

enum { THREADS_MAX = 256 };

static void work(struct job *job, int thread) {
    if (job->begin != NULL) job->begin(job, thread);
    for (;;) {
        size_t from = atomic_fetch_add_explicit(&job->next, job->chunk, memory_order_relaxed);
        if (from >= job->count) break;
        size_t to = job->count - from < job->chunk ? job->count : from + job->chunk;
        job->run(job, thread, from, to);
    }
    if (job->end != NULL) job->end(job, thread);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    work(worker->job, worker->thread);
    return NULL;
}

static void parallel(struct job *job, int threads) {
    pthread_t ids[THREADS_MAX];
    struct worker workers[THREADS_MAX];
    int started = 1;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    atomic_init(&job->next, 0);
    for (; started < threads; started++) {
        workers[started] = (struct worker){job, started};
        // Fewer threads take longer with the same result.
        if (pthread_create(&ids[started], NULL, worker_main, &workers[started]) != 0) break;
    }
    work(job, 0);
    for (int i = 1; i < started; i++) pthread_join(ids[i], NULL);
}
