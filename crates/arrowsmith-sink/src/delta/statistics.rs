// SPDX-License-Identifier: Apache-2.0
//! The statistics of a file in the log, by which readers skip files: numbers of rows and of nulls,
//! bounds of the values of flat columns.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Schema, TimeUnit};
use serde_json::{Map, Value, json};

/// Columns with statistics: as many as Delta's own writers have.
const COLUMNS_MAX: usize = 32;

/// Characters of a text that are kept.
const TEXT_MAX: usize = 32;

/// Days from 0001-01-01 to 9999-12-31: readers know no other dates.
const DAYS: RangeInclusive<i64> = -719_162..=2_932_896;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Digits that a double has exactly.
const DIGITS_MAX: u8 = 15;

/// A bound of a column.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Bound {
    Integer(i64),
    Float(f64),
    Decimal(i128),
    Text(String),
}

struct Column {
    name: String,
    data_type: DataType,
    nulls: u64,
    bounds: Option<(Bound, Bound)>,
    /// Whether there is a value that no bound can be stated for.
    is_unbounded: bool,
}

/// The statistics of the rows of a file.
pub(super) struct Statistics {
    rows: u64,
    columns: Vec<Column>,
}

impl Statistics {
    pub(super) fn new(schema: &Schema) -> Self {
        let flat = schema.fields().iter().filter(|field| !field.data_type().is_nested());
        let columns = flat.take(COLUMNS_MAX).map(|field| Column {
            name: field.name().clone(),
            data_type: field.data_type().clone(),
            nulls: 0,
            bounds: None,
            is_unbounded: false,
        });
        Self { rows: 0, columns: columns.collect() }
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) {
        self.rows += batch.num_rows() as u64;
        for column in &mut self.columns {
            if let Some(array) = batch.column_by_name(&column.name) {
                column.add(array.as_ref());
            }
        }
    }

    /// As the log has them.
    pub(super) fn text(&self) -> String {
        let (mut least, mut largest, mut nulls) = (Map::new(), Map::new(), Map::new());
        for column in &self.columns {
            nulls.insert(column.name.clone(), json!(column.nulls));
            let Some((low, high)) = column.bounds.as_ref().filter(|_| !column.is_unbounded) else {
                continue;
            };
            if let (Some(low), Some(high)) = (column.lower(low), column.upper(high)) {
                least.insert(column.name.clone(), low);
                largest.insert(column.name.clone(), high);
            }
        }
        json!({
            "numRecords": self.rows, "minValues": least, "maxValues": largest, "nullCount": nulls,
        })
        .to_string()
    }
}

impl Column {
    fn add(&mut self, array: &dyn Array) {
        self.nulls += array.logical_null_count() as u64;
        let Some((low, high)) = bounds(array) else { return };
        // What cannot be ordered is a NaN.
        let is_ordered = low.partial_cmp(&high).is_some();
        let Some((least, largest)) = &mut self.bounds else {
            self.is_unbounded |= !is_ordered;
            self.bounds = Some((low, high));
            return;
        };
        match (low.partial_cmp(least), high.partial_cmp(largest)) {
            (Some(of_low), Some(of_high)) if is_ordered => {
                if of_low == Ordering::Less {
                    *least = low;
                }
                if of_high == Ordering::Greater {
                    *largest = high;
                }
            }
            _ => self.is_unbounded = true,
        }
    }

    fn lower(&self, bound: &Bound) -> Option<Value> {
        match bound {
            Bound::Text(text) => Some(json!(text.chars().take(TEXT_MAX).collect::<String>())),
            other => self.value(other, i64::div_euclid),
        }
    }

    fn upper(&self, bound: &Bound) -> Option<Value> {
        let Bound::Text(text) = bound else {
            return self.value(bound, |time, unit| -(-time).div_euclid(unit));
        };
        let mut characters = text.chars();
        let mut start: String = characters.by_ref().take(TEXT_MAX).collect();
        match characters.next() {
            None => {}
            // Nothing is greater.
            Some(char::MAX) => return None,
            // Above all texts with this start but those that go on with the largest character.
            Some(_) => start.push(char::MAX),
        }
        Some(json!(start))
    }

    /// A number, a date or a time, which the log has in milliseconds.
    fn value(&self, bound: &Bound, divide: impl Fn(i64, i64) -> i64) -> Option<Value> {
        match (bound, &self.data_type) {
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
}

/// The least and the largest value of an array; `None` if there is none, or the type has no order
/// that is stated.
fn bounds(array: &dyn Array) -> Option<(Bound, Bound)> {
    macro_rules! of {
        ($type:ty, $bound:ident, $order:expr) => {{
            let values = array.as_primitive::<$type>().iter().flatten();
            let (least, largest) = ends(values, $order)?;
            (Bound::$bound(least.into()), Bound::$bound(largest.into()))
        }};
    }
    Some(match array.data_type() {
        DataType::Int8 => of!(Int8Type, Integer, Ord::cmp),
        DataType::Int16 => of!(Int16Type, Integer, Ord::cmp),
        DataType::Int32 => of!(Int32Type, Integer, Ord::cmp),
        DataType::Int64 => of!(Int64Type, Integer, Ord::cmp),
        DataType::Date32 => of!(Date32Type, Integer, Ord::cmp),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of!(TimestampMicrosecondType, Integer, Ord::cmp)
        }
        // A NaN is beyond all other values in this order, so that it is seen in the bounds.
        DataType::Float32 => of!(Float32Type, Float, f32::total_cmp),
        DataType::Float64 => of!(Float64Type, Float, f64::total_cmp),
        DataType::Decimal128(..) => of!(Decimal128Type, Decimal, Ord::cmp),
        DataType::Utf8 => texts(array.as_string::<i32>().iter())?,
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter())?,
        DataType::Utf8View => texts(array.as_string_view().iter())?,
        _ => return None,
    })
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Option<(Bound, Bound)> {
    let (least, largest) = ends(values.flatten(), Ord::cmp)?;
    Some((Bound::Text(least.to_owned()), Bound::Text(largest.to_owned())))
}

/// The first and the last of values in an order. arrow-arith has this too, for another half minute
/// of every build.
fn ends<T: Copy>(
    mut values: impl Iterator<Item = T>,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<(T, T)> {
    let first = values.next()?;
    Some(values.fold((first, first), |(least, largest), value| {
        let is_less = order(&value, &least) == Ordering::Less;
        let is_greater = order(&value, &largest) == Ordering::Greater;
        (if is_less { value } else { least }, if is_greater { value } else { largest })
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
        StringArray, TimestampMicrosecondArray,
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
        serde_json::from_str(&statistics.text()).unwrap()
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
