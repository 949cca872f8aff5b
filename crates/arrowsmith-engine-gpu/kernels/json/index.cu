// SPDX-License-Identifier: Apache-2.0
// Index: from the masks of `scan` to a list of tokens, and from tokens to records.
//
// A record is a line, or, in the other framings, begins where no bracket is open. These kernels
// only find where records begin; `walk` checks that each is valid, and that only allowed bytes are
// between them. They rely on no property of the input.
#include "../abi.cuh"

KERNEL(index_tokens) {
    const u64 w = thread_index();
    u64 mask = w < a.words ? a.tokens[w] : 0;
    u64 total;
    u64 at = block_scan<Sum>((u64)__popcll(mask), &total) + (u32)a.counts[blockIdx.x];
    for (; mask; mask &= mask - 1, at++) {
        const u64 place = w * 64 + (u64)__ffsll((i64)mask) - 1;
        a.places[at] = (u32)place;
        a.bytes[at] = a.text[place];
    }
}

__device__ __forceinline__ u64 opens(u8 c) {
    if (c == '{' || c == '[') return 1;
    return c == '}' || c == ']' ? ~(u64)0 : 0;
}

KERNEL(frame_depths) {
    const u64 i = thread_index();
    u64 total;
    block_scan<Sum>(i < a.tokens ? opens(a.bytes[i]) : 0, &total);
    if (threadIdx.x == 0) a.depths[blockIdx.x] = total;
}

__device__ bool starts_record(const FrameArgs &a, u64 i, u64 depth) {
    if (i >= a.tokens) return false;
    const u8 c = a.bytes[i];
    if (a.framing == F_LINES) return c != '\n' && (i == 0 || a.bytes[i - 1] == '\n');
    return depth == 0 && c != '}' && c != ']' && !(a.framing == F_ARRAY && c == ',');
}

__device__ u64 depth_before(const FrameArgs &a, u64 i) {
    if (a.framing == F_LINES) return 0;
    u64 total;
    const u64 local = block_scan<Sum>(i < a.tokens ? opens(a.bytes[i]) : 0, &total);
    return local + a.depths[blockIdx.x];
}

KERNEL(frame_count) {
    const u64 i = thread_index();
    const u64 depth = depth_before(a, i);
    u64 total;
    block_scan<Sum>(starts_record(a, i, depth) ? 1 : 0, &total);
    if (threadIdx.x == 0) a.counts[blockIdx.x] = total;
}

KERNEL(frame_write) {
    const u64 i = thread_index();
    const u64 depth = depth_before(a, i);
    const bool starts = starts_record(a, i, depth);
    u64 total;
    const u64 at = block_scan<Sum>(starts ? 1 : 0, &total) + a.counts[blockIdx.x];
    if (starts) a.starts[at] = (u32)i;
}
