// SPDX-License-Identifier: Apache-2.0
//! The plan of a reading: a tree of columns with Arrow's types on one side and Parquet's levels on
//! the other.
//!
//! It is data: an engine decodes by it, a person can print it. `schema` makes it.

use std::fmt;
use std::ops::Range;

use arrow_schema::{DataType, FieldRef, SchemaRef, TimeUnit};
use arrowsmith_core::Result;
pub use parquet::basic::Type as Physical;

use crate::file::File;
use crate::options::ReadOptions;
use crate::schema;

/// How a stored value becomes one of the Arrow type. A dictionary column converts its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// The bits are those of the Arrow type: numbers of the same width, byte arrays of any form
    /// (text has to be UTF-8), FIXED_LEN_BYTE_ARRAY as fixed-size binary or, of two bytes, float16.
    AsStored,
    /// INT32 as an integer of 8 or 16 bits: the low bytes count.
    Narrow,
    /// INT32 or INT64 times this, in 64 bits; overflow is an error.
    Multiply(i64),
    /// INT64 divided by this, rounding down.
    Divide(i64),
    /// INT32 or INT64 as a decimal of another width: the sign is extended.
    IntegerToDecimal,
    /// FIXED_LEN_BYTE_ARRAY or BYTE_ARRAY, big-endian two's complement, as a decimal; overflow is
    /// an error.
    BytesToDecimal,
    /// INT96 (nanoseconds of the day, Julian day) as a timestamp of this unit, rounding down.
    Int96(TimeUnit),
    /// FIXED_LEN_BYTE_ARRAY of 12 bytes (months, days, milliseconds; little-endian) as an interval.
    Interval,
    /// Only nulls are stored.
    Null,
}

/// A column of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Name, Arrow type, nullability, metadata.
    pub field: FieldRef,
    /// Number of the column among the file's leaves.
    pub index: usize,
    /// Path in the Parquet schema, dotted.
    pub path: String,
    /// How values are stored.
    pub physical: Physical,
    /// Bytes of a value of FIXED_LEN_BYTE_ARRAY, else 0.
    pub type_bytes: usize,
    /// How stored values become those of the Arrow type.
    pub conversion: Conversion,
    /// Definition level of a present value.
    pub max_def: u16,
    /// Highest repetition level.
    pub max_rep: u16,
}

/// What a list is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Offsets of 32 bits.
    Small,
    /// Offsets of 64 bits.
    Large,
    /// Offsets and sizes of 32 bits.
    View,
    /// Offsets and sizes of 64 bits.
    LargeView,
    /// This many items in each; another number in a list that is not null is an error.
    Fixed(i32),
}

/// A column of lists.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Name, Arrow type, nullability, metadata.
    pub field: FieldRef,
    /// What a list is in memory.
    pub kind: ListKind,
    /// The column of its items.
    pub item: Box<Column>,
    /// Levels of its items.
    pub levels: RepeatedLevels,
}

/// A column of maps.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// Name, Arrow type, nullability, metadata.
    pub field: FieldRef,
    /// The column of its keys. Never null in Arrow, whatever the file allows.
    pub key: Box<Column>,
    /// The column of its values.
    pub value: Box<Column>,
    /// Levels of its entries.
    pub levels: RepeatedLevels,
}

/// The levels of a repeated field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatedLevels {
    /// Definition level from which the list is there, empty at least; below it is null (or a parent
    /// is null or empty).
    pub def_list: u16,
    /// Definition level from which an item is there (it may be null): `def_list + 1`.
    pub def_item: u16,
    /// Repetition level of an item that continues the list; a lower one begins another list.
    pub rep_item: u16,
}

/// A column of structures.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct {
    /// Name, Arrow type, nullability, metadata.
    pub field: FieldRef,
    /// Its columns, in the order of the field's type.
    pub children: Vec<Column>,
    /// Definition level from which the structure is there.
    pub def: u16,
}

/// A column, with what is inside of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Values.
    Leaf(Leaf),
    /// Lists.
    List(List),
    /// Structures.
    Struct(Struct),
    /// Maps.
    Map(Map),
}

impl Column {
    /// Name, Arrow type, nullability, metadata.
    pub fn field(&self) -> &FieldRef {
        match self {
            Self::Leaf(leaf) => &leaf.field,
            Self::List(list) => &list.field,
            Self::Struct(structure) => &structure.field,
            Self::Map(map) => &map.field,
        }
    }

    /// The Arrow type.
    pub fn data_type(&self) -> &DataType {
        self.field().data_type()
    }

    /// The leaves inside, in the order of the file's schema if the columns are.
    pub fn leaves(&self) -> Vec<&Leaf> {
        let mut leaves = Vec::new();
        self.collect(&mut leaves);
        leaves
    }

    fn collect<'a>(&'a self, leaves: &mut Vec<&'a Leaf>) {
        match self {
            Self::Leaf(leaf) => leaves.push(leaf),
            Self::List(list) => list.item.collect(leaves),
            Self::Struct(structure) => {
                for child in &structure.children {
                    child.collect(leaves);
                }
            }
            Self::Map(map) => {
                map.key.collect(leaves);
                map.value.collect(leaves);
            }
        }
    }

    fn explain(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let field = self.field();
        let null = if field.is_nullable() { " or null" } else { "" };
        write!(f, "{:indent$}{}: ", "", field.name(), indent = depth * 2)?;
        match self {
            Self::Leaf(leaf) => {
                write!(
                    f,
                    "{}{null} <- column {} {}",
                    leaf.field.data_type(),
                    leaf.index,
                    leaf.path
                )?;
                write!(f, ", {}", leaf.physical)?;
                if leaf.type_bytes > 0 {
                    write!(f, "({})", leaf.type_bytes)?;
                }
                if leaf.conversion != Conversion::AsStored {
                    write!(f, ", {:?}", leaf.conversion)?;
                }
                writeln!(f, ", levels {}/{}", leaf.max_def, leaf.max_rep)
            }
            Self::List(list) => {
                writeln!(f, "{:?} list{null}, {:?}", list.kind, list.levels)?;
                list.item.explain(f, depth + 1)
            }
            Self::Struct(structure) => {
                writeln!(f, "struct{null}, from level {}", structure.def)?;
                structure.children.iter().try_for_each(|child| child.explain(f, depth + 1))
            }
            Self::Map(map) => {
                writeln!(f, "map{null}, {:?}", map.levels)?;
                map.key.explain(f, depth + 1)?;
                map.value.explain(f, depth + 1)
            }
        }
    }
}

/// What is read of a file, and as which types.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadPlan {
    /// A column for each field of `schema`.
    pub fields: Vec<Column>,
    /// The schema of the batches, with the file's metadata.
    pub schema: SchemaRef,
}

impl ReadPlan {
    /// Makes the plan.
    ///
    /// # Errors
    /// A column that the file does not have, or a Parquet schema that has no meaning.
    pub fn new(file: &File, options: &ReadOptions) -> Result<Self> {
        schema::plan(file, options)
            .map_err(|error| error.at(|place| place.source = file.name().cloned()))
    }

    /// Numbers of the leaf columns that are read, in the order of the plan.
    pub fn leaves(&self) -> Vec<usize> {
        self.fields.iter().flat_map(Column::leaves).map(|leaf| leaf.index).collect()
    }

    /// The ranges of a file that the plan reads of a row group, in bytes, one for each leaf.
    ///
    /// # Errors
    /// A column chunk that is encrypted or not where its metadata says.
    pub fn ranges(&self, file: &File, row_group: usize) -> Result<Vec<Range<u64>>> {
        self.leaves().into_iter().map(|leaf| file.chunk_range(row_group, leaf)).collect()
    }
}

/// One line per column: Arrow's name and type, Parquet's column, physical type and levels.
impl fmt::Display for ReadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.iter().try_for_each(|column| column.explain(f, 0))
    }
}
