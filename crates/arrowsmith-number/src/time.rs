// SPDX-License-Identifier: Apache-2.0
//! Dates, times of day and timestamps of ISO 8601 / RFC 3339 text.
//!
//! Convert stage. The text is the whole, unescaped string. Accepted:
//! - date `YYYY-MM-DD`, years 0001–9999 of the proleptic Gregorian calendar;
//! - time `HH:MM[:SS[.fraction]]`, hours 00–23, a fraction of any length;
//! - timestamp: a date, or a date, one of `T`, `t`, space, and a time, with an optional offset
//!   directly after it: `Z`, `z`, `±HH`, `±HHMM`, `±HH:MM`, up to ±23:59. A date alone is its
//!   midnight. With an offset the value is that of UTC.
//! - second 60 (a leap second) in any minute is the first second of the next one, as in POSIX time
//!   and arrow-cast; a time of day that thereby reaches 24:00 is out of range.
//!
//! Nothing is rounded: digits of a fraction finer than the unit have to be zero. There are no named
//! time zones, and no clock or locale is used.

use crate::TextError;
use crate::swar::{ZEROS, byte_at, convert8, digit_run, keep_low, load8, load8_padded};

/// The unit of a time, timestamp or duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 1 s
    Second,
    /// 10⁻³ s
    Millisecond,
    /// 10⁻⁶ s
    Microsecond,
    /// 10⁻⁹ s
    Nanosecond,
}

impl TimeUnit {
    /// Units in a second.
    #[must_use]
    pub const fn per_second(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Millisecond => 1_000,
            Self::Microsecond => 1_000_000,
            Self::Nanosecond => 1_000_000_000,
        }
    }
}

/// A timestamp, and whether its text had an offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTimestamp {
    /// Units since 1970-01-01T00:00:00, in UTC if there was an offset, else in local time.
    pub value: i64,
    /// The text ended in `Z`, `z` or a numeric offset.
    pub had_offset: bool,
}

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

/// Parses `YYYY-MM-DD` to days since 1970-01-01.
///
/// # Errors
/// [`TextError::Syntax`]; [`TextError::Range`] for year 0000.
#[inline]
pub fn parse_date32(text: &[u8]) -> Result<i32, TextError> {
    if text.len() != 10 {
        return Err(TextError::Syntax);
    }
    date_days(text)
}

/// Parses a date or a timestamp to milliseconds since 1970-01-01 (of UTC, if it has an offset).
///
/// # Errors
/// As [`parse_timestamp`].
#[inline]
pub fn parse_date64(text: &[u8]) -> Result<i64, TextError> {
    Ok(parse_timestamp(text, TimeUnit::Millisecond)?.value)
}

/// Parses `HH:MM[:SS[.fraction]]` to units since midnight.
///
/// # Errors
/// [`TextError::Syntax`]; [`TextError::Inexact`] for a fraction finer than the unit;
/// [`TextError::Range`] for 23:59:60, which would be 24:00.
#[inline]
pub fn parse_time(text: &[u8], unit: TimeUnit) -> Result<i64, TextError> {
    let (clock, end) = clock_at(text, 0)?;
    if end != text.len() {
        return Err(TextError::Syntax);
    }
    if clock.seconds >= SECONDS_PER_DAY {
        return Err(TextError::Range);
    }
    // Below 86,400 × 10⁹.
    Ok(clock.seconds * unit.per_second() + clock.fraction.to_unit(unit)?)
}

/// Parses a date or a timestamp to units since 1970-01-01T00:00:00.
///
/// # Errors
/// [`TextError::Syntax`]; [`TextError::Inexact`] for a fraction finer than the unit;
/// [`TextError::Range`] for year 0000 and for values that overflow 64 bits (nanoseconds outside of
/// 1677–2262).
#[inline]
pub fn parse_timestamp(text: &[u8], unit: TimeUnit) -> Result<ParsedTimestamp, TextError> {
    let (seconds, fraction, had_offset) = match instant(text)? {
        Instant::Date { days } => (i64::from(days) * SECONDS_PER_DAY, Fraction::ZERO, false),
        Instant::Time { seconds, fraction, had_offset } => (seconds, fraction, had_offset),
    };
    let value = scale_seconds(seconds, fraction.to_unit(unit)?, unit)?;
    Ok(ParsedTimestamp { value, had_offset })
}

/// For schema inference: whether [`parse_date32`] accepts the text.
#[inline]
#[must_use]
pub fn looks_like_date(text: &[u8]) -> bool {
    parse_date32(text).is_ok()
}

/// For schema inference: `Some(has_offset)` for a date with a time of day, with any fraction.
#[inline]
#[must_use]
pub fn looks_like_timestamp(text: &[u8]) -> Option<bool> {
    match instant(text) {
        Ok(Instant::Time { had_offset, .. }) => Some(had_offset),
        _ => None,
    }
}

/// `seconds × units + fraction`. The sum is checked, not the product, which for the smallest `i64`
/// of nanoseconds is out of range.
#[inline]
pub(crate) fn scale_seconds(seconds: i64, fraction: i64, unit: TimeUnit) -> Result<i64, TextError> {
    let value = i128::from(seconds) * i128::from(unit.per_second()) + i128::from(fraction);
    i64::try_from(value).map_err(|_| TextError::Range)
}

/// A parsed timestamp.
enum Instant {
    Date { days: i32 },
    Time { seconds: i64, fraction: Fraction, had_offset: bool },
}

#[inline]
fn instant(text: &[u8]) -> Result<Instant, TextError> {
    let days = date_days(text)?;
    if text.len() == 10 {
        return Ok(Instant::Date { days });
    }
    if !matches!(text[10], b'T' | b't' | b' ') {
        return Err(TextError::Syntax);
    }
    let (clock, end) = clock_at(text, 11)?;
    let offset = offset_seconds(&text[end..])?;
    Ok(Instant::Time {
        seconds: i64::from(days) * SECONDS_PER_DAY + clock.seconds - offset.unwrap_or(0),
        fraction: clock.fraction,
        had_offset: offset.is_some(),
    })
}

/// `YYYY-MM-DD` at the start of `text`, in days since 1970-01-01.
#[inline(always)]
fn date_days(text: &[u8]) -> Result<i32, TextError> {
    let (Some(word), Some(day)) = (load8(text, 0), text.get(8..10)) else {
        return Err(TextError::Syntax);
    };
    let pairs = template(word, *b"0000-00-").ok_or(TextError::Syntax)?;
    let day = two_digits(day[0], day[1])?;
    let year = pair(pairs, 0) * 100 + pair(pairs, 2);
    days_from_civil(year, pair(pairs, 5), day)
}

/// Matches a word against a template, in which `0` stands for any digit and every other byte for
/// itself. Returns `10 × digit + next digit` in every byte, with 0 for a next byte that is not a
/// digit.
#[inline(always)]
fn template(word: u64, template: [u8; 8]) -> Option<u64> {
    // Added to the difference of each byte from the template to set the high bit of a mismatch:
    // digits may differ by up to nine, other bytes not at all.
    let slack = template.map(|b| if b == b'0' { 0x76 } else { 0x7F });
    let word = word ^ u64::from_le_bytes(template);
    // High bits are masked out before the addition, so that it does not carry.
    let wrong = (word | (word & !HIGH_BITS).wrapping_add(u64::from_le_bytes(slack))) & HIGH_BITS;
    (wrong == 0).then(|| word.wrapping_mul(10).wrapping_add(word >> 8))
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The pair of digits at byte `at` of the result of [`template`].
#[inline(always)]
fn pair(pairs: u64, at: usize) -> u32 {
    u32::from(pairs.to_le_bytes()[at & 7])
}

#[inline(always)]
fn two_digits(tens: u8, ones: u8) -> Result<u32, TextError> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens > 9 || ones > 9 {
        return Err(TextError::Syntax);
    }
    Ok(u32::from(tens) * 10 + u32::from(ones))
}

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last one: E. Reingold,
/// N. Dershowitz, "Calendrical Calculations"; the month formula is Zeller's.
#[inline(always)]
pub(crate) fn days_from_civil(year: u32, month: u32, day: u32) -> Result<i32, TextError> {
    const LENGTHS: [u8; 16] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0, 0, 0];
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = u32::from(LENGTHS[month as usize & 15]) + u32::from(month == 2 && leap);
    if month > 12 || day == 0 || day > length {
        return Err(TextError::Syntax);
    }
    if year == 0 {
        return Err(TextError::Range);
    }
    let before_march = u32::from(month < 3);
    let year = year - before_march;
    let month_from_march = month + 12 * before_march - 3;
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (153 * month_from_march + 2) / 5 + day
            - 1;
    // Days from 0000-03-01 to 1970-01-01.
    Ok(days.cast_signed() - 719_468)
}

/// A time of day: seconds, up to 86,400 with a leap second, and the fraction.
struct Clock {
    seconds: i64,
    fraction: Fraction,
}

/// `HH:MM[:SS[.fraction]]` at `at`, and its end.
#[inline(always)]
fn clock_at(text: &[u8], at: usize) -> Result<(Clock, usize), TextError> {
    let (hour, minute, second, mut end);
    let pairs = load8(text, at).and_then(|word| template(word, *b"00:00:00"));
    if let Some(pairs) = pairs {
        (hour, minute, second) = (pair(pairs, 0), pair(pairs, 3), pair(pairs, 6));
        end = at + 8;
    } else {
        let Some(&[h1, h2, b':', m1, m2]) = text.get(at..).and_then(<[u8]>::first_chunk::<5>)
        else {
            return Err(TextError::Syntax);
        };
        (hour, minute, second) = (two_digits(h1, h2)?, two_digits(m1, m2)?, 0);
        end = at + 5;
        if byte_at(text, end) == b':' {
            return Err(TextError::Syntax); // not two digits of seconds
        }
    }
    if hour > 23 || minute > 59 || second > 60 {
        return Err(TextError::Syntax);
    }
    let mut fraction = Fraction::ZERO;
    if byte_at(text, end) == b'.' {
        if pairs.is_none() {
            return Err(TextError::Syntax);
        }
        (fraction, end) = Fraction::at(text, end + 1)?;
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Ok((Clock { seconds, fraction }, end))
}

/// A fraction of a second: nanoseconds, and whether there were finer non-zero digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fraction {
    nanoseconds: u32,
    finer: bool,
}

impl Fraction {
    pub(crate) const ZERO: Self = Self { nanoseconds: 0, finer: false };

    /// The digits at `at`, at least one, and their end.
    #[inline(always)]
    pub(crate) fn at(text: &[u8], at: usize) -> Result<(Self, usize), TextError> {
        let word = load8_padded(text, at) ^ ZEROS;
        let count = digit_run(word);
        if count == 0 {
            return Err(TextError::Syntax);
        }
        if count < 8 {
            let nanoseconds = u32::try_from(convert8(keep_low(word, count)) * 10);
            let nanoseconds = nanoseconds.map_err(|_| TextError::Syntax)?; // never: below 10⁹
            return Ok((Self { nanoseconds, finer: false }, at + count as usize));
        }
        Ok(Self::long(text, at))
    }

    /// As [`Fraction::at`], byte by byte.
    fn long(text: &[u8], at: usize) -> (Self, usize) {
        let mut fraction = Self::ZERO;
        let mut weight = 100_000_000;
        let mut end = at;
        loop {
            let digit = byte_at(text, end).wrapping_sub(b'0');
            if digit > 9 {
                return (fraction, end);
            }
            fraction.nanoseconds += u32::from(digit) * weight;
            fraction.finer |= weight == 0 && digit != 0;
            weight /= 10;
            end += 1;
        }
    }

    /// The fraction in units; an error if digits would be lost.
    #[inline(always)]
    pub(crate) fn to_unit(self, unit: TimeUnit) -> Result<i64, TextError> {
        let (nanoseconds, finer) = (self.nanoseconds, self.finer);
        // The divisor is a constant in each arm, so that it compiles to a multiplication.
        let (units, rest) = match unit {
            TimeUnit::Second => (0, nanoseconds),
            TimeUnit::Millisecond => (nanoseconds / 1_000_000, nanoseconds % 1_000_000),
            TimeUnit::Microsecond => (nanoseconds / 1_000, nanoseconds % 1_000),
            TimeUnit::Nanosecond => (nanoseconds, 0),
        };
        if finer || rest != 0 { Err(TextError::Inexact) } else { Ok(i64::from(units)) }
    }
}

/// Parses `text` as an offset from UTC, `None` if it is empty.
#[inline(always)]
fn offset_seconds(text: &[u8]) -> Result<Option<i64>, TextError> {
    let (sign, hour, minute) = match *text {
        [] => return Ok(None),
        [b'Z' | b'z'] => return Ok(Some(0)),
        [sign, h1, h2] => (sign, two_digits(h1, h2)?, 0),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => {
            (sign, two_digits(h1, h2)?, two_digits(m1, m2)?)
        }
        _ => return Err(TextError::Syntax),
    };
    if hour > 23 || minute > 59 {
        return Err(TextError::Syntax);
    }
    let seconds = i64::from(hour * 3600 + minute * 60);
    match sign {
        b'+' => Ok(Some(seconds)),
        b'-' => Ok(Some(-seconds)),
        _ => Err(TextError::Syntax),
    }
}
