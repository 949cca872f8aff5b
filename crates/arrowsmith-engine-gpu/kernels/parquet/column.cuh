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

// Runs and packed groups: `put(k, value)` for each k below `count`, by the threads of a block. All
// threads read the heads of runs, so that none waits for another.
template <class Put> __device__ bool hybrid(const u8 *p, u64 len, u32 width, u64 count, Put put) {
    u64 at = 0, done = 0;
    while (done < count) {
        u64 head;
        if (!varint(p, len, &at, &head)) return false;
        u64 run = head >> 1;
        if (run > len * 8 && head & 1) return false;
        if (head & 1) {
            const u64 bytes = run * width;
            run *= 8;
            if (bytes > len - at) return false;
            if (run > count - done) run = count - done;
            for (u64 k = threadIdx.x; k < run; k += BLOCK) put(done + k, unpack(p + at, k * width, width));
            at += bytes;
        } else {
            const u64 bytes = (width + 7) / 8;
            if (bytes > len - at) return false;
            if (run > count - done) run = count - done;
            const u64 value = unpack(p + at, 0, (u32)bytes * 8);
            if (width < 64 && value >> width) return false;
            for (u64 k = threadIdx.x; k < run; k += BLOCK) put(done + k, value);
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

// The page that contains an entry.
__device__ __forceinline__ const PageDesc &page_of(const PageDesc *pages, u64 count, u64 entry) {
    u64 low = 0, high = count;
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (pages[middle].first <= entry) low = middle;
        else high = middle;
    }
    return pages[low];
}

#endif
