// SPDX-License-Identifier: Apache-2.0
// Shared by the decompressors: pages as they are stored, and how a block makes bytes of literals
// and copies.
//
// A decompressor splits its input into elements, at most as many at once as a block has threads:
// literal bytes, or a copy of earlier output. `emit` then makes all their bytes in parallel; none
// waits for another. Everything is bounds-checked: invalid data marks the column, and the CPU
// engine decodes it again.
#ifndef ARROWSMITH_UNPACK_CUH
#define ARROWSMITH_UNPACK_CUH
#include "column.cuh"

// Elements, of which a block makes bytes. The output of element `k` begins at `start[k]`.
struct Batch {
    u32 start[BLOCK + 1];
    // The distance of a copy; 0 for literal bytes.
    u32 back[BLOCK];
    // Where the bytes are; of a copy, where the first of consecutive copies with this distance
    // began.
    u64 from[BLOCK];
};

// Bytes that a thread makes at a time, whose sources are read together.
#define EMIT_EACH 4

// The element with output byte `p`, before element `high`. Those without bytes are skipped.
__device__ __forceinline__ u32 element_at(const Batch &batch, u32 p, u32 high) {
    u32 low = 0;
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (batch.start[middle] <= p) low = middle;
        else high = middle;
    }
    return low;
}

// Output byte `p`, of element `k`. A byte of a copy is traced to its source, until that is before
// the batch, which begins at `first`, or among literal bytes.
__device__ __forceinline__ u8 byte_of(const Batch &batch, u32 k, u32 p, u32 first, const u8 *out) {
    for (;;) {
        const u32 back = batch.back[k];
        if (back == 0) return ((const u8 *)batch.from[k])[p - batch.start[k]];
        const u32 root = (u32)batch.from[k], m = p - root;
        p = root - back + (m < back ? m : m % back);
        if (p < first) return out[p];
        // Before the root, which is this element or an earlier one.
        k = element_at(batch, p, k);
    }
}

// Writes the bytes of the first `count` elements. Every thread of the block must call it, after
// the batch is complete.
__device__ inline void emit(const Batch &batch, u32 count, u8 *out) {
    const u32 first = batch.start[0], end = batch.start[count];
    for (u32 at = first + EMIT_EACH * threadIdx.x; at < end; at += EMIT_EACH * BLOCK) {
        const u32 some = end - at < EMIT_EACH ? end - at : EMIT_EACH;
        u32 k = element_at(batch, at, count);
        u8 bytes[EMIT_EACH];
        for (u32 b = 0; b < EMIT_EACH; b++) {
            if (b >= some) break;
            while (batch.start[k + 1] <= at + b) k++;
            bytes[b] = byte_of(batch, k, at + b, first, out);
        }
        for (u32 b = 0; b < EMIT_EACH; b++)
            if (b < some) out[at + b] = bytes[b];
    }
    // So that the next batch sees these bytes, and may reuse the memory of this one.
    __syncthreads();
}

// Levels of a page of version 1: after their length in four bytes.
__device__ inline bool cut(const u8 **p, u64 *len, const u8 **levels, u64 *levels_len) {
    if (*len < 4) return false;
    u64 bytes = 0;
    for (u32 b = 0; b < 4; b++) bytes |= (u64)(*p)[b] << (8 * b);
    if (bytes > *len - 4) return false;
    *levels = *p + 4, *levels_len = bytes;
    *p += 4 + bytes, *len -= 4 + bytes;
    return true;
}

#endif
