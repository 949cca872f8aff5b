// SPDX-License-Identifier: Apache-2.0
//! The oracle's dates, times, timestamps and durations (rule 12): texts matched field by field from
//! the left, calendars by chrono.

use arrow_schema::TimeUnit;
use arrowsmith_core::ErrorKind;
use chrono::NaiveDate;

/// A timestamp, and whether its text had an offset.
pub(super) struct Timestamp {
    pub(super) value: i64,
    pub(super) had_offset: bool,
}

pub(super) fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A cursor over a text.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Reads `count` digits.
    fn digits(&mut self, count: usize) -> Result<u32, ErrorKind> {
        let digits = self.0.get(..count).ok_or(ErrorKind::InvalidValue)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ErrorKind::InvalidValue);
        }
        self.0 = &self.0[count..];
        digits.parse().map_err(|_| ErrorKind::InvalidValue)
    }

    /// Reads all digits, at least one.
    fn all_digits(&mut self) -> Result<&'a str, ErrorKind> {
        let len = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(len);
        self.0 = rest;
        if len == 0 { Err(ErrorKind::InvalidValue) } else { Ok(digits) }
    }

    /// Reads one of these characters, if it is next.
    fn take(&mut self, any: &[char]) -> Option<char> {
        let first = self.0.chars().next().filter(|first| any.contains(first))?;
        self.0 = &self.0[first.len_utf8()..];
        Some(first)
    }

    fn need(&mut self, any: &[char]) -> Result<char, ErrorKind> {
        self.take(any).ok_or(ErrorKind::InvalidValue)
    }

    fn end(&self) -> Result<(), ErrorKind> {
        if self.0.is_empty() { Ok(()) } else { Err(ErrorKind::InvalidValue) }
    }

    /// `YYYY-MM-DD` in days since the epoch.
    fn date(&mut self) -> Result<i64, ErrorKind> {
        let year = self.digits(4)?;
        self.need(&['-'])?;
        let month = self.digits(2)?;
        self.need(&['-'])?;
        let day = self.digits(2)?;
        let year = i32::try_from(year).map_err(|_| ErrorKind::InvalidValue)?;
        let date = NaiveDate::from_ymd_opt(year, month, day).ok_or(ErrorKind::InvalidValue)?;
        if year == 0 {
            return Err(ErrorKind::Overflow);
        }
        Ok(date.signed_duration_since(NaiveDate::default()).num_days())
    }

    /// `HH:MM[:SS[.f]]`: seconds, and the digits of the fraction.
    fn clock(&mut self) -> Result<(i64, &'a str), ErrorKind> {
        let hour = self.digits(2)?;
        self.need(&[':'])?;
        let minute = self.digits(2)?;
        let (mut second, mut fraction) = (0, "");
        if self.take(&[':']).is_some() {
            second = self.digits(2)?;
            if self.take(&['.']).is_some() {
                fraction = self.all_digits()?;
            }
        }
        if hour > 23 || minute > 59 || second > 60 {
            return Err(ErrorKind::InvalidValue);
        }
        Ok((i64::from(hour * 3600 + minute * 60 + second), fraction))
    }

    /// An offset from UTC in seconds: `Z`, `±HH`, `±HHMM`, `±HH:MM`.
    fn offset(&mut self) -> Result<Option<i64>, ErrorKind> {
        if self.0.is_empty() {
            return Ok(None);
        }
        if self.take(&['Z', 'z']).is_some() {
            return Ok(Some(0));
        }
        let sign = if self.need(&['+', '-'])? == '-' { -1 } else { 1 };
        let hour = self.digits(2)?;
        let mut minute = 0;
        if self.take(&[':']).is_some() || !self.0.is_empty() {
            minute = self.digits(2)?;
        }
        if hour > 23 || minute > 59 {
            return Err(ErrorKind::InvalidValue);
        }
        Ok(Some(sign * i64::from(hour * 3600 + minute * 60)))
    }
}

/// The digits of a fraction of a second, in units.
pub(super) fn fraction_units(digits: &str, unit: TimeUnit) -> Result<i64, ErrorKind> {
    let places = units_per_second(unit).ilog10() as usize;
    let (kept, lost) = digits.split_at(places.min(digits.len()));
    if lost.bytes().any(|digit| digit != b'0') {
        return Err(ErrorKind::Inexact);
    }
    format!("0{kept:0<places$}").parse().map_err(|_| ErrorKind::InvalidValue)
}

pub(super) fn to_units(seconds: i64, fraction: i64, unit: TimeUnit) -> Result<i64, ErrorKind> {
    let value = i128::from(seconds) * i128::from(units_per_second(unit)) + i128::from(fraction);
    i64::try_from(value).map_err(|_| ErrorKind::Overflow)
}

/// A date in days since the epoch.
pub(super) fn date(text: &str) -> Result<i64, ErrorKind> {
    // The form is checked first: a text of another length is a syntax error, even in the year 0000.
    if text.len() != 10 {
        return Err(ErrorKind::InvalidValue);
    }
    Text(text).date()
}

/// A time of day in units since midnight.
pub(super) fn time_of_day(text: &str, unit: TimeUnit) -> Result<i64, ErrorKind> {
    let mut text = Text(text);
    let (seconds, fraction) = text.clock()?;
    text.end()?;
    if seconds >= 86_400 {
        return Err(ErrorKind::Overflow);
    }
    to_units(seconds, fraction_units(fraction, unit)?, unit)
}

/// A date or timestamp in units since the epoch.
pub(super) fn timestamp(text: &str, unit: TimeUnit) -> Result<Timestamp, ErrorKind> {
    let mut text = Text(text);
    let days = text.date()?;
    let (mut seconds, mut fraction, mut offset) = (0, "", None);
    if !text.0.is_empty() {
        text.need(&['T', 't', ' '])?;
        (seconds, fraction) = text.clock()?;
        offset = text.offset()?;
        text.end()?;
    }
    let seconds = days * 86_400 + seconds - offset.unwrap_or(0);
    let value = to_units(seconds, fraction_units(fraction, unit)?, unit)?;
    Ok(Timestamp { value, had_offset: offset.is_some() })
}

/// A timestamp for a column of this zone: a text without offset is a time of the zone.
pub(super) fn timestamp_in_zone(
    text: &str,
    unit: TimeUnit,
    zone: Option<&str>,
) -> Result<i64, ErrorKind> {
    in_zone(timestamp(text, unit)?, unit, zone)
}

/// A timestamp in a column of this zone.
pub(super) fn in_zone(
    found: Timestamp,
    unit: TimeUnit,
    zone: Option<&str>,
) -> Result<i64, ErrorKind> {
    let Some(zone) = zone.filter(|_| !found.had_offset) else { return Ok(found.value) };
    let ahead = zone_seconds(zone).ok_or(ErrorKind::InvalidValue)?;
    let value = i128::from(found.value) - i128::from(ahead) * i128::from(units_per_second(unit));
    i64::try_from(value).map_err(|_| ErrorKind::Overflow)
}

/// How far a zone that is UTC or a fixed offset is ahead of UTC, in seconds.
pub(super) fn zone_seconds(zone: &str) -> Option<i64> {
    if ["UTC", "Etc/UTC", "GMT", "Z", "z"].contains(&zone) {
        return Some(0);
    }
    let mut zone = Text(zone);
    zone.offset().ok().flatten().filter(|_| zone.0.is_empty())
}

/// `[±]P[nD][T[nH][nM][n[.f]S]]` in units.
pub(super) fn duration(text: &str, unit: TimeUnit) -> Result<i64, ErrorKind> {
    let mut text = Text(text);
    let sign = if text.take(&['+', '-']) == Some('-') { -1 } else { 1 };
    text.need(&['P'])?;
    let mut seconds = 0_i64;
    let mut fraction = "";
    let mut parts = 0;
    let mut add = |count: &str, weight: i64| {
        let count = count.parse::<i64>().ok().and_then(|count| count.checked_mul(weight));
        seconds = count.and_then(|count| seconds.checked_add(count)).ok_or(ErrorKind::Overflow)?;
        Ok::<(), ErrorKind>(())
    };
    if text.0.starts_with(|c: char| c.is_ascii_digit()) {
        let count = text.all_digits()?;
        text.need(&['D'])?;
        add(count, 86_400)?;
        parts += 1;
    }
    if text.take(&['T']).is_some() {
        let mut designators: &[(char, i64)] = &[('H', 3600), ('M', 60), ('S', 1)];
        loop {
            let count = text.all_digits()?;
            if text.take(&['.']).is_some() {
                fraction = text.all_digits()?;
                designators = designators.get(designators.len().saturating_sub(1)..).unwrap_or(&[]);
            }
            let allowed: Vec<char> =
                designators.iter().map(|(designator, _)| *designator).collect();
            let designator = text.need(&allowed)?;
            let place = designators.iter().position(|(c, _)| *c == designator).unwrap_or(0);
            add(count, designators[place].1)?;
            designators = &designators[place + 1..];
            parts += 1;
            if text.0.is_empty() {
                break;
            }
        }
    }
    text.end()?;
    if parts == 0 {
        return Err(ErrorKind::InvalidValue);
    }
    to_units(sign * seconds, sign * fraction_units(fraction, unit)?, unit)
}
