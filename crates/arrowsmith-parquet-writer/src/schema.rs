// SPDX-License-Identifier: Apache-2.0
//! The Arrow schema → the Parquet schema, and the way to each of its leaves.

use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_METADATA_KEY;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};
use arrowsmith_core::{Error, Result};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{ColumnOrder, LogicalType, SortOrder, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr, SchemaDescriptor};

use crate::options::{Encoding, Options};
use crate::variant;

/// An error of the `parquet` crate.
pub(crate) fn failed(error: ParquetError) -> Error {
    Error::schema("", error.to_string())
}

/// A step from a column to one of its leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a child of a struct.
    Struct { child: usize, nullable: bool },
    /// Into the items of a list of any kind.
    List { nullable: bool },
    /// Into the keys (child 0) or values (child 1) of a map.
    Map { child: usize, nullable: bool },
}

/// How minimum and maximum are defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// There is no order, and there are no statistics but the number of nulls.
    None,
    /// Integers with a sign, or Booleans.
    Signed,
    /// Integers without a sign.
    Unsigned,
    /// Floating point of 2, 4 or 8 bytes.
    Float,
    /// Bytes, in lexicographic order.
    Bytes,
    /// Text: as bytes; truncated between characters.
    Text,
    /// Integers with a sign in big-endian bytes of one length.
    SignedBytes,
}

/// A leaf of the schema: a column of the Parquet file.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// The column of the record batch that it is in.
    pub(crate) column: usize,
    /// The way from there.
    pub(crate) steps: Vec<Step>,
    /// Whether its own values may be null.
    pub(crate) nullable: bool,
    pub(crate) max_def: u16,
    pub(crate) max_rep: u16,
    pub(crate) physical: Physical,
    /// Bytes of a value: of FIXED_LEN_BYTE_ARRAY its length, 0 for BYTE_ARRAY.
    pub(crate) width: usize,
    pub(crate) order: Order,
    /// Dotted path in the Parquet schema.
    pub(crate) path: String,
    /// The encoding that an option requires.
    pub(crate) forced: Option<Encoding>,
    /// Whether it is a dictionary in Arrow, as which readers decode no encodings but dictionaries
    /// and plain values (parquet-cpp: "DictAccumulator").
    pub(crate) is_dictionary: bool,
    /// Whether it has a bloom filter.
    pub(crate) bloom: bool,
    pub(crate) descr: ColumnDescPtr,
}

/// Both schemas and the leaves.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) descr: SchemaDescPtr,
    /// The Arrow schema that is stored in the footer.
    pub(crate) stored: Schema,
    pub(crate) leaves: Vec<Arc<Leaf>>,
}

impl Plan {
    pub(crate) fn new(schema: &Schema, options: &Options) -> Result<Self> {
        check(schema)?;
        let stored = stored(schema);
        let descr = Arc::new(parquet_schema(&stored)?);
        let mut leaves = Vec::new();
        for (column, field) in schema.fields().iter().enumerate() {
            let mut steps = Vec::new();
            collect(field, &mut steps, &mut |steps, field| {
                let is_dictionary = matches!(field.data_type(), DataType::Dictionary(..));
                leaves.push((column, steps.to_vec(), field.is_nullable(), is_dictionary));
            });
        }
        let mut encodings = options.encodings.clone();
        let mut filters: Vec<(&str, bool)> =
            options.bloom_filters.iter().map(|path| (path.as_str(), false)).collect();
        let mut planned = Vec::with_capacity(leaves.len());
        for ((column, steps, nullable, is_dictionary), descr) in
            leaves.into_iter().zip(descr.columns())
        {
            let path = descr.path().string();
            let forced = encodings.remove(&path);
            let mut leaf = Leaf::new(column, steps, nullable, path, forced, descr)?;
            leaf.is_dictionary = is_dictionary;
            leaf.bloom = leaf.is_in(&mut filters);
            planned.push(Arc::new(leaf));
        }
        if planned.len() != descr.num_columns() {
            return Err(Error::schema("", "the Parquet schema has other leaves"));
        }
        if let Some(path) = encodings.keys().min() {
            return Err(Error::Config(format!("encodings: there is no column {path}")));
        }
        if let Some((path, _)) = filters.iter().find(|(_, found)| !found) {
            let message = format!("bloom_filters: there is no column {path} that can have one");
            return Err(Error::Config(message));
        }
        Ok(Self { descr, stored, leaves: planned })
    }
}

impl Leaf {
    /// Whether the column, of which the leaf is a part, may be null.
    pub(crate) fn may_be_null(&self) -> bool {
        match self.steps.first() {
            None => self.nullable,
            Some(
                Step::Struct { nullable, .. }
                | Step::List { nullable }
                | Step::Map { nullable, .. },
            ) => *nullable,
        }
    }

    fn new(
        column: usize,
        steps: Vec<Step>,
        nullable: bool,
        path: String,
        forced: Option<Encoding>,
        descr: &ColumnDescPtr,
    ) -> Result<Self> {
        let level = |level: i16| {
            u16::try_from(level).map_err(|_| Error::schema(path.clone(), "nested too deeply"))
        };
        let physical = descr.physical_type();
        let width = match physical {
            Physical::BOOLEAN => 1,
            Physical::INT32 | Physical::FLOAT => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            Physical::INT96 => 12,
            Physical::BYTE_ARRAY => 0,
            Physical::FIXED_LEN_BYTE_ARRAY => {
                usize::try_from(descr.type_length()).unwrap_or_default()
            }
        };
        let leaf = Self {
            max_def: level(descr.max_def_level())?,
            max_rep: level(descr.max_rep_level())?,
            column,
            steps,
            nullable,
            physical,
            width,
            order: order(descr),
            path,
            forced,
            is_dictionary: false,
            bloom: false,
            descr: Arc::clone(descr),
        };
        if forced.is_some_and(|encoding| !leaf.allows(encoding)) {
            let message = format!("{} has no such encoding", leaf.physical);
            return Err(Error::Config(format!("encodings: {}: {message}", leaf.path)));
        }
        Ok(leaf)
    }

    /// Whether it is to have a bloom filter; notes the paths that name it.
    fn is_in(&self, filters: &mut [(&str, bool)]) -> bool {
        let mut any = false;
        for (path, found) in filters {
            let rest = self.path.strip_prefix(*path);
            let named = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            if named && self.physical != Physical::BOOLEAN {
                (any, *found) = (true, true);
            }
        }
        any
    }

    /// Whether the format has the encoding for the leaf's type.
    fn allows(&self, encoding: Encoding) -> bool {
        use Physical as P;
        match encoding {
            Encoding::Plain => true,
            Encoding::Dictionary => self.physical != P::BOOLEAN,
            Encoding::DeltaBinaryPacked => matches!(self.physical, P::INT32 | P::INT64),
            Encoding::DeltaLengthByteArray => self.physical == P::BYTE_ARRAY,
            Encoding::DeltaByteArray => {
                matches!(self.physical, P::BYTE_ARRAY | P::FIXED_LEN_BYTE_ARRAY)
            }
            Encoding::ByteStreamSplit => !matches!(self.physical, P::BOOLEAN | P::BYTE_ARRAY),
            Encoding::Rle => self.physical == P::BOOLEAN,
        }
    }
}

/// The definition of minimum and maximum of a leaf.
fn order(descr: &ColumnDescPtr) -> Order {
    let logical = descr.logical_type_ref();
    let (converted, physical) = (descr.converted_type(), descr.physical_type());
    let sort = ColumnOrder::sort_order_for_type(logical, converted, physical);
    match (sort, physical) {
        (SortOrder::UNDEFINED, _) => Order::None,
        (_, Physical::FLOAT | Physical::DOUBLE) => Order::Float,
        (_, Physical::FIXED_LEN_BYTE_ARRAY) if logical == Some(&LogicalType::Float16) => {
            Order::Float
        }
        (SortOrder::SIGNED, Physical::FIXED_LEN_BYTE_ARRAY | Physical::BYTE_ARRAY) => {
            Order::SignedBytes
        }
        (_, Physical::BYTE_ARRAY)
            if matches!(
                logical,
                Some(LogicalType::String | LogicalType::Json | LogicalType::Enum)
            ) =>
        {
            Order::Text
        }
        (_, Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY) => Order::Bytes,
        (SortOrder::SIGNED, _) | (_, Physical::BOOLEAN) => Order::Signed,
        (SortOrder::UNSIGNED, _) => Order::Unsigned,
    }
}

/// Calls `found` with the way to each leaf, and whether it is nullable, in the schema's order.
fn collect(field: &Field, steps: &mut Vec<Step>, found: &mut impl FnMut(&[Step], &Field)) {
    use DataType as T;
    let nullable = field.is_nullable();
    match field.data_type() {
        T::Struct(fields) => {
            for (child, field) in fields.iter().enumerate() {
                steps.push(Step::Struct { child, nullable });
                collect(field, steps, found);
                steps.pop();
            }
        }
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _) => {
            steps.push(Step::List { nullable });
            collect(item, steps, found);
            steps.pop();
        }
        T::Map(entries, _) => {
            let T::Struct(fields) = entries.data_type() else { return };
            for (child, field) in fields.iter().enumerate() {
                steps.push(Step::Map { child, nullable });
                collect(field, steps, found);
                steps.pop();
            }
        }
        _ => found(steps, field),
    }
}

/// The schema with wider keys for dictionaries that may have more values than theirs can number,
/// given the number of values of each leaf: readers make dictionaries of all values of a file.
pub(crate) fn with_keys_for(schema: &Schema, counts: Vec<usize>) -> Schema {
    let mut counts = counts.into_iter();
    let fields: Vec<_> = schema.fields().iter().map(|field| keyed(field, &mut counts)).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn keyed(field: &FieldRef, counts: &mut impl Iterator<Item = usize>) -> FieldRef {
    use DataType as T;
    let data_type = match field.data_type() {
        T::Struct(fields) => T::Struct(fields.iter().map(|field| keyed(field, counts)).collect()),
        T::List(item) => T::List(keyed(item, counts)),
        T::LargeList(item) => T::LargeList(keyed(item, counts)),
        T::ListView(item) => T::ListView(keyed(item, counts)),
        T::LargeListView(item) => T::LargeListView(keyed(item, counts)),
        T::FixedSizeList(item, size) => T::FixedSizeList(keyed(item, counts), *size),
        T::Map(entries, sorted) => T::Map(keyed(entries, counts), *sorted),
        T::Dictionary(keys, values) => {
            let count = counts.next().unwrap_or_default();
            let wider = match keys.as_ref() {
                T::Int8 => (count > 1 << 7).then_some(T::Int32),
                T::UInt8 => (count > 1 << 8).then_some(T::UInt32),
                T::Int16 => (count > 1 << 15).then_some(T::Int32),
                T::UInt16 => (count > 1 << 16).then_some(T::UInt32),
                _ => None,
            };
            T::Dictionary(wider.map_or_else(|| keys.clone(), Box::new), values.clone())
        }
        other => {
            counts.next();
            other.clone()
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// An error for a type that has no form in Parquet, or none that is written.
///
/// # Errors
/// [`Error::Schema`] with the path of the field, its type, and what can be done.
pub fn check(schema: &Schema) -> Result<()> {
    schema.fields().iter().try_for_each(|field| check_field(field, field.name()))
}

fn check_field(field: &Field, path: &str) -> Result<()> {
    use DataType as T;
    let refuse = |message: &str| Err(Error::schema(path, message));
    let inside = |child: &FieldRef| check_field(child, &format!("{path}.{}", child.name()));
    match field.data_type() {
        T::Union(..) => {
            refuse("Parquet has no unions: leave the column out, or make it a struct of the types")
        }
        T::RunEndEncoded(..) => {
            refuse("run-end encoded columns are not written: cast them to their values")
        }
        T::Struct(fields) if fields.is_empty() => {
            refuse("Parquet has no structs without fields: leave the column out")
        }
        T::Struct(fields) => fields.iter().try_for_each(inside),
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _) => inside(item),
        T::Map(entries, _) => match entries.data_type() {
            T::Struct(fields) if fields.len() == 2 => fields.iter().try_for_each(inside),
            _ => refuse("a map's entries are a struct of key and value"),
        },
        T::Dictionary(_, values) => match values.as_ref() {
            T::Dictionary(..) | T::Null | T::RunEndEncoded(..) => {
                refuse("dictionaries of this type are not written: cast them to their values")
            }
            values if values.is_nested() => {
                refuse("dictionaries of nested values are not written: cast them to their values")
            }
            values => check_field(&Field::new("", values.clone(), true), path),
        },
        T::Interval(IntervalUnit::MonthDayNano) => refuse(
            "Parquet has no intervals finer than milliseconds: cast it to intervals of days and \
             milliseconds, or to a duration",
        ),
        T::Decimal32(digits, scale)
        | T::Decimal64(digits, scale)
        | T::Decimal128(digits, scale)
        | T::Decimal256(digits, scale)
            if !(0..=i16::from(*digits)).contains(&i16::from(*scale)) =>
        {
            refuse(
                "Parquet has no decimals of this scale: cast it to one from 0 to the number of \
                 digits",
            )
        }
        T::FixedSizeBinary(bytes) if *bytes < 1 => {
            refuse("values of no bytes have no form in Parquet")
        }
        _ => Ok(()),
    }
}

/// The schema that the file of a schema has, in Parquet and in Arrow.
///
/// Parquet has no seconds, and dates of days only: such columns would be plain integers to all
/// readers that do not know Arrow's schema. They are stored as milliseconds and days.
#[must_use]
pub fn stored(schema: &Schema) -> Schema {
    let fields: Fields = schema.fields().iter().map(stored_field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// The type that values of a type are stored as.
fn stored_type(data_type: &DataType) -> DataType {
    use DataType as T;
    match data_type {
        T::Timestamp(TimeUnit::Second, zone) => T::Timestamp(TimeUnit::Millisecond, zone.clone()),
        T::Time32(TimeUnit::Second) => T::Time32(TimeUnit::Millisecond),
        T::Date64 => T::Date32,
        other => other.clone(),
    }
}

/// The Parquet schema of a [`stored`] one.
///
/// # Errors
/// A type that Parquet does not have.
pub fn parquet_schema(stored: &Schema) -> Result<SchemaDescriptor> {
    let fields: Fields = stored.fields().iter().map(|field| mapped(field, &with_json)).collect();
    let annotated = Schema::new_with_metadata(fields, stored.metadata().clone());
    // The names in lists and maps that the format prescribes; Arrow's are in the footer's schema.
    let converter = ArrowSchemaConverter::new().schema_root("arrow_schema");
    let descr = converter.with_coerce_types(true).convert(&annotated);
    descr.and_then(|descr| variant::marked(descr, stored)).map_err(failed)
}

/// A field of JSON with the parameters of the extension type, which it may lack: the converter
/// takes no other for JSON. The schema in the footer stays as it was given.
fn with_json(field: Field) -> Field {
    if field.extension_type_name() != Some("arrow.json")
        || field.extension_type_metadata().is_some()
    {
        return field;
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), String::new());
    field.with_metadata(metadata)
}

/// The field as stored in the footer: readers of other libraries fail at dictionaries of views.
fn stored_field(field: &FieldRef) -> FieldRef {
    mapped(field, &|field| {
        let data_type = match field.data_type() {
            DataType::Dictionary(key, values) => {
                let values = match values.as_ref() {
                    DataType::Utf8View => DataType::Utf8,
                    DataType::BinaryView => DataType::Binary,
                    other => stored_type(other),
                };
                DataType::Dictionary(key.clone(), Box::new(values))
            }
            other => stored_type(other),
        };
        field.with_data_type(data_type)
    })
}

/// A field with all fields inside it, each after those inside it.
fn mapped(field: &FieldRef, map: &dyn Fn(Field) -> Field) -> FieldRef {
    use DataType as T;
    let below = |field: &FieldRef| mapped(field, map);
    let data_type = match field.data_type() {
        T::List(item) => T::List(below(item)),
        T::LargeList(item) => T::LargeList(below(item)),
        T::ListView(item) => T::ListView(below(item)),
        T::LargeListView(item) => T::LargeListView(below(item)),
        T::FixedSizeList(item, size) => T::FixedSizeList(below(item), *size),
        T::Struct(fields) => T::Struct(fields.iter().map(below).collect()),
        T::Map(entries, sorted) => T::Map(below(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(map(field.as_ref().clone().with_data_type(data_type)))
}
