// SPDX-License-Identifier: Apache-2.0
// One page by many blocks: the chain of its elements, and what is decoded by it: deltas and
// strings. (Snappy's part is in `snappy.cu`.)
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
    u64 at = 0, number = 0, first = 0;
    if (task.form == C_SNAPPY) {
        if (!varint(p, len, &at, &number) || number != task.want) task.serial = 1;
    } else if (task.form == C_DELTA) {
        u64 block = 0, minis = 0;
        const bool good = varint(p, len, &at, &block) && varint(p, len, &at, &minis) && varint(p, len, &at, &number) &&
                          varint(p, len, &at, &first) && number == task.want && block && block <= 1 << 20 &&
                          block % 128 == 0 && minis >= 2 && minis <= 32 && block % minis == 0 && block / minis % 32 == 0;
        if (!good || task.want < 2) task.serial = 1;
        task.per_block = block, task.minis = minis, task.first = unzigzag(first);
        // The first value is in the header.
        task.want--;
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


// The deltas of a segment: first only their sum, then the values. `serial` is written by the first
// pass alone, and read by the second.
template <bool WRITE> __device__ inline void delta_segment(const ChainArgs &a) {
    __shared__ Found found;
    ChainTask *own;
    u64 base, first;
    if (!segment_of(a, &own, &base, &first)) {
        if (!WRITE && threadIdx.x == 0) a.sums[blockIdx.x] = 0;
        return;
    }
    const ChainTask task = *own;
    const u32 blocks = find_elements(task, base, first, found);
    const u64 before = a.before[blockIdx.x];
    u64 some = blocks * task.per_block;
    if (some > task.want - before) some = task.want - before;
    // For each block its minimum, and where its widths are. (An invalid one comes after the last
    // value: `chain_walk` has counted the values of valid ones.)
    for (u32 b = threadIdx.x; b < blocks; b += BLOCK) {
        const u64 start = base + found.at[b];
        u64 at = 0, least = 0;
        varint(task.from + start, task.from_len - start, &at, &least);
        found.word[b] = unzigzag(least);
        found.at[b] += (u32)at;
    }
    __syncthreads();
    bool good = true;
    const u64 per_mini = task.per_block / task.minis;
    const PageDesc &page = *task.page;
    u64 *out = (page.encoding == E_DELTA ? a.words : a.lens) + task.value_first + 1 + before;
    u64 sum = WRITE ? a.sums[blockIdx.x] : 0;
    for (u64 tile = 0; tile < some; tile += BLOCK) {
        const u64 j = tile + threadIdx.x;
        u64 step = 0;
        if (j < some && good) {
            const u64 b = j / task.per_block, k = j % task.per_block, mini = k / per_mini;
            const u64 widths = base + found.at[b];
            u64 bits = 0;
            for (u64 m = 0; m < mini; m++) bits += task.from[widths + m];
            const u32 width = task.from[widths + mini];
            const u64 data = widths + task.minis + per_mini * bits / 8, bytes = per_mini * width / 8;
            if (data > task.from_len || bytes > task.from_len - data) {
                good = false;
            } else {
                step = unpack(task.from + data, k % per_mini * width, width) + found.word[b];
                if (WRITE && before + j + 1 == task.want) own->end = data + bytes;
            }
        }
        u64 total;
        const u64 exclusive = block_scan<Sum>(step, &total);
        if (WRITE && j < some) out[j] = sum + exclusive + step;
        sum += total;
    }
    if (WRITE) return;
    if (!good) own->serial = 1;
    if (threadIdx.x == 0) a.sums[blockIdx.x] = sum;
}

KERNEL(delta_sums) { delta_segment<false>(a); }

// One block per page: the value before each segment.
KERNEL(delta_bases) {
    const ChainTask task = a.tasks[blockIdx.x];
    if (task.form != C_DELTA || task.serial) return;
    u64 carry = task.first;
    for (u64 tile = 0; tile < task.segments; tile += BLOCK) {
        const u64 i = tile + threadIdx.x;
        u64 total;
        const u64 before = block_scan<Sum>(i < task.segments ? a.sums[task.segment + i] : 0, &total);
        if (i < task.segments) a.sums[task.segment + i] = carry + before;
        carry += total;
    }
    if (threadIdx.x == 0) (task.page->encoding == E_DELTA ? a.words : a.lens)[task.value_first] = task.first;
}

KERNEL(delta_values) { delta_segment<true>(a); }

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

// The page that contains a value.
__device__ __forceinline__ const PageDesc &page_of_value(const ValueArgs &a, u64 value) {
    u64 low = 0, high = a.page_count;
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (a.pages[middle].value_first <= value) low = middle;
        else high = middle;
    }
    return a.pages[low];
}

__device__ __forceinline__ bool is_split(const PageDesc &page) { return page.chain && !page.chain->serial; }

// Pages whose lengths were decoded by many blocks: one thread per value. Lengths, of which the
// prefix sums are the places; then the places.
KERNEL(length_starts) {
    const u64 value = thread_index();
    if (value >= a.value_count) return;
    const PageDesc &page = page_of_value(a, value);
    u64 len = 0;
    if (page.encoding == E_DELTA_LENGTH && is_split(page)) {
        len = a.lens[value];
        // A negative length is far too large.
        if (len > page.values_len - page.chain->end) {
            *a.bad = 1;
            len = 0;
        }
    }
    a.starts[value] = len;
}

KERNEL(length_places) {
    const u64 value = thread_index();
    if (value >= a.value_count) return;
    const PageDesc &page = page_of_value(a, value);
    if (page.encoding != E_DELTA_LENGTH || !is_split(page)) return;
    const u64 first = a.starts[page.value_first], end = page.chain->end;
    if (value == page.value_first && a.starts[value + page.value_count] - first > page.values_len - end) *a.bad = 1;
    a.words[value] = (u64)(page.values + end + (a.starts[value] - first));
}
