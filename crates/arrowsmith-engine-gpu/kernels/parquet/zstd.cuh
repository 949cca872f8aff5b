// SPDX-License-Identifier: Apache-2.0
// The entropy coding of Zstandard (RFC 8878): bits read backward, tables of finite-state entropy
// (FSE), Huffman trees.
//
// This code runs in one thread and knows no blocks. All data that the format forbids is refused,
// for the library on the host would refuse it too; unusual data is refused as well, and decoded on
// the host.
#ifndef ARROWSMITH_ZSTD_CUH
#define ARROWSMITH_ZSTD_CUH
#include "unpack.cuh"

#define ZSTD_BLOCK_BYTES (128 << 10)
#define HUFFMAN_BITS 11
// Accuracies of the tables for literal lengths, offsets, match lengths and weights.
#define LENGTHS_LOG 9
#define OFFSETS_LOG 8
#define WEIGHTS_LOG 6

// A bit stream that is read from its end, where the highest set bit terminates it. Seven bytes
// before it and fifteen after it must be readable.
struct Backward {
    const u8 *p;
    // Bits left; bits beyond them read as 0.
    i32 left;
    // Bits of it from `low` on, up to the ones that are left: fewer than 64.
    i32 low;
    u64 word;

    __device__ bool open(const u8 *bytes, u64 len) {
        p = bytes, left = 0, word = 0, low = 0;
        if (len == 0 || len > ZSTD_BLOCK_BYTES || bytes[len - 1] == 0) return false;
        left = low = (i32)len * 8 - 8 + (63 - __clzll(bytes[len - 1]));
        return true;
    }

    // Reads so that `word` has the next `count` bits, at most 56, or all that are left.
    __device__ __forceinline__ void need(u32 count) {
        if (left - (i32)count >= low || low == 0) return;
        low = left < 56 ? 0 : (left - 56) & ~7;
        word = load8(p + low / 8);
    }

    // The next `count` bits, at most 32, which `need` has read.
    __device__ __forceinline__ u32 next(u32 count) {
        const i32 from = left - (i32)count;
        const u64 mask = ((u64)1 << count) - 1;
        left = from;
        if (from >= 0) return (u32)(word >> (from - low) & mask);
        // Zeros follow the last one.
        return from > -(i32)count ? (u32)(word << -from & mask) : 0;
    }

    __device__ __forceinline__ u32 take(u32 count) {
        need(count);
        return next(count);
    }
};

// An entry of a table: its symbol, the bits that lead to the next state, and of codes those that
// follow them.
struct FseEntry {
    u8 symbol, bits;
    // The next state without its bits, nine at most; above them, the number of a code's own bits.
    u16 base;

    __device__ __forceinline__ u32 state() const { return base & 511; }
    __device__ __forceinline__ u32 own() const { return base >> 9; }
};

// The distribution of symbols in an FSE table description: `most` is the last allowed symbol.
// Returns the number of bytes, or 0.
__device__ inline u64 fse_shares(const u8 *p, u64 len, u32 most, u32 log_most, short *shares, u32 *symbols, u32 *log) {
    u64 bit = 0;
    const u64 end = len * 8;
    auto peek = [&](u32 count) {
        u32 value = 0;
        for (u32 b = 0; b < count; b++)
            if (bit + b < end) value |= (u32)(p[(bit + b) / 8] >> ((bit + b) % 8) & 1) << b;
        return value;
    };
    *log = peek(4) + 5;
    bit += 4;
    if (*log > log_most) return 0;
    i32 remaining = (1 << *log) + 1, threshold = 1 << *log;
    u32 bits = *log + 1, symbol = 0;
    bool none = false;
    while (remaining > 1 && bit < end) {
        if (none) {
            u32 more;
            do {
                more = peek(2);
                bit += 2;
                for (u32 i = 0; i < more; i++) {
                    if (symbol > most) return 0;
                    shares[symbol++] = 0;
                }
            } while (more == 3 && bit < end);
        }
        if (symbol > most) return 0;
        const i32 spare = 2 * threshold - 1 - remaining;
        i32 share = (i32)peek(bits - 1);
        if (share < spare) {
            bit += bits - 1;
        } else {
            share = (i32)peek(bits);
            if (share >= threshold) share -= spare;
            bit += bits;
        }
        share--;
        remaining -= share < 0 ? -share : share;
        shares[symbol++] = (short)share;
        none = share == 0;
        if (remaining < 1) return 0;
        while (remaining < threshold) bits--, threshold >>= 1;
    }
    if (remaining != 1 || bit > end) return 0;
    *symbols = symbol;
    return (bit + 7) / 8;
}

// The table of a distribution; `own` are the bits of each symbol's own, if it has any. `next` is
// scratch for one number per symbol.
__device__ inline bool fse_table(const short *shares, u32 symbols, u32 log, const u8 *own, FseEntry *table, u16 *next) {
    const u32 size = 1 << log, mask = size - 1, step = (size >> 1) + (size >> 3) + 3;
    u32 high = size;
    for (u32 s = 0; s < symbols; s++) {
        if (shares[s] == -1) {
            if (high == 0) return false;
            table[--high].symbol = (u8)s;
        }
        next[s] = shares[s] == -1 ? 1 : (u16)shares[s];
    }
    u32 at = 0;
    for (u32 s = 0; s < symbols; s++) {
        for (i32 i = 0; i < shares[s]; i++) {
            table[at].symbol = (u8)s;
            do at = (at + step) & mask;
            while (at >= high && high > 0);
        }
    }
    if (at != 0) return false;
    for (u32 i = 0; i < size; i++) {
        const u32 symbol = table[i].symbol, state = next[symbol]++;
        const u32 bits = log - (63 - (u32)__clzll(state));
        table[i].bits = (u8)bits;
        table[i].base = (u16)(((state << bits) - size) | (own ? own[symbol] : 0) << 9);
    }
    return true;
}

// A Huffman tree: for every `log` bits the symbol (low byte) and the length of its code (high
// byte).
struct Huffman {
    u16 entries[1 << HUFFMAN_BITS];
    u32 log;
};

// Scratch for building a table: of up to 53 codes, or 13 weights.
struct Workshop {
    u8 weights[256];
    short shares[64];
    u16 next[64];
    FseEntry table[1 << WEIGHTS_LOG];
};

// Weights that are coded by FSE, with two alternating states. Returns their number, or 0.
__device__ inline u32 huffman_weights(const u8 *p, u64 len, Workshop &shop) {
    u32 symbols, log;
    const u64 head = fse_shares(p, len, HUFFMAN_BITS, WEIGHTS_LOG, shop.shares, &symbols, &log);
    Backward bits;
    if (head == 0 || head >= len || !fse_table(shop.shares, symbols, log, 0, shop.table, shop.next)) return 0;
    if (!bits.open(p + head, len - head)) return 0;
    u32 state[2] = {bits.take(log), bits.take(log)};
    if (bits.left < 0) return 0;
    for (u32 count = 0; count < 254;) {
        const FseEntry entry = shop.table[state[count % 2]];
        shop.weights[count++] = entry.symbol;
        // The last bits: each state yields its symbol, without an update.
        if (bits.left < entry.bits) {
            shop.weights[count] = shop.table[state[count % 2]].symbol;
            return count + 1;
        }
        state[(count + 1) % 2] = entry.state() + bits.take(entry.bits);
    }
    return 0;
}

// The Huffman tree of literals. Returns the number of bytes of its description, or 0.
__device__ inline u64 huffman_tree(const u8 *p, u64 len, Huffman &tree, Workshop &shop) {
    if (len == 0) return 0;
    const u32 head = p[0];
    u32 symbols;
    u64 bytes;
    if (head < 128) {
        bytes = 1 + head;
        if (bytes > len) return 0;
        symbols = huffman_weights(p + 1, head, shop);
        if (symbols == 0) return 0;
    } else {
        symbols = head - 127;
        bytes = 1 + (symbols + 1) / 2;
        if (bytes > len) return 0;
        for (u32 s = 0; s < symbols; s++) shop.weights[s] = s % 2 ? p[1 + s / 2] & 15 : p[1 + s / 2] >> 4;
    }
    u32 sum = 0;
    for (u32 weight = 0; weight <= HUFFMAN_BITS + 1; weight++) shop.next[weight] = 0;
    for (u32 s = 0; s < symbols; s++) {
        const u32 weight = shop.weights[s];
        if (weight > HUFFMAN_BITS) return 0;
        if (weight) sum += 1 << (weight - 1);
        shop.next[weight]++;
    }
    if (sum == 0) return 0;
    // The last weight completes the sum to a power of two.
    const u32 log = 64 - (u32)__clzll(sum), rest = (1 << log) - sum;
    if (log > HUFFMAN_BITS || rest & (rest - 1)) return 0;
    const u32 last = 64 - (u32)__clzll(rest);
    shop.weights[symbols++] = (u8)last;
    shop.next[last]++;
    // The deepest level must have at least two leaves.
    const u32 least = shop.next[1];
    if (least < 2 || least % 2) return 0;
    // The first entry of each weight; those of less weight come first.
    for (u32 weight = 1, at = 0; weight <= log; weight++) {
        const u32 leaves = shop.next[weight];
        shop.next[weight] = (u16)at;
        at += leaves << (weight - 1);
    }
    for (u32 s = 0; s < symbols; s++) {
        const u32 weight = shop.weights[s];
        if (weight == 0) continue;
        const u32 at = shop.next[weight], count = 1 << (weight - 1);
        const u16 entry = (u16)(s | (log + 1 - weight) << 8);
        for (u32 i = 0; i < count; i++) tree.entries[at + i] = entry;
        shop.next[weight] = (u16)(at + count);
    }
    tree.log = log;
    return bytes;
}

// `count` literals of a stream.
__device__ inline bool huffman_stream(const u8 *p, u64 len, const Huffman &tree, u8 *out, u32 count) {
    Backward bits;
    const u32 log = tree.log;
    if (!bits.open(p, len)) return false;
    u32 i = 0;
    // Five codes at a time, of at most 11 bits each, from one word.
    while (count - i >= 5 && bits.left >= 56) {
        bits.need(55);
        u64 top = bits.word << (64 - (bits.left - bits.low));
        u32 used = 0;
        for (u32 k = 0; k < 5; k++) {
            const u32 entry = tree.entries[top >> (64 - log)];
            out[i++] = (u8)entry;
            top <<= entry >> 8;
            used += entry >> 8;
        }
        bits.left -= (i32)used;
    }
    for (; i < count; i++) {
        bits.need(log);
        const i32 left = bits.left;
        const u32 entry = tree.entries[bits.next(log)];
        out[i] = (u8)entry;
        bits.left = left - (i32)(entry >> 8);
    }
    return bits.left == 0;
}

#endif
