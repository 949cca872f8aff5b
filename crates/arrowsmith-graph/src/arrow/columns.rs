// SPDX-License-Identifier: Apache-2.0
//! The values of messages as growing columns, which become Arrow arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, ListArray, RecordBatch, StructArray,
    UInt32Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, SchemaRef};

use super::shape::{Shape, Shapes};
use super::{ID, MESSAGE, numbers};
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

#[derive(Debug)]
struct ClassColumns {
    messages: Vec<u32>,
    ids: Vec<u32>,
    /// By member; those of later elements of an array stay empty.
    members: Vec<Column>,
    shapes: Shapes,
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
        shapes: Shapes,
    },
}

impl Default for Column {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

impl Columns {
    pub fn new(layout: &Layout) -> Self {
        let class = |members: &Vec<Member>| ClassColumns {
            members: columns(members),
            shapes: Shapes::new(members, &[MESSAGE, ID]),
            messages: Vec::new(),
            ids: Vec::new(),
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
        let class = self.classes.get_mut(self.class)?;
        let (mut members, mut shapes) = (&mut class.members, &class.shapes);
        for &open in &self.open {
            match members.get_mut(*shapes.column_of.get(open)?)? {
                Column::Lists { members: inner, shapes: nested, .. } => {
                    (members, shapes) = (inner, nested);
                }
                _ => return None,
            }
        }
        members.get_mut(*shapes.column_of.get(member)?)
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
            let fields = schema.fields().get(2..).unwrap_or_default();
            let rows = arrays[0].len();
            arrays.extend(self::arrays(
                columns.members,
                &class.members,
                &columns.shapes,
                fields,
                rows,
            )?);
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
            let members = columns(&element.members);
            let shapes = Shapes::new(&element.members, &[]);
            Column::Lists { ends: Vec::new(), length: 0, members, shapes }
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

/// The arrays of a list of members, one per field; a column is used by one of them.
fn arrays(
    mut columns: Vec<Column>,
    members: &[Member],
    shapes: &Shapes,
    fields: &[FieldRef],
    rows: usize,
) -> Result<Vec<ArrayRef>, ArrowError> {
    let one = |((_, shape), field): (&(String, Shape), &FieldRef)| {
        nested(&mut columns, members, shape, field, rows)
    };
    shapes.fields.iter().zip(fields).map(one).collect()
}

fn nested(
    columns: &mut [Column],
    members: &[Member],
    shape: &Shape,
    field: &Field,
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    match (shape, field.data_type()) {
        (Shape::Leaf(index), _) => match (columns.get_mut(*index), members.get(*index)) {
            (Some(column), Some(member)) => array(std::mem::take(column), member, field),
            _ => Err(ArrowError::SchemaError("a column has no member".into())),
        },
        (Shape::Struct(inner), DataType::Struct(fields)) => {
            let arrays = inner
                .iter()
                .zip(fields)
                .map(|((_, shape), field)| nested(columns, members, shape, field, rows));
            let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, None, rows)?))
        }
        (Shape::Array(count, inner), DataType::FixedSizeList(item, _)) => {
            let all = rows.saturating_mul(usize::try_from(*count).unwrap_or(0));
            let values = nested(columns, members, inner, item, all)?;
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *count, values, None)?))
        }
        _ => Err(ArrowError::SchemaError("a column has another type than its field".into())),
    }
}

fn array(column: Column, member: &Member, field: &Field) -> Result<ArrayRef, ArrowError> {
    match (field.data_type(), column) {
        (DataType::Binary, Column::Numbers(bits)) => numbers::text(&bits, member.count),
        (DataType::FixedSizeList(item, count), column) => {
            let values = plain(column, &member.kind, item.data_type())?;
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *count, values, None)?))
        }
        (data_type, column) => plain(column, &member.kind, data_type),
    }
}

fn plain(column: Column, kind: &Kind, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Numbers(bits) => numbers::array(&bits, kind, data_type)?,
        Column::References(ids) => Arc::new(UInt32Array::from(ids)),
        Column::Strings { ends, bytes } => {
            Arc::new(BinaryArray::try_new(offsets(&ends)?, Buffer::from_vec(bytes), None)?)
        }
        Column::Lists { ends, length, members, shapes, .. } => {
            let (DataType::List(item), Kind::Vector(element)) = (data_type, kind) else {
                return Err(ArrowError::SchemaError("a list has no list's type".into()));
            };
            let values: ArrayRef = match (item.data_type(), shapes.only()) {
                (_, Some(_)) => {
                    let fields = [Arc::clone(item)];
                    let mut only = arrays(members, &element.members, &shapes, &fields, length)?;
                    only.pop()
                        .ok_or_else(|| ArrowError::SchemaError("a list has no items".into()))?
                }
                (DataType::Struct(fields), None) => {
                    let arrays = arrays(members, &element.members, &shapes, fields, length)?;
                    let values =
                        StructArray::try_new_with_length(fields.clone(), arrays, None, length)?;
                    Arc::new(values)
                }
                _ => return Err(ArrowError::SchemaError("a list has no items".into())),
            };
            Arc::new(ListArray::try_new(Arc::clone(item), offsets(&ends)?, values, None)?)
        }
    })
}

pub(super) fn offsets(ends: &[usize]) -> Result<OffsetBuffer<i32>, ArrowError> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    for end in ends {
        let end = i32::try_from(*end).map_err(|_| ArrowError::OffsetOverflowError(*end))?;
        offsets.push(end);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}
