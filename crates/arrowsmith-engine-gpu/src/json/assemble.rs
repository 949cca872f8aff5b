// SPDX-License-Identifier: Apache-2.0
//! Arrow arrays of the columns that the device returns, validated by Arrow as untrusted data: a
//! faulty kernel causes an error here, never a wrong batch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, SchemaRef};
use arrowsmith_core::Result;

use super::program::{Program, Step, base_type};
use super::run::Fetched;
use crate::abi::Kind;
use crate::device::failure;

impl Step {
    /// Whether offsets have 64 bits.
    pub fn is_large(&self) -> bool {
        matches!(base_type(&self.data_type), DataType::LargeUtf8 | DataType::LargeBinary)
    }

    /// The type that the device makes, from which other types are cast.
    pub fn plain_type(&self) -> DataType {
        match (self.kind, base_type(&self.data_type)) {
            (Kind::Utf8 | Kind::Json, DataType::LargeUtf8) => DataType::LargeUtf8,
            (Kind::Utf8 | Kind::Json, _) => DataType::Utf8,
            (Kind::Binary, DataType::LargeBinary) => DataType::LargeBinary,
            (Kind::Binary, _) => DataType::Binary,
            (_, base) => base.clone(),
        }
    }
}

/// The batch of a piece: its columns are the children of the root, or the root itself.
pub(crate) fn batch(
    program: &Program,
    columns: &[Fetched],
    schema: &SchemaRef,
    value_root: bool,
    rows: usize,
) -> Result<RecordBatch> {
    let root = &program.steps[0];
    let ids = if value_root { 0..1 } else { root.first..root.first + root.count };
    let arrays = ids.map(|id| array(program, columns, id)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

fn array(program: &Program, columns: &[Fetched], id: usize) -> Result<ArrayRef> {
    let step = &program.steps[id];
    let column = columns.get(id).ok_or_else(|| failure("gpu: a column less than planned"))?;
    let children = match step.kind {
        Kind::Struct => step.first..step.first + step.count,
        Kind::List | Kind::FixedList => step.first..step.first + 1,
        Kind::Map => step.first..step.first + 2,
        _ => 0..0,
    };
    let mut below = Vec::with_capacity(children.len());
    for child in children {
        below.push(array(program, columns, child)?.to_data());
    }
    let plain = step.plain_type();
    let mut data = ArrayData::builder(plain.clone()).len(column.len);
    if let DataType::Map(entries, _) = &plain {
        let len = below.first().map_or(0, ArrayData::len);
        let entries = ArrayData::builder(entries.data_type().clone()).len(len).child_data(below);
        below = vec![entries.build()?];
    }
    data = data.child_data(below);
    if step.kind == Kind::Null {
        return Ok(make_array(data.build()?));
    }
    if column.null_count > 0 {
        data = data.null_bit_buffer(column.valid.clone());
    }
    // Aligned for every type.
    let empty = || Buffer::from(MutableBuffer::new(0));
    let values = column.values.clone().unwrap_or_else(empty);
    // An empty array has one offset too.
    let offsets = |width: usize| match &column.offsets {
        Some(offsets) => offsets.clone(),
        None => Buffer::from(vec![0_u64]).slice_with_length(0, width),
    };
    match step.kind {
        Kind::Struct | Kind::FixedList => {}
        Kind::List if matches!(plain, DataType::LargeList(_)) => {
            data = data.add_buffer(widen(&offsets(4)));
        }
        Kind::List | Kind::Map => data = data.add_buffer(offsets(4)),
        Kind::Utf8 | Kind::Json | Kind::Binary => {
            let width = if step.is_large() { 8 } else { 4 };
            data = data.add_buffer(offsets(width)).add_buffer(values);
        }
        _ => data = data.add_buffer(values),
    }
    let array = make_array(data.build()?);
    if array.data_type() == &step.data_type {
        return Ok(array);
    }
    Ok(arrow_cast::cast(&array, &step.data_type)?)
}

/// 32-bit offsets widened to 64 bits.
fn widen(offsets: &Buffer) -> Buffer {
    let (words, _) = offsets.as_slice().as_chunks::<4>();
    words.iter().map(|word| i64::from(i32::from_le_bytes(*word))).collect::<Vec<_>>().into()
}
