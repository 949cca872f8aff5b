// SPDX-License-Identifier: Apache-2.0
//! Plans as readable text: `arrowsmith convert --explain`.
//!
//! One line per decoder: its key in the JSON text, the values it accepts → the Arrow type it
//! produces. The text is stable, so that it can be compared, and [`Plan::hash`] is computed from
//! it.

use std::fmt::{self, Display, Formatter};

use arrow_schema::{DataType, TimeUnit};
use arrowsmith_core::hash::fnv1a;

use crate::plan::{BinaryEncoding, IntWidth, Node, Op, Plan};
use crate::text::{format_schema, format_type, quote};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.root().op {
            Op::Struct(fields) if !self.is_value_root() => {
                let columns = if fields.len() == 1 { "column" } else { "columns" };
                writeln!(f, "record: object → {} {columns}", fields.len())?;
                children(f, self.root(), "")
            }
            _ => {
                write!(f, "record: ")?;
                describe(f, self.root())?;
                writeln!(f)?;
                children(f, self.root(), "")
            }
        }
    }
}

impl Plan {
    /// A hash of the plan: equal for equal plans, on every platform and in every process.
    ///
    /// It is the 64-bit FNV-1a hash of the plan's text and its schema's, good enough to name a
    /// cached kernel or a generated circuit, but not collision-resistant against an attacker.
    pub fn hash(&self) -> u64 {
        let text = format!("{self}{}", format_schema(self.schema()));
        fnv1a(text.bytes())
    }
}

/// The decoders inside a decoder, drawn as branches.
fn children(f: &mut Formatter<'_>, node: &Node, indent: &str) -> fmt::Result {
    match &node.op {
        Op::List(item) | Op::FixedSizeList(item, _) => child(f, "[]", item, indent, true),
        Op::Map { key, value } => {
            child(f, "{key}", key, indent, false)?;
            child(f, "{value}", value, indent, true)
        }
        Op::Struct(fields) => {
            for (number, field) in fields.iter().enumerate() {
                let mut name = String::new();
                quote(&mut name, &field.key);
                child(f, &name, &field.node, indent, number + 1 == fields.len())?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn child(f: &mut Formatter<'_>, name: &str, node: &Node, indent: &str, last: bool) -> fmt::Result {
    let (branch, below) = if last { ("└─", "   ") } else { ("├─", "│  ") };
    write!(f, "{indent}{branch} {name}: ")?;
    describe(f, node)?;
    writeln!(f)?;
    children(f, node, &format!("{indent}{below}"))
}

/// The values that a decoder accepts, and the type it produces.
fn describe(f: &mut Formatter<'_>, node: &Node) -> fmt::Result {
    match &node.op {
        Op::Null => f.write_str("null")?,
        Op::Bool => f.write_str("true or false")?,
        Op::Int(width) => f.write_str(integers(*width))?,
        Op::Float(_) => f.write_str("number")?,
        Op::Decimal128 { .. } | Op::Decimal256 { .. } => f.write_str("number, exact")?,
        Op::Utf8 => f.write_str("string")?,
        Op::Json => f.write_str("any value, as text")?,
        Op::Binary(BinaryEncoding::Base64) => f.write_str("string of base64")?,
        Op::Binary(BinaryEncoding::Hex) => f.write_str("string of hex")?,
        Op::Date32 => f.write_str("date, or days")?,
        Op::Date64 => f.write_str("date or timestamp, or milliseconds")?,
        Op::Time(unit) => write!(f, "time of day, or {}", units(*unit))?,
        Op::Timestamp { unit, .. } => write!(f, "timestamp, or {}", units(*unit))?,
        Op::Duration(unit) => write!(f, "duration, or {}", units(*unit))?,
        Op::List(_) => f.write_str("array")?,
        Op::FixedSizeList(_, len) => write!(f, "array of {len}")?,
        Op::Struct(_) => f.write_str("object")?,
        Op::Map { .. } => f.write_str("object of any keys")?,
    }
    if let Some(coercion) = &node.coercion {
        write!(f, ", {coercion}")?;
    }
    f.write_str(" → ")?;
    match &node.data_type {
        // Their children have lines of their own.
        DataType::List(_) => f.write_str("list")?,
        DataType::LargeList(_) => f.write_str("large_list")?,
        DataType::FixedSizeList(..) => f.write_str("fixed_size_list")?,
        DataType::Struct(_) => f.write_str("struct")?,
        DataType::Map(..) => f.write_str("map")?,
        other => f.write_str(&format_type(other))?,
    }
    if node.nullable { Ok(()) } else { f.write_str(" not null") }
}

fn integers(width: IntWidth) -> &'static str {
    match width {
        IntWidth::I8 => "integer -128..=127",
        IntWidth::I16 => "integer -32768..=32767",
        IntWidth::I32 => "integer -2147483648..=2147483647",
        IntWidth::I64 => "integer",
        IntWidth::U8 => "integer 0..=255",
        IntWidth::U16 => "integer 0..=65535",
        IntWidth::U32 => "integer 0..=4294967295",
        IntWidth::U64 => "integer 0..",
    }
}

fn units(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    }
}
