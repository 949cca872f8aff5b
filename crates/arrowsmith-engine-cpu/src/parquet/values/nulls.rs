// SPDX-License-Identifier: Apache-2.0
//! A column of which nothing is stored but nulls.

use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use arrow_buffer::NullBuffer;
use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, DictionaryPage};
use arrowsmith_simd::column::Rows;

use super::Values;

/// Counts rows.
#[derive(Debug, Default)]
pub(super) struct Nulls {
    rows: usize,
}

impl Values for Nulls {
    fn slot_bytes(&self) -> usize {
        1
    }

    fn begin(&mut self, _: usize, _: usize) {}

    fn dictionary(&mut self, _: &DictionaryPage<'_>) -> Result<()> {
        Ok(())
    }

    fn page(&mut self, _: &DataPage<'_>) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, _: &DataPage<'_>, rows: Rows<'_>, _: usize) -> Result<()> {
        self.rows += rows.len();
        Ok(())
    }

    fn skip(&mut self, _: &DataPage<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn take(&mut self, _: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(Arc::new(NullArray::new(std::mem::take(&mut self.rows))))
    }
}
