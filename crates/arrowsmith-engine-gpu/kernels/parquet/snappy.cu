// SPDX-License-Identifier: Apache-2.0
// Snappy pages: one block per page, or, where there are few pages, one block per unit of output
// that compressors make by itself.
#include "chain.cuh"

// One block per segment: whether the elements that begin in it stay within their units and copy
// nothing from outside, and where units begin. The format allows others: they are decoded by one
// block.
KERNEL(snappy_cuts) {
    __shared__ Found found;
    ChainTask *own;
    u64 base, first;
    if (!segment_of(a, &own, &base, &first)) return;
    const ChainTask task = *own;
    const u32 count = find_elements(task, base, first, found);
    const u64 before = a.before[blockIdx.x];
    for (u32 i = threadIdx.x; i < count; i += BLOCK) {
        const u64 at = base + found.at[i], out = before + found.out[i];
        const SnappyElement element = snappy_element(task.from + at, task.from_len - at);
        const bool alone = element.in && element.out <= task.want - out && out % UNIT + element.out <= UNIT &&
                           element.back <= out % UNIT;
        if (!alone) own->serial = 1;
        else if (out % UNIT == 0) a.units[task.unit + out / UNIT] = at;
    }
}

KERNEL(unpack_units) {
    const ChainTask task = a.tasks[a.unit_owners[blockIdx.x]];
    if (task.serial) return;
    const u64 unit = blockIdx.x - task.unit, out = unit * UNIT, left = task.want - out;
    const u64 end = left > UNIT ? a.units[blockIdx.x + 1] : task.from_len;
    if (!snappy_elements(task.from, a.units[blockIdx.x], end, task.to + out, left < UNIT ? left : UNIT)) *task.bad = 1;
}

KERNEL(unpack_snappy) {
    const UnpackTask task = a.tasks[blockIdx.x];
    u64 at = 0, length = 0;
    if (task.to_len == 0 || (task.chain && !task.chain->serial)) return;
    const bool good = varint(task.from, task.from_len, &at, &length) && length == task.to_len;
    if (!good || !snappy_elements(task.from, at, task.from_len, task.to, task.to_len)) *task.bad = 1;
}

// Where levels and values begin in the decompressed pages of version 1: one thread per page.
KERNEL(cut_pages) {
    const u64 i = thread_index();
    if (i >= a.task_count) return;
    const UnpackTask task = a.tasks[i];
    if (!task.page) return;
    PageDesc &page = *task.page;
    const u8 *p = task.to;
    u64 len = task.to_len;
    bool good = true;
    if (task.cuts & CUT_REPS) good = cut(&p, &len, &page.reps, &page.reps_len);
    if (good && task.cuts & CUT_LEVELS) good = cut(&p, &len, &page.levels, &page.levels_len);
    page.values = p, page.values_len = len;
    if (!good) *task.bad = 1;
}
