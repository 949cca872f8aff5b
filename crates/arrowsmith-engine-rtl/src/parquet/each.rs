// SPDX-License-Identifier: Apache-2.0
//! Decodes columns one by one, for a pipeline that also reads columns that no circuit takes: one
//! circuit per column; columns that are stored alike share one.
//!
//! Columns that a circuit refuses, and every chunk in which it finds an error, are left to the
//! caller's own decoder, so that errors are that decoder's. Circuits are compiled on first use.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_select::concat::concat;
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::{Column, ColumnDecoder, ColumnRequest, File, ReadOptions, RowSelection};
use arrowsmith_rtlgen::parquet::Options;

use super::{Engine, Measured, ParquetError, column};
use crate::{MemoryProfile, RtlError, Verilator};

/// Counters of the circuits so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Column chunks that a circuit decoded.
    pub chunks: u64,
    /// Column chunks that a circuit gave back.
    pub given_back: u64,
    /// The cost of all of them together.
    pub took: Measured,
}

/// Decodes columns by circuits; shared by all threads.
#[derive(Debug)]
pub struct ColumnEngine {
    verilator: Verilator,
    options: Options,
    memory: MemoryProfile,
    /// One compilation at a time: two of the same circuit would do the work twice.
    compiles: Mutex<()>,
    counts: Mutex<Counts>,
}

impl ColumnEngine {
    /// With circuits of this capacity, on this memory.
    pub fn new(verilator: Verilator, options: Options, memory: MemoryProfile) -> Self {
        let (compiles, counts) = (Mutex::default(), Mutex::default());
        Self { verilator, options, memory, compiles, counts }
    }

    /// With the Verilator of this machine, as [`Verilator::find`] finds it, and an ideal memory.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn open() -> Result<Self> {
        let verilator = Verilator::find().map_err(failed)?;
        Ok(Self::new(verilator, Options::default(), MemoryProfile::IDEAL))
    }

    /// The counters so far.
    pub fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why no circuit takes a column of a file.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn supports(file: &File, field: &Column) -> std::result::Result<(), String> {
        column(file, field).map(|_| ()).map_err(|refusal| refusal.reason)
    }

    /// All rows of a column chunk; `None` if no circuit takes it, or if it is invalid.
    ///
    /// # Errors
    ///
    /// A circuit that does not compile or does not run.
    pub fn chunk(&self, file: &File, row_group: usize, field: &Column) -> Result<Option<ArrayRef>> {
        let done = self.measured(file, row_group, field);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match done {
            Ok((array, took)) => {
                counts.chunks += 1;
                counts.took.add(&took);
                Ok(Some(array))
            }
            Err(ParquetError::Rtl(error)) => Err(failed(error)),
            Err(_) => {
                counts.given_back += 1;
                Ok(None)
            }
        }
    }

    /// All rows of a column chunk, and their cost.
    ///
    /// # Errors
    ///
    /// As of [`Engine::of_column`] and [`super::Reader::read`].
    pub fn measured(
        &self,
        file: &File,
        row_group: usize,
        field: &Column,
    ) -> std::result::Result<(ArrayRef, Measured), ParquetError> {
        let engine = {
            let _one = self.compiles.lock().unwrap_or_else(PoisonError::into_inner);
            Engine::of_column(&self.verilator, file, field, &self.options)?
        };
        let (batch, took) = engine.start(&self.memory)?.read(file, row_group)?;
        Ok((Arc::clone(batch.column(0)), took))
    }
}

impl arrowsmith_parquet::ColumnEngine for ColumnEngine {
    fn label(&self) -> &'static str {
        "a simulated circuit"
    }

    fn supports(
        &self,
        file: &File,
        column: &Column,
        options: &ReadOptions,
    ) -> std::result::Result<(), String> {
        if options.verify_checksums {
            return Err("circuits do not verify checksums".to_owned());
        }
        Self::supports(file, column)
    }

    fn column(
        self: Arc<Self>,
        request: &ColumnRequest<'_>,
    ) -> Result<Option<Box<dyn ColumnDecoder>>> {
        let Some(array) = self.chunk(request.file, request.row_group, request.column)? else {
            return Ok(None);
        };
        let all = RowSelection::all(array.len());
        let ranges: VecDeque<_> =
            request.selection.unwrap_or(&all).ranges().iter().cloned().collect();
        let fits = ranges.back().is_none_or(|range| range.end <= array.len());
        Ok(fits.then(|| Box::new(Whole { array, ranges }) as Box<dyn ColumnDecoder>))
    }
}

/// The requested rows of a decoded column chunk.
struct Whole {
    array: ArrayRef,
    /// Rows still to come, as indices into the array.
    ranges: VecDeque<Range<usize>>,
}

impl ColumnDecoder for Whole {
    fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut parts = Vec::new();
        let mut left = rows;
        while left > 0
            && let Some(range) = self.ranges.front_mut()
        {
            let some = left.min(range.len());
            parts.push(self.array.slice(range.start, some));
            range.start += some;
            left -= some;
            if range.start >= range.end {
                self.ranges.pop_front();
            }
        }
        match &parts[..] {
            [] => Ok(new_empty_array(self.array.data_type())),
            [one] => Ok(Arc::clone(one)),
            _ => Ok(concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?),
        }
    }
}

fn failed(error: RtlError) -> Error {
    Error::Config(error.to_string())
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chunks, given_back, took } = self;
        write!(
            f,
            "circuits: {chunks} column chunks in {} cycles, {:.1} bytes in and {:.1} bytes of Arrow out a cycle",
            took.cycles,
            took.input_bytes_a_cycle(),
            took.output_bytes_a_cycle()
        )?;
        if *given_back > 0 {
            write!(f, "; {given_back} column chunks left to software")?;
        }
        Ok(())
    }
}
