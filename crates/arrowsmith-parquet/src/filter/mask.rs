// SPDX-License-Identifier: Apache-2.0
//! Which rows of a batch match: exact, column by column.
//!
//! The result is two bitmaps: rows for which the condition is true, and rows for which it is false;
//! for the others it is null.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ByteArrayType, ByteViewType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, GenericByteArray, GenericByteViewArray, RecordBatch,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};
use arrow_schema::DataType;
use arrowsmith_core::{Error, Result};
use half::f16;

use super::{Key, Node, Target, Test};
use crate::predicate::Comparison;

/// Rows for which a condition is true, and for which it is false.
struct Truth {
    yes: BooleanBuffer,
    no: BooleanBuffer,
}

/// The rows for which the condition is true.
pub(super) fn rows(node: &Node, batch: &RecordBatch) -> Result<BooleanBuffer> {
    Ok(truth(node, batch)?.yes)
}

fn truth(node: &Node, batch: &RecordBatch) -> Result<Truth> {
    let rows = batch.num_rows();
    let (set, unset) = (BooleanBuffer::new_set(rows), BooleanBuffer::new_unset(rows));
    match node {
        Node::Test(target, test) => test_column(target, test, batch),
        Node::And(parts) => parts.iter().try_fold(Truth { yes: set, no: unset }, |all, part| {
            let one = truth(part, batch)?;
            Ok(Truth { yes: &all.yes & &one.yes, no: &all.no | &one.no })
        }),
        Node::Or(parts) => parts.iter().try_fold(Truth { yes: unset, no: set }, |all, part| {
            let one = truth(part, batch)?;
            Ok(Truth { yes: &all.yes | &one.yes, no: &all.no & &one.no })
        }),
        Node::Not(part) => {
            let Truth { yes, no } = truth(part, batch)?;
            Ok(Truth { yes: no, no: yes })
        }
    }
}

fn test_column(target: &Target, test: &Test, batch: &RecordBatch) -> Result<Truth> {
    let (array, nulls) = column(target, batch)?;
    let rows = array.len();
    let valid = match &nulls {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(rows),
    };
    let holds = match test {
        Test::IsNull => return Ok(Truth { yes: !&valid, no: valid }),
        Test::Always => BooleanBuffer::new_set(rows),
        Test::Never => BooleanBuffer::new_unset(rows),
        Test::Compare(comparison, key) => compare(&array, *comparison, key).ok_or_else(foreign)?,
    };
    Ok(Truth { yes: &holds & &valid, no: &!&holds & &valid })
}

fn foreign() -> Error {
    Error::Config("a batch that is not of the condition's plan".to_owned())
}

/// A column and its nulls, those of the structures around it included.
fn column(target: &Target, batch: &RecordBatch) -> Result<(ArrayRef, Option<NullBuffer>)> {
    let mut places = target.places.iter();
    let first = places.next().and_then(|place| batch.columns().get(*place));
    let mut array = first.ok_or_else(foreign)?.clone();
    let mut nulls = array.logical_nulls();
    for place in places {
        let structure = array.as_struct_opt().ok_or_else(foreign)?;
        let inside = structure.columns().get(*place).ok_or_else(foreign)?.clone();
        nulls = NullBuffer::union(nulls.as_ref(), inside.logical_nulls().as_ref());
        array = inside;
    }
    Ok((array, nulls))
}

/// Compares every value, those of null slots too; `None` if the key is not of the array's type.
fn compare(array: &ArrayRef, comparison: Comparison, key: &Key) -> Option<BooleanBuffer> {
    macro_rules! integers {
        ($($type:ty),* $(,)?) => {
            $(if let (Some(array), Key::Integer(key)) = (array.as_primitive_opt::<$type>(), key) {
                let key = <$type as ArrowPrimitiveType>::Native::try_from(*key).ok()?;
                return Some(numbers(array.values(), comparison, key));
            })*
        };
    }
    if let DataType::Dictionary(_, values) = array.data_type() {
        // Each entry once: rows of a dictionary may be far larger together than it is.
        let dictionary = array.as_any_dictionary_opt()?;
        debug_assert_eq!(dictionary.values().data_type(), &**values);
        let entries = compare(dictionary.values(), comparison, key)?;
        if entries.is_empty() {
            return Some(BooleanBuffer::new_unset(array.len()));
        }
        let keys = dictionary.normalized_keys();
        return Some(BooleanBuffer::collect_bool(keys.len(), |row| entries.value(keys[row])));
    }
    integers!(
        Int8Type,
        Int16Type,
        Int32Type,
        Int64Type,
        UInt8Type,
        UInt16Type,
        UInt32Type,
        UInt64Type,
        Date32Type,
        Date64Type,
        Time32SecondType,
        Time32MillisecondType,
        Time64MicrosecondType,
        Time64NanosecondType,
        TimestampSecondType,
        TimestampMillisecondType,
        TimestampMicrosecondType,
        TimestampNanosecondType,
        DurationSecondType,
        DurationMillisecondType,
        DurationMicrosecondType,
        DurationNanosecondType,
        Decimal32Type,
        Decimal64Type,
        Decimal128Type,
    );
    match (array.data_type(), key) {
        (DataType::Decimal256(..), Key::Integer(key)) => {
            let values = array.as_primitive::<Decimal256Type>().values();
            Some(numbers(values, comparison, i256::from_i128(*key)))
        }
        (DataType::Decimal256(..), Key::Wide(key)) => {
            Some(numbers(array.as_primitive::<Decimal256Type>().values(), comparison, *key))
        }
        (DataType::Float64, Key::Float(key)) => {
            Some(numbers(array.as_primitive::<Float64Type>().values(), comparison, *key))
        }
        (DataType::Float32, Key::Float(key)) => {
            let values = array.as_primitive::<Float32Type>().values();
            Some(select(values.len(), comparison, |row| f64::from(values[row]), key))
        }
        (DataType::Float16, Key::Float(key)) => {
            let values = array.as_primitive::<Float16Type>().values();
            let key = f16::from_f64(*key);
            Some(numbers(values, comparison, key))
        }
        (DataType::Boolean, Key::Boolean(key)) => {
            let values = array.as_boolean().values();
            Some(select(values.len(), comparison, |row| values.value(row), key))
        }
        (DataType::FixedSizeBinary(_), Key::Bytes(key)) => {
            let values = array.as_fixed_size_binary();
            Some(select(values.len(), comparison, |row| values.value(row), &key.as_slice()))
        }
        (DataType::Utf8, Key::Bytes(key)) => Some(bytes(array.as_string::<i32>(), comparison, key)),
        (DataType::LargeUtf8, Key::Bytes(key)) => {
            Some(bytes(array.as_string::<i64>(), comparison, key))
        }
        (DataType::Binary, Key::Bytes(key)) => {
            Some(bytes(array.as_binary::<i32>(), comparison, key))
        }
        (DataType::LargeBinary, Key::Bytes(key)) => {
            Some(bytes(array.as_binary::<i64>(), comparison, key))
        }
        (DataType::Utf8View, Key::Bytes(key)) => {
            Some(views(array.as_string_view(), comparison, key))
        }
        (DataType::BinaryView, Key::Bytes(key)) => {
            Some(views(array.as_binary_view(), comparison, key))
        }
        _ => None,
    }
}

fn numbers<T: PartialOrd + Copy>(values: &[T], comparison: Comparison, key: T) -> BooleanBuffer {
    select(values.len(), comparison, |row| values[row], &key)
}

fn bytes<T: ByteArrayType>(
    values: &GenericByteArray<T>,
    comparison: Comparison,
    key: &[u8],
) -> BooleanBuffer {
    select(values.len(), comparison, |row| AsRef::<[u8]>::as_ref(values.value(row)), &key)
}

fn views<T: ByteViewType>(
    values: &GenericByteViewArray<T>,
    comparison: Comparison,
    key: &[u8],
) -> BooleanBuffer {
    select(values.len(), comparison, |row| AsRef::<[u8]>::as_ref(values.value(row)), &key)
}

/// One loop for each comparison.
fn select<T: PartialOrd>(
    rows: usize,
    comparison: Comparison,
    value: impl Fn(usize) -> T,
    key: &T,
) -> BooleanBuffer {
    match comparison {
        Comparison::Equal => BooleanBuffer::collect_bool(rows, |row| value(row) == *key),
        Comparison::NotEqual => BooleanBuffer::collect_bool(rows, |row| value(row) != *key),
        Comparison::Less => BooleanBuffer::collect_bool(rows, |row| value(row) < *key),
        Comparison::LessOrEqual => BooleanBuffer::collect_bool(rows, |row| value(row) <= *key),
        Comparison::Greater => BooleanBuffer::collect_bool(rows, |row| value(row) > *key),
        Comparison::GreaterOrEqual => BooleanBuffer::collect_bool(rows, |row| value(row) >= *key),
    }
}
