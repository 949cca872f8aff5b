// SPDX-License-Identifier: Apache-2.0
//! Decodes columns one by one, for a pipeline that also reads columns that no circuit takes: one
//! circuit per column; columns that are stored alike share one.
//!
//! Columns that a circuit refuses, and every chunk in which it finds an error, are left to the
//! caller's own decoder, so that errors are that decoder's. Circuits are compiled on first use.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_select::concat::concat;
use arrowsmith_core::Result;
use arrowsmith_engine::ColumnDecoder;
use arrowsmith_parquet::{Column, File, RowSelection};
use arrowsmith_rtlgen::parquet::Options;

use super::{Circuit, Measured, ParquetError};
use crate::{MemoryProfile, RtlError, Verilator, config};

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

/// Circuits for columns, compiled when they are needed; shared by all threads.
#[derive(Debug)]
pub struct Circuits {
    /// Found once, for all circuits: it runs to print its version.
    verilator: OnceLock<Verilator>,
    options: Options,
    memory: MemoryProfile,
    /// One compilation at a time: two of the same circuit would do the work twice.
    compiles: Mutex<()>,
    counts: Mutex<Counts>,
}

impl Circuits {
    /// Circuits of these sizes, on this memory, by the Verilator of this machine.
    pub fn new(options: Options, memory: MemoryProfile) -> Self {
        let (compiles, counts) = (Mutex::default(), Mutex::default());
        Self { verilator: OnceLock::new(), options, memory, compiles, counts }
    }

    /// With this Verilator.
    #[must_use]
    pub fn with_verilator(mut self, verilator: Verilator) -> Self {
        self.verilator = OnceLock::from(verilator);
        self
    }

    /// The Verilator, as [`Verilator::find`] finds it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn verilator(&self) -> std::result::Result<&Verilator, RtlError> {
        if let Some(found) = self.verilator.get() {
            return Ok(found);
        }
        let found = Verilator::find()?;
        Ok(self.verilator.get_or_init(|| found))
    }

    /// The counters so far.
    pub fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
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
            Err(ParquetError::Rtl(error)) => Err(config(error)),
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
    /// As of [`Circuit::of_column`] and [`super::Reader::read`].
    pub fn measured(
        &self,
        file: &File,
        row_group: usize,
        field: &Column,
    ) -> std::result::Result<(ArrayRef, Measured), ParquetError> {
        let verilator = self.verilator()?;
        let circuit = {
            let _one = self.compiles.lock().unwrap_or_else(PoisonError::into_inner);
            Circuit::of_column(verilator, file, field, &self.options)?
        };
        let (batch, took) = circuit.start(&self.memory)?.read(file, row_group)?;
        Ok((Arc::clone(batch.column(0)), took))
    }

    /// The selected rows of a column chunk; `None` if no circuit supports it, or if it is
    /// malformed.
    ///
    /// # Errors
    ///
    /// As [`Circuits::chunk`].
    pub(crate) fn decoder(
        &self,
        file: &File,
        row_group: usize,
        field: &Column,
        selection: Option<&RowSelection>,
    ) -> Result<Option<Box<dyn ColumnDecoder>>> {
        let Some(array) = self.chunk(file, row_group, field)? else {
            return Ok(None);
        };
        let all = RowSelection::all(array.len());
        let ranges: VecDeque<_> = selection.unwrap_or(&all).ranges().iter().cloned().collect();
        let fits = ranges.back().is_none_or(|range| range.end <= array.len());
        Ok(fits.then(|| Box::new(DecodedColumn { array, ranges }) as Box<dyn ColumnDecoder>))
    }
}

/// The requested rows of a decoded column chunk.
struct DecodedColumn {
    array: ArrayRef,
    /// Rows still to come, as indices into the array.
    ranges: VecDeque<Range<usize>>,
}

impl ColumnDecoder for DecodedColumn {
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
