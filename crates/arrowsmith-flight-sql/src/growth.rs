// SPDX-License-Identifier: Apache-2.0
//! Upper bound of the size of a scalar function's result, computed before it runs.
//!
//! Every bound is an upper bound, and saturates. A function that is not named here returns at most
//! a constant multiple of its arguments.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion::arrow::compute::cast;
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;

/// Overhead of a value: offsets, views, lengths.
const ROW_BYTES: u64 = 32;

/// Maximum bytes of a character; also an upper bound of the growth of a text by a change of case.
const CHAR_BYTES: u64 = 4;

/// Approximate maximum size of a number, a date or a boolean as text.
const TEXT_BYTES: u64 = 48;

/// The bytes of a value in a row, counted as text is: without offsets.
enum Lengths {
    Same(u64),
    Each(Vec<u64>),
}

impl Lengths {
    fn of(value: &ColumnarValue) -> Self {
        match value {
            ColumnarValue::Scalar(value) => {
                let bytes = value.to_array().map_or(u64::MAX, |array| payload(&array));
                Self::Same(bytes)
            }
            ColumnarValue::Array(array) => match lengths(array) {
                Some(lengths) => Self::Each(lengths),
                None => Self::Same(payload(array)),
            },
        }
    }

    fn at(&self, row: usize) -> u64 {
        match self {
            Self::Same(bytes) => *bytes,
            Self::Each(lengths) => lengths.get(row).copied().unwrap_or(0),
        }
    }

    fn max(&self) -> u64 {
        match self {
            Self::Same(bytes) => *bytes,
            Self::Each(lengths) => lengths.iter().copied().max().unwrap_or(0),
        }
    }
}

/// Bytes of each text; `None` for other types.
pub(crate) fn lengths(array: &ArrayRef) -> Option<Vec<u64>> {
    let differences = |offsets: &[i64]| {
        offsets
            .windows(2)
            .map(|pair| pair.iter().rev().fold(0, |a, b| *b - a).unsigned_abs())
            .collect()
    };
    Some(match array.data_type() {
        DataType::Utf8 => {
            let offsets: Vec<i64> =
                array.as_string::<i32>().offsets().iter().map(|at| i64::from(*at)).collect();
            differences(&offsets)
        }
        DataType::LargeUtf8 => differences(array.as_string::<i64>().offsets()),
        DataType::Binary => {
            let offsets: Vec<i64> =
                array.as_binary::<i32>().offsets().iter().map(|at| i64::from(*at)).collect();
            differences(&offsets)
        }
        DataType::LargeBinary => differences(array.as_binary::<i64>().offsets()),
        DataType::Utf8View => array.as_string_view().lengths().map(u64::from).collect(),
        DataType::BinaryView => array.as_binary_view().lengths().map(u64::from).collect(),
        _ => return None,
    })
}

/// Bytes of all values of an array; values that views and dictionaries repeat are counted each
/// time.
pub(crate) fn payload(array: &ArrayRef) -> u64 {
    if let Some(lengths) = lengths(array) {
        return lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length));
    }
    match array.data_type() {
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
            let values = match array.as_any_dictionary_opt() {
                Some(dictionary) => dictionary.values().clone(),
                None => return array.get_array_memory_size() as u64 * array.len().max(1) as u64,
            };
            let longest = lengths(&values)
                .map_or_else(|| payload(&values), |all| all.into_iter().max().unwrap_or(0));
            longest.saturating_mul(array.len() as u64)
        }
        DataType::ListView(_) | DataType::LargeListView(_) => {
            (array.get_array_memory_size() as u64).saturating_mul(array.len() as u64)
        }
        _ => array.to_data().get_slice_memory_size().map_or(u64::MAX, |bytes| bytes as u64),
    }
}

/// Values at the bottom of an array: rows, elements of lists, elements of those.
pub(crate) fn leaves(array: &ArrayRef) -> u64 {
    let inside = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (first, last) = ends(list.offsets());
            leaves(&list.values().slice(first, last - first))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (first, last) = ends(list.offsets());
            leaves(&list.values().slice(first, last - first))
        }
        DataType::FixedSizeList(..) => leaves(array.as_fixed_size_list().values()),
        DataType::Map(..) => 2 * array.as_map().entries().len() as u64,
        _ => 0,
    };
    inside.saturating_add(array.len() as u64)
}

/// The first and the last offset.
pub(crate) fn ends<O: arrow_array::OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let first = offsets.first().map_or(0, |at| at.as_usize());
    let last = offsets.last().map_or(first, |at| at.as_usize());
    (first, last.max(first))
}

/// The arguments of a call.
pub(crate) struct Call<'a> {
    pub(crate) args: &'a [ColumnarValue],
    pub(crate) rows: usize,
}

impl Call<'_> {
    fn lengths(&self, arg: usize) -> Lengths {
        self.args.get(arg).map_or(Lengths::Same(0), Lengths::of)
    }

    /// A number in each row; nothing below zero.
    fn counts(&self, arg: usize) -> Vec<u64> {
        self.integers(arg).into_iter().map(|n| u64::try_from(n.max(0)).unwrap_or(0)).collect()
    }

    fn integers(&self, arg: usize) -> Vec<i128> {
        let unknown = || vec![i128::from(u64::MAX); self.rows.max(1)];
        let Some(value) = self.args.get(arg) else { return Vec::new() };
        let (array, scalar) = match value {
            ColumnarValue::Array(array) => (Ok(array.clone()), false),
            ColumnarValue::Scalar(value) => (value.to_array(), true),
        };
        let Some(array) = array.ok().and_then(|array| cast(&array, &DataType::Int64).ok()) else {
            return unknown();
        };
        let numbers = array.as_primitive::<Int64Type>();
        let at = |row: usize| if numbers.is_null(row) { 0 } else { i128::from(numbers.value(row)) };
        match scalar {
            true if numbers.is_empty() => unknown(),
            true => vec![at(0); self.rows.max(1)],
            false => (0..numbers.len()).map(at).collect(),
        }
    }

    fn rows(&self) -> std::ops::Range<usize> {
        0..self.rows.max(1)
    }

    fn sum(&self, row: impl Fn(usize) -> u64) -> u64 {
        self.rows().fold(0, |sum: u64, at| sum.saturating_add(row(at)).saturating_add(ROW_BYTES))
    }

    /// Bytes of all arguments, those that are one value counted in every row.
    fn all(&self) -> u64 {
        let rows = self.rows.max(1) as u64;
        let bytes = self.args.iter().map(|arg| match arg {
            ColumnarValue::Array(array) => payload(array),
            ColumnarValue::Scalar(value) => {
                value.to_array().map_or(u64::MAX, |array| payload(&array)).saturating_mul(rows)
            }
        });
        bytes.fold(0, u64::saturating_add)
    }

    fn leaves(&self) -> u64 {
        let rows = self.rows.max(1) as u64;
        let count = self.args.iter().map(|arg| match arg {
            ColumnarValue::Array(array) => leaves(array),
            ColumnarValue::Scalar(value) => {
                value.to_array().map_or(u64::MAX, |array| leaves(&array)).saturating_mul(rows)
            }
        });
        count.fold(0, u64::saturating_add)
    }

    fn greatest(&self, arg: usize) -> u64 {
        self.counts(arg).into_iter().max().unwrap_or(0)
    }

    /// Elements of `range(start, stop, step)`, in all rows.
    fn ranges(&self) -> u64 {
        let (start, stop, step) = match self.args.len() {
            0 => return 0,
            1 => (Vec::new(), self.integers(0), Vec::new()),
            2 => (self.integers(0), self.integers(1), Vec::new()),
            _ => (self.integers(0), self.integers(1), self.steps(2)),
        };
        let at = |of: &[i128], row: usize, default| of.get(row).copied().unwrap_or(default);
        self.sum(|row| {
            let distance = at(&stop, row, 0).saturating_sub(at(&start, row, 0)).unsigned_abs();
            let step = at(&step, row, 1).unsigned_abs().max(1);
            u64::try_from(distance / step).unwrap_or(u64::MAX).saturating_add(1)
        })
    }

    /// Steps of ranges: numbers; for times the shortest that an interval can be, in units of a day
    /// for dates and of nanoseconds otherwise.
    fn steps(&self, arg: usize) -> Vec<i128> {
        let Some(value) = self.args.get(arg) else { return Vec::new() };
        if !matches!(value.data_type(), DataType::Interval(_)) {
            return self.integers(arg);
        }
        let Ok(array) = value.to_array(self.rows.max(1)) else { return Vec::new() };
        let target = DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano);
        let Ok(array) = cast(&array, &target) else { return Vec::new() };
        let days =
            self.args.first().is_some_and(|first| matches!(first.data_type(), DataType::Date32));
        let intervals = array.as_primitive::<arrow_array::types::IntervalMonthDayNanoType>();
        let whole = |at: usize| {
            let interval = intervals.value(at);
            let whole = i128::from(interval.months) * 28 + i128::from(interval.days);
            match days {
                true => whole,
                false => whole * 86_400_000_000_000 + i128::from(interval.nanoseconds),
            }
        };
        (0..intervals.len()).map(whole).collect()
    }
}

/// Upper bound of the bytes of a function's result.
pub(crate) fn bytes(name: &str, call: &Call<'_>) -> Result<u64> {
    let rows = call.rows.max(1) as u64;
    let plain = || call.all().saturating_mul(CHAR_BYTES).saturating_add(rows * ROW_BYTES);
    Ok(match name {
        "repeat" => {
            let (texts, counts) = (call.lengths(0), call.counts(1));
            call.sum(|row| texts.at(row).saturating_mul(counts.get(row).copied().unwrap_or(0)))
        }
        "lpad" | "rpad" => {
            let (texts, counts) = (call.lengths(0), call.counts(1));
            call.sum(|row| {
                let padded = counts.get(row).copied().unwrap_or(0).saturating_mul(CHAR_BYTES);
                texts.at(row).max(padded)
            })
        }
        "replace" => {
            let (texts, from, to) = (call.lengths(0), call.lengths(1), call.lengths(2));
            call.sum(|row| {
                let text = texts.at(row);
                let times = text / from.at(row).max(1) + 1;
                text.saturating_add(times.saturating_mul(to.at(row)))
            })
        }
        "regexp_replace" => {
            let (texts, by) = (call.lengths(0), call.lengths(2));
            // Every reference to a group can be as long as all of the text.
            call.sum(|row| {
                let once = by.at(row).saturating_mul(2).saturating_add(1);
                texts.at(row).saturating_add(1).saturating_mul(once)
            })
        }
        "regexp_match" => {
            let (texts, patterns) = (call.lengths(0), call.lengths(1));
            call.sum(|row| texts.at(row).saturating_mul(patterns.at(row) / 2 + 1))
        }
        "concat_ws" => {
            // The separator stands between any two of the others.
            let (between, others) = (call.lengths(0), call.args.len().saturating_sub(2) as u64);
            plain().saturating_add(call.sum(|row| between.at(row).saturating_mul(others)))
        }
        "to_char" | "date_format" => {
            let formats = call.lengths(1);
            call.sum(|row| formats.at(row).saturating_mul(TEXT_BYTES).saturating_add(TEXT_BYTES))
        }
        "array_repeat" | "list_repeat" => {
            let one = call.args.get(..1).unwrap_or_default();
            let one = Call { args: one, rows: call.rows }.all();
            one.saturating_add(rows * ROW_BYTES).saturating_mul(call.greatest(1).max(1))
        }
        "array_resize" | "list_resize" => {
            let filler = call.lengths(2).max().saturating_add(ROW_BYTES);
            let added = call.greatest(1).saturating_mul(filler).saturating_mul(rows);
            plain().saturating_add(added)
        }
        "range" | "generate_series" => call.ranges().saturating_mul(16),
        "array_to_string" | "list_to_string" | "array_join" | "list_join" => {
            let between = call.lengths(1).max().saturating_add(call.lengths(2).max());
            let each = between.saturating_add(TEXT_BYTES);
            plain().saturating_add(call.leaves().saturating_mul(each))
        }
        "string_to_array" | "string_to_list" => plain().saturating_mul(ROW_BYTES),
        "arrays_zip" | "list_zip" => {
            let each = (call.args.len() as u64).saturating_mul(ROW_BYTES);
            let widest = call.all();
            call.leaves().saturating_mul(each).saturating_add(widest)
        }
        name if name.starts_with("array_") || name.starts_with("list_") => {
            let elements = call.leaves();
            let mut all = plain().saturating_add(elements.saturating_mul(ROW_BYTES));
            if name.contains("replace") {
                let by = call.lengths(2).max().saturating_add(ROW_BYTES);
                all = all.saturating_add(elements.saturating_mul(by));
            }
            all
        }
        _ => plain(),
    })
}

/// Upper bound of the steps of a function whose time is not linear in its arguments.
pub(crate) fn steps(name: &str, call: &Call<'_>) -> u64 {
    match name {
        "levenshtein" => {
            let (a, b) = (call.lengths(0), call.lengths(1));
            call.rows()
                .fold(0, |sum: u64, row| sum.saturating_add(a.at(row).saturating_mul(b.at(row))))
        }
        "array_has_any" | "list_has_any" | "array_has_all" | "list_has_all" | "array_except"
        | "list_except" | "array_replace_all" | "array_position" => call.leaves(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};
    use datafusion::scalar::ScalarValue;

    use super::*;

    fn text(value: &str) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(value))
    }

    fn number(value: i64) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::Int64(Some(value)))
    }

    fn of(name: &str, args: &[ColumnarValue], rows: usize) -> u64 {
        bytes(name, &Call { args, rows }).unwrap()
    }

    #[test]
    fn bounds_are_from_above_and_close() {
        let texts = ColumnarValue::Array(Arc::new(StringArray::from(vec!["ab", "cde", ""])));
        let counts =
            ColumnarValue::Array(Arc::new(Int64Array::from(vec![Some(10), None, Some(5)])));
        assert_eq!(of("repeat", &[texts.clone(), counts], 3), 20 + 3 * ROW_BYTES);
        assert_eq!(of("repeat", &[text("x"), number(i64::MAX)], 1), i64::MAX as u64 + ROW_BYTES);
        assert_eq!(of("repeat", &[text("xx"), number(i64::MAX)], 9), u64::MAX);
        assert_eq!(of("repeat", &[text("x"), number(-5)], 1), ROW_BYTES);
        assert_eq!(of("lpad", &[text("x"), number(1000)], 2), 2 * (4000 + ROW_BYTES));
        assert!(of("replace", &[text("aaaa"), text("a"), text("bbbbb")], 1) >= 20);
        assert!(of("replace", &[text("aaaa"), text(""), text("bbbbb")], 1) >= 29);
        assert!(of("concat", &[texts.clone(), text("0123456789")], 3) >= 35);
        let parts = [text("0123456789"), texts.clone(), text("a"), text("b"), text("c")];
        assert!(of("concat_ws", &parts, 3) >= 90 + 5 + 9);
        assert!(of("range", &[number(0), number(1_000_000)], 1) >= 8_000_000);
        assert!(of("range", &[number(0), number(1_000_000), number(1000)], 1) < 50_000);
        assert!(of("generate_series", &[number(i64::MIN), number(i64::MAX)], 1) > 1 << 60);
        assert!(of("array_repeat", &[text("abc"), number(1 << 40)], 1) > 1 << 40);
        assert!(of("array_resize", &[text("abc"), number(1 << 40), text("x")], 1) > 1 << 40);
        assert_eq!(steps("levenshtein", &Call { args: &[texts, text("xx")], rows: 3 }), 10);
    }
}
