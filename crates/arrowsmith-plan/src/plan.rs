// SPDX-License-Identifier: Apache-2.0
//! The plan: an Arrow schema compiled to a tree of typed decoders.
//!
//! A [`Node`] has the operation that decodes one JSON value ([`Op`]) and the Arrow type of the
//! result. Several Arrow types share an operation (utf8, large utf8, utf8 view; list, large list):
//! an engine's inner loop branches on the operation, and assembles the type at the end.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use arrowsmith_core::{Error, Result};

use crate::coerce::{self, Coercion};
use crate::unselected;

/// Schema metadata key for the kind of records: `"value"` if records are not objects but the values
/// of the schema's only column; absent otherwise.
pub const ROOT_METADATA_KEY: &str = "arrowsmith:root";

/// Name of the only column if records are not objects.
pub const VALUE_FIELD_NAME: &str = "value";

/// Field metadata key that declares how binary is written in JSON: `base64` (default) or `hex`.
pub const ENCODING_METADATA_KEY: &str = "arrowsmith:encoding";

/// Field metadata key and value of Arrow's canonical JSON extension type: any JSON value, kept as
/// text.
pub const EXTENSION_NAME_KEY: &str = "ARROW:extension:name";

/// See [`EXTENSION_NAME_KEY`].
pub const JSON_EXTENSION_NAME: &str = "arrow.json";

/// An Arrow schema compiled for decoding.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    schema: SchemaRef,
    root: Node,
    value_root: bool,
}

/// How one value is decoded, and the type of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The operation of the decoder.
    pub op: Op,
    /// The Arrow type of the column.
    pub data_type: DataType,
    /// Whether `null`, or a missing value, is allowed.
    pub nullable: bool,
    /// What it accepts beyond the values of its type.
    pub coercion: Option<Arc<Coercion>>,
    /// Of an object: keys that the schema has besides the fields. They are skipped, and are not
    /// unknown.
    pub unselected: Vec<String>,
}

/// One key of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldPlan {
    /// The key, unescaped.
    pub key: String,
    /// The decoder of its value.
    pub node: Node,
}

/// Width of an integer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IntWidth {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl IntWidth {
    /// Whether the column accepts negative numbers.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
}

/// Width of a floating-point column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum FloatWidth {
    F16,
    F32,
    F64,
}

/// The encoding of binary values in JSON strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BinaryEncoding {
    Base64,
    Hex,
}

/// The operation that decodes a JSON value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// `null` only.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number without fraction or exponent.
    Int(IntWidth),
    /// Any number, correctly rounded.
    Float(FloatWidth),
    /// Any number, or a string that contains one, exact at this scale; 128 bits.
    Decimal128 {
        /// Total decimal digits.
        precision: u8,
        /// Digits after the decimal point.
        scale: i8,
    },
    /// The same in 256 bits.
    Decimal256 {
        /// Total decimal digits.
        precision: u8,
        /// Digits after the decimal point.
        scale: i8,
    },
    /// A string: utf8, large utf8, utf8 view.
    Utf8,
    /// Any value, validated and kept as its JSON text (the `arrow.json` extension type).
    Json,
    /// A string that encodes bytes: binary, large binary, binary view, fixed-size binary.
    Binary(BinaryEncoding),
    /// An ISO-8601 date, or a number of days since 1970-01-01.
    Date32,
    /// An ISO-8601 date or timestamp, or a number of milliseconds since the epoch.
    Date64,
    /// `HH:MM[:SS[.f]]`, or a number in this unit since midnight; time32 (s, ms), time64 (us, ns).
    Time(TimeUnit),
    /// An ISO-8601 timestamp, or a number in this unit since the epoch.
    Timestamp {
        /// The unit of the column.
        unit: TimeUnit,
        /// The time zone of the column; a text without offset is a time in this zone, which then
        /// has to be UTC or a fixed offset.
        zone: Option<Arc<str>>,
    },
    /// An ISO-8601 duration, or a number in this unit.
    Duration(TimeUnit),
    /// An array of any length: list, large list.
    List(Box<Node>),
    /// An array of exactly this length.
    FixedSizeList(Box<Node>, i32),
    /// An object with known keys.
    Struct(Vec<FieldPlan>),
    /// An object with any keys: a map from strings.
    Map {
        /// Decoder of keys: always of a utf8 type.
        key: Box<Node>,
        /// Decoder of values.
        value: Box<Node>,
    },
}

impl Plan {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`Error::Schema`] names the first field whose type cannot be decoded from JSON.
    pub fn new(schema: SchemaRef) -> Result<Self> {
        Self::compile(schema)
    }

    /// Compiles the selected `columns` of a schema: dotted paths of fields, each with all its
    /// children. The columns keep the order of the schema; other fields are skipped, but are not
    /// unknown keys ([`Node::unselected`]).
    ///
    /// # Errors
    /// As [`Plan::new`], and [`Error::Schema`] for a path that is not in the schema.
    pub fn with_columns<S: AsRef<str>>(schema: &SchemaRef, columns: &[S]) -> Result<Self> {
        let mut wanted = Vec::with_capacity(columns.len());
        for column in columns {
            let path = split_path(column.as_ref());
            if !path_exists(schema.fields(), &path) {
                return Err(Error::schema(path.join("."), "there is no such column to select"));
            }
            wanted.push(path);
        }
        let paths: Vec<&[String]> = wanted.iter().map(Vec::as_slice).collect();
        let fields = project(schema.fields(), &paths);
        let selected = Schema::new_with_metadata(fields, schema.metadata().clone());
        let mut plan = Self::compile(Arc::new(selected))?;
        match plan.schema.fields().first().filter(|_| plan.value_root) {
            Some(value) => {
                let (_, whole) = schema.fields().find(value.name()).unwrap_or((0, value));
                unselected::attach(&mut plan.root, whole.data_type());
            }
            None => {
                let whole = DataType::Struct(schema.fields().clone());
                unselected::attach(&mut plan.root, &whole);
            }
        }
        Ok(plan)
    }

    /// Whether a schema has this column, a path as [`Plan::with_columns`] takes it.
    #[must_use]
    pub fn has_column(schema: &Schema, column: &str) -> bool {
        path_exists(schema.fields(), &split_path(column))
    }

    fn compile(given: SchemaRef) -> Result<Self> {
        let bare = coerce::without(&given).map(Arc::new);
        let schema = bare.clone().unwrap_or_else(|| Arc::clone(&given));
        let value_root = schema.metadata().get(ROOT_METADATA_KEY).is_some_and(|v| v == "value");
        let mut root = if value_root {
            match schema.fields().as_ref() {
                [field] => compile_field(field, field.name())?,
                _ => {
                    return Err(Error::schema(
                        "",
                        "records that are values need exactly one column",
                    ));
                }
            }
        } else {
            Node {
                op: Op::Struct(compile_fields(schema.fields(), "")?),
                data_type: DataType::Struct(schema.fields().clone()),
                nullable: false,
                coercion: None,
                unselected: Vec::new(),
            }
        };
        if bare.is_some() {
            coerce::attach(&mut root, given.fields(), value_root)?;
        }
        Ok(Self { schema, root, value_root })
    }

    /// The schema of the decoded batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The decoder of a record: an [`Op::Struct`] of the columns, unless [`Plan::is_value_root`].
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Whether a record is the value of the only column rather than an object of columns.
    pub fn is_value_root(&self) -> bool {
        self.value_root
    }
}

/// Splits `a.b."c.d"` at the dots outside quotes.
pub fn split_path(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            _ => {
                if let Some(last) = parts.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    parts
}

fn children(data_type: &DataType) -> Option<&Fields> {
    match data_type {
        DataType::Struct(fields) => Some(fields),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => children(item.data_type()),
        _ => None,
    }
}

fn path_exists(fields: &Fields, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    fields.iter().any(|field| {
        field.name() == first
            && (rest.is_empty()
                || children(field.data_type()).is_some_and(|below| path_exists(below, rest)))
    })
}

fn project(fields: &Fields, paths: &[&[String]]) -> Fields {
    let mut kept = Vec::new();
    for field in fields {
        let mut below = Vec::new();
        let mut whole = false;
        for path in paths {
            match path.split_first() {
                Some((first, rest)) if first == field.name() => {
                    whole |= rest.is_empty();
                    below.push(rest);
                }
                _ => {}
            }
        }
        if whole {
            kept.push(Arc::clone(field));
        } else if !below.is_empty() {
            let data_type = project_type(field.data_type(), &below);
            kept.push(Arc::new(field.as_ref().clone().with_data_type(data_type)));
        }
    }
    kept.into()
}

fn project_type(data_type: &DataType, paths: &[&[String]]) -> DataType {
    let item = |field: &FieldRef| {
        let inner = project_type(field.data_type(), paths);
        Arc::new(field.as_ref().clone().with_data_type(inner))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(project(fields, paths)),
        DataType::List(field) => DataType::List(item(field)),
        DataType::LargeList(field) => DataType::LargeList(item(field)),
        DataType::FixedSizeList(field, len) => DataType::FixedSizeList(item(field), *len),
        other => other.clone(),
    }
}

fn compile_fields(fields: &Fields, path: &str) -> Result<Vec<FieldPlan>> {
    let mut plans: Vec<FieldPlan> = Vec::with_capacity(fields.len());
    let mut names = std::collections::HashSet::with_capacity(fields.len());
    for field in fields {
        let path = join(path, field.name());
        if !names.insert(field.name()) {
            return Err(Error::schema(path, "the schema has this field twice"));
        }
        plans.push(FieldPlan { key: field.name().clone(), node: compile_field(field, &path)? });
    }
    Ok(plans)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Maximum nesting of a schema; compiling and decoding recurse once per level.
const SCHEMA_DEPTH_MAX: usize = 64;

fn compile_field(field: &Field, path: &str) -> Result<Node> {
    if depth(field.data_type()) > SCHEMA_DEPTH_MAX {
        let message = format!("nested deeper than {SCHEMA_DEPTH_MAX} levels");
        return Err(Error::schema(path, message));
    }
    let op = compile_type(field, field.data_type(), path)?;
    let (data_type, nullable) = (field.data_type().clone(), field.is_nullable());
    Ok(Node { op, data_type, nullable, coercion: None, unselected: Vec::new() })
}

fn depth(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => {
            1 + fields.iter().map(|field| depth(field.data_type())).max().unwrap_or(0)
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => 1 + depth(item.data_type()),
        _ => 1,
    }
}

fn compile_type(field: &Field, data_type: &DataType, path: &str) -> Result<Op> {
    use DataType as T;
    let is_json =
        field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION_NAME);
    Ok(match data_type {
        T::Null => Op::Null,
        T::Boolean => Op::Bool,
        T::Int8 => Op::Int(IntWidth::I8),
        T::Int16 => Op::Int(IntWidth::I16),
        T::Int32 => Op::Int(IntWidth::I32),
        T::Int64 => Op::Int(IntWidth::I64),
        T::UInt8 => Op::Int(IntWidth::U8),
        T::UInt16 => Op::Int(IntWidth::U16),
        T::UInt32 => Op::Int(IntWidth::U32),
        T::UInt64 => Op::Int(IntWidth::U64),
        T::Float16 => Op::Float(FloatWidth::F16),
        T::Float32 => Op::Float(FloatWidth::F32),
        T::Float64 => Op::Float(FloatWidth::F64),
        T::Decimal128(precision, scale) if is_decimal(*precision, *scale, 38) => {
            Op::Decimal128 { precision: *precision, scale: *scale }
        }
        T::Decimal256(precision, scale) if is_decimal(*precision, *scale, 76) => {
            Op::Decimal256 { precision: *precision, scale: *scale }
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View if is_json => Op::Json,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => Op::Utf8,
        T::Binary | T::LargeBinary | T::BinaryView => Op::Binary(binary_encoding(field, path)?),
        // The number of values of zero bytes could not be known.
        T::FixedSizeBinary(len) if *len > 0 => Op::Binary(binary_encoding(field, path)?),
        T::Date32 => Op::Date32,
        T::Date64 => Op::Date64,
        T::Time32(unit @ (TimeUnit::Second | TimeUnit::Millisecond))
        | T::Time64(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => Op::Time(*unit),
        T::Timestamp(unit, zone) => Op::Timestamp { unit: *unit, zone: zone.clone() },
        T::Duration(unit) => Op::Duration(*unit),
        T::List(item) | T::LargeList(item) => {
            Op::List(Box::new(compile_field(item, &format!("{path}[]"))?))
        }
        T::FixedSizeList(item, len) if *len >= 0 => {
            Op::FixedSizeList(Box::new(compile_field(item, &format!("{path}[]"))?), *len)
        }
        T::Struct(fields) => Op::Struct(compile_fields(fields, path)?),
        T::Map(entries, _) => compile_map(entries, path)?,
        T::Dictionary(keys, values) if keys.is_dictionary_key_type() => match values.as_ref() {
            values if values.is_nested() || matches!(values, T::Dictionary(..)) => {
                return Err(Error::schema(path, "a dictionary of nested values is not supported"));
            }
            values => compile_type(field, values, path)?,
        },
        other => {
            return Err(Error::schema(path, format!("type {other} cannot be decoded from JSON")));
        }
    })
}

/// Whether Arrow has decimals of this precision and scale.
fn is_decimal(precision: u8, scale: i8, precision_max: u8) -> bool {
    (1..=precision_max).contains(&precision) && i16::from(scale) <= i16::from(precision)
}

fn binary_encoding(field: &Field, path: &str) -> Result<BinaryEncoding> {
    match field.metadata().get(ENCODING_METADATA_KEY).map(String::as_str) {
        None | Some("base64") => Ok(BinaryEncoding::Base64),
        Some("hex") => Ok(BinaryEncoding::Hex),
        Some(other) => {
            Err(Error::schema(path, format!("encoding {other:?} is neither base64 nor hex")))
        }
    }
}

fn compile_map(entries: &Field, path: &str) -> Result<Op> {
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => {
            let key = compile_field(&fields[0], &format!("{path}{{key}}"))?;
            let value = compile_field(&fields[1], &format!("{path}{{}}"))?;
            if key.op != Op::Utf8 || matches!(key.data_type, DataType::Dictionary(..)) {
                return Err(Error::schema(path, "the keys of a map must be strings"));
            }
            Ok(Op::Map { key: Box::new(key), value: Box::new(value) })
        }
        other => Err(Error::schema(path, format!("map entries of type {other}"))),
    }
}
