// SPDX-License-Identifier: Apache-2.0
//! Parquet columns on a device: pages are found on the host, all work per byte or per value is done
//! by the kernels of `kernels/parquet`.
//!
//! The device decodes a column chunk as a whole, the pages of it that hold wanted rows, or, where
//! there is no room for that or offsets of 32 bits do not number it, a window of rows at a time.
//! What it does not hold is declined, and every column from where it finds anything that is
//! malformed, the rest of the chain decodes: so errors are that engine's. Codecs other than Snappy
//! and Zstandard run on the host.

mod chunk;
mod frame;
mod occupancy;
mod pages;
mod resident;
mod shape;
mod split;
pub(crate) mod trial;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, new_empty_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_select::concat::concat;
use arrowsmith_core::Result;
use arrowsmith_engine::{Chain, ColumnDecoder, ColumnRequest, Engine};
use arrowsmith_parquet::nest::{self, Nest};
use arrowsmith_parquet::{Budget, Column, File, ReadOptions, RowSelection};

use crate::GpuOptions;
use crate::device::failure;
use crate::device::lanes::{Lane, Lanes};
use chunk::{Halt, Run};
pub(crate) use occupancy::describe;
use pages::{Codec, Host};
use shape::Shape;
pub(crate) use shape::check;

/// Decodes columns on a device; shared by all threads.
#[derive(Debug)]
pub(crate) struct Columns {
    options: GpuOptions,
    lanes: Arc<Lanes>,
    on_device: AtomicU64,
    left: AtomicU64,
}

impl Columns {
    /// Decodes in these lanes.
    pub(crate) fn new(lanes: Arc<Lanes>, options: GpuOptions) -> Self {
        Self { options, lanes, on_device: AtomicU64::new(0), left: AtomicU64::new(0) }
    }

    /// Counts of column windows that the device decoded, and of columns left to another engine.
    pub(crate) fn chunks(&self) -> (u64, u64) {
        (self.on_device.load(Ordering::Relaxed), self.left.load(Ordering::Relaxed))
    }

    fn count_on_device(&self) {
        self.on_device.fetch_add(1, Ordering::Relaxed);
    }

    /// The rows of a window, or of the part of it that fits into memory.
    fn window(&self, request: &FieldRequest<'_>, rows: Range<usize>) -> Result<Window> {
        let mut rows = rows;
        let mut leased = self.lanes.lease()?;
        let lane = leased.lane()?;
        loop {
            let outcome = request.decode(lane, &rows, &self.options);
            lane.arena.reset(lane.stream.as_mut())?;
            match outcome {
                Ok(array) => return Ok(Window::Rows(array, rows.start)),
                Err(Halt::Unsure) => return Ok(Window::Unsure),
                Err(Halt::Failed(error)) => return Err(error),
                // The rows of lists cannot be located.
                Err(Halt::TooLarge) if request.repeats() || rows.len() <= ROWS_MIN => {
                    return Ok(Window::Unsure);
                }
                Err(Halt::TooLarge) => rows.end = rows.start + rows.len() / 2,
            }
        }
    }
}

impl ColumnDecoder for FieldDecoder {
    fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        Self::next(self, rows)
    }
}

/// Minimum rows of a window: it is not split further.
const ROWS_MIN: usize = 64;

enum Window {
    /// Rows, and the first of them in the row group.
    Rows(ArrayRef, usize),
    /// Another engine has to decode it.
    Unsure,
}

/// One field of one row group.
struct FieldRequest<'a> {
    file: &'a File,
    row_group: usize,
    nest: &'a Nest,
    shapes: &'a [Shape],
    verify_checksums: bool,
}

impl FieldRequest<'_> {
    fn repeats(&self) -> bool {
        self.shapes.iter().any(|shape| shape.rep_max > 0)
    }

    fn decode(
        &self,
        lane: &mut Lane,
        rows: &Range<usize>,
        options: &GpuOptions,
    ) -> Result<ArrayRef, Halt> {
        let mut leaves = Leaves(Vec::with_capacity(self.shapes.len()));
        for shape in self.shapes {
            let mut run = Run::new(lane, options);
            let host = Host::read(
                &mut run,
                self.file,
                self.row_group,
                shape,
                rows,
                self.verify_checksums,
            )?;
            let mut decoded = chunk::decode(&mut run, shape, &host)?;
            lane.arena.reset(lane.stream.as_mut()).map_err(Halt::Failed)?;
            if !self.repeats() {
                // Page boundaries differ between leaves: all are sliced to the same rows.
                let from = rows.start - host.first;
                if decoded.array.len() < from + rows.len() {
                    return Err(Halt::Unsure);
                }
                decoded.array = decoded.array.slice(from, rows.len());
                for (nulls, _) in &mut decoded.ancestors {
                    *nulls = nulls.take().map(|nulls| nulls.slice(from, rows.len()));
                }
            }
            leaves.0.push(decoded);
        }
        let array = self.nest.array(&mut leaves).map_err(|_| Halt::Unsure)?;
        // All rows of lists, since it is unknown which pages have which rows.
        if array.len() == rows.len() { Ok(array) } else { Err(Halt::Unsure) }
    }
}

/// The decoded leaves of a field, for the array writer.
struct Leaves(Vec<chunk::Decoded>);

impl nest::Leaves for Leaves {
    fn array(&mut self, leaf: usize) -> Result<ArrayRef> {
        Ok(Arc::clone(&self.0[leaf].array))
    }

    fn ancestor(&mut self, at: (usize, usize)) -> (Option<NullBuffer>, ScalarBuffer<i32>) {
        self.0[at.0].ancestors[at.1].clone()
    }
}

/// Decodes one field of one row group, batch by batch.
pub(crate) struct FieldDecoder(Source);

enum Source {
    Device(Box<DeviceSource>),
    /// The next engine.
    Rest(Box<dyn ColumnDecoder>),
}

/// A field that the device decodes, a window of rows at a time.
struct DeviceSource {
    columns: Arc<Columns>,
    rest: Chain,
    file: File,
    row_group: usize,
    column: Column,
    nest: Nest,
    shapes: Vec<Shape>,
    batch_rows: usize,
    options: ReadOptions,
    budget: Arc<Budget>,
    /// Rows of the row group.
    rows: usize,
    /// The selected rows that are left.
    ranges: VecDeque<Range<usize>>,
    /// Decoded rows, and the first of them in the row group.
    window: (ArrayRef, usize),
}

impl DeviceSource {
    /// Decodes a window with the next selected row; false if another engine has to.
    fn advance(&mut self) -> Result<bool> {
        let (Some(first), Some(last)) = (self.ranges.front(), self.ranges.back()) else {
            return Ok(true);
        };
        let request = FieldRequest {
            file: &self.file,
            row_group: self.row_group,
            nest: &self.nest,
            shapes: &self.shapes,
            verify_checksums: self.options.verify_checksums,
        };
        let wanted = if request.repeats() { 0..self.rows } else { first.start..last.end };
        match self.columns.window(&request, wanted)? {
            Window::Rows(array, first) => self.window = (array, first),
            Window::Unsure => return Ok(false),
        }
        self.columns.count_on_device();
        Ok(true)
    }

    /// The next engine's decoder of the rows that are left.
    fn hand_over(&self) -> Result<Box<dyn ColumnDecoder>> {
        self.columns.left.fetch_add(1, Ordering::Relaxed);
        let left = RowSelection::from_ranges(self.ranges.iter().cloned());
        self.rest.column(&ColumnRequest {
            file: &self.file,
            row_group: self.row_group,
            column: &self.column,
            selection: Some(&left),
            batch_rows: self.batch_rows,
            options: &self.options,
            budget: &self.budget,
        })
    }

    /// Up to `rows` selected rows of the window.
    fn some(&mut self, rows: usize) -> Option<ArrayRef> {
        let (array, first) = &self.window;
        let range = self.ranges.front_mut()?;
        let end = first + array.len();
        if !(*first..end).contains(&range.start) {
            return None;
        }
        let some = rows.min(range.end.min(end) - range.start);
        let part = array.slice(range.start - first, some);
        range.start += some;
        if range.start >= range.end {
            self.ranges.pop_front();
        }
        Some(part)
    }
}

impl FieldDecoder {
    /// A decoder of one field of a row group: the rows of the selection, or all. If the device is
    /// in doubt, `rest` decodes.
    ///
    /// # Errors
    /// Those of `rest`, and failures of the device.
    pub(crate) fn new(
        columns: &Arc<Columns>,
        request: &ColumnRequest<'_>,
        rest: &Chain,
    ) -> Result<Self> {
        let ColumnRequest { file, row_group, column, selection, .. } = *request;
        let rows = file.row_group_rows(row_group)?;
        let all = RowSelection::all(rows);
        let ranges: VecDeque<_> = selection.unwrap_or(&all).ranges().iter().cloned().collect();
        if let Ok(nest) = Nest::new(column)
            && let Ok(shapes) = shape::shapes(&nest)
            && ranges.back().is_some_and(|last| last.end <= rows)
        {
            let mut source = DeviceSource {
                columns: Arc::clone(columns),
                rest: rest.clone(),
                file: file.clone(),
                row_group,
                column: column.clone(),
                nest,
                shapes,
                batch_rows: request.batch_rows,
                options: request.options.clone(),
                budget: Arc::clone(request.budget),
                rows,
                ranges,
                window: (new_empty_array(column.data_type()), 0),
            };
            if source.advance()? {
                return Ok(Self(Source::Device(Box::new(source))));
            }
        }
        columns.left.fetch_add(1, Ordering::Relaxed);
        Ok(Self(Source::Rest(rest.column(request)?)))
    }

    /// The next `rows` rows, or as many as are left.
    ///
    /// # Errors
    /// As [`FieldDecoder::new`].
    pub(crate) fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        if rows == 0
            && let Source::Rest(decoder) = &mut self.0
        {
            return decoder.next(0);
        }
        let mut parts = Vec::new();
        let mut left = rows;
        while left > 0 {
            let source = match &mut self.0 {
                Source::Rest(decoder) if parts.is_empty() => return decoder.next(left),
                Source::Rest(decoder) => {
                    parts.push(decoder.next(left)?);
                    break;
                }
                Source::Device(source) => source,
            };
            if let Some(part) = source.some(left) {
                left -= part.len();
                parts.push(part);
            } else if source.ranges.is_empty() {
                break;
            } else if !source.advance()? {
                self.0 = Source::Rest(source.hand_over()?);
            }
        }
        match (&parts[..], &self.0) {
            ([], Source::Rest(_)) => Err(failure("gpu: no rows")),
            ([], Source::Device(source)) => Ok(new_empty_array(source.column.data_type())),
            ([one], _) => Ok(Arc::clone(one)),
            _ => {
                let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
                Ok(concat(&parts)?)
            }
        }
    }
}
