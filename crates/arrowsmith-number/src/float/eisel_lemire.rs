// SPDX-License-Identifier: Apache-2.0
//! The Eisel–Lemire algorithm: `w × 10^q` to the nearest binary float, for any `u64` and any `q`.
//!
//! One or two 64-bit multiplications by a truncated power of five give enough bits to round
//! correctly: D. Lemire, "Number Parsing at a Gigabyte per Second" (2021). That it needs no
//! fallback for `w` of 64 bits is proved in N. Mushtak, D. Lemire, "Fast Number Parsing Without
//! Fallback" (2022). Sits under `float`; it knows nothing of text.

use super::powers::{POWERS_OF_FIVE, Q_MAX, Q_MIN};

/// An IEEE 754 binary format, as much of it as rounding has to know.
pub(super) trait Format: Copy {
    /// Bits of the significand that are stored.
    const MANTISSA_BITS: u32;
    /// The exponent of one, as it is stored: 1023 for doubles.
    const BIAS: i32;
    /// The stored exponent of infinity: 2047 for doubles.
    const EXPONENT_INFINITE: i32;
    /// The exponents of ten between which a `u64` can lie exactly between two floats.
    const TIE_Q: (i32, i32);
    /// The float with these bits; the sign is bit 63 of `sign` and 0 elsewhere.
    fn assemble(sign: u64, bits: u64) -> Self;
    fn is_infinite(self) -> bool;
}

impl Format for f64 {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: i32 = 1023;
    const EXPONENT_INFINITE: i32 = 0x7FF;
    const TIE_Q: (i32, i32) = (-4, 23);
    #[inline(always)]
    fn assemble(sign: u64, bits: u64) -> Self {
        Self::from_bits(sign | bits)
    }
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

impl Format for f32 {
    const MANTISSA_BITS: u32 = 23;
    const BIAS: i32 = 127;
    const EXPONENT_INFINITE: i32 = 0xFF;
    const TIE_Q: (i32, i32) = (-17, 10);
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "bits of an f32, and a sign shifted there")]
    fn assemble(sign: u64, bits: u64) -> Self {
        Self::from_bits((sign >> 32) as u32 | bits as u32)
    }
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

/// The bits of the float nearest to `w × 10^q`, ties to even, without sign; `None` on overflow.
#[inline(always)]
pub(super) fn nearest<F: Format>(w: u64, q: i64) -> Option<u64> {
    if w == 0 || q < i64::from(Q_MIN) {
        return Some(0);
    }
    if q > i64::from(Q_MAX) {
        return None;
    }
    // In range by the two tests above.
    let q = i32::try_from(q).ok()?;
    let leading = w.leading_zeros();
    let (low, high) = product::<F>(w << leading, q);
    let upper = i32::from(high >> 63 != 0);
    // One bit more than the significand, for rounding.
    let shift = upper.unsigned_abs() + 64 - F::MANTISSA_BITS - 3;
    let mut mantissa = high >> shift;
    let mut exponent = binary_exponent(q) + upper - leading.cast_signed() + F::BIAS;
    if exponent <= 0 {
        return Some(subnormal::<F>(mantissa, exponent));
    }
    // Exactly half-way: what was shifted out is zero, so do not round up to odd.
    if (F::TIE_Q.0..=F::TIE_Q.1).contains(&q)
        && low <= 1
        && mantissa & 3 == 1
        && mantissa << shift == high
    {
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    // A carry out of the significand is a carry into the exponent, and the hidden bit is one too.
    let bits = mantissa.wrapping_add(u64::from((exponent - 1).unsigned_abs()) << F::MANTISSA_BITS);
    exponent = i32::try_from(bits >> F::MANTISSA_BITS).ok()?;
    (exponent < F::EXPONENT_INFINITE).then_some(bits)
}

/// Significand and stored exponent of a value below the smallest normal number.
#[cold]
fn subnormal<F: Format>(mantissa: u64, exponent: i32) -> u64 {
    let shift = exponent.unsigned_abs() + 1;
    if shift >= 64 {
        return 0;
    }
    let mantissa = mantissa >> shift;
    // Rounding up to the smallest normal number sets the lowest bit of the exponent by itself. A
    // tie cannot occur here: it would need more digits than 64 bits hold.
    (mantissa + (mantissa & 1)) >> 1
}

/// ⌊log₂ 10^q⌋ and what normalising adds, exact over the table.
#[inline(always)]
fn binary_exponent(q: i32) -> i32 {
    ((q * (152_170 + 65_536)) >> 16) + 63
}

/// The upper 128 bits of `w × 5^q` as far as rounding needs them: (low, high).
#[inline(always)]
fn product<F: Format>(w: u64, q: i32) -> (u64, u64) {
    let (five_high, five_low) = POWERS_OF_FIVE[(q - Q_MIN).unsigned_abs() as usize];
    let (mut low, mut high) = multiply(w, five_high);
    // The bits behind those that rounding looks at are all ones: a carry from the second half of
    // the power could still reach them.
    let behind = u64::MAX >> (F::MANTISSA_BITS + 3);
    if high & behind == behind {
        let (_, second) = multiply(w, five_low);
        let carry;
        (low, carry) = low.overflowing_add(second);
        high += u64::from(carry);
    }
    (low, high)
}

/// The full product: (low, high).
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a product, taken apart")]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}
