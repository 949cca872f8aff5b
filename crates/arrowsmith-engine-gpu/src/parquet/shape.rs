// SPDX-License-Identifier: Apache-2.0
//! Which columns the kernels support, and how their values are converted to the Arrow type.

use arrow_schema::DataType;
use arrowsmith_engine::Declined;
use arrowsmith_parquet::nest::{Ancestor, Nest, NestedLeaf};
use arrowsmith_parquet::{Column, Conversion, Leaf, Physical};

use crate::abi::Turn;

/// Maximum bytes of a stored number.
const NUMBER_BYTES_MAX: usize = 64;

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Booleans.
    Bits,
    /// Values of `stored` bytes in the file and `width` bytes in the array.
    Fixed { stored: u64, width: u64, turn: Turn, factor: i64 },
    /// Values of variable length; whether offsets have 64 bits, and whether it is text.
    Bytes { large: bool, utf8: bool },
    /// Decimals of `width` bytes, stored as strings.
    Decimals { width: u64 },
}

impl Form {
    /// Whether values have variable length.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Bytes { .. } | Self::Decimals { .. })
    }
}

/// A leaf that the kernels support.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub leaf: usize,
    pub physical: Physical,
    pub form: Form,
    /// The form of the entries of a dictionary.
    values: Form,
    /// What the device makes, and how to handle it: the type of the leaf, or of the entries of
    /// its dictionary.
    pub made: DataType,
    pub data_type: DataType,
    /// The dictionary type, where the leaf is one: then keys are decoded, and entries separately.
    pub keys: Option<DataType>,
    pub nullable: bool,
    pub def_max: u64,
    pub rep_max: u64,
    /// Levels (repetition, definition) at which a value begins.
    pub slots: (u8, u8),
    /// The ancestors of which it is the first leaf.
    pub ancestors: Vec<Ancestor>,
}

impl Shape {
    pub fn new(nested: &NestedLeaf) -> Result<Self, String> {
        let leaf = &nested.leaf;
        let target = leaf.field.data_type();
        let (data_type, keys) = match target {
            DataType::Dictionary(_, values) => (values.as_ref().clone(), Some(target.clone())),
            other => (other.clone(), None),
        };
        let made = match data_type {
            DataType::Utf8View => DataType::Utf8,
            DataType::BinaryView => DataType::Binary,
            _ => data_type.clone(),
        };
        let values = form(leaf, &made)?;
        Ok(Self {
            leaf: leaf.index,
            physical: leaf.physical,
            form: match keys {
                Some(_) => Form::Fixed { stored: 4, width: 4, turn: Turn::Key, factor: 1 },
                None => values,
            },
            values,
            made,
            data_type,
            keys,
            nullable: leaf.field.is_nullable(),
            def_max: u64::from(leaf.max_def),
            rep_max: u64::from(leaf.max_rep),
            slots: (nested.slots.repetition, nested.slots.definition),
            ancestors: nested.ancestors.clone(),
        })
    }

    /// The shape of the dictionary's entries.
    pub fn entries(&self) -> Self {
        Self {
            form: self.values,
            keys: None,
            nullable: false,
            def_max: 0,
            rep_max: 0,
            slots: (0, 0),
            ancestors: Vec::new(),
            ..self.clone()
        }
    }
}

/// The shapes of a field's leaves.
///
/// # Errors
/// What in it the kernels do not support, in words.
pub(super) fn shapes(nest: &Nest) -> Result<Vec<Shape>, String> {
    nest.leaves.iter().map(Shape::new).collect()
}

/// Checks whether the kernels support a column.
///
/// # Errors
/// What in it they do not support.
pub(crate) fn check(column: &Column) -> Result<(), Declined> {
    let nest = Nest::new(column).map_err(|error| error.to_string());
    let shapes = nest.and_then(|nest| shapes(&nest));
    shapes.map(|_| ()).map_err(|reason| Declined::new(column.field().name(), reason))
}

fn form(leaf: &Leaf, target: &DataType) -> Result<Form, String> {
    use Conversion as C;
    use DataType as D;
    use Physical as P;
    let unsupported = || Err(format!("{} as {target}", leaf.physical));
    let stored = match leaf.physical {
        P::INT32 | P::FLOAT => 4,
        P::INT64 | P::DOUBLE => 8,
        P::INT96 => 12,
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
        (C::BytesToDecimal, P::FIXED_LEN_BYTE_ARRAY, _) if leaf.type_bytes <= NUMBER_BYTES_MAX => {
            fixed(Turn::Big, 1)
        }
        (C::BytesToDecimal, P::BYTE_ARRAY, _) if width > 0 => Ok(Form::Decimals { width }),
        (C::Int96(unit), P::INT96, _) if width == 8 => {
            use arrow_schema::TimeUnit as U;
            let nanoseconds = match unit {
                U::Second => 1_000_000_000,
                U::Millisecond => 1_000_000,
                U::Microsecond => 1_000,
                U::Nanosecond => 1,
            };
            fixed(Turn::Int96, nanoseconds)
        }
        _ => unsupported(),
    }
}
