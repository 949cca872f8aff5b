// SPDX-License-Identifier: Apache-2.0
//! The statistics of a file of a table, by which readers skip files: numbers of rows and of nulls,
//! bounds of the values of flat columns. How a format has them is its own business.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema, TimeUnit};

/// Columns with statistics: as many as Delta's own writers have.
const COLUMNS_MAX: usize = 32;

/// A bound of a column.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(crate) enum Bound {
    Integer(i64),
    Float(f64),
    Decimal(i128),
    Text(String),
}

/// What is known of a column.
pub(crate) struct Column {
    pub(crate) field: FieldRef,
    pub(crate) nulls: u64,
    bounds: Option<(Bound, Bound)>,
    /// Whether there is a value that no bound can be stated for.
    is_unbounded: bool,
}

/// The statistics of the rows of a file.
pub(crate) struct Statistics {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<Column>,
}

impl Statistics {
    pub(crate) fn new(schema: &Schema) -> Self {
        let flat = schema.fields().iter().filter(|field| !field.data_type().is_nested());
        let columns = flat.take(COLUMNS_MAX).map(|field| Column {
            field: FieldRef::clone(field),
            nulls: 0,
            bounds: None,
            is_unbounded: false,
        });
        Self { rows: 0, columns: columns.collect() }
    }

    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        self.rows += batch.num_rows() as u64;
        for column in &mut self.columns {
            if let Some(array) = batch.column_by_name(column.field.name()) {
                column.add(array.as_ref());
            }
        }
    }
}

impl Column {
    /// The least and the largest value; `None` if there is none, or it is not known.
    pub(crate) fn bounds(&self) -> Option<&(Bound, Bound)> {
        self.bounds.as_ref().filter(|_| !self.is_unbounded)
    }

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
}

/// The start of a text, of at most `most` characters: no text with this start is before it.
pub(crate) fn lower_text(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A text of at most `most + 1` characters that no text with the start of this one is after; `None`
/// if there is none.
pub(crate) fn upper_text(text: &str, most: usize) -> Option<String> {
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(most).collect();
    match characters.next() {
        None => {}
        // Nothing is greater.
        Some(char::MAX) => return None,
        // Above all texts with this start but those that go on with the largest character.
        Some(_) => start.push(char::MAX),
    }
    Some(start)
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
