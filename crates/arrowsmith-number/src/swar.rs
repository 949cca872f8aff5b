// SPDX-License-Identifier: Apache-2.0
//! Eight bytes at a time in one `u64`: load, find digits, convert digits.
//!
//! The lowest part of the convert stage, used by numbers and dates. Words are little-endian on
//! every machine: the first byte of the text is the lowest byte of the word. A word "in digit form"
//! is exclusive-ored with [`ZEROS`]: its digit bytes are 0..=9. Nothing here reads outside the
//! given slice.

/// Eight ASCII zeros.
pub(crate) const ZEROS: u64 = 0x3030_3030_3030_3030;

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Powers of ten that fit 64 bits.
pub(crate) const POW10_U64: [u64; 20] = {
    let mut powers = [1; 20];
    let mut i = 1;
    while i < 20 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// The eight bytes at `at`, or `None` where fewer are left.
#[inline(always)]
pub(crate) fn load8(input: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*input.get(at..)?.first_chunk()?))
}

/// Up to eight bytes at `at`, padded with zeros. Faster if `input` has at least eight bytes.
#[inline(always)]
pub(crate) fn load8_padded(input: &[u8], at: usize) -> u64 {
    if let Some(word) = load8(input, at) {
        return word;
    }
    let missing = (at + 8).saturating_sub(input.len());
    match input.last_chunk() {
        Some(&last) if missing < 8 => u64::from_le_bytes(last) >> (8 * missing),
        _ => load_short(input, at),
    }
}

#[cold]
fn load_short(input: &[u8], at: usize) -> u64 {
    let rest = input.get(at..).unwrap_or_default();
    rest.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The byte at `at`, or 0 after the end, which is not part of any number.
#[inline(always)]
pub(crate) fn byte_at(input: &[u8], at: usize) -> u8 {
    input.get(at).copied().unwrap_or(0)
}

/// Sets the high bit of each byte of a word in digit form that is not a digit. Correct up to the
/// first byte above 0x7F: that may carry into the next one, but no number continues after it.
#[inline(always)]
pub(crate) fn stops(word: u64) -> u64 {
    const NOT_DIGIT: u64 = 0x7676_7676_7676_7676; // 0x76 + 10 = 0x80
    (word.wrapping_add(NOT_DIGIT) | word) & HIGH_BITS
}

/// The number of leading digits (from the lowest byte on), 0..=8, of a word in digit form.
#[inline(always)]
pub(crate) fn digit_run(word: u64) -> u32 {
    stops(word).trailing_zeros() / 8
}

/// Byte `count` (0..8) of a word in digit form, as it was in the text.
#[inline(always)]
pub(crate) fn text_byte(word: u64, count: u32) -> u8 {
    (word >> (8 * count)).to_le_bytes()[0] ^ b'0'
}

/// Keeps the lowest `count` bytes of a word, `count` in 0..8.
#[inline(always)]
pub(crate) fn keep_low(word: u64, count: u32) -> u64 {
    word & ((1u64 << (8 * count)) - 1)
}

/// Moves the first `count` digits (1..=8) to the end of the word, after zeros.
#[inline(always)]
pub(crate) fn align_right(word: u64, count: u32) -> u64 {
    word << (64 - 8 * count)
}

/// The value of eight digits in digit form: pairs, then quadruples, then all, by multiplication.
#[inline(always)]
pub(crate) fn convert8(word: u64) -> u64 {
    const PAIR: u64 = 0x0000_00FF_0000_00FF;
    const WEIGHTS_EVEN: u64 = 100 + (1_000_000 << 32);
    const WEIGHTS_ODD: u64 = 1 + (10_000 << 32);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let even = (pairs & PAIR).wrapping_mul(WEIGHTS_EVEN);
    let odd = ((pairs >> 16) & PAIR).wrapping_mul(WEIGHTS_ODD);
    even.wrapping_add(odd) >> 32
}

/// Appends the decimal digits at `at` to `value`, modulo 2⁶⁴; returns it and the end of the digits.
#[inline(always)]
pub(crate) fn append_digits(input: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    loop {
        let word = load8_padded(input, at) ^ ZEROS;
        let count = digit_run(word);
        if count == 8 {
            value = value.wrapping_mul(100_000_000).wrapping_add(convert8(word));
            at += 8;
            continue;
        }
        if count > 0 {
            let low = convert8(align_right(word, count));
            value = value.wrapping_mul(POW10_U64[count as usize & 7]).wrapping_add(low);
        }
        return (value, at + count as usize);
    }
}

/// The end of the digits at `at`.
#[inline(always)]
pub(crate) fn skip_digits(input: &[u8], mut at: usize) -> usize {
    loop {
        let count = digit_run(load8_padded(input, at) ^ ZEROS);
        at += count as usize;
        if count < 8 {
            return at;
        }
    }
}
