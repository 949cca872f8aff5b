// SPDX-License-Identifier: Apache-2.0
// Values: first decoded page by page, one block per page, into one word per non-null value; then,
// one thread per row, each value into its final place.
#include "column.cuh"
#include "../json/text.cuh"

KERNEL(page_values) {
    const PageDesc page = a.pages[blockIdx.x];
    u64 *words = a.words + page.value_first;
    const u64 count = page.value_count;
    bool good = true;
    u64 end = 0;
    if (page.encoding == E_DICTIONARY) {
        const u64 most = a.dictionary_count;
        bool known = true;
        good = count == 0 || (page.values_len > 0 && page.values[0] <= 32);
        if (good && count)
            good = hybrid(page.values + 1, page.values_len - 1, page.values[0], count, [&](u64 k, u64 index) {
                known &= index < most;
                words[k] = index < most ? index : 0;
            });
        if (!known) *a.bad = 1;
    } else if (page.encoding == E_RUNS) {
        good = count == 0 || page.values_len >= 4;
        if (good && count)
            good = hybrid(page.values + 4, page.values_len - 4, 1, count, [&](u64 k, u64 bit) { words[k] = bit; });
    } else if (page.encoding == E_DELTA || page.encoding == E_DELTA_LENGTH) {
        u64 *out = page.encoding == E_DELTA ? words : a.lens + page.value_first;
        // By many blocks already; places of text follow.
        if (is_split(page)) return;
        good = delta(page.values, page.values_len, count, out, &end);
    } else if (page.encoding == E_DELTA_STRINGS) {
        u64 suffixes = 0;
        good = delta(page.values, page.values_len, count, words, &end);
        if (good) {
            good = delta(page.values + end, page.values_len - end, count, a.lens + page.value_first, &suffixes);
            end += suffixes;
        }
    }
    if (!good) {
        *a.bad = 1;
        return;
    }
    if (page.encoding != E_DELTA_LENGTH && page.encoding != E_DELTA_STRINGS) return;
    // Where the bytes of each value begin in the page.
    __syncthreads();
    u64 *lens = a.lens + page.value_first;
    const u64 left = page.values_len - end;
    u64 sum = 0, made = 0;
    bool within = true;
    for (u64 tile = 0; tile < count; tile += BLOCK) {
        const u64 k = tile + threadIdx.x;
        const u64 len = k < count ? lens[k] : 0;
        const u64 shared = k < count && page.encoding == E_DELTA_STRINGS ? words[k] : 0;
        // A negative length is far too large.
        const bool sound = len <= left && shared < 0x80000000ull;
        within &= sound;
        u64 total, total_made;
        const u64 before = block_scan<Sum>(sound ? len : 0, &total);
        block_scan<Sum>(sound ? len + shared : 0, &total_made);
        if (page.encoding == E_DELTA_LENGTH && k < count) words[k] = (u64)(page.values + end + sum + before);
        sum += total;
        made += total_made;
    }
    if (!within || sum > left) *a.bad = 1;
    if (threadIdx.x == 0 && page.encoding == E_DELTA_STRINGS) a.totals[blockIdx.x] = made;
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
    const u64 row = thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    u8 *out = a.out + row * a.width;
    if (!a.valid[entry]) {
        for (u64 b = 0; b < a.width; b++) out[b] = 0;
        return;
    }
    const PageDesc &page = page_of(a.pages, a.page_count, entry);
    const u64 value = a.before[entry], k = value - page.value_first;
    if (a.turn == T_KEY) {
        for (u64 b = 0; b < a.width; b++) out[b] = (u8)(a.words[value] >> (8 * b));
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
    if (from)
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
    for (u64 b = 0; b < a.width; b++) out[b] = b < 8 ? (u8)((u64)number >> (8 * b)) : number < 0 ? 0xFF : 0;
}

__device__ __forceinline__ const u8 *text_of(const GatherArgs &a, u64 entry, u64 *len) {
    const u64 value = a.before[entry];
    const PageDesc &page = page_of(a.pages, a.page_count, entry);
    if (page.encoding == E_DICTIONARY) {
        const u64 index = a.words[value];
        *len = a.dictionary_lens[index];
        return (const u8 *)a.dictionary_words[index];
    }
    *len = a.lens[value];
    return (const u8 *)a.words[value];
}

// Decimals that are stored as strings of any length.
KERNEL(gather_decimals) {
    const u64 row = thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    u8 *out = a.out + row * a.width;
    u64 len = 0;
    const u8 *text = a.valid[entry] ? text_of(a, entry, &len) : 0;
    for (u64 b = 0; b < a.width; b++) out[b] = 0;
    if (text && (len == 0 || !big_endian(text, 1, len, out, a.width))) *a.bad = 1;
}

KERNEL(gather_lens) {
    const u64 row = thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    u64 len = 0;
    if (a.valid[entry]) {
        const u8 *text = text_of(a, entry, &len);
        if (a.utf8)
            for (u64 b = 0; b < len;) {
                const u32 step = utf8_bytes(text + b);
                if (step == 0 || step > len - b) {
                    *a.bad = 1;
                    break;
                }
                b += step;
            }
    }
    a.offsets[row] = len;
}

KERNEL(gather_text) {
    const u64 row = thread_index();
    if (row >= a.rows) return;
    const u64 entry = entry_at(a, row);
    const u64 from = a.offsets[row];
    if (a.narrow) {
        a.narrow[row] = (u32)from;
        if (row + 1 == a.rows) a.narrow[row + 1] = (u32)a.offsets[row + 1];
    }
    if (!a.valid[entry]) return;
    u64 len;
    const u8 *text = text_of(a, entry, &len);
    for (u64 b = 0; b < len; b++) a.out[from + b] = text[b];
}
