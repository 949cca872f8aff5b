// SPDX-License-Identifier: Apache-2.0
// Convert: one thread per value, from the position of its text to its bits, in its final place.
//
// A warp makes the 32 validity bits of its values. A value that is not clearly valid marks its
// record, and its bits are 0. The host passes the kind of value, which is the same for a column.
#include "plan.cuh"
#include "number.cuh"
#include "time.cuh"

// Bytes between the quotes of an ASCII string without escapes; NONE for any other.
__device__ __forceinline__ u32 plain_bytes(const u8 *text) {
    u32 len = 0;
    for (;; len++) {
        const u8 c = text[1 + len];
        if (c == '"') return len;
        if (c < 0x20 || c == '\\' || c >= 0x80) return NONE;
    }
}

__device__ bool temporal(const ConvertArgs &a, const u8 *text, i64 *value) {
    const i64 per_second = (i64)a.width;
    if (text[0] == '"') {
        const u32 len = plain_bytes(text);
        if (len == NONE) return false;
        text++;
        switch (a.kind) {
        case K_DATE32: return len == 10 && date_at(text, value);
        case K_DATE64: return timestamp(text, len, 1000, true, 0, value);
        case K_TIME: return time_of_day(text, len, per_second, value);
        case K_TIMESTAMP: return timestamp(text, len, per_second, a.option, a.local, value);
        default: return duration(text, len, per_second, value);
        }
    }
    u32 end;
    if (!signed_at(text, value, &end) || !ends_word(text[end])) return false;
    if (a.kind == K_DATE32) return *value == (i32)*value;
    if (a.kind == K_TIME) return *value >= 0 && *value < 86400 * per_second;
    return true;
}

__device__ bool decimal(const ConvertArgs &a, const u8 *text, Wide *wide) {
    const bool quoted = text[0] == '"';
    const Number n = number_at(text + (quoted ? 1 : 0));
    if (!n.ok) return false;
    const u8 *number = text + (quoted ? 1 : 0);
    if (quoted ? number[n.end] != '"' : !ends_word(number[n.end])) return false;
    const u32 precision = (u32)a.width & 0xFF;
    if (!decimal_at(number, n, precision, (i32)a.option, wide)) return false;
    if (n.negative) {
        u64 carry = 1;
        for (u32 i = 0; i < 4; i++) {
            wide->limb[i] = ~wide->limb[i] + carry;
            carry = carry && wide->limb[i] == 0;
        }
    }
    return true;
}

__device__ bool floating(const ConvertArgs &a, const u8 *text, u64 *bits) {
    if (a.allow_nan) {
        const bool minus = text[0] == '-';
        const u64 infinite = a.width == 64 ? 0x7FF0000000000000ull : a.width == 32 ? 0x7F800000 : 0x7C00;
        if (is_literal(text, "NaN", 3)) {
            *bits = infinite | (u64)1 << (a.width == 64 ? 51 : a.width == 32 ? 22 : 9);
            return true;
        }
        if (is_literal(text + (minus ? 1 : 0), "Infinity", 8)) {
            *bits = infinite | (minus ? (u64)1 << (a.width - 1) : 0);
            return true;
        }
    }
    const Number n = number_at(text);
    if (!n.ok || !ends_word(text[n.end])) return false;
    if (a.width == 16 ? !half_bits(text, n, bits) : !float_bits(text, n, a.powers, (u32)a.width, bits)) return false;
    if (n.negative) *bits |= (u64)1 << (a.width - 1);
    return true;
}

__device__ bool integer(const ConvertArgs &a, const u8 *text, u64 head, u64 *bits) {
    u64 magnitude;
    bool negative;
    u32 end;
    if (!short_at(text, head, &magnitude, &negative) &&
        (!magnitude_at(text, &magnitude, &negative, &end) || !ends_word(text[end])))
        return false;
    if (a.option) {
        const u64 most = ((u64)1 << (a.width - 1)) - 1;
        if (magnitude > most + (negative ? 1 : 0)) return false;
        *bits = negative ? 0 - magnitude : magnitude;
        return true;
    }
    *bits = magnitude;
    return !negative && (a.width == 64 || magnitude >> a.width == 0);
}

// The value of a column at `index`, whose text begins with `head`; `there` unless it is null.
__device__ __forceinline__ void convert_one(const ConvertArgs &a, u64 index, bool there, const u8 *text, u64 head) {
    u64 bits = 0;
    Wide wide = {{0, 0, 0, 0}};
    if (there) {
        bool good;
        i64 value = 0;
        switch (a.kind) {
        case K_BOOL:
            bits = text[0] == 't';
            good = bits ? is_literal(text, "true", 4) : is_literal(text, "false", 5);
            break;
        case K_INT: good = integer(a, text, head, &bits); break;
        case K_FLOAT: good = floating(a, text, &bits); break;
        case K_DECIMAL: good = decimal(a, text, &wide); break;
        default:
            good = temporal(a, text, &value);
            bits = (u64)value;
        }
        if (!good) {
            bits = 0;
            doubt(a.suspect, a.doubt, record_of(a.hops, a.hop_count, index));
        }
    }
    const u32 word = __ballot_sync(FULL, there);
    const u32 ones = __ballot_sync(FULL, (i32)(bits & 1));
    if (index < a.count) {
        const bool first = index % WARP == 0;
        if (first) {
            a.valid[index / WARP] = word;
            const u64 left = a.count - index;
            const u32 missing = (left < WARP ? (u32)left : WARP) - (u32)__popc(word);
            if (missing) atomicAdd(a.nulls, missing);
        }
        switch (a.kind) {
        case K_BOOL:
            if (first) ((u32 *)a.values)[index / WARP] = ones;
            break;
        case K_DECIMAL: {
            const u32 limbs = a.width >> 8 ? 4 : 2;
            for (u32 i = 0; i < limbs; i++) ((u64 *)a.values)[index * limbs + i] = wide.limb[i];
            break;
        }
        case K_DATE32: ((u32 *)a.values)[index] = (u32)bits; break;
        case K_TIME:
            if (a.width <= 1000) ((u32 *)a.values)[index] = (u32)bits;
            else ((u64 *)a.values)[index] = bits;
            break;
        case K_INT:
        case K_FLOAT:
            switch (a.width) {
            case 8: a.values[index] = (u8)bits; break;
            case 16: ((u16 *)a.values)[index] = (u16)bits; break;
            case 32: ((u32 *)a.values)[index] = (u32)bits; break;
            default: ((u64 *)a.values)[index] = bits;
            }
            break;
        default: ((u64 *)a.values)[index] = bits;
        }
    }
}

// Values of a thread, as far apart as a block has threads: their loads wait together.
#define CONVERT_EACH 2

KERNEL(convert_fixed) {
    const u64 near = (u64)blockIdx.x * BLOCK * CONVERT_EACH + threadIdx.x, far = near + BLOCK;
    const u32 token0 = near < a.count ? a.tokens[near] : NONE, token1 = far < a.count ? a.tokens[far] : NONE;
    const u8 *text0 = a.text + (token0 == NONE ? 0 : a.places[token0]);
    const u8 *text1 = a.text + (token1 == NONE ? 0 : a.places[token1]);
    const u64 head0 = load8(text0), head1 = load8(text1);
    // (Not unrolled: the code of one value is long.)
    for (u64 index = near; index <= far; index += BLOCK) {
        const bool first = index == near;
        convert_one(a, index, (first ? token0 : token1) != NONE, first ? text0 : text1, first ? head0 : head1);
    }
}

KERNEL(pack_valid) {
    const u64 index = thread_index();
    const u32 word = __ballot_sync(FULL, index < a.count && a.bytes[index] != 0);
    if (index < a.count && index % WARP == 0) {
        a.valid[index / WARP] = word;
        const u64 left = a.count - index;
        const u32 missing = (left < WARP ? (u32)left : WARP) - (u32)__popc(word);
        if (missing) atomicAdd(a.nulls, missing);
    }
}

KERNEL(widen_offsets) {
    const u64 index = thread_index();
    if (index < a.count) a.to[index] = a.from[index];
}

KERNEL(slots_sum) {
    const u64 slot = blockIdx.x / a.blocks, block = blockIdx.x % a.blocks;
    const u64 i = block * BLOCK + threadIdx.x;
    u64 total;
    block_scan<Sum>(i < a.count ? a.values[slot * a.count + i] : 0, &total);
    if (threadIdx.x == 0) a.sums[slot * (a.blocks + 1) + block] = total;
}

KERNEL(slots_join) {
    u64 *sums = a.sums + blockIdx.x * (a.blocks + 1);
    scan_array<Sum>(sums, a.blocks);
    if (threadIdx.x == 0) a.totals[blockIdx.x] = sums[a.blocks];
}

KERNEL(slots_spread) {
    const u64 slot = blockIdx.x / a.blocks, block = blockIdx.x % a.blocks;
    const u64 i = block * BLOCK + threadIdx.x;
    u64 *value = a.values + slot * a.count + i;
    u64 total;
    const u64 before = block_scan<Sum>(i < a.count ? *value : 0, &total);
    if (i < a.count) *value = a.sums[slot * (a.blocks + 1) + block] + before;
}
