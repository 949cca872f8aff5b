// SPDX-License-Identifier: Apache-2.0
//! Values of options: as an interface gives them, and how the types of the fields take them.

use std::fmt;

use arrow_schema::{SchemaRef, TimeUnit};
use arrowsmith_core::{Dialect, DuplicateKeys, Framing, OnError, UnknownKeys};
use arrowsmith_pipeline::RecordsPath;
use arrowsmith_plan::Coercion;
use arrowsmith_source::Compression;

use super::Refused;
use super::kind::{Choice, Choices, Kind, Wrong};
use crate::parquet::{Columns, LateColumns, ListForm, Predicate, StringForm};

/// A value of an option, as an interface has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value: the default.
    Default,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A schema that the interface has as such.
    Schema(SchemaRef),
    /// A condition that the interface has as such.
    Condition(Box<Predicate>),
    /// Anything else, as an error names it: no option accepts it.
    Other(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("no value"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(_) => f.write_str("a list"),
            Self::Schema(_) => f.write_str("a schema"),
            Self::Condition(_) => f.write_str("a condition"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// The type of an option's field.
pub(super) trait OptionValue: Sized {
    /// The field of a value that [`Kind::check`] let pass.
    fn of(value: Value) -> Option<Self>;

    /// The value of a field.
    fn value(&self) -> Value;
}

/// Sets a field, or puts its default back.
pub(super) fn assign<T: OptionValue>(
    field: &mut T,
    (name, kind): (&str, &Kind),
    value: Value,
    default: impl FnOnce() -> T,
) -> Result<(), Refused> {
    if matches!(value, Value::Default) {
        *field = default();
        return Ok(());
    }
    let found = value.to_string();
    let checked = kind.check(value).map_err(|wrong| match wrong {
        Wrong::Type(text) => Refused::Type(format!("{name}: {text}")),
        Wrong::Value(text) => Refused::Value(format!("{name}: {text}")),
        Wrong::Failed(error) => Refused::Failed(error),
    })?;
    let too_large = || Refused::Value(format!("{name}: {found} is too large"));
    *field = T::of(checked).ok_or_else(too_large)?;
    Ok(())
}

impl OptionValue for bool {
    fn of(value: Value) -> Option<Self> {
        if let Value::Flag(flag) = value { Some(flag) } else { None }
    }

    fn value(&self) -> Value {
        Value::Flag(*self)
    }
}

impl OptionValue for usize {
    fn of(value: Value) -> Option<Self> {
        if let Value::Integer(number) = value { Self::try_from(number).ok() } else { None }
    }

    fn value(&self) -> Value {
        // No machine has more than 128 bits.
        i128::try_from(*self).map_or(Value::Default, Value::Integer)
    }
}

impl OptionValue for u64 {
    fn of(value: Value) -> Option<Self> {
        if let Value::Integer(number) = value { Self::try_from(number).ok() } else { None }
    }

    fn value(&self) -> Value {
        Value::Integer((*self).into())
    }
}

impl OptionValue for String {
    fn of(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text) } else { None }
    }

    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl OptionValue for RecordsPath {
    fn of(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { text.parse().ok() } else { None }
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

impl OptionValue for Coercion {
    fn of(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { text.parse().ok() } else { None }
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn of(value: Value) -> Option<Self> {
        T::of(value).map(Some)
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Default, T::value)
    }
}

impl<T: OptionValue> OptionValue for Vec<T> {
    fn of(value: Value) -> Option<Self> {
        let Value::List(list) = value else { return None };
        list.into_iter().map(T::of).collect()
    }

    fn value(&self) -> Value {
        Value::List(self.iter().map(T::value).collect())
    }
}

impl OptionValue for SchemaRef {
    fn of(value: Value) -> Option<Self> {
        if let Value::Schema(schema) = value { Some(schema) } else { None }
    }

    fn value(&self) -> Value {
        Value::Schema(Self::clone(self))
    }
}

impl OptionValue for Predicate {
    fn of(value: Value) -> Option<Self> {
        if let Value::Condition(condition) = value { Some(*condition) } else { None }
    }

    fn value(&self) -> Value {
        Value::Condition(Box::new(self.clone()))
    }
}

impl OptionValue for Columns {
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Flag(true) => Some(Self::All),
            Value::Flag(false) => Some(Self::None),
            list => Vec::of(list).map(Self::Paths),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::None => Value::Flag(false),
            Self::All => Value::Flag(true),
            Self::Paths(paths) => paths.value(),
        }
    }
}

/// How many records a schema is inferred from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InferRecords {
    /// At most this many, from the start.
    First(u64),
    /// All of them.
    All,
}

impl OptionValue for InferRecords {
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Text(_) => Some(Self::All),
            number => u64::of(number).map(Self::First),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::First(records) => records.value(),
            Self::All => Value::Text("all".to_owned()),
        }
    }
}

/// How records are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Detected from the first bytes of each input.
    #[default]
    Auto,
    /// One record per line.
    Ndjson,
    /// Records one after another, each on any number of lines.
    Concatenated,
    /// The elements of one array.
    Array,
}

impl Format {
    /// The framing; `None` where it is detected.
    #[must_use]
    pub fn framing(self) -> Option<Framing> {
        match self {
            Self::Auto => None,
            Self::Ndjson => Some(Framing::Lines),
            Self::Concatenated => Some(Framing::Concatenated),
            Self::Array => Some(Framing::Array),
        }
    }
}

/// How to handle keys that an inferred schema lacks, because they first appear after the records
/// that it was inferred from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LateKeys {
    /// They become columns; where the schema was handed out before, they are an error.
    #[default]
    Add,
    /// [`ErrorKind::UnknownKey`](crate::ErrorKind::UnknownKey) ends the reading, however bad
    /// records are handled: the record is valid.
    Error,
    /// Such values are skipped, and counted in [`Progress::left_out`](crate::Progress::left_out).
    Ignore,
}

impl LateKeys {
    /// Whether they are errors where the schema cannot grow. Of some columns nothing is missing for
    /// a key that is not among them.
    pub(crate) fn fail(self, rescued: bool, projected: bool) -> bool {
        match self {
            Self::Add => !rescued && !projected,
            Self::Error => true,
            Self::Ignore => false,
        }
    }
}

/// The words for the values of a type.
macro_rules! choices {
    ($table:ident, $type:ident, $metavar:literal:
        $($name:literal $(| $alias:literal)* => $variant:ident $(, $help:literal)?;)+) => {
        /// The words for the values.
        pub(super) static $table: Choices = Choices {
            metavar: $metavar,
            all: &[$(Choice {
                name: $name,
                aliases: &[$($alias),*],
                help: concat!($($help)?),
            },)+],
        };

        impl OptionValue for $type {
            fn of(value: Value) -> Option<Self> {
                let Value::Text(text) = value else { return None };
                Some(match text.as_str() {
                    $($name => Self::$variant,)+
                    _ => return None,
                })
            }

            fn value(&self) -> Value {
                Value::Text(match self { $(Self::$variant => $name,)+ }.to_owned())
            }
        }
    };
}

choices! { FORMAT, Format, "FORMAT":
    "auto" => Auto, "Detect from the first bytes: an array, one record per line, or else concatenated";
    "ndjson" | "jsonl" | "lines" => Ndjson, "One record per line";
    "concatenated" | "json" => Concatenated,
        "Records one after another, each on any number of lines";
    "array" => Array, "The elements of one array";
}

choices! { COMPRESSION, Compression, "COMPRESSION":
    "auto" => Auto, "Detect from the first bytes";
    "none" => None;
    "gzip" => Gzip;
    "zstd" => Zstd;
    "lz4" => Lz4;
    "bzip2" | "bz2" => Bzip2;
    "xz" => Xz;
}

choices! { DIALECT, Dialect, "DIALECT":
    "iso" => Iso, "Exactly ISO 8601; strings only in columns of strings";
    "spark" => Spark, "As Apache Spark 4 reads JSON";
}

choices! { ON_ERROR, OnError, "ACTION":
    "fail" => Fail, "Stop with an error; the rows before it are kept";
    "null" => Null, "Replace a value that does not match by null";
    "skip" => Skip, "Skip the record";
}

choices! { DUPLICATE_KEYS, DuplicateKeys, "RULE":
    "last" => Last, "Use the last value";
    "error" => Error, "Treat the record as one that does not match the schema";
}

choices! { UNKNOWN_KEYS, UnknownKeys, "RULE":
    "skip" => Skip, "Ignore the key and its value";
    "error" => Error, "Treat the record as one that does not match the schema";
}

choices! { LATE_KEYS, LateKeys, "RULE":
    "add" => Add, "Add columns; an error in streams, whose schema comes first";
    "error" => Error, "Fail, with the key and its position";
    "ignore" => Ignore, "Skip the key and its value, and count it";
}

choices! { LATE_COLUMNS, LateColumns, "RULE":
    "error" => Error, "Fail, with the column's name, unless only other columns are read";
    "add" => Add, "Add columns: the metadata of all files is read first, and types hold their values";
    "ignore" => Ignore, "Leave the column out";
}

choices! { STRINGS, StringForm, "FORM":
    "auto" => AsFile, "As in the Arrow schema that is stored in the file, else small";
    "small" => Small, "32-bit offsets: utf8, binary";
    "large" => Large, "64-bit offsets: large_utf8, large_binary";
    "view" => View, "Views: utf8_view, binary_view";
}

choices! { LISTS, ListForm, "FORM":
    "auto" => AsFile, "As in the Arrow schema that is stored in the file, else small";
    "small" => Small, "32-bit offsets: list";
    "large" => Large, "64-bit offsets: large_list";
}

choices! { TIMESTAMP_UNIT, TimeUnit, "UNIT":
    "s" => Second;
    "ms" => Millisecond;
    "us" => Microsecond;
    "ns" => Nanosecond;
}
