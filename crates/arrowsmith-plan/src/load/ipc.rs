// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC's schema table → Arrow schema, with errors where arrow-ipc's own conversion panics.
//!
//! The table comes from a verified flatbuffer, so that reading it is safe; its content may still be
//! invalid: integers of 7 bits, lists with two children, unknown types.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_ipc::Type as I;
use arrow_schema::{
    DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use arrowsmith_core::{Error, Result};

/// Maximum nesting of fields; the flatbuffer verifier allows less.
const FIELD_DEPTH_MAX: usize = 128;

/// Converts the schema of an IPC message, which has been verified.
///
/// # Errors
/// [`Error::Schema`] names the first invalid field.
pub fn schema_from_ipc(schema: arrow_ipc::Schema<'_>) -> Result<Schema> {
    if schema.endianness() != arrow_ipc::Endianness::Little {
        return Err(Error::schema("", "the Arrow data is big-endian"));
    }
    let mut fields = Vec::new();
    for child in schema.fields().into_iter().flatten() {
        fields.push(field(child, "", 0)?);
    }
    let metadata = pairs(schema.custom_metadata().into_iter().flatten());
    Ok(Schema::new_with_metadata(fields, metadata))
}

fn pairs<'a>(pairs: impl Iterator<Item = arrow_ipc::KeyValue<'a>>) -> HashMap<String, String> {
    pairs.filter_map(|pair| Some((pair.key()?.to_owned(), pair.value()?.to_owned()))).collect()
}

fn field(ipc: arrow_ipc::Field<'_>, parent: &str, depth: usize) -> Result<Field> {
    let name = ipc.name().unwrap_or_default();
    let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    if depth == FIELD_DEPTH_MAX {
        return Err(Error::schema(path, format!("nested deeper than {FIELD_DEPTH_MAX} levels")));
    }
    let Some(values) = data_type(ipc, &path, depth)? else {
        let message = format!("the Arrow type {:?} is invalid", ipc.type_type());
        return Err(Error::schema(path, message));
    };
    let mut field = match ipc.dictionary() {
        None => Field::new(name, values, ipc.nullable()),
        Some(dictionary) => {
            // The format's default: 32-bit keys.
            let keys = match dictionary.indexType() {
                None => Some(DataType::Int32),
                Some(int) => integer(int),
            };
            let Some(keys) = keys else {
                return Err(Error::schema(path, "the dictionary's keys are invalid"));
            };
            let dictionary_type = DataType::Dictionary(Box::new(keys), Box::new(values));
            Field::new(name, dictionary_type, ipc.nullable())
                .with_dict_is_ordered(dictionary.isOrdered())
        }
    };
    field.set_metadata(pairs(ipc.custom_metadata().into_iter().flatten()));
    Ok(field)
}

/// The type of a field's values; `None` if there is no such type.
fn data_type(ipc: arrow_ipc::Field<'_>, path: &str, depth: usize) -> Result<Option<DataType>> {
    use DataType as T;
    let children = || -> Result<Vec<FieldRef>> {
        let children = ipc.children().into_iter().flatten();
        children.map(|child| field(child, path, depth + 1).map(Arc::new)).collect()
    };
    let only_child = || Ok::<_, Error>(<[FieldRef; 1]>::try_from(children()?).ok().map(|[it]| it));
    Ok(match ipc.type_type() {
        I::List => only_child()?.map(T::List),
        I::LargeList => only_child()?.map(T::LargeList),
        I::ListView => only_child()?.map(T::ListView),
        I::LargeListView => only_child()?.map(T::LargeListView),
        I::FixedSizeList => {
            let len = ipc.type_as_fixed_size_list().map(|list| list.listSize());
            only_child()?
                .zip(len.filter(|len| *len >= 0))
                .map(|(it, len)| T::FixedSizeList(it, len))
        }
        I::Map => {
            let sorted = ipc.type_as_map().map(|map| map.keysSorted());
            let entries = only_child()?.filter(
                |entries| matches!(entries.data_type(), T::Struct(fields) if fields.len() == 2),
            );
            entries.zip(sorted).map(|(entries, sorted)| T::Map(entries, sorted))
        }
        I::Struct_ => Some(T::Struct(Fields::from(children()?))),
        I::RunEndEncoded => <[FieldRef; 2]>::try_from(children()?)
            .ok()
            .map(|[ends, values]| T::RunEndEncoded(ends, values)),
        I::Union => ipc.type_as_union().zip(Some(children()?)).and_then(|(it, all)| union(it, all)),
        _ => flat(ipc),
    })
}

/// A type without children.
fn flat(ipc: arrow_ipc::Field<'_>) -> Option<DataType> {
    use DataType as T;
    Some(match ipc.type_type() {
        I::Null => T::Null,
        I::Bool => T::Boolean,
        I::Int => integer(ipc.type_as_int()?)?,
        I::FloatingPoint => match ipc.type_as_floating_point()?.precision() {
            arrow_ipc::Precision::HALF => T::Float16,
            arrow_ipc::Precision::SINGLE => T::Float32,
            arrow_ipc::Precision::DOUBLE => T::Float64,
            _ => return None,
        },
        I::Decimal => decimal(ipc.type_as_decimal()?)?,
        I::Utf8 => T::Utf8,
        I::LargeUtf8 => T::LargeUtf8,
        I::Utf8View => T::Utf8View,
        I::Binary => T::Binary,
        I::LargeBinary => T::LargeBinary,
        I::BinaryView => T::BinaryView,
        I::FixedSizeBinary => {
            let len = ipc.type_as_fixed_size_binary()?.byteWidth();
            (len >= 0).then_some(T::FixedSizeBinary(len))?
        }
        I::Date => match ipc.type_as_date()?.unit() {
            arrow_ipc::DateUnit::DAY => T::Date32,
            arrow_ipc::DateUnit::MILLISECOND => T::Date64,
            _ => return None,
        },
        I::Time => {
            let time = ipc.type_as_time()?;
            match (time.bitWidth(), unit(time.unit())?) {
                (32, unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => T::Time32(unit),
                (64, unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => T::Time64(unit),
                _ => return None,
            }
        }
        I::Timestamp => {
            let timestamp = ipc.type_as_timestamp()?;
            T::Timestamp(unit(timestamp.unit())?, timestamp.timezone().map(Arc::from))
        }
        I::Duration => T::Duration(unit(ipc.type_as_duration()?.unit())?),
        I::Interval => T::Interval(match ipc.type_as_interval()?.unit() {
            arrow_ipc::IntervalUnit::YEAR_MONTH => IntervalUnit::YearMonth,
            arrow_ipc::IntervalUnit::DAY_TIME => IntervalUnit::DayTime,
            arrow_ipc::IntervalUnit::MONTH_DAY_NANO => IntervalUnit::MonthDayNano,
            _ => return None,
        }),
        _ => return None,
    })
}

fn integer(int: arrow_ipc::Int<'_>) -> Option<DataType> {
    Some(match (int.bitWidth(), int.is_signed()) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (64, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (64, false) => DataType::UInt64,
        _ => return None,
    })
}

fn decimal(decimal: arrow_ipc::Decimal<'_>) -> Option<DataType> {
    let precision = u8::try_from(decimal.precision()).ok()?;
    let scale = i8::try_from(decimal.scale()).ok()?;
    let (precision_max, data_type) = match decimal.bitWidth() {
        32 => (9, DataType::Decimal32(precision, scale)),
        64 => (18, DataType::Decimal64(precision, scale)),
        128 => (38, DataType::Decimal128(precision, scale)),
        256 => (76, DataType::Decimal256(precision, scale)),
        _ => return None,
    };
    let fits = (1..=precision_max).contains(&precision) && i16::from(scale) <= i16::from(precision);
    fits.then_some(data_type)
}

fn unit(unit: arrow_ipc::TimeUnit) -> Option<TimeUnit> {
    Some(match unit {
        arrow_ipc::TimeUnit::SECOND => TimeUnit::Second,
        arrow_ipc::TimeUnit::MILLISECOND => TimeUnit::Millisecond,
        arrow_ipc::TimeUnit::MICROSECOND => TimeUnit::Microsecond,
        arrow_ipc::TimeUnit::NANOSECOND => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn union(union: arrow_ipc::Union<'_>, fields: Vec<FieldRef>) -> Option<DataType> {
    let mode = match union.mode() {
        arrow_ipc::UnionMode::Sparse => UnionMode::Sparse,
        arrow_ipc::UnionMode::Dense => UnionMode::Dense,
        _ => return None,
    };
    let ids: Option<Vec<i8>> = match union.typeIds() {
        Some(ids) => ids.iter().map(|id| i8::try_from(id).ok()).collect(),
        None => (0..fields.len()).map(|id| i8::try_from(id).ok()).collect(),
    };
    Some(DataType::Union(UnionFields::try_new(ids?, fields).ok()?, mode))
}
