// SPDX-License-Identifier: Apache-2.0
//! The oracle's coercions (rules 26 and 27), and its formats of dates and times: read item by item,
//! with chrono's calendar.

use arrow_schema::TimeUnit;
use arrowsmith_core::{Dialect, ErrorKind};
use arrowsmith_plan::{Coercion, Node, Op};
use chrono::{Datelike, NaiveDate};

use super::cell::Cell;
use super::convert::{from_number, in_range, int_range, is_temporal};
use super::number::{self, Grammar};
use super::reader::{Fault, Reader};
use super::time::{self, Timestamp};

impl Reader<'_> {
    /// Reads the value at the cursor, if the coercion says something about it; else the cursor
    /// stays.
    pub(super) fn coerced(
        &mut self,
        node: &Node,
        coercion: &Coercion,
        first: u8,
        nullable: bool,
    ) -> Result<Option<Cell>, Fault> {
        let start = self.at;
        let cell = match first {
            b'"' => {
                // A string that JSON text keeps may hold half a surrogate pair.
                let read = self.string(node.op != Op::Json);
                let text = match read {
                    Err(_) if node.op == Op::Json => None,
                    other => String::from_utf8(other?.bytes).ok(),
                };
                let Some(text) = text else {
                    self.at = start;
                    return Ok(None);
                };
                if coercion.nulls.contains(&text) {
                    let missing = self.fault(ErrorKind::MissingField, start);
                    return if nullable { Ok(Some(Cell::Null)) } else { Err(missing) };
                }
                self.meaning(node, coercion, &text)
            }
            b'-' | b'0'..=b'9' => {
                let number = match &node.op {
                    Op::Utf8 | Op::Bool | Op::Int(_) => coercion.scalars,
                    Op::Timestamp { .. } => coercion.epoch.is_some(),
                    _ => false,
                };
                if !number {
                    return Ok(None);
                }
                let text = self.number(self.options.allow_nan)?.to_owned();
                if text.ends_with('y') {
                    return Err(self.fault(ErrorKind::WrongType, start));
                }
                Some(match &node.op {
                    Op::Utf8 => Ok(Cell::Text(text)),
                    Op::Bool => zero_or_one(&text),
                    op => scalar(op, coercion, &text),
                })
            }
            b't' | b'f' if coercion.scalars && node.op == Op::Utf8 => {
                let word = if first == b't' { "true" } else { "false" };
                self.literal(word)?;
                Some(Ok(Cell::Text(word.to_owned())))
            }
            _ => None,
        };
        match cell {
            None => {
                self.at = start;
                Ok(None)
            }
            Some(cell) => cell.map(Some).map_err(|kind| self.fault(kind, start)),
        }
    }

    /// What a string means by the coercion; `None` if it means what it would without.
    fn meaning(
        &self,
        node: &Node,
        coercion: &Coercion,
        text: &str,
    ) -> Option<Result<Cell, ErrorKind>> {
        let op = &node.op;
        if is_temporal(op) {
            let formats =
                coercion.formats.iter().map(|format| by_format(op, &format.to_string(), text));
            let found = formats.flatten().next();
            if found.is_some() {
                return found;
            }
        }
        let is_number = number::grammar(text) == Grammar::Number;
        match op {
            Op::Bool if coercion.scalars => Some(match text.to_ascii_lowercase().as_str() {
                "true" => Ok(Cell::Bool(true)),
                "false" => Ok(Cell::Bool(false)),
                _ => zero_or_one(text),
            }),
            Op::Float(_)
                if coercion.scalars && ["NaN", "Infinity", "-Infinity"].contains(&text) =>
            {
                let allowed = self.options.allow_nan;
                Some(if allowed {
                    from_number(op, text, Dialect::default())
                } else {
                    Err(ErrorKind::InvalidValue)
                })
            }
            Op::Int(_) | Op::Float(_) if coercion.scalars && !is_number => {
                Some(Err(ErrorKind::InvalidValue))
            }
            Op::Int(_) | Op::Float(_) if coercion.scalars => Some(scalar(op, coercion, text)),
            _ if is_temporal(op) && coercion.scalars && is_number => {
                Some(scalar(op, coercion, text))
            }
            _ if !coercion.formats.is_empty() => Some(Err(ErrorKind::InvalidValue)),
            _ => None,
        }
    }
}

fn zero_or_one(text: &str) -> Result<Cell, ErrorKind> {
    match text {
        "0" => Ok(Cell::Bool(false)),
        "1" => Ok(Cell::Bool(true)),
        _ => Err(ErrorKind::InvalidValue),
    }
}

/// A number in a column of this operation.
fn scalar(op: &Op, coercion: &Coercion, text: &str) -> Result<Cell, ErrorKind> {
    let exact = |scale: i8, min: i128, max: i128| {
        let value = number::decimal(text, 38, scale)?;
        in_range(value.to_i128(), min, max)
    };
    match (op, coercion.epoch) {
        (Op::Int(width), _) => {
            let (min, max) = int_range(*width);
            let value = exact(0, min, max);
            let negative = !width.is_signed() && text.starts_with('-');
            if negative && value != Err(ErrorKind::Inexact) {
                return Err(ErrorKind::Overflow);
            }
            value
        }
        (Op::Timestamp { unit, .. }, Some(epoch)) => {
            let places = |unit| time::units_per_second(unit).ilog10().cast_signed();
            let scale = places(*unit) - places(epoch);
            exact(i8::try_from(scale).unwrap_or(0), i64::MIN.into(), i64::MAX.into())
        }
        _ => from_number(op, text, Dialect::default()),
    }
}

/// A text in a form; `None` if it does not match.
fn by_format(op: &Op, format: &str, text: &str) -> Option<Result<Cell, ErrorKind>> {
    let found = Found::read(&expanded(format), text)?;
    let unit = match op {
        Op::Date32 => {
            let days = found.date()?.signed_duration_since(NaiveDate::default()).num_days();
            return Some(Ok(Cell::Int(days.into())));
        }
        Op::Date64 => TimeUnit::Millisecond,
        Op::Time(unit) | Op::Timestamp { unit, .. } => *unit,
        _ => return None,
    };
    let days = match op {
        Op::Time(_) => 0,
        _ => found.date()?.signed_duration_since(NaiveDate::default()).num_days(),
    };
    let seconds = days * 86_400 + found.seconds - found.offset.unwrap_or(0);
    let value = time::fraction_units(&found.fraction, unit)
        .and_then(|fraction| time::to_units(seconds, fraction, unit));
    let value = match (op, value) {
        (Op::Timestamp { zone, .. }, Ok(value)) => {
            let found = Timestamp { value, had_offset: found.offset.is_some() };
            match time::in_zone(found, unit, zone.as_deref()) {
                // Whatever the form, the zone is not known.
                Err(ErrorKind::InvalidValue) => return None,
                other => other,
            }
        }
        (_, value) => value,
    };
    Some(value.map(|value| Cell::Int(value.into())))
}

/// A format without the items that stand for several.
fn expanded(format: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let next = if c == '%' { chars.next() } else { None };
        match (c, next) {
            ('%', Some('F')) => items.extend(expanded("%Y-%m-%d")),
            ('%', Some('T')) => items.extend(expanded("%H:%M:%S")),
            ('%', Some('R')) => items.extend(expanded("%H:%M")),
            ('%', Some('D')) => items.extend(expanded("%m/%d/%y")),
            ('%', Some('%')) => items.push("%".to_owned()),
            ('%', Some(item)) => items.push(format!("%{item}")),
            (c, _) => items.push(c.to_string()),
        }
    }
    items
}

/// What a text says.
#[derive(Default)]
struct Found {
    year: i32,
    month: u32,
    day: u32,
    year_day: Option<u32>,
    weekday: Option<String>,
    seconds: i64,
    fraction: String,
    offset: Option<i64>,
}

impl Found {
    fn read(items: &[String], text: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut rest = text;
        for item in items {
            let (min, max) = match item.as_str() {
                "%Y" => (4, 4),
                "%y" => (2, 2),
                "%j" => (1, 3),
                "%f" => (1, usize::MAX),
                "%m" | "%d" | "%e" | "%H" | "%I" | "%M" | "%S" => (1, 2),
                "%b" | "%B" | "%h" => {
                    let (month, after) = name(rest, |number| {
                        Some(NaiveDate::from_ymd_opt(2000, number, 1)?.format("%B").to_string())
                    })?;
                    (found.month, rest) = (month, after);
                    continue;
                }
                "%a" | "%A" => {
                    // 2001-01-01 was a Monday.
                    let day = |number| NaiveDate::from_ymd_opt(2001, 1, number);
                    let (weekday, after) =
                        name(rest, |number| Some(day(number.min(7))?.format("%A").to_string()))?;
                    found.weekday = Some(day(weekday)?.weekday().to_string());
                    rest = after;
                    continue;
                }
                "%p" | "%P" => {
                    let half = rest.get(..2)?.to_ascii_uppercase();
                    found.seconds += match half.as_str() {
                        "AM" => 0,
                        "PM" => 43_200,
                        _ => return None,
                    };
                    rest = &rest[2..];
                    continue;
                }
                "%z" => {
                    rest = found.zone(rest)?;
                    continue;
                }
                byte => {
                    rest = rest.strip_prefix(byte)?;
                    continue;
                }
            };
            let spaced = item == "%e" && rest.starts_with(' ');
            let (rest_of, max) = if spaced { (&rest[1..], 1) } else { (rest, max) };
            let len = rest_of.bytes().take(max).take_while(u8::is_ascii_digit).count();
            if len < min {
                return None;
            }
            let (digits, after) = rest_of.split_at(len);
            rest = after;
            if item == "%f" {
                found.fraction = digits.to_owned();
                continue;
            }
            let value: u32 = digits.parse().ok()?;
            let seconds =
                |weight: i64, max: u32| (value <= max).then_some(i64::from(value) * weight);
            match item.as_str() {
                "%Y" => found.year = i32::try_from(value).ok()?,
                "%y" => {
                    found.year = i32::try_from(value).ok()? + if value < 69 { 2000 } else { 1900 };
                }
                "%m" => found.month = value,
                "%j" => found.year_day = Some(value),
                "%d" | "%e" => found.day = value,
                "%H" => found.seconds += seconds(3600, 23)?,
                "%I" if value == 0 => return None,
                "%I" => found.seconds += seconds(3600, 12)? % 43_200,
                "%M" => found.seconds += seconds(60, 59)?,
                _ => found.seconds += seconds(1, 59)?,
            }
        }
        rest.is_empty().then_some(found)
    }

    /// Reads an offset from UTC; returns what follows.
    fn zone<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        if let Some(rest) = text.strip_prefix(['Z', 'z']) {
            self.offset = Some(0);
            return Some(rest);
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let rest = text.strip_prefix(['+', '-'])?;
        let two = |text: &str| {
            let digits = text.get(..2)?;
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
        };
        let hours = two(rest)?;
        let mut rest = &rest[2..];
        let after = rest.strip_prefix(':').unwrap_or(rest);
        let mut minutes = 0;
        if let Some(found) = two(after) {
            (minutes, rest) = (found, &after[2..]);
        }
        self.offset = Some(sign * (hours * 3600 + minutes * 60));
        (hours < 24 && minutes < 60).then_some(rest)
    }

    fn date(&self) -> Option<NaiveDate> {
        let date = match self.year_day {
            Some(day) => NaiveDate::from_yo_opt(self.year, day)?,
            None => NaiveDate::from_ymd_opt(self.year, self.month, self.day)?,
        };
        let named = self.weekday.as_ref().is_none_or(|name| *name == date.weekday().to_string());
        (named && self.year > 0).then_some(date)
    }
}

/// The number, from 1, of the name that a text starts with, whole or by three letters; the rest.
fn name(text: &str, of: impl Fn(u32) -> Option<String>) -> Option<(u32, &str)> {
    for number in 1..=12 {
        let whole = of(number)?;
        for len in [whole.len(), 3] {
            if text.get(..len).is_some_and(|start| start.eq_ignore_ascii_case(&whole[..len])) {
                return Some((number, &text[len..]));
            }
        }
    }
    None
}
