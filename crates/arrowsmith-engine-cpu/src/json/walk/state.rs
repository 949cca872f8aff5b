// SPDX-License-Identifier: Apache-2.0
//! The walker's data, and what it reports.

use arrowsmith_core::{DecodeOptions, ErrorKind};
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::text::Fault;
use arrowsmith_simd::{Buf, Input};

use crate::json::build::Columns;
use crate::json::lockstep::Lockstep;
use crate::json::predict::Predictor;
use crate::json::program::{Id, Program};
use crate::json::spread::Spread;

/// The subject of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The value of this node.
    Value(Id),
    /// A missing field of this object, by its index.
    Missing(usize, usize),
    /// The grammar, with the expected text.
    Grammar(&'static str),
}

/// Why the walker stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub kind: ErrorKind,
    pub pos: usize,
    pub subject: Subject,
}

/// The walker's data; lives as long as the decoder.
#[derive(Debug)]
pub(crate) struct State {
    pub program: Program,
    /// One per object of the program.
    pub predictors: Vec<Predictor>,
    pub columns: Columns,
    pub options: DecodeOptions,
    /// Scratch space of conversions.
    pub scratch: Scratch,
    /// Whether every string is validated immediately: on the second pass over a chunk that is not
    /// UTF-8.
    pub careful: bool,
    /// Whether text that was removed from the columns was not UTF-8.
    pub not_utf8: bool,
    /// Rows of the batch.
    pub rows: usize,
    /// The only list of a record, if it has no other field.
    pub list: Option<(Id, Id)>,
    /// One per object of the program.
    pub locksteps: Vec<Lockstep>,
    pub spread: Spread,
    /// Start of the current record, or of the first of several that are read together: the position
    /// to resume at if memory is exhausted. Relative to the piece, which starts at `base` of the
    /// chunk.
    pub mark: usize,
    pub base: usize,
    /// Values whose keys are not in the schema.
    pub left_out: LeftOut,
}

/// Counts values whose keys are not in the schema.
#[derive(Debug)]
pub(crate) struct LeftOut {
    pub values: u64,
    /// The first of the keys.
    pub key: Option<String>,
    /// The lanes that count when eight records are read together.
    pub lanes: u8,
}

impl Default for LeftOut {
    fn default() -> Self {
        Self { values: 0, key: None, lanes: u8::MAX }
    }
}

/// Reusable buffers of conversions.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub ints: Buf<u64>,
    pub text: arrowsmith_simd::TextBuf,
    pub bytes: Vec<u8>,
}

impl Scratch {
    /// Reads the string whose quote is at `pos`, as the last text; returns the position after it.
    #[inline(always)]
    pub fn text_at<I: Isa>(
        &mut self,
        isa: I,
        input: Input<'_>,
        pos: usize,
    ) -> Result<usize, Fault> {
        self.text.truncate(0);
        self.text.push_json(isa, input, pos + 1)
    }
}

/// The result of the loop over records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// The position: of a record that failed, else the end.
    pub pos: usize,
    /// Number of completed records.
    pub records: u64,
    /// Number of line feeds passed, in [`Framing::Lines`].
    pub lines: u64,
    /// Why it stopped before the end.
    pub stop: Option<Stop>,
    /// The first error of the record at which it stopped that was replaced by a null. Without
    /// `stop`, the record, which starts at `start`, is a row anyway, and `pos` is after it.
    pub nulled: Option<Stop>,
    pub start: usize,
    /// Whether it stopped between records, where a comma or another record was expected.
    pub between: bool,
}

impl Progress {
    /// Adds records that were read together, one per line.
    #[inline(always)]
    pub fn add_lines(&mut self, records: usize) {
        self.records += records as u64;
        self.lines += records as u64;
    }
}
