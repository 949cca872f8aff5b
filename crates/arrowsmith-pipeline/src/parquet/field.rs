// SPDX-License-Identifier: Apache-2.0
//! One column of a portion: its batches in order, from the engine that decodes it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter;
use arrow_select::take::take;
use arrowsmith_core::{Error, FileErrorKind, FilePlace, Result};
use arrowsmith_engine::ColumnDecoder;
use arrowsmith_parquet::row_bytes;

use super::conform::conform;
use super::portion::fewer;

/// Starts decoding a column.
pub(crate) type Open = Box<dyn FnOnce() -> Result<Box<dyn ColumnDecoder>> + Send>;

/// The source of the values.
pub(crate) enum Stream {
    /// A column that is decoded once its first rows are wanted: thousands of them are opened on all
    /// threads, and hold no buffers before that.
    Closed(Open),
    /// An engine.
    Decoder(Box<dyn ColumnDecoder>),
    /// A column of which all rows are decoded.
    Done,
    /// A column that the file does not have.
    Null(DataType),
    /// A constant: an array of one row.
    Constant(ArrayRef),
}

impl Stream {
    /// The next `rows` rows, or those that are left; fewer, at least one, if they would take up
    /// much more than `bytes_max` bytes.
    pub(crate) fn next(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        if let Self::Closed(_) = self
            && let Self::Closed(open) = std::mem::replace(self, Self::Done)
        {
            *self = Self::Decoder(open()?);
        }
        match self {
            Self::Decoder(decoder) => decoder.next_within(rows, bytes_max),
            Self::Closed(_) | Self::Done => Err(fewer()),
            Self::Null(data_type) => {
                let rows = fitting(rows, row_bytes(data_type), bytes_max)?;
                Ok(new_null_array(data_type, rows))
            }
            Self::Constant(value) => {
                let rows = fitting(rows, bytes_held(value), bytes_max)?;
                // Bounded: by the rows that fit.
                let zeros = UInt32Array::from(vec![0; rows]);
                Ok(take(value, &zeros, None)?)
            }
        }
    }
}

/// Maximum bytes of a row of a column that the file does not have.
const ROW_BYTES_MAX: usize = 64 << 20;

/// Rows of a width that fit into `bytes_max`.
fn fitting(rows: usize, width: usize, bytes_max: usize) -> Result<usize> {
    if width > bytes_max.saturating_mul(4).max(ROW_BYTES_MAX) {
        let message = format!("a row of {width} bytes, memory_bytes_max allows {bytes_max}");
        return Err(Error::file(FileErrorKind::Limit, message));
    }
    Ok(rows.min((bytes_max / width.max(1)).max(1)))
}

/// A column being decoded.
pub(crate) struct FieldTask {
    stream: Stream,
    /// The type that the batches have, if the file has another, and where the column is.
    cast_to: Option<(DataType, FilePlace)>,
    /// What helps if a value does not fit.
    remedy: &'static str,
    /// Which of the decoded rows stay; `None`: all.
    mask: Option<BooleanBuffer>,
    /// Rows that are decoded in all, and so far.
    rows: usize,
    rows_done: usize,
    /// Decoded rows that are too large to be cast at once.
    pending: Option<ArrayRef>,
    /// Stored bytes of the column that are not yet counted as read.
    pub(crate) bytes_stored: u64,
    /// The usual share of this column in the memory of all columns.
    pub(crate) weight: u64,
}

impl FieldTask {
    pub(crate) fn new(
        stream: Stream,
        field: &Field,
        stored: &DataType,
        (rows, mask): (usize, Option<BooleanBuffer>),
        bytes_stored: u64,
    ) -> Self {
        let cast_to = (field.data_type() != stored).then(|| {
            let column = Some(field.name().clone());
            (field.data_type().clone(), FilePlace { column, ..FilePlace::default() })
        });
        let (rows_done, pending, weight) = (0, None, 0);
        let remedy = "";
        Self { stream, cast_to, remedy, mask, rows, rows_done, pending, bytes_stored, weight }
    }

    /// Says in which file the column is.
    pub(crate) fn in_file(mut self, source: Option<&Arc<str>>, row_group: usize) -> Self {
        if let Some((_, place)) = &mut self.cast_to {
            place.source = source.cloned();
            place.row_group = Some(row_group);
        }
        self
    }

    /// Says what helps if a value does not fit.
    pub(crate) fn with_remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = remedy;
        self
    }

    /// The next `rows` rows, or fewer as [`Stream::next`] says, without those that the mask
    /// removes; and their number before that.
    pub(crate) fn next(&mut self, rows: usize, bytes_max: usize) -> Result<(ArrayRef, usize)> {
        let array = match self.pending.take() {
            Some(array) => array,
            None => self.stream.next(rows, bytes_max)?,
        };
        let mut array = match &self.cast_to {
            Some((data_type, place)) => {
                let fit = rows_to_cast(&array, data_type, bytes_max).min(rows);
                if fit < array.len() {
                    self.pending = Some(array.slice(fit, array.len() - fit));
                }
                let rows = array.slice(0, fit.min(array.len()));
                conform(&rows, data_type).map_err(|error| {
                    let error = error.at(|at| *at = place.clone());
                    with_remedy(error, self.remedy)
                })?
            }
            None => array,
        };
        let rows = array.len();
        if let Some(mask) = &self.mask {
            let mask = BooleanArray::new(mask.slice(self.rows_done, rows), None);
            array = filter(&array, &mask)?;
        }
        self.rows_done += rows;
        if self.rows_done >= self.rows {
            // Its buffers are those of the next column.
            self.stream = Stream::Done;
        }
        Ok((array, rows))
    }
}

fn with_remedy(mut error: Error, remedy: &str) -> Error {
    if let Error::File(file) = &mut error {
        file.message.push_str(remedy);
    }
    error
}

/// Rows of an array that may be cast at once: a dictionary grows.
fn rows_to_cast(array: &ArrayRef, to: &DataType, bytes_max: usize) -> usize {
    let rows = array.len();
    let Some(dictionary) = array.as_any_dictionary_opt() else { return rows };
    if matches!(to, DataType::Dictionary(..)) {
        return rows;
    }
    let values = dictionary.values();
    let longest = match values.data_type() {
        DataType::Utf8 => longest(values.as_string::<i32>().offsets()),
        DataType::LargeUtf8 => longest(values.as_string::<i64>().offsets()),
        DataType::Binary => longest(values.as_binary::<i32>().offsets()),
        DataType::LargeBinary => longest(values.as_binary::<i64>().offsets()),
        DataType::Utf8View | DataType::BinaryView => bytes_held(values),
        other => row_bytes(other),
    };
    (bytes_max / longest.max(row_bytes(to)).max(1)).clamp(1, rows.max(1))
}

fn longest<O: ArrowNativeType + std::ops::Sub<Output = O>>(offsets: &[O]) -> usize {
    offsets.windows(2).map(|ends| (ends[1] - ends[0]).as_usize()).max().unwrap_or(0)
}

/// Memory of an array, in bytes; of shared buffers its own part.
pub(crate) fn bytes_held(array: &ArrayRef) -> usize {
    let data = Arc::clone(array).to_data();
    data.get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}
