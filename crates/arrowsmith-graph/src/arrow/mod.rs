// SPDX-License-Identifier: Apache-2.0
//! Messages → Arrow, one batch per class, and back.
//!
//! The columns of a class are `message` (the number of the message), `id` (the object's id in it),
//! and its members; references are ids of the same message. The round trip is lossless: it returns
//! the same message, to the byte.

mod columns;
mod numbers;
mod shape;
mod to_messages;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use self::shape::{Shape, Shapes};
use crate::layout::{
    Bits, Choice, Class, Element, Integer, Kind, Layout, LayoutError, Meaning, Member,
};
use crate::wire::{Options, Tables, WireError};

pub use to_messages::messages;

/// The key of a schema's metadata that names the class.
pub const CLASS_KEY: &str = "arrowsmith:class";

/// The columns before those of the members.
const MESSAGE: &str = "message";
const ID: &str = "id";

/// Why messages cannot become batches, or batches messages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A message is refused: its number, why and where.
    #[error("message {message}, {}{error}", of_class(object))]
    Message {
        /// The number of the message, from 0.
        message: u32,
        /// The object and its class, if the error is in one.
        object: Option<(u32, String)>,
        /// Its error.
        #[source]
        error: WireError,
    },
    /// A batch does not match the layout's classes.
    #[error(transparent)]
    Batch(LayoutError),
    /// An error of the Arrow library.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

fn of_class(object: &Option<(u32, String)>) -> String {
    object.as_ref().map_or_else(String::new, |(id, class)| format!("object {id}, {class}: "))
}

/// Collects messages into columns, class by class.
#[derive(Debug)]
pub struct Batches {
    tables: Tables,
    schemas: Vec<SchemaRef>,
    columns: columns::Columns,
    messages: u32,
}

impl Batches {
    /// An empty collection for the classes of a layout.
    pub fn new(layout: Layout) -> Self {
        let schemas = layout.classes.iter().map(|class| Arc::new(schema(class))).collect();
        Self {
            columns: columns::Columns::new(&layout),
            schemas,
            tables: Tables::new(layout),
            messages: 0,
        }
    }

    /// Adds a message, completely or not at all.
    ///
    /// # Errors
    ///
    /// The first error of the message.
    pub fn push(&mut self, message: &[u8], options: Options) -> Result<(), GraphError> {
        let number = self.messages;
        let mut checked = crate::wire::NullSink::default();
        if let Err(error) = self.tables.walk(message, u64::MAX, options, &mut checked) {
            let object = checked.object(self.tables.layout());
            return Err(GraphError::Message { message: number, object, error });
        }
        self.columns.begin(number);
        self.tables
            .walk(message, u64::MAX, options, &mut self.columns)
            .map_err(|error| GraphError::Message { message: number, object: None, error })?;
        self.messages += 1;
        Ok(())
    }

    /// Returns the batches, by type id, and starts new ones: message numbers continue.
    ///
    /// # Errors
    ///
    /// More strings or elements than 2 GiB or 2³¹ of them; call it more often.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>, GraphError> {
        let layout = self.tables.layout();
        let columns = std::mem::replace(&mut self.columns, columns::Columns::new(layout));
        Ok(columns.finish(layout, &self.schemas)?)
    }
}

/// The schema of a class's batches. A member with the name of one of the first two columns, or of
/// another member, has a number after its name: `id#2`.
pub fn schema(class: &Class) -> Schema {
    let mut fields =
        vec![Field::new(MESSAGE, DataType::UInt32, false), Field::new(ID, DataType::UInt32, false)];
    let shapes = Shapes::new(&class.members, &[MESSAGE, ID]);
    fields.extend(shapes.fields.iter().map(|(name, shape)| field(name, shape, &class.members)));
    let metadata = HashMap::from([(CLASS_KEY.to_owned(), class.name.clone())]);
    Schema::new_with_metadata(fields, metadata)
}

fn field(name: &str, shape: &Shape, members: &[Member]) -> Field {
    match shape {
        Shape::Leaf(index) => match members.get(*index) {
            Some(member) => leaf(name, member),
            None => Field::new(name, DataType::Null, true),
        },
        Shape::Struct(fields) => {
            let fields = fields.iter().map(|(name, shape)| field(name, shape, members));
            Field::new(name, DataType::Struct(fields.collect()), false)
        }
        Shape::Array(count, item) => {
            let item = Arc::new(field("item", item, members));
            Field::new(name, DataType::FixedSizeList(item, *count), false)
        }
    }
}

fn leaf(name: &str, member: &Member) -> Field {
    let item = data_type(&member.kind);
    let nullable = is_nullable(&member.kind);
    if member.count == 1 {
        return Field::new(name, item, nullable);
    }
    if is_text(member) {
        return Field::new(name, DataType::Binary, false);
    }
    let item = Arc::new(Field::new("item", item, nullable));
    let count = i32::try_from(member.count).unwrap_or(i32::MAX);
    Field::new(name, DataType::FixedSizeList(item, count), false)
}

fn is_nullable(kind: &Kind) -> bool {
    match kind {
        Kind::Pointer(reference) => reference.nullable,
        Kind::Choice(choice) => choice.is_optional(),
        _ => false,
    }
}

/// The name of an alternative's column.
fn alternative_name(index: usize, name: &str) -> String {
    format!("{index}: {name}")
}

/// An optional is its nullable value; a variant a struct of its alternatives' nullable values, and
/// before them the number of the one that it has.
fn choice_type(choice: &Choice) -> DataType {
    if choice.is_optional() {
        return value_type(&choice.alternatives[1].members);
    }
    let mut fields = vec![Field::new("which", DataType::UInt8, false)];
    for (index, of) in choice.alternatives.iter().enumerate() {
        fields.push(Field::new(alternative_name(index, &of.name), value_type(&of.members), true));
    }
    DataType::Struct(fields.into())
}

/// The type of a value that may be absent. One that can itself be null, or has no members, is in a
/// struct, to tell the two apart.
fn value_type(members: &[Member]) -> DataType {
    match value_shape(members) {
        (_, Some(only)) => field("item", &only, members).data_type().clone(),
        (shapes, None) => field("item", &Shape::Struct(shapes.fields), members).data_type().clone(),
    }
}

/// The shapes of a value that may be absent, and the one that it is, if it is not a struct.
fn value_shape(members: &[Member]) -> (Shapes, Option<Shape>) {
    let shapes = Shapes::new(members, &[]);
    let nullable = |index: &usize| members.get(*index).is_some_and(|of| is_nullable(&of.kind));
    let only = match shapes.only() {
        Some(Shape::Leaf(index)) if nullable(index) => None,
        only => only.cloned(),
    };
    (shapes, only)
}

/// Whether a member is an array of `char`: text without the zeros at its end.
fn is_text(member: &Member) -> bool {
    let character = matches!(&member.kind, Kind::Integer(of) if of.meaning == Meaning::Character);
    member.count > 1 && character
}

/// The item of a list of elements: the element itself if it is a single value, else a struct.
fn item(list: &[Member]) -> Field {
    let shapes = Shapes::new(list, &[]);
    match shapes.only() {
        Some(only) => field("item", only, list),
        None => field("item", &Shape::Struct(shapes.fields), list),
    }
}

/// The entries of a map: its elements, if each has a key and a value, and no key is there twice.
fn map_entries(element: &Element) -> Option<Field> {
    let keys = element.form.keys().filter(|keys| keys.map && keys.unique)?;
    let fields = match item(&element.members).data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => return None,
    };
    // Only the program's own key may be a null.
    let [key, value] = &fields[..] else { return None };
    if keys.members.is_empty() || key.is_nullable() {
        return None;
    }
    let named = |field: &FieldRef, name: &str| field.as_ref().clone().with_name(name);
    let fields = vec![named(key, "key"), named(value, "value")];
    Some(Field::new("entries", DataType::Struct(fields.into()), false))
}

fn data_type(kind: &Kind) -> DataType {
    let integer = |bytes: u32, signed: bool| match (bytes, signed) {
        (1, true) => DataType::Int8,
        (2, true) => DataType::Int16,
        (4, true) => DataType::Int32,
        (_, true) => DataType::Int64,
        (1, false) => DataType::UInt8,
        (2, false) => DataType::UInt16,
        (4, false) => DataType::UInt32,
        (_, false) => DataType::UInt64,
    };
    match kind {
        Kind::Integer(Integer { meaning, .. }) | Kind::Bits(Bits { meaning, .. })
            if *meaning == Meaning::Boolean =>
        {
            DataType::Boolean
        }
        Kind::Integer(Integer { meaning: Meaning::Enumerators(_), .. })
        | Kind::Bits(Bits { meaning: Meaning::Enumerators(_), .. }) => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        Kind::Integer(of) => integer(of.bytes, of.signed),
        Kind::Bits(of) => integer(of.wire_bytes, of.signed),
        Kind::Float { bytes: 4 } => DataType::Float32,
        Kind::Float { .. } => DataType::Float64,
        Kind::Pointer(_) => DataType::UInt32,
        Kind::String | Kind::View => DataType::Binary,
        Kind::Choice(choice) => choice_type(choice),
        Kind::Vector(element) => match map_entries(element) {
            Some(entries) => DataType::Map(Arc::new(entries), false),
            None => DataType::List(Arc::new(item(&element.members))),
        },
    }
}
