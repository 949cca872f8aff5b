// SPDX-License-Identifier: Apache-2.0
//! Which columns the kernels hold, and how their values become those of the Arrow type.

use arrow_schema::{DataType, IntervalUnit};
use arrowsmith_parquet::{Column, Conversion, Leaf, Physical};

/// How a stored number becomes one of the Arrow type, in the numbers of `values.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Turn {
    Copy,
    Low,
    Extend,
    Multiply,
    Divide,
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Booleans.
    Bits,
    /// So many bytes stored, so many in the array.
    Fixed { stored: u64, width: u64, turn: Turn, factor: i64 },
    /// Bytes of any number; whether offsets have 64 bits, and whether it is text.
    Bytes { large: bool, utf8: bool },
}

/// A column that the kernels hold.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub leaf: usize,
    pub physical: Physical,
    pub form: Form,
    pub data_type: DataType,
    pub nullable: bool,
}

impl Shape {
    pub fn new(column: &Column) -> Result<Self, String> {
        let Column::Leaf(leaf) = column else {
            return Err("lists, maps and structures".to_owned());
        };
        if leaf.max_rep > 0 || leaf.max_def > 1 {
            return Err("values inside lists and structures".to_owned());
        }
        Ok(Self {
            leaf: leaf.index,
            physical: leaf.physical,
            form: form(leaf)?,
            data_type: leaf.field.data_type().clone(),
            nullable: leaf.field.is_nullable(),
        })
    }
}

/// Whether the kernels hold a column.
///
/// # Errors
/// What in it they do not, in words.
pub fn supports(column: &Column) -> Result<(), String> {
    Shape::new(column).map(|_| ())
}

fn form(leaf: &Leaf) -> Result<Form, String> {
    use Conversion as C;
    use DataType as D;
    use Physical as P;
    let target = leaf.field.data_type();
    let unsupported = || Err(format!("{} as {target}", leaf.physical));
    let stored = match leaf.physical {
        P::INT32 | P::FLOAT => 4,
        P::INT64 | P::DOUBLE => 8,
        P::FIXED_LEN_BYTE_ARRAY => leaf.type_bytes as u64,
        _ => 0,
    };
    let width = match target {
        D::FixedSizeBinary(_) => stored,
        other => other.primitive_width().unwrap_or(0) as u64,
    };
    let fixed = |turn, factor| {
        if stored == 0 || width == 0 {
            return unsupported();
        }
        Ok(Form::Fixed { stored, width, turn, factor })
    };
    match (leaf.conversion, leaf.physical, target) {
        (C::AsStored, P::BOOLEAN, D::Boolean) => Ok(Form::Bits),
        (C::AsStored, P::BYTE_ARRAY, D::Utf8) => Ok(Form::Bytes { large: false, utf8: true }),
        (C::AsStored, P::BYTE_ARRAY, D::Binary) => Ok(Form::Bytes { large: false, utf8: false }),
        (C::AsStored, P::BYTE_ARRAY, D::LargeUtf8) => Ok(Form::Bytes { large: true, utf8: true }),
        (C::AsStored, P::BYTE_ARRAY, D::LargeBinary) => {
            Ok(Form::Bytes { large: true, utf8: false })
        }
        (C::AsStored, P::INT32 | P::INT64 | P::FLOAT | P::DOUBLE, target)
            if target.is_primitive() && stored == width =>
        {
            fixed(Turn::Copy, 1)
        }
        (C::AsStored, P::FIXED_LEN_BYTE_ARRAY, D::FixedSizeBinary(_) | D::Float16)
            if stored == width =>
        {
            fixed(Turn::Copy, 1)
        }
        (C::Narrow, P::INT32, target) if target.is_integer() => fixed(Turn::Low, 1),
        (C::IntegerToDecimal, P::INT32 | P::INT64, _) => fixed(Turn::Extend, 1),
        (C::Multiply(by), P::INT32 | P::INT64, _) if width == 8 => fixed(Turn::Multiply, by),
        (C::Divide(by), P::INT64, _) if width == 8 && by > 0 => fixed(Turn::Divide, by),
        (_, _, D::Interval(IntervalUnit::MonthDayNano)) => unsupported(),
        _ => unsupported(),
    }
}
