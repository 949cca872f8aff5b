// SPDX-License-Identifier: Apache-2.0
//! The Eisel–Lemire algorithm: `w × 10^q` to the nearest binary float, for any `u64` and any `q`.
//!
//! Two 64-bit multiplications by a truncated power of five give enough bits to round correctly: D.
//! Lemire, "Number Parsing at a Gigabyte per Second" (2021). N. Mushtak, D. Lemire, "Fast Number
//! Parsing Without Fallback" (2022) prove that it needs no fallback for `w` of 64 bits. Used by
//! `float`; it knows nothing of text.

use super::powers::{POWERS_OF_FIVE, Q_MAX, Q_MIN};

/// The parameters of an IEEE 754 binary format that rounding needs.
pub(super) trait Format: Copy {
    /// Bits of the significand that are stored.
    const MANTISSA_BITS: u32;
    /// The stored exponent of 1.0: 1023 for doubles.
    const BIAS: i32;
    /// The stored exponent of infinity: 2047 for doubles.
    const EXPONENT_INFINITE: i32;
    /// The range of exponents of ten for which a `u64` can be exactly half-way between two floats.
    const TIE_Q: (i32, i32);
    /// The float with these bits, except that the sign is in bit 63.
    fn assemble(bits: u64) -> Self;
    /// As in the standard library.
    fn is_infinite(self) -> bool;
    /// The bits of `mantissa × 10^q`, by one division or multiplication, if the format holds both
    /// operands exactly, so that it rounds once: W. Clinger, "How to Read Floating Point Numbers
    /// Accurately" (1990).
    fn exact(mantissa: u64, q: i64) -> Option<u64>;
}

impl Format for f64 {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: i32 = 1023;
    const EXPONENT_INFINITE: i32 = 0x7FF;
    const TIE_Q: (i32, i32) = (-4, 23);
    #[inline(always)]
    fn exact(mantissa: u64, q: i64) -> Option<u64> {
        let power = POWERS_OF_TEN_F64[q.unsigned_abs().min(22) as usize];
        let mantissa_f = mantissa.cast_signed() as Self;
        let value = if q < 0 { mantissa_f / power } else { mantissa_f * power };
        (mantissa >> 53 == 0 && q.unsigned_abs() <= 22).then(|| value.to_bits())
    }
    #[inline(always)]
    fn assemble(bits: u64) -> Self {
        Self::from_bits(bits)
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
    fn exact(mantissa: u64, q: i64) -> Option<u64> {
        let power = POWERS_OF_TEN_F32[q.unsigned_abs().min(10) as usize];
        let mantissa_f = mantissa.cast_signed() as Self;
        let value = if q < 0 { mantissa_f / power } else { mantissa_f * power };
        (mantissa >> 24 == 0 && q.unsigned_abs() <= 10).then(|| u64::from(value.to_bits()))
    }
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "bits of an f32, and a sign shifted there")]
    fn assemble(bits: u64) -> Self {
        Self::from_bits((bits >> 32) as u32 & 1 << 31 | bits as u32)
    }
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

/// The powers of ten that an `f64` holds exactly.
const POWERS_OF_TEN_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The powers of ten that an `f32` holds exactly.
const POWERS_OF_TEN_F32: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

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
    let (low, high) = product(w << leading, q);
    let upper = i32::from(high >> 63 != 0);
    // One bit more than the significand, for rounding.
    let shift = upper.unsigned_abs() + 64 - F::MANTISSA_BITS - 3;
    let mut mantissa = high >> shift;
    let mut exponent = binary_exponent(q) + upper - leading.cast_signed() + F::BIAS;
    if exponent <= 0 {
        return Some(subnormal::<F>(mantissa, exponent));
    }
    // Exactly half-way: the bits shifted out are zero, so do not round up to odd. The rarest
    // condition comes first.
    if low <= 1
        && (F::TIE_Q.0..=F::TIE_Q.1).contains(&q)
        && mantissa & 3 == 1
        && mantissa << shift == high
    {
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    // A carry out of the significand increments the exponent, and so does the hidden bit.
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

/// ⌊log₂ 10^q⌋ plus the shift of normalisation, exact over the table.
#[inline(always)]
fn binary_exponent(q: i32) -> i32 {
    ((q * (152_170 + 65_536)) >> 16) + 63
}

/// The upper 128 bits of `w × 5^q`, except for a carry from the truncated bits: (low, high).
#[inline(always)]
fn product(w: u64, q: i32) -> (u64, u64) {
    let (five_high, five_low) = POWERS_OF_FIVE[(q - Q_MIN).unsigned_abs() as usize];
    let (low, high) = multiply(w, five_high);
    // The published algorithm computes this second product only if the first leaves all ones after
    // the bits that rounding uses. Otherwise the carry does not propagate that far, so computing it
    // always changes nothing, and saves a branch that short decimals mispredict.
    let (_, second) = multiply(w, five_low);
    let (low, carry) = low.overflowing_add(second);
    (low, high + u64::from(carry))
}

/// The full product: (low, high).
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a product, taken apart")]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}
