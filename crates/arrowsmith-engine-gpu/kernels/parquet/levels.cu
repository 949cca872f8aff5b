// SPDX-License-Identifier: Apache-2.0
// Levels: which entries of a column are non-null, how many values come before each page, and the
// enclosing lists and structures: their validity, and where the elements of each list begin.
#include "column.cuh"

// Bits of a level.
__device__ __forceinline__ u32 level_width(u64 most) { return 64 - (u32)__clzll((i64)most); }

// One block per tile of a page.
KERNEL(page_levels) {
    const u64 number = page_of_tile(a.pages, a.page_count, blockIdx.x);
    const PageDesc page = a.pages[number];
    const u64 from = (blockIdx.x - tile_of(page, number)) * RUN_TILE;
    const u64 to = from + RUN_TILE < page.count ? from + RUN_TILE : page.count;
    if (from >= to) return;
    bool sound = true;
    auto put = [&](u64 k, u64 level) {
        const u64 i = page.first + k;
        sound &= level <= a.def_max;
        a.def[i] = (u8)level;
        a.valid[i] = level == a.def_max;
        a.before[i] = level == a.def_max;
    };
    auto repeat = [&](u64 k, u64 level) {
        const u64 i = page.first + k;
        // The first entry begins a row.
        sound &= level <= a.rep_max && !(i == 0 && level);
        a.rep[i] = (u8)level;
    };
    bool good = true;
    if (page.levels) {
        const u64 mark = a.def_marks[blockIdx.x];
        good = mark != NO_RUN && hybrid(runs_of(page, R_LEVELS, level_width(a.def_max)), mark, from, to, put);
    } else {
        for (u64 k = from + threadIdx.x; k < to; k += BLOCK) put(k, a.def_max);
    }
    if (a.rep_max) {
        const u64 mark = a.rep_marks[blockIdx.x];
        const Runs runs = runs_of(page, R_REPEATS, level_width(a.rep_max));
        good = mark != NO_RUN && runs.count && hybrid(runs, mark, from, to, repeat) && good;
    }
    if (!good) {
        // Valid numbers for the kernels that follow.
        for (u64 k = from + threadIdx.x; k < to; k += BLOCK) {
            const u64 i = page.first + k;
            a.def[i] = 0, a.valid[i] = 0, a.before[i] = 0;
            if (a.rep_max) a.rep[i] = 0;
        }
    }
    if (!good || !sound) *a.bad = 1;
}

KERNEL(page_firsts) {
    const u64 i = thread_index();
    if (i >= a.page_count) return;
    PageDesc &page = a.pages[i];
    page.value_first = a.before[page.first];
    page.value_count = a.before[page.first + page.count] - page.value_first;
}

__device__ __forceinline__ bool is_slot(const SlotsArgs &a, u64 i) {
    return (!a.rep || a.rep[i] <= a.rep_most) && a.def[i] >= a.def_least;
}

KERNEL(mark_slots) {
    const u64 i = thread_index();
    if (i < a.entries) a.marks[i] = is_slot(a, i);
}

KERNEL(write_slots) {
    const u64 i = thread_index();
    if (i >= a.entries || !is_slot(a, i)) return;
    const u64 slot = a.marks[i];
    if (a.starts) a.starts[slot] = (u32)a.elements[i];
    if (a.valid) a.valid[slot] = a.def[i] >= a.def_valid;
    if (a.entry_of) a.entry_of[slot] = i;
}
