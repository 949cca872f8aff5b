// SPDX-License-Identifier: Apache-2.0
//! Cells to arrays, column by column, as simply as possible.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, FixedSizeBinaryBuilder, StringViewBuilder};
use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray, FixedSizeListArray,
    GenericListArray, LargeBinaryArray, LargeStringArray, MapArray, NullArray, OffsetSizeTrait,
    PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, TimeUnit};

use super::cell::Cell;

type Built = Result<ArrayRef, ArrowError>;

/// The array of a type with these cells.
///
/// # Errors
/// If Arrow rejects them, or a cell is not of the type.
pub fn build(data_type: &DataType, cells: &[&Cell]) -> Built {
    use DataType as T;
    Ok(match data_type {
        T::Null => Arc::new(NullArray::new(cells.len())),
        T::Boolean => Arc::new(BooleanArray::from_iter(each(cells, |cell| match cell {
            Cell::Bool(value) => Some(*value),
            _ => None,
        })?)),
        T::Int8 => int::<Int8Type>(data_type, cells)?,
        T::Int16 => int::<Int16Type>(data_type, cells)?,
        T::Int32 => int::<Int32Type>(data_type, cells)?,
        T::Int64 => int::<Int64Type>(data_type, cells)?,
        T::UInt8 => int::<UInt8Type>(data_type, cells)?,
        T::UInt16 => int::<UInt16Type>(data_type, cells)?,
        T::UInt32 => int::<UInt32Type>(data_type, cells)?,
        T::UInt64 => int::<UInt64Type>(data_type, cells)?,
        T::Date32 => int::<Date32Type>(data_type, cells)?,
        T::Date64 => int::<Date64Type>(data_type, cells)?,
        T::Time32(TimeUnit::Second) => int::<Time32SecondType>(data_type, cells)?,
        T::Time32(_) => int::<Time32MillisecondType>(data_type, cells)?,
        T::Time64(TimeUnit::Nanosecond) => int::<Time64NanosecondType>(data_type, cells)?,
        T::Time64(_) => int::<Time64MicrosecondType>(data_type, cells)?,
        T::Timestamp(TimeUnit::Second, _) => int::<TimestampSecondType>(data_type, cells)?,
        T::Timestamp(TimeUnit::Millisecond, _) => {
            int::<TimestampMillisecondType>(data_type, cells)?
        }
        T::Timestamp(TimeUnit::Microsecond, _) => {
            int::<TimestampMicrosecondType>(data_type, cells)?
        }
        T::Timestamp(TimeUnit::Nanosecond, _) => int::<TimestampNanosecondType>(data_type, cells)?,
        T::Duration(TimeUnit::Second) => int::<DurationSecondType>(data_type, cells)?,
        T::Duration(TimeUnit::Millisecond) => int::<DurationMillisecondType>(data_type, cells)?,
        T::Duration(TimeUnit::Microsecond) => int::<DurationMicrosecondType>(data_type, cells)?,
        T::Duration(TimeUnit::Nanosecond) => int::<DurationNanosecondType>(data_type, cells)?,
        T::Float16 => primitive::<Float16Type>(data_type, cells, |cell| {
            Some(half::f16::from_bits(u16::try_from(bits(cell)?).ok()?))
        })?,
        T::Float32 => primitive::<Float32Type>(data_type, cells, |cell| {
            Some(f32::from_bits(u32::try_from(bits(cell)?).ok()?))
        })?,
        T::Float64 => {
            primitive::<Float64Type>(data_type, cells, |cell| bits(cell).map(f64::from_bits))?
        }
        T::Decimal128(..) => {
            primitive::<Decimal128Type>(data_type, cells, |cell| unscaled(cell)?.to_i128())?
        }
        T::Decimal256(..) => primitive::<Decimal256Type>(data_type, cells, unscaled)?,
        T::Utf8 => Arc::new(StringArray::from_iter(each(cells, text)?)),
        T::LargeUtf8 => Arc::new(LargeStringArray::from_iter(each(cells, text)?)),
        T::Utf8View => {
            let mut builder = StringViewBuilder::new();
            each(cells, text)?.into_iter().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        T::Binary => Arc::new(BinaryArray::from_iter(each(cells, bytes)?)),
        T::LargeBinary => Arc::new(LargeBinaryArray::from_iter(each(cells, bytes)?)),
        T::BinaryView => {
            let mut builder = BinaryViewBuilder::new();
            each(cells, bytes)?.into_iter().for_each(|value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        T::FixedSizeBinary(len) => {
            let mut builder = FixedSizeBinaryBuilder::new(*len);
            for value in each(cells, bytes)? {
                match value {
                    Some(value) => builder.append_value(value)?,
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        T::List(item) => list::<i32>(item, cells)?,
        T::LargeList(item) => list::<i64>(item, cells)?,
        T::FixedSizeList(item, len) => fixed_size_list(item, *len, cells)?,
        T::Struct(fields) => structs(fields, cells)?,
        T::Map(entries, sorted) => map(entries, *sorted, cells)?,
        T::Dictionary(keys, values) => dictionary(keys, values, cells)?,
        other => return Err(refused(&format!("no cells of type {other}"))),
    })
}

fn refused(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(what.to_owned())
}

/// Every cell as `T`; `None` for nulls, an error for cells of another kind.
fn each<'a, T>(
    cells: &[&'a Cell],
    get: impl Fn(&'a Cell) -> Option<T>,
) -> Result<Vec<Option<T>>, ArrowError> {
    let one = |cell: &&'a Cell| match cell {
        Cell::Null => Ok(None),
        cell => match get(cell) {
            Some(value) => Ok(Some(value)),
            None => Err(refused(&format!("{cell:?} is not of the type"))),
        },
    };
    cells.iter().map(one).collect()
}

fn primitive<P: ArrowPrimitiveType>(
    data_type: &DataType,
    cells: &[&Cell],
    get: impl Fn(&Cell) -> Option<P::Native>,
) -> Built {
    let values = each(cells, get)?;
    Ok(Arc::new(PrimitiveArray::<P>::from_iter(values).with_data_type(data_type.clone())))
}

fn int<P: ArrowPrimitiveType>(data_type: &DataType, cells: &[&Cell]) -> Built
where
    P::Native: TryFrom<i128>,
{
    primitive::<P>(data_type, cells, |cell| match cell {
        Cell::Int(value) => P::Native::try_from(*value).ok(),
        _ => None,
    })
}

fn bits(cell: &Cell) -> Option<u64> {
    if let Cell::Float(bits) = cell { Some(*bits) } else { None }
}

fn unscaled(cell: &Cell) -> Option<i256> {
    if let Cell::Decimal(value) = cell { Some(*value) } else { None }
}

fn text(cell: &Cell) -> Option<&str> {
    if let Cell::Text(text) = cell { Some(text) } else { None }
}

fn bytes(cell: &Cell) -> Option<&[u8]> {
    if let Cell::Bytes(bytes) = cell { Some(bytes) } else { None }
}

fn items(cell: &Cell) -> Option<&[Cell]> {
    if let Cell::List(items) = cell { Some(items) } else { None }
}

fn nulls(cells: &[&Cell]) -> Option<NullBuffer> {
    let valid: Vec<bool> = cells.iter().map(|cell| !cell.is_null()).collect();
    Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0)
}

fn list<O: OffsetSizeTrait>(item: &FieldRef, cells: &[&Cell]) -> Built {
    let lists = each(cells, items)?;
    let lengths = lists.iter().map(|list| list.map_or(0, <[Cell]>::len));
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    let below: Vec<&Cell> = lists.iter().flatten().copied().flatten().collect();
    let values = build(item.data_type(), &below)?;
    Ok(Arc::new(GenericListArray::try_new(Arc::clone(item), offsets, values, nulls(cells))?))
}

fn fixed_size_list(item: &FieldRef, len: i32, cells: &[&Cell]) -> Built {
    let mut below = Vec::new();
    for list in each(cells, items)? {
        match list {
            Some(list) => below.extend(list),
            None => below.extend((0..len).map(|_| &Cell::Null)),
        }
    }
    let values = build(item.data_type(), &below)?;
    let nulls = nulls(cells);
    let item = Arc::clone(item);
    let array = FixedSizeListArray::try_new_with_length(item, len, values, nulls, cells.len())?;
    Ok(Arc::new(array))
}

fn structs(fields: &Fields, cells: &[&Cell]) -> Built {
    let rows = each(cells, |cell| match cell {
        Cell::Struct(row) if row.len() == fields.len() => Some(row.as_slice()),
        _ => None,
    })?;
    let mut columns = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let column: Vec<&Cell> =
            rows.iter().map(|row| row.map_or(&Cell::Null, |row| &row[index])).collect();
        columns.push(build(field.data_type(), &column)?);
    }
    let nulls = nulls(cells);
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, cells.len())?))
}

fn map(entries: &FieldRef, sorted: bool, cells: &[&Cell]) -> Built {
    let maps = each(cells, |cell| match cell {
        Cell::Map(entries) => Some(entries.as_slice()),
        _ => None,
    })?;
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(refused("map entries are a struct"));
    };
    let offsets =
        OffsetBuffer::from_lengths(maps.iter().map(|map| map.map_or(0, <[(Cell, Cell)]>::len)));
    let pairs: Vec<&(Cell, Cell)> = maps.iter().flatten().copied().flatten().collect();
    let keys: Vec<&Cell> = pairs.iter().map(|(key, _)| key).collect();
    let values: Vec<&Cell> = pairs.iter().map(|(_, value)| value).collect();
    let columns =
        vec![build(fields[0].data_type(), &keys)?, build(fields[1].data_type(), &values)?];
    let below = StructArray::try_new_with_length(fields.clone(), columns, None, pairs.len())?;
    let nulls = nulls(cells);
    Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, below, nulls, sorted)?))
}

fn dictionary(keys: &DataType, values: &DataType, cells: &[&Cell]) -> Built {
    let mut distinct: Vec<&Cell> = Vec::new();
    let mut index: HashMap<&Cell, usize> = HashMap::new();
    let mut positions = Vec::with_capacity(cells.len());
    for cell in cells {
        positions.push((!cell.is_null()).then(|| {
            *index.entry(cell).or_insert_with(|| {
                distinct.push(cell);
                distinct.len() - 1
            })
        }));
    }
    let values = build(values, &distinct)?;
    Ok(match keys {
        DataType::Int8 => keyed::<Int8Type>(&positions, values)?,
        DataType::Int16 => keyed::<Int16Type>(&positions, values)?,
        DataType::Int32 => keyed::<Int32Type>(&positions, values)?,
        DataType::Int64 => keyed::<Int64Type>(&positions, values)?,
        DataType::UInt8 => keyed::<UInt8Type>(&positions, values)?,
        DataType::UInt16 => keyed::<UInt16Type>(&positions, values)?,
        DataType::UInt32 => keyed::<UInt32Type>(&positions, values)?,
        DataType::UInt64 => keyed::<UInt64Type>(&positions, values)?,
        other => return Err(refused(&format!("{other} is not a type of dictionary keys"))),
    })
}

fn keyed<K: ArrowDictionaryKeyType>(positions: &[Option<usize>], values: ArrayRef) -> Built {
    let mut keys = Vec::with_capacity(positions.len());
    for position in positions {
        keys.push(match position {
            None => None,
            Some(position) => {
                let key = K::Native::from_usize(*position);
                Some(key.ok_or(ArrowError::DictionaryKeyOverflowError)?)
            }
        });
    }
    let array = DictionaryArray::<K>::try_new(PrimitiveArray::from_iter(keys), values)?;
    Ok(Arc::new(array))
}
