// SPDX-License-Identifier: Apache-2.0
// Index: from the masks of `scan` to a list of tokens, and from tokens to records.
//
// A record is a line, or, in the other framings, begins where no bracket is open. These kernels
// only find where records begin; `walk` checks that each is valid, and that only allowed bytes are
// between them. They rely on no property of the input.
#include "../abi.cuh"

KERNEL(index_tokens) {
    // Positions in the block's text, so that what is written to memory is contiguous.
    __shared__ u16 found[BLOCK * 64];
    const u64 w = thread_index();
    u64 mask = w < a.words ? a.tokens[w] : 0;
    u64 total;
    u32 at = (u32)block_scan<Sum>((u64)__popcll(mask), &total);
    for (; mask; mask &= mask - 1) found[at++] = (u16)(threadIdx.x * 64 + (u32)__ffsll((i64)mask) - 1);
    __syncthreads();
    // Four at a time, where all four are of this block.
    const u64 first = (u32)a.counts[blockIdx.x], end = first + total, base = (u64)blockIdx.x * BLOCK * 64;
    for (u64 group = (first & ~(u64)3) + 4 * threadIdx.x; group < end; group += 4 * BLOCK) {
        Quad places;
        u32 bytes = 0;
        for (u32 i = 0; i < 4; i++) {
            const u64 token = group + i;
            if (token < first || token >= end) continue;
            places.word[i] = (u32)(base + found[token - first]);
            bytes |= (u32)a.text[places.word[i]] << (8 * i);
        }
        if (group >= first && group + 4 <= end) {
            *(Quad *)(a.places + group) = places;
            *(u32 *)(a.bytes + group) = bytes;
            continue;
        }
        for (u32 i = 0; i < 4; i++) {
            const u64 token = group + i;
            if (token < first || token >= end) continue;
            a.places[token] = places.word[i];
            a.bytes[token] = (u8)(bytes >> (8 * i));
        }
    }
}

// Threads of a list in `expand_items`.
#define ITEM_THREADS 8

// Tokens of a thread, below, which are one access of sixteen bytes.
#define TOKENS 16

struct Tokens {
    Quad quad;
    u64 first;
    u32 count;
    __device__ __forceinline__ u8 at(u32 i) const { return (u8)(quad.word[i / 4] >> (i % 4 * 8)); }
};

__device__ __forceinline__ Tokens tokens_of(const FrameArgs &a) {
    Tokens tokens = {{{0, 0, 0, 0}}, thread_index() * TOKENS, 0};
    if (tokens.first >= a.tokens) return tokens;
    tokens.quad = *(const Quad *)(a.bytes + tokens.first);
    const u64 left = a.tokens - tokens.first;
    tokens.count = left < TOKENS ? (u32)left : TOKENS;
    return tokens;
}

__device__ __forceinline__ u64 opens(u8 c) {
    if (c == '{' || c == '[') return 1;
    return c == '}' || c == ']' ? ~(u64)0 : 0;
}

__device__ __forceinline__ u64 opened(const Tokens &tokens) {
    u64 sum = 0;
    for (u32 i = 0; i < TOKENS; i++)
        if (i < tokens.count) sum += opens(tokens.at(i));
    return sum;
}

KERNEL(frame_depths) {
    u64 total;
    block_scan<Sum>(opened(tokens_of(a)), &total);
    if (threadIdx.x == 0) a.depths[blockIdx.x] = total;
}

// Which of a thread's tokens begin a record, as bits. Every thread of the block must call it.
__device__ __forceinline__ u32 records_in(const FrameArgs &a, const Tokens &tokens) {
    u32 begin = 0;
    if (a.framing == F_LINES) {
        bool after_feed = tokens.count && (tokens.first == 0 || a.bytes[tokens.first - 1] == '\n');
        for (u32 i = 0; i < TOKENS; i++) {
            const bool feed = tokens.at(i) == '\n';
            if (i < tokens.count && after_feed && !feed) begin |= 1u << i;
            after_feed = feed;
        }
        return begin;
    }
    u64 total;
    u64 depth = a.depths[blockIdx.x] + block_scan<Sum>(opened(tokens), &total);
    for (u32 i = 0; i < TOKENS; i++) {
        if (i >= tokens.count) continue;
        const u8 c = tokens.at(i);
        if (depth == 0 && c != '}' && c != ']' && !(a.framing == F_ARRAY && c == ',')) begin |= 1u << i;
        depth += opens(c);
    }
    return begin;
}

KERNEL(frame_count) {
    u64 total;
    block_scan<Sum>((u64)__popc(records_in(a, tokens_of(a))), &total);
    if (threadIdx.x == 0) a.counts[blockIdx.x] = total;
}

KERNEL(frame_write) {
    const Tokens tokens = tokens_of(a);
    u32 begin = records_in(a, tokens);
    u64 total;
    u64 at = block_scan<Sum>((u64)__popc(begin), &total) + a.counts[blockIdx.x];
    for (; begin; begin &= begin - 1) a.starts[at++] = (u32)(tokens.first + (u64)__ffsll((i64)begin) - 1);
}

// The tokens of the items of lists of scalars: two apart, from the first one on. Eight threads per
// list.
KERNEL(expand_items) {
    const u64 list = thread_index() / ITEM_THREADS;
    if (list >= a.lists) return;
    const u64 start = a.size ? list * a.size : a.ends[list];
    const u64 count = a.size ? a.size : a.ends[list + 1] - start;
    if (count == 0) return;
    const u32 first = a.firsts[list];
    for (u64 k = threadIdx.x % ITEM_THREADS; k < count; k += ITEM_THREADS) {
        const u32 token = first + 2 * (u32)k;
        a.tokens[start + k] = first == NONE || a.bytes[token] == 'n' ? NONE : token;
    }
}
