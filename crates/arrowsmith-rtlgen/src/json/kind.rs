// SPDX-License-Identifier: Apache-2.0
//! The kind of value that a plan's node takes, as far as circuits distinguish types; and the types
//! they do not take.

use arrow_schema::{DataType, TimeUnit};
use arrowsmith_core::{Error, Result};
use arrowsmith_plan::plan::{FloatWidth, IntWidth, Node, Op};

/// The kind of value a node takes; the names of `as_json_pkg::kind_e`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An object.
    Struct,
    /// A list of any length.
    List,
    /// A list of this many items.
    Fixed(u16),
    /// An integer: signed or not, bits.
    Int(bool, u8),
    /// A floating-point number: bits.
    Float(u8),
    /// A 128-bit decimal: precision and scale.
    Decimal(u8, i8),
    /// A date or a time.
    Time(TimeForm),
    /// `true` or `false`.
    Bool,
    /// A string.
    Text,
    /// `null` only.
    Null,
}

/// What the text of a date or time denotes, and the type of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeForm {
    /// The name in `as_json_pkg::time_kind_e`.
    pub kind: &'static str,
    /// Whether a text must have an offset from UTC.
    pub zoned: bool,
    /// Unit of the numbers; unused for dates.
    pub unit: TimeUnit,
    /// Bits of the numbers: 32 or 64.
    pub bits: u8,
}

impl Kind {
    /// Bytes of an element, for kinds with fixed-size elements.
    pub fn element_bytes(self) -> Option<u8> {
        match self {
            Self::Int(_, bits) | Self::Float(bits) => Some(bits / 8),
            Self::Decimal(..) => Some(16),
            Self::Time(form) => Some(form.bits / 8),
            _ => None,
        }
    }

    /// The kind of value a plan's node takes.
    ///
    /// # Errors
    /// [`Error::Schema`] names the field that circuits cannot decode.
    pub(super) fn of(node: &Node, path: &str) -> Result<Self> {
        let refuse = |what: &str| Err(Error::schema(path, format!("the circuit has no {what}")));
        if matches!(node.data_type, DataType::Dictionary(..)) {
            return refuse("dictionaries");
        }
        Ok(match &node.op {
            Op::Null => Self::Null,
            Op::Bool => Self::Bool,
            Op::Int(width) => {
                let bits = match width {
                    IntWidth::I8 | IntWidth::U8 => 8,
                    IntWidth::I16 | IntWidth::U16 => 16,
                    IntWidth::I32 | IntWidth::U32 => 32,
                    IntWidth::I64 | IntWidth::U64 => 64,
                };
                Self::Int(width.is_signed(), bits)
            }
            Op::Utf8 => Self::Text,
            Op::Struct(_) => Self::Struct,
            Op::List(_) => Self::List,
            Op::FixedSizeList(_, len) => match u16::try_from(*len) {
                Ok(len) => Self::Fixed(len),
                Err(_) => return refuse("fixed-size lists of more than 65535 items"),
            },
            Op::Float(FloatWidth::F64) => Self::Float(64),
            Op::Float(FloatWidth::F32) => Self::Float(32),
            Op::Float(FloatWidth::F16) => return refuse("floating-point numbers of 16 bits"),
            Op::Decimal128 { precision, scale } => Self::Decimal(*precision, *scale),
            Op::Decimal256 { .. } => return refuse("decimals of 256 bits"),
            Op::Date32 => Self::Time(TimeForm {
                kind: "TimeDate",
                zoned: false,
                unit: TimeUnit::Second,
                bits: 32,
            }),
            Op::Date64 => Self::Time(TimeForm {
                kind: "TimeStamp",
                zoned: false,
                unit: TimeUnit::Millisecond,
                bits: 64,
            }),
            Op::Time(unit) => {
                let bits =
                    if matches!(unit, TimeUnit::Second | TimeUnit::Millisecond) { 32 } else { 64 };
                Self::Time(TimeForm { kind: "TimeOfDay", zoned: false, unit: *unit, bits })
            }
            Op::Timestamp { unit, zone } => {
                let utc = |zone: &str| ["UTC", "Etc/UTC", "GMT", "Z", "z"].contains(&zone);
                let zoned = zone.as_deref().is_some_and(|zone| !utc(zone));
                Self::Time(TimeForm { kind: "TimeStamp", zoned, unit: *unit, bits: 64 })
            }
            Op::Duration(_) => return refuse("durations"),
            Op::Json => return refuse("JSON kept as text"),
            Op::Binary(_) => return refuse("binary"),
            Op::Map { .. } => return refuse("maps"),
            _ => return refuse("such type"),
        })
    }
}

/// Whether validity of this kind belongs to lists and objects.
pub fn is_outer(kind: Kind) -> bool {
    matches!(kind, Kind::Struct | Kind::List | Kind::Fixed(_))
}
