// SPDX-License-Identifier: Apache-2.0
//! One column of a portion: its batches one after another, from whichever engine decodes it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter;
use arrow_select::take::take;
use arrowsmith_core::Result;
use arrowsmith_parquet::ColumnDecoder;

/// What gives the values.
pub(crate) enum Stream {
    /// An engine.
    Decoder(Box<dyn ColumnDecoder>),
    /// A column that the file does not have.
    Null(DataType),
    /// A value that is the same in every row: an array of one.
    Constant(ArrayRef),
}

impl Stream {
    /// The next `rows` rows, or as many as are left.
    pub(crate) fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Decoder(decoder) => decoder.next(rows),
            Self::Null(data_type) => Ok(new_null_array(data_type, rows)),
            Self::Constant(value) => {
                let zeros = UInt32Array::from(vec![0; rows]);
                Ok(take(value, &zeros, None)?)
            }
        }
    }
}

/// A column being decoded.
pub(crate) struct FieldTask {
    stream: Stream,
    /// The type that the batches have, if the file has another.
    cast_to: Option<DataType>,
    /// Which of the decoded rows stay; none: all.
    mask: Option<BooleanBuffer>,
    rows_done: usize,
    /// Stored bytes of the column that are not counted as read yet.
    pub(crate) bytes_stored: u64,
}

impl FieldTask {
    pub(crate) fn new(
        stream: Stream,
        field: &Field,
        stored: &DataType,
        mask: Option<BooleanBuffer>,
        bytes_stored: u64,
    ) -> Self {
        let cast_to = (field.data_type() != stored).then(|| field.data_type().clone());
        Self { stream, cast_to, mask, rows_done: 0, bytes_stored }
    }

    /// The next `rows` rows without those that the mask takes out.
    pub(crate) fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut array = self.stream.next(rows)?;
        if let Some(mask) = &self.mask {
            let mask = BooleanArray::new(mask.slice(self.rows_done, rows), None);
            array = filter(&array, &mask)?;
        }
        self.rows_done += rows;
        match &self.cast_to {
            Some(data_type) => {
                let options = CastOptions { safe: false, ..CastOptions::default() };
                Ok(cast_with_options(&array, data_type, &options)?)
            }
            None => Ok(array),
        }
    }
}

/// Memory that an array takes up, in bytes; what it shares with others counts for its own part.
pub(crate) fn bytes_held(array: &ArrayRef) -> usize {
    let data = Arc::clone(array).to_data();
    data.get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}
