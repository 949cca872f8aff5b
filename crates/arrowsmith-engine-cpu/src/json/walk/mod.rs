// SPDX-License-Identifier: Apache-2.0
//! The walker: a cursor over text and plan at once, and the loop over records.
//!
//! Functions take the position of a value and return the position after it, or [`FAIL`] with the
//! reason in [`Walker::fault`], so that the path without errors stays in registers.

mod state;
mod stream;

use arrowsmith_core::{DecodeOptions, ErrorKind, Framing, OnError};
use arrowsmith_plan::{FloatWidth, IntWidth};
use arrowsmith_simd::Input;
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::skip::{self, Rules};
use arrowsmith_simd::text::{Fault, cut_escape};

pub(crate) use self::state::{LeftOut, Progress, Scratch, State, Stop, Subject};
use super::build::Columns;
use super::lockstep::{Groups, Lockstep};
use super::predict::Predictor;
use super::program::{Code, Fast, Id, Program, ROOT, ROOT_OBJECT};
use super::spread::{Spread, SpreadGroups};

/// Returned in place of a position after an error.
pub(crate) const FAIL: usize = usize::MAX;

/// The walker over one piece of text.
pub(crate) struct Walker<'a, I> {
    pub isa: I,
    pub input: Input<'a>,
    pub program: &'a Program,
    pub predictors: &'a mut [Predictor],
    pub columns: &'a mut Columns,
    pub options: &'a DecodeOptions,
    pub scratch: &'a mut Scratch,
    pub rows: &'a mut usize,
    pub list: Option<(Id, Id)>,
    pub locksteps: &'a mut [Lockstep],
    pub spread: &'a mut Spread,
    pub careful: bool,
    /// Whether a line feed ends a record.
    pub lines: bool,
    pub fault: Stop,
    /// The first error of this record that was replaced by a null.
    pub nulled: Option<Stop>,
    /// Whether text that was removed before its validation was not UTF-8.
    pub not_utf8: &'a mut bool,
    /// See [`State::mark`].
    pub mark: &'a mut usize,
    pub left_out: &'a mut LeftOut,
}

/// Runs [`Walker::records`] compiled for an instruction set.
pub(crate) struct Records<'a> {
    pub input: Input<'a>,
    pub state: &'a mut State,
    pub framing: Framing,
    pub pos: usize,
    /// Whether a record is before `pos`, so that a comma is expected in [`Framing::Array`].
    pub after_record: bool,
}

impl Kernel for Records<'_> {
    type Output = Progress;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Progress {
        let subject = Subject::Grammar("");
        let mut walker = Walker {
            isa,
            input: self.input,
            program: &self.state.program,
            predictors: &mut self.state.predictors,
            columns: &mut self.state.columns,
            options: &self.state.options,
            scratch: &mut self.state.scratch,
            rows: &mut self.state.rows,
            list: self.state.list,
            locksteps: &mut self.state.locksteps,
            spread: &mut self.state.spread,
            careful: self.state.careful,
            lines: self.framing == Framing::Lines,
            fault: Stop { kind: ErrorKind::Syntax, pos: 0, subject },
            nulled: None,
            not_utf8: &mut self.state.not_utf8,
            mark: &mut self.state.mark,
            left_out: &mut self.state.left_out,
        };
        walker.records(self.framing, self.pos, self.after_record)
    }
}

/// Wraps a function of the walker as a kernel, so that nested values are calls instead of inlined
/// copies, each with a small stack frame.
macro_rules! nested {
    ($(#[$doc:meta])* $name:ident, $method:ident) => {
        $(#[$doc])*
        pub(crate) struct $name<'w, 'a, I> {
            pub walker: &'w mut Walker<'a, I>,
            pub id: Id,
            pub pos: usize,
        }

        impl<I: Isa> Kernel for $name<'_, '_, I> {
            type Output = usize;

            #[inline(always)]
            fn run<J: Isa>(self, _isa: J) -> usize {
                self.walker.$method(self.id, self.pos)
            }
        }
    };
}

nested!(
    /// Objects with known keys.
    Object, object
);
nested!(
    /// Lists of objects.
    Objects, objects
);
nested!(
    /// Lists of anything.
    List, list
);
nested!(
    /// Lists of integers.
    Ints, ints
);
nested!(
    /// Lists of floating-point numbers.
    Floats, floats
);
nested!(
    /// Timestamps.
    Timestamp, timestamp
);
nested!(
    /// All other values.
    Other, other
);
nested!(
    /// Any value, or a null in its place.
    Any, any
);

impl<I: Isa> Walker<'_, I> {
    /// Reads records up to the end, or until one fails.
    #[inline(always)]
    fn records(&mut self, framing: Framing, mut pos: usize, mut after_record: bool) -> Progress {
        let end = self.input.end();
        let record_bytes_max = self.options.limits.record_bytes_max;
        let mut progress = Progress {
            pos,
            records: 0,
            lines: 0,
            stop: None,
            nulled: None,
            start: pos,
            between: false,
        };
        let mut stream_from = if self.may_stream(framing) { 0 } else { FAIL };
        let mut stream = None;
        let lockstep = self.may_lockstep(framing);
        let spread = self.may_spread(framing);
        loop {
            // Moves to the next record.
            if framing == Framing::Lines {
                loop {
                    pos = skip::space(self.isa, self.input, pos, true);
                    if pos >= end || self.input.at(pos) != b'\n' {
                        break;
                    }
                    progress.lines += 1;
                    pos += 1;
                }
            } else {
                pos = skip::space(self.isa, self.input, pos, false);
                if framing == Framing::Array && after_record && pos < end {
                    if self.input.at(pos) != b',' {
                        self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or ']'"));
                        let stop = Some(self.fault);
                        return Progress { pos, stop, start: pos, between: true, ..progress };
                    }
                    pos = skip::space(self.isa, self.input, pos + 1, false);
                    if pos >= end {
                        // Not an incomplete record: the one after the comma is missing entirely.
                        let subject = Subject::Grammar("a value");
                        let stop = Some(Stop { kind: ErrorKind::Syntax, pos: end, subject });
                        return Progress { pos: end, stop, start: end, between: true, ..progress };
                    }
                }
            }
            if pos >= end {
                return Progress { pos: end, ..progress };
            }
            *self.mark = pos;
            if pos >= stream_from {
                if stream.is_none() {
                    stream = self.learn_stream();
                }
                if let Some((stream, head)) = &stream {
                    let (records, next, tried) = self.stream(stream, *head, pos);
                    progress.add_lines(records);
                    pos = next;
                    stream_from = tried;
                    *self.mark = pos;
                }
            }

            if lockstep && self.locksteps[ROOT_OBJECT].due() {
                let isa = self.isa;
                let (records, next) = isa.vectorize(Groups { walker: self, pos });
                if records > 0 {
                    progress.add_lines(records);
                    pos = next;
                    continue;
                }
            }

            if spread && self.spread_due() {
                let isa = self.isa;
                let (records, next) = isa.vectorize(SpreadGroups { walker: self, pos });
                if records > 0 {
                    progress.add_lines(records);
                    pos = next;
                    continue;
                }
            }

            let start = pos;
            pos = self.record(start);
            if pos != FAIL && pos > end {
                self.fail(ErrorKind::Truncated, end, Subject::Grammar("the rest of the record"));
                pos = FAIL;
            }
            if pos != FAIL && framing == Framing::Lines && self.input.at(pos) != b'\n' {
                let after = skip::space(self.isa, self.input, pos, true);
                if after < end && self.input.at(after) != b'\n' {
                    self.fail(ErrorKind::TrailingData, after, Subject::Grammar("end of line"));
                    pos = FAIL;
                }
            }
            if pos != FAIL && pos - start > record_bytes_max {
                self.fail(ErrorKind::RecordTooLong, start, Subject::Grammar(""));
                pos = FAIL;
            }
            if pos == FAIL {
                let (stop, nulled) = (Some(self.fault), self.nulled.take());
                return Progress { pos: start, stop, nulled, start, ..progress };
            }
            *self.rows += 1;
            progress.records += 1;
            after_record = true;
            if self.nulled.is_some() {
                return Progress { pos, nulled: self.nulled.take(), start, ..progress };
            }
        }
    }

    /// Reads one record.
    #[inline(always)]
    fn record(&mut self, pos: usize) -> usize {
        self.value_or_null(ROOT, self.program.fast(ROOT), pos)
    }

    /// Reads the value of a node; its first byte is at `pos`.
    #[inline(always)]
    pub fn value(&mut self, id: Id, fast: Fast, pos: usize) -> usize {
        let isa = self.isa;
        match fast {
            Fast::Utf8 => self.utf8(id, pos),
            Fast::I64 => self.int(id, IntWidth::I64, pos),
            Fast::U64 => self.int(id, IntWidth::U64, pos),
            Fast::I32 => self.int(id, IntWidth::I32, pos),
            Fast::Date32 => self.date32(id, pos),
            Fast::F64 => self.float(id, FloatWidth::F64, pos),
            Fast::Bool => self.bool(id, pos),
            Fast::Object => isa.vectorize(Object { walker: self, id, pos }),
            Fast::Objects => isa.vectorize(Objects { walker: self, id, pos }),
            Fast::List => isa.vectorize(List { walker: self, id, pos }),
            Fast::Ints => match isa.vectorize(Ints { walker: self, id, pos }) {
                FAIL => isa.vectorize(Other { walker: self, id, pos }),
                end => end,
            },
            Fast::Floats => match isa.vectorize(Floats { walker: self, id, pos }) {
                FAIL => isa.vectorize(List { walker: self, id, pos }),
                end => end,
            },
            Fast::Timestamp => match isa.vectorize(Timestamp { walker: self, id, pos }) {
                FAIL => isa.vectorize(Other { walker: self, id, pos }),
                end => end,
            },
            Fast::Other => isa.vectorize(Other { walker: self, id, pos }),
        }
    }

    /// A value of any kind, not inlined.
    #[inline(always)]
    fn any(&mut self, id: Id, pos: usize) -> usize {
        self.value_or_null(id, self.program.fast(id), pos)
    }

    /// The operations without a hot loop of their own.
    #[inline(always)]
    fn other(&mut self, id: Id, pos: usize) -> usize {
        let isa = self.isa;
        let mut code = self.program.steps[id].code;
        if let Code::Coerced(index) = code {
            match self.coerced(id, index, pos) {
                Some(end) => return end,
                None => code = self.program.code(id),
            }
        }
        match code {
            Code::Struct(_) => isa.vectorize(Object { walker: self, id, pos }),
            Code::List(item) => match self.program.steps[item].code {
                Code::Struct(_) => isa.vectorize(Objects { walker: self, id, pos }),
                _ => isa.vectorize(List { walker: self, id, pos }),
            },
            Code::FixedList(item, len) => self.fixed_list(id, item, len, pos),
            Code::Map(key, value) => self.map(id, key, value, pos),
            code => self.leaf(id, code, pos),
        }
    }

    /// The operations of scalars.
    #[inline(always)]
    pub fn leaf(&mut self, id: Id, code: Code, pos: usize) -> usize {
        match code {
            Code::Json => self.json(id, pos),
            Code::Utf8 => self.utf8(id, pos),
            Code::Bool => self.bool(id, pos),
            Code::Int(width) => self.int(id, width, pos),
            Code::Float(width) => self.float(id, width, pos),
            code => self.rare(id, code, pos),
        }
    }

    /// Reads the value of a node; replaces it by a null if it fails and the node is nullable.
    #[inline(always)]
    pub fn value_or_null(&mut self, id: Id, fast: Fast, pos: usize) -> usize {
        let end = self.value(id, fast, pos);
        if end == FAIL { self.recover(id, pos) } else { end }
    }

    #[cold]
    #[inline(never)]
    pub fn recover(&mut self, id: Id, pos: usize) -> usize {
        // A predicted text may end before the white space that precedes the value.
        let value = self.space(pos);
        if value != pos {
            return self.value_or_null(id, self.program.fast(id), value);
        }
        let value_error =
            self.fault.kind.is_value_error() || self.fault.kind == ErrorKind::MissingField;
        let null = self.options.on_error == OnError::Null
            && value_error
            && self.program.steps[id].nullable;
        if !null {
            return FAIL;
        }
        // Reported even if the rest of the record is not JSON.
        self.nulled = self.nulled.or(Some(self.fault));
        let len = self.columns.len(id);
        self.columns.truncate(self.program, id, len);
        let end = self.skip(pos, self.depth_outside(id), false);
        if end == FAIL {
            return FAIL;
        }
        self.columns.push_null(self.program, id);
        end
    }

    /// Number of containers open around a value of this node.
    pub fn depth_outside(&self, id: Id) -> usize {
        let step = &self.program.steps[id];
        let container = matches!(
            step.code,
            Code::Struct(_) | Code::List(_) | Code::FixedList(..) | Code::Map(..)
        );
        step.depth - usize::from(container)
    }

    /// Skips the value at `pos`, inside `outside` containers. A value that is kept as text is
    /// always validated, whatever the options.
    #[inline(always)]
    pub fn skip(&mut self, pos: usize, outside: usize, kept: bool) -> usize {
        let depth = self.options.limits.depth_max.saturating_sub(outside);
        let (trust, nan) = (self.options.trust && !kept, self.options.allow_nan && !kept);
        let rules = Rules { depth, lines: self.lines, nan };
        let container = matches!(self.input.at(pos), b'{' | b'[');
        let end = if trust && container {
            skip::balanced(self.isa, self.input, pos)
        } else {
            skip::value(self.isa, self.input, pos, rules)
        };
        match end {
            Ok(end) => end,
            Err(Fault { kind, pos }) => self.fail(kind, pos, Subject::Grammar("valid JSON")),
        }
    }

    /// Skips white space from `pos` on.
    #[inline(always)]
    pub fn space(&self, pos: usize) -> usize {
        if self.input.at(pos) > b' ' {
            return pos;
        }
        skip::space(self.isa, self.input, pos, self.lines)
    }

    /// The result of an operation on another kind of node, which [`Program::fast`] rules out: a bug
    /// of this crate, which fails in debug builds.
    #[cold]
    pub fn wrong_node(&self, id: Id) -> usize {
        debug_assert!(false, "an operation on another kind of node: {:?}", self.program.steps[id]);
        FAIL
    }

    /// Notes an error. At the end of the text, or of the line, it becomes `truncated`.
    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, kind: ErrorKind, pos: usize, subject: Subject) -> usize {
        let ends = |pos| pos >= self.input.end() || (self.lines && self.input.at(pos) == b'\n');
        let (kind, pos) = match kind {
            ErrorKind::Syntax | ErrorKind::ControlCharacter if ends(pos) => {
                (ErrorKind::Truncated, pos)
            }
            ErrorKind::Syntax if matches!(subject, Subject::Value(_)) => {
                match skip::cut_scalar(self.input, pos, self.lines, self.options.allow_nan) {
                    Some(end) => (ErrorKind::Truncated, end),
                    None => (kind, pos),
                }
            }
            ErrorKind::InvalidEscape | ErrorKind::LoneSurrogate => {
                match cut_escape(self.input, pos, ends) {
                    Some(end) => (ErrorKind::Truncated, end),
                    None => (kind, pos),
                }
            }
            _ => (kind, pos),
        };
        self.fault = Stop { kind, pos: pos.min(self.input.end()), subject };
        FAIL
    }
}
