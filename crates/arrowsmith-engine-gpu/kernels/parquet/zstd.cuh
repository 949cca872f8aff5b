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

// A bit stream that is read from its end, where the highest set bit terminates it.
struct Backward {
    const u8 *p;
    // Bits left; bits beyond them read as 0.
    i64 left;
    // Sixty-four bits of it, from bit `low`.
    u64 word;
    i64 low;

    __device__ bool open(const u8 *bytes, u64 len) {
        p = bytes, left = 0, word = 0, low = 0;
        if (len == 0 || len > ZSTD_BLOCK_BYTES || bytes[len - 1] == 0) return false;
        left = low = (i64)len * 8 - 8 + (63 - __clzll(bytes[len - 1]));
        return true;
    }

    // The next `count` bits, at most 32.
    __device__ u32 peek(u32 count) {
        if (count == 0 || left <= 0) return 0;
        const i64 from = left - count;
        if (from < low) {
            low = left < 56 ? 0 : (left - 56) & ~(i64)7;
            word = 0;
            for (u32 b = 0; b * 8 < left - low; b++) word |= (u64)p[low / 8 + b] << (8 * b);
        }
        if (from < 0) return (u32)((word & (((u64)1 << left) - 1)) << -from);
        return (u32)(word >> (from - low)) & (u32)(((u64)1 << count) - 1);
    }

    __device__ u32 take(u32 count) {
        const u32 bits = peek(count);
        left -= count;
        return bits;
    }
};

// An entry of a table: its symbol, and the next state.
struct FseEntry {
    u8 symbol, bits;
    u16 base;
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

// The table of a distribution. `next` is scratch for one number per symbol.
__device__ inline bool fse_table(const short *shares, u32 symbols, u32 log, FseEntry *table, u16 *next) {
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
        const u32 state = next[table[i].symbol]++;
        const u32 bits = log - (63 - (u32)__clzll(state));
        table[i].bits = (u8)bits;
        table[i].base = (u16)((state << bits) - size);
    }
    return true;
}

// A Huffman tree: for every `log` bits the symbol (low byte) and the length of its code (high
// byte).
struct Huffman {
    u16 entries[1 << HUFFMAN_BITS];
    u32 log;
};

// Scratch for building a table.
struct Workshop {
    u8 weights[256];
    short shares[256];
    u16 next[256];
    FseEntry table[1 << WEIGHTS_LOG];
};

// Weights that are coded by FSE, with two alternating states. Returns their number, or 0.
__device__ inline u32 huffman_weights(const u8 *p, u64 len, Workshop &shop) {
    u32 symbols, log;
    const u64 head = fse_shares(p, len, 255, WEIGHTS_LOG, shop.shares, &symbols, &log);
    Backward bits;
    if (head == 0 || head >= len || !fse_table(shop.shares, symbols, log, shop.table, shop.next)) return 0;
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
        state[(count + 1) % 2] = entry.base + bits.take(entry.bits);
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
    for (u32 s = 0; s < symbols; s++) {
        if (shop.weights[s] > HUFFMAN_BITS) return 0;
        if (shop.weights[s]) sum += 1 << (shop.weights[s] - 1);
    }
    if (sum == 0) return 0;
    // The last weight completes the sum to a power of two.
    const u32 log = 64 - (u32)__clzll(sum), rest = (1 << log) - sum;
    if (log > HUFFMAN_BITS || rest & (rest - 1)) return 0;
    shop.weights[symbols++] = (u8)(64 - __clzll(rest));
    u32 at = 0, least = 0;
    for (u32 weight = 1; weight <= log; weight++) {
        for (u32 s = 0; s < symbols; s++) {
            if (shop.weights[s] != weight) continue;
            least += weight == 1;
            const u16 entry = (u16)(s | (log + 1 - weight) << 8);
            for (u32 i = 0; i < 1u << (weight - 1); i++) tree.entries[at++] = entry;
        }
    }
    tree.log = log;
    // The deepest level must have at least two leaves.
    return least >= 2 && least % 2 == 0 ? bytes : 0;
}

// `count` literals of a stream.
__device__ inline bool huffman_stream(const u8 *p, u64 len, const Huffman &tree, u8 *out, u64 count) {
    Backward bits;
    if (!bits.open(p, len)) return false;
    for (u64 i = 0; i < count; i++) {
        const u16 entry = tree.entries[bits.peek(tree.log)];
        out[i] = (u8)entry;
        bits.left -= entry >> 8;
    }
    return bits.left == 0;
}

#endif
