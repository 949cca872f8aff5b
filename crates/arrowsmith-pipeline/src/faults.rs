// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a record whose key the schema lacks, where the schema was inferred.
//!
//! There such a key is an error, so that nothing is lost. But the record may have other errors, for
//! which inference skipped it: its sender has to know those. They are found by decoding once more,
//! with unknown keys skipped; only text with such records is decoded twice.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrowsmith_core::{DataError, DecodeOptions, Error, ErrorKind, Result, UnknownKeys};
use arrowsmith_engine::{Chain, Engine};
use arrowsmith_json::{key_not_text, records};
use arrowsmith_plan::Plan;

use crate::cut::Piece;
use crate::work::{Output, Worker};

/// Of which records an inferred schema has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InferredKeys {
    /// Of all that are JSON. A key that it lacks is not text, and makes its record bad: no column
    /// can have it.
    All,
    /// Of a sample. A key that it lacks ends everything, however bad records are handled: the
    /// record is valid.
    Sample,
}

/// Options for a decoder that reports keys which the schema lacks.
pub(crate) fn refusing_unknown_keys(options: &DecodeOptions) -> DecodeOptions {
    let mut refusing = options.clone();
    refusing.unknown_keys = UnknownKeys::Error;
    refusing
}

/// Finds what else is wrong with records.
pub(crate) struct Faults {
    pub(crate) engine: Chain,
    /// The options of the caller, who does not refuse keys that the schema lacks.
    pub(crate) options: DecodeOptions,
    pub(crate) keys: InferredKeys,
}

impl Faults {
    /// Replaces errors about unknown keys in the output of a part of a piece, decoded with `plan`,
    /// if the same records have other errors. Otherwise they name the key that no column can have,
    /// if all others are known or will be: the schema so far depends on what other threads read.
    ///
    /// # Errors
    /// What the engine says of the plan.
    pub(crate) fn explain(
        &self,
        worker: &Worker,
        plan: &Arc<Plan>,
        (piece, from): (&Piece, usize),
        output: &mut Output,
    ) -> Result<()> {
        let rejects = output.report.rejects.iter_mut().map(|reject| &mut reject.error);
        let error = match &mut output.error {
            Some(Error::Data(error)) => Some(&mut **error),
            _ => None,
        };
        let unknown = |error: &&mut DataError| error.kind == ErrorKind::UnknownKey;
        let mut unknown: Vec<_> = rejects.chain(error).filter(unknown).collect();
        let Some(last) = unknown.last().map(|error| error.position.record) else { return Ok(()) };
        let mut others = self.others(worker, plan, (piece, from), last)?;
        let text = piece.data().get(from..).unwrap_or_default();
        let mut records = (0..).zip(records(text, piece.framing));
        for error in &mut unknown {
            let number = error.position.record;
            match others.remove(&number) {
                Some(other) => **error = other,
                None if self.keys == InferredKeys::All => {
                    "a key that is text".clone_into(&mut error.expected);
                    if let Some((_, record)) = records.find(|(at, _)| *at == number) {
                        name_key(error, text, record, piece.offset + from as u64);
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The errors of records up to `last`, by their numbers, apart from unknown keys.
    fn others(
        &self,
        worker: &Worker,
        plan: &Arc<Plan>,
        (piece, mut from): (&Piece, usize),
        last: u64,
    ) -> Result<BTreeMap<u64, DataError>> {
        let decoder = self.engine.decoder(plan, &self.options)?;
        let mut worker = worker.like(decoder, plan.row_bytes());
        let mut found = BTreeMap::new();
        let (mut records, mut lines) = (0, 0);
        loop {
            let output = worker.decode(piece, from);
            let rejects = output.report.rejects.into_iter().map(|reject| reject.error);
            let error = output.error.and_then(|error| match error {
                Error::Data(error) => Some(*error),
                _ => None,
            });
            for mut error in rejects.chain(error) {
                error.position.record += records;
                error.position.line += lines;
                found.insert(error.position.record, error);
            }
            records += output.report.records;
            lines += output.report.lines;
            match output.next {
                Some(next) if next > from && records <= last => from = next,
                _ => return Ok(found),
            }
        }
    }
}

/// Lets an error name the first key of its record that is not text. The text is at `offset` of the
/// input.
fn name_key(error: &mut DataError, text: &[u8], record: Range<usize>, offset: u64) {
    const SHOWN_BYTES: usize = 40;
    let Some(found) = text.get(record.clone()).and_then(key_not_text) else { return };
    let at = record.start + found.range.start;
    let lines =
        |from, to| memchr::memchr_iter(b'\n', text.get(from..to).unwrap_or_default()).count();
    let before = usize::try_from(error.position.offset.saturating_sub(offset)).unwrap_or(at);
    error.position.line += lines(before, at) as u64;
    error.position.line -= lines(at, before) as u64;
    error.position.offset = offset + at as u64;
    let shown = &text[at..record.start + found.range.end.min(found.range.start + SHOWN_BYTES)];
    let dots = if found.range.len() > SHOWN_BYTES { "…" } else { "" };
    error.found = format!("string {}{dots}", String::from_utf8_lossy(shown));
    error.path = found.path;
}
