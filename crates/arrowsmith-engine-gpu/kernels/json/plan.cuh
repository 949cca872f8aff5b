// SPDX-License-Identifier: Apache-2.0
// The plan as the kernels read it: nodes in one array, children of a node contiguous. The host lays
// it out (src/json/program.rs); both sides use the same numbers.
#ifndef ARROWSMITH_PLAN_CUH
#define ARROWSMITH_PLAN_CUH
#include "../common.cuh"

enum Kind : u32 {
    K_NULL, K_BOOL, K_INT, K_FLOAT, K_DECIMAL, K_UTF8, K_JSON, K_BINARY, K_FIXED_BINARY,
    K_DATE32, K_DATE64, K_TIME, K_TIMESTAMP, K_DURATION, K_LIST, K_FIXED_LIST, K_STRUCT, K_MAP,
};

struct Node {
    u32 kind, nullable;
    // First child; number of fields of a struct, of items of a fixed-size list.
    u32 first, count;
    // The counter of a list or map; the words of seen fields of a struct.
    u32 slot;
    // Struct: its first key, its hash table, and the table's size less one.
    u32 keys, table, table_mask;
    // Nodes that become null with it: first entry and number.
    u32 under, unders;
};

// A node that becomes null with an ancestor: `times` values for each value of the ancestor.
struct Under {
    u32 node, times;
};

struct Key {
    u32 at, len;
};

// The arrays of a node. Of a leaf: the position of each value's text (and its end for kept JSON
// text). Of a list or map: the end offset of each value in its child, after a first 0. Of nested
// nodes: a byte that marks presence.
struct Column {
    u32 *places;
    u8 *valid;
};

// Keys are hashed by FNV-1a.
__device__ __forceinline__ u32 hash_step(u32 hash, u8 c) { return (hash ^ c) * 16777619u; }
#define HASH_START 2166136261u

// From a value to the parent value: lists by their ends, fixed-size lists by division.
struct Hop {
    const u32 *ends;
    u64 count;
    u64 size;
};

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

#endif
