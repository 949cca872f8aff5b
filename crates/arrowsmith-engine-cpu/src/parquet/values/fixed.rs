// SPDX-License-Identifier: Apache-2.0
//! Byte arrays of one width, and intervals, which are stored as such.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray, IntervalDayTimeArray, IntervalYearMonthArray};
use arrow_buffer::{Buffer, IntervalDayTime, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, IntervalUnit};
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::{DataPage, DictionaryPage};
use arrowsmith_simd::column::{DecodeBytes, GatherBytes, PlainBytes, Rows, SplitBytes, read_bytes};
use arrowsmith_simd::{Buf, Level};

use super::super::{corrupt, fault};
use super::Values;
use super::state::{State, indices, plausible};

/// Bytes of values that are decoded at once to be skipped.
const SKIP_BYTES: usize = 64 << 10;

/// A column of byte arrays of one width.
#[derive(Debug)]
pub(super) struct FixedBytes {
    width: usize,
    data_type: DataType,
    level: Level,
    state: State,
    dictionary: Vec<u8>,
    out: Buf<u8>,
    slots: usize,
}

impl FixedBytes {
    /// Of `width` bytes, at least one.
    pub(super) fn new(width: usize, data_type: DataType, level: Level) -> Self {
        Self {
            width,
            data_type,
            level,
            state: State::Idle,
            dictionary: Vec::new(),
            out: Buf::default(),
            slots: 0,
        }
    }

    fn append(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        let (level, width) = (self.level, self.width);
        if matches!(self.state, State::DeltaStrings(_)) {
            let strings = self.state.prefixed(level, page.values, values, width)?;
            let mut decoder = PlainBytes::new(strings.fixed(width).map_err(fault)?, width);
            return read_bytes(level, &mut decoder, rows, &mut self.out).map_err(fault);
        }
        let mut read = |mut decoder: PlainBytes<'_>| {
            read_bytes(level, &mut decoder, rows, &mut self.out).map_err(fault)
        };
        match &mut self.state {
            State::Plain(at) => {
                read(PlainBytes::new(page.values.get(*at..).unwrap_or_default(), width))?;
                *at += values * width;
            }
            State::Split(at) => {
                let mut decoder = SplitBytes::new(page.values, width).map_err(fault)?.from(*at);
                read_bytes(level, &mut decoder, rows, &mut self.out).map_err(fault)?;
                *at += values;
            }
            State::Indices(hybrid) => {
                let hybrid_now = hybrid.over(indices(page));
                let mut decoder =
                    GatherBytes::new(hybrid_now, &self.dictionary, width).map_err(fault)?;
                debug_assert_eq!(decoder.width(), width);
                read_bytes(level, &mut decoder, rows, &mut self.out).map_err(fault)?;
                *hybrid = decoder.into_hybrid().over(&[]);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

impl Values for FixedBytes {
    fn slot_bytes(&self) -> usize {
        self.width
    }

    fn begin(&mut self, slots: usize, _: usize) {
        self.slots = slots;
    }

    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()> {
        let bytes = plausible(page, self.width)? * self.width;
        self.dictionary = page.values[..bytes].to_vec();
        Ok(())
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.state = State::open_fixed(page)?;
        Ok(())
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        if self.out.is_empty() {
            // Bounded: by what `begin` reserves, which the bytes of the batch and of the chunk
            // limit.
            self.out.reserve(self.slots.saturating_mul(self.width));
        }
        self.append(page, rows, values)
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        // A value may be of any width: skipped ones are not copied.
        let (level, width) = (self.level, self.width);
        if self.state.skip(level, page, values, (width, self.dictionary.len() / width))? {
            return Ok(());
        }
        let State::DeltaStrings(_) = &self.state else { return Err(self.state.unexpected()) };
        let step = (SKIP_BYTES / width).max(1);
        let mut left = values;
        while left > 0 {
            let some = left.min(step);
            let strings = self.state.prefixed(level, page.values, some, width)?;
            strings.fixed(width).map_err(fault)?;
            left -= some;
        }
        Ok(())
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let bytes: Buffer = self.out.take().into_inner();
        let rows = bytes.len() / self.width;
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != rows) {
            return Err(corrupt("the number of values is not that of their levels"));
        }
        let values = bytes.as_slice().as_chunks::<12>().0;
        let number = |bytes: &[u8; 12], at: usize| {
            i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Ok(match self.data_type {
            DataType::Interval(IntervalUnit::YearMonth) => {
                let months: ScalarBuffer<i32> = values.iter().map(|v| number(v, 0)).collect();
                Arc::new(IntervalYearMonthArray::new(months, nulls))
            }
            DataType::Interval(_) => {
                let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let months = |(row, value): (usize, &[u8; 12])| number(value, 0) != 0 && valid(row);
                if values.iter().enumerate().any(months) {
                    let message = "an interval with months, which interval(day-time) does not have";
                    return Err(Error::file(FileErrorKind::Overflow, message));
                }
                let days = values.iter().map(|v| IntervalDayTime::new(number(v, 4), number(v, 8)));
                Arc::new(IntervalDayTimeArray::new(days.collect(), nulls))
            }
            _ => {
                let width = i32::try_from(self.width).map_err(|_| corrupt("values of 2 GiB"))?;
                let array = FixedSizeBinaryArray::try_new(width, bytes, nulls);
                Arc::new(array.map_err(|error| corrupt(error.to_string()))?)
            }
        })
    }
}
