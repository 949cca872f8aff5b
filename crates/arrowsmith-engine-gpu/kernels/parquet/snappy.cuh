// SPDX-License-Identifier: Apache-2.0
// Snappy: elements, and how a block of threads decodes a run of them. The start of an element is
// known only from the previous one: so every thread looks at one byte as if an element began there,
// and the true starts are found by following all links at once, by pointer doubling.
#ifndef ARROWSMITH_SNAPPY_CUH
#define ARROWSMITH_SNAPPY_CUH
#include "unpack.cuh"

struct Latest {
    static __device__ __forceinline__ u64 identity() { return 0; }
    static __device__ __forceinline__ u64 join(u64 a, u64 b) { return a > b ? a : b; }
};

struct SnappyElement {
    // Bytes in the input and in the output; 0 if invalid.
    u64 in, out;
    u32 back;
    const u8 *bytes;
};

__device__ inline SnappyElement snappy_element(const u8 *p, u64 left) {
    const SnappyElement none = {0, 0, 0, 0};
    const u32 tag = p[0];
    if (tag & 3) {
        const u32 bytes = (tag & 3) == 3 ? 4 : tag & 3;
        if (left < bytes + 1) return none;
        u32 back = 0;
        for (u32 b = 0; b < bytes; b++) back |= (u32)p[1 + b] << (8 * b);
        u64 out = 1 + (tag >> 2);
        if ((tag & 3) == 1) {
            out = 4 + (tag >> 2 & 7);
            back |= tag >> 5 << 8;
        }
        if (back == 0) return none;
        return {bytes + 1, out, back, 0};
    }
    u64 out = tag >> 2, head = 1;
    if (out >= 60) {
        const u32 bytes = (u32)out - 59;
        if (left < bytes + 1) return none;
        out = 0;
        for (u32 b = 0; b < bytes; b++) out |= (u64)p[1 + b] << (8 * b);
        head += bytes;
    }
    out++;
    if (out > left - head) return none;
    return {head + out, out, 0, p + head};
}

// Decodes the elements from `at` to `from_len`, which must make `to_len` bytes without a copy of
// earlier ones. Every thread of the block must call it.
__device__ inline bool snappy_elements(const u8 *from, u64 at, u64 from_len, u8 *to, u64 to_len) {
    __shared__ Batch batch;
    __shared__ u32 hop[BLOCK];
    __shared__ u8 begins[BLOCK];
    __shared__ u64 next;
    __shared__ u32 fault;
    u64 done = 0;
    bool good = true;
    if (threadIdx.x == 0) fault = 0;
    while (good && done < to_len) {
        const u64 mine = at + threadIdx.x;
        if (at >= from_len) {
            good = false;
            break;
        }
        SnappyElement element = {0, 0, 0, 0};
        if (mine < from_len) element = snappy_element(from + mine, from_len - mine);
        // The previous batch's results here may still be read.
        __syncthreads();
        const u64 there = threadIdx.x + (element.in ? element.in : BLOCK);
        hop[threadIdx.x] = there < BLOCK ? (u32)there : BLOCK;
        begins[threadIdx.x] = threadIdx.x == 0;
        // An element has two bytes at least.
        for (u32 step = 1; step < BLOCK / 2; step *= 2) {
            __syncthreads();
            const u32 there = hop[threadIdx.x], further = there < BLOCK ? hop[there] : BLOCK;
            const bool leads = begins[threadIdx.x];
            __syncthreads();
            if (leads && there < BLOCK) begins[there] = 1;
            hop[threadIdx.x] = further;
        }
        __syncthreads();
        const bool is = begins[threadIdx.x] && mine < from_len;
        const bool sound = is && element.in;
        u64 count, made;
        const u64 index = block_scan<Sum>(is, &count);
        const u64 before = block_scan<Sum>(sound ? element.out : 0, &made);
        const u64 start = done + before;
        if (is && (!sound || element.back > start)) atomicOr(&fault, 1);
        if (is) {
            // Less than 2^31 if the batch fits.
            batch.start[index] = (u32)start;
            batch.back[index] = element.back;
            batch.from[index] = (u64)element.bytes;
            if (index + 1 == count) {
                batch.start[count] = (u32)(start + element.out);
                next = mine + element.in;
            }
        }
        __syncthreads();
        good = !fault && made <= to_len - done;
        if (!good) break;
        // Consecutive copies with the same distance are one copy.
        const u32 k = threadIdx.x;
        const bool copies = k < count && batch.back[k];
        const bool head = copies && (k == 0 || batch.back[k - 1] != batch.back[k]);
        u64 last;
        const u64 earlier = block_scan<Latest>(head ? batch.start[k] : 0, &last);
        if (copies) batch.from[k] = head ? batch.start[k] : earlier;
        __syncthreads();
        at = next;
        emit(batch, (u32)count, to);
        done += made;
    }
    return good && at == from_len;
}

#endif
