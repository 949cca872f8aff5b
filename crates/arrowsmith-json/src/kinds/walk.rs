// SPDX-License-Identifier: Apache-2.0
//! Reads lines, and notes the kinds of their values.
//!
//! The whole grammar of JSON is checked, but not UTF-8, unless that is requested. A carriage return
//! inside a record is refused: some programs end the line there.

use arrowsmith_number::parse_i64;
use arrowsmith_simd::{Input, Isa, Kernel, skip};

use super::LEFT_MAX;
use super::tree::{BOOLEAN, DIGITS_MAX, EMPTY, FLOAT, Frame, INTEGER, NULL, ROOT, STRING, Tree};

/// Maximum number of open containers.
const DEPTH_MAX: usize = 64;

/// Maximum length of a line, in bytes: other programs limit that of a string.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Maximum length of a number, in bytes: other programs limit it, too.
const NUMBER_BYTES_MAX: usize = 300;

/// Integers of fewer digits fit into an `i64`.
const LONG_DIGITS: usize = 19;

/// Reads the lines from `at` to the end of the input; returns the position after those that it
/// read, which is the end unless too many were left.
pub(super) struct Lines<'a> {
    pub(super) tree: &'a mut Tree,
    /// The positions of lines that are left.
    pub(super) left: &'a mut Vec<usize>,
    pub(super) input: Input<'a>,
    pub(super) at: usize,
    /// The position of the input in the text.
    pub(super) offset: usize,
    /// Whether all lines are UTF-8.
    pub(super) is_utf8: bool,
}

impl Kernel for Lines<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> usize {
        let Self { tree, left, input, mut at, offset, is_utf8 } = self;
        let mut open = [Frame::EMPTY; DEPTH_MAX];
        while at < input.end() {
            let start = margin(input, at);
            if start >= input.end() {
                return input.end();
            }
            if input.at(start) == b'\n' {
                at = start + 1;
                continue;
            }
            tree.begin();
            let end = record(tree, isa, input, start, &mut open).map(|end| margin(input, end));
            let is_whole = |end: usize| input.at(end) == b'\n' || end == input.end();
            let is_utf8 = |end| is_utf8 || std::str::from_utf8(input.slice(at, end)).is_ok();
            match end {
                Some(end) if is_whole(end) && end - at <= LINE_BYTES_MAX && is_utf8(end) => {
                    at = end + 1;
                }
                _ => {
                    tree.undo();
                    // Bounded: by LEFT_MAX.
                    left.push(offset + at);
                    let rest = input.slice(at, input.end());
                    at += memchr::memchr(b'\n', rest).map_or(rest.len(), |len| len + 1);
                    if left.len() >= LEFT_MAX {
                        break;
                    }
                }
            }
        }
        at.min(input.end())
    }
}

/// The position after white space before or after a record. Where a carriage return ends a line,
/// a blank one comes of it.
#[inline(always)]
fn margin(input: Input<'_>, mut pos: usize) -> usize {
    while matches!(input.at(pos), b' ' | b'\t' | b'\r') && pos < input.end() {
        pos += 1;
    }
    pos
}

/// The position after white space inside a record.
#[inline(always)]
fn blanks(input: Input<'_>, mut pos: usize) -> usize {
    while matches!(input.at(pos), b' ' | b'\t') {
        pos += 1;
    }
    pos
}

/// Reads an object; returns the position after it, or `None` if it is to be left. `open` has room
/// for the containers around a value.
#[inline(always)]
fn record<I: Isa>(
    tree: &mut Tree,
    isa: I,
    input: Input<'_>,
    mut pos: usize,
    open: &mut [Frame; DEPTH_MAX],
) -> Option<usize> {
    if input.at(pos) != b'{' {
        return None;
    }
    let mut depth = 0;
    let mut top = tree.open_object(ROOT);
    pos = blanks(input, pos + 1);
    let mut at_end = input.at(pos) == b'}';
    loop {
        if !at_end {
            let node = if top.is_object() {
                let (node, colon) = tree.key(isa, input, pos, &mut top)?;
                pos = blanks(input, colon);
                node
            } else {
                top.item
            };
            let byte = input.at(pos);
            match byte {
                b'"' => {
                    let end = skip::string(isa, input, pos + 1).ok()?;
                    tree.note(node, if end == pos + 2 { EMPTY } else { STRING });
                    pos = end;
                }
                b'-' | b'0'..=b'9' => pos = number(tree, isa, input, pos, node)?,
                b'{' | b'[' => {
                    let inner =
                        if byte == b'{' { tree.open_object(node) } else { tree.open_list(node)? };
                    *open.get_mut(depth)? = top;
                    depth += 1;
                    top = inner;
                    pos = blanks(input, pos + 1);
                    at_end = input.at(pos) == if byte == b'{' { b'}' } else { b']' };
                    continue;
                }
                _ => {
                    let end = skip::literal(input, pos)?;
                    tree.note(node, if byte == b'n' { NULL } else { BOOLEAN });
                    pos = end;
                }
            }
        }
        // After a value, or at the end of an empty container.
        loop {
            pos = blanks(input, pos);
            let byte = input.at(pos);
            if byte == b',' && !at_end {
                pos = blanks(input, pos + 1);
                break;
            }
            if byte != if top.is_object() { b'}' } else { b']' } {
                return None;
            }
            at_end = false;
            pos += 1;
            if depth == 0 {
                return Some(pos);
            }
            depth -= 1;
            top = open[depth];
        }
    }
}

/// Reads a number; returns the position after it.
#[inline(always)]
fn number<I: Isa>(
    tree: &mut Tree,
    isa: I,
    input: Input<'_>,
    pos: usize,
    node: u32,
) -> Option<usize> {
    let start = pos + usize::from(input.at(pos) == b'-');
    let digits = isa.digits(input.window(start)).trailing_ones() as usize;
    let end = start + digits;
    let is_long = digits == 0 || digits >= LONG_DIGITS;
    if is_long || (input.at(start) == b'0' && digits > 1) || input.at(end) | 0x20 == b'e' {
        return other_number(tree, input, pos, skip::number(isa, input, pos)?, node);
    }
    if input.at(end) != b'.' {
        tree.note(node, INTEGER);
        return Some(end);
    }
    let fraction = isa.digits(input.window(end + 1)).trailing_ones() as usize;
    let after = end + 1 + fraction;
    if fraction == 0 || fraction == 64 || input.at(after) | 0x20 == b'e' {
        return other_number(tree, input, pos, skip::number(isa, input, pos)?, node);
    }
    tree.note(node, FLOAT);
    Some(after)
}

/// A number that is long or has an exponent, and ends at `end`.
#[inline(never)]
fn other_number(
    tree: &mut Tree,
    input: Input<'_>,
    pos: usize,
    end: usize,
    node: u32,
) -> Option<usize> {
    let text = input.slice(pos, end);
    if text.len() > NUMBER_BYTES_MAX {
        return None;
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !digits.iter().all(u8::is_ascii_digit) || digits.len() > DIGITS_MAX {
        tree.note(node, FLOAT);
    } else if parse_i64(text).is_ok() {
        tree.note(node, INTEGER);
    } else {
        tree.note_large(node, u8::try_from(digits.len()).ok()?);
    }
    Some(end)
}
