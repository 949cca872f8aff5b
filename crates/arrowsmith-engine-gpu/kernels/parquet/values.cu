// SPDX-License-Identifier: Apache-2.0
// Values: first decoded page by page into one word per non-null value; then each value into its
// final place, if it is not there already.
#include "column.cuh"
#include "../json/text.cuh"

// A number of eight or four bytes.
__device__ __forceinline__ u64 load_number(const u8 *from, u64 bytes) {
    return bytes == 8 ? load8(from) : unpack_short(from, 0, 32);
}

__device__ __forceinline__ void store_number(u8 *out, u64 row, u64 bytes, u64 number) {
    if (bytes == 8) ((u64 *)out)[row] = number;
    else ((u32 *)out)[row] = (u32)number;
}

// One block per tile of a page of dictionary indices, or of runs of booleans.
KERNEL(run_values) {
    const u64 number = page_of_tile(a.pages, a.page_count, blockIdx.x);
    const PageDesc page = a.pages[number];
    const Runs runs = runs_of(page, R_VALUES, 0);
    const u64 from = (blockIdx.x - tile_of(page, number)) * RUN_TILE;
    const u64 to = from + RUN_TILE < runs.count ? from + RUN_TILE : runs.count;
    if (from >= to) return;
    const u64 mark = a.marks[blockIdx.x];
    // `page_index` has said so.
    if (mark == NO_RUN) return;
    bool good;
    if (page.encoding == E_RUNS) {
        good = hybrid(runs, mark, from, to, [&](u64 k, u64 bit) { a.words[page.value_first + k] = bit; });
    } else {
        bool known = true;
        auto put = [&](u64 k, u64 index) {
            const u64 value = page.value_first + k;
            const bool is = index < a.dictionary_count;
            known &= is;
            if (!is) index = 0;
            if (a.width) {
                u64 word = index;
                if (!a.keys) word = is ? load_number(a.dictionary + index * a.width, a.width) : 0;
                store_number(a.out, value, a.width, word);
                return;
            }
            a.words[value] = index;
            if (a.dictionary_lens) a.lens[value] = is ? a.dictionary_lens[index] : 0;
        };
        good = hybrid(runs, mark, from, to, put) && known;
    }
    if (!good) *a.bad = 1;
}

// One block per page of strings that share prefixes: their lengths, of prefixes and suffixes.
KERNEL(page_values) {
    const PageDesc page = a.pages[blockIdx.x];
    if (page.encoding != E_DELTA_STRINGS) return;
    u64 *words = a.words + page.value_first, *lens = a.lens + page.value_first;
    const u64 count = page.value_count;
    u64 end = 0, suffixes = 0;
    if (!delta(page.values, page.values_len, count, words, &end) ||
        !delta(page.values + end, page.values_len - end, count, lens, &suffixes)) {
        *a.bad = 1;
        return;
    }
    __syncthreads();
    const u64 left = page.values_len - end - suffixes;
    u64 sum = 0, made = 0;
    bool within = true;
    for (u64 tile = 0; tile < count; tile += BLOCK) {
        const u64 k = tile + threadIdx.x;
        const u64 len = k < count ? lens[k] : 0, shared = k < count ? words[k] : 0;
        // A negative length is far too large.
        const bool sound = len <= left && shared < 0x80000000ull;
        within &= sound;
        u64 total, total_made;
        block_scan<Sum>(sound ? len : 0, &total);
        block_scan<Sum>(sound ? len + shared : 0, &total_made);
        sum += total;
        made += total_made;
    }
    if (!within || sum > left) *a.bad = 1;
    if (threadIdx.x == 0) a.totals[blockIdx.x] = made;
}

// Pages of strings stored one after another, each after its length: one thread per page, because
// each length gives the position of the next. `pages` may be the dictionary as a page.
KERNEL(page_strings) {
    const u64 i = thread_index();
    if (i >= a.page_count) return;
    const PageDesc page = a.pages[i];
    if (page.encoding != E_PLAIN || is_split(page)) return;
    u64 at = 0;
    for (u64 k = 0; k < page.value_count; k++) {
        u64 len = 0;
        const bool good = page.values_len - at >= 4;
        if (good)
            for (u32 b = 0; b < 4; b++) len |= (u64)page.values[at + b] << (8 * b);
        if (!good || len > page.values_len - at - 4) {
            *a.bad = 1;
            for (; k < page.value_count; k++) a.words[page.value_first + k] = 0, a.lens[page.value_first + k] = 0;
            return;
        }
        a.words[page.value_first + k] = (u64)(page.values + at + 4);
        a.lens[page.value_first + k] = len;
        at += 4 + len;
    }
}

// Pages whose values share prefixes with the previous value: one at a time, each by a full block.
KERNEL(page_joins) {
    const PageDesc page = a.pages[blockIdx.x];
    if (page.encoding != E_DELTA_STRINGS) return;
    u64 *words = a.words + page.value_first, *lens = a.lens + page.value_first;
    // The suffixes are at the end of the page.
    u64 suffixes = 0;
    for (u64 k = 0; k < page.value_count; k++) suffixes += lens[k];
    const u8 *from = page.values + page.values_len - suffixes;
    u8 *out = a.text + a.totals[blockIdx.x];
    const u8 *last = out;
    u64 last_len = 0;
    for (u64 k = 0; k < page.value_count; k++) {
        const u64 shared = words[k], own = lens[k];
        // All have read the lengths, and the previous value is complete.
        __syncthreads();
        const bool good = shared <= last_len;
        if (!good && threadIdx.x == 0) *a.bad = 1;
        for (u64 b = threadIdx.x; b < shared; b += BLOCK) out[b] = good ? last[b] : 0;
        for (u64 b = threadIdx.x; b < own; b += BLOCK) out[shared + b] = from[b];
        if (threadIdx.x == 0) {
            words[k] = (u64)out;
            lens[k] = shared + own;
        }
        last = out;
        last_len = shared + own;
        out += last_len;
        from += own;
    }
}

#define JULIAN_DAY 2440588
#define DAY_NANOSECONDS 86400000000000ll


__device__ __forceinline__ u64 entry_at(const GatherArgs &a, u64 row) { return a.entry_of ? a.entry_of[row] : row; }

// Converts a big-endian two's complement number to `width` little-endian bytes; returns whether it
// fits.
__device__ bool big_endian(const u8 *from, u64 stride, u64 len, u8 *out, u64 width) {
    const u8 sign = from[0] & 0x80 ? 0xFF : 0;
    bool fits = true;
    for (u64 b = 0; b + width < len; b++) fits &= from[b * stride] == sign;
    if (len > width) fits &= ((from[(len - width) * stride] ^ sign) & 0x80) == 0;
    for (u64 b = 0; b < width; b++) out[b] = b < len ? from[(len - 1 - b) * stride] : sign;
    return fits;
}

KERNEL(gather_fixed) {
    const u64 row = a.first + thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    const bool is_number = a.width == 8 || a.width == 4;
    u8 *out = a.out + row * a.width;
    if (a.valid && !a.valid[entry]) {
        if (is_number) store_number(a.out, row, a.width, 0);
        else
            for (u64 b = 0; b < a.width; b++) out[b] = 0;
        return;
    }
    const PageDesc &page = a.pages[page_of(a.pages, a.page_count, entry)];
    const u64 value = a.before ? a.before[entry] : entry, k = value - page.value_first;
    if (a.turn == T_KEY) {
        store_number(a.out, row, a.width, a.words[value]);
        return;
    }
    const u8 *from = 0;
    u64 word = 0, stride = 1;
    switch (page.encoding) {
    case E_PLAIN:
        if (a.stored == 0) {
            if (k / 8 >= page.values_len) *a.bad = 1;
            else word = page.values[k / 8] >> (k % 8) & 1;
        } else if ((k + 1) * a.stored > page.values_len) {
            *a.bad = 1;
        } else {
            from = page.values + k * a.stored;
        }
        break;
    case E_DICTIONARY: from = a.dictionary + a.words[value] * a.stored; break;
    case E_SPLIT:
        stride = page.values_len / a.stored;
        if (page.values_len % a.stored || k >= stride) *a.bad = 1;
        else from = page.values + k;
        break;
    default: word = a.words[value];
    }
    const bool is_stored_number = from && stride == 1 && (a.stored == 8 || a.stored == 4);
    if (is_stored_number) word = load_number(from, a.stored);
    if (a.turn == T_COPY && is_number && (is_stored_number || !from)) {
        store_number(a.out, row, a.width, word);
        return;
    }
    if (a.turn == T_COPY && from) {
        for (u64 b = 0; b < a.width; b++) out[b] = from[b * stride];
        return;
    }
    if (a.turn == T_BIG) {
        if (!from || !big_endian(from, stride, a.stored, out, a.width)) *a.bad = 1;
        return;
    }
    if (a.turn == T_INT96) {
        u64 nanoseconds = 0, day = 0;
        for (u64 b = 0; from && b < 8; b++) nanoseconds |= (u64)from[b * stride] << (8 * b);
        for (u64 b = 0; from && b < 4; b++) day |= (u64)from[(8 + b) * stride] << (8 * b);
        const __int128 all = ((__int128)day - JULIAN_DAY) * DAY_NANOSECONDS + nanoseconds;
        const __int128 quotient = all / a.factor - (all % a.factor < 0 ? 1 : 0);
        // Invalid times of day, and values that do not fit, are left to the CPU engine.
        if (!from || nanoseconds >= DAY_NANOSECONDS || (__int128)(i64)quotient != quotient) *a.bad = 1;
        for (u64 b = 0; b < 8; b++) out[b] = (u8)((u64)quotient >> (8 * b));
        return;
    }
    if (from && !is_stored_number)
        for (u64 b = 0; b < a.stored; b++) word |= (u64)from[b * stride] << (8 * b);
    i64 number = a.stored == 4 ? (i64)(i32)word : (i64)word;
    if (a.turn == T_MULTIPLY) {
        const __int128 product = (__int128)number * a.factor;
        number = (i64)product;
        if ((__int128)number != product) *a.bad = 1;
    } else if (a.turn == T_DIVIDE) {
        const i64 quotient = number / a.factor;
        number = quotient - (number % a.factor < 0 ? 1 : 0);
    }
    if (is_number) {
        store_number(a.out, row, a.width, (u64)number);
        return;
    }
    for (u64 b = 0; b < a.width; b++) out[b] = b < 8 ? (u8)((u64)number >> (8 * b)) : number < 0 ? 0xFF : 0;
}

// The text of a row, whose length is known.
__device__ __forceinline__ const u8 *text_of(const GatherArgs &a, u64 row, u64 entry, u64 len) {
    const u64 value = a.before ? a.before[entry] : entry, number = page_of(a.pages, a.page_count, entry);
    const PageDesc &page = a.pages[number];
    if (page.encoding == E_DICTIONARY) return (const u8 *)a.dictionary_words[a.words[value]];
    if (page.encoding != E_DELTA_LENGTH) return (const u8 *)a.words[value];
    // They follow the lengths, without gaps.
    const u64 end = a.deltas[number].end, left = page.values_len - end;
    const u64 at = a.offsets[row] - a.offsets[a.marks ? a.marks[page.first] : page.first];
    if (at > left || len > left - at) {
        *a.bad = 1;
        return 0;
    }
    return page.values + end + at;
}

// Up to eight bytes of text; no others are read, but for those in the same words.
__device__ __forceinline__ u64 load_text(u64 from, u32 len) {
    const u64 *word = (const u64 *)(from & ~(u64)7);
    const u32 shift = (u32)(from % 8 * 8);
    u64 bytes = word[0] >> shift;
    if (shift + 8 * len > 64) bytes |= word[1] << (64 - shift);
    return len == 8 ? bytes : bytes & (((u64)1 << (8 * len)) - 1);
}

__device__ inline bool is_utf8(const u8 *text, u64 len) {
    for (u64 b = 0; b < len;) {
        if (len - b >= 8 && !(load_text((u64)text + b, 8) & 0x8080808080808080ull)) {
            b += 8;
            continue;
        }
        const u32 step = utf8_bytes(text + b);
        if (step == 0 || step > len - b) return false;
        b += step;
    }
    return true;
}

KERNEL(gather_lens) {
    const u64 row = thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    u64 len = 0;
    if (!a.valid || a.valid[entry]) {
        const u64 value = a.before ? a.before[entry] : entry;
        const PageDesc &page = a.pages[page_of(a.pages, a.page_count, entry)];
        len = page.encoding == E_DICTIONARY ? a.dictionary_lens[a.words[value]] : a.lens[value];
    }
    a.offsets[row] = len;
}

// Decimals that are stored as strings of any length.
KERNEL(gather_decimals) {
    const u64 row = thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    u8 *out = a.out + row * a.width;
    for (u64 b = 0; b < a.width; b++) out[b] = 0;
    if (a.valid && !a.valid[entry]) return;
    const u64 len = a.offsets[row + 1] - a.offsets[row];
    const u8 *text = text_of(a, row, entry, len);
    if (!text || len == 0 || !big_endian(text, 1, len, out, a.width)) *a.bad = 1;
}

// The texts of the 32 rows of a warp, which are one after another in the output, by words of it.
KERNEL(gather_text) {
    __shared__ u64 starts[BLOCK], bases[BLOCK];
    const u64 row = thread_index();
    const u32 lane = threadIdx.x % WARP, first = threadIdx.x - lane;
    const bool is = row < a.rows;
    const u64 from = a.offsets[is ? row : a.rows], to = a.offsets[is ? row + 1 : a.rows];
    if (is && a.narrow) {
        a.narrow[row] = (u32)from;
        if (row + 1 == a.rows) a.narrow[row + 1] = (u32)to;
    }
    const u64 len = to - from;
    // Rows without a value have no bytes.
    const u8 *text = len ? text_of(a, row, entry_at(a, row), len) : 0;
    // What is added to a place of the output, for that of the same byte in the page.
    const u64 base = text ? (u64)text - from : 0;
    starts[threadIdx.x] = from;
    bases[threadIdx.x] = base;
    __syncthreads();
    const u64 start = starts[first], end = __shfl_sync(FULL, to, WARP - 1);
    const u32 filled = __ballot_sync(FULL, len != 0);
    const u64 common = __shfl_sync(FULL, base, filled ? (u32)__ffsll(filled) - 1 : 0);
    const bool alike = __ballot_sync(FULL, len && (base != common || !text)) == 0;
    u64 high = 0;
    for (u64 word = start / 8 + lane; filled && word * 8 < end; word += WARP) {
        const u64 low = word * 8 < start ? start : word * 8, most = word * 8 + 8 < end ? word * 8 + 8 : end;
        u64 bytes = 0;
        if (alike) {
            bytes = load_text(common + low, (u32)(most - low));
        } else {
            // The last row that begins there or before.
            u32 r = 0;
            for (u32 step = WARP / 2; step > 0; step /= 2)
                if (starts[first + r + step] <= low) r += step;
            for (u64 at = low; at < most; r++) {
                u64 stop = r + 1 < WARP ? starts[first + r + 1] : end;
                if (stop > most) stop = most;
                if (stop <= at) continue;
                const u64 own = bases[first + r];
                if (own) bytes |= load_text(own + at, (u32)(stop - at)) << (8 * (at - low));
                at = stop;
            }
        }
        high |= bytes & 0x8080808080808080ull;
        if (most - low == 8) {
            *(u64 *)(a.out + low) = bytes;
        } else {
            for (u64 b = 0; b < most - low; b++) a.out[low + b] = (u8)(bytes >> (8 * b));
        }
    }
    if (a.utf8 && __ballot_sync(FULL, high != 0) && text && !is_utf8(text, len)) *a.bad = 1;
}
