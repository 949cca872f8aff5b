// SPDX-License-Identifier: Apache-2.0
// The functions that Java calls: bench.Native, and `direct_call` for the Foreign Function & Memory
// API. Included after the walks.
#include <dlfcn.h>
#include <time.h>

#define ENTRY(type, name) JNIEXPORT type JNICALL Java_bench_Native_##name

// The data of a thread, written before it is added up: in slices, so that memory is bounded.
static const size_t SLICE_BYTES = (size_t)256 << 20;

static JavaVM *vm;
static struct walk walks[THREADS_MAX];
static jobject probes[16];
static int probe_count;
// Off while only the transfer is measured: the data is then not read. Set between calls.
static bool summing = true;

static const char *fault_text(int fault) {
    switch (fault) {
    case FAULT_NULL: return "null where the layout has none";
    case FAULT_LENGTH: return "an array of another length than the layout's";
    case FAULT_MEMORY: return "no memory";
    case FAULT_SHORT: return "the bytes end early";
    case FAULT_PROBE: return "references of this VM differ from its published parameters";
    default: return "a JNI call failed";
    }
}

static jlong result(JNIEnv *env, int64_t sum, int fault) {
    if (fault != 0 && !(*env)->ExceptionCheck(env)) {
        jclass class = (*env)->FindClass(env, "java/lang/IllegalStateException");
        if (class != NULL) (*env)->ThrowNew(env, class, fault_text(fault));
    }
    return sum;
}

// Adds up `count` objects of the wire form.
static void wire(struct walk *w, const uint8_t *bytes, size_t length, size_t count) {
    w->p = bytes;
    w->end = bytes + length;
    if (!summing) return;
    if (EXACT && (OBJECT_BYTES == 0 || length / (OBJECT_BYTES ? OBJECT_BYTES : 1) < count)) FAULT(w, FAULT_SHORT);
    for (size_t i = 0; i < count && w->fault == 0; i++) wire_c0(w);
}

ENTRY(jlong, sumBytes)(JNIEnv *env, jclass unused, jbyteArray array, jlong length, jlong count) {
    (void)unused;
    struct walk w = {0};
    if (length < 0 || count < 0 || length > (*env)->GetArrayLength(env, array)) return result(env, 0, FAULT_SHORT);
    uint8_t *bytes = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
    if (bytes == NULL) return result(env, 0, FAULT_JNI);
    wire(&w, bytes, (size_t)length, (size_t)count);
    (*env)->ReleasePrimitiveArrayCritical(env, array, bytes, JNI_ABORT);
    return result(env, w.sum, w.fault);
}

ENTRY(jlong, sumBuffer)(JNIEnv *env, jclass unused, jobject buffer, jlong length, jlong count) {
    (void)unused;
    struct walk w = {0};
    const uint8_t *bytes = (*env)->GetDirectBufferAddress(env, buffer);
    if (bytes == NULL || length < 0 || count < 0 || length > (*env)->GetDirectBufferCapacity(env, buffer))
        return result(env, 0, FAULT_SHORT);
    wire(&w, bytes, (size_t)length, (size_t)count);
    return result(env, w.sum, w.fault);
}

ENTRY(jlong, sumAddress)(JNIEnv *env, jclass unused, jlong address, jlong length, jlong count) {
    (void)unused;
    struct walk w = {0};
    if (address == 0 || length < 0 || count < 0) return result(env, 0, FAULT_SHORT);
    wire(&w, (const uint8_t *)(uintptr_t)address, (size_t)length, (size_t)count);
    return result(env, w.sum, w.fault);
}

// For the Foreign Function & Memory API; `fault` is set on an error.
JNIEXPORT int64_t sum_segment(const uint8_t *bytes, int64_t length, int64_t count, int32_t *fault) {
    struct walk w = {0};
    if (length < 0 || count < 0) w.fault = FAULT_SHORT;
    else wire(&w, bytes, (size_t)length, (size_t)count);
    *fault = w.fault;
    return w.sum;
}

// All bytes of a format that only a JVM can read.
ENTRY(jlong, touch)(JNIEnv *env, jclass unused, jbyteArray array, jlong length) {
    (void)unused;
    if (length < 0 || length > (*env)->GetArrayLength(env, array)) return result(env, 0, FAULT_SHORT);
    uint8_t *bytes = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
    if (bytes == NULL) return result(env, 0, FAULT_JNI);
    const int64_t sum = summing ? sum_u8(bytes, (size_t)length) : 0;
    (*env)->ReleasePrimitiveArrayCritical(env, array, bytes, JNI_ABORT);
    return sum;
}

// A column of Arrow: `kind` is the index in boolean, byte, short, char, int, long, float, double;
// `validity` may be 0.
ENTRY(jlong, column)(JNIEnv *env, jclass unused, jint kind, jlong values, jlong validity, jlong from, jlong to) {
    (void)unused;
    const uint8_t *p = (const uint8_t *)(uintptr_t)values;
    const uint8_t *bits = (const uint8_t *)(uintptr_t)validity;
    int64_t sum = 0;
    if (from >= to || !summing) return 0;
    if (p == NULL) return result(env, 0, FAULT_SHORT);
    const size_t first = (size_t)from, n = (size_t)(to - from);
    if (kind != 0 && bits == NULL) {
        switch (kind) {
        case 1: return sum_i8(p + first, n);
        case 2: return sum_i16(p + 2 * first, n);
        case 3: return sum_u16(p + 2 * first, n);
        case 4: case 6: return sum_i32(p + 4 * first, n);
        case 8: return sum_u8(p + first, n);
        default: return sum_i64(p + 8 * first, n);
        }
    }
    for (size_t i = first; i < first + n; i++) {
        if (bits != NULL && (bits[i / 8] >> i % 8 & 1) == 0) continue;
        switch (kind) {
        case 0: sum += p[i / 8] >> i % 8 & 1; break;
        case 1: sum += load_i8(p + i); break;
        case 2: sum += load_i16(p + 2 * i); break;
        case 3: sum += load_u16(p + 2 * i); break;
        case 4: case 6: sum += load_i32(p + 4 * i); break;
        default: sum += load_i64(p + 8 * i); break;
        }
    }
    return sum;
}

// The data written since the last slice.
static void slice(struct walk *w, size_t *count) {
    wire(w, w->base, w->at, *count);
    w->at = 0;
    *count = 0;
}

// JNI.

struct jni_job {
    jobject objects;
    bool critical;
    JNIEnv *envs[THREADS_MAX];
};

static bool resolve(JNIEnv *env) {
    for (int i = 0; i < FIELDS; i++) {
        field_ids[i] = (*env)->GetFieldID(env, classes[field_names[i].of], field_names[i].name, field_names[i].descriptor);
        if (field_ids[i] == NULL) return false;
    }
    return true;
}

static void jni_begin(struct job *job, int thread) {
    struct jni_job *jni = job->argument;
    if (thread > 0 && (*vm)->AttachCurrentThread(vm, (void **)&jni->envs[thread], NULL) != JNI_OK) {
        jni->envs[thread] = NULL;
        walks[thread].fault = FAULT_JNI;
    }
}

static void jni_end(struct job *job, int thread) {
    (void)job;
    if (thread > 0) (*vm)->DetachCurrentThread(vm);
}

static void jni_object(JNIEnv *env, jobject o, bool critical, struct walk *w) {
    if (o == NULL) FAULT(w, FAULT_NULL);
    if (EXACT) OUT_NEED(w, OBJECT_BYTES);
    if (critical) critical_c0(env, o, w);
    else jni_c0(env, o, w);
}

static void jni_run(struct job *job, int thread, size_t from, size_t to) {
    struct jni_job *jni = job->argument;
    JNIEnv *env = jni->envs[thread];
    struct walk *w = &walks[thread];
    size_t count = 0;
    for (size_t i = from; i < to && w->fault == 0 && env != NULL; i++) {
        jobject o = (*env)->GetObjectArrayElement(env, jni->objects, (jsize)i);
        jni_object(env, o, jni->critical, w);
        (*env)->DeleteLocalRef(env, o);
        count++;
        if (w->at >= SLICE_BYTES) slice(w, &count);
    }
    if (w->fault == 0) slice(w, &count);
}

static void clear(int threads) {
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        walks[i].at = 0;
        walks[i].sum = 0;
        walks[i].fault = 0;
    }
}

static jlong total(JNIEnv *env, int threads) {
    uint64_t sum = 0;
    int fault = 0;
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        sum += (uint64_t)walks[i].sum;
        if (walks[i].fault != 0) fault = walks[i].fault;
    }
    return env == NULL ? (jlong)sum : result(env, (int64_t)sum, fault);
}

static size_t chunk_of(size_t count, int threads) {
    // Several chunks per thread, so that a late thread delays the others only briefly.
    size_t chunk = count / ((size_t)threads * 8);
    return chunk == 0 ? 1 : chunk;
}

ENTRY(jlong, jni)(JNIEnv *env, jclass unused, jobjectArray objects, jint threads, jboolean critical) {
    (void)unused;
    // Once for the collection, as the paper does; with critical arrays, once for all.
    if (threads < 1 || (!critical && !resolve(env))) return result(env, 0, FAULT_JNI);
    struct jni_job *jni = calloc(1, sizeof *jni);
    if (jni == NULL) return result(env, 0, FAULT_MEMORY);
    jni->objects = (*env)->NewGlobalRef(env, objects);
    jni->critical = critical;
    jni->envs[0] = env;
    const size_t count = (size_t)(*env)->GetArrayLength(env, objects);
    struct job job = {jni_run, jni_begin, jni_end, jni, count, chunk_of(count, threads), 0};
    clear(threads);
    parallel(&job, threads);
    (*env)->DeleteGlobalRef(env, jni->objects);
    free(jni);
    return total(env, threads);
}

ENTRY(jlong, jniOne)(JNIEnv *env, jclass unused, jobject o, jboolean critical) {
    (void)unused;
    if (!critical && !resolve(env)) return result(env, 0, FAULT_JNI);
    struct walk *w = &walks[0];
    size_t count = 1;
    clear(1);
    jni_object(env, o, critical, w);
    if (w->fault == 0) slice(w, &count);
    return result(env, w->sum, w->fault);
}

// The heap itself.

enum { OPERATION_READ, OPERATION_COPY, OPERATION_PROBE };

struct direct_job {
    const uint8_t *array;
    int operation;
};

static void direct_object(const uint8_t *o, int operation, struct walk *w) {
    if (o == NULL) FAULT(w, FAULT_NULL);
    if (operation == OPERATION_READ) {
        read_c0(o, w);
        return;
    }
    if (EXACT) OUT_NEED(w, OBJECT_BYTES);
    copy_c0(o, w);
}

static void direct_run(struct job *job, int thread, size_t from, size_t to) {
    struct direct_job *direct = job->argument;
    struct walk *w = &walks[thread];
    size_t count = 0;
    for (size_t i = from; i < to && w->fault == 0; i++) {
        direct_object(heap_element(direct->array, i), direct->operation, w);
        count++;
        if (w->at >= SLICE_BYTES) slice(w, &count);
    }
    if (direct->operation == OPERATION_COPY && w->fault == 0) slice(w, &count);
}

// The current address of an object: what a handle points to. The low bits of a handle are a tag on
// some versions.
static const uint8_t *resolve_handle(const void *handle) {
    const uint8_t *object;
    memcpy(&object, (const void *)((uintptr_t)handle & ~(uintptr_t)3), sizeof object);
    return object;
}

// `count` of an array of objects, or -1: `handle` is of one object. No object may move until this
// returns.
JNIEXPORT int64_t direct_call(const void *handle, int64_t count, int32_t threads, int32_t operation, int32_t dwell_ms,
                              int32_t *fault) {
    const uint8_t *object = resolve_handle(handle);
    if (dwell_ms > 0) {
        // For the test that shows the need for the protection: gives a collector time to move
        // objects.
        struct timespec time = {dwell_ms / 1000, dwell_ms % 1000 * 1000000L};
        nanosleep(&time, NULL);
    }
    if (threads < 1) threads = 1;
    clear(threads);
    if (operation == OPERATION_PROBE) {
        for (int i = 0; i < probe_count; i++)
            if (heap_element(object, (size_t)i) != resolve_handle(probes[i])) walks[0].fault = FAULT_PROBE;
    } else if (count < 0) {
        size_t one = 1;
        direct_object(object, operation, &walks[0]);
        if (operation == OPERATION_COPY && walks[0].fault == 0) slice(&walks[0], &one);
    } else {
        struct direct_job direct = {object, operation};
        struct job job = {direct_run, NULL, NULL, &direct, (size_t)count, chunk_of((size_t)count, threads), 0};
        parallel(&job, threads);
    }
    *fault = 0;
    for (int i = 0; i < threads && i < THREADS_MAX; i++)
        if (walks[i].fault != 0) *fault = walks[i].fault;
    return total(NULL, threads);
}

// `pin` is an array that is held as critical meanwhile, or null.
ENTRY(jlong, direct)(JNIEnv *env, jclass unused, jobject target, jlong count, jint threads, jint operation, jint dwell,
                     jbyteArray pin) {
    (void)unused;
    int32_t fault = 0;
    void *held = NULL;
    if (pin != NULL && (held = (*env)->GetPrimitiveArrayCritical(env, pin, NULL)) == NULL) return result(env, 0, FAULT_JNI);
    const int64_t sum = direct_call(target, count, threads, operation, dwell, &fault);
    if (pin != NULL) (*env)->ReleasePrimitiveArrayCritical(env, pin, held, JNI_ABORT);
    return result(env, sum, fault);
}

ENTRY(jlong, globalRef)(JNIEnv *env, jclass unused, jobject o) {
    (void)unused;
    return (jlong)(uintptr_t)(*env)->NewGlobalRef(env, o);
}

ENTRY(void, deleteGlobalRef)(JNIEnv *env, jclass unused, jlong ref) {
    (void)unused;
    (*env)->DeleteGlobalRef(env, (jobject)(uintptr_t)ref);
}

ENTRY(void, fault)(JNIEnv *env, jclass unused, jint fault) {
    (void)unused;
    (void)result(env, 0, fault);
}

// The VM's parameters of compressed references, as published for debuggers: {base, shift}, or null.
ENTRY(jlongArray, narrowReferences)(JNIEnv *env, jclass unused) {
    (void)unused;
    const char *names[] = {"gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride", "gHotSpotVMStructEntryTypeNameOffset",
                           "gHotSpotVMStructEntryFieldNameOffset", "gHotSpotVMStructEntryIsStaticOffset",
                           "gHotSpotVMStructEntryAddressOffset"};
    uint64_t *symbols[6];
    for (int i = 0; i < 6; i++)
        if ((symbols[i] = dlsym(RTLD_DEFAULT, names[i])) == NULL) return NULL;
    jlong found[2] = {-1, -1};
    for (const uint8_t *entry = (const uint8_t *)(uintptr_t)*symbols[0];; entry += *symbols[1]) {
        const char *type, *field;
        const void *address;
        int32_t is_static;
        memcpy(&type, entry + *symbols[2], sizeof type);
        if (type == NULL) break;
        memcpy(&field, entry + *symbols[3], sizeof field);
        memcpy(&is_static, entry + *symbols[4], sizeof is_static);
        memcpy(&address, entry + *symbols[5], sizeof address);
        if (!is_static || address == NULL || strcmp(type, "CompressedOops") != 0) continue;
        if (strstr(field, "_base") != NULL) {
            uintptr_t base;
            memcpy(&base, address, sizeof base);
            found[0] = (jlong)base;
        } else if (strstr(field, "_shift") != NULL) {
            int32_t shift;
            memcpy(&shift, address, sizeof shift);
            found[1] = shift;
        }
    }
    if (found[0] < 0 || found[1] < 0 || found[1] > 8) return NULL;
    jlongArray array = (*env)->NewLongArray(env, 2);
    if (array != NULL) (*env)->SetLongArrayRegion(env, array, 0, 2, found);
    return array;
}

// The classes of the layout; needed by every walk.
ENTRY(void, classes)(JNIEnv *env, jclass unused, jobjectArray all) {
    (void)unused;
    if ((*env)->GetJavaVM(env, &vm) != JNI_OK || (*env)->GetArrayLength(env, all) != CLASSES) {
        (void)result(env, 0, FAULT_JNI);
        return;
    }
    for (int i = 0; i < CLASSES; i++) {
        jobject class = (*env)->GetObjectArrayElement(env, all, i);
        classes[i] = (*env)->NewGlobalRef(env, class);
        (*env)->DeleteLocalRef(env, class);
    }
    if (!resolve(env)) (void)result(env, 0, FAULT_JNI);
}

// The heap layout that Java determined: {narrow, base, shift, length, string value, string coder, 9
// array bases}.
ENTRY(void, heap)(JNIEnv *env, jclass unused, jlongArray facts, jlongArray fields) {
    (void)unused;
    jlong f[15];
    if ((*env)->GetArrayLength(env, facts) != 15 || (*env)->GetArrayLength(env, fields) != FIELDS) {
        (void)result(env, 0, FAULT_SHORT);
        return;
    }
    (*env)->GetLongArrayRegion(env, facts, 0, 15, f);
    (*env)->GetLongArrayRegion(env, fields, 0, FIELDS, (jlong *)offsets);
    narrow = f[0] != 0;
    narrow_base = (uintptr_t)f[1];
    narrow_shift = (int)f[2];
    length_offset = f[3];
    string_value = f[4];
    string_coder = f[5];
    for (int i = 0; i < 9; i++) array_base[i] = f[6 + i];
}

// Objects whose addresses are compared with the VM's own handles.
ENTRY(void, probes)(JNIEnv *env, jclass unused, jobjectArray all) {
    (void)unused;
    const jsize count = (*env)->GetArrayLength(env, all);
    for (int i = 0; i < probe_count; i++) (*env)->DeleteGlobalRef(env, probes[i]);
    probe_count = count < 16 ? count : 16;
    for (int i = 0; i < probe_count; i++) {
        jobject o = (*env)->GetObjectArrayElement(env, all, i);
        probes[i] = (*env)->NewGlobalRef(env, o);
        (*env)->DeleteLocalRef(env, o);
    }
}

ENTRY(void, summing)(JNIEnv *env, jclass unused, jboolean on) {
    (void)env;
    (void)unused;
    summing = on;
}

// The machine's limit: nanoseconds in which `threads` copy or read `bytes`.

struct band {
    uint8_t *from, *to;
    atomic_llong sum;
};

static void band_run(struct job *job, int thread, size_t from, size_t to) {
    (void)thread;
    struct band *band = job->argument;
    if (band->to != NULL) memcpy(band->to + from, band->from + from, to - from);
    else atomic_fetch_add(&band->sum, sum_i64(band->from + from, (to - from) / 8));
}

ENTRY(jlong, bandwidth)(JNIEnv *env, jclass unused, jlong bytes, jint threads, jboolean copy) {
    (void)unused;
    static struct band band;
    static uint8_t *from, *to;
    static size_t size;
    if (bytes <= 0 || threads < 1) return result(env, 0, FAULT_SHORT);
    if (size < (size_t)bytes) {
        free(from);
        free(to);
        from = malloc((size_t)bytes);
        to = malloc((size_t)bytes);
        size = from == NULL || to == NULL ? 0 : (size_t)bytes;
        if (size == 0) return result(env, 0, FAULT_MEMORY);
        memset(from, 1, size);
        memset(to, 2, size);
    }
    band.from = from;
    band.to = copy ? to : NULL;
    struct job job = {band_run, NULL, NULL, &band, (size_t)bytes, (size_t)1 << 20, 0};
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    parallel(&job, threads);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - begin.tv_sec) * 1000000000LL + (end.tv_nsec - begin.tv_nsec);
}
