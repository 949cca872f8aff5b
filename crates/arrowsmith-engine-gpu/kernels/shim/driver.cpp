// SPDX-License-Identifier: Apache-2.0
// A CUDA driver (libcuda.so.1) whose device is the CPU, for tests of the driver calls: the part of
// its interface that the engine uses, with `shim.cpp` for the kernels.
//
// It is as strict and as lazy as a driver may be. Work queued on a stream is done only when it is
// waited for, which exposes host memory that is reused too early. Addresses and lengths are checked
// against allocations, of which one begins where another ends, host memory has to be pinned, a
// thread needs a context, a kernel must be in the loaded module and take the right number of
// parameter bytes. It takes PTX and looks for the kernels' names in it; it never reads their code.
//
//   arrowsmith_driver_bytes(n) sets the device memory from now on, in bytes
//   arrowsmith_driver_fail(n)  the n-th call from now on, and all after it, fail as after a kernel
//   fault; 0: none
//   arrowsmith_driver_live()   resources not yet released: memory, streams, events, modules,
//   contexts
#include "shim.cpp"

#include <stdio.h>
#include <sys/mman.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace driver {

enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_PTX = 218,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
};

struct Stream {
    std::vector<std::function<int()>> queue;
};

struct Pool {};

struct Event {
    Stream *stream = nullptr;
    // Earlier work of the stream.
    size_t before = 0;
};

struct Function {
    const Entry *entry;
};

struct Module {
    std::string text;
    std::map<std::string, Function> functions;
};

std::recursive_mutex lock;
bool started = false;
int fault = SUCCESS;
uint64_t calls_left = 0, seed = 1, taken_bytes = 0, bytes_max = UINT64_MAX, contexts = 0;
std::map<uint64_t, size_t> memory, pinned;
std::map<Stream *, bool> streams;
std::map<Event *, bool> events;
std::map<Pool *, bool> pools;
std::map<Module *, bool> modules;
int context;
thread_local void *current = nullptr;

// The start of every call.
int begin(bool needs_context = true) {
    if (!started) return NOT_INITIALIZED;
    if (calls_left > 0 && --calls_left == 0) fault = LAUNCH_FAILED;
    if (fault) return fault;
    return needs_context && (current != &context || contexts == 0) ? INVALID_CONTEXT : SUCCESS;
}

bool within(const std::map<uint64_t, size_t> &ranges, uint64_t at, size_t bytes) {
    auto next = ranges.upper_bound(at);
    if (next == ranges.begin()) return false;
    --next;
    return bytes <= next->second && at - next->first <= next->second - bytes;
}

// The addresses of device memory.
constexpr uint64_t SPACE_BYTES = (uint64_t)1 << 36;

// The first free memory of `bytes` bytes; 0 if there is none.
uint64_t place(size_t bytes) {
    static void *space = mmap(nullptr, SPACE_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return 0;
    uint64_t at = (uint64_t)space;
    for (const auto &taken : memory) {
        if (taken.first - at >= bytes) return at;
        at = taken.first + (taken.second + 511) / 512 * 512;
    }
    return at + bytes <= (uint64_t)space + SPACE_BYTES ? at : 0;
}

// Runs the first `count` operations of a stream.
int run(Stream *stream, size_t count) {
    for (size_t i = 0; i < count && !fault; i++) fault = stream->queue[i]();
    stream->queue.erase(stream->queue.begin(), stream->queue.begin() + (long)count);
    for (auto &event : events)
        if (event.first->stream == stream) event.first->before -= count < event.first->before ? count : event.first->before;
    return fault;
}

int run_all() {
    for (auto &stream : streams) run(stream.first, stream.first->queue.size());
    return fault;
}

// Bytes of a kernel's parameters, from its PTX; 0 if it is missing.
size_t parameter_bytes(const std::string &text, const std::string &name) {
    const size_t at = text.find(".entry " + name + "(");
    if (at == std::string::npos) return 0;
    const size_t open = text.find("_param_0[", at);
    return open == std::string::npos ? 0 : strtoul(text.c_str() + open + 9, nullptr, 10);
}

} // namespace driver

#ifdef ARROWSMITH_COUNT
extern "C" int count_is_global(unsigned long long at) { return driver::within(driver::memory, at, 1); }
#endif

#define CALL extern "C" __attribute__((visibility("default"))) int
#define BEGIN(...)                                                                                                         \
    std::lock_guard<std::recursive_mutex> held(driver::lock);                                                              \
    if (int status = driver::begin(__VA_ARGS__)) return status

CALL cuInit(unsigned) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    driver::started = true;
    return driver::begin(false);
}

CALL cuGetErrorName(int error, const char **name) {
    *name = error == driver::OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == driver::LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                             : "CUDA_ERROR_OF_THE_CALLER";
    return driver::SUCCESS;
}

CALL cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }

// NVRTC calls undocumented functions, and continues without them.
CALL cuGetExportTable(const void **table, const void *) {
    *table = nullptr;
    return driver::NOT_FOUND;
}

CALL cuDeviceGetCount(int *count) {
    BEGIN(false);
    *count = 1;
    return driver::SUCCESS;
}

CALL cuDeviceGet(int *device, int number) {
    BEGIN(false);
    *device = 7;
    return number == 0 ? driver::SUCCESS : driver::INVALID_VALUE;
}

CALL cuDeviceGetName(char *name, int bytes, int device) {
    BEGIN(false);
    snprintf(name, (size_t)bytes, "the CPU, behind a driver");
    return device == 7 ? driver::SUCCESS : driver::INVALID_VALUE;
}

CALL cuDeviceGetAttribute(int *value, int attribute, int device) {
    BEGIN(false);
    // Compute capability 9.0.
    if (device != 7 || (attribute != 75 && attribute != 76)) return driver::INVALID_VALUE;
    *value = attribute == 75 ? 9 : 0;
    return driver::SUCCESS;
}

CALL cuDeviceGetPCIBusId(char *name, int bytes, int device) {
    BEGIN(false);
    snprintf(name, (size_t)bytes, "0000:07:00.0");
    return device == 7 ? driver::SUCCESS : driver::INVALID_VALUE;
}

CALL cuDevicePrimaryCtxRetain(void **context, int device) {
    BEGIN(false);
    if (device != 7) return driver::INVALID_VALUE;
    driver::contexts++;
    *context = &driver::context;
    return driver::SUCCESS;
}

CALL cuDevicePrimaryCtxRelease_v2(int device) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (device != 7 || driver::contexts == 0) return driver::INVALID_CONTEXT;
    driver::contexts--;
    return driver::SUCCESS;
}

CALL cuCtxGetCurrent(void **context) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    *context = driver::current;
    return driver::started ? driver::SUCCESS : driver::NOT_INITIALIZED;
}

// Also after a failure: resources must still be released.
CALL cuCtxSetCurrent(void *context) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (context && (context != &driver::context || driver::contexts == 0)) return driver::INVALID_CONTEXT;
    driver::current = context;
    return driver::SUCCESS;
}

CALL cuModuleLoadData(driver::Module **module, const char *text) {
    BEGIN();
    if (!strstr(text, ".target sm_90")) return driver::INVALID_PTX;
    *module = new driver::Module{text, {}};
    driver::modules[*module] = true;
    return driver::SUCCESS;
}

CALL cuModuleUnload(driver::Module *module) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (!driver::modules.erase(module)) return driver::INVALID_HANDLE;
    delete module;
    return driver::SUCCESS;
}

CALL cuModuleGetFunction(driver::Function **function, driver::Module *module, const char *name) {
    BEGIN();
    if (!driver::modules.count(module)) return driver::INVALID_HANDLE;
    for (const Entry &entry : ENTRIES)
        if (strcmp(entry.name, name) == 0 && driver::parameter_bytes(module->text, name) == entry.args * 8) {
            *function = &(module->functions[name] = driver::Function{&entry});
            return driver::SUCCESS;
        }
    return driver::NOT_FOUND;
}

CALL cuDeviceTotalMem_v2(size_t *bytes, int device) {
    BEGIN(false);
    *bytes = (size_t)1 << 30;
    return device == 7 ? driver::SUCCESS : driver::INVALID_VALUE;
}

// The structure of a pool's properties begins with the type of allocation (1: in device memory),
// the handles (0: none), and the place (1: a device, and its number).
CALL cuMemPoolCreate(driver::Pool **pool, const int *wanted) {
    BEGIN();
    if (wanted[0] != 1 || wanted[1] != 0 || wanted[2] != 1 || wanted[3] != 0) return driver::INVALID_VALUE;
    *pool = new driver::Pool;
    driver::pools[*pool] = true;
    return driver::SUCCESS;
}

CALL cuMemPoolSetAttribute(driver::Pool *pool, int attribute, void *) {
    BEGIN();
    // The bytes that it keeps.
    return driver::pools.count(pool) && attribute == 4 ? driver::SUCCESS : driver::INVALID_VALUE;
}

CALL cuMemPoolDestroy(driver::Pool *pool) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (!driver::pools.erase(pool)) return driver::INVALID_HANDLE;
    delete pool;
    return driver::SUCCESS;
}

CALL cuMemAllocFromPoolAsync(uint64_t *at, size_t bytes, driver::Pool *pool, driver::Stream *stream) {
    BEGIN();
    if (bytes == 0) return driver::INVALID_VALUE;
    if (!driver::pools.count(pool) || !driver::streams.count(stream)) return driver::INVALID_HANDLE;
    if (bytes > driver::bytes_max || driver::taken_bytes > driver::bytes_max - bytes) return driver::OUT_OF_MEMORY;
    *at = driver::place(bytes);
    if (!*at) return driver::OUT_OF_MEMORY;
    memset((void *)*at, 0xA5, bytes);
    driver::memory[*at] = bytes;
    driver::taken_bytes += bytes;
    return driver::SUCCESS;
}

// At once: work that is still queued then finds the memory gone.
CALL cuMemFreeAsync(uint64_t at, driver::Stream *stream) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    auto found = driver::memory.find(at);
    if (found == driver::memory.end() || !driver::streams.count(stream)) return driver::INVALID_VALUE;
    memset((void *)at, 0x5A, found->second);
    driver::taken_bytes -= found->second;
    driver::memory.erase(found);
    return driver::SUCCESS;
}

CALL cuCtxSynchronize() {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    return driver::run_all();
}

CALL cuMemHostAlloc(void **at, size_t bytes, unsigned) {
    BEGIN();
    *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*at) return driver::OUT_OF_MEMORY;
    memset(*at, 0xC3, bytes);
    driver::pinned[(uint64_t)*at] = bytes;
    return driver::SUCCESS;
}

CALL cuMemHostRegister_v2(void *at, size_t bytes, unsigned) {
    BEGIN();
    if (!at || bytes == 0 || driver::pinned.count((uint64_t)at)) return driver::INVALID_VALUE;
    driver::pinned[(uint64_t)at] = bytes;
    return driver::SUCCESS;
}

CALL cuMemHostGetDevicePointer_v2(uint64_t *on_device, void *at, unsigned) {
    BEGIN();
    if (!driver::pinned.count((uint64_t)at)) return driver::INVALID_VALUE;
    *on_device = (uint64_t)at;
    return driver::SUCCESS;
}

CALL cuMemHostUnregister(void *at) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    return driver::pinned.erase((uint64_t)at) ? driver::SUCCESS : driver::INVALID_VALUE;
}

CALL cuMemFreeHost(void *at) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (!driver::pinned.count((uint64_t)at)) return driver::INVALID_VALUE;
    memset(at, 0x3C, driver::pinned[(uint64_t)at]);
    driver::pinned.erase((uint64_t)at);
    free(at);
    return driver::SUCCESS;
}

CALL cuStreamCreate(driver::Stream **stream, unsigned) {
    BEGIN();
    *stream = new driver::Stream;
    driver::streams[*stream] = true;
    return driver::SUCCESS;
}

CALL cuStreamSynchronize(driver::Stream *stream) {
    BEGIN();
    if (!driver::streams.count(stream)) return driver::INVALID_HANDLE;
    return driver::run(stream, stream->queue.size());
}

CALL cuStreamDestroy_v2(driver::Stream *stream) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (!driver::streams.count(stream)) return driver::INVALID_HANDLE;
    driver::run(stream, stream->queue.size());
    for (auto &event : driver::events)
        if (event.first->stream == stream) event.first->stream = nullptr;
    driver::streams.erase(stream);
    delete stream;
    return driver::SUCCESS;
}

CALL cuEventCreate(driver::Event **event, unsigned) {
    BEGIN();
    *event = new driver::Event;
    driver::events[*event] = true;
    return driver::SUCCESS;
}

CALL cuEventRecord(driver::Event *event, driver::Stream *stream) {
    BEGIN();
    if (!driver::events.count(event) || !driver::streams.count(stream)) return driver::INVALID_HANDLE;
    *event = driver::Event{stream, stream->queue.size()};
    return driver::SUCCESS;
}

CALL cuEventSynchronize(driver::Event *event) {
    BEGIN();
    if (!driver::events.count(event)) return driver::INVALID_HANDLE;
    return event->stream ? driver::run(event->stream, event->before) : driver::SUCCESS;
}

CALL cuEventDestroy_v2(driver::Event *event) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    if (!driver::events.erase(event)) return driver::INVALID_HANDLE;
    delete event;
    return driver::SUCCESS;
}

// A copy between two addresses, each checked when it is queued and when it is done.
static int copy(uint64_t to, bool to_host, uint64_t from, bool from_host, size_t bytes, driver::Stream *stream) {
    BEGIN();
    if (!driver::streams.count(stream)) return driver::INVALID_HANDLE;
    auto sound = [=] {
        return driver::within(to_host ? driver::pinned : driver::memory, to, bytes) &&
               driver::within(from_host ? driver::pinned : driver::memory, from, bytes);
    };
    if (!sound()) return driver::INVALID_VALUE;
    stream->queue.push_back([=] {
        if (!sound()) return (int)driver::LAUNCH_FAILED;
        memmove((void *)to, (const void *)from, bytes);
        return (int)driver::SUCCESS;
    });
    return driver::SUCCESS;
}

CALL cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, driver::Stream *stream) {
    return copy(to, false, (uint64_t)from, true, bytes, stream);
}

CALL cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, driver::Stream *stream) {
    return copy((uint64_t)to, true, from, false, bytes, stream);
}

CALL cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, driver::Stream *stream) {
    return copy(to, false, from, false, bytes, stream);
}

CALL cuMemsetD8Async(uint64_t at, unsigned char byte, size_t bytes, driver::Stream *stream) {
    BEGIN();
    if (!driver::streams.count(stream)) return driver::INVALID_HANDLE;
    if (!driver::within(driver::memory, at, bytes)) return driver::INVALID_VALUE;
    stream->queue.push_back([=] {
        if (!driver::within(driver::memory, at, bytes)) return (int)driver::LAUNCH_FAILED;
        memset((void *)at, byte, bytes);
        return (int)driver::SUCCESS;
    });
    return driver::SUCCESS;
}

CALL cuLaunchKernel(driver::Function *function, unsigned grid, unsigned y, unsigned z, unsigned block, unsigned block_y,
                    unsigned block_z, unsigned shared, driver::Stream *stream, void **params, void **extra) {
    BEGIN();
    if (!driver::streams.count(stream)) return driver::INVALID_HANDLE;
    if (grid == 0 || block != BLOCK || y != 1 || z != 1 || block_y != 1 || block_z != 1 || shared || extra)
        return driver::INVALID_VALUE;
    const Entry *entry = function->entry;
    const uint64_t *first = (const uint64_t *)params[0];
    std::vector<uint64_t> args(first, first + entry->args);
    const uint64_t order = driver::seed += 2;
    stream->queue.push_back([=] {
        const int status = arrowsmith_shim_launch(entry->name, grid, args.data(), args.size(), order);
        if (status) fprintf(stderr, "kernel %s: error %d of the shim\n", entry->name, status);
        return (int)(status ? driver::LAUNCH_FAILED : driver::SUCCESS);
    });
    return driver::SUCCESS;
}

extern "C" __attribute__((visibility("default"))) void arrowsmith_driver_fail(uint64_t calls) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    driver::calls_left = calls;
    driver::fault = driver::SUCCESS;
}

extern "C" __attribute__((visibility("default"))) void arrowsmith_driver_bytes(uint64_t bytes) {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    driver::bytes_max = bytes;
}

extern "C" __attribute__((visibility("default"))) uint64_t arrowsmith_driver_live() {
    std::lock_guard<std::recursive_mutex> held(driver::lock);
    return driver::memory.size() + driver::pinned.size() + driver::streams.size() + driver::pools.size() + driver::events.size() +
           driver::modules.size() + driver::contexts;
}
