// SPDX-License-Identifier: Apache-2.0
// One page by many blocks: the chain of its elements, and the strings that it has. (Snappy's part
// is in `snappy.cu`.)
#include "chain.cuh"

// One thread per page: what its header tells.
KERNEL(chain_begin) {
    const u64 i = thread_index();
    if (i >= a.task_count) return;
    ChainTask &task = a.tasks[i];
    if (task.page) {
        const PageDesc &page = *task.page;
        // The host has made room by an upper bound of the page's bytes.
        if (page.values_len > task.room) task.serial = 1;
        task.from = page.values, task.from_len = page.values_len;
        task.want = page.value_count, task.value_first = page.value_first;
    }
    if (task.serial || task.from_len == 0 || task.want == 0) {
        task.serial = 1;
        return;
    }
    const u8 *p = task.from;
    const u64 len = task.from_len;
    u64 at = 0, number = 0;
    if (task.form == C_SNAPPY) {
        if (!varint(p, len, &at, &number) || number != task.want) task.serial = 1;
    }
    task.start = at;
}

// One block per segment: where the chain from each of its positions leaves it, and the output on
// the way.
KERNEL(chain_map) {
    __shared__ u32 next[SEGMENT], out[SEGMENT];
    __shared__ u32 open;
    const ChainTask &task = a.tasks[a.owners[blockIdx.x]];
    const u64 base = (blockIdx.x - task.segment) * SEGMENT;
    if (task.serial || base >= task.from_len) return;
    const u64 left = task.from_len - base;
    const u32 size = left < SEGMENT ? (u32)left : SEGMENT;
    for (u32 i = 0; i < EACH; i++) {
        const u32 p = i * BLOCK + threadIdx.x;
        Link link = {0, 0};
        if (p < size) link = link_at(task, base + p);
        next[p] = link.in ? (u32)(p + link.in) : LAST;
        out[p] = (u32)(link.out < TOO_MUCH ? link.out : TOO_MUCH);
    }
    if (threadIdx.x == 0) open = 0;
    for (u32 step = 1; step < SEGMENT; step *= 2) {
        u32 further[EACH], more[EACH];
        bool inside = false;
        __syncthreads();
        for (u32 i = 0; i < EACH; i++) {
            const u32 p = i * BLOCK + threadIdx.x, there = next[p];
            further[i] = there, more[i] = out[p];
            if (there >= size) continue;
            further[i] = next[there];
            const u64 sum = (u64)out[p] + out[there];
            more[i] = (u32)(sum < TOO_MUCH ? sum : TOO_MUCH);
            inside = true;
        }
        __syncthreads();
        for (u32 i = 0; i < EACH; i++) {
            const u32 p = i * BLOCK + threadIdx.x;
            next[p] = further[i], out[p] = more[i];
        }
        if (inside) atomicOr(&open, step);
        __syncthreads();
        if (!(open & step)) break;
    }
    for (u32 i = 0; i < EACH; i++) {
        const u32 p = i * BLOCK + threadIdx.x;
        if (p < size) task.exits[base + p] = (u64)out[p] << 32 | next[p];
    }
}

// One thread per page: the first element of each segment.
KERNEL(chain_walk) {
    const u64 i = thread_index();
    if (i >= a.task_count) return;
    ChainTask &task = a.tasks[i];
    if (task.serial) return;
    u64 at = task.start, made = 0;
    while (made < task.want && at < task.from_len) {
        const u64 segment = at / SEGMENT, exit = task.exits[at];
        a.entries[task.segment + segment] = at;
        a.before[task.segment + segment] = made;
        made += exit >> 32;
        if ((u32)exit == LAST) break;
        at = segment * SEGMENT + (u32)exit;
    }
    const bool whole = task.form != C_SNAPPY || (made == task.want && at == task.from_len);
    if (made < task.want || !whole) task.serial = 1;
}

// One block per segment: where the strings are that begin in it.
KERNEL(string_places) {
    __shared__ Found found;
    ChainTask *own;
    u64 base, first;
    if (!segment_of(a, &own, &base, &first) || own->form != C_STRINGS) return;
    const ChainTask task = *own;
    const u32 count = find_elements(task, base, first, found);
    const u64 before = a.before[blockIdx.x];
    for (u32 i = threadIdx.x; i < count; i += BLOCK) {
        if (before + i >= task.want) continue;
        const u64 at = base + found.at[i];
        const u64 in = link_at(task, at).in;
        if (in == 0) own->serial = 1;
        a.words[task.value_first + before + i] = (u64)(task.from + at + 4);
        a.lens[task.value_first + before + i] = in - 4;
    }
}

__device__ __forceinline__ bool is_split(const PageDesc &page) { return page.chain && !page.chain->serial; }
