// SPDX-License-Identifier: Apache-2.0
//! Floats against the standard library, against exact half-way points, and on the public vectors.

use std::cmp::Ordering;

use arrowsmith_number::{NumberError, parse_f16, parse_f32, parse_f64, scan_number};
use arrowsmith_testkit::tools;
use half::f16;
use proptest::prelude::*;

use crate::common::{number_len, std_float, surroundings};

/// The oracle for `f16`: steps upwards until the point half-way to the next half is not below the
/// double of the text; if the double is exactly half-way, the digits decide, compared as text.
/// (`f16::from_f64` may round twice, through `f32`, so it is only the starting point.)
fn slow_f16(input: &[u8]) -> Result<(f16, usize), NumberError> {
    let (double, len) = std_float::<f64>(input, |_| false)?;
    let text = std::str::from_utf8(&input[..len]).unwrap().trim_start_matches('-');
    let infinity = f16::INFINITY.to_bits();
    let mut bits = f16::from_f64(double.abs()).to_bits().saturating_sub(1);
    while bits < infinity && double.abs() >= middle_above(bits) {
        let order = if double.abs() > middle_above(bits) {
            Ordering::Greater
        } else {
            compare_decimal(text, middle_above(bits))
        };
        match order {
            Ordering::Less => break,
            Ordering::Equal => {
                bits += bits & 1;
                break;
            }
            Ordering::Greater => bits += 1,
        }
    }
    let sign = u16::from(double.is_sign_negative()) << 15;
    if bits == infinity { Err(NumberError::Range) } else { Ok((f16::from_bits(bits | sign), len)) }
}

/// The point half-way between the half with these bits and its successor (beyond the maximum, too).
fn middle_above(bits: u16) -> f64 {
    let next = if bits == f16::MAX.to_bits() { 65536.0 } else { f16::from_bits(bits + 1).to_f64() };
    (f16::from_bits(bits).to_f64() + next) / 2.0
}

/// Compares a valid number without sign with a double, digit by digit.
fn compare_decimal(text: &str, double: f64) -> Ordering {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().unwrap()),
        None => (text, 0),
    };
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all = format!("{integer}{fraction}");
    let mut point = i64::try_from(integer.len()).unwrap() + exponent;
    // Both as 40 integer digits, then the fraction, without trailing zeros.
    while point < 40 {
        all.insert(0, '0');
        point += 1;
    }
    let other = format!("{double:0>140.99}");
    let (ours, theirs) = (all.trim_end_matches('0'), other.replace('.', ""));
    ours.cmp(theirs.trim_end_matches('0'))
}

fn check(text: &str) {
    for input in surroundings(text) {
        let what = || String::from_utf8_lossy(&input[..input.len().min(100)]).into_owned();
        let bits64 = |r: Result<(f64, usize), NumberError>| r.map(|(v, len)| (v.to_bits(), len));
        let bits32 = |r: Result<(f32, usize), NumberError>| r.map(|(v, len)| (v.to_bits(), len));
        let bits16 = |r: Result<(f16, usize), NumberError>| r.map(|(v, len)| (v.to_bits(), len));
        let slow64 = std_float(&input, |v: &f64| v.is_infinite());
        let slow32 = std_float(&input, |v: &f32| v.is_infinite());
        assert_eq!(bits64(parse_f64(&input)), bits64(slow64), "f64 {}", what());
        assert_eq!(bits32(parse_f32(&input)), bits32(slow32), "f32 {}", what());
        assert_eq!(bits16(parse_f16(&input)), bits16(slow_f16(&input)), "f16 {}", what());
        assert_eq!(scan_number(&input).ok().map(|s| s.len), number_len(&input), "{}", what());
    }
}

#[test]
fn edges() {
    for text in [
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "-1",
        "12.5",
        "0.1",
        "-65.613616999999977",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e-400",
        "1e400",
        "-1e400",
        "0e999999999999",
        "-0e-999999999999",
        "1e999999999999999999999999",
        "1e-99999999999999999999999",
        "0.0e99999999999999999999",
        "9007199254740993",
        "9007199254740992.999",
        "9007199254740993.0000000000000000000001",
        "9007199254740991.5",
        "4503599627370496.5",
        "4503599627370497.5",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "99999999999999999999",
        "1234567.8901234",
        "123.0000000000000001",
        "123.000000000000000",
        "999.999999999999999",
        "999.9999999999999999",
        "0.00000000000000000001",
        "1e22",
        "1e23",
        "8.5e22",
        "1.0e0",
        "1E+5",
        "1e-5",
        "0.000001e6",
        "65504",
        "65519.99999999999999999999999",
        "65520",
        "65536",
        "5.960464477539063e-8",
        "2.9802322387695312e-8",
        "2.98023223876953125e-8",
        "2.9802322387695313e-8",
        "3.4028235e38",
        "3.4028236e38",
        "1.17549435e-38",
        "1.4e-45",
        "7e-46",
        "7.1e-46",
        "0.5000000000000000000000000001",
        "16777217",
        "16777217.000000000000000001",
        "8388609.5",
        "1.00048828125",
    ] {
        check(text);
    }
}

#[test]
fn ungrammatical() {
    for text in [
        "",
        "-",
        "+1",
        ".0",
        ".",
        "1.",
        "1.e5",
        "1e",
        "1e+",
        "1e-",
        "1E",
        "01",
        "-01",
        "00",
        "00.5",
        "--1",
        "-a",
        "1.5.5",
        "1e5.0",
        "1e5e5",
        "1-2",
        "1+",
        "1.5-",
        "1.5e3-",
        "0x10",
        "Infinity",
        "NaN",
        "-Infinity",
        "1.+5",
        "12345678901234567890123.",
        "123456.78901234e",
        "\u{661}",
    ] {
        check(text);
    }
    for text in ["01", "1.", "1.e5", "1e", "-", "1.5.5", "123.456789012345-"] {
        for input in surroundings(text) {
            assert_eq!(parse_f64(&input), Err(NumberError::Syntax), "{text}");
        }
    }
}

#[test]
fn long_texts() {
    let (nines, zeros) = ("9".repeat(10_000), "0".repeat(10_000));
    check(&nines);
    check(&format!("0.{nines}"));
    check(&format!("1{zeros}e-10000"));
    check(&format!("0.{zeros}1e10001"));
    check(&format!("1.{zeros}1"));
    check(&format!("9007199254740993.{zeros}1"));
    check(&format!("{nines}.{nines}e-10000"));
    check(&format!("1e{nines}"));
    check(&format!("1e{zeros}5"));
    check(&format!("0.{zeros}"));
    check(&format!("1.00048828125{zeros}1"));
    check(&format!("1.00048828125{zeros}"));
}

/// Every half float, every point half-way to the next, and the closest neighbours of that point.
#[test]
fn every_half() {
    for bits in 0..f16::INFINITY.to_bits() {
        let low = f16::from_bits(bits);
        let (value, _) = parse_f16(format!("{:.30}", low.to_f64()).as_bytes()).unwrap();
        assert_eq!(value.to_bits(), bits);
        // Doubles print exactly: 30 digits of fraction hold any half-way point.
        let middle = format!("{:.30}", middle_above(bits));
        let above = format!("{middle}000000000000000000001");
        let below = format!("{:.30}", f64::from_bits(middle_above(bits).to_bits() - 1));
        let finite = |bits: u16| {
            if bits < f16::INFINITY.to_bits() { Ok(bits) } else { Err(NumberError::Range) }
        };
        let parse = |text: &str| parse_f16(text.as_bytes()).map(|(v, _)| v.to_bits());
        assert_eq!(parse(&middle), finite(bits + (bits & 1)), "{middle}");
        assert_eq!(parse(&above), finite(bits + 1), "{above}");
        assert_eq!(parse(&below), finite(bits), "{below}");
    }
}

#[test]
fn public_vectors() {
    let Some(folder) = tools::corpora() else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder.join("numbers-fxx/data"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    let (mut checked, mut outside) = (0, 0);
    for line in files.iter().flat_map(|f| {
        std::fs::read_to_string(f).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    }) {
        let mut fields = line.split_ascii_whitespace();
        let mut hex = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
        let expected = [hex(), hex(), hex()];
        let text = fields.next().unwrap();
        if number_len(text.as_bytes()) != Some(text.len()) {
            assert_eq!(
                parse_f64(text.as_bytes()).map(|(_, len)| len),
                match number_len(text.as_bytes()) {
                    Some(len) => Ok(len),
                    None => Err(NumberError::Syntax),
                },
                "{text}"
            );
            outside += 1;
            continue;
        }
        for input in surroundings(text) {
            // An infinity in the vectors is `Range` here.
            let len = text.len();
            let got = [
                parse_f16(&input).map(|(v, l)| (u64::from(v.to_bits()), l)),
                parse_f32(&input).map(|(v, l)| (u64::from(v.to_bits()), l)),
                parse_f64(&input).map(|(v, l)| (v.to_bits(), l)),
            ];
            let infinite = [0x7C00, 0x7F80_0000, 0x7FF0_0000_0000_0000];
            let sign = [0x8000, 0x8000_0000, 0x8000_0000_0000_0000];
            for i in 0..3 {
                let want = if expected[i] & !sign[i] == infinite[i] {
                    Err(NumberError::Range)
                } else {
                    Ok((expected[i], len))
                };
                assert_eq!(got[i], want, "{text} as type {i}");
            }
        }
        checked += 1;
    }
    eprintln!(
        "{} files: {checked} numbers checked, {outside} not of the JSON grammar",
        files.len()
    );
    assert!(checked > 20_000 && files.len() >= 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn shortest_of_any_double(bits: u64) {
        let value = f64::from_bits(bits);
        if value.is_finite() {
            let text = format!("{value:e}");
            check(&text);
            prop_assert_eq!(parse_f64(text.as_bytes()).unwrap().0.to_bits(), bits);
        }
    }

    #[test]
    fn any_number(text in "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?") {
        check(&text);
    }

    #[test]
    fn any_plain_number(text in "-?(0|[1-9][0-9]{0,8})\\.[0-9]{1,20}") {
        check(&text);
    }

    #[test]
    fn nearly_numbers(text in "[-+.eE0-9x,]{0,30}") {
        check(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        prop_assert_eq!(scan_number(&bytes).ok().map(|s| s.len), number_len(&bytes));
        prop_assert_eq!(parse_f64(&bytes).is_ok_and(|(_, len)| Some(len) != number_len(&bytes)), false);
    }

    /// Exactly half-way between two doubles, and with a digit changed far after the point.
    #[test]
    fn half_way(bits in 0x3000_0000_0000_0000u64..0x5000_0000_0000_0000, zeros in 0usize..40) {
        let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + 1));
        // The middle needs one bit more than a double has: halving is exact, and so is the decimal
        // sum.
        let middle = exact_sum(low / 2.0, high / 2.0);
        check(&middle);
        check(&format!("{middle}{}1", "0".repeat(zeros)));
    }

    #[test]
    fn half_way_single(bits in 0x3000_0000u32..0x4f00_0000, zeros in 0usize..40) {
        let middle = (f64::from(f32::from_bits(bits)) + f64::from(f32::from_bits(bits + 1))) / 2.0;
        let text = format!("{middle:.160}");
        check(&text);
        check(&format!("{text}{}1", "0".repeat(zeros)));
    }
}

/// The decimal sum of two doubles, exactly, with a fraction.
fn exact_sum(a: f64, b: f64) -> String {
    let digits = |v: f64| {
        let text = format!("{v:0>400.1100}");
        text.into_bytes()
    };
    let (a, b) = (digits(a), digits(b));
    let width = a.len().max(b.len());
    let pad = |v: Vec<u8>| [vec![b'0'; width - v.len()], v].concat();
    let (a, b) = (pad(a), pad(b));
    let mut out = vec![0; width];
    let mut carry = 0;
    for i in (0..width).rev() {
        if a[i] == b'.' {
            out[i] = b'.';
            continue;
        }
        let sum = a[i] - b'0' + b[i] - b'0' + carry;
        out[i] = b'0' + sum % 10;
        carry = sum / 10;
    }
    let text = String::from_utf8(out).unwrap();
    let text = text.trim_start_matches('0');
    if text.starts_with('.') { format!("0{text}") } else { text.to_owned() }
}
