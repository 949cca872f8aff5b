// SPDX-License-Identifier: Apache-2.0
//! Random Arrow schemas of all types that the `parquet` crate can write, which excludes unions,
//! run-end encodings and list views.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};

use crate::random::Rng;

/// Maximum nesting of lists, structs and maps.
const DEPTH_MAX: usize = 3;

/// A schema of one to six columns.
pub(super) fn schema(rng: &mut Rng) -> SchemaRef {
    let columns = 1 + rng.below(6);
    Arc::new(Schema::new(fields(rng, columns, 0)))
}

fn fields(rng: &mut Rng, count: usize, depth: usize) -> Vec<Field> {
    (0..count).map(|at| field(rng, &format!("c{at}"), depth)).collect()
}

fn field(rng: &mut Rng, name: &str, depth: usize) -> Field {
    let kind = data_type(rng, depth);
    let nullable = kind == DataType::Null || !rng.one_in(3);
    Field::new(name, kind, nullable)
}

fn data_type(rng: &mut Rng, depth: usize) -> DataType {
    if depth >= DEPTH_MAX || !rng.one_in(4 - usize::from(depth == 0)) {
        return leaf(rng);
    }
    let item = |rng: &mut Rng| Arc::new(field(rng, "item", depth + 1));
    match rng.below(8) {
        0..=2 => DataType::List(item(rng)),
        3 => DataType::LargeList(item(rng)),
        4 => DataType::FixedSizeList(item(rng), *rng.pick(&[1, 2, 3, 7])),
        5 | 6 => {
            let count = 1 + rng.below(3);
            DataType::Struct(Fields::from(fields(rng, count, depth + 1)))
        }
        _ => map(rng, depth),
    }
}

fn map(rng: &mut Rng, depth: usize) -> DataType {
    let key = rng.pick(&[DataType::Utf8, DataType::Int32, DataType::Int64]).clone();
    let entries = Fields::from(vec![Field::new("key", key, false), field(rng, "value", depth + 1)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

fn leaf(rng: &mut Rng) -> DataType {
    use DataType as T;
    let unit = *rng.pick(&[
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ]);
    match rng.below(34) {
        0 | 1 => T::Boolean,
        2 => T::Int8,
        3 => T::Int16,
        4 | 5 => T::Int32,
        6..=8 => T::Int64,
        9 => T::UInt8,
        10 => T::UInt16,
        11 => T::UInt32,
        12 => T::UInt64,
        13 => T::Float16,
        14 => T::Float32,
        15 => T::Float64,
        16..=18 => T::Utf8,
        19 => T::LargeUtf8,
        20 => T::Utf8View,
        21 => T::Binary,
        22 => T::LargeBinary,
        23 => T::BinaryView,
        24 => T::FixedSizeBinary(*rng.pick(&[1, 2, 3, 4, 5, 8, 12, 16, 33])),
        25 | 26 => decimal(rng),
        27 => T::Date32,
        28 => T::Date64,
        29 => T::Time32(*rng.pick(&[TimeUnit::Second, TimeUnit::Millisecond])),
        30 => T::Time64(*rng.pick(&[TimeUnit::Microsecond, TimeUnit::Nanosecond])),
        31 => {
            let zone = *rng.pick(&[None, Some("UTC"), Some("+02:00"), Some("Europe/Amsterdam")]);
            T::Timestamp(unit, zone.map(Into::into))
        }
        32 => match rng.below(4) {
            0 => T::Duration(unit),
            1 => T::Interval(IntervalUnit::YearMonth),
            2 => T::Interval(IntervalUnit::DayTime),
            _ => T::Null,
        },
        _ => {
            let key = rng.pick(&[T::Int32, T::UInt16, T::Int64]).clone();
            let value = rng.pick(&[T::Utf8, T::Utf8, T::Binary, T::Int64]).clone();
            T::Dictionary(Box::new(key), Box::new(value))
        }
    }
}

fn decimal(rng: &mut Rng) -> DataType {
    let digits = |rng: &mut Rng, most: usize| {
        let precision = u8::try_from(1 + rng.below(most)).unwrap_or(1);
        let scale = i8::try_from(rng.below(usize::from(precision) + 1)).unwrap_or(0);
        (precision, scale)
    };
    let (wide, scale) = digits(rng, 76);
    match rng.below(4) {
        0 => {
            let (precision, scale) = digits(rng, 9);
            // The `parquet` crate 59 maps one digit to INT64, and then cannot write it.
            DataType::Decimal32(precision.max(2), scale)
        }
        1 => {
            let (precision, scale) = digits(rng, 18);
            DataType::Decimal64(precision, scale)
        }
        2 => {
            let (precision, scale) = digits(rng, 38);
            DataType::Decimal128(precision, scale)
        }
        _ => DataType::Decimal256(wide, scale),
    }
}
