// SPDX-License-Identifier: Apache-2.0
//! Build: the columns of a batch become Arrow arrays, without a copy where types allow it.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray,
    LargeListArray, ListArray, MapArray, NullArray, StructArray, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use arrowsmith_core::{Error, Result};
use arrowsmith_simd::Buf;

use super::{Columns, Values};
use crate::json::program::{Code, Id, Program, base_type};

impl Columns {
    /// Takes a column out as an array of its type.
    pub fn take(&mut self, program: &Program, id: Id) -> Result<ArrayRef> {
        let len = self.len(id);
        let nulls = take_nulls(&mut self.columns[id].nulls, len);
        let step = &program.steps[id];
        let data_type = &step.data_type;
        let array: ArrayRef = match step.code {
            Code::Null => Arc::new(self.count(id).map(NullArray::new)?),
            Code::Struct(object) => {
                let object = &program.objects[object];
                let DataType::Struct(fields) = data_type else { return Err(mismatch(data_type)) };
                let mut children = Vec::with_capacity(fields.len());
                for child in object.first..object.first + object.keys.len() {
                    children.push(self.take(program, child)?);
                }
                let len = self.count(id)?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, len)?)
            }
            Code::FixedList(item, size) => {
                let child = self.take(program, item)?;
                let len = self.count(id)?;
                let DataType::FixedSizeList(field, _) = data_type else {
                    return Err(mismatch(data_type));
                };
                let size = i32::try_from(size).unwrap_or(0);
                let field = Arc::clone(field);
                Arc::new(FixedSizeListArray::try_new_with_length(field, size, child, nulls, len)?)
            }
            Code::List(item) => {
                let child = self.take(program, item)?;
                let ends = self.take_ends(id)?;
                match data_type {
                    DataType::List(field) => {
                        Arc::new(ListArray::try_new(Arc::clone(field), ends, child, nulls)?)
                    }
                    DataType::LargeList(field) => {
                        let ends = ends.iter().map(|&end| i64::from(end)).collect();
                        let ends = OffsetBuffer::new(ends);
                        Arc::new(LargeListArray::try_new(Arc::clone(field), ends, child, nulls)?)
                    }
                    other => return Err(mismatch(other)),
                }
            }
            Code::Map(key, value) => {
                let children = vec![self.take(program, key)?, self.take(program, value)?];
                let ends = self.take_ends(id)?;
                let DataType::Map(entries, sorted) = data_type else {
                    return Err(mismatch(data_type));
                };
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err(mismatch(data_type));
                };
                let children = StructArray::try_new(fields.clone(), children, None)?;
                Arc::new(MapArray::try_new(Arc::clone(entries), ends, children, nulls, *sorted)?)
            }
            _ => self.take_leaf(id, nulls, base_type(data_type))?,
        };
        if array.data_type() == data_type {
            return Ok(array);
        }
        // Large, view and dictionary types are cast from the plain one.
        match data_type {
            DataType::Dictionary(key, _) if program.code(id) == Code::Bool => {
                bool_dictionary(&array, key)
            }
            DataType::Dictionary(key, _) => {
                arrow_cast::cast(&array, data_type).map_err(|error| match error {
                    ArrowError::DictionaryKeyOverflowError => Error::schema(
                        "",
                        format!(
                            "a batch has more distinct values than dictionary keys of type {key} \
                             can number: use wider keys"
                        ),
                    ),
                    other => other.into(),
                })
            }
            _ => Ok(arrow_cast::cast(&array, data_type)?),
        }
    }

    fn count(&mut self, id: Id) -> Result<usize> {
        match &mut self.columns[id].values {
            Values::Count(count) => Ok(std::mem::take(count)),
            other => Err(internal(format!("a column of {other:?} is not counted"))),
        }
    }

    fn take_ends(&mut self, id: Id) -> Result<OffsetBuffer<i32>> {
        match &mut self.columns[id].values {
            Values::Ends(ends) => Ok(take_offsets(ends)),
            other => Err(internal(format!("a column of {other:?} has no offsets"))),
        }
    }

    fn take_leaf(
        &mut self,
        id: Id,
        nulls: Option<NullBuffer>,
        data_type: &DataType,
    ) -> Result<ArrayRef> {
        Ok(match &mut self.columns[id].values {
            Values::Bits(bits) => Arc::new(BooleanArray::new(bits.take(), nulls)),
            Values::Text(text) => {
                let array = text.take(nulls);
                Arc::new(array.ok_or_else(|| internal("a text column is not UTF-8".to_owned()))?)
            }
            Values::Bytes(bytes, ends) => {
                let ends = take_offsets(ends);
                Arc::new(BinaryArray::try_new(ends, bytes.take().into_inner(), nulls)?)
            }
            Values::Fixed(bytes, width) => {
                let width = i32::try_from(*width).unwrap_or(0);
                let bytes = bytes.take().into_inner();
                Arc::new(FixedSizeBinaryArray::try_new(width, bytes, nulls)?)
            }
            Values::W8(buf) => numbers(buf, nulls, data_type)?,
            Values::W16(buf) => numbers(buf, nulls, data_type)?,
            Values::W32(buf) => numbers(buf, nulls, data_type)?,
            Values::W64(buf) => numbers(buf, nulls, data_type)?,
            Values::W128(buf) => numbers(buf, nulls, data_type)?,
            Values::W256(buf) => numbers(buf, nulls, data_type)?,
            Values::Count(_) | Values::Ends(_) => return Err(mismatch(data_type)),
        })
    }
}

/// An array of numbers. It is made by its data type, not by a type of Rust: of each of these all
/// methods of arrays would be compiled, a quarter of this crate.
fn numbers<T: ArrowNativeType>(
    buf: &mut Buf<T>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let bytes = buf.take().into_inner();
    let len = bytes.len() / size_of::<T>();
    let data = ArrayData::builder(data_type.clone()).len(len).add_buffer(bytes).nulls(nulls);
    Ok(make_array(data.build()?))
}

fn take_offsets(ends: &mut Buf<i32>) -> OffsetBuffer<i32> {
    let offsets = OffsetBuffer::new(ends.take());
    ends.push(0);
    offsets
}

fn take_nulls(nulls: &mut Buf<u32>, len: usize) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(len);
    bits.append_n(len, true);
    for &at in nulls.as_slice() {
        bits.set_bit(at as usize, false);
    }
    nulls.truncate(0);
    let bits: BooleanBuffer = bits.finish();
    Some(NullBuffer::new(bits))
}

/// A dictionary of `false` and `true`, which Arrow's cast does not make.
fn bool_dictionary(array: &ArrayRef, key: &DataType) -> Result<ArrayRef> {
    let values = BooleanArray::from(vec![false, true]).into_data();
    let data_type = DataType::Dictionary(Box::new(key.clone()), Box::new(DataType::Boolean));
    let keys = arrow_cast::cast(array, key)?.to_data().into_builder().data_type(data_type);
    Ok(make_array(keys.add_child_data(values).build()?))
}

fn mismatch(data_type: &DataType) -> Error {
    internal(format!("a column does not fit its type {data_type}"))
}

/// A bug of this crate, reported instead of a panic.
fn internal(message: String) -> Error {
    Error::Arrow(ArrowError::ComputeError(format!("engine cpu: {message}")))
}
