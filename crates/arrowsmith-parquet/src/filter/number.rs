// SPDX-License-Identifier: Apache-2.0
//! Number literals, and what they mean for a column whose values are integers of some unit: a
//! literal between two values, or outside of the type's range, is resolved here.

use arrow_buffer::i256;

use super::{Key, Test};
use crate::predicate::Comparison;

/// Digits that an `i256` always holds.
const DIGITS_MAX: usize = 76;

/// Exponents beyond this make no difference to any type.
const EXPONENT_MAX: i32 = 1 << 20;

/// A number as it is written: `digits`, and a little more if there is `more`, times ten to the
/// `exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exact {
    negative: bool,
    digits: i256,
    more: bool,
    exponent: i32,
}

impl Exact {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent_of(exponent)?),
            None => (text, 0),
        };
        let negative = number.starts_with('-');
        let number = number.strip_prefix(['+', '-']).unwrap_or(number);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !plain(whole) || !plain(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        // Trailing zeros do not matter and would use up digits.
        let fraction = fraction.trim_end_matches('0');
        let all = format!("{whole}{fraction}");
        let all = all.trim_start_matches('0');
        let (digits, rest) = all.split_at(all.len().min(DIGITS_MAX));
        let digits = if digits.is_empty() { i256::ZERO } else { i256::from_string(digits)? };
        let places = |length: usize| i32::try_from(length).unwrap_or(EXPONENT_MAX);
        Some(Self {
            negative,
            digits,
            more: rest.bytes().any(|digit| digit != b'0'),
            exponent: exponent
                .saturating_sub(places(fraction.len()))
                .saturating_add(places(rest.len())),
        })
    }

    pub(super) fn is_zero(self) -> bool {
        self.digits == i256::ZERO
    }

    pub(super) fn is_negative(self) -> bool {
        self.negative
    }

    /// The test on integers that are the values times ten to the `scale`.
    pub(super) fn test(self, comparison: Comparison, scale: i32, (low, high): Range) -> Test {
        let shift = self.exponent.saturating_add(scale);
        let power = i256::from_i128(10).checked_pow(shift.unsigned_abs().min(100));
        let power = power.filter(|_| shift.unsigned_abs() <= 76);
        let (magnitude, exact) = match power {
            _ if self.is_zero() => (Some(i256::ZERO), true),
            // The omitted digits would count.
            Some(_) if shift > 0 && self.more => (None, true),
            Some(power) if shift >= 0 => (self.digits.checked_mul(power), !self.more),
            None if shift >= 0 => (None, true),
            Some(power) => {
                let exact = self.digits.checked_rem(power) == Some(i256::ZERO) && !self.more;
                (self.digits.checked_div(power), exact)
            }
            None => (Some(i256::ZERO), false),
        };
        let floor = magnitude.and_then(|magnitude| match self.negative {
            true if exact => magnitude.checked_neg(),
            true => magnitude.checked_neg()?.checked_sub(i256::ONE),
            false => Some(magnitude),
        });
        match floor {
            Some(floor) => settle(floor, exact, comparison, (low, high)),
            None => outside(self.negative, comparison),
        }
    }
}

fn exponent_of(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse::<i32>().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if text.starts_with('-') { -value } else { value })
}

/// The minimum and maximum of a type.
pub(super) type Range = (i256, i256);

/// The test against a number whose floor is `floor`, and which is that if it is `exact`.
pub(super) fn settle(floor: i256, exact: bool, comparison: Comparison, (low, high): Range) -> Test {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    if floor < low || floor > high {
        return outside(floor < low, comparison);
    }
    let comparison = match comparison {
        Equal if !exact => return Test::Never,
        NotEqual if !exact => return Test::Always,
        Less if !exact => LessOrEqual,
        GreaterOrEqual if !exact => Greater,
        same => same,
    };
    let key = floor.to_i128().map_or(Key::Wide(floor), Key::Integer);
    Test::Compare(comparison, key)
}

/// The test against a number that is less than all values (`below`), or greater.
fn outside(below: bool, comparison: Comparison) -> Test {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let holds = match comparison {
        Equal => false,
        NotEqual => true,
        Less | LessOrEqual => !below,
        Greater | GreaterOrEqual => below,
    };
    if holds { Test::Always } else { Test::Never }
}

/// The test of floating-point numbers against the one that is `nearest` to what is written. What is
/// written as a number is never infinity, and never zero where it is not: it is next to them.
pub(super) fn float(text: &str, nearest: f64, comparison: Comparison) -> Test {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let written = Exact::parse(text)
        .filter(|written| nearest.is_infinite() || (nearest == 0.0 && !written.is_zero()));
    let Some(written) = written else { return Test::Compare(comparison, Key::Float(nearest)) };
    // Whether the nearest number is greater than what is written.
    let above = nearest.is_infinite() != written.is_negative();
    let comparison = match (comparison, above) {
        (Equal, _) => return Test::Never,
        (NotEqual, _) => return Test::Always,
        (Less | LessOrEqual, true) => Less,
        (Less | LessOrEqual, false) => LessOrEqual,
        (Greater | GreaterOrEqual, true) => GreaterOrEqual,
        (Greater | GreaterOrEqual, false) => Greater,
    };
    Test::Compare(comparison, Key::Float(nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(value: i128) -> i256 {
        i256::from_i128(value)
    }

    #[test]
    fn numbers_are_taken_as_they_are_written() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let test = |text: &str, comparison, scale| {
            Exact::parse(text).unwrap().test(comparison, scale, (small(-128), small(127)))
        };
        let compare = |comparison, value| Test::Compare(comparison, Key::Integer(value));
        assert_eq!(test("5", Equal, 0), compare(Equal, 5));
        assert_eq!(test("5.00", Equal, 0), compare(Equal, 5));
        assert_eq!(test("+0.5e1", Equal, 0), compare(Equal, 5));
        assert_eq!(test("1.5", Equal, 0), Test::Never);
        assert_eq!(test("1.5", NotEqual, 0), Test::Always);
        assert_eq!(test("1.5", Less, 0), compare(LessOrEqual, 1));
        assert_eq!(test("1.5", GreaterOrEqual, 0), compare(Greater, 1));
        assert_eq!(test("-1.5", Less, 0), compare(LessOrEqual, -2));
        assert_eq!(test("-1.5", Greater, 0), compare(Greater, -2));
        assert_eq!(test("-0.5", GreaterOrEqual, 0), compare(Greater, -1));
        assert_eq!(test("1.25", Equal, 2), compare(Equal, 125));
        assert_eq!(test("1.255", Equal, 2), Test::Never);
        assert_eq!(test("1000", Less, 0), Test::Always);
        assert_eq!(test("1000", Greater, 0), Test::Never);
        assert_eq!(test("-1e300", Greater, 0), Test::Always);
        assert_eq!(test("1e300", Equal, 0), Test::Never);
        assert_eq!(test("-1e-300", Less, 0), compare(LessOrEqual, -1));
        assert_eq!(test("0e999999", Equal, 0), compare(Equal, 0));
        assert_eq!(test("1e99999999999", Less, 0), Test::Always);
        assert_eq!(test("1e-99999999999", Greater, 0), compare(Greater, 0));
        let long = format!("1.{}1", "0".repeat(100));
        assert_eq!(test(&long, Equal, 0), Test::Never);
        assert_eq!(test(&long, LessOrEqual, 0), compare(LessOrEqual, 1));
        assert_eq!(test(&format!("-{long}"), Less, 0), compare(LessOrEqual, -2));
        assert_eq!(Exact::parse("1.5x"), None);
        assert_eq!(Exact::parse("-"), None);
        assert_eq!(Exact::parse("1e"), None);
    }

    #[test]
    fn what_a_float_cannot_say_lies_beside_what_it_can() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let compare = |comparison, value| Test::Compare(comparison, Key::Float(value));
        let infinity = f64::INFINITY;
        assert_eq!(float("1e39", infinity, Greater), compare(GreaterOrEqual, infinity));
        assert_eq!(float("1e39", infinity, LessOrEqual), compare(Less, infinity));
        assert_eq!(float("1e39", infinity, Equal), Test::Never);
        assert_eq!(float("-1e39", -infinity, Less), compare(LessOrEqual, -infinity));
        assert_eq!(float("-1e39", -infinity, GreaterOrEqual), compare(Greater, -infinity));
        assert_eq!(float("inf", infinity, Equal), compare(Equal, infinity));
        assert_eq!(float("1e-99", 0.0, GreaterOrEqual), compare(Greater, 0.0));
        assert_eq!(float("1e-99", 0.0, Less), compare(LessOrEqual, 0.0));
        assert_eq!(float("-1e-99", -0.0, LessOrEqual), compare(Less, -0.0));
        assert_eq!(float("1e-99", 0.0, NotEqual), Test::Always);
        assert_eq!(float("0.0e5", 0.0, Equal), compare(Equal, 0.0));
        assert_eq!(float("0.1", 0.1, Equal), compare(Equal, 0.1));
    }
}
