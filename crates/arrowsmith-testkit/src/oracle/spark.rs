// SPDX-License-Identifier: Apache-2.0
//! The oracle's dialect of Spark (*Dialects*): texts split at their separators, calendars by
//! chrono.

use arrow_schema::TimeUnit;
use arrowsmith_core::ErrorKind;
use chrono::NaiveDate;

use super::time::units_per_second;

/// A date in days since the epoch.
pub(super) fn date(text: &str) -> Result<i64, ErrorKind> {
    let text = trimmed(text);
    let (head, more) = split_date(text);
    let (days, whole) = calendar(head, 7)?;
    if more.is_some() && !whole {
        return Err(ErrorKind::InvalidValue);
    }
    i32::try_from(days).map(i64::from).map_err(|_| ErrorKind::Overflow)
}

/// A timestamp for a column of this unit and zone.
pub(super) fn timestamp(text: &str, unit: TimeUnit, zone: Option<&str>) -> Result<i64, ErrorKind> {
    let (head, clock) = split_date(trimmed(text));
    let (days, whole) = calendar(head, 6)?;
    if clock.is_some() && !whole {
        return Err(ErrorKind::InvalidValue);
    }
    let (micros, offset) = clock.map_or(Ok((0, None)), time_of_day)?;
    let in_utc = |ahead: i64| {
        let micros = i128::from(micros) + i128::from(days * 86_400 - ahead) * 1_000_000;
        i64::try_from(micros).map_err(|_| ErrorKind::Overflow)
    };
    let micros = match (zone, offset) {
        (None, None) => in_utc(0)?,
        (Some(_), Some(ahead)) => in_utc(ahead)?,
        (Some(zone), None) => {
            let local = in_utc(0)?;
            let ahead = super::time::zone_seconds(zone).ok_or(ErrorKind::InvalidValue)?;
            local.checked_sub(ahead * 1_000_000).ok_or(ErrorKind::Overflow)?
        }
        (None, Some(_)) => return Err(ErrorKind::InvalidValue),
    };
    from_micros(micros.into(), unit)
}

/// An integer of a timestamp's column: seconds.
pub(super) fn seconds(value: Option<i128>, unit: TimeUnit) -> Result<i64, ErrorKind> {
    let seconds = value.and_then(|value| i64::try_from(value).ok()).ok_or(ErrorKind::Overflow)?;
    let micros = seconds.checked_mul(1_000_000).ok_or(ErrorKind::Overflow)?;
    from_micros(micros.into(), unit)
}

fn from_micros(micros: i128, unit: TimeUnit) -> Result<i64, ErrorKind> {
    let scaled = micros * i128::from(units_per_second(unit));
    if scaled % 1_000_000 != 0 {
        return Err(ErrorKind::Inexact);
    }
    i64::try_from(scaled / 1_000_000).map_err(|_| ErrorKind::Overflow)
}

/// Without blanks and control characters of ASCII around it.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c == ' ' || c.is_ascii_control())
}

/// The text up to the first space or `T`, and what follows that.
fn split_date(text: &str) -> (&str, Option<&str>) {
    match text.split_once([' ', 'T']) {
        Some((head, rest)) => (head, Some(rest)),
        None => (text, None),
    }
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Result<i64, ErrorKind> {
    if !digits.contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ErrorKind::InvalidValue);
    }
    text.parse().map_err(|_| ErrorKind::InvalidValue)
}

fn up_to(text: &str, most: i64) -> Result<i64, ErrorKind> {
    number(text, 1..=2).and_then(|n| if n > most { Err(ErrorKind::InvalidValue) } else { Ok(n) })
}

/// Days since the epoch, and whether the text names a day.
fn calendar(text: &str, year_digits: usize) -> Result<(i64, bool), ErrorKind> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let parts: Vec<&str> = rest.split('-').collect();
    let (year, month, day) = match parts[..] {
        [year] => (year, "1", "1"),
        [year, month] => (year, month, "1"),
        [year, month, day] => (year, month, day),
        _ => return Err(ErrorKind::InvalidValue),
    };
    let year = sign * number(year, 4..=year_digits)?;
    let (month, day) = (up_to(month, 12)?, up_to(day, 31)?);
    // The calendar repeats after 400 years.
    let (cycles, year) = (year.div_euclid(400) - 5, year.rem_euclid(400) + 2000);
    let part = |n: i64| u32::try_from(n).unwrap_or(0);
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).unwrap_or(0), part(month), part(day));
    let days = date.ok_or(ErrorKind::InvalidValue)?;
    let days = days.signed_duration_since(NaiveDate::default()).num_days();
    Ok((days + cycles * 146_097, parts.len() == 3))
}

/// Microseconds, and seconds ahead of UTC if there is a zone.
fn time_of_day(text: &str) -> Result<(i64, Option<i64>), ErrorKind> {
    let parts: Vec<&str> = text.splitn(3, ':').collect();
    let mut micros = up_to(parts[0], 23)? * 3_600_000_000;
    if let Some(minute) = parts.get(1) {
        micros += up_to(minute, 59)? * 60_000_000;
    }
    let Some(last) = parts.get(2) else { return Ok((micros, None)) };
    let (second, rest) = leading_digits(last);
    micros += up_to(second, 59)? * 1_000_000;
    let mut zone = rest;
    if let Some(rest) = rest.strip_prefix('.') {
        let (digits, rest) = leading_digits(rest);
        let digits = &format!("{digits}000000")[..6];
        micros += digits.parse::<i64>().map_err(|_| ErrorKind::InvalidValue)?;
        zone = rest;
    }
    if zone.is_empty() {
        return Ok((micros, None));
    }
    Ok((micros, Some(ahead(zone.trim_matches(|c| c <= ' '))?)))
}

fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Seconds ahead of UTC.
fn ahead(zone: &str) -> Result<i64, ErrorKind> {
    if ["Z", "UT", "UTC", "GMT"].contains(&zone) {
        return Ok(0);
    }
    let (sign, digits) = match zone.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, zone.strip_prefix('+').ok_or(ErrorKind::InvalidValue)?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (number(hours, 1..=2)?, number(minutes, 1..=2)?),
        None if digits.len() == 4 && digits.is_ascii() => {
            (number(&digits[..2], 2..=2)?, number(&digits[2..], 2..=2)?)
        }
        None => (number(digits, 1..=2)?, 0),
    };
    let minutes = if minutes > 59 { 24 * 60 } else { hours * 60 + minutes };
    if minutes > 18 * 60 { Err(ErrorKind::InvalidValue) } else { Ok(sign * minutes * 60) }
}
