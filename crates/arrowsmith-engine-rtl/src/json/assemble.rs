// SPDX-License-Identifier: Apache-2.0
//! The circuit's buffers as Arrow arrays: truncates them to the complete rows, and checks Arrow's
//! invariants.
//!
//! It decodes nothing. Buffers are used as they are; only types that differ from the circuit's
//! output in the width of offsets (large strings and lists) or in their layout (views) are
//! rewritten.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, LargeListArray, LargeStringArray, ListArray,
    NullArray, RecordBatch, RecordBatchOptions, StringArray, StringViewArray, StructArray,
    make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use arrowsmith_core::{Error, Result};
use arrowsmith_rtlgen::json::{Kind, Layout, Row, is_outer};

/// Buffers of one parser, and their layout.
pub(super) struct Assemble<'a> {
    layout: &'a Layout,
    buffers: &'a [Buffer],
}

impl<'a> Assemble<'a> {
    /// `buffers` are those of one parser, in order of their numbers.
    pub(super) fn new(layout: &'a Layout, buffers: &'a [Buffer]) -> Self {
        Self { layout, buffers }
    }

    pub(super) fn batch(&self, schema: &SchemaRef, rows: usize) -> Result<RecordBatch> {
        let columns = self.layout.rows[0].children.iter().map(|&node| self.array(node, rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }

    /// A buffer of a class, of at least this many bytes.
    fn buffer(&self, class: usize, number: Option<usize>, bytes: usize) -> Result<Buffer> {
        let before: usize = self.layout.counts[..class].iter().sum();
        let buffer = number.and_then(|number| self.buffers.get(before + number));
        match buffer.filter(|buffer| buffer.len() >= bytes) {
            Some(buffer) => Ok(buffer.slice_with_length(0, bytes)),
            None => Err(broken("wrote less than it reported")),
        }
    }

    /// The bits of `len` rows. Those after them, which a refused record may have set, are cleared,
    /// so that buffers are the same as engine `cpu`'s.
    fn bits(&self, class: usize, number: Option<usize>, len: usize) -> Result<BooleanBuffer> {
        let bits = self.buffer(class, number, len.div_ceil(8))?;
        let padding = match len % 8 {
            0 => 0,
            used => 0xff_u8 << used,
        };
        let bits = match bits.last() {
            Some(last) if last & padding != 0 => {
                let mut bytes = bits.to_vec();
                if let Some(last) = bytes.last_mut() {
                    *last &= !padding;
                }
                bytes.into()
            }
            _ => bits,
        };
        Ok(BooleanBuffer::new(bits, 0, len))
    }

    fn nulls(&self, row: &Row, len: usize) -> Result<Option<NullBuffer>> {
        let class = if is_outer(row.kind) { 3 } else { 2 };
        match row.validity {
            None => Ok(None),
            Some(_) => {
                let nulls = NullBuffer::new(self.bits(class, row.validity, len)?);
                Ok(Some(nulls).filter(|nulls| nulls.null_count() > 0))
            }
        }
    }

    fn offsets(&self, row: &Row, len: usize) -> Result<OffsetBuffer<i32>> {
        if len == 0 {
            return Ok(OffsetBuffer::new_empty());
        }
        let values: ScalarBuffer<i32> = self.buffer(1, row.offsets, (len + 1) * 4)?.into();
        if values[0] != 0 || values.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(broken("wrote offsets that fall"));
        }
        Ok(OffsetBuffer::new(values))
    }

    fn array(&self, node: usize, len: usize) -> Result<ArrayRef> {
        let row = &self.layout.rows[node];
        let nulls = self.nulls(row, len)?;
        Ok(match row.kind {
            Kind::Int(..) | Kind::Float(_) | Kind::Decimal(..) | Kind::Time(_) => {
                self.values(row, len, nulls)?
            }
            Kind::Bool => Arc::new(BooleanArray::new(self.bits(4, row.flags, len)?, nulls)),
            Kind::Null => Arc::new(NullArray::new(len)),
            Kind::Text => self.text(row, len, nulls)?,
            Kind::List => {
                let offsets = self.offsets(row, len)?;
                let items = self.array(row.children[0], length(&offsets)?)?;
                match &row.data_type {
                    DataType::LargeList(field) => Arc::new(LargeListArray::try_new(
                        field.clone(),
                        wide(&offsets),
                        items,
                        nulls,
                    )?),
                    other => Arc::new(ListArray::try_new(item(other)?, offsets, items, nulls)?),
                }
            }
            Kind::Fixed(size) => {
                let items = self.array(row.children[0], len * usize::from(size))?;
                let field = item(&row.data_type)?;
                Arc::new(FixedSizeListArray::try_new_with_length(
                    field,
                    i32::from(size),
                    items,
                    nulls,
                    len,
                )?)
            }
            Kind::Struct => {
                let children = row.children.iter().map(|&child| self.array(child, len));
                let children = children.collect::<Result<Vec<_>>>()?;
                let DataType::Struct(fields) = &row.data_type else {
                    return Err(broken("has an object of another type"));
                };
                Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, len)?)
            }
        })
    }

    fn text(&self, row: &Row, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let offsets = self.offsets(row, len)?;
        let bytes = self.buffer(0, row.data, length(&offsets)?)?;
        Ok(match &row.data_type {
            DataType::LargeUtf8 => {
                Arc::new(LargeStringArray::try_new(wide(&offsets), bytes, nulls)?)
            }
            other => {
                let strings = StringArray::try_new(offsets, bytes, nulls)?;
                if *other == DataType::Utf8View {
                    Arc::new(StringViewArray::from(&strings))
                } else {
                    Arc::new(strings)
                }
            }
        })
    }

    fn values(&self, row: &Row, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let element = row.kind.element_bytes().ok_or_else(|| broken("has no such element"))?;
        let values = self.buffer(0, row.data, len * usize::from(element))?;
        let data = ArrayData::builder(row.data_type.clone()).len(len);
        Ok(make_array(data.add_buffer(values).nulls(nulls).build()?))
    }
}

fn item(data_type: &DataType) -> Result<FieldRef> {
    match data_type {
        DataType::List(field) | DataType::FixedSizeList(field, _) => Ok(Arc::clone(field)),
        _ => Err(broken("has a list of another type")),
    }
}

fn length(offsets: &OffsetBuffer<i32>) -> Result<usize> {
    let last = offsets.last().copied().unwrap_or(0);
    usize::try_from(last).map_err(|_| broken("wrote offsets that fall"))
}

fn wide(offsets: &OffsetBuffer<i32>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|&offset| i64::from(offset)).collect())
}

/// The circuit is broken.
pub(super) fn broken(what: &str) -> Error {
    std::io::Error::other(format!("the circuit {what}")).into()
}
