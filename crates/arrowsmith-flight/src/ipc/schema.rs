// SPDX-License-Identifier: Apache-2.0
//! Schemas from outside: checked before arrow-ipc converts them, which panics at parameters of
//! types that the format does not have (`Schema.fbs` of the Arrow format).

use arrow_ipc::convert::try_schema_from_flatbuffer_bytes;
use arrow_ipc::{DateUnit, Endianness, Field, IntervalUnit, Precision, TimeUnit, Type, UnionMode};
use arrow_schema::{
    ArrowError, DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, Schema,
};

use super::{Bounds, CONTINUATION, caught, check};

/// Maximum number of fields of a schema, nested ones included.
const FIELDS_MAX: usize = 100_000;

/// Maximum depth of nested fields.
const DEPTH_MAX: usize = 64;

/// Maximum width of a value of a fixed-size type, in bytes or elements.
const WIDTH_MAX: u64 = 1 << 20;

/// The schema in a message as Flight describes data by: its length before it, and before that the
/// marker of a stream, which early writers lack.
///
/// # Errors
/// What is malformed.
pub(crate) fn schema(bytes: &[u8]) -> Result<Schema, ArrowError> {
    let framed = bytes.strip_prefix(&CONTINUATION).unwrap_or(bytes).split_first_chunk();
    let message = framed.and_then(|(length, rest)| {
        let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
        rest.get(..length)
    });
    let message = message.ok_or_else(|| ArrowError::IpcError("a truncated schema".to_owned()))?;
    check(message, &[], &Bounds::default()).map_err(ArrowError::IpcError)?;
    caught(|| try_schema_from_flatbuffer_bytes(message))
}

/// Refuses a schema that has too many fields, or types that cannot be.
pub(crate) fn check_schema(schema: arrow_ipc::Schema<'_>) -> Result<(), String> {
    if schema.endianness() != Endianness::Little {
        return Err("its numbers are big-endian".to_owned());
    }
    let mut count = 0;
    for field in schema.fields().ok_or("a schema without its fields")? {
        check_field(field, 0, &mut count)?;
    }
    Ok(())
}

/// The width of a value of a field, with the same meaning as [`width`](super::width).
fn check_field(field: Field<'_>, depth: usize, count: &mut usize) -> Result<u64, String> {
    *count += 1;
    if depth > DEPTH_MAX || *count > FIELDS_MAX {
        return Err(format!("more than {FIELDS_MAX} fields, or {DEPTH_MAX} in one another"));
    }
    let kind = field.type_type();
    let valid = is_valid(&field)
        && field.dictionary().is_none_or(|dictionary| {
            dictionary.indexType().is_some_and(|index| is_width(index.bitWidth()))
        });
    if !valid {
        let name = field.name().unwrap_or_default();
        let kind = kind.variant_name().unwrap_or("unknown");
        return Err(format!("field {name:?}: parameters that type {kind} does not have"));
    }
    let mut inside = 1;
    for child in field.children().iter().flatten() {
        inside = inside.max(check_field(child, depth + 1, count)?);
    }
    let length = match (field.type_as_fixed_size_binary(), field.type_as_fixed_size_list()) {
        (Some(binary), _) => binary.byteWidth(),
        (_, Some(list)) => list.listSize(),
        _ => 1,
    };
    let length = u64::try_from(length).map_err(|_| format!("a width of {length}"))?;
    let all = length.saturating_mul(inside);
    if all > WIDTH_MAX {
        return Err(format!("a value {all} wide, of {WIDTH_MAX} at most"));
    }
    Ok(all.max(1))
}

/// Whether the type of a field, without its dictionary, is one of the format's.
fn is_valid(field: &Field<'_>) -> bool {
    let children = field.children().map_or(0, |children| children.len());
    let child = |number| field.children().filter(|_| number < children).map(|all| all.get(number));
    match field.type_type() {
        Type::Null | Type::Bool | Type::Struct_ => true,
        Type::Binary | Type::LargeBinary | Type::BinaryView => true,
        Type::Utf8 | Type::LargeUtf8 | Type::Utf8View => true,
        Type::Int => field.type_as_int().is_some_and(|int| is_width(int.bitWidth())),
        Type::FloatingPoint => field.type_as_floating_point().is_some_and(|float| {
            matches!(float.precision(), Precision::HALF | Precision::SINGLE | Precision::DOUBLE)
        }),
        Type::Decimal => field.type_as_decimal().is_some_and(|decimal| {
            let max = match decimal.bitWidth() {
                32 => DECIMAL32_MAX_PRECISION,
                64 => DECIMAL64_MAX_PRECISION,
                128 => DECIMAL128_MAX_PRECISION,
                256 => DECIMAL256_MAX_PRECISION,
                _ => 0,
            };
            (1..=i32::from(max)).contains(&decimal.precision())
                && i8::try_from(decimal.scale()).is_ok()
        }),
        Type::Date => field
            .type_as_date()
            .is_some_and(|date| matches!(date.unit(), DateUnit::DAY | DateUnit::MILLISECOND)),
        Type::Time => field.type_as_time().is_some_and(|time| match time.unit() {
            TimeUnit::SECOND | TimeUnit::MILLISECOND => time.bitWidth() == 32,
            unit => is_unit(unit) && time.bitWidth() == 64,
        }),
        Type::Timestamp => field.type_as_timestamp().is_some_and(|time| is_unit(time.unit())),
        Type::Duration => field.type_as_duration().is_some_and(|duration| is_unit(duration.unit())),
        Type::Interval => field.type_as_interval().is_some_and(|interval| {
            use IntervalUnit as Unit;
            matches!(interval.unit(), Unit::YEAR_MONTH | Unit::DAY_TIME | Unit::MONTH_DAY_NANO)
        }),
        Type::FixedSizeBinary => field.type_as_fixed_size_binary().is_some(),
        Type::List | Type::LargeList | Type::ListView | Type::LargeListView => children == 1,
        Type::FixedSizeList => children == 1 && field.type_as_fixed_size_list().is_some(),
        Type::Map => {
            let is_pair = |entries: &Field<'_>| {
                entries.type_type() == Type::Struct_
                    && entries.children().is_some_and(|pair| pair.len() == 2)
            };
            children == 1 && field.type_as_map().is_some() && child(0).as_ref().is_some_and(is_pair)
        }
        Type::RunEndEncoded => {
            let ends = child(0).and_then(|ends| ends.type_as_int());
            let is_signed = |ends: arrow_ipc::Int<'_>| ends.is_signed() && ends.bitWidth() > 8;
            children == 2 && ends.is_some_and(is_signed)
        }
        Type::Union => field.type_as_union().is_some_and(|union| {
            let ids: Option<Vec<i32>> = union.typeIds().map(|ids| ids.iter().collect());
            let valid = ids.is_none_or(|mut ids| {
                let given = ids.len();
                ids.sort_unstable();
                ids.dedup();
                let in_range = ids.iter().all(|id| (0..=i32::from(i8::MAX)).contains(id));
                in_range && ids.len() == given && given == children
            });
            let known = matches!(union.mode(), UnionMode::Dense | UnionMode::Sparse);
            valid && known && children <= 128
        }),
        _ => false,
    }
}

fn is_width(bits: i32) -> bool {
    matches!(bits, 8 | 16 | 32 | 64)
}

fn is_unit(unit: TimeUnit) -> bool {
    use TimeUnit as Unit;
    matches!(unit, Unit::SECOND | Unit::MILLISECOND | Unit::MICROSECOND | Unit::NANOSECOND)
}
