// SPDX-License-Identifier: Apache-2.0
//! Buffers with more distinct values than the keys of a dictionary can number: cut, until each piece has room.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use arrowsmith_core::{Chunk, Decoder, Framing, Position};

use crate::job::Job;

/// Whether a schema has dictionaries, at any depth.
pub(crate) fn are_in(schema: &Schema) -> bool {
    let mut fields = schema.flattened_fields().into_iter();
    fields.any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
}

/// The batches of some jobs, whose records are known to be good or left out by the decoder.
pub(crate) fn in_pieces(
    begin: &dyn Fn() -> Result<Box<dyn Decoder>, String>,
    jobs: &[Job],
) -> Result<Vec<RecordBatch>, String> {
    let mut pieces = Pieces { begin, decoder: None, batches: Vec::new() };
    for job in jobs {
        pieces.decode(job.buffer.padded(), job.buffer.len)?;
    }
    Ok(pieces.batches)
}

struct Pieces<'a> {
    begin: &'a dyn Fn() -> Result<Box<dyn Decoder>, String>,
    decoder: Option<Box<dyn Decoder>>,
    batches: Vec<RecordBatch>,
}

impl Pieces<'_> {
    /// Decodes the first `len` bytes, in halves where that fails.
    fn decode(&mut self, bytes: &[u8], len: usize) -> Result<(), String> {
        // What failed may have left something in the decoder.
        let mut decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => (self.begin)()?,
        };
        let chunk = Chunk { bytes, len, framing: Framing::Lines, position: Position::default() };
        decoder.decode(&chunk).map_err(|error| error.to_string())?;
        match decoder.flush() {
            Ok(batch) => {
                self.batches.extend(batch);
                self.decoder = Some(decoder);
                Ok(())
            }
            Err(error) => {
                let Some(half) = half(&bytes[..len]) else { return Err(error.to_string()) };
                self.decode(bytes, half)?;
                self.decode(&bytes[half..], len - half)
            }
        }
    }
}

/// The end of a line near the middle; `None` for a single line.
fn half(text: &[u8]) -> Option<usize> {
    let middle = text.len() / 2;
    let before = memchr::memrchr(b'\n', &text[..middle]).map(|at| at + 1);
    let after = || memchr::memchr(b'\n', &text[middle..]).map(|at| middle + at + 1);
    before.or_else(after).filter(|&at| at > 0 && at < text.len())
}
