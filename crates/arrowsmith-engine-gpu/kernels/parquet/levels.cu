// SPDX-License-Identifier: Apache-2.0
// Levels: which entries of a column are non-null, how many values come before each page, and the
// enclosing lists and structures: their validity, and where the elements of each list begin.
#include "column.cuh"

// Bits of a level.
__device__ __forceinline__ u32 level_width(u64 most) { return 64 - (u32)__clzll((i64)most); }

// One block per page: where the runs of its tiles are.
KERNEL(run_index) {
    __shared__ Ring ring;
    __shared__ u64 found;
    const PageDesc page = a.pages[blockIdx.x];
    const Runs runs = runs_of(page, a.part, a.width);
    u64 *marks = a.marks + tile_of(page, blockIdx.x);
    const u64 lead = (u64)runs.p % 16, end = lead + runs.len, tiles = page.count / RUN_TILE + 1;
    u64 at = lead, done = 0, next = 0;
    if (runs.count)
        walk_page(ring, runs.p, runs.len, [&](u64 limit) -> u32 {
            while (done < runs.count) {
                if (at >= limit) return 0;
                u64 head = 0;
                const u32 bytes = wide_varint(ring.at(at), (u32)ring.at(at + 8), &head);
                const u64 mark = done << 32 | (at - lead);
                u64 run = head >> 1, size = (runs.width + 7) / 8;
                if (bytes == 0 || bytes > end - at || (head & 1 && run > runs.len * 8)) return 1;
                at += bytes;
                if (head & 1) size = run * runs.width, run *= 8;
                if (size > end - at) return 1;
                at += size;
                done += run < runs.count - done ? run : runs.count - done;
                while (next * RUN_TILE < done) marks[next++] = mark;
            }
            return 1;
        });
    if (threadIdx.x == 0) {
        found = next;
        if (done < runs.count) *a.bad = 1;
    }
    __syncthreads();
    for (u64 tile = found + threadIdx.x; tile < tiles; tile += BLOCK) marks[tile] = NO_RUN;
}

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
