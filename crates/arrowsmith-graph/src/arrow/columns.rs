// SPDX-License-Identifier: Apache-2.0
//! The values of messages as growing columns, which become Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, ListArray, PrimitiveArray, RecordBatch, StructArray,
    UInt32Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};

use crate::layout::{Kind, Layout, Member};
use crate::wire::Sink;

/// The columns of all classes, and the walk's position in them.
#[derive(Debug)]
pub struct Columns {
    classes: Vec<ClassColumns>,
    message: u32,
    class: usize,
    /// The members whose vectors are open.
    open: Vec<usize>,
}

#[derive(Debug, Default)]
struct ClassColumns {
    messages: Vec<u32>,
    ids: Vec<u32>,
    members: Vec<Column>,
}

#[derive(Debug)]
enum Column {
    /// Numbers as 64 bits, of which the type takes the low ones.
    Numbers(Vec<u64>),
    References(Vec<Option<u32>>),
    Strings {
        ends: Vec<usize>,
        bytes: Vec<u8>,
    },
    Lists {
        ends: Vec<usize>,
        length: usize,
        members: Vec<Column>,
    },
}

impl Columns {
    pub fn new(layout: &Layout) -> Self {
        let class = |members: &Vec<Member>| ClassColumns {
            members: columns(members),
            ..ClassColumns::default()
        };
        let classes = layout.classes.iter().map(|of| class(&of.members)).collect();
        Self { classes, message: 0, class: 0, open: Vec::new() }
    }

    pub fn begin(&mut self, message: u32) {
        self.message = message;
        self.open.clear();
    }

    /// The column of a member of the walk's current class or element.
    fn at(&mut self, member: usize) -> Option<&mut Column> {
        let mut members = &mut self.classes.get_mut(self.class)?.members;
        for &open in &self.open {
            match members.get_mut(open)? {
                Column::Lists { members: inner, .. } => members = inner,
                _ => return None,
            }
        }
        members.get_mut(member)
    }

    pub fn finish(
        self,
        layout: &Layout,
        schemas: &[SchemaRef],
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut batches = Vec::new();
        for ((columns, class), schema) in self.classes.into_iter().zip(&layout.classes).zip(schemas)
        {
            let mut arrays: Vec<ArrayRef> = vec![
                Arc::new(UInt32Array::from(columns.messages)),
                Arc::new(UInt32Array::from(columns.ids)),
            ];
            let fields = schema.fields().iter().skip(2);
            for ((column, member), field) in
                columns.members.into_iter().zip(&class.members).zip(fields)
            {
                arrays.push(array(column, member, field)?);
            }
            batches.push(RecordBatch::try_new(Arc::clone(schema), arrays)?);
        }
        Ok(batches)
    }
}

fn columns(members: &[Member]) -> Vec<Column> {
    let column = |member: &Member| match &member.kind {
        Kind::Integer(_) | Kind::Bits(_) | Kind::Float { .. } => Column::Numbers(Vec::new()),
        Kind::Pointer(_) => Column::References(Vec::new()),
        Kind::String => Column::Strings { ends: Vec::new(), bytes: Vec::new() },
        Kind::Vector(element) => {
            Column::Lists { ends: Vec::new(), length: 0, members: columns(&element.members) }
        }
    };
    members.iter().map(column).collect()
}

impl Sink for Columns {
    fn object(&mut self, type_id: u32, id: u32, _place: u64) {
        self.class = type_id as usize;
        let message = self.message;
        if let Some(class) = self.classes.get_mut(self.class) {
            class.messages.push(message);
            class.ids.push(id);
        }
    }

    fn number(&mut self, member: usize, _kind: &Kind, _place: u64, bits: u64) {
        if let Some(Column::Numbers(values)) = self.at(member) {
            values.push(bits);
        }
    }

    fn pointer(&mut self, member: usize, _place: u64, target: Option<(u32, u64)>) {
        if let Some(Column::References(values)) = self.at(member) {
            values.push(target.map(|(id, _)| id));
        }
    }

    fn string(&mut self, member: usize, _place: u64, text: &[u8], _content: Option<u64>) {
        if let Some(Column::Strings { ends, bytes }) = self.at(member) {
            bytes.extend_from_slice(text);
            ends.push(bytes.len());
        }
    }

    fn vector(&mut self, member: usize, _place: u64, count: u32, _content: u64, _bytes: u64) {
        if let Some(Column::Lists { ends, length, .. }) = self.at(member) {
            *length += count as usize;
            ends.push(*length);
        }
        self.open.push(member);
    }

    fn vector_end(&mut self) {
        self.open.pop();
    }
}

fn array(column: Column, member: &Member, field: &Field) -> Result<ArrayRef, ArrowError> {
    match field.data_type() {
        DataType::FixedSizeList(item, count) => {
            let values = plain(column, &member.kind, item.data_type())?;
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *count, values, None)?))
        }
        data_type => plain(column, &member.kind, data_type),
    }
}

fn plain(column: Column, kind: &Kind, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Numbers(bits) => numbers(&bits, data_type)?,
        Column::References(ids) => Arc::new(UInt32Array::from(ids)),
        Column::Strings { ends, bytes } => {
            Arc::new(BinaryArray::try_new(offsets(&ends)?, Buffer::from_vec(bytes), None)?)
        }
        Column::Lists { ends, length, members } => {
            let (DataType::List(item), Kind::Vector(element)) = (data_type, kind) else {
                return Err(ArrowError::SchemaError("a list has no list's type".into()));
            };
            let mut members = members.into_iter().zip(&element.members);
            let values: ArrayRef = match item.data_type() {
                DataType::Struct(fields) if !is_single(&element.members) => {
                    let arrays = members
                        .zip(fields)
                        .map(|((column, member), field)| array(column, member, field));
                    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
                    let values =
                        StructArray::try_new_with_length(fields.clone(), arrays, None, length)?;
                    Arc::new(values)
                }
                _ => match members.next() {
                    Some((column, member)) => array(column, member, item)?,
                    None => return Err(ArrowError::SchemaError("a list has no items".into())),
                },
            };
            Arc::new(ListArray::try_new(Arc::clone(item), offsets(&ends)?, values, None)?)
        }
    })
}

fn is_single(members: &[Member]) -> bool {
    matches!(members, [only] if only.name.is_empty())
}

fn offsets(ends: &[usize]) -> Result<OffsetBuffer<i32>, ArrowError> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    for end in ends {
        let end = i32::try_from(*end).map_err(|_| ArrowError::OffsetOverflowError(*end))?;
        offsets.push(end);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn numbers(bits: &[u64], data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    // Values were extended from the type's width: the low bytes are the number.
    macro_rules! low {
        ($type:ty, $native:ty) => {{
            let low = |bits: &u64| {
                let mut bytes = [0; size_of::<$native>()];
                bytes.copy_from_slice(&bits.to_le_bytes()[..size_of::<$native>()]);
                <$native>::from_le_bytes(bytes)
            };
            primitive::<$type>(bits.iter().map(low).collect())
        }};
    }
    Ok(match data_type {
        DataType::Int8 => low!(Int8Type, i8),
        DataType::Int16 => low!(Int16Type, i16),
        DataType::Int32 => low!(Int32Type, i32),
        DataType::Int64 => low!(Int64Type, i64),
        DataType::UInt8 => low!(UInt8Type, u8),
        DataType::UInt16 => low!(UInt16Type, u16),
        DataType::UInt32 => low!(UInt32Type, u32),
        DataType::UInt64 => low!(UInt64Type, u64),
        DataType::Float32 => low!(Float32Type, f32),
        DataType::Float64 => low!(Float64Type, f64),
        other => return Err(ArrowError::SchemaError(format!("{other} is no type of a number"))),
    })
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
}
