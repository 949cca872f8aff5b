// SPDX-License-Identifier: Apache-2.0
//! Batches → messages: restores the order of messages and ids, and writes the messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::shape::{Shape, Shapes};
use super::{CLASS_KEY, GraphError, ID, MESSAGE, is_text, numbers, schema, value_shape};
use crate::layout::{Alternative, Choice, Kind, Layout, LayoutError, Member};
use crate::wire::{Graph, Object, Value};

/// Writes the messages in batches of any classes, in any order of rows; by their numbers.
///
/// # Errors
///
/// A batch of another schema, missing or duplicate ids, or values that no message can hold.
pub fn messages(
    layout: &Layout,
    batches: &[RecordBatch],
    header: bool,
) -> Result<Vec<Vec<u8>>, GraphError> {
    let mut objects: BTreeMap<(u32, u32), Object> = BTreeMap::new();
    for batch in batches {
        let schema_of = batch.schema();
        let name = schema_of.metadata().get(CLASS_KEY).map(String::as_str).unwrap_or_default();
        if name.is_empty() {
            let message = format!("has no class in its metadata ({CLASS_KEY})");
            return Err(bad("a batch", &message));
        }
        let Some(class) = layout.class(name) else {
            return Err(bad(name, "is the class of a batch, but not of the layout"));
        };
        let expected = schema(class);
        let same = expected.fields().len() == schema_of.fields().len()
            && expected.fields().iter().zip(schema_of.fields()).all(|(ours, theirs)| {
                ours.name() == theirs.name() && ours.data_type() == theirs.data_type()
            });
        if !same {
            return Err(bad(name, "has other columns than its batch"));
        }
        let numbers = batch.column(0).as_primitive::<UInt32Type>();
        let ids = batch.column(1).as_primitive::<UInt32Type>();
        if numbers.null_count() + ids.null_count() > 0 {
            return Err(bad(name, "has rows without a message or an id"));
        }
        let shapes = Shapes::new(&class.members, &[MESSAGE, ID]);
        for row in 0..batch.num_rows() {
            let key = (numbers.value(row), ids.value(row));
            let columns = &batch.columns()[2..];
            let members = values(columns, &class.members, &shapes, row)
                .map_err(|why| bad(&format!("{name}, row {row}"), why))?;
            let object = Object { type_id: class.type_id, members };
            if objects.insert(key, object).is_some() {
                let path = format!("message {}, object {}", key.0, key.1);
                return Err(bad(&path, "is there twice"));
            }
        }
    }
    let mut graphs: Vec<(u32, Graph)> = Vec::new();
    for ((message, id), object) in objects {
        if graphs.last().is_none_or(|(last, _)| *last != message) {
            graphs.push((message, Graph::default()));
        }
        let Some((_, graph)) = graphs.last_mut() else { continue };
        if usize::try_from(id) != Ok(graph.objects.len()) {
            let path = format!("message {message}, object {}", graph.objects.len());
            return Err(bad(&path, "is missing"));
        }
        graph.objects.push(object);
    }
    let encode = |(number, graph): &(u32, Graph)| {
        graph.encode(layout, header).map_err(|error| {
            let path = match error.path.as_str() {
                "" => format!("message {number}"),
                path => format!("message {number}, {path}"),
            };
            GraphError::Batch(LayoutError::new(path, error.message))
        })
    };
    graphs.iter().map(encode).collect()
}

fn bad(path: &str, message: &str) -> GraphError {
    GraphError::Batch(LayoutError::new(path, message))
}

type Values = Result<Vec<Vec<Value>>, &'static str>;

/// The values of a row, by member.
fn values(columns: &[ArrayRef], members: &[Member], shapes: &Shapes, row: usize) -> Values {
    // Bounded: by the members of the layout.
    let mut found = vec![Vec::new(); members.len()];
    let open = (0..members.len()).collect();
    let mut next = Next { members, column_of: &shapes.column_of, open, found: &mut found };
    for (column, (_, shape)) in columns.iter().zip(&shapes.fields) {
        next.shape(column, shape, row)?;
    }
    Ok(found)
}

struct Next<'a> {
    members: &'a [Member],
    column_of: &'a [usize],
    /// For each column, the member that its next value is for, or one before it.
    open: Vec<usize>,
    found: &'a mut [Vec<Value>],
}

impl Next<'_> {
    fn shape(&mut self, array: &ArrayRef, shape: &Shape, row: usize) -> Result<(), &'static str> {
        match shape {
            Shape::Leaf(index) => {
                let values = leaf(array, &self.members[*index], row)?;
                // Elements of an array come in the order of their members.
                let mut open = self.open[*index]..self.members.len();
                let member = open.find(|at| self.column_of[*at] == *index);
                let member = member.ok_or("has more elements than the layout")?;
                self.open[*index] = member + 1;
                self.found[member] = values;
                Ok(())
            }
            Shape::Struct(fields) => {
                let columns = array.as_struct().columns();
                columns.iter().zip(fields).try_for_each(|(column, (_, shape))| {
                    if array.is_null(row) {
                        return Err("has a null that is not a reference");
                    }
                    self.shape(column, shape, row)
                })
            }
            Shape::Array(_, item) => {
                if array.is_null(row) {
                    return Err("has a null that is not a reference");
                }
                let list = array.as_fixed_size_list().value(row);
                (0..list.len()).try_for_each(|index| self.shape(&list, item, index))
            }
        }
    }
}

fn leaf(column: &ArrayRef, member: &Member, row: usize) -> Result<Vec<Value>, &'static str> {
    if member.count == 1 {
        return Ok(vec![value(column, &member.kind, row)?]);
    }
    if column.is_null(row) {
        return Err("has a null that is not a reference");
    }
    if is_text(member) {
        let text = column.as_binary::<i32>().value(row);
        let count = usize::try_from(member.count).unwrap_or(usize::MAX);
        let zeros = count.checked_sub(text.len()).ok_or("has a text that is too long")?;
        let signed = matches!(&member.kind, Kind::Integer(of) if of.signed);
        let extend = |byte: &u8| match signed {
            true => i64::from(byte.cast_signed()).cast_unsigned(),
            false => u64::from(*byte),
        };
        let text = text.iter().map(extend).chain(std::iter::repeat_n(0, zeros));
        return Ok(text.map(Value::Number).collect());
    }
    let list = column.as_fixed_size_list().value(row);
    (0..list.len()).map(|index| value(&list, &member.kind, index)).collect()
}

fn choice(array: &ArrayRef, choice: &Choice, row: usize) -> Result<Value, &'static str> {
    if choice.is_optional() {
        return match array.is_null(row) {
            true => Ok(Value::Choice(0, Vec::new())),
            false => Ok(Value::Choice(1, alternative(array, &choice.alternatives[1], row)?)),
        };
    }
    if array.is_null(row) {
        return Err("has a null that is not a reference");
    }
    let columns = array.as_struct().columns();
    let which = columns[0].as_primitive::<UInt8Type>().value(row);
    let of = choice.alternatives.get(usize::from(which));
    let of = of.ok_or("has an alternative that does not exist")?;
    let column = &columns[usize::from(which) + 1];
    if column.is_null(row) {
        return Err("has a variant whose alternative is null");
    }
    Ok(Value::Choice(which, alternative(column, of, row)?))
}

fn alternative(array: &ArrayRef, of: &Alternative, row: usize) -> Values {
    let (mut shapes, only) = value_shape(&of.members);
    if let Some(only) = only {
        shapes.fields = vec![(String::new(), only)];
        return values(&[Arc::clone(array)], &of.members, &shapes, row);
    }
    values(array.as_struct().columns(), &of.members, &shapes, row)
}

fn value(array: &ArrayRef, kind: &Kind, row: usize) -> Result<Value, &'static str> {
    if array.is_null(row) && !matches!(kind, Kind::Choice(_)) {
        return match kind {
            Kind::Pointer(_) => Ok(Value::Reference(None)),
            _ => Err("has a null that is not a reference"),
        };
    }
    Ok(match kind {
        Kind::Pointer(_) => Value::Reference(Some(array.as_primitive::<UInt32Type>().value(row))),
        Kind::String | Kind::View => Value::String(array.as_binary::<i32>().value(row).to_vec()),
        Kind::Vector(element) => {
            let list: ArrayRef = match array.data_type() {
                DataType::Map(..) => Arc::new(array.as_map().value(row)),
                _ => array.as_list::<i32>().value(row),
            };
            let shapes = Shapes::new(&element.members, &[]);
            let columns = match shapes.only() {
                None => list.as_struct().columns().to_vec(),
                Some(_) => vec![list.clone()],
            };
            let rows =
                (0..list.len()).map(|index| values(&columns, &element.members, &shapes, index));
            Value::Vector(rows.collect::<Result<_, _>>()?)
        }
        Kind::Choice(of) => choice(array, of, row)?,
        Kind::Integer(_) | Kind::Bits(_) | Kind::Float { .. } => {
            Value::Number(numbers::value(array, kind, row)?)
        }
    })
}
