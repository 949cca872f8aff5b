// SPDX-License-Identifier: Apache-2.0
//! Dates and times in a form that the user gives: `%d.%m.%Y`, as `strftime` writes it.
//!
//! A format is compiled once, and either matches the whole of a text or does not: there is no
//! search, no locale and no clock. Numbers take the digits that are there, up to their width, so
//! `%d` reads `5` and `05`, and `%Y%m%d` reads `20240305`. What is not a date of the calendar, or a
//! time of the day, does not match.

use std::fmt;

use crate::TextError;
use crate::swar::byte_at;
use crate::time::{
    Fraction, ParsedTimestamp, SECONDS_PER_DAY, TimeUnit, days_from_civil, scale_seconds,
};

/// A compiled format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    text: String,
    items: Vec<Item>,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    /// This byte.
    Byte(u8),
    /// `%Y`: four digits.
    Year,
    /// `%y`: two digits, from 1969 to 2068.
    ShortYear,
    /// `%m`
    Month,
    /// `%b`, `%B`, `%h`: an English name, whole or its first three letters, in either case.
    MonthName,
    /// `%d`, and `%e`, which a space may precede.
    Day { spaced: bool },
    /// `%j`: day of the year.
    YearDay,
    /// `%a`, `%A`: a name as of months; it has to be that of the date.
    WeekdayName,
    /// `%H`
    Hour,
    /// `%I`: 1 to 12.
    ShortHour,
    /// `%p`: AM or PM, in either case.
    Half,
    /// `%M`
    Minute,
    /// `%S`
    Second,
    /// `%f`: the digits of a fraction of a second.
    Fraction,
    /// `%z`: `Z`, `±HH`, `±HHMM`, `±HH:MM`.
    Offset,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Why a format is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// It has no such item.
    Unknown(char),
    /// The text ends after a `%`.
    Unfinished,
    /// An item that says the same as another one.
    Twice(char),
    /// A part is missing without which there is no value.
    Lacks(&'static str),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(item) => write!(
                f,
                "a format has no %{item}; it has %Y %y %m %b %d %e %j %a %H %I %p %M %S %f %z %F %T \
                 %R %D %%"
            ),
            Self::Unfinished => f.write_str("a format ends with %; a percent sign is %%"),
            Self::Twice(item) => write!(f, "%{item} repeats what another item of the format says"),
            Self::Lacks(what) => write!(f, "the format lacks {what}"),
        }
    }
}

impl std::error::Error for FormatError {}

/// What the items of a text said.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    year: Option<u32>,
    month: u32,
    day: u32,
    year_day: Option<u32>,
    weekday: Option<usize>,
    hour: u32,
    afternoon: bool,
    minute: u32,
    second: u32,
    fraction: Option<Fraction>,
    offset: Option<i64>,
}

impl TimeFormat {
    /// Compiles a format.
    ///
    /// # Errors
    /// [`FormatError`]: unknown or repeated items, a date without year, month or day, a time of
    /// day without hours.
    pub fn new(text: &str) -> Result<Self, FormatError> {
        let mut items = Vec::with_capacity(text.len());
        let mut seen = Vec::new();
        compile(text, &mut items, &mut seen)?;
        let format = Self { text: text.to_owned(), items };
        let has = |item: Item| format.items.contains(&item);
        let short = has(Item::ShortHour);
        if short != has(Item::Half) {
            return Err(FormatError::Lacks(if short { "%p beside %I" } else { "%I beside %p" }));
        }
        if format.has_date() {
            let day = seen.contains(&'d') && seen.contains(&'m');
            if !(seen.contains(&'Y') && (day || seen.contains(&'j'))) {
                return Err(FormatError::Lacks("a year, a month or a day"));
            }
        } else if !format.has_time() {
            return Err(FormatError::Lacks("a date and a time of day"));
        }
        let clock = |item: char| seen.contains(&item);
        if format.has_time() && !clock('H')
            || clock('S') && !clock('M')
            || clock('f') && !clock('S')
        {
            return Err(FormatError::Lacks("the larger parts of the time of day"));
        }
        Ok(format)
    }

    /// Whether it has a date.
    #[must_use]
    pub fn has_date(&self) -> bool {
        use Item as I;
        let date = |item: &Item| {
            matches!(
                item,
                I::Year
                    | I::ShortYear
                    | I::Month
                    | I::MonthName
                    | I::Day { .. }
                    | I::YearDay
                    | I::WeekdayName
            )
        };
        self.items.iter().any(date)
    }

    /// Whether it has a time of day, or an offset from UTC.
    #[must_use]
    pub fn has_time(&self) -> bool {
        use Item as I;
        let time = |item: &Item| {
            matches!(
                item,
                I::Hour | I::ShortHour | I::Half | I::Minute | I::Second | I::Fraction | I::Offset
            )
        };
        self.items.iter().any(time)
    }

    /// Whether it has an offset from UTC.
    #[must_use]
    pub fn has_offset(&self) -> bool {
        self.items.contains(&Item::Offset)
    }

    /// Days since 1970-01-01.
    ///
    /// # Errors
    /// [`TextError::Syntax`] for a text that does not match.
    pub fn date(&self, text: &[u8]) -> Result<i32, TextError> {
        self.parts(text).and_then(|parts| parts.days()).ok_or(TextError::Syntax)
    }

    /// Units since midnight.
    ///
    /// # Errors
    /// [`TextError::Syntax`] for a text that does not match, [`TextError::Inexact`] for a fraction
    /// finer than the unit.
    pub fn time(&self, text: &[u8], unit: TimeUnit) -> Result<i64, TextError> {
        let parts = self.parts(text).ok_or(TextError::Syntax)?;
        scale_seconds(parts.seconds(), parts.fraction(unit)?, unit)
    }

    /// Units since 1970-01-01T00:00:00, which is in UTC if the text has an offset.
    ///
    /// # Errors
    /// As [`TimeFormat::time`], and [`TextError::Range`] for what 64 bits do not hold.
    pub fn timestamp(&self, text: &[u8], unit: TimeUnit) -> Result<ParsedTimestamp, TextError> {
        let parts = self.parts(text).ok_or(TextError::Syntax)?;
        let days = parts.days().ok_or(TextError::Syntax)?;
        let seconds =
            i64::from(days) * SECONDS_PER_DAY + parts.seconds() - parts.offset.unwrap_or(0);
        let value = scale_seconds(seconds, parts.fraction(unit)?, unit)?;
        Ok(ParsedTimestamp { value, had_offset: parts.offset.is_some() })
    }

    /// What the text says, if it matches to its end.
    fn parts(&self, text: &[u8]) -> Option<Parts> {
        let mut parts = Parts::default();
        let mut at = 0;
        for &item in &self.items {
            at = parts.read(item, text, at)?;
        }
        (at == text.len()).then_some(parts)
    }
}

impl fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Appends the items of a text. `seen` has what they say, by the letter that usually says it.
fn compile(text: &str, items: &mut Vec<Item>, seen: &mut Vec<char>) -> Result<(), FormatError> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            items.extend(c.encode_utf8(&mut [0; 4]).bytes().map(Item::Byte));
            continue;
        }
        let letter = chars.next().ok_or(FormatError::Unfinished)?;
        let (item, says) = match letter {
            'Y' => (Item::Year, 'Y'),
            'y' => (Item::ShortYear, 'Y'),
            'm' => (Item::Month, 'm'),
            'b' | 'B' | 'h' => (Item::MonthName, 'm'),
            'd' => (Item::Day { spaced: false }, 'd'),
            'e' => (Item::Day { spaced: true }, 'd'),
            'j' => (Item::YearDay, 'j'),
            'a' | 'A' => (Item::WeekdayName, 'a'),
            'H' => (Item::Hour, 'H'),
            'I' => (Item::ShortHour, 'H'),
            'p' | 'P' => (Item::Half, 'p'),
            'M' => (Item::Minute, 'M'),
            'S' => (Item::Second, 'S'),
            'f' => (Item::Fraction, 'f'),
            'z' => (Item::Offset, 'z'),
            '%' => {
                items.push(Item::Byte(b'%'));
                continue;
            }
            'F' | 'T' | 'R' | 'D' => {
                let longer = match letter {
                    'F' => "%Y-%m-%d",
                    'T' => "%H:%M:%S",
                    'R' => "%H:%M",
                    _ => "%m/%d/%y",
                };
                compile(longer, items, seen)?;
                continue;
            }
            other => return Err(FormatError::Unknown(other)),
        };
        let again = match says {
            'j' => seen.contains(&'m') || seen.contains(&'d'),
            'm' | 'd' => seen.contains(&'j'),
            _ => false,
        };
        if again || seen.contains(&says) {
            return Err(FormatError::Twice(letter));
        }
        seen.push(says);
        items.push(item);
    }
    Ok(())
}

impl Parts {
    /// Reads an item at `at`; returns its end.
    fn read(&mut self, item: Item, text: &[u8], at: usize) -> Option<usize> {
        let (value, end) = match item {
            Item::Byte(byte) => return (text.get(at) == Some(&byte)).then_some(at + 1),
            Item::MonthName => {
                let (month, end) = name(&MONTHS, text, at)?;
                self.month = u32::try_from(month).ok()? + 1;
                return Some(end);
            }
            Item::WeekdayName => {
                let (weekday, end) = name(&WEEKDAYS, text, at)?;
                self.weekday = Some(weekday);
                return Some(end);
            }
            Item::Half => {
                self.afternoon = match text.get(at..at + 2)?.to_ascii_lowercase().as_slice() {
                    b"am" => false,
                    b"pm" => true,
                    _ => return None,
                };
                return Some(at + 2);
            }
            Item::Fraction => {
                let (fraction, end) = Fraction::at(text, at).ok()?;
                self.fraction = Some(fraction);
                return Some(end);
            }
            Item::Offset => return self.offset(text, at),
            Item::Year => digits(text, at, 4, 4)?,
            Item::ShortYear => digits(text, at, 2, 2)?,
            Item::YearDay => digits(text, at, 1, 3)?,
            Item::Day { spaced } if spaced && byte_at(text, at) == b' ' => {
                digits(text, at + 1, 1, 1)?
            }
            _ => digits(text, at, 1, 2)?,
        };
        match item {
            Item::Year => self.year = Some(value),
            Item::ShortYear => self.year = Some(value + if value < 69 { 2000 } else { 1900 }),
            Item::Month => self.month = value,
            Item::Day { .. } => self.day = value,
            Item::YearDay => self.year_day = Some(value),
            Item::Hour if value < 24 => self.hour = value,
            Item::ShortHour if (1..=12).contains(&value) => self.hour = value % 12,
            Item::Minute if value < 60 => self.minute = value,
            Item::Second if value < 60 => self.second = value,
            _ => return None,
        }
        Some(end)
    }

    fn offset(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let sign = match text.get(at)? {
            b'Z' | b'z' => {
                self.offset = Some(0);
                return Some(at + 1);
            }
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, mut end) = digits(text, at + 1, 2, 2)?;
        let mut minutes = 0;
        let colon = usize::from(byte_at(text, end) == b':');
        if let Some((value, after)) = digits(text, end + colon, 2, 2) {
            (minutes, end) = (value, after);
        }
        if hours > 23 || minutes > 59 {
            return None;
        }
        self.offset = Some(sign * i64::from(hours * 3600 + minutes * 60));
        Some(end)
    }

    /// Days since 1970-01-01, if there is such a day.
    fn days(&self) -> Option<i32> {
        let year = self.year?;
        let days = match self.year_day {
            None => days_from_civil(year, self.month, self.day).ok()?,
            Some(day) => {
                let first = days_from_civil(year, 1, 1).ok()?;
                let last = days_from_civil(year, 12, 31).ok()?;
                let days = first + i32::try_from(day).ok()? - 1;
                (first..=last).contains(&days).then_some(days)?
            }
        };
        // 1970-01-01 was a Thursday.
        let weekday = (i64::from(days) + 3).rem_euclid(7);
        match self.weekday {
            Some(named) if i64::try_from(named) != Ok(weekday) => None,
            _ => Some(days),
        }
    }

    fn seconds(&self) -> i64 {
        let hour = self.hour + if self.afternoon { 12 } else { 0 };
        i64::from(hour * 3600 + self.minute * 60 + self.second)
    }

    fn fraction(&self, unit: TimeUnit) -> Result<i64, TextError> {
        self.fraction.unwrap_or(Fraction::ZERO).to_unit(unit)
    }
}

/// The number at `at`, of `min` to `max` digits, and its end.
fn digits(text: &[u8], at: usize, min: usize, max: usize) -> Option<(u32, usize)> {
    let rest = text.get(at..)?;
    let len = rest.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
    let value = rest[..len].iter().fold(0, |value, byte| value * 10 + u32::from(byte - b'0'));
    (len >= min).then_some((value, at + len))
}

/// The name at `at`, whole or its first three letters, as an index, and its end.
fn name(names: &[&str], text: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let starts = |name: &str| {
        rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    };
    let index = names.iter().position(|name| starts(&name[..3]))?;
    let len = if starts(names[index]) { names[index].len() } else { 3 };
    Some((index, at + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(format: &str, text: &str) -> Option<String> {
        let days = TimeFormat::new(format).unwrap().date(text.as_bytes()).ok()?;
        let epoch = chrono::NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        Some((epoch + chrono::TimeDelta::days(days.into())).to_string())
    }

    #[test]
    fn dates_in_many_forms() {
        for (format, text, expected) in [
            ("%d.%m.%Y", "05.03.2024", Some("2024-03-05")),
            ("%d.%m.%Y", "5.3.2024", Some("2024-03-05")),
            ("%d.%m.%Y", "31.02.2024", None),
            ("%d.%m.%Y", "05.03.24", None),
            ("%d.%m.%Y", "05.03.2024 ", None),
            ("%d.%m.%Y", "005.03.2024", None),
            ("%d.%m.%Y", "", None),
            ("%Y%m%d", "20240305", Some("2024-03-05")),
            ("%m/%d/%y", "12/31/68", Some("2068-12-31")),
            ("%D", "12/31/69", Some("1969-12-31")),
            ("%d %b %Y", "5 mar 2024", Some("2024-03-05")),
            ("%d %B %Y", "05 March 2024", Some("2024-03-05")),
            ("%b%d%Y", "May012024", Some("2024-05-01")),
            ("%a, %e %b %Y", "Tue,  5 Mar 2024", Some("2024-03-05")),
            ("%a, %e %b %Y", "Wed,  5 Mar 2024", None),
            ("%Y-%j", "2024-366", Some("2024-12-31")),
            ("%Y-%j", "2023-366", None),
            ("%Y-%j", "2023-0", None),
            ("%Y年%m月%d日", "2024年3月5日", Some("2024-03-05")),
            ("%F", "0000-01-01", None),
            ("%%%F", "%2024-03-05", Some("2024-03-05")),
        ] {
            assert_eq!(date(format, text).as_deref(), expected, "{format} {text}");
        }
    }

    #[test]
    fn times_and_offsets() {
        let at = |format: &str, text: &str| {
            let format = TimeFormat::new(format).unwrap();
            format.timestamp(text.as_bytes(), TimeUnit::Millisecond).map(|found| found.value)
        };
        assert_eq!(at("%F %T", "1970-01-02 00:00:01"), Ok(86_401_000));
        assert_eq!(at("%F %T.%f%z", "1970-01-01 00:00:01.25+01:00"), Ok(-3_598_750));
        assert_eq!(at("%F %T.%f%z", "1970-01-01 00:00:01.25Z"), Ok(1_250));
        assert_eq!(at("%F %T%z", "1970-01-01 00:00:00-0030"), Ok(1_800_000));
        assert_eq!(at("%F %T.%f", "1970-01-01 00:00:01.2505"), Err(TextError::Inexact));
        assert_eq!(at("%F %I:%M %p", "1970-01-01 12:05 am"), Ok(300_000));
        assert_eq!(at("%F %I:%M %p", "1970-01-01 12:05 PM"), Ok(43_500_000));
        assert_eq!(at("%F %I:%M %p", "1970-01-01 13:05 PM"), Err(TextError::Syntax));
        assert_eq!(at("%F %R", "1970-01-01 24:00"), Err(TextError::Syntax));
        let clock = TimeFormat::new("%H.%M").unwrap();
        assert_eq!(clock.time(b"7.30", TimeUnit::Second), Ok(27_000));
        let nanos = TimeFormat::new("%F").unwrap().timestamp(b"9999-01-01", TimeUnit::Nanosecond);
        assert_eq!(nanos, Err(TextError::Range));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for format in [
            "",
            "x",
            "%",
            "%Y",
            "%d.%m",
            "%Y-%m",
            "%q",
            "%Y-%m-%d %y",
            "%F %M",
            "%H:%S",
            "%I",
            "%H%p",
            "%Y-%j-%d",
            "%F %T %H",
            "%z",
            "%F %H %f",
        ] {
            assert!(TimeFormat::new(format).is_err(), "{format}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(format in "(%[YymbdejaHIpMSfz%FT]|[ -./]|ü){0,8}", text in "\\PC{0,24}") {
            if let Ok(format) = TimeFormat::new(&format) {
                let _ = format.timestamp(text.as_bytes(), TimeUnit::Nanosecond);
                let _ = format.date(text.as_bytes());
                let _ = format.time(text.as_bytes(), TimeUnit::Second);
            }
        }
    }
}
