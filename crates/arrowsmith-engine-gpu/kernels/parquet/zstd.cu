// SPDX-License-Identifier: Apache-2.0
// Zstandard pages (RFC 8878). With many pages, one block of threads per page: one thread builds
// tables and reads sequences, four read literals, all make the bytes. With few pages, `zstd_parts`
// reads the literals and the sequences of all compressed blocks at once, which the host has found,
// by a warp each, and `zstd_join` only makes the bytes, which depend on those before them. A page
// is one frame without a dictionary and without a checksum; the host decompresses others.
#include "zstd.cuh"

// Lengths of literals and of matches, by code: the base, and the number of extra bits.
__constant__ u32 LENGTH_LEAST[36] = {0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,   12,   13,   14,   15,    16,    18,
                                     20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
__constant__ u8 LENGTH_BITS[36] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  1,  1,
                                   1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__constant__ u32 MATCH_LEAST[53] = {3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,  15,  16,  17,   18,   19,   20,
                                    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,  33,  34,  35,   37,   39,   41,
                                    43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539};
__constant__ u8 MATCH_BITS[53] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,
                                  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,  1,  1,  1,
                                  2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__constant__ u8 OFFSET_BITS[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
// The default distributions of symbols, for blocks without their own.
__constant__ signed char LENGTH_SHARES[36] = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                              2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
__constant__ signed char OFFSET_SHARES[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1,
                                              1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};
__constant__ signed char MATCH_SHARES[53] = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1,  1,  1,  1,
                                             1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,
                                             1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};

enum Codes : u32 { OF_LENGTHS, OF_OFFSETS, OF_MATCHES };

// The tables of the three kinds of codes, and which of them there are.
struct Tables {
    FseEntry lengths[1 << LENGTHS_LOG], offsets[1 << OFFSETS_LOG], matches[1 << LENGTHS_LOG];
    u32 logs[3];
    bool known[3];
};

// What a block of threads that decodes a page has.
struct Zstd {
    Tables tables;
    Huffman tree;
    bool has_tree;
    Workshop shop;
    Batch batch;
    // The last three offsets.
    u32 last[3];
    // Written by the first thread for the others.
    u64 told;
    u32 count;
    bool more;
    u32 fault;
};

// What a warp that reads literals or sequences has.
struct Part {
    union {
        Tables tables;
        Huffman tree;
    };
    Workshop shop;
};

// The sequences of a block, as the first thread reads them.
struct Sequences {
    Backward bits;
    u32 state[3];
    u64 left;
};

// The first thread's result, broadcast to all.
__device__ inline u64 tell(Zstd &z, u64 word) {
    __syncthreads();
    if (threadIdx.x == 0) z.told = word;
    __syncthreads();
    return z.told;
}

__device__ inline u64 little(const u8 *p, u32 bytes) {
    u64 word = 0;
    for (u32 b = 0; b < bytes; b++) word |= (u64)p[b] << (8 * b);
    return word;
}

// The header of a frame: the start of its blocks, and the maximum size of a block's output.
__device__ inline bool zstd_frame(const UnpackTask &task, u64 *at, u64 *block_most) {
    const u8 *p = task.from;
    if (task.from_len < 6 || little(p, 4) != 0xFD2FB528) return false;
    const u32 head = p[4];
    const bool single = head & 0x20;
    // A reserved bit, a checksum, a dictionary.
    if (head & 0x0F) return false;
    u64 window = 0;
    *at = 5;
    if (!single) {
        const u32 log = 10 + (p[5] >> 3);
        if (log > 31) return false;
        window = ((u64)1 << log) + ((u64)1 << log >> 3) * (p[5] & 7);
        *at = 6;
    }
    const u32 bytes = head >> 6 ? 1 << (head >> 6) : single;
    if (bytes > task.from_len - *at) return false;
    const u64 content = little(p + *at, bytes) + (bytes == 2 ? 256 : 0);
    if (bytes && content != task.to_len) return false;
    if (single) window = content;
    *at += bytes;
    *block_most = window < ZSTD_BLOCK_BYTES ? window : ZSTD_BLOCK_BYTES;
    return true;
}

// The table of one kind of code, by its mode. `*at` is advanced past its description.
__device__ inline bool zstd_table(Tables &z, Workshop &shop, u32 kind, u32 mode, const u8 *p, u64 len, u64 *at) {
    FseEntry *table = kind == OF_LENGTHS ? z.lengths : kind == OF_OFFSETS ? z.offsets : z.matches;
    const u8 *own = kind == OF_LENGTHS ? LENGTH_BITS : kind == OF_OFFSETS ? OFFSET_BITS : MATCH_BITS;
    const u32 most = kind == OF_LENGTHS ? 35 : kind == OF_OFFSETS ? 31 : 52;
    u32 symbols = 0;
    if (mode == 3) return z.known[kind];
    z.known[kind] = true;
    if (mode == 1) {
        if (*at >= len || p[*at] > most) return false;
        const u8 symbol = p[(*at)++];
        table[0] = {symbol, 0, (u16)(own[symbol] << 9)};
        z.logs[kind] = 0;
        return true;
    }
    if (mode == 0) {
        const signed char *shares = kind == OF_LENGTHS ? LENGTH_SHARES : kind == OF_OFFSETS ? OFFSET_SHARES : MATCH_SHARES;
        symbols = kind == OF_OFFSETS ? 29 : most + 1;
        z.logs[kind] = kind == OF_OFFSETS ? 5 : 6;
        for (u32 s = 0; s < symbols; s++) shop.shares[s] = shares[s];
    } else {
        const u32 log_most = kind == OF_OFFSETS ? OFFSETS_LOG : LENGTHS_LOG;
        const u64 bytes = fse_shares(p + *at, len - *at, most, log_most, shop.shares, &symbols, &z.logs[kind]);
        if (bytes == 0) return false;
        *at += bytes;
    }
    return fse_table(shop.shares, symbols, z.logs[kind], own, table, shop.next);
}

// The header of a block's sequences.
__device__ inline bool zstd_sequences(Tables &z, Workshop &shop, const u8 *p, u64 len, Sequences &sequences) {
    sequences.left = 0;
    if (len == 0) return false;
    u64 at = 1;
    sequences.left = p[0];
    if (p[0] == 0) return len == 1;
    if (p[0] >= 128) {
        const u32 bytes = p[0] == 255 ? 3 : 2;
        if (len < bytes) return false;
        sequences.left = p[0] == 255 ? little(p + 1, 2) + 0x7F00 : (((u64)p[0] - 128) << 8) + p[1];
        at = bytes;
    }
    if (at >= len || p[at] & 3) return false;
    const u32 modes = p[at++];
    for (u32 kind = 0; kind < 3; kind++)
        if (!zstd_table(z, shop, kind, modes >> (6 - 2 * kind) & 3, p, len, &at)) return false;
    if (!sequences.bits.open(p + at, len - at)) return false;
    for (u32 kind = 0; kind < 3; kind++) sequences.state[kind] = sequences.bits.take(z.logs[kind]);
    return sequences.bits.left >= 0;
}

// The next sequence: its literals, the bytes of its match, and the value that encodes its offset.
__device__ __forceinline__ void zstd_sequence(const Tables &z, Sequences &sequences, u32 *length, u32 *match, u32 *value) {
    Backward &bits = sequences.bits;
    const FseEntry of_length = z.lengths[sequences.state[OF_LENGTHS]];
    const FseEntry of_offset = z.offsets[sequences.state[OF_OFFSETS]];
    const FseEntry of_match = z.matches[sequences.state[OF_MATCHES]];
    const u32 own = of_match.own() + of_length.own(), steps = of_length.bits + of_match.bits + of_offset.bits;
    // Mostly one access reads all of it.
    const u32 all = of_offset.own() + own + steps;
    const bool wide = all > 56;
    bits.need(wide ? of_offset.own() : all);
    *value = (1u << of_offset.symbol) + bits.next(of_offset.own());
    if (wide) bits.need(own);
    *match = MATCH_LEAST[of_match.symbol] + bits.next(of_match.own());
    *length = LENGTH_LEAST[of_length.symbol] + bits.next(of_length.own());
    if (--sequences.left == 0) return;
    if (wide) bits.need(steps);
    sequences.state[OF_LENGTHS] = of_length.state() + bits.next(of_length.bits);
    sequences.state[OF_MATCHES] = of_match.state() + bits.next(of_match.bits);
    sequences.state[OF_OFFSETS] = of_offset.state() + bits.next(of_offset.bits);
}

// An offset that is one of the three before the block, by its number, less what is in the lower
// bits: it is known once the blocks before are.
#define OPEN_OFFSET 0x80000000u
#define OPEN_SHIFT 28

// The offset that a value encodes: a new one, or one of the last three, which may be open; 0 if
// invalid.
__device__ __forceinline__ u32 zstd_offset(u32 *last, u32 value, bool no_literals) {
    u32 offset;
    if (value > 3) {
        offset = value - 3;
        if (offset >= OPEN_OFFSET) return 0;
    } else {
        const u32 which = value - 1 + no_literals;
        if (which == 0) return last[0];
        // More is taken off an open one.
        if (which == 3) offset = last[0] & OPEN_OFFSET ? last[0] + 1 : last[0] - 1;
        else offset = which == 1 ? last[1] : last[2];
        if (which == 1) {
            last[1] = last[0];
            last[0] = offset;
            return offset;
        }
    }
    last[2] = last[1];
    last[1] = last[0];
    last[0] = offset;
    return offset;
}

// A batch of elements, by the first thread: of the next sequences, and at the end of the remaining
// literals. `*made` is the output position, `most` the limit.
__device__ inline bool zstd_batch(Zstd &z, Sequences &sequences, const u8 **literals, u64 *count, u64 *made, u64 most) {
    Batch &batch = z.batch;
    Backward &bits = sequences.bits;
    u32 n = 0;
    while (n + 2 <= BLOCK && sequences.left > 0) {
        u32 value, match, length;
        zstd_sequence(z.tables, sequences, &length, &match, &value);
        const u32 offset = zstd_offset(z.last, value, length == 0);
        if (bits.left < 0 || length > *count || (u64)length + match > most - *made) return false;
        if (offset == 0 || offset > *made + length) return false;
        if (length) {
            batch.start[n] = (u32)*made, batch.back[n] = 0, batch.from[n++] = (u64)*literals;
            *made += length, *literals += length, *count -= length;
        }
        // A copy with the same distance as the one right before it is merged into it.
        if (length || n == 0 || batch.back[n - 1] != offset)
            batch.start[n] = (u32)*made, batch.back[n] = offset, batch.from[n++] = *made;
        *made += match;
    }
    z.more = sequences.left > 0 || (*count && n == BLOCK);
    if (!z.more && *count) {
        if (*count > most - *made) return false;
        batch.start[n] = (u32)*made, batch.back[n] = 0, batch.from[n++] = (u64)*literals;
        *made += *count, *count = 0;
    }
    batch.start[n] = (u32)*made;
    z.count = n;
    return true;
}

// The header of a block's literals: its bytes, the literals that follow, and their stored bytes;
// false if they are not within `len` bytes.
__device__ inline bool zstd_literals_head(const u8 *p, u64 len, u32 *head, u64 *count, u64 *stored) {
    const u32 kind = p[0] & 3, format = p[0] >> 2 & 3;
    *head = kind < 2 ? (format & 1 ? 1 + (format + 1) / 2 : 1) : format < 2 ? 3 : format + 2;
    if (*head > len) return false;
    const u64 word = little(p, *head) >> 4;
    if (kind < 2) {
        *count = format & 1 ? word : p[0] >> 3;
        *stored = kind == 0 ? *count : 1;
    } else {
        const u32 bits = format < 2 ? 10 : format == 2 ? 14 : 18;
        *count = word & ((1 << bits) - 1);
        *stored = word >> bits;
    }
    return *stored <= len - *head;
}

// Literals of one stream, or of four after the lengths of the first three: each of the first
// threads reads one. Returns false if it cannot.
__device__ inline bool zstd_streams(const u8 *p, u64 left, u32 format, u64 count, u32 thread, const Huffman &tree, u8 *out) {
    const u32 streams = format == 0 ? 1 : 4;
    const u64 each = format == 0 ? count : (count + 3) / 4;
    if (format == 0 ? count == 0 : count < 6 || left < 10) return false;
    u64 from = format == 0 ? 0 : 6, mine = 0, mine_from = 0;
    for (u32 stream = 0; stream < streams; stream++) {
        const u64 bytes = stream + 1 < streams ? little(p + 2 * stream, 2) : left - from;
        if (bytes > left - from) return false;
        if (stream == thread) mine = bytes, mine_from = from;
        from += bytes;
    }
    if (thread >= streams) return true;
    const u64 first = thread * each, some = thread + 1 < streams ? each : count - first;
    return huffman_stream(p + mine_from, mine, tree, out + first, (u32)some);
}

// Literals: their position and number, and how many bytes of the block they take; 0 bytes if
// invalid. `aside` has room for them.
__device__ inline u64 zstd_literals(Zstd &z, u8 *aside, const u8 *p, u64 len, u64 most, const u8 **literals, u64 *count) {
    const u32 kind = p[0] & 3, format = p[0] >> 2 & 3;
    u32 head;
    u64 stored;
    if (!zstd_literals_head(p, len, &head, count, &stored) || *count > most) return 0;
    *literals = p + head;
    if (kind == 0) return head + stored;
    if (kind == 1) {
        for (u64 i = threadIdx.x; i < *count; i += BLOCK) aside[i] = p[head];
    } else {
        u64 tree = 0;
        if (threadIdx.x == 0 && kind == 2) {
            tree = huffman_tree(p + head, stored, z.tree, z.shop);
            z.has_tree = tree > 0;
        }
        const bool has_tree = threadIdx.x == 0 && z.has_tree;
        tree = tell(z, has_tree ? tree : ~(u64)0);
        if (tree > stored) return 0;
        if (!zstd_streams(p + head + tree, stored - tree, format, *count, threadIdx.x, z.tree, aside)) atomicOr(&z.fault, 1);
        __syncthreads();
        if (z.fault) return 0;
    }
    __syncthreads();
    *literals = aside;
    return head + stored;
}

// A compressed block: writes its bytes from `*done`, at most `most` of them.
__device__ inline bool zstd_block(Zstd &z, const UnpackTask &task, const u8 *p, u64 len, u64 most, u64 *done) {
    if (len < 2) return false;
    if (most > task.to_len - *done) most = task.to_len - *done;
    const u8 *literals;
    u64 count;
    const u64 taken = zstd_literals(z, task.aside, p, len, most, &literals, &count);
    if (taken == 0) return false;
    Sequences sequences;
    bool good = threadIdx.x == 0 && zstd_sequences(z.tables, z.shop, p + taken, len - taken, sequences);
    const bool any = threadIdx.x == 0 && sequences.left > 0;
    if (!tell(z, good)) return false;
    most += *done;
    u64 made = *done;
    for (bool more = true; more;) {
        if (threadIdx.x == 0) good = zstd_batch(z, sequences, &literals, &count, &made, most);
        // Every bit must have been used.
        if (threadIdx.x == 0 && good && !z.more && any) good = sequences.bits.left == 0;
        if (!tell(z, good)) return false;
        more = z.more;
        const u32 elements = z.count;
        emit(z.batch, elements, task.to);
    }
    *done = tell(z, made);
    return true;
}

KERNEL(unpack_zstd) {
    __shared__ Zstd z;
    const UnpackTask task = a.tasks[blockIdx.x];
    u64 at = 0, block_most = 0, done = 0;
    if (task.to_len == 0 || (task.chain && !task.chain->serial)) return;
    bool good = zstd_frame(task, &at, &block_most), last = false;
    if (threadIdx.x == 0) {
        z.fault = 0;
        z.has_tree = false;
        for (u32 kind = 0; kind < 3; kind++) z.tables.known[kind] = false;
        z.last[0] = 1, z.last[1] = 4, z.last[2] = 8;
    }
    while (good && !last) {
        __syncthreads();
        if (task.from_len - at < 3) {
            good = false;
            break;
        }
        const u8 *p = task.from + at + 3;
        const u64 head = little(task.from + at, 3), size = head >> 3;
        const u32 kind = head >> 1 & 3;
        const u64 stored = kind == 1 ? 1 : size;
        at += 3;
        last = head & 1;
        good = kind < 3 && size <= block_most && stored <= task.from_len - at;
        if (!good) break;
        if (kind == 2) {
            good = zstd_block(z, task, p, size, block_most, &done);
        } else {
            good = size <= task.to_len - done;
            for (u64 i = threadIdx.x; good && i < size; i += BLOCK) task.to[done + i] = kind ? p[0] : p[i];
            if (good) done += size;
        }
        at += stored;
    }
    if (!good || at != task.from_len || done != task.to_len) *task.bad = 1;
}

// Makes one table ready that an earlier block describes: `p` is the header of its sequences.
__device__ inline bool zstd_earlier_table(Tables &z, Workshop &shop, u32 wanted, const u8 *p, u64 len) {
    if (len < 2) return false;
    u64 at = p[0] < 128 ? 1 : p[0] < 255 ? 2 : 3;
    if (at >= len) return false;
    const u32 modes = p[at++];
    for (u32 kind = 0; kind <= wanted; kind++) {
        const u32 mode = modes >> (6 - 2 * kind) & 3;
        // The host has looked at the modes: one that repeats a table is none that is wanted.
        if (mode != 3 && !zstd_table(z, shop, kind, mode, p, len, &at)) return false;
    }
    return z.known[wanted];
}

// An offset of a block by the three before it; 0 if invalid.
__device__ __forceinline__ u32 zstd_known_offset(u32 offset, u32 first, u32 second, u32 third) {
    if (!(offset & OPEN_OFFSET)) return offset;
    const u32 which = offset >> OPEN_SHIFT & 3, less = offset & ((1u << OPEN_SHIFT) - 1);
    const u32 known = which == 0 ? first : which == 1 ? second : third;
    return known > less ? known - less : 0;
}

// The sequences of a compressed block, by one thread: for each the output and the literals before
// it in this block, and its offset; then the same of all, without an offset.
__device__ inline bool zstd_list(Part &part, const ZstdArgs &a, ZstdBlock &own) {
    const ZstdBlock block = own;
    Tables &z = part.tables;
    const u64 from[3] = {block.lengths_from, block.offsets_from, block.matches_from};
    bool known[3];
    // The last kind first: reading the header up to a table overwrites those before it.
    for (u32 kind = 3; kind-- > 0;) {
        known[kind] = from[kind] != NONE;
        if (!known[kind]) continue;
        const ZstdBlock &earlier = a.blocks[from[kind]];
        z.known[kind] = false;
        const u8 *p = earlier.from + earlier.literal_bytes;
        if (!zstd_earlier_table(z, part.shop, kind, p, earlier.size - earlier.literal_bytes)) return false;
    }
    for (u32 kind = 0; kind < 3; kind++) z.known[kind] = known[kind];
    Sequences sequences;
    const u8 *p = block.from + block.literal_bytes;
    if (!zstd_sequences(z, part.shop, p, block.size - block.literal_bytes, sequences)) return false;
    if (sequences.left != block.sequence_count) return false;
    const u32 made_most = (u32)block.chain->per_block, literals = (u32)block.literal_count;
    const bool any = block.sequence_count > 0;
    u32 last[3], made = 0, literal = 0;
    u32 *out = block.sequences;
    for (u32 which = 0; which < 3; which++) last[which] = OPEN_OFFSET | which << OPEN_SHIFT;
    while (sequences.left > 0) {
        u32 length, match, value;
        zstd_sequence(z, sequences, &length, &match, &value);
        out[0] = made, out[1] = literal, out[2] = zstd_offset(last, value, length == 0);
        // None of them is more than 2^17.
        made += length + match, literal += length;
        if (out[2] == 0 || sequences.bits.left < 0 || literal > literals || made > made_most) return false;
        out += 3;
    }
    if (any && sequences.bits.left != 0) return false;
    out[0] = made, out[1] = literal;
    made += literals - literal;
    own.made = made, own.last = last[0], own.second = last[1], own.third = last[2];
    return made <= made_most;
}

// The literals of a compressed block, by a warp. Returns false to a thread that cannot.
__device__ inline bool zstd_read(Part &part, u32 lane, const ZstdArgs &a, ZstdBlock &own) {
    const ZstdBlock block = own;
    const u8 *p = block.from;
    const u32 kind = p[0] & 3;
    u32 head;
    u64 count, stored;
    if (!zstd_literals_head(p, block.size, &head, &count, &stored)) return false;
    if (count != block.literal_count || count > ZSTD_BLOCK_BYTES || head + stored != block.literal_bytes) return false;
    if (lane == 0) own.read = kind ? block.literals : p + head;
    if (kind == 0) return true;
    if (kind == 1) {
        for (u64 i = lane; i < count; i += WARP) block.literals[i] = p[head];
        return true;
    }
    u64 tree = 0;
    if (lane == 0) {
        const ZstdBlock &earlier = a.blocks[kind == 2 ? &own - a.blocks : block.tree_from];
        u32 earlier_head;
        u64 earlier_count, described = 0;
        if (zstd_literals_head(earlier.from, earlier.size, &earlier_head, &earlier_count, &described))
            tree = huffman_tree(earlier.from + earlier_head, described, part.tree, part.shop);
        if (tree == 0) tree = ~(u64)0;
        else if (kind == 3) tree = 0;
    }
    // The tree is in shared memory.
    __syncwarp();
    tree = __shfl_sync(FULL, tree, 0);
    return tree <= stored && zstd_streams(p + head + tree, stored - tree, p[0] >> 2 & 3, count, lane, part.tree, block.literals);
}

// A warp for the sequences of each compressed block, and one for its literals.
KERNEL(zstd_parts) {
    __shared__ Part parts[BLOCK / WARP];
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u64 number = (u64)blockIdx.x * (BLOCK / WARP) + warp;
    if (number >= 2 * a.block_count) return;
    // Sequences take longer: they are first.
    const bool lists = number < a.block_count;
    ZstdBlock &block = a.blocks[lists ? number : number - a.block_count];
    if (block.kind != 2) return;
    bool good = true;
    if (!lists) good = zstd_read(parts[warp], lane, a, block);
    else if (lane == 0) good = zstd_list(parts[warp], a, block);
    if (!good) block.chain->serial = 1;
}

// A sequence, and where the one after it begins.
struct ZstdSequence {
    u32 made, literal, offset, made_end, literals_end;
};

__device__ __forceinline__ ZstdSequence zstd_sequence_at(const ZstdBlock &block, u32 number) {
    const u32 *at = block.sequences + 3 * (u64)number;
    return {at[0], at[1], at[2], at[3], at[4]};
}

// One block of threads per page: the bytes of literals and matches.
KERNEL(zstd_join) {
    const u32 TILE = BLOCK / 2;
    __shared__ Batch batch;
    __shared__ u32 fault;
    ChainTask &own = a.chains[blockIdx.x];
    const ChainTask task = own;
    if (threadIdx.x == 0) fault = 0;
    __syncthreads();
    if (task.serial) return;
    u32 first = 1, second = 4, third = 8;
    u64 done = 0;
    for (u64 b = task.segment; b < task.segment + task.segments; b++) {
        const ZstdBlock block = a.blocks[b];
        const u64 made = block.kind < 2 ? block.size : block.made;
        if (made > task.want - done) {
            own.serial = 1;
            return;
        }
        u8 *out = task.to + done;
        if (block.kind < 2) {
            for (u64 i = threadIdx.x; i < made; i += BLOCK) out[i] = block.from[block.kind ? 0 : i];
            done += made;
            __syncthreads();
            continue;
        }
        const u32 k = threadIdx.x, count = (u32)block.sequence_count;
        // Those of a tile are read while the bytes of the one before are made.
        ZstdSequence next = k < TILE && k < count ? zstd_sequence_at(block, k) : ZstdSequence();
        for (u32 tile = 0; tile < count; tile += TILE) {
            const u32 some = count - tile < TILE ? count - tile : TILE;
            const ZstdSequence sequence = next;
            if (k < TILE && k + TILE < count - tile) next = zstd_sequence_at(block, tile + TILE + k);
            if (k < some) {
                const u32 start = (u32)done + sequence.made, literal = sequence.literal, length = sequence.literals_end - literal;
                const u32 back = zstd_known_offset(sequence.offset, first, second, third);
                // Back to what is before the page.
                if (back == 0 || back > start + length) atomicOr(&fault, 1);
                batch.start[2 * k] = start, batch.back[2 * k] = 0, batch.from[2 * k] = (u64)(block.read + literal);
                batch.start[2 * k + 1] = start + length, batch.back[2 * k + 1] = back;
                batch.from[2 * k + 1] = start + length;
            }
            if (k + 1 == some) batch.start[2 * some] = (u32)done + sequence.made_end;
            __syncthreads();
            if (fault) {
                own.serial = 1;
                return;
            }
            emit(batch, 2 * some, task.to);
        }
        // The literals after the last match.
        const u32 *end = block.sequences + 3 * block.sequence_count;
        for (u64 i = end[0] + threadIdx.x; i < made; i += BLOCK) out[i] = block.read[end[1] + i - end[0]];
        const u32 before[3] = {first, second, third};
        first = zstd_known_offset((u32)block.last, before[0], before[1], before[2]);
        second = zstd_known_offset((u32)block.second, before[0], before[1], before[2]);
        third = zstd_known_offset((u32)block.third, before[0], before[1], before[2]);
        done += made;
        __syncthreads();
    }
    if (done != task.want) own.serial = 1;
}
