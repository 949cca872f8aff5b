// SPDX-License-Identifier: Apache-2.0
// Numbers: text to integers, binary floats and decimals, exactly, by one thread.
//
// Floats by Eisel and Lemire (D. Lemire, "Number Parsing at a Gigabyte per Second", 2021), as in
// the crate arrowsmith-number, with the same table of powers of five. A number of more than
// nineteen digits whose first nineteen do not determine the result is left to the CPU engine; no
// value is rounded twice.
#ifndef ARROWSMITH_NUMBER_CUH
#define ARROWSMITH_NUMBER_CUH
#include "../abi.cuh"
#include "text.cuh"

// The number of the four digits in a word, the first one in its lowest byte (as in D. Lemire,
// "Quickly parsing eight digits", 2018).
__device__ __forceinline__ u32 four_digits(u32 digits) {
    const u32 pairs = digits * (1 + (10 << 8)) >> 8 & 0x00FF00FF;
    return pairs * (1 + (100 << 16)) >> 16;
}

__device__ __forceinline__ u32 eight_digits(u64 digits) {
    return four_digits((u32)digits) * 10000 + four_digits((u32)(digits >> 32));
}

// A whole word that is an integer of at most nineteen digits, eight bytes at a time. What it
// leaves, valid or not, `magnitude_at` decides. `head` are its first eight bytes.
__device__ __forceinline__ bool short_at(const u8 *text, u64 head, u64 *magnitude, bool *negative) {
    *negative = (u8)head == '-';
    const u8 *p = text + (*negative ? 1 : 0);
    u64 value = 0;
    for (u32 digits = 0; digits <= 16; digits += 8) {
        const u64 word = digits == 0 && !*negative ? head : load8(p + digits);
        const u64 rest = word ^ 0x3030303030303030ull;
        // Bytes that are not digits; exact up to the first one.
        const u64 other = ((rest + 0x7676767676767676ull) | rest) & 0x8080808080808080ull;
        const u32 some = other ? ((u32)__ffsll((i64)other) - 1) / 8 : 8;
        if (digits == 0 && (some == 0 || (some > 1 && (rest & 0xFF) == 0))) return false;
        if (digits + some > 19) return false;
        u64 power = 1;
        if (digits) for (u32 i = 0; i < some; i++) power *= 10;
        if (some) value = value * power + eight_digits(rest << (64 - 8 * some));
        if (some == 8) continue;
        *magnitude = value;
        return ends_word((u8)(word >> (8 * some)));
    }
    return false;
}

// An integer without fraction and exponent of at most 64 bits: magnitude, and whether it was one.
__device__ __forceinline__ bool magnitude_at(const u8 *text, u64 *magnitude, bool *negative, u32 *end) {
    *negative = text[0] == '-';
    const u32 from = *negative ? 1 : 0;
    u32 i = from;
    u64 value = 0;
    for (; is_digit(text[i]); i++) {
        const u64 digit = text[i] - '0';
        if (i - from >= 19) {
            if (i - from >= 20 || value > 1844674407370955161ull) return false;
            if (value == 1844674407370955161ull && digit > 5) return false;
        }
        value = value * 10 + digit;
    }
    if (i == from || (i > from + 1 && text[from] == '0')) return false;
    *magnitude = value;
    *end = i;
    return true;
}

// The same as a signed number of 64 bits.
__device__ __forceinline__ bool signed_at(const u8 *text, i64 *value, u32 *end) {
    u64 magnitude;
    bool negative;
    if (!magnitude_at(text, &magnitude, &negative, end)) return false;
    if (magnitude > 0x7FFFFFFFFFFFFFFFull + (negative ? 1 : 0)) return false;
    *value = negative ? (i64)(0 - magnitude) : (i64)magnitude;
    return true;
}

// The exponent after the mantissa of a number, capped far beyond every float.
__device__ __forceinline__ i64 exponent_of(const u8 *text, const Number &n) {
    if (!n.exponent) return 0;
    u32 i = n.mantissa_end + 1;
    const bool negative = text[i] == '-';
    if (negative || text[i] == '+') i++;
    i64 value = 0;
    for (; i < n.end; i++)
        if (value < 100000000000000000ll) value = value * 10 + (text[i] - '0');
    return negative ? -value : value;
}

struct Format {
    u32 mantissa_bits;
    i32 bias, infinite, tie_low, tie_high;
};

// The bits of the float nearest to w × 10^q, without sign; false if it is infinite.
__device__ __forceinline__ bool nearest(const Power *powers, const Format &f, u64 w, i64 q, u64 *bits) {
    *bits = 0;
    if (w == 0 || q < -342) return true;
    if (q > 308) return false;
    const i32 leading = __clzll((i64)w);
    w <<= leading;
    const Power five = powers[q + 342];
    u64 low = w * five.high;
    u64 high = __umul64hi(w, five.high);
    const u64 second = __umul64hi(w, five.low);
    low += second;
    if (low < second) high++;
    const u32 upper = (u32)(high >> 63);
    const u32 shift = upper + 64 - f.mantissa_bits - 3;
    u64 mantissa = high >> shift;
    const i32 power = (((i32)q * (152170 + 65536)) >> 16) + 63;
    const i32 exponent = power + (i32)upper - leading + f.bias;
    if (exponent <= 0) {
        const u32 cut = (u32)(-exponent) + 1;
        if (cut >= 64) return true;
        mantissa >>= cut;
        *bits = (mantissa + (mantissa & 1)) >> 1;
        return true;
    }
    if (low <= 1 && q >= f.tie_low && q <= f.tie_high && (mantissa & 3) == 1 && mantissa << shift == high)
        mantissa &= ~(u64)1;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    *bits = mantissa + ((u64)(exponent - 1) << f.mantissa_bits);
    return (*bits >> f.mantissa_bits) < (u64)f.infinite;
}

// The bits of a number as a 32-bit or 64-bit float, without sign; false if it is infinite or cannot
// be determined here.
__device__ __forceinline__ bool float_bits(const u8 *text, const Number &n, const Power *powers, u32 width, u64 *bits) {
    const Format f = width == 64 ? Format{52, 1023, 0x7FF, -4, 23} : Format{23, 127, 0xFF, -17, 10};
    u64 mantissa = 0;
    u32 kept = 0;
    i64 exponent = exponent_of(text, n);
    bool cut = false, behind_point = false;
    for (u32 i = n.digits; i < n.mantissa_end; i++) {
        const u8 c = text[i];
        if (c == '.') {
            behind_point = true;
            continue;
        }
        if (kept < 19) {
            mantissa = mantissa * 10 + (u64)(c - '0');
            if (mantissa != 0) kept++;
            if (behind_point) exponent--;
        } else {
            cut |= c != '0';
            if (!behind_point) exponent++;
        }
    }
    if (!nearest(powers, f, mantissa, exponent, bits)) return false;
    if (!cut) return true;
    u64 above;
    return nearest(powers, f, mantissa + 1, exponent, &above) && above == *bits;
}

// The bits of a number as a 16-bit float: all 16-bit floats, and the midpoints between two, are
// multiples of 10^-25 below 2^16, so 128 bits hold them exactly.
__device__ __forceinline__ bool half_bits(const u8 *text, const Number &n, u64 *bits) {
    const i64 exponent = exponent_of(text, n);
    u32 integer_digits = 0;
    while (is_digit(text[n.digits + integer_digits])) integer_digits++;
    i64 power = exponent + (i64)integer_digits;
    u128 count = 0;
    bool more = false;
    for (u32 i = n.digits; i < n.mantissa_end; i++) {
        if (text[i] == '.') continue;
        power--;
        const u32 digit = text[i] - '0';
        if (power < -25) more |= digit != 0;
        else if (power < 5) count = count * 10 + digit;
        else if (digit != 0) return false;
    }
    if (count != 0)
        for (; power > -25; power--) count *= 10;
    const u128 five25 = (u128)298023223876953125ull;
    const u128 halves = count / five25;
    more |= count % five25 != 0;
    const u64 top = (u64)(halves >> 64);
    const u32 width = top ? 128 - (u32)__clzll((i64)top) : 64 - (u32)__clzll((i64)(u64)halves);
    const u32 shift = width > 12 ? width - 11 : 1;
    u128 significand = halves >> shift;
    const u128 rest = halves & (((u128)1 << shift) - 1);
    const u128 half = (u128)1 << (shift - 1);
    if (rest > half || (rest == half && (more || (significand & 1)))) significand++;
    const u128 all = significand + ((u128)(shift - 1) << 10);
    *bits = (u64)all;
    return all < 0x7C00;
}

// A magnitude of up to 256 bits, least limb first.
struct Wide {
    u64 limb[4];
};

// × 10 + digit; false on overflow of 256 bits.
__device__ __forceinline__ bool append_digit(Wide *wide, u32 digit) {
    u128 carry = digit;
    for (u32 i = 0; i < 4; i++) {
        carry += (u128)wide->limb[i] * 10;
        wide->limb[i] = (u64)carry;
        carry >>= 64;
    }
    return carry == 0;
}

// value × 10^scale as a whole number of at most `precision` digits; false for anything else.
__device__ __forceinline__ bool decimal_at(const u8 *text, const Number &n, u32 precision, i32 scale, Wide *wide) {
    for (u32 i = 0; i < 4; i++) wide->limb[i] = 0;
    u32 integer_digits = 0;
    while (is_digit(text[n.digits + integer_digits])) integer_digits++;
    i64 power = exponent_of(text, n) + scale + (i64)integer_digits;
    u32 kept = 0;
    for (u32 i = n.digits; i < n.mantissa_end; i++) {
        if (text[i] == '.') continue;
        power--;
        const u32 digit = text[i] - '0';
        if (power < 0) {
            if (digit != 0) return false;
        } else if (kept != 0 || digit != 0) {
            if (++kept > precision) return false;
            append_digit(wide, digit);
        }
    }
    if (kept == 0) return true;
    for (; power > 0; power--) {
        if (++kept > precision) return false;
        append_digit(wide, 0);
    }
    return true;
}

#endif
