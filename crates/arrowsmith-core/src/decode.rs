// SPDX-License-Identifier: Apache-2.0
//! The decoder trait: bytes in, record batch out, errors with position. No I/O.
//!
//! A framer (arrowsmith-json) splits the input into [`Chunk`]s of whole records; a [`Decoder`]
//! appends the rows of a chunk to the batch that it builds; `flush` returns the batch. Sync and
//! async callers, threads, the GPU and the RTL simulator all drive decoders through these calls.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::{DataError, Position, Result};

/// Readable bytes that a producer of chunks should provide after [`Chunk::len`], so that a vector
/// load at any position inside the chunk stays inside the buffer. They may have any value.
pub const PADDING_BYTES: usize = 128;

/// How records are separated inside a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// One record per line (NDJSON, JSON Lines): `\n` or `\r\n` ends a record and must not appear
    /// inside one; empty lines are skipped; the last line needs no line end.
    #[default]
    Lines,
    /// Documents one after another, with or without white space between them, on any number of
    /// lines.
    Concatenated,
    /// Elements of one array: records separated by commas. The brackets, and the comma at which the
    /// framer split, are not part of the chunk.
    Array,
}

/// Whole records, and their position in the source.
#[derive(Debug, Clone)]
pub struct Chunk<'a> {
    /// The records are `bytes[..len]`. [`PADDING_BYTES`] more bytes after `len`, of any value, let
    /// an engine work in place; without them it has to copy.
    pub bytes: &'a [u8],
    /// Length of the records, in bytes.
    pub len: usize,
    /// How the records are separated.
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

    /// The records, without the padding. A `len` beyond the buffer is reduced to its length.
    pub fn data(&self) -> &'a [u8] {
        &self.bytes[..self.len.min(self.bytes.len())]
    }
}

/// A record that was skipped, or in which a value became null, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// The reason, with the position in the source.
    pub error: DataError,
    /// The full text of the record, unchanged.
    pub record: Vec<u8>,
    /// Whether the record is in the batch, with nulls in place of values that did not match.
    pub kept_as_null: bool,
}

/// The result of decoding one chunk.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of records: rows added and records skipped.
    pub records: u64,
    /// Lines in the chunk: the number of `\n` in it.
    pub lines: u64,
    /// Records that were skipped or changed, in the order of the input.
    pub rejects: Vec<Reject>,
    /// Number of bytes at the end of the chunk that were not decoded because the batch was full:
    /// flush, then decode them. Always 0 without [`Decoder::set_batch_bytes`].
    pub unread: usize,
    /// Number of values whose keys are not in the schema; [`Report::left_out_key`] is the first of
    /// these keys. 0 if the engine does not count them.
    pub left_out: u64,
    /// See [`Report::left_out`].
    pub left_out_key: Option<String>,
}

/// A plan set up on an engine: decodes chunks of whole records to record batches.
pub trait Decoder: Send {
    /// Decodes every record of `chunk` and appends the rows to the current batch.
    ///
    /// # Errors
    /// With [`OnError::Fail`](crate::OnError::Fail) the call fails at the first record that does
    /// not match the schema; the rows before it stay in the batch and `flush` returns them.
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report>;

    /// Makes [`Decoder::decode`] stop between two records once the batch takes more than about this
    /// many bytes; [`Report::unread`] then is not 0. Returns `false` if the engine always decodes
    /// whole chunks.
    fn set_batch_bytes(&mut self, bytes: usize) -> bool {
        let _ = bytes;
        false
    }

    /// Whether [`Report::left_out`] is more than 0 for each chunk with keys that are not in the
    /// schema.
    fn counts_left_out(&self) -> bool {
        false
    }

    /// Whether a record is decoded that takes more than [`Decoder::set_batch_bytes`] says by
    /// itself; at first it is. Otherwise [`Decoder::decode`] stops before it, so that all of a
    /// chunk may be left unread.
    fn set_oversize(&mut self, decoded: bool) {
        let _ = decoded;
    }

    /// Rows in the current batch.
    fn rows(&self) -> usize;

    /// Ends the batch and returns it, with the plan's schema; `None` if it has no rows. Rows that
    /// do not fit into one batch stay in the decoder and are counted by [`Decoder::rows`]; the next
    /// call returns more of them.
    ///
    /// # Errors
    /// Only if Arrow rejects the arrays, which would be a bug of the engine.
    fn flush(&mut self) -> Result<Option<RecordBatch>>;

    /// The schema of the batches.
    fn schema(&self) -> arrow_schema::SchemaRef;
}

/// A source name for positions, from any text.
pub fn source_name(name: impl AsRef<str>) -> Option<Arc<str>> {
    Some(Arc::from(name.as_ref()))
}
