// SPDX-License-Identifier: Apache-2.0
// Where the parts of a page are that others decode at once: one thread walks through it, from head
// to head.
#include "delta.cuh"

// The sum of up to eight bytes of `widths`, of which none may be more than 64: NONE otherwise.
__device__ __forceinline__ u32 width_sum(u64 widths, u32 count) {
    if (count < 8) widths &= ((u64)1 << (8 * count)) - 1;
    const u64 most = 0x7F7F7F7F7F7F7F7Full;
    if ((widths | ((widths & most) + 0x3F3F3F3F3F3F3F3Full)) & ~most) return NONE;
    const u64 pairs = (widths & 0x00FF00FF00FF00FFull) + (widths >> 8 & 0x00FF00FF00FF00FFull);
    return (u32)(pairs * 0x0001000100010001ull >> 48);
}

// Where the blocks of deltas of a page are.
__device__ __forceinline__ void index_deltas(const PartArgs &a, const PageDesc &page, Ring &ring) {
    __shared__ u64 found;
    const u64 first_slot = slot_of(page, blockIdx.x);
    u64 *slots = a.slots + first_slot, *leasts = a.leasts + first_slot;
    const u64 room = page.count / DELTA_BLOCK + 1;
    u64 next = 0;
    if (has_deltas(page)) {
        const u8 *p = page.values;
        const u64 len = page.values_len;
        u64 per_block = 0, minis = 0, total = 0, first = 0, head = 0;
        bool good = varint(p, len, &head, &per_block) && varint(p, len, &head, &minis) &&
                    varint(p, len, &head, &total) && varint(p, len, &head, &first) && total == page.value_count &&
                    len < 0x80000000ull;
        if (good && total)
            good = per_block && per_block <= 1 << 20 && per_block % DELTA_BLOCK == 0 && minis && minis <= MINIS_MOST &&
                   per_block % minis == 0 && per_block / minis % WARP == 0;
        const u32 lead = (u32)((u64)p % 16), end = lead + (u32)len, wanted = total ? (u32)total - 1 : 0;
        const u32 in_block = (u32)per_block, in_head = (u32)minis, per_mini = good && total ? in_block / in_head : WARP;
        const u64 name = (u64)blockIdx.x << 32;
        const bool is_usual = in_head == 4;
        u32 at = lead + (u32)head, done = 0;
        if (good && wanted)
            walk_page(ring, p, len, [&](u64 limit) -> u32 {
                while (done < wanted) {
                    if (at >= limit) return 0;
                    const u64 low = ring.at(at);
                    // As most blocks are: four miniblocks, after a short minimum.
                    const u32 bits_of_least = short_varint_bits((u32)low), four = (u32)(low >> bits_of_least);
                    const u32 pairs = (four & 0x00FF00FFu) + (four >> 8 & 0x00FF00FFu);
                    const u32 all = (pairs + (pairs >> 16)) & 0xFFFF;
                    const u32 too_wide = (four | ((four & 0x7F7F7F7Fu) + 0x3F3F3F3Fu)) & 0x80808080u;
                    const u32 after = at + bits_of_least / 8 + 4 + per_mini / 8 * all;
                    const bool is_sound = (bits_of_least > 0) & (too_wide == 0) & (after <= end);
                    if (is_usual & is_sound & (wanted - done >= in_block)) {
                        slots[next] = name | (at + bits_of_least / 8 - lead);
                        leasts[next++] = unzigzag(short_varint((u32)low, bits_of_least));
                        done += in_block;
                        at = after;
                        continue;
                    }
                    const u64 high = ring.at(at + 8);
                    u64 least;
                    const u32 bytes = wide_varint(low, (u32)high, &least);
                    if (bytes == 0 || bytes > end - at) return 1;
                    u32 from = at + bytes;
                    if (in_head > end - from) return 1;
                    // Those without wanted values may be missing.
                    u32 needed = in_head;
                    if (wanted - done < in_block) needed = (wanted - done + per_mini - 1) / per_mini;
                    u64 widths = bytes > 8 ? ring.at(from) : low >> (8 * bytes - 8) >> 8 | high << (64 - 8 * bytes);
                    u32 bits = width_sum(widths, needed < 8 ? needed : 8);
                    if (bits == NONE) return 1;
                    for (u32 m = 8; m < needed; m += 8) {
                        const u32 sum = width_sum(ring.at(from + m), needed - m < 8 ? needed - m : 8);
                        if (sum == NONE) return 1;
                        bits += sum;
                    }
                    const u32 data = from + in_head, size = per_mini / 8 * bits;
                    if (size > end - data) return 1;
                    slots[next] = name | (from - lead);
                    leasts[next++] = unzigzag(least);
                    done = wanted - done > in_block ? done + in_block : wanted;
                    at = data + size;
                }
                return 1;
            });
        if (threadIdx.x == 0) {
            const bool is_number = page.encoding == E_DELTA;
            const u64 width = is_number ? a.width : LENS;
            a.deltas[blockIdx.x] = {page.values, len, per_block, minis, unzigzag(first), at - lead, first_slot,
                                    page.value_first, page.value_count, width};
            if (!good || done < wanted) *a.bad = 1;
            if (good && total) put_delta(a, width, page.value_first, unzigzag(first), len);
        }
    }
    if (threadIdx.x == 0) found = next;
    __syncthreads();
    for (u64 slot = found + threadIdx.x; slot < room; slot += BLOCK) slots[slot] = NO_SLOT;
    // The slot between pages, if their sizes leave one.
    const u64 behind = (page.first + page.count) / DELTA_BLOCK + blockIdx.x + 1;
    if (threadIdx.x == 0 && first_slot + room < behind) slots[room] = NO_SLOT;
}

// Where the runs of a page are, for its tiles.
__device__ __forceinline__ void index_runs(const PartArgs &a, const PageDesc &page, Ring &ring) {
    __shared__ u64 found;
    const Runs runs = runs_of(page, a.part, a.level_width);
    u64 *marks = a.marks + tile_of(page, blockIdx.x);
    const u64 tiles = page.count / RUN_TILE + 1;
    const u32 lead = (u32)((u64)runs.p % 16), end = lead + (u32)runs.len, count = (u32)runs.count;
    u32 at = lead, done = 0;
    u64 next = 0;
    if (count && runs.len < 0x80000000ull)
        walk_page(ring, runs.p, runs.len, [&](u64 limit) -> u32 {
            while (done < count) {
                if (at >= limit) return 0;
                const u64 low = ring.at(at), mark = (u64)done << 32 | (at - lead);
                u32 bytes = short_varint_bits((u32)low);
                u64 head;
                if (bytes) head = short_varint((u32)low, bytes), bytes /= 8;
                else bytes = wide_varint(low, (u32)ring.at(at + 8), &head);
                if (bytes == 0 || bytes > end - at) return 1;
                at += bytes;
                u64 run = head >> 1, size = (runs.width + 7) / 8;
                if (head & 1) {
                    if (run > runs.len * 8) return 1;
                    size = run * runs.width, run *= 8;
                }
                if (size > end - at) return 1;
                at += (u32)size;
                done = run < count - done ? done + (u32)run : count;
                while (next * RUN_TILE < done) marks[next++] = mark;
            }
            return 1;
        });
    if (threadIdx.x == 0) {
        found = next;
        if (done < count) *a.bad = 1;
    }
    __syncthreads();
    for (u64 tile = found + threadIdx.x; tile < tiles; tile += BLOCK) marks[tile] = NO_RUN;
}

// One block per page.
KERNEL(page_index) {
    __shared__ Ring ring;
    const PageDesc page = a.pages[blockIdx.x];
    if (a.slots) index_deltas(a, page, ring);
    if (a.marks && !(a.slots && has_deltas(page))) index_runs(a, page, ring);
}
