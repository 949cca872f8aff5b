// SPDX-License-Identifier: Apache-2.0
// Levels: which entries of a column are there, and how many values come before each page. A block a page.
#include "column.cuh"

struct LevelArgs {
    PageDesc *pages;
    u64 page_count;
    // A byte an entry; then, after a scan, how many values come before each, and behind the last one the sum.
    u8 *valid;
    u64 *before;
    u64 entries;
    u32 *bad;
};

KERNEL(page_levels, LevelArgs) {
    const PageDesc page = a.pages[blockIdx.x];
    u8 *valid = a.valid + page.first;
    u64 *before = a.before + page.first;
    auto put = [&](u64 k, u64 level) {
        valid[k] = (u8)level;
        before[k] = level;
    };
    bool good = true;
    if (page.levels) {
        good = hybrid(page.levels, page.levels_len, 1, page.count, put);
    } else {
        for (u64 k = threadIdx.x; k < page.count; k += BLOCK) put(k, 1);
    }
    if (!good) {
        // So that what follows has numbers to go by.
        for (u64 k = threadIdx.x; k < page.count; k += BLOCK) put(k, 0);
        *a.bad = 1;
    }
}

KERNEL(page_firsts, LevelArgs) {
    const u64 i = thread_index();
    if (i >= a.page_count) return;
    PageDesc &page = a.pages[i];
    page.value_first = a.before[page.first];
    page.value_count = a.before[page.first + page.count] - page.value_first;
}
