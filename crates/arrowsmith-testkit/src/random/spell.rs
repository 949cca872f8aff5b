// SPDX-License-Identifier: Apache-2.0
//! Random spellings of scalars: escapes, numbers, dates.

use std::fmt::Write;

use arrow_schema::TimeUnit;
use chrono::{DateTime, Datelike, Timelike};

use super::{Profile, Rng, values};

pub(super) fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A quoted string, its characters escaped where required, and otherwise at random.
///
/// `pairs` is whether there may be escaped surrogate pairs.
pub(super) fn string(rng: &mut Rng, out: &mut Vec<u8>, text: &str, pairs: bool) {
    let often = if rng.one_in(3) { 3 } else { 1000 };
    out.push(b'"');
    for char in text.chars() {
        let short = match char {
            '"' | '\\' | '/' => Some(char),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let must = char < ' ' || matches!(char, '"' | '\\');
        if !must && (!rng.one_in(often) || (char > '\u{ffff}' && !pairs)) {
            out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        } else if let Some(short) = short.filter(|_| !rng.one_in(3)) {
            out.push(b'\\');
            out.extend_from_slice(short.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let digits =
                    if rng.one_in(2) { format!("{unit:04x}") } else { format!("{unit:04X}") };
                out.extend_from_slice(b"\\u");
                out.extend_from_slice(digits.as_bytes());
            }
        }
    }
    out.push(b'"');
}

/// Any JSON value, for keys that are not in the schema. It contains line feeds only if `feeds`
/// allows it.
pub(super) fn any(rng: &mut Rng, out: &mut Vec<u8>, depth: usize, feeds: bool) {
    match rng.below(if depth == 0 { 6 } else { 9 }) {
        0 => out.extend_from_slice(b"null"),
        1 => out.extend_from_slice(b"true"),
        2 => out.extend_from_slice(b"false"),
        3 | 4 => {
            let spellings =
                ["0", "-0", "-1.5e-7", "1E400", "123456789012345678901234567890", "0.1", "7e+2"];
            out.extend_from_slice(rng.pick(&spellings).as_bytes());
        }
        5 => {
            let text = values::text(rng);
            string(rng, out, &text, true);
        }
        6 | 7 => {
            out.push(b'{');
            for index in 0..rng.below(4) {
                if index > 0 {
                    out.push(b',');
                }
                space(rng, out, feeds);
                let key = values::text(rng);
                string(rng, out, &key, true);
                space(rng, out, feeds);
                out.push(b':');
                space(rng, out, feeds);
                any(rng, out, depth - 1, feeds);
                space(rng, out, feeds);
            }
            out.push(b'}');
        }
        _ => {
            out.push(b'[');
            for index in 0..rng.below(4) {
                if index > 0 {
                    out.push(b',');
                }
                space(rng, out, feeds);
                any(rng, out, depth - 1, feeds);
                space(rng, out, feeds);
            }
            out.push(b']');
        }
    }
}

/// White space, mostly none.
pub(super) fn space(rng: &mut Rng, out: &mut Vec<u8>, feeds: bool) {
    if !rng.one_in(4) {
        return;
    }
    let count = if rng.one_in(20) { 70 } else { 1 + rng.below(3) };
    for _ in 0..count {
        out.push(*rng.pick(if feeds { b" \t\r\n" } else { b" \t\r " }));
    }
}

/// A floating-point number, as text in one of the spellings that round to it.
pub(super) fn float(rng: &mut Rng, spellings: [String; 4]) -> String {
    // The first one is the shortest; the others have more digits than necessary, or an exponent.
    let text = rng.pick(&spellings).clone();
    match rng.below(6) {
        0 => text.replace('e', "E"),
        1 if !text.contains("e-") => text.replace('e', "e+"),
        _ => text,
    }
}

/// An unscaled decimal as a number, with random leading and trailing zeros and exponents.
pub(super) fn decimal(rng: &mut Rng, profile: Profile, unscaled: &str, scale: i8) -> String {
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    if profile.is_full() && rng.one_in(3) {
        let extra = rng.below(3);
        let exponent = -i64::from(scale) - i64::try_from(extra).unwrap_or(0);
        let zeros = if digits == "0" { String::new() } else { "0".repeat(extra) };
        return format!("{sign}{digits}{zeros}e{exponent}");
    }
    let places = usize::from(scale.unsigned_abs());
    if scale < 0 {
        let zeros = if digits == "0" { String::new() } else { "0".repeat(places) };
        return format!("{sign}{digits}{zeros}");
    }
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let mut fraction = fraction.to_owned();
    match rng.below(3) {
        0 => fraction.truncate(fraction.trim_end_matches('0').len()),
        1 if profile.is_full() => fraction.push_str("00"),
        _ => {}
    }
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A fraction of a second with its point, with or without trailing zeros.
fn fraction(rng: &mut Rng, units: i128, unit: TimeUnit) -> String {
    let places = per_second(unit).ilog10() as usize;
    let mut digits = if places == 0 { String::new() } else { format!("{units:0places$}") };
    match rng.below(3) {
        0 => digits.truncate(digits.trim_end_matches('0').len()),
        1 => digits.push_str("000"),
        _ => {}
    }
    if digits.is_empty() { digits } else { format!(".{digits}") }
}

/// `HH:MM[:SS[.f]]`
pub(super) fn clock(rng: &mut Rng, value: i128, unit: TimeUnit) -> String {
    let (seconds, units) = (value.div_euclid(per_second(unit)), value.rem_euclid(per_second(unit)));
    let mut out = format!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds % 60 != 0 || units != 0 || rng.one_in(2) {
        // Writing to a string cannot fail.
        let _ = write!(out, ":{:02}{}", seconds % 60, fraction(rng, units, unit));
    }
    out
}

/// `YYYY-MM-DD` of the day of these seconds; `None` for years that the form cannot represent.
pub(super) fn date(seconds: i128) -> Option<String> {
    let date = DateTime::from_timestamp(i64::try_from(seconds).ok()?, 0)?;
    let year = date.year();
    (1..=9999).contains(&year).then(|| format!("{year:04}-{:02}-{:02}", date.month(), date.day()))
}

/// A timestamp with an offset in seconds, or without one: then `ahead` is the offset of local time
/// from UTC.
pub(super) fn timestamp(
    rng: &mut Rng,
    value: i128,
    unit: TimeUnit,
    offset_minutes: Option<i128>,
    ahead: i128,
) -> Option<String> {
    let units = per_second(unit);
    let local = value.div_euclid(units) + offset_minutes.map_or(ahead, |minutes| minutes * 60);
    // A local time in the column's zone has to fit 64 bits, too.
    i64::try_from(value + ahead * units).ok()?;
    let mut out = date(local)?;
    let midnight = local.rem_euclid(86_400) == 0 && value.rem_euclid(units) == 0;
    if midnight && offset_minutes.is_none() && rng.one_in(2) {
        return Some(out);
    }
    let time = DateTime::from_timestamp(i64::try_from(local).ok()?, 0)?;
    let seconds = i128::from(time.num_seconds_from_midnight());
    out.push(*rng.pick(&['T', ' ', 't']));
    out.push_str(&clock(rng, seconds * units + value.rem_euclid(units), unit));
    if let Some(minutes) = offset_minutes {
        let sign = if minutes < 0 { '-' } else { '+' };
        let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
        let _ = match rng.below(4) {
            _ if hours == 0 && minutes == 0 && sign == '+' => write!(out, "Z"),
            0 if minutes == 0 => write!(out, "{sign}{hours:02}"),
            1 => write!(out, "{sign}{hours:02}{minutes:02}"),
            _ => write!(out, "{sign}{hours:02}:{minutes:02}"),
        };
    }
    Some(out)
}

/// `[±]P[nD][T[nH][nM][n[.f]S]]`
pub(super) fn duration(rng: &mut Rng, value: i128, unit: TimeUnit) -> String {
    let units = per_second(unit);
    let mut seconds = value.abs() / units;
    let mut out = if value < 0 { "-P".to_owned() } else { rng.pick(&["P", "+P"]).to_string() };
    if rng.one_in(2) && seconds >= 86_400 {
        let _ = write!(out, "{}D", seconds / 86_400);
        seconds %= 86_400;
    }
    out.push('T');
    for (designator, length) in [('H', 3600), ('M', 60)] {
        if rng.one_in(2) {
            let _ = write!(out, "{}{designator}", seconds / length);
            seconds %= length;
        }
    }
    let _ = write!(out, "{seconds}{}S", fraction(rng, value.abs() % units, unit));
    out
}

/// Hex in either case, or base64 in either alphabet, padded or not.
pub(super) fn binary(rng: &mut Rng, bytes: &[u8], hex: bool) -> String {
    if hex {
        let upper = rng.one_in(2);
        let pair = |byte: &u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        return bytes.iter().map(pair).collect();
    }
    let url = rng.one_in(2);
    let digit = |value: u32| {
        let value = u8::try_from(value & 63).unwrap_or(0);
        char::from(match value {
            0..26 => b'A' + value,
            26..52 => b'a' + value - 26,
            52..62 => b'0' + value - 52,
            62 => {
                if url {
                    b'-'
                } else {
                    b'+'
                }
            }
            _ => {
                if url {
                    b'_'
                } else {
                    b'/'
                }
            }
        })
    };
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=group.len() {
            out.push(digit(bits >> (18 - 6 * place)));
        }
    }
    if rng.one_in(2) {
        while !out.len().is_multiple_of(4) {
            out.push('=');
        }
    }
    out
}
