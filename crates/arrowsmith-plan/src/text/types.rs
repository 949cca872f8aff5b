// SPDX-License-Identifier: Apache-2.0
//! The names of types and units, for the parser and the writer of the schema text.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// Types without arguments, with the names that are written.
pub(super) const SIMPLE: &[(&str, DataType)] = &[
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float16", DataType::Float16),
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
    ("date32", DataType::Date32),
    ("date64", DataType::Date64),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("binary_view", DataType::BinaryView),
    ("utf8", DataType::Utf8),
    ("large_utf8", DataType::LargeUtf8),
    ("utf8_view", DataType::Utf8View),
];

/// Names of the same types in SQL, Java, pandas, polars and others. Where systems differ, it is the
/// widest.
const ALIASES: &[(&str, DataType)] = &[
    ("boolean", DataType::Boolean),
    ("byte", DataType::Int8),
    ("tinyint", DataType::Int8),
    ("short", DataType::Int16),
    ("smallint", DataType::Int16),
    ("int", DataType::Int64),
    ("integer", DataType::Int64),
    ("long", DataType::Int64),
    ("bigint", DataType::Int64),
    ("double", DataType::Float64),
    ("date", DataType::Date32),
    ("datetime", DataType::Timestamp(TimeUnit::Microsecond, None)),
    ("string", DataType::Utf8),
    ("str", DataType::Utf8),
    ("text", DataType::Utf8),
    ("varchar", DataType::Utf8),
    ("char", DataType::Utf8),
    ("bytes", DataType::Binary),
    ("blob", DataType::Binary),
    ("varbinary", DataType::Binary),
    ("large_string", DataType::LargeUtf8),
    ("string_view", DataType::Utf8View),
    ("largeutf8", DataType::LargeUtf8),
    ("utf8view", DataType::Utf8View),
    ("largebinary", DataType::LargeBinary),
    ("binaryview", DataType::BinaryView),
];

/// Names of other systems for what is several types here, or takes an argument, and the names to
/// use instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("timestamptz", "timestamp(us, \"UTC\")"),
    ("time", "time32(s), time32(ms), time64(us) or time64(ns)"),
    ("array", "list<…>"),
    ("object", "struct<…>, map<utf8, …> or json"),
    ("row", "struct<…>"),
    ("number", "float64, int64 or decimal128(…)"),
    ("uuid", "utf8"),
];

/// Our name of the type that other systems call `name`, in lower case.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, here)| *here)
}

/// JSON text kept unchanged: strings with the extension type in the field's metadata.
pub(super) const JSON: &[(&str, DataType)] = &[
    ("json", DataType::Utf8),
    ("large_json", DataType::LargeUtf8),
    ("json_view", DataType::Utf8View),
];

/// The type of this name, which is in lower case.
pub(super) fn simple(name: &str) -> Option<DataType> {
    find(SIMPLE, name).or_else(|| find(ALIASES, name))
}

/// The type of JSON text of this name.
pub(super) fn json(name: &str) -> Option<DataType> {
    find(JSON, name)
}

fn find(table: &[(&str, DataType)], name: &str) -> Option<DataType> {
    table.iter().find(|(known, _)| *known == name).map(|(_, data_type)| data_type.clone())
}

/// The name of a type in one of the tables.
pub(super) fn name_of(
    table: &[(&'static str, DataType)],
    wanted: &DataType,
) -> Option<&'static str> {
    table.iter().find(|(_, data_type)| data_type == wanted).map(|(name, _)| *name)
}

pub(super) const UNITS: &[(&str, TimeUnit)] = &[
    ("s", TimeUnit::Second),
    ("ms", TimeUnit::Millisecond),
    ("us", TimeUnit::Microsecond),
    ("ns", TimeUnit::Nanosecond),
];

pub(super) const INTERVALS: &[(&str, IntervalUnit)] = &[
    ("year_month", IntervalUnit::YearMonth),
    ("day_time", IntervalUnit::DayTime),
    ("month_day_nano", IntervalUnit::MonthDayNano),
];

/// Maximum precision of a decimal type, by its name.
pub(super) fn precision_max(name: &str) -> Option<u8> {
    Some(match name {
        "decimal32" => 9,
        "decimal64" => 18,
        "decimal128" => 38,
        "decimal256" => 76,
        _ => return None,
    })
}
