// SPDX-License-Identifier: Apache-2.0
//! The starts and ends of records in a text that is not decoded because it is malformed or exceeds
//! the memory limit.

use arrowsmith_core::Framing;

pub(super) fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// The end of the record that starts at `start`, whether it is valid or not.
pub(super) fn record_end(text: &[u8], framing: Framing, start: usize) -> usize {
    if framing == Framing::Lines {
        let rest = &text[start.min(text.len())..];
        return memchr::memchr(b'\n', rest).map_or(text.len(), |at| start + at);
    }
    let array = framing == Framing::Array;
    let end = match text.get(start) {
        None => None,
        Some(b',') if array => Some(start),
        Some(b'{' | b'[') => balanced_end(text, start),
        Some(b'"') => string_end(text, start),
        Some(_) => {
            let ends =
                |b: &u8| matches!(b, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"' | 0..=b' ');
            text[start + 1..].iter().position(ends).map(|at| start + 1 + at)
        }
    };
    end.unwrap_or(text.len())
}

/// Length of the records before one that starts at the end of `text`, without the comma between.
pub(super) fn before_record(text: &[u8], framing: Framing) -> usize {
    let solid = text.iter().rposition(|byte| !is_space(*byte));
    match solid {
        Some(at) if framing == Framing::Array && text[at] == b',' => at,
        _ => text.len(),
    }
}

/// The start of the text after a record that ends at `end`, without the comma between.
pub(super) fn after_record(text: &[u8], framing: Framing, end: usize) -> usize {
    let solid = |from: usize| text[from..].iter().position(|byte| !is_space(*byte));
    match (framing, text.get(end)) {
        (Framing::Lines, Some(_)) => end + 1,
        (Framing::Array, Some(_)) => match solid(end) {
            None => text.len(),
            Some(gap) if text[end + gap] == b',' && solid(end + gap + 1).is_some() => end + gap + 1,
            Some(_) => end,
        },
        _ => end,
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A record's text without the white space of JSON around it.
pub(super) fn trim_space(record: &[u8]) -> &[u8] {
    let solid = |b: &u8| !is_space(*b);
    let from = record.iter().position(solid).unwrap_or(0);
    let to = record.iter().rposition(solid).map_or(0, |at| at + 1);
    record.get(from..to).unwrap_or_default()
}

/// Position after the container whose bracket is at `start`: as many brackets close as open, of
/// either kind, outside strings.
fn balanced_end(text: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut pos = start;
    loop {
        match text.get(pos)? {
            b'"' => {
                pos = string_end(text, pos)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return Some(pos + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        pos += 1;
    }
}

/// Position after the string whose quote is at `start`, whatever its content.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut pos = start + 1;
    loop {
        match text.get(pos)? {
            b'"' => return Some(pos + 1),
            b'\\' => pos += 2,
            _ => pos += 1,
        }
    }
}
