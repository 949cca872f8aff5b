// SPDX-License-Identifier: Apache-2.0
//! Booleans: packed bits, or runs of them.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, DictionaryPage, Physical};
use arrowsmith_simd::column::{ColumnError, Rows, plain_bits, spread_bits};
use arrowsmith_simd::{BitBuffer, Level};

use super::super::{corrupt, fault};
use super::Values;
use super::state::{State, runs};

/// A column of booleans.
#[derive(Debug)]
pub(super) struct Booleans {
    level: Level,
    state: State,
    out: BitBuffer,
    slots: usize,
}

impl Booleans {
    pub(super) fn new(level: Level) -> Self {
        Self { level, state: State::Idle, out: BitBuffer::default(), slots: 0 }
    }
}

impl Values for Booleans {
    fn slot_bytes(&self) -> usize {
        1
    }

    fn begin(&mut self, slots: usize, _: usize) {
        self.slots = slots;
    }

    fn dictionary(&mut self, _: &DictionaryPage<'_>) -> Result<()> {
        Err(corrupt("a dictionary of booleans"))
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.state = State::open(Physical::BOOLEAN, page)?;
        Ok(())
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        if self.out.is_empty() {
            // Bounded: by what `begin` reserves, which the bytes of the batch and of the chunk
            // limit.
            self.out.reserve(self.slots);
        }
        match &mut self.state {
            State::Plain(at) => {
                plain_bits(self.level, page.values, *at, rows, &mut self.out).map_err(fault)?;
                *at += values;
            }
            State::Runs(hybrid) => {
                let mut decoder = hybrid.over(runs(page.values)?);
                if let Rows::All(count) = rows {
                    decoder.bits(self.level, count, &mut self.out).map_err(fault)?;
                } else {
                    let mut dense = BitBuffer::default();
                    decoder.bits(self.level, values, &mut dense).map_err(fault)?;
                    spread_bits(self.level, &dense, 0, rows, &mut self.out);
                }
                *hybrid = decoder.over(&[]);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        match &mut self.state {
            State::Plain(at) => {
                let end = at.checked_add(values).filter(|end| end.div_ceil(8) <= page.values.len());
                *at = end.ok_or_else(|| fault(ColumnError::Truncated))?;
            }
            State::Runs(hybrid) => {
                let mut decoder = hybrid.over(runs(page.values)?);
                decoder.ones(values).map_err(fault)?;
                *hybrid = decoder.over(&[]);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let bits = self.out.take();
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != bits.len()) {
            return Err(corrupt("the number of booleans is not that of their levels"));
        }
        Ok(Arc::new(BooleanArray::new(bits, nulls)))
    }
}
