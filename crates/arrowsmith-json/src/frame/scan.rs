// SPDX-License-Identifier: Apache-2.0
//! The ends of values, found by quotes and brackets only.
//!
//! The functions stop at the end of the text and resume there when there is more, so that a long
//! record is scanned once, however many pieces it arrives in.

use arrowsmith_simd::{Isa, Kernel, Level};

use super::{is_space, skip_space};

/// The open containers and string at a position inside a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    /// Open brackets of either kind.
    pub depth: usize,
    /// Whether a string is open.
    pub in_string: bool,
}

/// Finds the end of the container that `state` is inside, or whose bracket is at `at`.
///
/// Returns the position after the closing bracket, and resets `state` to its default. If there is
/// none, the error is the position to resume at with `state` once there is more text: the end, or
/// the byte before it if that is a backslash that escapes the next byte.
///
/// # Errors
/// The position to resume at.
pub fn balanced_end(text: &[u8], at: usize, state: &mut State) -> Result<usize, usize> {
    Level::get().dispatch(Balanced { text, at, state })
}

struct Balanced<'a> {
    text: &'a [u8],
    at: usize,
    state: &'a mut State,
}

impl Kernel for Balanced<'_> {
    type Output = Result<usize, usize>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<usize, usize> {
        let Self { text, at, state } = self;
        let mut found = None;
        let reached = walk(isa, text, at, *state, |end, _| {
            found = Some(end);
            false
        });
        if let Some(end) = found {
            *state = State::default();
            return Ok(end);
        }
        *state = reached;
        let looked = text.get(at..).unwrap_or_default();
        let backslashes = looked.iter().rev().take_while(|byte| **byte == b'\\').count();
        Err(at + looked.len() - backslashes % 2)
    }
}

/// Finds the last end of a top-level container in `text[at..]`. `at` is between values. An
/// unmatched closing bracket ends the search.
pub fn last_end(text: &[u8], at: usize) -> Option<usize> {
    Level::get().dispatch(LastEnd { text, at })
}

struct LastEnd<'a> {
    text: &'a [u8],
    at: usize,
}

impl Kernel for LastEnd<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Option<usize> {
        let mut last = None;
        walk(isa, self.text, self.at, State::default(), |end, unopened| {
            if !unopened {
                last = Some(end);
            }
            !unopened
        });
        last
    }
}

/// Calls `end` with every position after a bracket at which nothing is open, and whether nothing
/// was open before it either, until `end` returns `false`. Returns the state at the end of the
/// text.
///
/// 64 bytes at a time, with bit masks of quotes and brackets; brackets inside strings are masked
/// out; the end is where as many brackets were closed as opened. Windows that close fewer brackets
/// than are open, which are most of a long record, need only two additions.
#[inline(always)]
fn walk<I: Isa>(
    isa: I,
    text: &[u8],
    mut at: usize,
    state: State,
    mut end: impl FnMut(usize, bool) -> bool,
) -> State {
    let mut depth = state.depth;
    let mut inside = if state.in_string { u64::MAX } else { 0 };
    let mut escapes = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let mut last = [0; 64];
        let window = rest.first_chunk::<64>().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        let masks = isa.bracket_masks(window);
        let quote = masks.quote & !escaped(masks.backslash, &mut escapes);
        let strings = isa.prefix_xor(quote) ^ inside;
        inside = if strings >> 63 != 0 { u64::MAX } else { 0 };
        let (open, mut close) = (masks.open & !strings, masks.close & !strings);
        let closing = close.count_ones() as usize;
        depth += open.count_ones() as usize;
        if depth - (open.count_ones() as usize) > closing {
            depth -= closing;
        } else {
            // Brackets that open in this window after the closing one do not count yet.
            let mut after = open;
            while close != 0 {
                let bit = close & close.wrapping_neg();
                close &= close - 1;
                after &= !(bit - 1);
                let opened = depth - after.count_ones() as usize;
                depth = depth.saturating_sub(usize::from(opened > 0));
                if opened <= 1 && !end(at + bit.trailing_zeros() as usize + 1, opened == 0) {
                    return State::default();
                }
            }
        }
        at += 64;
    }
    State { depth, in_string: inside != 0 }
}

/// A mask of the escaped bytes: those after an active backslash. `carry` is whether the first byte
/// of the window is escaped, and is set for the next window.
#[inline(always)]
fn escaped(backslash: u64, carry: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    if backslash == 0 {
        return u64::from(std::mem::take(carry));
    }
    // Backslashes that are not escaped themselves start runs; what follows a run of odd length is
    // escaped. Runs that start at odd places are shifted by one, so that one addition does for
    // both.
    let backslash = backslash & !u64::from(*carry);
    let follows = backslash << 1 | u64::from(*carry);
    let odd_starts = backslash & !EVEN & !follows;
    let (even_series, overflow) = odd_starts.overflowing_add(backslash);
    *carry = overflow;
    (EVEN ^ (even_series << 1)) & follows
}

/// Finds the end of the string that `at` is inside: the position after its closing quote.
///
/// # Errors
/// The position to resume at, as for [`balanced_end`].
pub fn string_end(text: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return Err(text.len().max(at)),
            Some(run) if rest[run] == b'"' => return Ok(at + run + 1),
            // The escaped byte is not available yet.
            Some(run) if run + 1 == rest.len() => return Err(at + run),
            Some(run) => at += run + 2,
        }
    }
}

/// Finds the end of the run of bytes at `at` that are not white space, quotes, brackets or commas:
/// a number or a literal, if it is JSON. At the end of the text it may be incomplete.
pub(crate) fn word_end(text: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| is_space(*byte) || b",\"{}[]".contains(byte);
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Whether a value is certainly complete. An incomplete literal or number is not: if the text
/// continued, it could be an error at its start.
pub(super) fn is_whole(value: &[u8]) -> bool {
    match value.strip_prefix(b"-").unwrap_or(value).first() {
        Some(b't' | b'f' | b'n') => matches!(value, b"true" | b"false" | b"null"),
        Some(b'N' | b'I') => matches!(value, b"NaN" | b"Infinity" | b"-Infinity"),
        Some(b'0'..=b'9') => value.last().is_some_and(u8::is_ascii_digit),
        // A minus sign alone.
        None => false,
        Some(_) => true,
    }
}

/// Where the scan of a record stopped because the text ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Resume {
    /// The start of the record.
    pub(super) record: usize,
    /// The position to resume at.
    pub(super) at: usize,
    /// The state there; the default at the start of the record.
    pub(super) state: State,
    /// In arrays, whether there is an element since the last comma.
    pub(super) element: bool,
}

impl Resume {
    /// A position between values.
    pub(super) fn at(at: usize) -> Self {
        Self { record: at, at, ..Self::default() }
    }

    /// Moves to the next value, unless this is inside one.
    pub(super) fn skip_space(&mut self, text: &[u8]) {
        if self.at == self.record {
            let at = skip_space(text, self.at);
            *self = Self { element: self.element, ..Self::at(at) };
        }
    }

    /// Finds the end of the value that starts at `record`; `None` if it is not within the text and
    /// within `limit` bytes. The end of the text ends a word only with `eof`.
    pub(super) fn value_end(&mut self, text: &[u8], limit: usize, eof: bool) -> Option<usize> {
        let eof = eof && limit >= text.len();
        let text = &text[..limit.min(text.len())];
        let end = match text.get(self.record) {
            Some(b'{' | b'[') => balanced_end(text, self.at, &mut self.state),
            Some(b'"') => string_end(text, self.at.max(self.record + 1)),
            // A byte that cannot start a value is skipped.
            Some(b'}' | b']' | b',') => Ok(self.record + 1),
            _ => {
                let end = word_end(text, self.at);
                if end < text.len() || eof { Ok(end) } else { Err(end) }
            }
        };
        match end {
            Ok(end) => Some(end),
            Err(at) => {
                self.at = at;
                None
            }
        }
    }
}
