// SPDX-License-Identifier: Apache-2.0
//! The statistics of a file as the log has them.

use std::ops::RangeInclusive;

use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use serde_json::{Map, Value, json};

use crate::table::{Bound, Column, Statistics, lower_text, upper_text};

/// Characters of a text that are kept.
const TEXT_MAX: usize = 32;

/// Days from 0001-01-01 to 9999-12-31: readers know no other dates.
const DAYS: RangeInclusive<i64> = -719_162..=2_932_896;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Digits that a double has exactly.
const DIGITS_MAX: u8 = 15;

/// As the log has them.
pub(super) fn text(statistics: &Statistics) -> String {
    let (mut least, mut largest, mut nulls) = (Map::new(), Map::new(), Map::new());
    for column in &statistics.columns {
        let name = column.field.name();
        nulls.insert(name.clone(), json!(column.nulls));
        let Some((low, high)) = column.bounds() else { continue };
        if let (Some(low), Some(high)) = (lower(column, low), upper(column, high)) {
            least.insert(name.clone(), low);
            largest.insert(name.clone(), high);
        }
    }
    json!({
        "numRecords": statistics.rows, "minValues": least, "maxValues": largest,
        "nullCount": nulls,
    })
    .to_string()
}

fn lower(column: &Column, bound: &Bound) -> Option<Value> {
    match bound {
        Bound::Text(text) => Some(json!(lower_text(text, TEXT_MAX))),
        other => value(column, other, i64::div_euclid),
    }
}

fn upper(column: &Column, bound: &Bound) -> Option<Value> {
    match bound {
        Bound::Text(text) => upper_text(text, TEXT_MAX).map(Value::from),
        other => value(column, other, |time, unit| -(-time).div_euclid(unit)),
    }
}

/// A number, a date or a time, which the log has in milliseconds.
fn value(column: &Column, bound: &Bound, divide: impl Fn(i64, i64) -> i64) -> Option<Value> {
    match (bound, column.field.data_type()) {
        (Bound::Integer(day), DataType::Date32) if DAYS.contains(day) => {
            let array = arrow_array::Date32Array::from(vec![i32::try_from(*day).ok()?]);
            array_value_to_string(&array, 0).ok().map(Value::from)
        }
        (Bound::Integer(time), DataType::Timestamp(_, zone)) => {
            let day = time.div_euclid(1000 * DAY);
            DAYS.contains(&day).then_some(())?;
            // The last millisecond of the last year is one of readers who round up themselves.
            let time = divide(*time, 1000).min((DAYS.end() + 1) * DAY - 1);
            let array = arrow_array::TimestampMillisecondArray::from(vec![time]);
            let text = array_value_to_string(&array, 0).ok()?;
            Some(json!(format!("{text}{}", if zone.is_some() { "Z" } else { "" })))
        }
        (Bound::Decimal(_), DataType::Decimal128(digits, _)) if *digits > DIGITS_MAX => None,
        (Bound::Decimal(value), DataType::Decimal128(digits, scale)) => {
            let array = arrow_array::Decimal128Array::from(vec![*value]);
            let array = array.with_precision_and_scale(*digits, *scale).ok()?;
            let value: f64 = array_value_to_string(&array, 0).ok()?.parse().ok()?;
            Some(json!(value))
        }
        (Bound::Integer(_), DataType::Date32) => None,
        (Bound::Integer(value), _) => Some(json!(value)),
        (Bound::Float(value), _) if value.is_finite() => Some(json!(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
        RecordBatch, StringArray, TimestampMicrosecondArray,
    };

    use super::*;

    fn found(columns: Vec<(&str, ArrayRef)>) -> Value {
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut statistics = Statistics::new(&batch.schema());
        // In two pieces, the first without rows.
        for (start, rows) in [(0, 0), (0, 1), (1, batch.num_rows() - 1)] {
            statistics.add(&batch.slice(start, rows));
        }
        serde_json::from_str(&text(&statistics)).unwrap()
    }

    #[test]
    fn bounds_hold_for_all_values() {
        let long = "x".repeat(40);
        let last = format!("{}{}", "y".repeat(32), char::MAX);
        let times = TimestampMicrosecondArray::from(vec![-1, 1_500, 0]).with_timezone("UTC");
        let price = Decimal128Array::from(vec![150, -5, 0]).with_precision_and_scale(10, 2);
        let wide = Decimal128Array::from(vec![150, -5, 0]).with_precision_and_scale(20, 2);
        let found = found(vec![
            ("n", Arc::new(Int64Array::from(vec![Some(3), None, Some(-7)]))),
            ("f", Arc::new(Float64Array::from(vec![0.5, f64::NAN, 2.0]))),
            ("g", Arc::new(Float64Array::from(vec![0.5, -1.0, 2.0]))),
            ("t", Arc::new(StringArray::from(vec![Some("b"), Some(long.as_str()), None]))),
            ("u", Arc::new(StringArray::from(vec!["a", last.as_str(), "b"]))),
            ("d", Arc::new(Date32Array::from(vec![19_787, 0, 1]))),
            ("at", Arc::new(times)),
            ("price", Arc::new(price.unwrap())),
            ("wide", Arc::new(wide.unwrap())),
            ("ok", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("none", Arc::new(Int64Array::from(vec![None, None, None]))),
        ]);
        assert_eq!(found["numRecords"], 3);
        let least = json!({
            "n": -7, "g": -1.0, "t": "b", "d": "1970-01-01",
            "at": "1969-12-31T23:59:59.999Z", "price": -0.05,
        });
        let above = format!("{}{}", "x".repeat(32), char::MAX);
        let largest = json!({
            "n": 3, "g": 2.0, "t": above, "d": "2024-03-05",
            "at": "1970-01-01T00:00:00.002Z", "price": 1.5,
        });
        assert_eq!(found["minValues"], least);
        assert_eq!(found["maxValues"], largest);
        let nulls = json!({
            "n": 1, "f": 0, "g": 0, "t": 1, "u": 0, "d": 0, "at": 0, "price": 0, "wide": 0,
            "ok": 0, "none": 3,
        });
        assert_eq!(found["nullCount"], nulls);
    }

    /// Readers of the log know the years 1 to 9999.
    #[test]
    fn bounds_are_dates_that_readers_know() {
        let end = 253_402_300_799_999_999;
        let times = |values: [i64; 2]| Arc::new(TimestampMicrosecondArray::from(values.to_vec()));
        let days = |values: [i32; 2]| Arc::new(Date32Array::from(values.to_vec()));
        let found = found(vec![
            ("end", times([0, end])),
            ("after", times([0, end + 1])),
            ("before", times([i64::MIN, 0])),
            ("last", days([-719_162, 2_932_896])),
            ("late", days([0, 2_932_897])),
        ]);
        let largest = json!({"end": "9999-12-31T23:59:59.999", "last": "9999-12-31"});
        assert_eq!(found["maxValues"], largest);
        let least = json!({"end": "1970-01-01T00:00:00", "last": "0001-01-01"});
        assert_eq!(found["minValues"], least);
    }
}
