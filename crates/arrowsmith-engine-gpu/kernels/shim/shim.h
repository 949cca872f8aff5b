// SPDX-License-Identifier: Apache-2.0
// The part of CUDA's device language that the kernels use, for a C++ compiler: blocks run one after
// another, the threads of a block as fibers that switch at barriers, shuffles and ballots, in an
// order determined by a seed. It never runs two threads of a block at once, so it exposes only
// those races that another order exposes.
#ifndef ARROWSMITH_SHIM_H
#define ARROWSMITH_SHIM_H

#include <string.h>

#include "count.h"

#define __global__
#ifdef ARROWSMITH_COUNT
// As on a device, where a kernel contains all that it calls: its basic blocks are in one place.
#define __device__ __attribute__((always_inline))
#else
#define __device__
#endif
#define __forceinline__ inline
// A thread of the host runs one block at a time, so shared memory is thread-local.
#define __shared__ static thread_local
#define __constant__ static const

struct ShimIndex {
    unsigned int x;
};
extern thread_local ShimIndex threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
unsigned long long shim_exchange(unsigned long long value, unsigned int lane);
unsigned int __ballot_sync(unsigned int mask, int predicate);

inline unsigned long long __shfl_up_sync(unsigned int, unsigned long long value, unsigned int by) {
    const unsigned int lane = threadIdx.x % 32;
    return shim_exchange(value, lane >= by ? lane - by : lane);
}
inline unsigned long long __shfl_sync(unsigned int, unsigned long long value, unsigned int from) {
    return shim_exchange(value, from % 32);
}
inline void __syncwarp() { shim_exchange(0, 0); }
inline int __popc(unsigned int v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned int bytes = 0;
    for (unsigned int i = 0; i < 4; i++) bytes |= (unsigned int)(both >> ((selector >> (4 * i) & 7) * 8) & 0xFF) << (8 * i);
    return bytes;
}
// Other blocks may run on other threads of the host.
inline unsigned int atomicAdd(unsigned int *at, unsigned int v) { return __atomic_fetch_add(at, v, __ATOMIC_RELAXED); }
inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long v) {
    return __atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}
inline unsigned int atomicOr(unsigned int *at, unsigned int v) { return __atomic_fetch_or(at, v, __ATOMIC_RELAXED); }

#endif
