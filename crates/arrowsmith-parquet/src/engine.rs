// SPDX-License-Identifier: Apache-2.0
//! What decodes columns: the trait that engines implement and the pipeline drives. It stands here because it
//! names files and columns; it decodes nothing itself.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrowsmith_core::Result;

use crate::{Budget, Column, File, ReadOptions, RowSelection};

/// One column of one row group, and how it is read.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRequest<'a> {
    /// The file, with the column's bytes as far as they are here.
    pub file: &'a File,
    /// The row group's number.
    pub row_group: usize,
    /// The column and its Arrow type.
    pub column: &'a Column,
    /// The wanted rows of the row group; none: all.
    pub selection: Option<&'a RowSelection>,
    /// Rows that the caller usually takes at once.
    pub batch_rows: usize,
    /// The options of the whole file.
    pub options: &'a ReadOptions,
    /// What all columns of the portion may hold together.
    pub budget: &'a Arc<Budget>,
}

/// Decodes one column of one row group, batch by batch.
pub trait ColumnDecoder: Send {
    /// The next `rows` wanted rows, or as many as are left.
    ///
    /// # Errors
    /// A file that is not sound, or holds what the engine does not read.
    fn next(&mut self, rows: usize) -> Result<ArrayRef>;

    /// As [`ColumnDecoder::next`], but fewer rows, at least one, where so many would take up much more than
    /// `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`ColumnDecoder::next`].
    fn next_within(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        let _ = bytes_max;
        self.next(rows)
    }
}

/// Decodes columns; shared by all threads. What it declines, the next engine of a list is asked for.
pub trait ColumnEngine: Send + Sync {
    /// What an explanation calls it, such as "the cpu engine".
    fn label(&self) -> &'static str;

    /// Whether it decodes a column of a file.
    ///
    /// # Errors
    /// Why not, in words.
    fn supports(
        &self,
        file: &File,
        column: &Column,
        options: &ReadOptions,
    ) -> std::result::Result<(), String>;

    /// Gets ready for the columns of a file that it supports.
    ///
    /// # Errors
    /// A file whose metadata the engine does not take.
    fn open(&self, _file: &File, _options: &ReadOptions) -> Result<()> {
        Ok(())
    }

    /// Starts decoding a column that it supports; none if it declines this column chunk after all.
    ///
    /// # Errors
    /// A column chunk that is encrypted or not where its metadata says; a failure of the engine.
    fn column(
        self: Arc<Self>,
        request: &ColumnRequest<'_>,
    ) -> Result<Option<Box<dyn ColumnDecoder>>>;
}
