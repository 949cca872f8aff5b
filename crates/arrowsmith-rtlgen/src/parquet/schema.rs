// SPDX-License-Identifier: Apache-2.0
//! An Arrow schema → the columns of a circuit for files that are written of it, whichever encodings their pages have.

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::{Column, Kind, Refusal};

/// The columns of a circuit that reads every encoding it can, of chunks that are compressed with Snappy or not.
///
/// # Errors
///
/// A field of a type that is stored in another way than Arrow has it, or that no circuit decodes: by its name.
pub fn columns_of_schema(schema: &Schema, snappy: bool) -> Result<Vec<Column>, Refusal> {
    let column = |field: &Field| -> Result<Column, Refusal> {
        let kind = kind(field.data_type())
            .map_err(|reason| Refusal { path: field.name().clone(), reason })?;
        Ok(Column { snappy, ..Column::new(field.name(), kind, field.is_nullable()) })
    };
    schema.fields().iter().map(|field| column(field)).collect()
}

/// What the values of a type are in a file, where they are the same bits as in Arrow.
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
