// SPDX-License-Identifier: Apache-2.0
//! The Arrow schema that a writer has put into the file's metadata, for types that Parquet has no
//! name for.

use std::collections::HashMap;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{DateUnit, Endianness, Field, IntervalUnit, Precision, TimeUnit, Type};
use arrow_schema::Schema;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::file::metadata::FileMetaData;

/// The key of the schema.
pub(crate) const ARROW_SCHEMA_KEY: &str = "ARROW:schema";

/// The file's key-value metadata without the Arrow schema, and that schema. One that cannot be read
/// is ignored: it is a hint, and the Parquet schema has all that is needed.
pub(super) fn metadata(file: &FileMetaData) -> (HashMap<String, String>, Option<Schema>) {
    let mut metadata = HashMap::new();
    let mut hint = None;
    for pair in file.key_value_metadata().into_iter().flatten() {
        match &pair.value {
            Some(value) if pair.key == ARROW_SCHEMA_KEY => hint = decode(value),
            Some(value) => {
                metadata.insert(pair.key.clone(), value.clone());
            }
            None => {}
        }
    }
    if let Some(schema) = &hint {
        for (key, value) in schema.metadata() {
            metadata.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    (metadata, hint)
}

/// Whether the file has an Arrow schema that can be followed.
pub(crate) fn is_sound_in(file: &FileMetaData) -> bool {
    metadata(file).1.is_some()
}

fn decode(value: &str) -> Option<Schema> {
    let bytes = BASE64_STANDARD.decode(value).ok()?;
    // The message follows a marker and its length, except from old writers.
    let message = match bytes.get(..4) {
        Some([0xff, 0xff, 0xff, 0xff]) => bytes.get(8..)?,
        _ => &bytes,
    };
    let schema = arrow_ipc::root_as_message(message).ok()?.header_as_schema()?;
    // The conversion panics on a valid flat buffer that is not an Arrow schema.
    let sound = schema.endianness() == Endianness::Little && schema.fields()?.iter().all(is_sound);
    sound.then(|| fb_to_schema(schema))
}

/// Whether a field is of a type that Arrow has and Parquet files can hold.
fn is_sound(field: Field<'_>) -> bool {
    let children = field.children();
    let count = children.map_or(0, |children| children.len());
    if let Some(dictionary) = field.dictionary()
        && !dictionary.indexType().is_some_and(|int| matches!(int.bitWidth(), 8 | 16 | 32 | 64))
    {
        return false;
    }
    let sound = match field.type_type() {
        Type::Null
        | Type::Bool
        | Type::Binary
        | Type::BinaryView
        | Type::LargeBinary
        | Type::Utf8
        | Type::Utf8View
        | Type::LargeUtf8
        | Type::Struct_ => Some(true),
        Type::Int => field.type_as_int().map(|int| matches!(int.bitWidth(), 8 | 16 | 32 | 64)),
        Type::FixedSizeBinary => {
            field.type_as_fixed_size_binary().map(|binary| binary.byteWidth() >= 0)
        }
        Type::FloatingPoint => field
            .type_as_floating_point()
            .map(|float| (Precision::HALF..=Precision::DOUBLE).contains(&float.precision())),
        Type::Date => field
            .type_as_date()
            .map(|date| (DateUnit::DAY..=DateUnit::MILLISECOND).contains(&date.unit())),
        Type::Time => field.type_as_time().map(|time| {
            matches!(
                (time.bitWidth(), time.unit()),
                (32, TimeUnit::SECOND | TimeUnit::MILLISECOND)
                    | (64, TimeUnit::MICROSECOND | TimeUnit::NANOSECOND)
            )
        }),
        Type::Timestamp => field
            .type_as_timestamp()
            .map(|time| (TimeUnit::SECOND..=TimeUnit::NANOSECOND).contains(&time.unit())),
        Type::Duration => field
            .type_as_duration()
            .map(|time| (TimeUnit::SECOND..=TimeUnit::NANOSECOND).contains(&time.unit())),
        Type::Interval => field.type_as_interval().map(|interval| {
            (IntervalUnit::YEAR_MONTH..=IntervalUnit::MONTH_DAY_NANO).contains(&interval.unit())
        }),
        Type::Decimal => field.type_as_decimal().map(|decimal| {
            matches!(decimal.bitWidth(), 32 | 64 | 128 | 256)
                && u8::try_from(decimal.precision()).is_ok()
                && i8::try_from(decimal.scale()).is_ok()
        }),
        Type::List | Type::LargeList | Type::ListView | Type::LargeListView => Some(count == 1),
        Type::FixedSizeList => {
            field.type_as_fixed_size_list().map(|list| count == 1 && list.listSize() >= 0)
        }
        Type::Map => field.type_as_map().map(|_| count == 1),
        Type::RunEndEncoded => Some(count == 2),
        // Unions, which no Parquet file holds, and future types.
        _ => None,
    };
    sound.unwrap_or(false) && children.is_none_or(|children| children.iter().all(is_sound))
}
