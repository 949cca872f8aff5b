// SPDX-License-Identifier: Apache-2.0
//! The powers of five that Eisel–Lemire multiplies by, 128 bits each, computed by the compiler.
//!
//! Entry `q` holds the most significant 128 bits of 5^q: truncated for q ≥ 0; for q < 0 those of
//! the reciprocal, rounded up where 5^-q fits 64 bits (−27 ≤ q) and truncated below, as in
//! D. Lemire, "Number Parsing at a Gigabyte per Second" (2021), section 5. The tests compare every
//! entry with exact big integers. Used by `eisel_lemire` only.

/// The smallest exponent of ten in the table: less of them and every `u64` rounds to zero.
pub(super) const Q_MIN: i32 = -342;
/// The largest one: more of them and every `u64` overflows.
pub(super) const Q_MAX: i32 = 308;

const COUNT: usize = (Q_MAX - Q_MIN) as usize + 1;
const ZERO_AT: usize = -Q_MIN as usize;

/// `(high, low)` halves by `q - Q_MIN`.
pub(super) static POWERS_OF_FIVE: [(u64, u64); COUNT] = build();

/// A fraction of 256 bits, normalised (top bit set), most significant limb first. Each step loses
/// less than one unit in the last place, so after 342 of them 246 bits are correct.
type Wide = [u64; 4];

const fn build() -> [(u64, u64); COUNT] {
    let one: Wide = [1 << 63, 0, 0, 0];
    let mut table = [(0, 0); COUNT];
    table[ZERO_AT] = (one[0], one[1]);
    let mut wide = one;
    let mut at = ZERO_AT + 1;
    while at < COUNT {
        wide = times_five(wide);
        table[at] = (wide[0], wide[1]);
        at += 1;
    }
    wide = one;
    let mut q: usize = 1;
    while q <= ZERO_AT {
        wide = over_five(wide);
        let (mut high, mut low) = (wide[0], wide[1]);
        if q <= 27 {
            let carry;
            (low, carry) = low.overflowing_add(1);
            high += carry as u64;
        }
        table[ZERO_AT - q] = (high, low);
        q += 1;
    }
    table
}

const fn times_five(wide: Wide) -> Wide {
    let mut out = [0; 4];
    let mut carry = 0;
    let mut i = 4;
    while i > 0 {
        i -= 1;
        let product = wide[i] as u128 * 5 + carry;
        out[i] = low_half(product);
        carry = product >> 64;
    }
    // The carry is 2..=4, that is, two or three bits to shift back in.
    let shift = 128 - carry.leading_zeros();
    let mut above = low_half(carry);
    let mut i = 0;
    while i < 4 {
        let limb = out[i];
        out[i] = (above << (64 - shift)) | (limb >> shift);
        above = limb;
        i += 1;
    }
    out
}

const fn over_five(wide: Wide) -> Wide {
    // Three leading zero bits make room, so that at most three bits are shifted out again: an extra
    // limb keeps the division exact to 320 bits before truncation to 256.
    let limbs = [wide[0], wide[1], wide[2], wide[3], 0];
    let mut quotient = [0; 5];
    let mut remainder: u128 = 0;
    let mut i = 0;
    while i < 5 {
        let dividend = (remainder << 64) | limbs[i] as u128;
        quotient[i] = low_half(dividend / 5);
        remainder = dividend % 5;
        i += 1;
    }
    let shift = quotient[0].leading_zeros();
    let mut out = [0; 4];
    let mut i = 0;
    while i < 4 {
        out[i] = (quotient[i] << shift) | (quotient[i + 1] >> (64 - shift));
        i += 1;
    }
    out
}

#[expect(clippy::cast_possible_truncation, reason = "only the low half is used")]
const fn low_half(value: u128) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::{COUNT, POWERS_OF_FIVE, Q_MIN};

    /// A natural number, least significant limb first.
    type Natural = Vec<u32>;

    fn multiply(n: &mut Natural, by: u32) {
        let mut carry = 0u64;
        for limb in n.iter_mut() {
            let product = u64::from(*limb) * u64::from(by) + carry;
            *limb = u32::try_from(product & 0xFFFF_FFFF).unwrap();
            carry = product >> 32;
        }
        n.push(u32::try_from(carry).unwrap());
    }

    fn divide(n: &mut Natural, by: u32) {
        let mut remainder = 0u64;
        for limb in n.iter_mut().rev() {
            let dividend = (remainder << 32) | u64::from(*limb);
            *limb = u32::try_from(dividend / u64::from(by)).unwrap();
            remainder = dividend % u64::from(by);
        }
    }

    /// The 128 bits from the top one on.
    fn top_bits(n: &Natural) -> u128 {
        let bits = |i: usize| n.get(i / 32).is_some_and(|limb| limb >> (i % 32) & 1 == 1);
        let top = (0..n.len() * 32).rev().find(|&i| bits(i)).unwrap();
        (0..128).fold(0, |acc, i| acc << 1 | u128::from(top >= i && bits(top - i)))
    }

    #[test]
    fn table_is_what_exact_arithmetic_gives() {
        let mut five: Natural = vec![1];
        for q in 0..COUNT - 342 {
            let (high, low) = POWERS_OF_FIVE[q + 342];
            assert_eq!(u128::from(high) << 64 | u128::from(low), top_bits(&five), "5^{q}");
            multiply(&mut five, 5);
        }
        // 2^1300 / 5^k by k exact divisions: the floor of a floor is the floor. 5^342 has 795
        // bits, so more than 500 of each quotient are left.
        let mut reciprocal: Natural = vec![0; 40];
        reciprocal.push(1 << 20);
        for k in 1..=342 {
            divide(&mut reciprocal, 5);
            let (high, low) = POWERS_OF_FIVE[342 - k];
            let expected = top_bits(&reciprocal) + u128::from(k <= 27);
            assert_eq!(u128::from(high) << 64 | u128::from(low), expected, "5^-{k}");
        }
        assert_eq!(Q_MIN, -342);
    }
}
