// SPDX-License-Identifier: Apache-2.0
//! Convert, cold: null, another type, and what is wrong with malformed text.

use arrowsmith_core::{Dialect, ErrorKind};
use arrowsmith_number::{NumberError, TextError};
use arrowsmith_plan::{FloatWidth, IntWidth};
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::skip;

use super::{integer, push_bits};
use crate::json::coerce::special;
use crate::json::program::{Code, Id, Zone};
use crate::json::walk::{FAIL, Subject, Walker};

pub(in crate::json) fn number_error(error: NumberError) -> ErrorKind {
    match error {
        NumberError::Range | NumberError::Negative => ErrorKind::Overflow,
        NumberError::Inexact => ErrorKind::Inexact,
        NumberError::NotInteger => ErrorKind::WrongType,
        _ => ErrorKind::Syntax,
    }
}

pub(in crate::json) fn text_error(error: TextError) -> ErrorKind {
    match error {
        TextError::Range => ErrorKind::Overflow,
        TextError::Inexact => ErrorKind::Inexact,
        _ => ErrorKind::InvalidValue,
    }
}

impl<I: Isa> Walker<'_, I> {
    /// The first error of the JSON text at `pos`: the given one, unless a string before it is not
    /// UTF-8.
    #[cold]
    #[inline(never)]
    pub(super) fn json_fault(&mut self, id: Id, pos: usize) -> usize {
        let text = self.input.slice(pos, self.fault.pos);
        let checked = match std::str::from_utf8(&text[..unfinished_string(text)]) {
            Ok(_) => return FAIL,
            Err(error) => error.valid_up_to(),
        };
        self.fail(ErrorKind::InvalidUtf8, pos + checked, Subject::Value(id))
    }

    /// The error of the string between these positions: invalid UTF-8 in preference to `kind`.
    #[cold]
    #[inline(never)]
    pub fn text_fault(&mut self, id: Id, kind: ErrorKind, pos: usize, end: usize) -> usize {
        match std::str::from_utf8(self.input.slice(pos, end)) {
            Ok(_) => self.fail(kind, pos, Subject::Value(id)),
            Err(error) => {
                let at = pos + error.valid_up_to();
                self.fail(ErrorKind::InvalidUtf8, at, Subject::Value(id))
            }
        }
    }

    /// A malformed number is reported as a syntax error in preference to `error`.
    pub fn number_fault(&self, pos: usize, error: NumberError) -> ErrorKind {
        match skip::number(self.isa, self.input, pos) {
            Some(_) => number_error(error),
            None if self.options.allow_nan && self.nan_word(pos) => ErrorKind::WrongType,
            None => ErrorKind::Syntax,
        }
    }

    /// An integer column's value that the fast path did not accept.
    #[cold]
    #[inline(never)]
    pub(super) fn other_int(&mut self, id: Id, width: IntWidth, pos: usize) -> usize {
        let first = self.input.at(pos);
        if first != b'-' && !first.is_ascii_digit() {
            return self.other_type(id, pos);
        }
        let kind = match integer(self.input.from(pos), width) {
            Ok(_) => ErrorKind::Overflow,
            Err(error) => self.number_fault(pos, error),
        };
        self.fail(kind, pos, Subject::Value(id))
    }

    /// A floating-point column's value that is not a number in range.
    #[cold]
    #[inline(never)]
    pub(super) fn other_float(
        &mut self,
        id: Id,
        width: FloatWidth,
        pos: usize,
        error: NumberError,
    ) -> usize {
        let first = self.input.at(pos);
        if self.options.allow_nan {
            let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            for (text, value) in skip::NAN_WORDS.into_iter().zip(values) {
                if self.input.slice(pos, pos + text.len()) == text.as_bytes() {
                    push_bits(self.values(id), special(value, width));
                    return pos + text.len();
                }
            }
        }
        if first != b'-' && !first.is_ascii_digit() {
            return self.other_type(id, pos);
        }
        let kind = self.number_fault(pos, error);
        self.fail(kind, pos, Subject::Value(id))
    }

    /// Whether the column accepts numbers.
    pub(super) fn takes_number(&self, id: Id) -> bool {
        let code = self.program.code(id);
        if self.program.dialect == Dialect::Spark && code == Code::Date32 {
            return false;
        }
        !matches!(
            code,
            Code::Null
                | Code::Bool
                | Code::Utf8
                | Code::Json
                | Code::Binary(_)
                | Code::FixedBinary(..)
                | Code::List(_)
                | Code::FixedList(..)
                | Code::Struct(_)
                | Code::Map(..)
                | Code::SparkTimestamp(_, Zone::Local)
        )
    }

    /// Whether `NaN`, `Infinity` or `-Infinity` is at `pos`.
    pub(super) fn nan_word(&self, pos: usize) -> bool {
        let is = |word: &&str| self.input.slice(pos, pos + word.len()) == word.as_bytes();
        skip::NAN_WORDS.iter().any(is)
    }

    /// A value of another JSON type: null, or an error.
    #[inline(never)]
    pub fn other_type(&mut self, id: Id, pos: usize) -> usize {
        if self.program.steps[id].coercion.is_some()
            && let Some(end) = self.string_as_null(id, pos)
        {
            return end;
        }
        let is_literal = skip::literal(self.input, pos);
        if self.input.at(pos) == b'n'
            && let Some(end) = is_literal
            && self.program.steps[id].nullable
        {
            self.columns.push_null(self.program, id);
            return end;
        }
        let kind = match self.input.at(pos) {
            b'n' if is_literal.is_some() => ErrorKind::MissingField,
            b'n' => ErrorKind::Syntax,
            b't' | b'f' if self.program.code(id) == Code::Bool => ErrorKind::Syntax,
            b't' | b'f' | b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' => ErrorKind::WrongType,
            b'N' | b'I' if self.options.allow_nan => {
                let text = !self.takes_number(id) || self.nan_word(pos);
                if text { ErrorKind::WrongType } else { ErrorKind::Syntax }
            }
            _ => ErrorKind::Syntax,
        };
        self.fail(kind, pos, Subject::Value(id))
    }
}

/// The start of the unterminated string at the end of `text`; its length if there is none.
fn unfinished_string(text: &[u8]) -> usize {
    let mut string = None;
    let mut pos = 0;
    while pos < text.len() {
        match (text[pos], string) {
            (b'"', None) => string = Some(pos),
            (b'"', Some(_)) => string = None,
            (b'\\', Some(_)) => pos += 1,
            _ => {}
        }
        pos += 1;
    }
    string.unwrap_or(text.len())
}
