// SPDX-License-Identifier: Apache-2.0
// Included by every kernel file: the types, scans over a block, and the classes of bytes.
//
// The same text is compiled three ways: by nvcc (ahead of time, in checks), by NVRTC (at run time)
// and by a C++ compiler against `shim/shim.h`, which runs blocks, warps and barriers on the CPU. It
// includes none of CUDA's headers, so that NVRTC needs no include folder. It never allocates and
// never traps: a kernel leaves doubtful input to the CPU engine.
#ifndef ARROWSMITH_COMMON_CUH
#define ARROWSMITH_COMMON_CUH

#ifdef ARROWSMITH_SHIM
#include "shim/shim.h"
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef unsigned __int128 u128;

// Threads of a block, in every kernel. On the CPU, where each thread is expensive, two warps are
// enough for tests.
#ifndef BLOCK
#ifdef ARROWSMITH_SHIM
#define BLOCK 64
#else
#define BLOCK 256
#endif
#endif
#define WARP 32
#define FULL 0xFFFFFFFFu
// A value that is null, or absent.
#define NONE 0xFFFFFFFFu

// A kernel takes one structure, all of whose fields are eight bytes wide.
#define KERNEL(name) extern "C" __global__ void name(const name##_args a)

__device__ __forceinline__ u64 thread_index() { return (u64)blockIdx.x * BLOCK + threadIdx.x; }

struct Sum {
    static __device__ __forceinline__ u64 identity() { return 0; }
    static __device__ __forceinline__ u64 join(u64 a, u64 b) { return a + b; }
};

// Inclusive scan over the lanes of a warp, in lane order.
template <class Op> __device__ __forceinline__ u64 warp_scan(u64 value) {
    const u32 lane = threadIdx.x % WARP;
    for (u32 step = 1; step < WARP; step *= 2) {
        const u64 before = __shfl_up_sync(FULL, value, step);
        if (lane >= step) value = Op::join(before, value);
    }
    return value;
}

// Exclusive scan over the threads of a block; also returns the total. `Op` need not commute. Every
// thread of the block must call it.
template <class Op> __device__ u64 block_scan(u64 value, u64 *total) {
    __shared__ u64 warps[BLOCK / WARP];
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u64 inclusive = warp_scan<Op>(value);
    u64 exclusive = __shfl_up_sync(FULL, inclusive, 1);
    if (lane == 0) exclusive = Op::identity();
    // The previous scan's results here may still be read.
    __syncthreads();
    if (lane == WARP - 1) warps[warp] = inclusive;
    __syncthreads();
    u64 before = Op::identity(), all = Op::identity();
    for (u32 i = 0; i < BLOCK / WARP; i++) {
        if (i == warp) before = all;
        all = Op::join(all, warps[i]);
    }
    *total = all;
    return Op::join(before, exclusive);
}

// Values of a thread in a tile of `scan_array`.
#define TILE_EACH 8

// Exclusive scan of an array by one block, tile after tile; the last place, after the array, gets
// the total.
template <class Op> __device__ void scan_array(u64 *values, u64 count) {
    u64 carry = Op::identity();
    for (u64 tile = 0; tile < count; tile += BLOCK * TILE_EACH) {
        const u64 first = tile + threadIdx.x * TILE_EACH;
        u64 own[TILE_EACH], sum = Op::identity(), total;
        for (u32 i = 0; i < TILE_EACH; i++) {
            own[i] = first + i < count ? values[first + i] : Op::identity();
            sum = Op::join(sum, own[i]);
        }
        u64 before = Op::join(carry, block_scan<Op>(sum, &total));
        for (u32 i = 0; i < TILE_EACH; i++) {
            if (first + i < count) values[first + i] = before;
            before = Op::join(before, own[i]);
        }
        carry = Op::join(carry, total);
    }
    if (threadIdx.x == 0) values[count] = carry;
}

// Sixteen bytes at an address that is a multiple of sixteen, in one access.
struct alignas(16) Quad {
    u32 word[4];
};

// The highest bit of each byte that is zero, exact up to the first one.
__device__ __forceinline__ u64 zero_bytes(u64 word) {
    const u64 ones = 0x0101010101010101ull;
    return (word - ones) & ~word & ones << 7;
}

// Eight bytes at any address: two aligned words hold them. (Seven more bytes must be readable.)
__device__ __forceinline__ u64 load8(const u8 *p) {
    const u64 *word = (const u64 *)((u64)p & ~(u64)7);
    const u32 shift = (u32)((u64)p % 8 * 8);
    const u64 low = word[0];
    return shift ? low >> shift | word[1] << (64 - shift) : low;
}

__device__ __forceinline__ bool is_space(u8 c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
__device__ __forceinline__ bool is_operator(u8 c) {
    return c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':';
}
__device__ __forceinline__ bool is_digit(u8 c) { return (u8)(c - '0') < 10; }
// Bytes that may directly follow a number or a literal; any other byte is part of the same word.
__device__ __forceinline__ bool ends_word(u8 c) {
    // Below 64: white space, the quote, comma and colon.
    const u64 low = (u64)1 << ' ' | (u64)1 << '\t' | (u64)1 << '\n' | (u64)1 << '\r' | (u64)1 << '"' | (u64)1 << ',' | (u64)1 << ':';
    const u8 folded = c | 0x20;
    return c < 64 ? low >> c & 1 : folded == '{' || folded == '}';
}

#endif
