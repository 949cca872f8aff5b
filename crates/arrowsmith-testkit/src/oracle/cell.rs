// SPDX-License-Identifier: Apache-2.0
//! A value of any column, in a simple form: the result of the oracle, the input of array builders,
//! and the output of the generators of random data.

use arrow_buffer::i256;

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cell {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer, date, time, timestamp or duration, in the column's unit.
    Int(i128),
    /// The bits of a floating-point number of the column's width.
    Float(u64),
    /// A decimal times ten to its scale.
    Decimal(i256),
    /// A string, or the JSON text of an `arrow.json` column.
    Text(String),
    /// Binary.
    Bytes(Vec<u8>),
    /// Any list.
    List(Vec<Cell>),
    /// The fields of a struct, in the order of the schema.
    Struct(Vec<Cell>),
    /// The entries of a map.
    Map(Vec<(Cell, Cell)>),
}

impl Cell {
    /// Whether there is no value.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}
