// SPDX-License-Identifier: Apache-2.0
//! Runs an engine, and records its complete result, so that two engines, or an engine and an
//! expectation, can be compared with `==`.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrowsmith_core::{
    Chunk, DataError, DecodeOptions, Error, Framing, PADDING_BYTES, Position, Report,
};
use arrowsmith_engine::Engine;
use arrowsmith_plan::Plan;

use crate::render;

/// The position and kind of an error: everything that engines have to agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// [`arrowsmith_core::ErrorKind::name`].
    pub kind: String,
    /// Byte offset in the source.
    pub offset: u64,
    /// Line in the source, from 1.
    pub line: u64,
    /// Record in the source, from 0.
    pub record: u64,
    /// Path of the field.
    pub path: String,
}

impl From<&DataError> for Mark {
    fn from(error: &DataError) -> Self {
        let DataError { kind, position, path, .. } = error;
        Self {
            kind: kind.name().to_owned(),
            offset: position.offset,
            line: position.line,
            record: position.record,
            path: path.clone(),
        }
    }
}

/// A record that was skipped, or in which a value became null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The reason.
    pub mark: Mark,
    /// The record's text.
    pub text: Vec<u8>,
    /// Whether there is a row for it all the same.
    pub kept: bool,
}

/// The result of an engine for an input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The rows, rendered by [`render::rows`].
    pub rows: Vec<String>,
    /// The error at which it stopped.
    pub error: Option<Mark>,
    /// Any other error, or a bug of the engine: never equal between two engines.
    pub broken: Option<String>,
    /// Rejected records.
    pub rejects: Vec<Rejected>,
    /// Records of the chunks that were decoded without error.
    pub records: u64,
    /// Lines of the chunks that were decoded without error.
    pub lines: u64,
}

/// The bytes after the records in memory, which must not affect the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Nothing: the buffer ends with the records.
    None,
    /// This byte, [`PADDING_BYTES`] times.
    Byte(u8),
    /// This text, repeatedly.
    Text(&'static str),
}

/// The paddings that tests try: bytes that could continue an incomplete input.
pub const PADDINGS: &[Padding] = &[
    Padding::None,
    Padding::Byte(0),
    Padding::Byte(b' '),
    Padding::Byte(b'9'),
    Padding::Byte(b'"'),
    Padding::Byte(b'\\'),
    Padding::Byte(b'\n'),
    Padding::Byte(0xFF),
    Padding::Text("}]}]\n"),
    Padding::Text("\"}]}\n{\"a\":"),
    Padding::Text(",{[\"e5"),
    Padding::Text("ue,lse,ull,"),
];

/// One chunk, without its position.
#[derive(Debug, Clone, Copy)]
pub struct Feed<'a> {
    /// The records.
    pub text: &'a [u8],
    /// The bytes after them in memory.
    pub padding: Padding,
}

/// An input: consecutive chunks, and the position of the first one in its source.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// How records are separated.
    pub framing: Framing,
    /// Position of the first byte.
    pub position: Position,
    /// The chunks.
    pub feeds: Vec<Feed<'a>>,
}

impl<'a> Input<'a> {
    /// One chunk at the start of a source, without padding.
    pub fn whole(text: &'a [u8], framing: Framing) -> Self {
        Self::split(&[text], framing, Padding::None)
    }

    /// Chunks that follow one another from the start of a source.
    pub fn split(texts: &[&'a [u8]], framing: Framing, padding: Padding) -> Self {
        let position = Position { line: 1, ..Position::default() };
        let feeds = texts.iter().map(|text| Feed { text, padding }).collect();
        Self { framing, position, feeds }
    }
}

/// Runs an engine on an input.
///
/// # Errors
/// The engine's error for a plan or options that it does not support.
pub fn observe(
    engine: &dyn Engine,
    plan: &Arc<Plan>,
    options: &DecodeOptions,
    input: &Input<'_>,
) -> Result<Outcome, Error> {
    let mut decoder = engine.decoder(plan, options)?;
    let mut outcome = Outcome::default();
    let mut position = input.position.clone();
    for feed in &input.feeds {
        let bytes = padded(feed);
        let chunk = Chunk {
            bytes: &bytes,
            len: feed.text.len(),
            framing: input.framing,
            position: position.clone(),
        };
        match decoder.decode(&chunk) {
            Ok(report) => note(&mut outcome, &report),
            Err(Error::Data(error)) => outcome.error = Some(Mark::from(error.as_ref())),
            Err(other) => outcome.broken = Some(other.to_string()),
        }
        if outcome.error.is_some() || outcome.broken.is_some() {
            break;
        }
        position.offset += feed.text.len() as u64;
        position.record = input.position.record + outcome.records;
        position.line = input.position.line + outcome.lines;
    }
    let rows = decoder.rows();
    match decoder.flush() {
        Ok(Some(batch)) => {
            if let Err(message) = check_batch(&batch, plan, rows) {
                outcome.broken.get_or_insert(message);
            } else {
                outcome.rows = render::rows(&batch);
            }
        }
        Ok(None) if rows == 0 => {}
        Ok(None) => outcome.broken = Some(format!("{rows} rows, but no batch")),
        Err(error) => outcome.broken = Some(format!("flush: {error}")),
    }
    if decoder.rows() != 0 {
        outcome.broken = Some("rows after a flush".to_owned());
    }
    Ok(outcome)
}

fn padded(feed: &Feed<'_>) -> Vec<u8> {
    let mut bytes = feed.text.to_vec();
    let end = bytes.len() + PADDING_BYTES;
    match feed.padding {
        Padding::None => {}
        Padding::Byte(byte) => bytes.resize(end, byte),
        Padding::Text(text) => {
            bytes.extend(text.bytes().cycle().take(PADDING_BYTES));
        }
    }
    bytes
}

fn note(outcome: &mut Outcome, report: &Report) {
    outcome.records += report.records;
    outcome.lines += report.lines;
    outcome.rejects.extend(report.rejects.iter().map(|reject| Rejected {
        mark: Mark::from(&reject.error),
        text: reject.record.clone(),
        kept: reject.kept_as_null,
    }));
}

/// Checks a batch against its plan, and its buffers against Arrow's rules.
fn check_batch(batch: &RecordBatch, plan: &Plan, rows: usize) -> Result<(), String> {
    if batch.schema() != *plan.schema() {
        return Err("the batch has another schema than the plan".to_owned());
    }
    if batch.num_rows() != rows {
        return Err(format!("a batch of {} rows, not {rows}", batch.num_rows()));
    }
    for column in batch.columns() {
        column.to_data().validate_full().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Compares two engines on one input.
///
/// # Errors
/// The first difference of the two results. An input that one of them does not support is not a
/// difference.
pub fn compare(
    left: &dyn Engine,
    right: &dyn Engine,
    plan: &Arc<Plan>,
    options: &DecodeOptions,
    input: &Input<'_>,
) -> Result<(), String> {
    let (Ok(one), Ok(other)) =
        (observe(left, plan, options, input), observe(right, plan, options, input))
    else {
        return Ok(());
    };
    match difference(&one, &other) {
        None => Ok(()),
        Some(text) => Err(format!("{} and {} differ: {text}", left.name(), right.name())),
    }
}

/// A description of the first difference of two outcomes.
pub fn difference(one: &Outcome, other: &Outcome) -> Option<String> {
    if one == other {
        return None;
    }
    let row = one.rows.iter().zip(&other.rows).position(|(one, other)| one != other);
    Some(if one.broken != other.broken {
        format!("broken: {:?} / {:?}", one.broken, other.broken)
    } else if one.error != other.error {
        format!("error: {:?} / {:?}", one.error, other.error)
    } else if let Some(row) = row {
        format!("row {row}: {} / {}", one.rows[row], other.rows[row])
    } else if one.rows.len() != other.rows.len() {
        format!("rows: {} / {}", one.rows.len(), other.rows.len())
    } else if one.rejects != other.rejects {
        let pair = (0..).map(|at| (one.rejects.get(at), other.rejects.get(at)));
        let first = pair.take(one.rejects.len() + other.rejects.len()).find(|(a, b)| a != b);
        format!("reject: {first:?}")
    } else {
        format!(
            "records {} / {}, lines {} / {}",
            one.records, other.records, one.lines, other.lines
        )
    })
}
