// SPDX-License-Identifier: Apache-2.0
//! The columns of a plan that a circuit can decode: the plan's columns and the chunks' codecs and
//! encodings → the generator's columns.

use arrow_schema::DataType;
use arrowsmith_parquet::{Column, Conversion, File, Leaf, Physical, ReadPlan};
use arrowsmith_rtlgen::graph::Refusal;
use arrowsmith_rtlgen::parquet as rtl;
use parquet::basic::{Compression, Encoding};

/// The columns of a circuit for all row groups of a file, each with the encodings and the codec of
/// its chunks.
///
/// # Errors
///
/// A column that repeats or is part of a nullable structure, an unsupported type or conversion, a
/// codec other than Snappy, an unsupported encoding: with the column's path.
pub fn columns(file: &File, plan: &ReadPlan) -> Result<Vec<rtl::Column>, Refusal> {
    plan.fields.iter().map(|field| column(file, field)).collect()
}

/// One of them.
///
/// # Errors
///
/// As [`columns`].
pub fn column(file: &File, field: &Column) -> Result<rtl::Column, Refusal> {
    match field {
        Column::Leaf(leaf) => of_leaf(file, leaf),
        _ => refuse(field.field().name(), "is nested"),
    }
}

fn refuse<T>(path: &str, reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { path: path.to_owned(), reason: reason.into() })
}

fn of_leaf(file: &File, leaf: &Leaf) -> Result<rtl::Column, Refusal> {
    let path = leaf.path.as_str();
    if leaf.max_rep > 0 || leaf.max_def > 1 {
        return refuse(path, "is nested");
    }
    if leaf.conversion != Conversion::AsStored {
        return refuse(path, "is stored as another type than Arrow's");
    }
    let kind = match (leaf.physical, leaf.field.data_type()) {
        (Physical::BYTE_ARRAY, DataType::Utf8 | DataType::Binary) => rtl::Kind::Bytes,
        (Physical::INT32 | Physical::FLOAT, other) if other.primitive_width() == Some(4) => {
            rtl::Kind::Bits32
        }
        (Physical::INT64 | Physical::DOUBLE, other) if other.primitive_width() == Some(8) => {
            rtl::Kind::Bits64
        }
        (physical, other) => return refuse(path, format!("is {physical} as {other}")),
    };
    let mut column = rtl::Column {
        path: leaf.path.clone(),
        kind,
        nullable: leaf.max_def > 0,
        plain: false,
        delta: false,
        dictionary: false,
        snappy: false,
    };
    for row_group in 0..file.row_groups() {
        let chunk = file.chunk(row_group, leaf.index);
        let chunk = chunk.or_else(|error| refuse(path, error.to_string()))?;
        match chunk.compression() {
            Compression::UNCOMPRESSED => {}
            Compression::SNAPPY => column.snappy = true,
            other => return refuse(path, format!("is compressed by {other}")),
        }
        if row_group > 0 && column.snappy != (chunk.compression() == Compression::SNAPPY) {
            return refuse(path, "is compressed in some row groups only");
        }
        for encoding in chunk.encodings() {
            match (encoding, kind) {
                (Encoding::PLAIN, _) => column.plain = true,
                // Of levels.
                #[expect(deprecated, reason = "old files name it for levels that they do not have")]
                (Encoding::RLE | Encoding::BIT_PACKED, _) => {}
                (Encoding::DELTA_BINARY_PACKED, rtl::Kind::Bits32 | rtl::Kind::Bits64)
                | (Encoding::DELTA_LENGTH_BYTE_ARRAY, rtl::Kind::Bytes) => column.delta = true,
                (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, _) => {
                    column.dictionary = true;
                }
                (other, _) => return refuse(path, format!("is encoded as {other}")),
            }
        }
    }
    if !(column.plain || column.delta || column.dictionary) {
        column.plain = true;
    }
    Ok(column)
}
