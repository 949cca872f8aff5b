// SPDX-License-Identifier: Apache-2.0
//! The oracle's numbers: their grammar, and exact values by arithmetic on decimal digits.

use std::cmp::Ordering;

use arrow_buffer::i256;
use arrowsmith_core::ErrorKind;
use half::f16;

/// The classification of a text by the grammar of JSON numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// A complete number.
    Number,
    /// The prefix of a number.
    Prefix,
    /// Neither.
    Broken,
}

/// Classifies a text.
pub fn grammar(text: &str) -> Grammar {
    if is_number(text) {
        Grammar::Number
    } else if is_number(&format!("{text}0")) {
        Grammar::Prefix
    } else {
        Grammar::Broken
    }
}

/// `-? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)?`
fn is_number(text: &str) -> bool {
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let exponent_fits =
        exponent.is_none_or(|text| all_digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    all_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(all_digits)
        && exponent_fits
}

/// The value of a number without fraction and exponent; `None` if it is far out of every range.
///
/// # Errors
/// `wrong-type` for another number.
pub fn integer(text: &str) -> Result<Option<i128>, ErrorKind> {
    if text.contains(['.', 'e', 'E']) { Err(ErrorKind::WrongType) } else { Ok(text.parse().ok()) }
}

/// `± 0.d₁d₂d₃… × 10^exponent`, where d₁ and the last digit are not 0; no digits for zero.
struct Digits {
    negative: bool,
    digits: Vec<u8>,
    exponent: i128,
}

/// Decomposes a valid number. Exponents are capped at ±10³⁰.
fn take_apart(text: &str) -> Digits {
    let negative = text.starts_with('-');
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let limit = 10_i128.pow(30);
    let far = if exponent.starts_with('-') { -limit } else { limit };
    let mut exponent = exponent.parse::<i128>().unwrap_or(far).clamp(-limit, limit);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    exponent += whole.len() as i128;
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
    let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
    digits.drain(..zeros);
    exponent -= zeros as i128;
    while digits.last() == Some(&0) {
        digits.pop();
    }
    if digits.is_empty() {
        exponent = 0;
    }
    Digits { negative, digits, exponent }
}

/// The value of a valid number times ten to the scale.
///
/// # Errors
/// `inexact` for non-zero digits beyond the scale, in preference to `overflow` for more digits than
/// the precision.
pub fn decimal(text: &str, precision: u8, scale: i8) -> Result<i256, ErrorKind> {
    let Digits { negative, digits, exponent } = take_apart(text);
    if digits.is_empty() {
        return Ok(i256::ZERO);
    }
    let whole_digits = exponent + i128::from(scale);
    if whole_digits < digits.len() as i128 {
        return Err(ErrorKind::Inexact);
    }
    if whole_digits > i128::from(precision) {
        return Err(ErrorKind::Overflow);
    }
    let mut value = i256::ZERO;
    for place in 0..whole_digits {
        let digit = usize::try_from(place).ok().and_then(|place| digits.get(place)).copied();
        // At most 76 digits, which 256 bits hold.
        value = value.wrapping_mul(i256::from_i128(10));
        value = value.wrapping_add(i256::from_i128(digit.unwrap_or(0).into()));
    }
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// The bits of the half-precision number nearest to a valid number, ties to even; `None` if it is
/// beyond the finite range. It is found by bisection over all positive halves, comparing the points
/// between them digit by digit.
pub fn half_bits(text: &str) -> Option<u16> {
    let number = take_apart(text);
    let sign = if number.negative { 0x8000 } else { 0 };
    // The point half-way between the half with these bits and its successor (beyond the last, too).
    let middle = |bits: u16| {
        let value =
            |bits: u16| if bits == 0x7C00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
        // Both have 11 bits, so that the sum and its half are exact.
        (value(bits) + value(bits + 1)) / 2.0
    };
    let (mut low, mut high) = (0_u16, 0x7C00_u16);
    while low < high {
        let bits = low.midpoint(high);
        let below = match compare(&number, middle(bits)) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => bits.is_multiple_of(2),
        };
        if below {
            high = bits;
        } else {
            low = bits + 1;
        }
    }
    (low < 0x7C00).then_some(sign | low)
}

/// Compares a number without its sign with a positive point, exactly.
fn compare(number: &Digits, point: f64) -> Ordering {
    // The points have no more than 25 places in binary, and so no more in decimal.
    let point = take_apart(&format!("{point:.40}"));
    if number.digits.is_empty() || point.digits.is_empty() {
        return number.digits.len().cmp(&point.digits.len());
    }
    number.exponent.cmp(&point.exponent).then_with(|| number.digits.cmp(&point.digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_texts() {
        for text in ["0", "-0", "10", "1.5", "0.0", "1e5", "1E+5", "-1.25e-10"] {
            assert_eq!(grammar(text), Grammar::Number, "{text}");
        }
        for text in ["", "-", "1.", "1e", "1e+", "0.5E-"] {
            assert_eq!(grammar(text), Grammar::Prefix, "{text}");
        }
        for text in ["01", "-01", "+1", ".5", "1.e5", "1e5e", "1-", "--1", "1.5.", "1e5."] {
            assert_eq!(grammar(text), Grammar::Broken, "{text}");
        }
    }

    #[test]
    fn halves_round_to_nearest_even() {
        let bits = |text: &str| half_bits(text).unwrap();
        assert_eq!(bits("1"), 0x3C00);
        assert_eq!(bits("-0"), 0x8000);
        assert_eq!(bits("65504"), 0x7BFF);
        assert_eq!(bits("65519.999999999999999999999999999999"), 0x7BFF);
        assert_eq!(half_bits("65520"), None);
        // 1 + 2⁻¹¹ is half-way between 1 and the next half; a digit far after it decides.
        assert_eq!(bits("1.00048828125"), 0x3C00);
        assert_eq!(bits("1.000488281250000000000000000000000000000000001"), 0x3C01);
        assert_eq!(bits("1.00146484375"), 0x3C02);
        assert_eq!(bits("5.9604644775390625e-8"), 1);
        assert_eq!(bits("2.98023223876953125e-8"), 0);
        assert_eq!(bits("2.980232238769531251e-8"), 1);
        for bits_in in (0..0x7C00_u16).step_by(7) {
            assert_eq!(bits(&format!("{:?}", f16::from_bits(bits_in).to_f64())), bits_in);
        }
    }

    #[test]
    fn decimals_are_exact() {
        let value =
            |text, precision, scale| decimal(text, precision, scale).map(|value| value.to_string());
        assert_eq!(value("12.30", 4, 2), Ok("1230".to_owned()));
        assert_eq!(value("-12e-1", 4, 2), Ok("-120".to_owned()));
        assert_eq!(value("1200", 2, -2), Ok("12".to_owned()));
        assert_eq!(value("1250", 4, -2), Err(ErrorKind::Inexact));
        assert_eq!(value("0.001", 4, 2), Err(ErrorKind::Inexact));
        assert_eq!(value("12345.678", 4, 2), Err(ErrorKind::Inexact));
        assert_eq!(value("100", 4, 2), Err(ErrorKind::Overflow));
        assert_eq!(value("0e999999999999999999999999999999999999999999", 4, 2), Ok("0".to_owned()));
        assert_eq!(
            value("1e-99999999999999999999999999999999999999999", 4, 2),
            Err(ErrorKind::Inexact)
        );
        assert_eq!(
            value("1e99999999999999999999999999999999999999999", 4, 2),
            Err(ErrorKind::Overflow)
        );
    }
}
