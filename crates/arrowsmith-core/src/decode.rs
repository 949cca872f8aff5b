// SPDX-License-Identifier: Apache-2.0
//! The decoder trait: bytes in, record batch out, errors with position. No I/O.
//!
//! A framer (arrowsmith-json) cuts the input into [`Chunk`]s that hold whole records; a [`Decoder`]
//! appends the rows of a chunk to the batch that it builds; `flush` hands the batch over. Sync and
//! async callers, threads, the GPU and the RTL simulator all drive decoders through these calls.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::{DataError, Position, Result};

/// Readable bytes that a producer of chunks should leave after [`Chunk::len`], so that a vector
/// load at any position inside the chunk stays inside the buffer. Their values do not matter.
pub const PADDING_BYTES: usize = 128;

/// How records follow one another inside a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// One record a line (NDJSON, JSON Lines): `\n` or `\r\n` ends a record and may not stand
    /// inside one; empty lines are skipped; the last line needs no end.
    #[default]
    Lines,
    /// Documents one after another, with or without white space between them, on any number of
    /// lines.
    Concatenated,
    /// Elements of one array: records separated by commas. The brackets, and the comma at which the
    /// framer cut, are not part of the chunk.
    Array,
}

/// Whole records, and where they come from.
#[derive(Debug, Clone)]
pub struct Chunk<'a> {
    /// The records are `bytes[..len]`. [`PADDING_BYTES`] more bytes after `len`, of any value, let
    /// an engine work in place; without them it has to copy.
    pub bytes: &'a [u8],
    /// Length of the records, in bytes.
    pub len: usize,
    /// How the records follow one another.
    pub framing: Framing,
    /// Position of the first byte.
    pub position: Position,
}

impl<'a> Chunk<'a> {
    /// A chunk without padding, at the start of an unnamed source: for tests and small inputs.
    pub fn new(bytes: &'a [u8], framing: Framing) -> Self {
        let position = Position { line: 1, ..Position::default() };
        Self { bytes, len: bytes.len(), framing, position }
    }

    /// The records, without the padding. An impossible `len` is cut to the buffer.
    pub fn data(&self) -> &'a [u8] {
        &self.bytes[..self.len.min(self.bytes.len())]
    }
}

/// A record that was left out, or in which a value became null, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// The reason, with the position in the source.
    pub error: DataError,
    /// The record's text, whole, as it stood in the source.
    pub record: Vec<u8>,
    /// Whether the record is in the batch all the same, with nulls in place of what did not fit.
    pub kept_as_null: bool,
}

/// What became of one chunk.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Records met: rows added and records left out.
    pub records: u64,
    /// Lines in the chunk: the number of `\n` in it.
    pub lines: u64,
    /// Records that were left out or changed, in the order of the input.
    pub rejects: Vec<Reject>,
    /// Bytes at the end of the chunk that were not decoded, because the batch was full: flush, then
    /// decode them. Always 0 without [`Decoder::set_batch_bytes`].
    pub unread: usize,
    /// Values whose keys the schema does not have, and the first of these keys. Only an engine that
    /// counts them on its way says it.
    pub left_out: u64,
    /// See [`Report::left_out`].
    pub left_out_key: Option<String>,
}

/// A plan set up on an engine: takes chunks of whole records, gives record batches.
pub trait Decoder: Send {
    /// Decodes every record of `chunk` and appends the rows to the current batch.
    ///
    /// # Errors
    /// With [`OnError::Fail`](crate::OnError::Fail) the first record that does not fit ends the
    /// call; the rows before it stay in the batch and `flush` gives them.
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report>;

    /// Makes [`Decoder::decode`] stop between two records once the batch takes more than about this
    /// many bytes, and say so in [`Report::unread`]. `false` from an engine that always takes whole
    /// chunks.
    fn set_batch_bytes(&mut self, bytes: usize) -> bool {
        let _ = bytes;
        false
    }

    /// Rows in the current batch.
    fn rows(&self) -> usize;

    /// Ends the batch and hands it over, with the plan's schema; `None` when it has no rows. Rows
    /// that do not fit into one batch stay, and [`Decoder::rows`] counts them: the next call has
    /// more of them.
    ///
    /// # Errors
    /// Only when Arrow refuses the arrays, which would be a bug of the engine.
    fn flush(&mut self) -> Result<Option<RecordBatch>>;

    /// The schema of the batches.
    fn schema(&self) -> arrow_schema::SchemaRef;
}

/// A name for positions, from any text.
pub fn source_name(name: impl AsRef<str>) -> Option<Arc<str>> {
    Some(Arc::from(name.as_ref()))
}
