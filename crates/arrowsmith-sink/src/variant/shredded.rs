// SPDX-License-Identifier: Apache-2.0
//! Columns of VARIANT whose parts are columns of their own (Parquet's "Variant Shredding") → JSON
//! texts: where `typed_value` is there, it is the value, and of an object some of its fields; the
//! rest is in `value`.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryViewArray, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};

use super::decode::{self, Names};

/// A column of VARIANT, or of a part of one.
pub(super) struct Column {
    value: Option<BinaryViewArray>,
    typed: Option<Typed>,
}

/// A column `typed_value`.
enum Typed {
    /// The keys of an object, each with its text in JSON.
    Object(StructArray, Vec<(String, Vec<u8>, Column)>),
    /// A list, and where the items of each row are in the column.
    Array(ArrayRef, Vec<usize>, Box<Column>),
    Leaf(ArrayRef),
}

type Result<T> = std::result::Result<T, &'static str>;

const INVALID: &str = "a shredded VARIANT has a column of another type";

impl Column {
    /// Of a struct of `value` and `typed_value`, or of one of them.
    pub(super) fn new(columns: &StructArray) -> Result<Self> {
        let value = columns.column_by_name("value").map(|value| {
            let value = cast(value, &DataType::BinaryView).map_err(|_| INVALID)?;
            value.as_binary_view_opt().cloned().ok_or(INVALID)
        });
        let typed = columns.column_by_name("typed_value").map(Typed::new).transpose()?;
        Ok(Self { value: value.transpose()?, typed })
    }

    /// Appends the value of a row; whether there is one.
    fn write(&self, row: usize, names: &Names<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let value = self.value.as_ref().filter(|value| value.is_valid(row));
        let value = value.map(|value| value.value(row));
        match (&self.typed, value) {
            (Some(typed), rest) if typed.is_valid(row) => {
                typed.write(row, rest, names, out).map(|()| true)
            }
            (_, Some(value)) => names.value(value, out, 0).map(|_| true),
            _ => Ok(false),
        }
    }

    /// Appends the value of a row, null if there is none.
    pub(super) fn write_any(&self, row: usize, names: &Names<'_>, out: &mut Vec<u8>) -> Result<()> {
        if !self.write(row, names, out)? {
            out.extend_from_slice(b"null");
        }
        Ok(())
    }
}

impl Typed {
    fn new(column: &ArrayRef) -> Result<Self> {
        Ok(match column.data_type() {
            DataType::Struct(fields) => {
                let columns = column.as_struct();
                let parts = fields.iter().zip(columns.columns()).map(|(field, part)| {
                    let mut key = Vec::new();
                    decode::json(field.name(), &mut key)?;
                    let part = Column::new(part.as_struct_opt().ok_or(INVALID)?)?;
                    Ok((field.name().clone(), key, part))
                });
                let parts = parts.collect::<Result<_>>()?;
                Self::Object(columns.clone(), parts)
            }
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                let offsets = list.offsets().iter().map(|at| usize::try_from(*at));
                Self::array(column, offsets, list.values())?
            }
            DataType::LargeList(_) => {
                let list = column.as_list::<i64>();
                let offsets = list.offsets().iter().map(|at| usize::try_from(*at));
                Self::array(column, offsets, list.values())?
            }
            other if is_leaf(other) => Self::Leaf(ArrayRef::clone(column)),
            _ => return Err(INVALID),
        })
    }

    fn array<E>(
        column: &ArrayRef,
        offsets: impl Iterator<Item = std::result::Result<usize, E>>,
        items: &ArrayRef,
    ) -> Result<Self> {
        let offsets = offsets.collect::<std::result::Result<_, _>>().map_err(|_| INVALID)?;
        let items = Column::new(items.as_struct_opt().ok_or(INVALID)?)?;
        Ok(Self::Array(ArrayRef::clone(column), offsets, Box::new(items)))
    }

    fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Object(column, _) => column.is_valid(row),
            Self::Array(column, ..) | Self::Leaf(column) => column.is_valid(row),
        }
    }

    /// Appends a value that is there; of an object `rest` has further fields.
    fn write(
        &self,
        row: usize,
        rest: Option<&[u8]>,
        names: &Names<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match (self, rest) {
            (Self::Object(_, parts), rest) => {
                out.push(b'{');
                let start = out.len();
                for (_, key, part) in parts {
                    let before = out.len();
                    if before > start {
                        out.push(b',');
                    }
                    out.extend_from_slice(key);
                    out.push(b':');
                    if !part.write(row, names, out)? {
                        out.truncate(before);
                    }
                }
                if let Some(rest) = rest {
                    let before = out.len();
                    if before > start {
                        out.push(b',');
                    }
                    let is_taken = |key: &[u8]| parts.iter().any(|part| part.0.as_bytes() == key);
                    if names.fields(rest, is_taken, out)? == 0 {
                        out.truncate(before);
                    }
                }
                out.push(b'}');
                Ok(())
            }
            (_, Some(_)) => Err("a shredded VARIANT has two values"),
            (Self::Array(_, offsets, items), None) => {
                let ends = offsets.get(row).zip(offsets.get(row + 1)).ok_or(INVALID)?;
                out.push(b'[');
                for item in *ends.0..*ends.1 {
                    if item > *ends.0 {
                        out.push(b',');
                    }
                    items.write_any(item, names, out)?;
                }
                out.push(b']');
                Ok(())
            }
            (Self::Leaf(column), None) => leaf(column, row, out),
        }
    }
}

/// The types that VARIANT has, other than nested ones.
fn is_leaf(data_type: &DataType) -> bool {
    use DataType as T;
    use TimeUnit::{Microsecond, Nanosecond};
    matches!(
        data_type,
        T::Boolean
            | T::Int8
            | T::Int16
            | T::Int32
            | T::Int64
            | T::Float32
            | T::Float64
            | T::Decimal32(..)
            | T::Decimal64(..)
            | T::Decimal128(..)
            | T::Date32
            | T::Time64(Microsecond)
            | T::Timestamp(Microsecond | Nanosecond, _)
            | T::FixedSizeBinary(16)
            | T::Utf8
            | T::LargeUtf8
            | T::Utf8View
            | T::Binary
            | T::LargeBinary
            | T::BinaryView
    )
}

/// Appends a value that is not nested.
fn leaf(column: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    use DataType as T;
    use TimeUnit::{Microsecond, Nanosecond};
    let zone = |zone: &Option<_>| if zone.is_some() { "Z" } else { "" };
    match column.data_type() {
        T::Boolean => decode::json(&column.as_boolean().value(row), out),
        T::Int8 => decode::json(&column.as_primitive::<Int8Type>().value(row), out),
        T::Int16 => decode::json(&column.as_primitive::<Int16Type>().value(row), out),
        T::Int32 => decode::json(&column.as_primitive::<Int32Type>().value(row), out),
        T::Int64 => decode::json(&column.as_primitive::<Int64Type>().value(row), out),
        T::Float32 => decode::json(&column.as_primitive::<Float32Type>().value(row), out),
        T::Float64 => decode::json(&column.as_primitive::<Float64Type>().value(row), out),
        T::Decimal32(_, scale) => {
            let value = column.as_primitive::<Decimal32Type>().value(row);
            decode::decimal(value.into(), *scale, out)
        }
        T::Decimal64(_, scale) => {
            let value = column.as_primitive::<Decimal64Type>().value(row);
            decode::decimal(value.into(), *scale, out)
        }
        T::Decimal128(_, scale) => {
            decode::decimal(column.as_primitive::<Decimal128Type>().value(row), *scale, out)
        }
        T::Date32 => decode::date(column.as_primitive::<Date32Type>().value(row), out),
        T::Time64(Microsecond) => {
            decode::time_of_day(column.as_primitive::<Time64MicrosecondType>().value(row), out)
        }
        T::Timestamp(Microsecond, in_zone) => {
            let value = column.as_primitive::<TimestampMicrosecondType>().value(row);
            decode::microseconds(value, zone(in_zone), out)
        }
        T::Timestamp(Nanosecond, in_zone) => {
            let value = column.as_primitive::<TimestampNanosecondType>().value(row);
            decode::nanoseconds(value, zone(in_zone), out)
        }
        T::FixedSizeBinary(16) => {
            let id = column.as_fixed_size_binary().value(row);
            decode::uuid(id.try_into().map_err(|_| INVALID)?, out)
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View => {
            let text = cast(&column.slice(row, 1), &T::Utf8View).map_err(|_| INVALID)?;
            decode::json(text.as_string_view().value(0), out)
        }
        T::Binary | T::LargeBinary | T::BinaryView => {
            let bytes = cast(&column.slice(row, 1), &T::BinaryView).map_err(|_| INVALID)?;
            decode::base64(bytes.as_binary_view().value(0), out)
        }
        _ => Err(INVALID),
    }
}
