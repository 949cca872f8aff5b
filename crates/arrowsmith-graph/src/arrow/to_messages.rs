// SPDX-License-Identifier: Apache-2.0
//! Batches → messages: restores the order of messages and ids, and writes the messages.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::{CLASS_KEY, GraphError, schema};
use crate::layout::{Kind, Layout, LayoutError, Member};
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
        for row in 0..batch.num_rows() {
            let key = (numbers.value(row), ids.value(row));
            let columns = &batch.columns()[2..];
            let members = values(columns, &class.members, row)
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
            GraphError::Batch(LayoutError::new(
                format!("message {number}, {}", error.path),
                error.message,
            ))
        })
    };
    graphs.iter().map(encode).collect()
}

fn bad(path: &str, message: &str) -> GraphError {
    GraphError::Batch(LayoutError::new(path, message))
}

type Values = Result<Vec<Vec<Value>>, &'static str>;

fn values(columns: &[ArrayRef], members: &[Member], row: usize) -> Values {
    columns
        .iter()
        .zip(members)
        .map(|(column, member)| {
            if member.count == 1 {
                return Ok(vec![value(column, &member.kind, row)?]);
            }
            let list = column.as_fixed_size_list().value(row);
            (0..list.len()).map(|index| value(&list, &member.kind, index)).collect()
        })
        .collect()
}

fn value(array: &ArrayRef, kind: &Kind, row: usize) -> Result<Value, &'static str> {
    if array.is_null(row) {
        return match kind {
            Kind::Pointer(_) => Ok(Value::Reference(None)),
            _ => Err("has a null that is no reference"),
        };
    }
    Ok(match kind {
        Kind::Pointer(_) => Value::Reference(Some(array.as_primitive::<UInt32Type>().value(row))),
        Kind::String => Value::String(array.as_binary::<i32>().value(row).to_vec()),
        Kind::Vector(element) => {
            let list = array.as_list::<i32>().value(row);
            let columns = match list.data_type() {
                DataType::Struct(_) => list.as_struct().columns().to_vec(),
                _ => vec![list.clone()],
            };
            let rows = (0..list.len()).map(|index| values(&columns, &element.members, index));
            Value::Vector(rows.collect::<Result<_, _>>()?)
        }
        Kind::Integer(_) | Kind::Bits(_) | Kind::Float { .. } => Value::Number(number(array, row)?),
    })
}

/// A number as 64 bits, sign-extended or zero-extended.
fn number(array: &ArrayRef, row: usize) -> Result<u64, &'static str> {
    fn native<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    Ok(match array.data_type() {
        DataType::Int8 => i64::from(native::<Int8Type>(array, row)).cast_unsigned(),
        DataType::Int16 => i64::from(native::<Int16Type>(array, row)).cast_unsigned(),
        DataType::Int32 => i64::from(native::<Int32Type>(array, row)).cast_unsigned(),
        DataType::Int64 => native::<Int64Type>(array, row).cast_unsigned(),
        DataType::UInt8 => u64::from(native::<UInt8Type>(array, row)),
        DataType::UInt16 => u64::from(native::<UInt16Type>(array, row)),
        DataType::UInt32 => u64::from(native::<UInt32Type>(array, row)),
        DataType::UInt64 => native::<UInt64Type>(array, row),
        DataType::Float32 => u64::from(native::<Float32Type>(array, row).to_bits()),
        DataType::Float64 => native::<Float64Type>(array, row).to_bits(),
        _ => return Err("has a column that is not a number"),
    })
}
