// SPDX-License-Identifier: Apache-2.0
//! Where a record ends that is not JSON: by rule 20 of `docs/design/0002-json-semantics.md`, as the
//! decoders do it, so that the records after it are the same ones.

use arrowsmith_core::Framing;

/// The end of the record that starts at `start`, which is not JSON; not for lines.
pub(super) fn record_end(text: &[u8], framing: Framing, start: usize) -> usize {
    let end = match text.get(start) {
        None => None,
        Some(b',') if framing == Framing::Array => Some(start),
        Some(b'{' | b'[') => balanced_end(text, start),
        Some(b'"') => string_end(text, start),
        Some(_) => {
            let ends =
                |b: &u8| matches!(b, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"' | 0..=b' ');
            text[start + 1..].iter().position(ends).map(|at| start + 1 + at)
        }
    };
    end.unwrap_or(text.len()).min(text.len())
}

/// The end of the container whose bracket is at `start`: as many brackets close as open, of either
/// kind, outside strings.
fn balanced_end(text: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match text.get(at)? {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The end of the string whose quote is at `start`, whatever its content.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
