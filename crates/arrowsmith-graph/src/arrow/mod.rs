// SPDX-License-Identifier: Apache-2.0
//! Messages → Arrow, one batch per class, and back.
//!
//! The columns of a class are `message` (the number of the message), `id` (the object's id in it),
//! and its members; references are ids of the same message. The round trip is lossless: it returns
//! the same message, to the byte.

mod columns;
mod to_messages;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use crate::layout::{Class, Kind, Layout, LayoutError, Member};
use crate::wire::{Options, Tables, WireError};

pub use to_messages::messages;

/// The key of a schema's metadata that names the class.
pub const CLASS_KEY: &str = "arrowsmith:class";

/// Why messages cannot become batches, or batches messages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A message is refused: its number, why and where.
    #[error("message {message}, {error}")]
    Message {
        /// The number of the message, from 0.
        message: u32,
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
        let refused = |error| GraphError::Message { message: number, error };
        self.tables
            .walk(message, u64::MAX, options, &mut crate::wire::NullSink)
            .map_err(refused)?;
        self.columns.begin(number);
        self.tables.walk(message, u64::MAX, options, &mut self.columns).map_err(refused)?;
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

/// The schema of a class's batches.
pub fn schema(class: &Class) -> Schema {
    let mut fields = vec![
        Field::new("message", DataType::UInt32, false),
        Field::new("id", DataType::UInt32, false),
    ];
    fields.extend(members(&class.members));
    let metadata = HashMap::from([(CLASS_KEY.to_owned(), class.name.clone())]);
    Schema::new_with_metadata(fields, metadata)
}

fn members(list: &[Member]) -> impl Iterator<Item = Field> {
    list.iter().map(|member| {
        let item = data_type(&member.kind);
        let nullable = matches!(&member.kind, Kind::Pointer(reference) if reference.nullable);
        if member.count == 1 {
            return Field::new(&member.name, item, nullable);
        }
        let item = Arc::new(Field::new("item", item, nullable));
        let count = i32::try_from(member.count).unwrap_or(i32::MAX);
        Field::new(&member.name, DataType::FixedSizeList(item, count), false)
    })
}

/// If the element has a single, unnamed member, that is the item itself; others are a struct.
fn item(list: &[Member]) -> Field {
    let mut fields: Vec<Field> = members(list).collect();
    match fields.pop() {
        Some(only) if fields.is_empty() && only.name().is_empty() => only.with_name("item"),
        last => {
            fields.extend(last);
            Field::new("item", DataType::Struct(Fields::from(fields)), false)
        }
    }
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
        Kind::Integer(of) => integer(of.bytes, of.signed),
        Kind::Bits(of) => integer(of.wire_bytes, of.signed),
        Kind::Float { bytes: 4 } => DataType::Float32,
        Kind::Float { .. } => DataType::Float64,
        Kind::Pointer(_) => DataType::UInt32,
        Kind::String => DataType::Binary,
        Kind::Vector(element) => DataType::List(Arc::new(item(&element.members))),
    }
}
