// SPDX-License-Identifier: Apache-2.0
// DELTA_BINARY_PACKED: numbers, and the lengths of DELTA_LENGTH_BYTE_ARRAY. Where its blocks are is
// known (`page_index`): one warp per block of deltas adds them up, and, after a prefix sum over
// all, a warp per block writes the values.
#include "delta.cuh"

// Four numbers of `width` bits, one after another, from a bit on.
__device__ __forceinline__ void unpack_four(const u8 *p, u32 at, u32 width, u64 *out) {
    const u64 byte = (u64)p + at / 8;
    const u32 *words = (const u32 *)(byte & ~(u64)3);
    const u32 shift = (u32)byte % 4 * 8 + at % 8;
    if (width > 32) {
        for (u32 i = 0; i < 4; i++) out[i] = unpack(p, at + i * width, width);
        return;
    }
    if (width == 0) {
        for (u32 i = 0; i < 4; i++) out[i] = 0;
        return;
    }
    const u32 mask = 0xFFFFFFFFu >> (32 - width);
    if (width <= 16) {
        const u64 one = words[1];
        const u32 low = (u32)((one << 32 | words[0]) >> shift), high = (u32)(((u64)words[2] << 32 | one) >> shift);
        const u64 all = (u64)high << 32 | low;
        for (u32 i = 0; i < 4; i++) out[i] = (u32)(all >> (i * width)) & mask;
    } else {
        for (u32 i = 0; i < 4; i++) {
            const u32 bit = shift + i * width;
            const u32 *word = words + bit / 32;
            out[i] = (u32)(((u64)word[1] << 32 | word[0]) >> bit % 32) & mask;
        }
    }
}

// A block of deltas, of a warp.
struct DeltaBlock {
    const u8 *widths;
    u32 minis, per_mini, some;
    u64 least;
};

// In whatever miniblocks: 32 values at a time, `use(k, steps)`; the sum of all, in the lanes if
// there is no use.
template <class Use> __device__ __forceinline__ void each_step(const DeltaBlock &block, Use use) {
    const u32 lane = threadIdx.x % WARP;
    const u8 *data = block.widths + block.minis;
    u32 widths = 0;
    for (u32 m = 0, k = 0; k < block.some; m++) {
        if (m % WARP == 0) widths = m + lane < block.minis ? block.widths[m + lane] : 0;
        const u32 width = (u32)__shfl_sync(FULL, widths, m % WARP);
        for (u32 t = 0; t < block.per_mini && k < block.some; t += WARP, k += WARP) {
            u64 step = 0;
            if (k + lane < block.some) step = unpack(data, (u64)(t + lane) * width, width) + block.least;
            use(k, step);
        }
        data += block.per_mini / 8 * width;
    }
}

// In four miniblocks, as is usual: 128 values at a time, `use(k, steps)` with four of each lane.
template <class Use> __device__ __forceinline__ void each_four(const DeltaBlock &block, Use use) {
    const u32 lane = threadIdx.x % WARP, each = block.per_mini;
    const u32 widths = unpack_short(block.widths, 0, 32);
    // The widths before each, of which three are at most 192 bits.
    const u32 before = widths * 0x01010100u;
    for (u32 k = 0; k < block.some; k += DELTA_BLOCK) {
        const u32 mine = k + 4 * lane;
        u64 steps[4] = {0, 0, 0, 0};
        if (mine < block.some) {
            const u32 m = (mine >= each) + (mine >= 2 * each) + (mine >= 3 * each);
            const u32 width = widths >> (8 * m) & 255, bits = before >> (8 * m) & 255;
            // A miniblock with a wanted value is there as a whole.
            unpack_four(block.widths + 4 + each / 8 * bits, (mine - m * each) * width, width, steps);
            for (u32 i = 0; i < 4; i++) steps[i] += block.least;
        }
        use(k, steps);
    }
}

__device__ __forceinline__ DeltaBlock block_of(const PartArgs &a, const DeltaPage &own, u64 slot, u64 place) {
    const u32 minis = (u32)own.minis, in_block = (u32)own.per_block;
    const u32 left = (u32)own.value_count - 1 - (u32)(slot - own.slot) * in_block;
    return {own.values + (u32)place, minis, minis == 4 ? in_block / 4 : in_block / minis,
            left < in_block ? left : in_block, a.leasts[slot]};
}

// One warp per block of deltas: their sum.
KERNEL(delta_sums) {
    const u64 slot = thread_index() / WARP;
    const u32 lane = threadIdx.x % WARP;
    if (slot >= a.slot_count) return;
    const u64 place = a.slots[slot];
    if (place == NO_SLOT) {
        if (lane == 0) a.sums[slot] = 0;
        return;
    }
    const DeltaBlock block = block_of(a, a.deltas[place >> 32], slot, place);
    // What is after the last wanted value does not matter: no other block follows.
    u64 sum = 0;
    auto add_four = [&](u32, const u64 *steps) { sum += steps[0] + steps[1] + steps[2] + steps[3]; };
    if (block.minis == 4) each_four(block, add_four);
    else each_step(block, [&](u32, u64 step) { sum += step; });
    sum = warp_scan<Sum>(sum);
    if (lane == WARP - 1) a.sums[slot] = sum;
}

// One warp per block of deltas: the values.
KERNEL(delta_values) {
    // Without conflicts of banks for both ways of access.
    const u32 ROW = WARP + 4;
    __shared__ u64 turned[BLOCK / WARP * 4 * ROW];
    const u64 slot = thread_index() / WARP;
    const u32 lane = threadIdx.x % WARP;
    if (slot >= a.slot_count) return;
    const u64 place = a.slots[slot];
    if (place == NO_SLOT) return;
    const DeltaPage &own = a.deltas[place >> 32];
    const DeltaBlock block = block_of(a, own, slot, place);
    const u64 width = own.width, most = own.len;
    const u64 value = own.value_first + 1 + (slot - own.slot) * own.per_block + lane;
    u64 sum = own.first + a.sums[slot] - a.sums[own.slot];
    if (block.minis == 4) {
        u64 *rows = turned + threadIdx.x / WARP * 4 * ROW;
        each_four(block, [&](u32 k, const u64 *steps) {
            const u64 one = steps[0], two = one + steps[1], three = two + steps[2], all = three + steps[3];
            const u64 scanned = sum + warp_scan<Sum>(all), base = scanned - all;
            sum = __shfl_sync(FULL, scanned, WARP - 1);
            rows[lane] = base + one;
            rows[ROW + lane] = base + two;
            rows[2 * ROW + lane] = base + three;
            rows[3 * ROW + lane] = scanned;
            __syncwarp();
            for (u32 i = 0; i < 4; i++) {
                const u64 number = rows[lane % 4 * ROW + i * 8 + lane / 4];
                if (k + i * WARP + lane < block.some) put_delta(a, width, value + k + i * WARP, number, most);
            }
            __syncwarp();
        });
    } else {
        each_step(block, [&](u32 k, u64 step) {
            const u64 scanned = sum + warp_scan<Sum>(step);
            if (k + lane < block.some) put_delta(a, width, value + k, scanned, most);
            sum = __shfl_sync(FULL, scanned, WARP - 1);
        });
    }
}
