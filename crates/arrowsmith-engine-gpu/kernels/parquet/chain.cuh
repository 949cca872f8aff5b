// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels that split one page among many blocks of threads.
//
// A page whose elements each tell where the next one begins (elements of Snappy, strings after
// their lengths) is a chain that only a walk from its start finds. So the page is split into
// segments; `chain_map` follows the chain from every position of a segment as if an element began
// there, and stores where it leaves the segment; `chain_walk` then only needs one step per segment.
// With the first element of every segment known, all segments are decoded at once.
//
// Nothing here decides that a page is malformed: whatever is unexpected marks the chain `serial`,
// and the kernel that decodes a page by one block then does so, and reports it.
#ifndef ARROWSMITH_CHAIN_CUH
#define ARROWSMITH_CHAIN_CUH
#include "column.cuh"
#include "snappy.cuh"

// Positions of a segment, and of it those of one thread.
#define EACH 16
#define SEGMENT (BLOCK * EACH)
// Instead of a position in a segment: the chain ends.
#define LAST 0xFFFFFFFFu
// More output than any page has.
#define TOO_MUCH 0x80000000ull
// Instead of a position in a page: no element begins in the segment.
#define NOWHERE (~(u64)0)
// Output bytes of Snappy that compressors make without a reference to earlier ones.
#ifdef ARROWSMITH_UNIT
#define UNIT ARROWSMITH_UNIT
#else
#define UNIT (64 << 10)
#endif

// One element: its bytes in the page, 0 if it is invalid, and what it makes: bytes or values.
struct Link {
    u64 in, out;
};

__device__ inline Link string_link(const u8 *p, u64 left) {
    if (left < 4) return {0, 0};
    u64 len = 0;
    for (u32 b = 0; b < 4; b++) len |= (u64)p[b] << (8 * b);
    return {len > left - 4 ? 0 : 4 + len, 1};
}

__device__ inline Link link_at(const ChainTask &task, u64 at) {
    const u8 *p = task.from + at;
    const u64 left = task.from_len - at;
    if (task.form == C_STRINGS) return string_link(p, left);
    const SnappyElement element = snappy_element(p, left);
    return {element.in, element.out};
}

// The elements that begin in a segment.
struct Found {
    // Where, from the start of the segment; and the output before each, from that of the first.
    u32 at[SEGMENT / 2 + 1], out[SEGMENT / 2 + 1];
    // While they are searched: where the chain goes from a position.
    u32 hop[SEGMENT];
    u8 begins[SEGMENT];
    u32 open;
};

// Finds them; `first` is the first one. Returns their number; the output after the last element is
// at that place of `out`. Every thread of the block must call it. No element has one byte.
__device__ inline u32 find_elements(const ChainTask &task, u64 base, u64 first, Found &found) {
    const u64 left = task.from_len - base;
    const u32 size = left < SEGMENT ? (u32)left : SEGMENT;
    for (u32 i = 0; i < EACH; i++) {
        const u32 p = i * BLOCK + threadIdx.x;
        u64 in = 0;
        if (p < size) in = link_at(task, base + p).in;
        found.hop[p] = in && p + in < size ? (u32)(p + in) : LAST;
        found.begins[p] = base + p == first;
    }
    if (threadIdx.x == 0) found.open = 0;
    // Each step doubles the number of known elements.
    for (u32 step = 1; step < SEGMENT / 2; step *= 2) {
        u32 there[EACH], further[EACH], leads = 0;
        __syncthreads();
        for (u32 i = 0; i < EACH; i++) {
            const u32 p = i * BLOCK + threadIdx.x;
            there[i] = found.hop[p];
            further[i] = there[i] == LAST ? LAST : found.hop[there[i]];
            if (there[i] != LAST && found.begins[p]) leads |= 1u << i;
        }
        __syncthreads();
        for (u32 i = 0; i < EACH; i++) {
            if (leads >> i & 1) found.begins[there[i]] = 1;
            found.hop[i * BLOCK + threadIdx.x] = further[i];
        }
        if (leads) atomicOr(&found.open, step);
        __syncthreads();
        if (!(found.open & step)) break;
    }
    __syncthreads();
    // Sixteen consecutive positions per thread.
    u32 mine = 0;
    u64 count, made;
    const u32 from = threadIdx.x * EACH;
    for (u32 i = 0; i < EACH; i++) mine += found.begins[from + i];
    u32 k = (u32)block_scan<Sum>(mine, &count);
    const u32 own = k;
    u64 sum = 0;
    for (u32 i = 0; i < EACH; i++)
        if (found.begins[from + i]) {
            found.at[k++] = from + i;
            sum += link_at(task, base + from + i).out;
        }
    u64 before = block_scan<Sum>(sum, &made);
    for (u32 i = own; i < k; i++) {
        found.out[i] = (u32)before;
        before += link_at(task, base + found.at[i]).out;
    }
    if (threadIdx.x == 0) found.out[count] = (u32)made;
    __syncthreads();
    return (u32)count;
}

// The segment of this block; false if no element begins in it, or if its chain is not one. Another
// block may find that out meanwhile, so that one thread looks for all.
__device__ inline bool segment_of(const ChainArgs &a, ChainTask **task, u64 *base, u64 *first) {
    __shared__ u64 serial;
    *task = a.tasks + a.owners[blockIdx.x];
    *base = (blockIdx.x - (*task)->segment) * SEGMENT;
    *first = a.entries[blockIdx.x];
    if (threadIdx.x == 0) serial = (*task)->serial;
    __syncthreads();
    return !serial && *first != NOWHERE;
}

#endif
