// SPDX-License-Identifier: Apache-2.0
// The plan as the kernels read it: nodes in one array, children of a node contiguous. The host lays
// it out (src/json/program.rs); both sides use the same numbers.
#ifndef ARROWSMITH_PLAN_CUH
#define ARROWSMITH_PLAN_CUH
#include "../abi.cuh"

// Keys are hashed by FNV-1a.
__device__ __forceinline__ u32 hash_step(u32 hash, u8 c) { return (hash ^ c) * 16777619u; }
#define HASH_START 2166136261u

// The record of a value.
__device__ __forceinline__ u64 record_of(const Hop *hops, u64 count, u64 index) {
    for (u64 h = 0; h < count; h++) {
        const Hop hop = hops[h];
        if (hop.size) {
            index /= hop.size;
            continue;
        }
        // The last non-empty list that begins at or before the value.
        u64 low = 0, high = hop.count;
        while (high - low > 1) {
            const u64 middle = (low + high) / 2;
            if (hop.ends[middle] <= index) low = middle;
            else high = middle;
        }
        index = low;
    }
    return index;
}

// Puts a record in doubt.
__device__ __forceinline__ void doubt(u8 *suspect, u32 *any, u64 record) {
    suspect[record] = 1;
    *any = 1;
}

#endif
