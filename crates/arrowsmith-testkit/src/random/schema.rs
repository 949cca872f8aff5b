// SPDX-License-Identifier: Apache-2.0
//! Random schemas: every type, nested to depth 4, with names that need escapes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use arrowsmith_plan::ROOT_METADATA_KEY;
use arrowsmith_plan::plan::{
    ENCODING_METADATA_KEY, EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, VALUE_FIELD_NAME,
};

use super::{Profile, Rng};

const DEPTH_MAX: usize = 4;

const NAMES: &[&str] = &[
    "a",
    "b",
    "c",
    "id",
    "value",
    "key",
    "name",
    "tags",
    "x.y",
    "with space",
    "",
    "quote\"d",
    "back\\slash",
    "tab\t",
    "ümlaut",
    "日本",
    "😀",
    "null",
    "a_rather_long_name_of_a_field_0123456789",
    "\u{0}",
    "[0]",
    "/",
];

/// A schema of up to six columns; in one of eight, records are values.
pub(super) fn schema(rng: &mut Rng, profile: Profile) -> SchemaRef {
    if rng.one_in(8) {
        let field = field(rng, profile, VALUE_FIELD_NAME, 1);
        let metadata = HashMap::from([(ROOT_METADATA_KEY.to_owned(), "value".to_owned())]);
        return Arc::new(Schema::new_with_metadata(vec![field], metadata));
    }
    if profile == Profile::Mixed {
        let names = many_names(rng);
        let fields = names.iter().map(|name| field(rng, profile, name, 2));
        return Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    }
    Arc::new(Schema::new(fields(rng, profile, 6, 1)))
}

/// Different names, from one to a hundred: some of [`NAMES`], and others that differ in few bytes.
fn many_names(rng: &mut Rng) -> Vec<String> {
    let count = *rng.pick(&[1, 5, 12, 12, 24, 24, 64, 70, 100]);
    let mut names = Vec::new();
    while names.len() < count {
        let number = rng.below(200);
        let name = match rng.below(6) {
            0 => (*rng.pick(NAMES)).to_owned(),
            1 => format!("{number}_of_the_same_tail"),
            2 => format!("the_same_head_{number}"),
            3 => format!("the_same_head_{number:03}_and_the_same_tail"),
            4 => format!("{}{number}", "x".repeat(rng.below(70))),
            _ => format!("k{number}"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn fields(rng: &mut Rng, profile: Profile, most: usize, depth: usize) -> Fields {
    let least = usize::from(profile == Profile::ArrowJson);
    let count = least + rng.below(most + 1 - least);
    (0..count)
        .map(|_| {
            let name = *rng.pick(NAMES);
            field(rng, profile, name, depth)
        })
        .collect()
}

fn field(rng: &mut Rng, profile: Profile, name: &str, depth: usize) -> Field {
    let data_type = data_type(rng, profile, depth);
    // A field of type null has to be nullable to have any value.
    let nullable = !rng.one_in(4) || data_type == DataType::Null;
    let mut metadata = HashMap::new();
    let inner = match &data_type {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    match inner {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => {
            let hex = profile == Profile::ArrowJson || rng.one_in(2);
            if hex || rng.one_in(2) {
                let encoding = if hex { "hex" } else { "base64" };
                metadata.insert(ENCODING_METADATA_KEY.to_owned(), encoding.to_owned());
            }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            if profile.is_full() && rng.one_in(4) =>
        {
            metadata.insert(EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned());
        }
        _ => {}
    }
    Field::new(name, data_type, nullable).with_metadata(metadata)
}

fn data_type(rng: &mut Rng, profile: Profile, depth: usize) -> DataType {
    if depth < DEPTH_MAX && rng.one_in(3) {
        return nested(rng, profile, depth);
    }
    if profile.is_full() && rng.one_in(12) {
        return dictionary(rng);
    }
    scalar(rng, profile)
}

fn nested(rng: &mut Rng, profile: Profile, depth: usize) -> DataType {
    let item = |rng: &mut Rng| Arc::new(field(rng, profile, "item", depth + 1));
    match rng.below(6) {
        0 => DataType::List(item(rng)),
        1 => DataType::LargeList(item(rng)),
        2 => {
            let len = i32::try_from(rng.below(4)).unwrap_or(0);
            match profile {
                Profile::Full | Profile::Alike | Profile::Mixed => {
                    DataType::FixedSizeList(item(rng), len)
                }
                Profile::ArrowJson => {
                    let item = item(rng).as_ref().clone().with_nullable(true);
                    DataType::FixedSizeList(Arc::new(item), len.max(1))
                }
            }
        }
        3 => {
            let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
            let key = if profile.is_full() { rng.pick(&texts) } else { &DataType::Utf8 };
            let key = Field::new("key", key.clone(), false);
            let value = field(rng, profile, "value", depth + 1);
            let entries = Field::new_struct("entries", vec![key, value], false);
            DataType::Map(Arc::new(entries), false)
        }
        _ => DataType::Struct(fields(rng, profile, 4, depth + 1)),
    }
}

fn dictionary(rng: &mut Rng) -> DataType {
    use DataType as T;
    let keys = [T::Int8, T::Int16, T::Int32, T::Int64, T::UInt8, T::UInt16, T::UInt32, T::UInt64];
    let values = [
        T::Utf8,
        T::Utf8,
        T::LargeUtf8,
        T::Int64,
        T::UInt8,
        T::Binary,
        T::Float64,
        T::Date32,
        T::Decimal128(9, 2),
        T::FixedSizeBinary(3),
    ];
    T::Dictionary(Box::new(rng.pick(&keys).clone()), Box::new(rng.pick(&values).clone()))
}

fn scalar(rng: &mut Rng, profile: Profile) -> DataType {
    use DataType as T;
    let unit = *rng.pick(&[
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ]);
    match rng.below(30) {
        0 => T::Null,
        1 | 2 => T::Boolean,
        3 => T::Int8,
        4 => T::Int16,
        5 => T::Int32,
        6 | 7 => T::Int64,
        8 => T::UInt8,
        9 => T::UInt16,
        10 => T::UInt32,
        11 => T::UInt64,
        12 => T::Float16,
        13 => T::Float32,
        14 | 15 => T::Float64,
        16 => decimal(rng, profile, 38, T::Decimal128),
        17 => decimal(rng, profile, 76, T::Decimal256),
        18 | 19 => T::Utf8,
        20 => T::LargeUtf8,
        21 => T::Utf8View,
        22 => rng.pick(&[T::Binary, T::LargeBinary, T::BinaryView]).clone(),
        23 => T::FixedSizeBinary(i32::try_from(1 + rng.below(20)).unwrap_or(1)),
        24 => T::Date32,
        25 => T::Date64,
        26 => match unit {
            TimeUnit::Second | TimeUnit::Millisecond => T::Time32(unit),
            _ => T::Time64(unit),
        },
        27 | 28 => {
            let zones: &[Option<&str>] = match profile {
                Profile::Full | Profile::Alike | Profile::Mixed => {
                    &[None, None, Some("UTC"), Some("+02:00"), Some("-0530"), Some("Europe/Berlin")]
                }
                Profile::ArrowJson => &[None, Some("-00:00"), Some("+00:00")],
            };
            T::Timestamp(unit, rng.pick(zones).map(Arc::from))
        }
        _ => T::Duration(unit),
    }
}

fn decimal(
    rng: &mut Rng,
    profile: Profile,
    digits: usize,
    make: fn(u8, i8) -> DataType,
) -> DataType {
    let precision = 1 + rng.below(digits);
    let least = if profile.is_full() && rng.one_in(4) { -5 } else { 0 };
    let scale = rng.range(least, precision as i128);
    make(u8::try_from(precision).unwrap_or(1), i8::try_from(scale).unwrap_or(0))
}
