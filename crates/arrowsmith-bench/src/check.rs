// SPDX-License-Identifier: Apache-2.0
//! Totals that decide whether two engines gave the same result.
//!
//! Engines in other processes and languages cannot pass their columns on, so each reduces them to a
//! few totals per leaf column: the number of non-null values, and the wrapping sum of integers
//! (booleans count as 0 and 1; dates and times as their integers), the sum of floats, or the number
//! of bytes of strings. The conformance suite, not this module, decides which rows are right.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, GenericListArray, OffsetSizeTrait, PrimitiveArray,
    RecordBatch, StringArrayType,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

/// The totals of one conversion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Records converted.
    pub rows: u64,
    /// Totals by path: `user.id`, `tags[]`.
    pub columns: BTreeMap<String, Column>,
}

/// The totals of one leaf column; exactly one of the three sums is present.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Values that are not null, and have no null ancestor.
    pub n: u64,
    /// Sum of integers modulo 2^64, in decimal: JSON numbers are not exact there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<String>,
    /// Sum of floats, in any order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub float: Option<f64>,
    /// Bytes of all strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// The running totals.
#[derive(Debug, Clone, Copy)]
enum Total {
    Sum(u64),
    Float(f64),
    Bytes(u64),
}

/// Sums up batches, one after another.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    rows: u64,
    columns: BTreeMap<String, (u64, Total)>,
}

impl Checker {
    /// Adds a batch. Fails on a type that no benchmark schema uses.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<(), String> {
        self.rows += batch.num_rows() as u64;
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            self.column(field.name().clone(), array.as_ref(), None)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Check {
        let columns = self.columns.into_iter().map(|(path, (n, total))| {
            let mut column = Column { n, ..Column::default() };
            match total {
                Total::Sum(sum) => column.sum = Some(sum.to_string()),
                Total::Float(sum) => column.float = Some(sum),
                Total::Bytes(bytes) => column.bytes = Some(bytes),
            }
            (path, column)
        });
        Check { rows: self.rows, columns: columns.collect() }
    }

    /// `outer` marks the values without a null ancestor.
    fn column(
        &mut self,
        path: String,
        array: &dyn Array,
        outer: Option<&NullBuffer>,
    ) -> Result<(), String> {
        let nulls = NullBuffer::union(array.nulls(), outer);
        let nulls = nulls.as_ref();
        let total = match array.data_type() {
            DataType::Struct(fields) => {
                for (field, child) in fields.iter().zip(array.as_struct().columns()) {
                    self.column(format!("{path}.{}", field.name()), child.as_ref(), nulls)?;
                }
                return Ok(());
            }
            DataType::List(_) => return self.list(&path, array.as_list::<i32>(), nulls),
            DataType::LargeList(_) => return self.list(&path, array.as_list::<i64>(), nulls),
            DataType::FixedSizeList(_, size) => {
                let list = array.as_fixed_size_list();
                let size = size.as_usize();
                let ranges = (0..list.len()).map(|row| (row * size, (row + 1) * size));
                let items = items_nulls(list.values().len(), ranges, nulls);
                return self.column(format!("{path}[]"), list.values().as_ref(), items.as_ref());
            }
            DataType::UInt64 => wrapping_sum::<UInt64Type>(array, nulls, |v| v),
            DataType::Int64 => wrapping_sum::<Int64Type>(array, nulls, i64::cast_unsigned),
            DataType::Int32 => wrapping_sum::<Int32Type>(array, nulls, widen),
            DataType::Date32 => wrapping_sum::<Date32Type>(array, nulls, widen),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                wrapping_sum::<TimestampMicrosecondType>(array, nulls, i64::cast_unsigned)
            }
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>();
                Total::Float(valid(values, nulls).sum())
            }
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>();
                Total::Float(valid(values, nulls).map(f64::from).sum())
            }
            #[expect(clippy::cast_possible_truncation, reason = "sums are modulo 2^64")]
            DataType::Decimal128(..) => {
                wrapping_sum::<Decimal128Type>(array, nulls, |v| v.cast_unsigned() as u64)
            }
            DataType::Boolean => {
                let values = array.as_boolean().values();
                let rows = (0..array.len()).filter(|&row| nulls.is_none_or(|n| n.is_valid(row)));
                Total::Sum(rows.filter(|&row| values.value(row)).count() as u64)
            }
            DataType::Utf8 => string_bytes(array.as_string::<i32>(), nulls),
            DataType::LargeUtf8 => string_bytes(array.as_string::<i64>(), nulls),
            DataType::Dictionary(..) => {
                // Lengths of the values, looked up by key; a null key has none.
                let dictionary = array.as_any_dictionary();
                let lengths = arrow_select::take::take(
                    &byte_lengths(dictionary.values().as_ref())?,
                    dictionary.keys(),
                    None,
                );
                let lengths = lengths.map_err(|error| error.to_string())?;
                let lengths = lengths.as_primitive::<UInt64Type>();
                Total::Bytes(valid(lengths, nulls).sum())
            }
            DataType::Utf8View => string_bytes(array.as_string_view(), nulls),
            other => return Err(format!("{path}: no totals are defined for {other}")),
        };
        let count = (array.len() - nulls.map_or(0, NullBuffer::null_count)) as u64;
        self.columns.entry(path).and_modify(|sum| sum.add(count, total)).or_insert((count, total));
        Ok(())
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        path: &str,
        list: &GenericListArray<O>,
        nulls: Option<&NullBuffer>,
    ) -> Result<(), String> {
        let ranges = list.offsets().windows(2).map(|w| (w[0].as_usize(), w[1].as_usize()));
        let items = items_nulls(list.values().len(), ranges, nulls);
        self.column(format!("{path}[]"), list.values().as_ref(), items.as_ref())
    }
}

fn string_bytes<'a>(values: impl StringArrayType<'a>, nulls: Option<&NullBuffer>) -> Total {
    let rows = (0..values.len()).filter(|&row| nulls.is_none_or(|n| n.is_valid(row)));
    Total::Bytes(rows.map(|row| values.value(row).len() as u64).sum())
}

/// For each string of a dictionary.
fn byte_lengths(values: &dyn Array) -> Result<PrimitiveArray<UInt64Type>, String> {
    let lengths: Vec<u64> = match values.data_type() {
        DataType::Utf8 => {
            values.as_string::<i32>().offsets().lengths().map(|len| len as u64).collect()
        }
        DataType::Utf8View => {
            let lengths = values.as_string_view().lengths();
            lengths.map(u64::from).collect()
        }
        other => return Err(format!("no totals are defined for dictionaries of {other}")),
    };
    Ok(lengths.into())
}

trait Add {
    fn add(&mut self, count: u64, total: Total);
}

impl Add for (u64, Total) {
    fn add(&mut self, count: u64, total: Total) {
        self.0 += count;
        self.1 = match (self.1, total) {
            (Total::Sum(a), Total::Sum(b)) => Total::Sum(a.wrapping_add(b)),
            (Total::Float(a), Total::Float(b)) => Total::Float(a + b),
            (Total::Bytes(a), Total::Bytes(b)) => Total::Bytes(a + b),
            // A column that changes its type between batches: the comparison detects it.
            (_, changed) => changed,
        };
    }
}

fn widen(value: i32) -> u64 {
    i64::from(value).cast_unsigned()
}

fn valid<'a, T: ArrowPrimitiveType>(
    array: &'a PrimitiveArray<T>,
    nulls: Option<&'a NullBuffer>,
) -> impl Iterator<Item = T::Native> + 'a {
    let values = array.values().iter().enumerate();
    values.filter(move |(row, _)| nulls.is_none_or(|n| n.is_valid(*row))).map(|(_, &value)| value)
}

fn wrapping_sum<T: ArrowPrimitiveType>(
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    to_bits: impl Fn(T::Native) -> u64,
) -> Total {
    let values = valid(array.as_primitive::<T>(), nulls);
    Total::Sum(values.fold(0, |sum, value| sum.wrapping_add(to_bits(value))))
}

/// Which items of a list array are in a non-null list; `None` if all are.
fn items_nulls(
    items: usize,
    ranges: impl Iterator<Item = (usize, usize)>,
    nulls: Option<&NullBuffer>,
) -> Option<NullBuffer> {
    let mut counted = BooleanBufferBuilder::new(items);
    for (row, (start, end)) in ranges.enumerate() {
        counted.append_n(start.saturating_sub(counted.len()), false);
        counted.append_n(end.saturating_sub(start), nulls.is_none_or(|n| n.is_valid(row)));
    }
    counted.append_n(items.saturating_sub(counted.len()), false);
    let counted: BooleanBuffer = counted.finish();
    (counted.count_set_bits() < items).then(|| NullBuffer::new(counted))
}

/// Bytes of the values, offsets and validity of a batch.
pub(crate) fn arrow_bytes(batch: &RecordBatch) -> Result<u64, String> {
    let size = |column: &ArrayRef| column.to_data().get_slice_memory_size();
    let sizes: Result<Vec<usize>, _> = batch.columns().iter().map(size).collect();
    Ok(sizes.map_err(|error| error.to_string())?.into_iter().sum::<usize>() as u64)
}

impl Check {
    /// Adds the totals of another part.
    pub(crate) fn add(&mut self, part: &Self) {
        self.rows += part.rows;
        for (path, more) in &part.columns {
            let Some(sum) = self.columns.get_mut(path) else {
                self.columns.insert(path.clone(), more.clone());
                continue;
            };
            sum.n += more.n;
            if let (Some(a), Some(b)) = (&mut sum.sum, &more.sum) {
                let number = |text: &str| text.parse::<u64>().unwrap_or(0);
                *a = number(a).wrapping_add(number(b)).to_string();
            }
            if let (Some(a), Some(b)) = (&mut sum.float, more.float) {
                *a += b;
            }
            if let (Some(a), Some(b)) = (&mut sum.bytes, more.bytes) {
                *a += b;
            }
        }
    }

    /// The first difference, in words; `None` if the results agree.
    ///
    /// Sums of floats may differ by rounding, because engines add in different orders.
    #[must_use]
    pub fn difference(&self, expected: &Self) -> Option<String> {
        if self.rows != expected.rows {
            return Some(format!("{} rows instead of {}", self.rows, expected.rows));
        }
        for (path, wanted) in &expected.columns {
            match self.columns.get(path) {
                None => return Some(format!("{path} is missing")),
                Some(found) if !found.agrees(wanted) => {
                    return Some(format!("{path} is {found}, expected {wanted}"));
                }
                Some(_) => {}
            }
        }
        let extra = self.columns.keys().find(|path| !expected.columns.contains_key(*path));
        extra.map(|path| format!("{path} was not requested"))
    }
}

impl Column {
    fn agrees(&self, other: &Self) -> bool {
        let floats = match (self.float, other.float) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) + 1e-6,
            (None, None) => true,
            _ => false,
        };
        floats && self.n == other.n && self.sum == other.sum && self.bytes == other.bytes
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.n)?;
        match self {
            Self { sum: Some(sum), .. } => write!(f, " with the sum {sum}"),
            Self { float: Some(sum), .. } => write!(f, " with the sum {sum}"),
            Self { bytes: Some(bytes), .. } => write!(f, " of {bytes} bytes"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
