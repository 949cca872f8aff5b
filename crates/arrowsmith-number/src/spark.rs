// SPDX-License-Identifier: Apache-2.0
//! Dates, timestamps and base64 as the JSON source of Apache Spark 4 reads them.
//!
//! Convert stage, for plans of that dialect. The text is the whole, unescaped string. What is
//! accepted has Spark's value. What is refused Spark may take all the same: times without a date,
//! which depend on the clock, and names of time zones.
//! - date `[±]Y-[M]M-[D]D`, `[±]Y-[M]M` or `[±]Y`, a year of four to seven digits; after a complete
//!   date anything may follow a space or `T`;
//! - timestamp: a date with a year of at most six digits, or one, a space or `T`, and a time
//!   `[h]h[:[m]m[:[s]s[.f]]]`, of which a complete one may have a zone after it: `Z`, `UT`, `UTC`,
//!   `GMT`, `±[h]h`, `±[h]h:[m]m`, `±hhmm`, up to ±18:00. Digits beyond microseconds are dropped;
//! - white space and control characters around it do not count.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::time::{ParsedTimestamp, TimeUnit, parse_date32, parse_timestamp};
use crate::{SECONDS_PER_DAY, TextError};

/// Parses a date to days since 1970-01-01.
///
/// # Errors
/// [`TextError::Syntax`]; [`TextError::Range`] beyond 32 bits.
#[inline]
pub fn parse_spark_date(text: &[u8]) -> Result<i32, TextError> {
    match parse_date32(text) {
        Ok(days) => Ok(days),
        Err(_) => any_date(text),
    }
}

/// Parses a date or a timestamp to microseconds since 1970-01-01T00:00:00.
///
/// # Errors
/// [`TextError::Syntax`]; [`TextError::Range`] beyond 64 bits.
#[inline]
pub fn parse_spark_timestamp(text: &[u8]) -> Result<ParsedTimestamp, TextError> {
    // The usual form, in which both dialects agree: `YYYY-MM-DD?hh:mm:ss[.f][Z]`.
    if let [.., b'0'..=b'9' | b'Z'] = text
        && let [_, _, _, _, _, _, _, _, _, _, b' ' | b'T', _, _, b':', _, _, b':', s, ..] = text
        && *s != b'6'
        && let Ok(parsed) = parse_timestamp(text, TimeUnit::Microsecond)
        && (!parsed.had_offset || is_usual_zone(text))
    {
        return Ok(parsed);
    }
    any_timestamp(text)
}

/// Whether the text ends in `Z` or an offset `±hh:mm` below 18 hours.
#[inline]
fn is_usual_zone(text: &[u8]) -> bool {
    match text {
        [.., b'Z'] => true,
        [.., b'+' | b'-', b'0', _, b':', _, _] => true,
        [.., b'+' | b'-', b'1', hour, b':', _, _] => *hour < b'8',
        _ => false,
    }
}

/// Decodes base64 of the standard alphabet with its padding, and appends the bytes. Unused bits of
/// the last character have to be 0.
///
/// # Errors
/// [`TextError::Syntax`]; `out` is unchanged then.
#[inline]
pub fn decode_spark_base64(text: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    const PADDED: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
    );
    let before = out.len();
    PADDED.decode_vec(text, out).map_err(|_| {
        out.truncate(before);
        TextError::Syntax
    })
}

#[cold]
#[inline(never)]
fn any_date(text: &[u8]) -> Result<i32, TextError> {
    let mut rest = Rest(trimmed(text));
    let days = rest.date(7)?;
    if !rest.0.is_empty() && !matches!(days, Date::Day(_)) {
        return Err(TextError::Syntax);
    }
    if !matches!(rest.0.first(), None | Some(b' ' | b'T')) {
        return Err(TextError::Syntax);
    }
    i32::try_from(days.start()).map_err(|_| TextError::Range)
}

#[cold]
#[inline(never)]
fn any_timestamp(text: &[u8]) -> Result<ParsedTimestamp, TextError> {
    let mut rest = Rest(trimmed(text));
    let date = rest.date(6)?;
    let (mut seconds, mut micros, mut offset) = (0, 0, None);
    if !rest.0.is_empty() {
        if !matches!(date, Date::Day(_)) || !(rest.take(b' ') || rest.take(b'T')) {
            return Err(TextError::Syntax);
        }
        (seconds, micros, offset) = rest.clock()?;
    }
    let seconds = date.start() * SECONDS_PER_DAY + seconds - offset.unwrap_or(0);
    let value = i128::from(seconds) * 1_000_000 + i128::from(micros);
    let value = i64::try_from(value).map_err(|_| TextError::Range)?;
    Ok(ParsedTimestamp { value, had_offset: offset.is_some() })
}

/// The text without what Spark removes around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte <= b' ' || *byte == 0x7F;
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// Days since 1970-01-01, and how much of a date there was.
enum Date {
    Day(i64),
    /// The first day of a year or month.
    Longer(i64),
}

impl Date {
    fn start(&self) -> i64 {
        let (Self::Day(days) | Self::Longer(days)) = self;
        *days
    }
}

/// What is left of a text.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        self.0 = &self.0[usize::from(found)..];
        found
    }

    /// All digits that are next: their value, and how many there are, within these numbers.
    fn digits(&mut self, least: usize, most: usize) -> Result<(i64, usize), TextError> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count < least || count > most {
            return Err(TextError::Syntax);
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        Ok((value, count))
    }

    /// One or two digits, up to a maximum.
    fn pair(&mut self, most: i64) -> Result<i64, TextError> {
        let (value, _) = self.digits(1, 2)?;
        if value > most { Err(TextError::Syntax) } else { Ok(value) }
    }

    fn date(&mut self, year_digits: usize) -> Result<Date, TextError> {
        let negative = self.0.first() == Some(&b'-');
        if negative || self.0.first() == Some(&b'+') {
            self.0 = &self.0[1..];
        }
        let (year, _) = self.digits(4, year_digits)?;
        let year = if negative { -year } else { year };
        if !self.take(b'-') {
            return days(year, 1, 1).map(Date::Longer);
        }
        let month = self.pair(12)?;
        if !self.take(b'-') {
            return days(year, month, 1).map(Date::Longer);
        }
        let day = self.pair(31)?;
        days(year, month, day).map(Date::Day)
    }

    /// A time of day and a zone, to the end: seconds, microseconds, seconds ahead of UTC.
    fn clock(&mut self) -> Result<(i64, i64, Option<i64>), TextError> {
        let mut seconds = self.pair(23)? * 3600;
        if self.take(b':') {
            seconds += self.pair(59)? * 60;
            if self.take(b':') {
                seconds += self.pair(59)?;
                let mut micros = 0;
                if self.take(b'.') {
                    let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let (digits, rest) = self.0.split_at(count);
                    let digits = digits.iter().map(|digit| i64::from(digit - b'0'));
                    let digits = digits.chain(std::iter::repeat(0)).take(6);
                    micros = digits.fold(0, |value, digit| value * 10 + digit);
                    self.0 = rest;
                }
                return Ok((seconds, micros, self.zone()?));
            }
        }
        if self.0.is_empty() { Ok((seconds, 0, None)) } else { Err(TextError::Syntax) }
    }

    /// The zone that is the rest, if there is any: seconds ahead of UTC.
    fn zone(&mut self) -> Result<Option<i64>, TextError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        while self.0.first().is_some_and(|byte| *byte <= b' ') {
            self.0 = &self.0[1..];
        }
        if matches!(self.0, b"Z" | b"UT" | b"UTC" | b"GMT") {
            return Ok(Some(0));
        }
        let sign = if self.take(b'-') {
            -1
        } else if self.take(b'+') {
            1
        } else {
            return Err(TextError::Syntax);
        };
        let (hours, minutes) = match self.digits(1, 4)? {
            (hours, 1 | 2) if self.take(b':') => (hours, self.digits(1, 2)?.0),
            (hours, 1 | 2) => (hours, 0),
            (both, 4) => (both / 100, both % 100),
            _ => return Err(TextError::Syntax),
        };
        if !self.0.is_empty() || minutes > 59 || hours * 60 + minutes > 18 * 60 {
            return Err(TextError::Syntax);
        }
        Ok(Some(sign * (hours * 3600 + minutes * 60)))
    }
}

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar, in which the year 0 is
/// before the year 1. Years are counted from March, so that the leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> Result<i64, TextError> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return Err(TextError::Syntax),
    };
    if day == 0 || day > length {
        return Err(TextError::Syntax);
    }
    let year = year - i64::from(month < 3);
    let (era, in_era) = (year.div_euclid(400), year.rem_euclid(400));
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let in_days = in_era * 365 + in_era / 4 - in_era / 100 + in_year;
    Ok(era * 146_097 + in_days - 719_468)
}
