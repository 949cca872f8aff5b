// SPDX-License-Identifier: Apache-2.0
//! Columns of a Parquet file → circuit: a converter of column chunks to Arrow buffers, as in the
//! Parquet paper (Fig. 2) with a column decoder for every column.
//!
//! It generates the top: a decoder for each column with the features that the column needs, the
//! shared memory ports, and the registers. The decoders are `hdl/rtl/parquet`. Repeated columns,
//! and unsupported types, are refused by name. Software reads the file's footer.

mod project;
mod sample;
mod schema;
mod top;

#[cfg(test)]
mod tests;

use std::fmt;

pub use self::project::{fault, project, project_for};
pub use self::schema::columns_of_schema;
pub use crate::graph::Refusal;
use arrowsmith_core::hash::fnv1a;

use crate::registers::{RegisterMap, Shape};
use crate::without_implicit_nets;

/// Maximum columns of one circuit: 3 buffers each, and the inputs of the register map.
pub const COLUMNS_MAX: usize = 32;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 32 bits as stored: INT32, FLOAT.
    Bits32,
    /// 64 bits as stored: INT64, DOUBLE.
    Bits64,
    /// BYTE_ARRAY, with 32-bit offsets. Software checks that text is UTF-8.
    Bytes,
}

/// A column, and the features of its decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its path in the schema, dotted.
    pub path: String,
    /// The type of its values.
    pub kind: Kind,
    /// Whether it has definition levels 0 and 1.
    pub nullable: bool,
    /// PLAIN.
    pub plain: bool,
    /// DELTA_BINARY_PACKED; of bytes DELTA_LENGTH_BYTE_ARRAY.
    pub delta: bool,
    /// RLE_DICTIONARY.
    pub dictionary: bool,
    /// Snappy, else not compressed.
    pub snappy: bool,
}

impl Column {
    /// A column whose decoder supports all encodings but no compression.
    pub fn new(path: impl Into<String>, kind: Kind, nullable: bool) -> Self {
        let path = path.into();
        Self { path, kind, nullable, plain: true, delta: true, dictionary: true, snappy: false }
    }

    /// Buffers of its array, in Arrow's order.
    pub fn buffers(&self) -> Vec<&'static str> {
        let mut buffers = Vec::new();
        if self.nullable {
            buffers.push("validity");
        }
        match self.kind {
            Kind::Bytes => buffers.extend(["offsets", "bytes"]),
            Kind::Bits32 | Kind::Bits64 => buffers.push("values"),
        }
        buffers
    }
}

/// The capacity of a circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Prefix of the generated modules, a SystemVerilog identifier.
    pub name: String,
    /// Maximum entries of a dictionary: a power of two of 512 or more.
    pub entries: u32,
    /// Maximum bytes of a dictionary of strings: a power of two of 8,192 or more.
    pub entry_bytes: u32,
    /// Maximum words of 64 levels of a page: a power of two.
    pub level_words: u32,
    /// The history of Snappy, in bytes: a power of two of 8,192 or more. Encoders work in blocks of
    /// 65,536.
    pub history_bytes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "parquet".into(),
            entries: 4096,
            entry_bytes: 65_536,
            level_words: 4096,
            history_bytes: 65_536,
        }
    }
}

/// A generated circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// The top module.
    pub top: String,
    /// Name and text of the generated files, dependencies first. [`crate::library::with_library`]
    /// adds what they use.
    pub files: Vec<(String, String)>,
    /// Its registers.
    pub registers: RegisterMap,
    /// The columns, one input each.
    pub columns: Vec<Column>,
    /// Its capacity.
    pub options: Options,
    /// The value of the register `schema_hash`.
    pub schema_hash: u64,
}

/// Generates the circuit for columns.
///
/// # Errors
///
/// No column, too many, one without an encoding; a name that is not an identifier; a number out of
/// range.
pub fn generate(columns: &[Column], options: &Options) -> Result<Design, Refusal> {
    check(columns, options)?;
    let schema_hash = hash(columns, options);
    let buffers = columns.iter().flat_map(|column| {
        let named = |buffer: &'static str| format!("{} {buffer}", column.path);
        column.buffers().into_iter().map(named).collect::<Vec<_>>()
    });
    let registers = RegisterMap::converter(&Shape {
        name: options.name.clone(),
        schema_hash,
        units: u8::try_from(columns.len()).unwrap_or(u8::MAX),
        beat_bytes: 64,
        format: 2,
        inputs: columns.iter().map(|column| column.path.clone()).collect(),
        buffers: buffers.collect(),
    });
    let top = format!("{}_top", options.name);
    let files = [
        (format!("{}_regs.sv", options.name), registers.systemverilog()),
        (format!("{top}.sv"), top::text(columns, options, &registers)),
    ];
    let files = files.map(|(path, text)| (path, without_implicit_nets(&text))).into();
    let (columns, options) = (columns.to_vec(), options.clone());
    Ok(Design { top, files, registers, columns, options, schema_hash })
}

fn check(columns: &[Column], options: &Options) -> Result<(), Refusal> {
    let refuse =
        |path: &str, reason: &str| Err(Refusal { path: path.into(), reason: reason.into() });
    let identifier = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    if !identifier(&options.name) {
        return refuse("name", "is not an identifier in lower case");
    }
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return refuse("columns", "there are none, or more than 32");
    }
    for column in columns {
        if !(column.plain || column.delta || column.dictionary) {
            return refuse(&column.path, "has no encoding");
        }
    }
    for (name, value, least) in [
        ("entries", options.entries, 512),
        ("entry_bytes", options.entry_bytes, 8192),
        ("level_words", options.level_words, 16),
        ("history_bytes", options.history_bytes, 8192),
    ] {
        if !value.is_power_of_two() || value < least || value > 1 << 20 {
            return refuse(name, "is not a power of two, or out of range");
        }
    }
    Ok(())
}

/// 64-bit FNV-1a of the circuit's parameters.
fn hash(columns: &[Column], options: &Options) -> u64 {
    fnv1a(format!("{columns:?}{options:?}").bytes())
}

/// The features of its decoder, in words.
impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}, {}{}",
            self.kind,
            if self.nullable { ", nullable" } else { "" },
            top::encodings(self).join(", "),
            if self.snappy { ", Snappy" } else { "" }
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bits32 => "32 bits",
            Self::Bits64 => "64 bits",
            Self::Bytes => "bytes",
        })
    }
}
