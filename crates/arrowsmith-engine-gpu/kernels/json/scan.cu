// SPDX-License-Identifier: Apache-2.0
// Scan: from bytes to the positions where tokens begin. A thread looks at 64 bytes as bit masks.
//
// Whether a quote is escaped, and whether a byte is inside a string, depends on all bytes before
// it. The effect of 64 bytes on that state is a function of four values, six bits long; functions
// are combined by composition, which a parallel scan does (the idea of ParPaRaw: Stehle and
// Jacobsen 2020):
//   scan_states   the effect of each block of text on the state    (reads the text once)
//   scan_join     the state at the start of each block             (one block)
//   scan_masks    the masks, now that the state is known           (reads the text again)
// A *token* is a bracket, comma or colon outside strings, the quote that opens a string, the first
// byte of any other word, and, if records are lines, a line feed. White space that is not a token
// only separates words, and is not looked at again.
#include "../abi.cuh"

// The effect of a piece of text, for each of its two possible start states: not escaped (bits 0 to
// 2) and escaped (3 to 5). Bit 0: the next byte is escaped. Bit 1: an odd number of quotes, since
// the last line feed if there was one. Bit 2: there was a line feed that ends any string.
struct State {
    static __device__ __forceinline__ u64 identity() { return 8; }
    static __device__ __forceinline__ u64 join(u64 a, u64 b) {
        u64 joined = 0;
        for (u32 way = 0; way < 2; way++) {
            const u64 first = a >> (3 * way) & 7;
            const u64 second = b >> (3 * (first & 1)) & 7;
            const u64 reset = (first | second) & 4;
            const u64 odd = second & 4 ? second & 2 : (first ^ second) & 2;
            joined |= ((second & 1) | odd | reset) << (3 * way);
        }
        return joined;
    }
};

struct Masks {
    u64 quote, backslash, op, space, feed, there;
};

// Exchanges the bits of `a` above `shift` places that `mask` selects with those of `b`.
__device__ __forceinline__ void exchange(u32 *a, u32 *b, u32 shift, u32 mask) {
    const u32 differ = (*a >> shift ^ *b) & mask;
    *b ^= differ;
    *a ^= differ << shift;
}

// Thirty-two bytes as eight planes: bit i of plane b is bit b of byte i (the layout of Parabix:
// Cameron et al. 2008). A class of bytes is then a few operations on all of them.
__device__ __forceinline__ void planes(const u8 *text, u32 *plane) {
    const Quad *quads = (const Quad *)text;
    const Quad low = quads[0], high = quads[1];
    for (u32 half = 0; half < 2; half++) {
        // Bytes 8j + 4 half + k, for each j, to byte j of word k.
        const u32 a = low.word[half], b = low.word[2 + half], c = high.word[half], d = high.word[2 + half];
        const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
        const u32 ef = __byte_perm(a, b, 0x7362), gh = __byte_perm(c, d, 0x7362);
        plane[4 * half] = __byte_perm(ab, cd, 0x5410);
        plane[4 * half + 1] = __byte_perm(ab, cd, 0x7632);
        plane[4 * half + 2] = __byte_perm(ef, gh, 0x5410);
        plane[4 * half + 3] = __byte_perm(ef, gh, 0x7632);
    }
    for (u32 i = 0; i < 4; i++) exchange(plane + i, plane + i + 4, 4, 0x0F0F0F0F);
    for (u32 i = 0; i < 8; i += 4) {
        exchange(plane + i, plane + i + 2, 2, 0x33333333);
        exchange(plane + i + 1, plane + i + 3, 2, 0x33333333);
    }
    for (u32 i = 0; i < 8; i += 2) exchange(plane + i, plane + i + 1, 1, 0x55555555);
}

// Bytes after the text, up to a multiple of 64, are readable.
__device__ __forceinline__ Masks classify(const u8 *text, u64 from, u64 len, bool lines) {
    Masks m = {0, 0, 0, 0, 0, 0};
    for (u32 half = 0; half < 2; half++) {
        u32 p[8];
        planes(text + from + 32 * half, p);
        // By the upper and the lower four bits.
        const u32 x0 = ~(p[7] | p[6] | p[5] | p[4]), x2 = ~(p[7] | p[6] | p[4]) & p[5];
        const u32 x3 = ~(p[7] | p[6]) & p[5] & p[4], x5or7 = ~p[7] & p[6] & p[4], x5 = x5or7 & ~p[5];
        const u32 x8 = p[3] & ~p[2], xC = p[3] & p[2];
        const u32 quote = x2 & ~(p[3] | p[2] | p[0]) & p[1];
        const u32 backslash = x5 & xC & ~(p[1] | p[0]);
        // Brackets and braces end in B or D.
        const u32 bracket = x5or7 & p[3] & p[0] & (p[2] ^ p[1]);
        const u32 comma = x2 & xC & ~(p[1] | p[0]), colon = x3 & x8 & p[1] & ~p[0];
        const u32 blank = x2 & ~(p[3] | p[2] | p[1] | p[0]);
        // A tab is 09, a carriage return 0D.
        const u32 space = blank | (x0 & p[3] & ~p[1] & p[0]);
        const u32 feed = x0 & x8 & p[1] & ~p[0];
        const u32 shift = 32 * half;
        m.quote |= (u64)quote << shift, m.backslash |= (u64)backslash << shift;
        m.op |= (u64)(bracket | comma | colon) << shift;
        m.space |= (u64)space << shift, m.feed |= (u64)feed << shift;
    }
    const u64 left = len - from;
    m.there = left >= 64 ? ~(u64)0 : ((u64)1 << left) - 1;
    m.quote &= m.there, m.backslash &= m.there, m.op &= m.there, m.space &= m.there, m.feed &= m.there;
    if (!lines) m.space |= m.feed;
    return m;
}

// The bytes that a backslash escapes; `carry` is whether the first one is, and on return whether
// the next one is (simdjson's method: Langdale and Lemire 2019, section 3.1.1).
__device__ __forceinline__ u64 escaped(u64 backslash, u64 *carry) {
    const u64 even = 0x5555555555555555ull;
    backslash &= ~*carry;
    const u64 follows = backslash << 1 | *carry;
    const u64 odd_starts = backslash & ~even & ~follows;
    const u64 sequences = odd_starts + backslash;
    *carry = sequences < backslash;
    return (even ^ sequences << 1) & follows;
}

__device__ __forceinline__ u64 prefix_xor(u64 bits) {
    for (u32 step = 1; step < 64; step *= 2) bits ^= bits << step;
    return bits;
}

// The effect of 64 bytes on the state.
__device__ __forceinline__ u64 effect(const Masks &m, bool lines) {
    u64 state = 0;
    for (u32 way = 0; way < 2; way++) {
        u64 carry = way;
        const u64 quote = m.quote & ~escaped(m.backslash, &carry);
        u64 counted = quote, reset = 0;
        if (lines && m.feed) {
            const u32 last = 63 - (u32)__clzll((i64)m.feed);
            counted = last == 63 ? 0 : quote >> (last + 1);
            reset = 4;
        }
        state |= (carry | (u64)(__popcll(counted) & 1) << 1 | reset) << (3 * way);
    }
    return state;
}

KERNEL(scan_states) {
    const u64 from = thread_index() * 64;
    u64 state = State::identity();
    if (from < a.len) state = effect(classify(a.text, from, a.len, a.lines), a.lines);
    u64 total;
    block_scan<State>(state, &total);
    if (threadIdx.x == 0) a.states[blockIdx.x] = total;
}

KERNEL(scan_join) { scan_array<State>(a.values, a.count); }

// Exclusive prefix sum of an array by one block; the place after the last gets the total.
KERNEL(sum_join) { scan_array<Sum>(a.values, a.count); }

KERNEL(scan_masks) {
    const u64 from = thread_index() * 64;
    Masks m = {0, 0, 0, 0, 0, 0};
    u64 state = State::identity();
    if (from < a.len) {
        m = classify(a.text, from, a.len, a.lines);
        state = effect(m, a.lines);
    }
    u64 total;
    const u64 local = block_scan<State>(state, &total);
    // The text begins not escaped and outside strings: the first way.
    const u64 before = State::join(a.states[blockIdx.x], local) & 7;
    u64 tokens = 0;
    if (from < a.len) {
        u64 carry = before & 1;
        const u64 quote = m.quote & ~escaped(m.backslash, &carry);
        const bool inside = before & 2;
        u64 string = prefix_xor(quote) ^ (inside ? ~(u64)0 : 0);
        if (a.lines) {
            for (u64 feeds = m.feed; feeds; feeds &= feeds - 1) {
                const u32 at = (u32)__ffsll((i64)feeds) - 1;
                if (string >> at & 1) string ^= ~(u64)0 << at;
            }
        }
        const u64 text = string | quote;
        const u64 other = a.lines ? m.feed : 0;
        const u64 word = ~(m.op | m.space | other | text) & m.there;
        bool goes_on = false;
        if (from > 0 && !inside) {
            const u8 c = a.text[from - 1];
            goes_on = !ends_word(c);
        }
        const u64 starts = word & ~(word << 1 | (goes_on ? 1 : 0));
        tokens = (m.op & ~text) | starts | (quote & string) | other;
        a.tokens[from / 64] = tokens;
    }
    u64 counts;
    block_scan<Sum>((u64)__popcll(tokens) | (u64)__popcll(m.feed) << 32, &counts);
    if (threadIdx.x == 0) a.counts[blockIdx.x] = counts;
}
