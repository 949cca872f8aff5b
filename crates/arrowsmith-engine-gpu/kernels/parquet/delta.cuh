// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels of DELTA_BINARY_PACKED.
#ifndef ARROWSMITH_DELTA_CUH
#define ARROWSMITH_DELTA_CUH
#include "column.cuh"

// Values of the smallest block of deltas, miniblocks of the largest one that is taken.
#define DELTA_BLOCK 128
#define MINIS_MOST 512
static_assert(MINIS_MOST + 32 <= HEAD_MOST && HEAD_MOST <= RING_TILE, "a head ends in the next tile");
// Instead of a block of deltas: there is none.
#define NO_SLOT (~(u64)0)

__device__ __forceinline__ bool has_deltas(const PageDesc &page) {
    return page.encoding == E_DELTA || page.encoding == E_DELTA_LENGTH;
}

// The first block of deltas of a page, with room for all.
__device__ __forceinline__ u64 slot_of(const PageDesc &page, u64 number) { return page.first / DELTA_BLOCK + number; }

// A value, to where it goes: `width` bytes in the array, or 0, or LENS.
#define LENS 1
__device__ __forceinline__ void put_delta(const PartArgs &a, u64 width, u64 value, u64 number, u64 len_most) {
    if (width == 8) {
        ((u64 *)a.out)[value] = number;
    } else if (width == 4) {
        ((u32 *)a.out)[value] = (u32)number;
    } else if (width == LENS) {
        // A negative length is far too large.
        if (number > len_most) {
            *a.bad = 1;
            number = 0;
        }
        a.lens[value] = number;
    } else {
        a.words[value] = number;
    }
}

#endif
