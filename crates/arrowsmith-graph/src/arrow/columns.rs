// SPDX-License-Identifier: Apache-2.0
//! The values of messages as growing columns, which become Arrow arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, ListArray, MapArray, RecordBatch,
    StructArray, UInt8Array, UInt32Array, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, SchemaRef};

use super::shape::{Shape, Shapes};
use super::{ID, MESSAGE, numbers, value_shape};
use crate::layout::{Alternative, Choice, Element, Kind, Layout, Member};
use crate::wire::Sink;

/// The columns of all classes, and the walk's position in them.
#[derive(Debug)]
pub struct Columns {
    classes: Vec<ClassColumns>,
    message: u32,
    class: usize,
    /// The members whose vectors and choices are open, and the alternatives of the latter.
    open: Vec<(usize, usize)>,
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
    /// A row of each alternative for every row, of which one counts.
    Choices {
        tags: Vec<u8>,
        alternatives: Vec<AlternativeColumns>,
    },
    Lists {
        ends: Vec<usize>,
        length: usize,
        members: Vec<Column>,
        shapes: Shapes,
    },
}

#[derive(Debug)]
struct AlternativeColumns {
    columns: Vec<Column>,
    shapes: Shapes,
}

/// A row of columns that has no value.
fn absent(columns: &mut [Column], shapes: &Shapes, members: &[Member]) {
    for (member, of) in shapes.column_of.iter().zip(members) {
        let Some(column) = columns.get_mut(*member) else { continue };
        for _ in 0..of.count {
            match column {
                Column::Numbers(values) => values.push(0),
                Column::References(ids) => ids.push(None),
                Column::Strings { ends, bytes } => ends.push(bytes.len()),
                Column::Lists { ends, length, .. } => ends.push(*length),
                Column::Choices { tags, alternatives } => {
                    tags.push(0);
                    let Kind::Choice(choice) = &of.kind else { continue };
                    for (column, of) in alternatives.iter_mut().zip(&choice.alternatives) {
                        absent(&mut column.columns, &column.shapes, &of.members);
                    }
                }
            }
        }
    }
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
        for &(open, alternative) in &self.open {
            match members.get_mut(*shapes.column_of.get(open)?)? {
                Column::Lists { members: inner, shapes: nested, .. } => {
                    (members, shapes) = (inner, nested);
                }
                Column::Choices { alternatives, .. } => {
                    let of = alternatives.get_mut(alternative)?;
                    (members, shapes) = (&mut of.columns, &of.shapes);
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
        Kind::Choice(choice) => {
            let alternative = |of: &Alternative| AlternativeColumns {
                columns: columns(&of.members),
                shapes: Shapes::new(&of.members, &[]),
            };
            let alternatives = choice.alternatives.iter().map(alternative).collect();
            Column::Choices { tags: Vec::new(), alternatives }
        }
        Kind::String | Kind::View => Column::Strings { ends: Vec::new(), bytes: Vec::new() },
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

    fn vector(&mut self, member: usize, _element: &Element, count: u32, _content: u64) {
        if let Some(Column::Lists { ends, length, .. }) = self.at(member) {
            *length += count as usize;
            ends.push(*length);
        }
        self.open.push((member, 0));
    }

    fn vector_end(&mut self, _: &Element, _: u64, _: u32, _: u64) {
        self.open.pop();
    }

    fn choice(&mut self, member: usize, _place: u64, choice: &Choice, alternative: u8) {
        if let Some(Column::Choices { tags, alternatives }) = self.at(member) {
            tags.push(alternative);
            let others = alternatives.iter_mut().zip(&choice.alternatives).enumerate();
            for (_, (column, of)) in others.filter(|(at, _)| *at != usize::from(alternative)) {
                absent(&mut column.columns, &column.shapes, &of.members);
            }
        }
        self.open.push((member, alternative.into()));
    }

    fn choice_end(&mut self) {
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

/// An optional, or a variant.
fn choices(
    tags: Vec<u8>,
    alternatives: Vec<AlternativeColumns>,
    choice: &Choice,
    data_type: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let mismatch = || ArrowError::SchemaError("a choice has another type than its field".into());
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let fields = match data_type {
        DataType::Struct(fields) if !choice.is_optional() => fields.clone(),
        other => {
            let field = |name: &str| Field::new(name, other.clone(), true);
            Fields::from(vec![field("which"), field("none"), field("some")])
        }
    };
    for (index, (of, declared)) in alternatives.into_iter().zip(&choice.alternatives).enumerate() {
        if choice.is_optional() && index == 0 {
            continue;
        }
        let nulls = NullBuffer::from_iter(tags.iter().map(|tag| usize::from(*tag) == index));
        let field = fields.get(index + 1).ok_or_else(mismatch)?;
        let (shapes, only) = value_shape(&declared.members);
        let shape = only.unwrap_or(Shape::Struct(shapes.fields));
        let mut columns = of.columns;
        let values = nested(&mut columns, &declared.members, &shape, field, tags.len())?;
        let data = values.into_data().into_builder().nulls(Some(nulls)).build()?;
        arrays.push(make_array(data));
    }
    if choice.is_optional() {
        return arrays.pop().ok_or_else(mismatch);
    }
    let rows = tags.len();
    arrays.insert(0, Arc::new(UInt8Array::from(tags)));
    Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, None, rows)?))
}

fn plain(column: Column, kind: &Kind, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Numbers(bits) => numbers::array(&bits, kind, data_type)?,
        Column::References(ids) => Arc::new(UInt32Array::from(ids)),
        Column::Strings { ends, bytes } => {
            Arc::new(BinaryArray::try_new(offsets(&ends)?, Buffer::from_vec(bytes), None)?)
        }
        Column::Choices { tags, alternatives } => {
            let Kind::Choice(choice) = kind else {
                return Err(ArrowError::SchemaError("a choice is of another kind".into()));
            };
            choices(tags, alternatives, choice, data_type)?
        }
        Column::Lists { ends, length, members, shapes, .. } => {
            let (DataType::List(item) | DataType::Map(item, _), Kind::Vector(element)) =
                (data_type, kind)
            else {
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
            let (item, offsets) = (Arc::clone(item), offsets(&ends)?);
            match data_type {
                DataType::Map(..) => {
                    let entries = values.as_struct().clone();
                    Arc::new(MapArray::try_new(item, offsets, entries, None, false)?)
                }
                _ => Arc::new(ListArray::try_new(item, offsets, values, None)?),
            }
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
