// SPDX-License-Identifier: Apache-2.0
//! Parquet columns on a device: pages are found and decompressed on the host, everything a value costs is
//! done by the kernels of `kernels/parquet`.
//!
//! The device decodes a column chunk as a whole, or the pages of it that hold wanted rows. What it does not
//! hold, and every column in which it finds anything that is not sound, the CPU engine decodes: so errors
//! are that engine's. Snappy, Zstandard and the other codecs run on the host.

mod chunk;
mod shape;

use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, new_empty_array};
use arrow_select::concat::concat;
use arrowsmith_core::Result;
use arrowsmith_engine_cpu::parquet::{ColumnOptions, FieldDecoder as CpuDecoder};
use arrowsmith_parquet::{Column, File, RowSelection};

use crate::GpuOptions;
use crate::device::memory::Arena;
use crate::device::{Device, Stream};
use shape::Shape;
pub use shape::supports;

/// A stream with memory of its own.
#[derive(Debug)]
struct Lane {
    // Before the memory, which is freed after all work is done.
    stream: Box<dyn Stream>,
    arena: Arena,
}

/// Decodes columns on a device; shared by all threads.
#[derive(Debug)]
pub struct ColumnEngine {
    device: Arc<dyn Device>,
    options: GpuOptions,
    lanes: Mutex<Vec<Lane>>,
    on_device: AtomicU64,
    on_cpu: AtomicU64,
}

impl ColumnEngine {
    /// On this device.
    pub fn new(device: Arc<dyn Device>, options: GpuOptions) -> Self {
        Self {
            device,
            options,
            lanes: Mutex::default(),
            on_device: AtomicU64::new(0),
            on_cpu: AtomicU64::new(0),
        }
    }

    /// On the first device that CUDA shows, of this machine.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn open(options: GpuOptions) -> Result<Self> {
        let engine = crate::GpuEngine::open(options.clone())?;
        Ok(Self::new(Arc::clone(engine.device()), options))
    }

    /// Column chunks so far that the device decoded, and that the CPU engine did.
    pub fn chunks(&self) -> (u64, u64) {
        (self.on_device.load(Ordering::Relaxed), self.on_cpu.load(Ordering::Relaxed))
    }

    fn lane(&self) -> Result<Lane> {
        let kept = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match kept {
            Some(lane) => Ok(lane),
            None => Ok(Lane {
                stream: Arc::clone(&self.device).stream()?,
                arena: Arena::new(Arc::clone(&self.device), self.options.memory_bytes_max),
            }),
        }
    }

    /// The wanted rows of a chunk, if the device decodes it and finds nothing wrong.
    fn chunk(
        &self,
        file: &File,
        row_group: usize,
        shape: &Shape,
        rows: Range<usize>,
        verify_checksums: bool,
    ) -> Result<Option<chunk::Decoded>> {
        // What is wrong with a page, the CPU engine says.
        let Ok(pages) = chunk::Host::read(file, row_group, shape, rows, verify_checksums) else {
            return Ok(None);
        };
        let Some(pages) = pages else { return Ok(None) };
        let mut lane = self.lane()?;
        let outcome = chunk::decode(lane.stream.as_mut(), &mut lane.arena, shape, &pages);
        lane.arena.reset(lane.stream.as_mut())?;
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
        outcome
    }
}

/// Decodes one field of one row group, batch by batch.
pub struct FieldDecoder(Source);

enum Source {
    Device {
        array: ArrayRef,
        /// The wanted rows, counted in the array.
        ranges: Vec<Range<usize>>,
        at: usize,
    },
    Cpu(Box<CpuDecoder>),
}

impl FieldDecoder {
    /// Over one field of a row group: the rows of `selection`, or all.
    ///
    /// # Errors
    /// As the CPU engine's; and failures of the device.
    pub fn new(
        engine: &ColumnEngine,
        file: &File,
        row_group: usize,
        column: &Column,
        selection: Option<&RowSelection>,
        options: ColumnOptions,
    ) -> Result<Self> {
        let rows = file.row_group_rows(row_group)?;
        let all = RowSelection::all(rows);
        let ranges = selection.unwrap_or(&all).ranges();
        if let Ok(shape) = Shape::new(column)
            && let (Some(first), Some(last)) = (ranges.first(), ranges.last())
            && last.end <= rows
        {
            let wanted = first.start..last.end;
            let decoded =
                engine.chunk(file, row_group, &shape, wanted, options.verify_checksums)?;
            if let Some(chunk::Decoded { array, first }) = decoded {
                engine.on_device.fetch_add(1, Ordering::Relaxed);
                let within = |range: &Range<usize>| range.start - first..range.end - first;
                let ranges = ranges.iter().map(within).collect();
                return Ok(Self(Source::Device { array, ranges, at: 0 }));
            }
        }
        engine.on_cpu.fetch_add(1, Ordering::Relaxed);
        let decoder = CpuDecoder::new(file, row_group, column, selection, options)?;
        Ok(Self(Source::Cpu(Box::new(decoder))))
    }

    /// The next `rows` rows, or as many as are left.
    ///
    /// # Errors
    /// As the CPU engine's.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let (array, ranges, at) = match &mut self.0 {
            Source::Cpu(decoder) => return decoder.next(rows),
            Source::Device { array, ranges, at } => (array, ranges, at),
        };
        let mut parts = Vec::new();
        let mut left = rows;
        while left > 0
            && let Some(range) = ranges.get_mut(*at)
        {
            let some = left.min(range.len());
            parts.push(array.slice(range.start, some));
            range.start += some;
            left -= some;
            if range.start >= range.end {
                *at += 1;
            }
        }
        match &parts[..] {
            [] => Ok(new_empty_array(array.data_type())),
            [one] => Ok(Arc::clone(one)),
            _ => {
                let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
                Ok(concat(&parts)?)
            }
        }
    }
}
