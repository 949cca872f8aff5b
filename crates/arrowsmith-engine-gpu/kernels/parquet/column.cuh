// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels of Parquet columns: pages as the host lays them out, and the packed forms.
//
// Every page is stored decompressed in device memory, followed by sixteen readable bytes. Invalid
// data marks the column; the CPU engine then decodes it again, and reports the error.
#ifndef ARROWSMITH_COLUMN_CUH
#define ARROWSMITH_COLUMN_CUH
#include "../abi.cuh"

// An unsigned varint (seven bits per byte); false if it is truncated.
__device__ __forceinline__ bool varint(const u8 *p, u64 len, u64 *at, u64 *value) {
    u64 result = 0;
    for (u32 shift = 0; shift < 64; shift += 7) {
        if (*at >= len) return false;
        const u8 byte = p[(*at)++];
        if (shift == 63 && byte > 1) return false;
        result |= (u64)(byte & 127) << shift;
        if (byte < 128) {
            *value = result;
            return true;
        }
    }
    return false;
}

__device__ __forceinline__ u64 unzigzag(u64 value) { return value >> 1 ^ (0 - (value & 1)); }

// `width` bits, at most 64, from bit `at`: two aligned words hold them. (The second ends at most
// fifteen bytes after the last bit's byte, and sixteen after a page are readable.)
__device__ __forceinline__ u64 unpack(const u8 *p, u64 at, u32 width) {
    if (width == 0) return 0;
    const u64 byte = (u64)p + at / 8;
    const u64 *word = (const u64 *)(byte & ~(u64)7);
    const u32 shift = (u32)(byte % 8 * 8 + at % 8);
    u64 bits = word[0] >> shift;
    if (shift + width > 64) bits |= word[1] << (64 - shift);
    return width == 64 ? bits : bits & (((u64)1 << width) - 1);
}

// The same for at most 32 bits, by words of 32 bits.
__device__ __forceinline__ u32 unpack_short(const u8 *p, u64 at, u32 width) {
    if (width == 0) return 0;
    const u64 byte = (u64)p + at / 8;
    const u32 *word = (const u32 *)(byte & ~(u64)3);
    const u32 shift = (u32)(byte % 4 * 8 + at % 8);
    const u32 bits = (u32)(((u64)word[1] << 32 | word[0]) >> shift);
    return width == 32 ? bits : bits & ((1u << width) - 1);
}

// Up to ten bytes of a varint, of which `low` has the first eight and `high` the others: its value,
// and how many bytes it has; 0 if it is too long.
__device__ __forceinline__ u32 wide_varint(u64 low, u32 high, u64 *value) {
    const u64 ends = ~low & 0x8080808080808080ull;
    u32 bytes = 8;
    u64 x = low;
    if (ends) {
        // Everything from the first end on, but its own seven bits, goes.
        x &= ends ^ (ends - 1);
        bytes = ((u32)__ffsll((i64)ends)) / 8;
    }
    x &= 0x7F7F7F7F7F7F7F7Full;
    x = (x & 0x7F007F007F007F00ull) >> 1 | (x & 0x007F007F007F007Full);
    x = (x & 0x3FFF00003FFF0000ull) >> 2 | (x & 0x00003FFF00003FFFull);
    x = (x & 0x0FFFFFFF00000000ull) >> 4 | (x & 0x000000000FFFFFFFull);
    if (!ends) {
        x |= (u64)(high & 127) << 56;
        bytes = 9;
        if (high & 128) {
            if ((high >> 8 & 255) > 1) {
                *value = 0;
                return 0;
            }
            x |= (u64)(high >> 8 & 1) << 63;
            bytes = 10;
        }
    }
    *value = x;
    return bytes;
}

// Where a varint ends in four bytes: its bits, those of continuation included; 0 if it does not.
__device__ __forceinline__ u32 short_varint_bits(u32 bytes) {
    const u32 ends = ~bytes & 0x80808080u;
    return ends ? (u32)__popc(ends ^ (ends - 1)) : 0;
}

// The value of such a varint.
__device__ __forceinline__ u32 short_varint(u32 bytes, u32 bits) {
    const u32 x = bytes & 0xFFFFFFFFu >> (32 - bits);
    return (x & 0x7F) | (x >> 1 & 0x3F80) | (x >> 2 & 0x1FC000) | (x >> 3 & 0xFE00000);
}

// Bytes of a page that one thread walks through, from head to head, while all threads bring the
// next ones: tiles of two `Quad` per thread, of which the ring has four.
#define RING_TILE (BLOCK * 32)
#define RING_BYTES (4 * RING_TILE)
// A head is shorter than a tile of the smallest blocks.
#define HEAD_MOST 1024
struct Ring {
    Quad bytes[RING_BYTES / 16];
    u32 done[2];

    __device__ __forceinline__ u64 word(u32 number) const {
        return bytes[number / 4 % (RING_BYTES / 16)].word[number % 4];
    }

    // Eight bytes from a position on.
    __device__ __forceinline__ u64 at(u32 position) const {
        const u32 first = position / 4, shift = position % 4 * 8;
        const u64 middle = word(first + 1);
        const u32 low = (u32)((middle << 32 | word(first)) >> shift);
        const u32 high = (u32)((word(first + 2) << 32 | middle) >> shift);
        return (u64)high << 32 | low;
    }
};

// Calls `walk(limit)` of the first thread, tile after tile, until it returns true: it walks on
// through what begins before `limit`, and may read `HEAD_MOST` bytes from there on. Positions are
// those from `p` rounded down to a multiple of 16, and bytes after the page are undefined. Every
// thread of the block must call it.
template <class Walk> __device__ __forceinline__ void walk_page(Ring &ring, const u8 *p, u64 len, Walk walk) {
    const u32 lead = (u32)((u64)p % 16);
    const Quad *from = (const Quad *)(p - lead);
    const u64 chunks = (lead + len + 15) / 16, tiles = (lead + len) / RING_TILE + 1;
    const u32 a = threadIdx.x, b = BLOCK + threadIdx.x;
    Quad one = {{0, 0, 0, 0}}, two = one;
    u64 next = 0;
    auto load = [&](u64 tile) {
        next = tile * (RING_TILE / 16);
        if (next + a < chunks) one = from[next + a];
        if (next + b < chunks) two = from[next + b];
    };
    auto store = [&] {
        ring.bytes[(next + a) % (RING_BYTES / 16)] = one;
        ring.bytes[(next + b) % (RING_BYTES / 16)] = two;
    };
    load(0);
    store();
    load(1);
    for (u64 tile = 0; tile < tiles; tile++) {
        // No tile that is walked through: those are this one and the next one.
        store();
        load(tile + 2);
        __syncthreads();
        if (tile > 0 && ring.done[(tile - 1) % 2]) break;
        if (threadIdx.x == 0) ring.done[tile % 2] = walk((tile + 1) * RING_TILE);
    }
    __syncthreads();
}

// Runs and packed groups. Their values are decoded tile by tile: `page_index` notes for each tile
// where the run is that has its first value, and how many values come before that run.
#define RUN_TILE (BLOCK * 16)
// Instead of that: there is none, or the runs are malformed.
#define NO_RUN (~(u64)0)

struct Runs {
    const u8 *p;
    u64 len, count;
    u32 width;
};

// A part of a page that is in runs; no values if it is not.
__device__ inline Runs runs_of(const PageDesc &page, u64 part, u64 width) {
    if (part == R_LEVELS && page.levels) return {page.levels, page.levels_len, page.count, (u32)width};
    if (part == R_REPEATS && page.reps) return {page.reps, page.reps_len, page.count, (u32)width};
    if (part != R_VALUES) return {0, 0, 0, 0};
    // Invalid ones become runs without bytes.
    if (page.encoding == E_DICTIONARY) {
        const bool good = page.values_len > 0 && page.values[0] <= 32;
        return {page.values + 1, good ? page.values_len - 1 : 0, page.value_count, good ? page.values[0] : 1u};
    }
    if (page.encoding == E_RUNS)
        return {page.values + 4, page.values_len < 4 ? 0 : page.values_len - 4, page.value_count, 1};
    return {0, 0, 0, 0};
}

// The first tile of a page, with room for all.
__device__ __forceinline__ u64 tile_of(const PageDesc &page, u64 number) { return page.first / RUN_TILE + number; }

// The page that a tile belongs to.
__device__ inline u64 page_of_tile(const PageDesc *pages, u64 count, u64 tile) {
    u64 low = 0, high = count;
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (tile_of(pages[middle], middle) <= tile) low = middle;
        else high = middle;
    }
    return low;
}

// Values of runs from `from` to `to`, by the threads of a block: `put(k, value)`. `mark` is that of
// the tile, which has them all. All threads read the heads of runs, so that none waits for another.
template <class Put> __device__ bool hybrid(const Runs &runs, u64 mark, u64 from, u64 to, Put put) {
    const u8 *p = runs.p;
    const u32 width = runs.width;
    u64 at = mark & 0xFFFFFFFFu, done = mark >> 32;
    while (done < to) {
        u64 head;
        if (!varint(p, runs.len, &at, &head)) return false;
        u64 run = head >> 1;
        if (head & 1) {
            if (run > runs.len * 8 || run * width > runs.len - at) return false;
            const u64 bytes = run * width;
            run *= 8;
            if (run > to - done) run = to - done;
            const u64 first = done < from ? from - done : 0;
            for (u64 k = first + threadIdx.x; k < run; k += BLOCK) put(done + k, unpack_short(p + at, k * width, width));
            at += bytes;
        } else {
            const u64 bytes = (width + 7) / 8;
            if (bytes > runs.len - at) return false;
            if (run > to - done) run = to - done;
            const u64 value = unpack_short(p + at, 0, (u32)bytes * 8);
            if (value >> width) return false;
            const u64 first = done < from ? from - done : 0;
            for (u64 k = first + threadIdx.x; k < run; k += BLOCK) put(done + k, value);
            at += bytes;
        }
        done += run;
    }
    return true;
}

// DELTA_BINARY_PACKED, which must hold `count` numbers: decoded to `out` by a block. `end` is set
// to the end of the data.
__device__ inline bool delta(const u8 *p, u64 len, u64 count, u64 *out, u64 *end) {
    u64 at = 0, block, minis, total, first;
    if (!varint(p, len, &at, &block) || !varint(p, len, &at, &minis) || !varint(p, len, &at, &total) ||
        !varint(p, len, &at, &first) || total != count)
        return false;
    *end = at;
    if (count == 0) return true;
    if (block == 0 || block > (1 << 20) || block % 128 || minis == 0 || block % minis || block / minis % 32)
        return false;
    const u64 per_mini = block / minis;
    u64 sum = unzigzag(first);
    if (threadIdx.x == 0) out[0] = sum;
    for (u64 done = 1; done < count;) {
        u64 least;
        if (!varint(p, len, &at, &least) || minis > len - at) return false;
        least = unzigzag(least);
        const u8 *widths = p + at;
        at += minis;
        // As many miniblocks at once as the block of threads has values for.
        const u64 group = per_mini < BLOCK ? BLOCK / per_mini : 1;
        for (u64 m = 0; m < minis && done < count; m += group) {
            u64 some = count - done, minis_here = minis - m, bits = 0;
            if (minis_here > group) minis_here = group;
            if (some > minis_here * per_mini) some = minis_here * per_mini;
            for (u64 i = 0; i * per_mini < some; i++) {
                if (widths[m + i] > 64) return false;
                bits += widths[m + i];
            }
            if (per_mini * bits / 8 > len - at) return false;
            for (u64 tile = 0; tile < some; tile += BLOCK) {
                const u64 k = tile + threadIdx.x, mini = k / per_mini;
                u64 step = 0;
                if (k < some) {
                    u64 before = 0;
                    for (u64 i = 0; i < mini; i++) before += widths[m + i];
                    const u32 width = widths[m + mini];
                    step = unpack(p + at, before * per_mini + k % per_mini * width, width) + least;
                }
                u64 total_step;
                const u64 before = block_scan<Sum>(step, &total_step);
                if (k < some) out[done + k] = sum + before + step;
                sum += total_step;
            }
            at += per_mini * bits / 8;
            done += some;
        }
    }
    *end = at;
    return true;
}

// The number of the page that contains an entry.
__device__ __forceinline__ u64 page_of(const PageDesc *pages, u64 count, u64 entry) {
    u64 low = 0, high = count;
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (pages[middle].first <= entry) low = middle;
        else high = middle;
    }
    return low;
}

#endif
