// SPDX-License-Identifier: Apache-2.0
//! Dates, times and timestamps as they are written: exact to the last digit, whatever the unit of
//! the column is.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::i256;
use arrow_cast::parse::{string_to_datetime, string_to_time_nanoseconds};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use super::Test;
use super::number::settle;
use crate::predicate::Comparison;

/// Nanoseconds of a second, and of a day.
const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// Digits of a second's fraction that make nanoseconds.
const PLACES: usize = 9;

/// A point in time or a time of day: nanoseconds, and whether it is a little more than that.
type Moment = (i128, bool);

/// The test of a column of dates, times or timestamps; `None` if the text is none of these.
pub(super) fn test(text: &str, kind: &DataType, comparison: Comparison) -> Option<Test> {
    let tick = tick(kind)?;
    let (nanos, more) = moment(text, kind, tick)?;
    let (floor, exact) = (nanos.div_euclid(tick), nanos.rem_euclid(tick) == 0 && !more);
    let range = match kind {
        DataType::Date32 | DataType::Time32(_) => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    };
    let range = (i256::from_i128(range.0), i256::from_i128(range.1));
    Some(settle(i256::from_i128(floor), exact, comparison, range))
}

/// Nanoseconds of the unit of a type.
fn tick(kind: &DataType) -> Option<i128> {
    Some(match kind {
        DataType::Date32 => DAY,
        DataType::Date64 => SECOND / 1_000,
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Timestamp(unit, _) => {
            match unit {
                TimeUnit::Second => SECOND,
                TimeUnit::Millisecond => SECOND / 1_000,
                TimeUnit::Microsecond => SECOND / 1_000_000,
                TimeUnit::Nanosecond => 1,
            }
        }
        _ => return None,
    })
}

/// A text without a time zone is local time in the column's zone; where that time does not exist
/// there or is ambiguous, it is `None`.
fn moment(text: &str, kind: &DataType, tick: i128) -> Option<Moment> {
    match kind {
        DataType::Time32(_) | DataType::Time64(_) => {
            let (short, more) = nanoseconds(text);
            let time = string_to_time_nanoseconds(&short).ok();
            time.map(|nanos| (nanos.into(), more))
                .or_else(|| Some((ticks(text, kind)?.checked_mul(tick)?, false)))
        }
        DataType::Date32 | DataType::Date64 => {
            // A date alone has more forms than one with a time.
            let date = || Some((ticks(text, &DataType::Date32)?.checked_mul(DAY)?, false));
            if text.contains([':', 'T', 't', ' ']) { at(text, "+00:00") } else { date() }
        }
        DataType::Timestamp(_, Some(zone))
            if !["UTC", "Etc/UTC", "Z", "GMT"].contains(&&**zone) =>
        {
            at(text, zone)
                .or_else(|| at(text, "+00:00").filter(|found| at(text, "+01:00") == Some(*found)))
        }
        _ => at(text, "+00:00"),
    }
}

fn at(text: &str, zone: &str) -> Option<Moment> {
    let (short, more) = nanoseconds(text);
    let zone: Tz = zone.parse().ok()?;
    let found = string_to_datetime(&zone, &short).ok()?;
    let nanos = i128::from(found.timestamp()) * SECOND;
    Some((nanos + i128::from(found.timestamp_subsec_nanos()), more))
}

/// The text without digits after those of the nanoseconds, and whether one of those is not zero.
fn nanoseconds(text: &str) -> (String, bool) {
    let Some((before, fraction)) = text.split_once('.') else { return (text.to_owned(), false) };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (kept, cut) = fraction[..digits].split_at(digits.min(PLACES));
    let more = cut.bytes().any(|digit| digit != b'0');
    (format!("{before}.{kept}{}", &fraction[digits..]), more)
}

/// In units of the type, as Arrow reads it.
fn ticks(text: &str, kind: &DataType) -> Option<i128> {
    let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let value = cast_with_options(&array, kind, &options).ok()?;
    let value = match kind {
        DataType::Date32 | DataType::Time32(_) => cast(&value, &DataType::Int32).ok()?,
        _ => value,
    };
    let value = cast(&value, &DataType::Int64).ok()?;
    Some(value.as_primitive::<Int64Type>().value(0).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Key;

    #[test]
    fn times_are_exact_in_every_unit() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let compare = |comparison, value| Some(Test::Compare(comparison, Key::Integer(value)));
        let ms = DataType::Timestamp(TimeUnit::Millisecond, None);
        let fine = "1970-01-01T00:00:00.0005";
        assert_eq!(test(fine, &ms, Equal), Some(Test::Never));
        assert_eq!(test(fine, &ms, NotEqual), Some(Test::Always));
        assert_eq!(test(fine, &ms, Less), compare(LessOrEqual, 0));
        assert_eq!(test(fine, &ms, GreaterOrEqual), compare(Greater, 0));
        assert_eq!(test("1970-01-01T00:00:01.5", &ms, Equal), compare(Equal, 1500));
        assert_eq!(test("1969-12-31T23:59:59.9995", &ms, Less), compare(LessOrEqual, -1));
        // Finer than anything is stored.
        let ns = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let finer = "1970-01-01T00:00:00.0000000011";
        assert_eq!(test(finer, &ns, Equal), Some(Test::Never));
        assert_eq!(test(finer, &ns, Less), compare(LessOrEqual, 1));
        assert_eq!(test("1970-01-01T00:00:00.0000000010", &ns, Equal), compare(Equal, 1));
        // Outside of the type.
        assert_eq!(test("9999-12-31", &ns, Less), Some(Test::Always));
        assert_eq!(test("1600-01-01", &ns, Less), Some(Test::Never));
        // A date is its midnight.
        assert_eq!(test("1970-01-03", &DataType::Date32, Equal), compare(Equal, 2));
        assert_eq!(test("1970-01-03T12:00:00", &DataType::Date32, Equal), Some(Test::Never));
        assert_eq!(test("1970-01-03T12:00:00", &DataType::Date32, Less), compare(LessOrEqual, 2));
        assert_eq!(test("1970-01-03", &DataType::Date64, Equal), compare(Equal, 172_800_000));
        assert_eq!(test("not a date", &DataType::Date32, Equal), None);
        let seconds = DataType::Time32(TimeUnit::Second);
        assert_eq!(test("00:00:01.5", &seconds, Greater), compare(Greater, 1));
        assert_eq!(test("00:00:01.5", &seconds, Equal), Some(Test::Never));
        assert_eq!(test("00:00:02", &seconds, Equal), compare(Equal, 2));
    }

    #[test]
    fn zones_count() {
        let zoned = |zone: &str| DataType::Timestamp(TimeUnit::Millisecond, Some(zone.into()));
        let found = |text: &str, zone: &str| moment(text, &zoned(zone), SECOND / 1_000);
        assert_eq!(found("1970-01-01T00:00:01.5", "UTC"), Some((1_500_000_000, false)));
        assert_eq!(found("1970-01-01T01:00:00", "+01:00"), Some((0, false)));
        assert_eq!(found("1970-01-01T01:00:00+01:00", "Europe/Berlin"), Some((0, false)));
        assert_eq!(found("1970-01-01T01:00:00", "Europe/Berlin"), Some((0, false)));
        assert_eq!(found("2021-03-28T02:30:00", "Europe/Berlin"), None);
        assert_eq!(found("1970-01-01T01:00:00", "Europe/Nowhere"), None);
    }
}
