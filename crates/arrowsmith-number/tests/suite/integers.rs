// SPDX-License-Identifier: Apache-2.0
//! Integers and decimals against arithmetic that is obviously correct.

use arrow_buffer::i256;
use arrowsmith_number::{
    NumberError, parse_decimal128, parse_decimal256, parse_i64, parse_u64, scan_number,
};
use proptest::prelude::*;

use crate::common::{number_len, surroundings};

/// The integer, parsed as `i128`, or its error.
fn slow_integer(input: &[u8], signed: bool) -> Result<(i128, usize), NumberError> {
    let len = number_len(input).ok_or(NumberError::Syntax)?;
    let text = std::str::from_utf8(&input[..len]).unwrap();
    if text.contains(['.', 'e', 'E']) {
        return Err(NumberError::NotInteger);
    }
    if !signed && text.starts_with('-') {
        return Err(NumberError::Negative);
    }
    let range =
        if signed { i128::from(i64::MIN)..=i128::from(i64::MAX) } else { 0..=i128::from(u64::MAX) };
    match text.parse() {
        Ok(value) if range.contains(&value) => Ok((value, len)),
        _ => Err(NumberError::Range),
    }
}

fn check_integer(text: &str) {
    for input in surroundings(text) {
        let unsigned = parse_u64(&input).map(|(v, len)| (i128::from(v), len));
        let signed = parse_i64(&input).map(|(v, len)| (i128::from(v), len));
        assert_eq!(unsigned, slow_integer(&input, false), "u64 {text}");
        assert_eq!(signed, slow_integer(&input, true), "i64 {text}");
    }
}

#[test]
fn integer_edges() {
    for text in [
        "0",
        "-0",
        "1",
        "-1",
        "7",
        "12",
        "1234567",
        "12345678",
        "123456789",
        "123456789012345",
        "1234567890123456",
        "12345678901234567",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551625",
        "28446744073709551615",
        "99999999999999999999",
        "100000000000000000000",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "-18446744073709551616",
        "00",
        "01",
        "-01",
        "0123456789012",
        "-",
        "",
        "a",
        "1.0",
        "1e2",
        "-1.5",
        "1234567890123456789.5",
        "1.",
        "1e",
        "123456789.",
        "12-",
        "12+",
        "+1",
        "1 ",
        "1]",
        "0}",
        "12345678,",
        "1234567890123456789012345678901234567890",
        "1234567890123456789012345678901234567890.5",
        "1234567890123456789012345678901234567890.",
    ] {
        check_integer(text);
    }
    check_integer(&"1".repeat(10_000));
    check_integer(&format!("{}.", "1".repeat(10_000)));
}

#[test]
fn shape() {
    let shape = scan_number(b"-12.5e-3]").unwrap();
    assert_eq!((shape.len, shape.negative), (8, true));
    assert!(shape.has_fraction && shape.has_exponent && !shape.is_integer());
    assert!(scan_number(b"17,").unwrap().is_integer());
    assert!(!scan_number(b"1e5").unwrap().is_integer());
}

/// The decimal, by moving the point in the text: the digits before it are the value, and those
/// after it have to be zeros.
fn slow_decimal(input: &[u8], precision: u8, scale: i8) -> Result<(i256, usize), NumberError> {
    let len = number_len(input).ok_or(NumberError::Syntax)?;
    let text = std::str::from_utf8(&input[..len]).unwrap();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().unwrap()),
        None => (text, 0),
    };
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{integer}{fraction}");
    let point = i64::try_from(integer.len()).unwrap() + exponent + i64::from(scale);
    let (kept, lost) = if point < 0 {
        (String::new(), all)
    } else {
        let point = usize::try_from(point).unwrap();
        let all = format!("{all:0<point$}");
        (all[..point].to_owned(), all[point..].to_owned())
    };
    let kept = kept.trim_start_matches('0');
    let inexact = lost.contains(|c| c != '0');
    let too_long = kept.len() > usize::from(precision);
    match (inexact, too_long) {
        // Which of the two errors is returned is unspecified.
        (true, true) => Err(NumberError::Range),
        (true, false) => Err(NumberError::Inexact),
        (false, true) => Err(NumberError::Range),
        (false, false) if kept.is_empty() => Ok((i256::ZERO, len)),
        (false, false) => Ok((i256::from_string(&format!("{sign}{kept}")).unwrap(), len)),
    }
}

fn check_decimal(text: &str, precision: u8, scale: i8) {
    let agree = |got: Result<(i256, usize), NumberError>,
                 want: Result<(i256, usize), NumberError>| {
        got == want || (want == Err(NumberError::Range) && got == Err(NumberError::Inexact))
    };
    for input in surroundings(text) {
        let (narrow, wide) = (precision.min(38), precision.min(76));
        let got = parse_decimal128(&input, precision, scale);
        let got = got.map(|(v, len)| (i256::from_i128(v), len));
        let want = slow_decimal(&input, narrow, scale);
        assert!(agree(got, want), "128: {text} {precision} {scale}: {got:?} and not {want:?}");
        let got = parse_decimal256(&input, precision, scale);
        let want = slow_decimal(&input, wide, scale);
        assert!(agree(got, want), "256: {text} {precision} {scale}: {got:?} and not {want:?}");
    }
}

#[test]
fn decimal_edges() {
    assert_eq!(parse_decimal128(b"12e-1,", 5, 1), Ok((12, 5)));
    assert_eq!(parse_decimal128(b"-1.25", 3, 2), Ok((-125, 5)));
    assert_eq!(parse_decimal128(b"1.255", 9, 2), Err(NumberError::Inexact));
    assert_eq!(parse_decimal128(b"1.2500000", 9, 2), Ok((125, 9)));
    assert_eq!(parse_decimal128(b"10", 3, 2), Err(NumberError::Range));
    assert_eq!(parse_decimal128(b"12300", 3, -2), Ok((123, 5)));
    assert_eq!(parse_decimal128(b"12301", 3, -2), Err(NumberError::Inexact));
    assert_eq!(parse_decimal128(b"0e99999999999999999999", 1, 0), Ok((0, 22)));
    assert_eq!(parse_decimal128(b"1e99999999999999999999", 38, 0), Err(NumberError::Range));
    assert_eq!(parse_decimal128(b"1e-99999999999999999999", 38, 0), Err(NumberError::Inexact));
    let (n38, n39, n76, n77) = ("9".repeat(38), "9".repeat(39), "9".repeat(76), "9".repeat(77));
    let (one38, one76) = (format!("1{}", "0".repeat(38)), format!("1{}", "0".repeat(76)));
    for text in [
        "0",
        "-0",
        "0.000",
        "1",
        "99",
        "100",
        "-0.01",
        "0.001",
        "1e38",
        "1e37",
        "1e75",
        "1e76",
        "1e-1",
        "12e-1",
        "12345678901234567890.12",
        "12345678901234567890.120000000000000000000000",
        "1e",
        "01",
        "1.",
        "-",
        "0.00000000000000000000000000000000000001",
        "18446744073709551615",
        "18446744073709551616",
        "0.000000000000000000001e21",
        &n38,
        &n39,
        &n76,
        &n77,
        &one38,
        &one76,
        &format!("{n38}.00"),
        &format!("{n76}.00"),
        &format!("-{n76}"),
        &format!("0.{n38}"),
        &format!("0.{n76}"),
        &format!("{n38}{}e-40", "0".repeat(40)),
        &"9".repeat(10_000),
        &format!("0.{}", "0".repeat(10_000)),
        &format!("0.{}1", "0".repeat(10_000)),
        &format!("0.{}1e10001", "0".repeat(10_000)),
    ] {
        for precision in [0, 1, 2, 18, 19, 20, 37, 38, 39, 75, 76, 77, 255] {
            for scale in [0, 1, 2, -1, -2, 20, 38, 76, -38, 127, -128] {
                check_decimal(text, precision, scale);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_integer(text in "-?(0|[1-9][0-9]{0,22})[-+.eE0]?") {
        check_integer(&text);
    }

    #[test]
    fn any_u64(value: u64, shift in 0u32..64) {
        check_integer(&(value >> shift).to_string());
        check_integer(&(value.cast_signed() >> shift).to_string());
    }

    #[test]
    fn any_decimal(
        text in "-?(0|[1-9][0-9]{0,80})(\\.[0-9]{1,40}0{0,9})?([eE][+-]?[0-9]{1,2})?",
        precision in 1u8..78,
        scale in -80i8..80,
    ) {
        check_decimal(&text, precision, scale);
    }

    #[test]
    fn any_exact_decimal(value: i128, scale in 0usize..38) {
        let value = value >> 1;
        let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
        let (integer, fraction) = digits.split_at(digits.len() - scale);
        let sign = if value < 0 { "-" } else { "" };
        let text = if scale == 0 { format!("{sign}{integer}") } else { format!("{sign}{integer}.{fraction}") };
        let scale = i8::try_from(scale).unwrap();
        let fits = value.unsigned_abs() < 10u128.pow(38);
        let want = if fits { Ok((value, text.len())) } else { Err(NumberError::Range) };
        prop_assert_eq!(parse_decimal128(text.as_bytes(), 38, scale), want);
        prop_assert_eq!(parse_decimal256(text.as_bytes(), 76, scale), Ok((i256::from_i128(value), text.len())));
    }
}
