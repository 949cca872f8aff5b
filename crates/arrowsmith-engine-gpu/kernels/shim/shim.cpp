// SPDX-License-Identifier: Apache-2.0
// Runs the kernels on the CPU: a grid is a loop over blocks, a block is threads as fibers.
//
// Blocks and threads run in an order determined by a seed, and shuffled again after every barrier,
// which exposes results that depend on the order. A barrier that not all threads of a block reach,
// or a ballot that not all lanes of a warp reach, is a launch error, where a device would hang.
#include "shim.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <vector>

thread_local ShimIndex threadIdx, blockIdx, blockDim, gridDim;

#define ARROWSMITH_SHIM 1
#include "../json/all.cu"
#include "../parquet/all.cu"

namespace {

const size_t STACK_BYTES = 32 << 10;
// Not a power of two, so that the tops of the stacks do not map to the same cache sets.
const size_t STACK_STRIDE = STACK_BYTES + 5 * 64;
enum Status : uint8_t { READY, AT_BARRIER, AT_WARP, DONE };

#if defined(__x86_64__)
extern "C" void arrowsmith_switch(void **from, void *to);
asm(R"(
.text
.globl arrowsmith_switch
.type arrowsmith_switch,@function
arrowsmith_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size arrowsmith_switch,.-arrowsmith_switch
)");
#endif

struct Fibers {
    unsigned char *stacks = nullptr;
    Status status[BLOCK];
    unsigned long long value[BLOCK], snapshot[BLOCK];
    uint32_t current = 0;
    void (*kernel)(const uint64_t *) = nullptr;
    const uint64_t *args = nullptr;
#if defined(__x86_64__)
    void *main = nullptr;
    void *saved[BLOCK];
#else
    ucontext_t main;
    ucontext_t saved[BLOCK];
#endif
    bool active = false, misused = false;

    ~Fibers() {
        if (stacks) munmap(stacks, STACK_STRIDE * BLOCK);
    }

    UNCOUNTED void leave() {
#if defined(__x86_64__)
        arrowsmith_switch(&saved[current], main);
#else
        swapcontext(&saved[current], &main);
#endif
    }

    void enter(uint32_t thread) {
        current = thread;
        threadIdx.x = thread;
        count_lane(thread);
#if defined(__x86_64__)
        arrowsmith_switch(&main, saved[thread]);
#else
        swapcontext(&main, &saved[thread]);
#endif
        count_pause();
    }
};

thread_local Fibers fibers;

void fiber_body() {
    fibers.kernel(fibers.args);
    fibers.status[fibers.current] = DONE;
    fibers.leave();
    abort(); // A finished fiber is never resumed.
}

struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
};

void shuffle(uint32_t *items, uint32_t count, Random &random) {
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = (uint32_t)(random.next() % i);
        const uint32_t held = items[i - 1];
        items[i - 1] = items[j];
        items[j] = held;
    }
}

bool prepare() {
    if (fibers.stacks) return true;
    void *memory = mmap(nullptr, STACK_STRIDE * BLOCK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    fibers.stacks = (unsigned char *)memory;
    count_stacks(memory, STACK_STRIDE * BLOCK);
    return true;
}

void start(uint32_t thread) {
    unsigned char *stack = fibers.stacks + STACK_STRIDE * thread;
#if defined(__x86_64__)
    // As after a call: the return address is at a stack position 8 bytes off a multiple of 16.
    void **top = (void **)(stack + STACK_BYTES - 8);
    *--top = (void *)&fiber_body;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    fibers.saved[thread] = top;
#else
    getcontext(&fibers.saved[thread]);
    fibers.saved[thread].uc_stack.ss_sp = stack;
    fibers.saved[thread].uc_stack.ss_size = STACK_BYTES;
    fibers.saved[thread].uc_link = nullptr;
    makecontext(&fibers.saved[thread], fiber_body, 0);
#endif
    fibers.status[thread] = READY;
}

// Runs one block; false for a barrier that not all threads reach.
bool run_block(Random &random) {
    for (uint32_t thread = 0; thread < BLOCK; thread++) start(thread);
    uint32_t warps[BLOCK / WARP], lanes[WARP];
    for (uint32_t i = 0; i < BLOCK / WARP; i++) warps[i] = i;
    for (uint32_t i = 0; i < WARP; i++) lanes[i] = i;
    shuffle(lanes, WARP, random);
    for (;;) {
        shuffle(warps, BLOCK / WARP, random);
        uint32_t done = 0, waiting = 0;
        for (uint32_t w = 0; w < BLOCK / WARP; w++) {
            const uint32_t first = warps[w] * WARP;
            // A warp runs, ballot after ballot, until it is at a barrier or at its end.
            for (;;) {
                // Another lane begins each time.
                const uint32_t turn = (uint32_t)random.next() % WARP;
                uint32_t at_warp = 0;
                for (uint32_t l = 0; l < WARP; l++) {
                    const uint32_t thread = first + lanes[(l + turn) % WARP];
                    if (fibers.status[thread] == READY) fibers.enter(thread);
                    at_warp += fibers.status[thread] == AT_WARP;
                }
                count_phase(warps[w]);
                if (at_warp == 0) break;
                if (at_warp != WARP) return false;
                for (uint32_t l = 0; l < WARP; l++) {
                    fibers.snapshot[first + l] = fibers.value[first + l];
                    fibers.status[first + l] = READY;
                }
            }
            for (uint32_t l = 0; l < WARP; l++) {
                done += fibers.status[first + l] == DONE;
                waiting += fibers.status[first + l] == AT_BARRIER;
            }
        }
        if (done == BLOCK) return true;
        if (waiting != BLOCK) return false;
        for (uint32_t thread = 0; thread < BLOCK; thread++) fibers.status[thread] = READY;
    }
}

} // namespace

UNCOUNTED void __syncthreads() {
    if (!fibers.active) {
        fibers.misused = true;
        return;
    }
    fibers.status[fibers.current] = AT_BARRIER;
    fibers.leave();
    threadIdx.x = fibers.current;
}

UNCOUNTED unsigned long long shim_exchange(unsigned long long value, unsigned int lane) {
    if (!fibers.active) {
        fibers.misused = true;
        return 0;
    }
    fibers.value[fibers.current] = value;
    fibers.status[fibers.current] = AT_WARP;
    fibers.leave();
    threadIdx.x = fibers.current;
    return fibers.snapshot[fibers.current / WARP * WARP + lane];
}

UNCOUNTED unsigned int __ballot_sync(unsigned int mask, int predicate) {
    shim_exchange(predicate ? 1 : 0, 0);
    if (!fibers.active) return 0;
    unsigned int bits = 0;
    const uint32_t first = fibers.current / WARP * WARP;
    for (uint32_t lane = 0; lane < WARP; lane++) bits |= (unsigned int)(fibers.snapshot[first + lane] != 0) << lane;
    return bits & mask;
}

namespace {

template <class Args, void (*kernel)(Args)> void call(const uint64_t *args) {
    Args held;
    memcpy((void *)&held, args, sizeof held);
    kernel(held);
}

struct Entry {
    const char *name;
    void (*call)(const uint64_t *);
    size_t args;
    // Whether its threads use barriers or ballots.
    bool together;
};

#define ALONE(name) {#name, call<name##_args, name>, sizeof(name##_args) / 8, false}
#define TOGETHER(name) {#name, call<name##_args, name>, sizeof(name##_args) / 8, true}

const Entry ENTRIES[] = {
    ALONE(copy_parts),
    TOGETHER(scan_states),
    TOGETHER(scan_join),
    TOGETHER(sum_join),
    TOGETHER(scan_masks),
    TOGETHER(index_tokens),
    TOGETHER(frame_depths),
    TOGETHER(frame_count),
    TOGETHER(frame_write),
    ALONE(expand_items),
    ALONE(walk_count),
    ALONE(walk_write),
    ALONE(walk_once),
    TOGETHER(convert_fixed),
    TOGETHER(pack_valid),
    ALONE(widen_offsets),
    TOGETHER(slots_sum),
    TOGETHER(slots_join),
    TOGETHER(slots_spread),
    TOGETHER(string_lens),
    TOGETHER(string_copy),
#include "parquet.inc"
};

} // namespace

// Runs a kernel over `grid` blocks. 0 is success; 1 unknown kernel; 2 wrong number of arguments; 3
// a barrier that not all reached; 4 no memory for stacks; 5 a barrier in a kernel declared without.
extern "C" int arrowsmith_shim_launch(const char *name, uint64_t grid, const uint64_t *args, size_t count, uint64_t seed) {
    const Entry *entry = nullptr;
    for (const Entry &candidate : ENTRIES)
        if (strcmp(candidate.name, name) == 0) entry = &candidate;
    if (!entry) return 1;
    if (entry->args != count) return 2;
    if (!prepare()) return 4;
    count_launch(entry->name, grid);
    Random random = {seed};
    std::vector<uint32_t> blocks((size_t)grid), threads(BLOCK);
    for (uint32_t i = 0; i < grid; i++) blocks[i] = i;
    for (uint32_t i = 0; i < BLOCK; i++) threads[i] = i;
    if (seed) shuffle(blocks.data(), (uint32_t)grid, random);
    blockDim.x = BLOCK;
    gridDim.x = (unsigned int)grid;
    fibers.kernel = entry->call;
    fibers.args = args;
    fibers.misused = false;
    int status = 0;
    for (uint32_t block : blocks) {
        blockIdx.x = block;
        if (entry->together) {
            fibers.active = true;
            const bool met = run_block(random);
            fibers.active = false;
            count_block();
            if (!met) return 3;
        } else {
            // Counted warp by warp.
            if (seed && !COUNTED) shuffle(threads.data(), BLOCK, random);
            for (uint32_t thread : threads) {
                threadIdx.x = thread;
                count_lane(thread);
                entry->call(args);
                count_pause();
                if (thread % WARP == WARP - 1) count_phase(thread / WARP);
            }
            count_block();
        }
    }
    if (fibers.misused) status = 5;
    return status;
}
