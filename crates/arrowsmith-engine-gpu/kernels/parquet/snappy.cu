// SPDX-License-Identifier: Apache-2.0
// Snappy pages, one block per page. The start of an element is known only from the previous one: so
// every thread looks at one byte as if an element began there, and the true starts are found by
// following all links at once, by pointer doubling.
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

KERNEL(unpack_snappy) {
    __shared__ Batch batch;
    __shared__ u32 hop[BLOCK];
    __shared__ u8 begins[BLOCK];
    __shared__ u64 next;
    __shared__ u32 fault;
    const UnpackTask task = a.tasks[blockIdx.x];
    u64 at = 0, length = 0, done = 0;
    if (task.to_len == 0) return;
    bool good = varint(task.from, task.from_len, &at, &length) && length == task.to_len;
    if (threadIdx.x == 0) fault = 0;
    while (good && done < task.to_len) {
        const u64 mine = at + threadIdx.x;
        if (at >= task.from_len) {
            good = false;
            break;
        }
        SnappyElement element = {0, 0, 0, 0};
        if (mine < task.from_len) element = snappy_element(task.from + mine, task.from_len - mine);
        // The previous batch's results here may still be read.
        __syncthreads();
        const u64 to = threadIdx.x + (element.in ? element.in : BLOCK);
        hop[threadIdx.x] = to < BLOCK ? (u32)to : BLOCK;
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
        const bool is = begins[threadIdx.x] && mine < task.from_len;
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
        good = !fault && made <= task.to_len - done;
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
        emit(batch, (u32)count, task.to);
        done += made;
    }
    if (!good || at != task.from_len) *a.bad = 1;
}

// Where levels and values begin in the decompressed pages of version 1: one thread per page.
KERNEL(cut_pages) {
    const u64 i = thread_index();
    if (i >= a.task_count) return;
    const UnpackTask task = a.tasks[i];
    if (!task.page) return;
    PageDesc &page = *task.page;
    const u8 *p = task.to;
    u64 len = task.to_len;
    bool good = true;
    if (task.cuts & CUT_REPS) good = cut(&p, &len, &page.reps, &page.reps_len);
    if (good && task.cuts & CUT_LEVELS) good = cut(&p, &len, &page.levels, &page.levels_len);
    page.values = p, page.values_len = len;
    if (!good) *a.bad = 1;
}
