// SPDX-License-Identifier: Apache-2.0
//! An Arrow schema → the columns of a circuit for files written with that schema, in any encoding.

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::{Column, Kind, Refusal};

/// The columns of a circuit that reads every encoding it supports, of chunks with Snappy
/// compression or without.
///
/// # Errors
///
/// A field of a type whose stored form differs from Arrow's, or that no circuit decodes, with its
/// name.
pub fn columns_of_schema(schema: &Schema, snappy: bool) -> Result<Vec<Column>, Refusal> {
    let column = |field: &Field| -> Result<Column, Refusal> {
        let kind = kind(field.data_type())
            .map_err(|reason| Refusal { path: field.name().clone(), reason })?;
        Ok(Column { snappy, ..Column::new(field.name(), kind, field.is_nullable()) })
    };
    schema.fields().iter().map(|field| column(field)).collect()
}

/// The kind of a type's values in a file, if they have the same bits as in Arrow.
fn kind(data_type: &DataType) -> Result<Kind, String> {
    Ok(match data_type {
        DataType::Int32 | DataType::UInt32 | DataType::Float32 | DataType::Date32 => Kind::Bits32,
        DataType::Time32(TimeUnit::Millisecond) => Kind::Bits32,
        DataType::Int64 | DataType::UInt64 | DataType::Float64 | DataType::Time64(_) => {
            Kind::Bits64
        }
        DataType::Timestamp(unit, _) if *unit != TimeUnit::Second => Kind::Bits64,
        DataType::Utf8 | DataType::Binary => Kind::Bytes,
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..) => {
            return Err(format!("is {data_type}: nested columns have no circuit"));
        }
        other => return Err(format!("is {other}: no circuit has values of this type")),
    })
}
