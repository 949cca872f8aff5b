// SPDX-License-Identifier: Apache-2.0
// DELTA_BINARY_PACKED: numbers, and the lengths of DELTA_LENGTH_BYTE_ARRAY. One thread walks through
// a page from block to block of deltas; then one warp per block of deltas adds them up, and, after a
// prefix sum over all, a warp per block writes the values.
#include "column.cuh"

// Values of the smallest block of deltas, miniblocks of the largest one that is taken.
#define DELTA_BLOCK 128
#define MINIS_MOST 512
// Instead of a block of deltas: there is none.
#define NO_SLOT (~(u64)0)

__device__ __forceinline__ bool has_deltas(const PageDesc &page) {
    return page.encoding == E_DELTA || page.encoding == E_DELTA_LENGTH;
}

// The first block of deltas of a page, with room for all.
__device__ __forceinline__ u64 slot_of(const PageDesc &page, u64 number) { return page.first / DELTA_BLOCK + number; }

// A value, to where it goes.
__device__ __forceinline__ void put_delta(const DeltaArgs &a, const PageDesc &page, u64 value, u64 number) {
    if (page.encoding == E_DELTA_LENGTH) {
        // A negative length is far too large.
        if (number > page.values_len) {
            *a.bad = 1;
            number = 0;
        }
        a.lens[value] = number;
    } else if (a.width == 8) {
        ((u64 *)a.out)[value] = number;
    } else if (a.width == 4) {
        ((u32 *)a.out)[value] = (u32)number;
    } else {
        a.words[value] = number;
    }
}

// The sum of up to eight bytes of `widths`, of which none may be more than 64: NONE otherwise.
__device__ __forceinline__ u32 width_sum(u64 widths, u64 count) {
    if (count < 8) widths &= ((u64)1 << (8 * count)) - 1;
    const u64 most = 0x7F7F7F7F7F7F7F7Full;
    if ((widths | ((widths & most) + 0x3F3F3F3F3F3F3F3Full)) & ~most) return NONE;
    const u64 pairs = (widths & 0x00FF00FF00FF00FFull) + (widths >> 8 & 0x00FF00FF00FF00FFull);
    return (u32)(pairs * 0x0001000100010001ull >> 48);
}

// One block per page: where its blocks of deltas are.
KERNEL(delta_index) {
    __shared__ Ring ring;
    __shared__ u64 found;
    const PageDesc page = a.pages[blockIdx.x];
    u64 *slots = a.slots + slot_of(page, blockIdx.x);
    const u64 room = page.count / DELTA_BLOCK + 1, lead = (u64)page.values % 16, end = lead + page.values_len;
    u64 at = 0, next = 0;
    if (has_deltas(page)) {
        const u8 *p = page.values;
        const u64 len = page.values_len;
        DeltaPage own = {0, 0, 0, 0};
        u64 total = 0, first = 0;
        bool good = varint(p, len, &at, &own.per_block) && varint(p, len, &at, &own.minis) &&
                    varint(p, len, &at, &total) && varint(p, len, &at, &first) && total == page.value_count;
        if (good && total)
            good = own.per_block && own.per_block <= 1 << 20 && own.per_block % DELTA_BLOCK == 0 && own.minis &&
                   own.minis <= MINIS_MOST && own.per_block % own.minis == 0 && own.per_block / own.minis % 32 == 0;
        own.first = unzigzag(first);
        const u64 wanted = total ? total - 1 : 0;
        const u32 per_mini = good && total ? (u32)(own.per_block / own.minis) : 32;
        u64 done = 0;
        at += lead;
        if (good && wanted)
            walk_page(ring, p, len, [&](u64 limit) -> u32 {
                while (done < wanted) {
                    if (at >= limit) return 0;
                    u64 least;
                    const u32 bytes = wide_varint(ring.at(at), (u32)ring.at(at + 8), &least);
                    if (bytes == 0 || bytes > end - at) return 1;
                    u64 widths = at + bytes;
                    if (own.minis > end - widths) return 1;
                    const u64 data = widths + own.minis;
                    // Those without wanted values may be missing.
                    u32 needed = (u32)own.minis, bits = 0;
                    if (wanted - done < own.per_block) needed = ((u32)(wanted - done) + per_mini - 1) / per_mini;
                    for (; needed > 0; widths += 8) {
                        const u32 some = needed < 8 ? needed : 8, sum = width_sum(ring.at(widths), some);
                        if (sum == NONE) return 1;
                        bits += sum;
                        needed -= some;
                    }
                    const u64 size = (u64)(per_mini / 8) * bits;
                    if (size > end - data) return 1;
                    slots[next++] = (u64)blockIdx.x << 32 | (at - lead);
                    done += own.per_block;
                    at = data + size;
                }
                return 1;
            });
        if (threadIdx.x == 0) {
            own.end = at - lead;
            a.deltas[blockIdx.x] = own;
            if (!good || done < wanted) *a.bad = 1;
            if (good && total) put_delta(a, page, page.value_first, own.first);
        }
    }
    if (threadIdx.x == 0) found = next;
    __syncthreads();
    for (u64 slot = found + threadIdx.x; slot < room; slot += BLOCK) slots[slot] = NO_SLOT;
    // The slot between pages, if their sizes leave one.
    const u64 last = slot_of(page, blockIdx.x) + room;
    const u64 behind = (page.first + page.count) / DELTA_BLOCK + blockIdx.x + 1;
    if (threadIdx.x == 0 && last < behind) slots[room] = NO_SLOT;
}

// The block of deltas of a warp: first only their sum, then the values.
template <bool WRITE> __device__ __forceinline__ void delta_block(const DeltaArgs &a) {
    const u64 slot = thread_index() / WARP;
    const u32 lane = threadIdx.x % WARP;
    if (slot >= a.slot_count) return;
    const u64 place = a.slots[slot];
    if (place == NO_SLOT) {
        if (!WRITE && lane == 0) a.sums[slot] = 0;
        return;
    }
    const u64 number = place >> 32;
    const PageDesc &page = a.pages[number];
    const DeltaPage own = a.deltas[number];
    const u64 first_slot = slot_of(page, number);
    const u8 *p = page.values + (u32)place;
    u64 least;
    p += wide_varint(unpack(p, 0, 64), unpack_short(p + 8, 0, 16), &least);
    least = unzigzag(least);
    const u64 before = (slot - first_slot) * own.per_block, left = page.value_count - 1 - before;
    const u32 some = left < own.per_block ? (u32)left : (u32)own.per_block;
    const u32 minis = (u32)own.minis, per_mini = minis == 4 ? (u32)own.per_block / 4 : (u32)own.per_block / minis;
    const u8 *data = p + minis;
    u64 sum = 0;
    if (WRITE) sum = own.first + a.sums[slot] - a.sums[first_slot];
    u64 value = page.value_first + 1 + before;
    u32 widths = 0;
    for (u32 m = 0, k = 0; k < some; m++) {
        if (m % WARP == 0) widths = m + lane < minis ? p[m + lane] : 0;
        const u32 width = (u32)__shfl_sync(FULL, widths, m % WARP);
        for (u32 t = 0; t < per_mini && k < some; t += WARP, k += WARP) {
            u64 step = 0;
            if (k + lane < some) {
                const u64 at = (u64)(t + lane) * width;
                step = (width <= 32 ? unpack_short(data, at, width) : unpack(data, at, width)) + least;
            }
            if (WRITE) {
                const u64 scanned = sum + warp_scan<Sum>(step);
                if (k + lane < some) put_delta(a, page, value + k + lane, scanned);
                sum = __shfl_sync(FULL, scanned, WARP - 1);
            } else {
                sum += step;
            }
        }
        data += per_mini / 8 * width;
    }
    if (WRITE) return;
    sum = warp_scan<Sum>(sum);
    if (lane == WARP - 1) a.sums[slot] = sum;
}

KERNEL(delta_sums) { delta_block<false>(a); }

KERNEL(delta_values) { delta_block<true>(a); }
