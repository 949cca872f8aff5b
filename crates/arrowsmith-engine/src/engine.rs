// SPDX-License-Identifier: Apache-2.0
//! The engine trait: a plan or a column in, a decoder out.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrowsmith_core::{DecodeOptions, Decoder, Result};
use arrowsmith_parquet::{Budget, Column, File, ReadOptions, RowSelection};
use arrowsmith_plan::Plan;

use crate::{Answer, Chain, Declined, EngineError};

/// Something that decodes JSON by a plan, columns of Parquet, or both; shared by all threads. Of a
/// format whose two methods it does not implement, it declines everything.
///
/// Its decoders are called once per chunk or batch, never once per value.
pub trait Engine: Send + Sync {
    /// The name that `--engine` takes, and that explanations call it by.
    fn name(&self) -> &'static str;

    /// Checks whether it decodes records by this plan. It sets nothing up, so that a plan can be
    /// explained without the hardware.
    ///
    /// # Errors
    /// [`Declined`] names the field or the option that it does not have. An engine of Parquet alone
    /// declines every plan.
    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        let _ = (plan, options);
        Err(no_json().into())
    }

    /// Returns a decoder for one thread, of a plan that it has not declined. What it cannot decode
    /// itself it may pass to `rest`: the engines after it.
    ///
    /// # Errors
    /// As [`Engine::check_json`]; what the plan or its limits refuse; a failure of the engine.
    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        let _ = (plan, options, rest);
        Err(no_json().into())
    }

    /// Checks whether it decodes a column of a file, and prepares for the file. It decodes nothing
    /// yet.
    ///
    /// # Errors
    /// [`Declined`] names what it does not have. An engine of JSON alone declines every column.
    fn check_parquet(&self, file: &File, column: &Column, options: &ReadOptions) -> Answer<()> {
        let _ = (file, options);
        Err(no_parquet(column).into())
    }

    /// A line on how it would decode a column that it has not declined, for `--explain`; `None`
    /// where there is nothing to add, and from an engine that was opened to decode.
    fn describe_parquet(&self, file: &File, column: &Column) -> Option<String> {
        let _ = (file, column);
        None
    }

    /// Starts decoding a column that it has not declined, of one row group. What it cannot decode
    /// itself it may pass to `rest`.
    ///
    /// # Errors
    /// As [`Engine::check_parquet`], also of this column chunk alone; a column chunk that is
    /// encrypted or not where its metadata says; a failure of the engine.
    fn parquet(&self, request: &ColumnRequest<'_>, rest: &Chain) -> Answer<Box<dyn ColumnDecoder>> {
        let _ = rest;
        Err(no_parquet(request.column).into())
    }

    /// Text of one chunk of JSON that suits it best, in bytes; `None`: the size that suits a core's
    /// caches.
    fn chunk_bytes(&self) -> Option<usize> {
        None
    }

    /// A line of text on what its decoders have done so far, if it counts that.
    fn summary(&self) -> Option<String> {
        None
    }

    /// A decoder of this engine with none after it.
    ///
    /// # Errors
    /// [`Error::Schema`](arrowsmith_core::Error::Schema) names the field that it cannot decode;
    /// [`Error::Config`](arrowsmith_core::Error::Config) the option that it does not have; what
    /// [`Engine::json`] fails with.
    fn decoder(&self, plan: &Arc<Plan>, options: &DecodeOptions) -> Result<Box<dyn Decoder>> {
        let checked = self.check_json(plan, options);
        let decoder = checked.and_then(|()| self.json(plan, options, &Chain::default()));
        decoder.map_err(EngineError::of_json)
    }

    /// A decoder of a column with no engine after this one.
    ///
    /// # Errors
    /// [`Error::File`](arrowsmith_core::Error::File) says what in the column is not supported; what
    /// [`Engine::parquet`] fails with.
    fn column(&self, request: &ColumnRequest<'_>) -> Result<Box<dyn ColumnDecoder>> {
        let checked = self.check_parquet(request.file, request.column, request.options);
        let decoder = checked.and_then(|()| self.parquet(request, &Chain::default()));
        decoder.map_err(EngineError::of_parquet)
    }
}

fn no_json() -> Declined {
    Declined::new("", "it decodes Parquet only")
}

fn no_parquet(column: &Column) -> Declined {
    Declined::new(column.field().name(), "it decodes JSON only")
}

/// One column of one row group, and how it is read.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRequest<'a> {
    /// The file, with those of the column's bytes that are in memory.
    pub file: &'a File,
    /// The row group's number.
    pub row_group: usize,
    /// The column and its Arrow type.
    pub column: &'a Column,
    /// The wanted rows of the row group; `None`: all.
    pub selection: Option<&'a RowSelection>,
    /// Rows that the caller usually takes at once.
    pub batch_rows: usize,
    /// The options of the whole file.
    pub options: &'a ReadOptions,
    /// The memory budget of all columns of the portion.
    pub budget: &'a Arc<Budget>,
}

/// Decodes one column of one row group, batch by batch.
pub trait ColumnDecoder: Send {
    /// The next `rows` wanted rows, or as many as are left.
    ///
    /// # Errors
    /// A file that is malformed, or holds what the engine does not read.
    fn next(&mut self, rows: usize) -> Result<ArrayRef>;

    /// As [`ColumnDecoder::next`], but fewer rows, at least one, where `rows` would take up much
    /// more than `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`ColumnDecoder::next`].
    fn next_within(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        let _ = bytes_max;
        self.next(rows)
    }
}
