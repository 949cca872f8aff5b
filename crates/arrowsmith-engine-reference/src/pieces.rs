// SPDX-License-Identifier: Apache-2.0
//! Where records are in the text of a chunk, as far as that is known without decoding them.

use arrowsmith_core::{Framing, Position};

use crate::scan::Scan;

/// The chunk itself, or the stretches between the commas of an array; `None` when it is blank.
pub(crate) fn pieces<'a>(data: &'a [u8], found: &Scan, joined: bool) -> Vec<&'a [u8]> {
    if skip_space(data, 0) == data.len() {
        return Vec::new();
    }
    if !joined {
        return vec![data];
    }
    let mut pieces = Vec::with_capacity(found.commas.len() + 1);
    let mut start = 0;
    for &comma in &found.commas {
        pieces.push(&data[start..comma]);
        start = comma + 1;
    }
    pieces.push(&data[start..]);
    pieces
}

/// Offset of the first record of more than `most` bytes, without the white space around it.
/// Concatenated records have no bounds that can be found without decoding them.
pub(crate) fn too_long(
    data: &[u8],
    pieces: &[&[u8]],
    framing: Framing,
    most: usize,
) -> Option<usize> {
    if data.len() <= most || framing == Framing::Concatenated {
        return None;
    }
    let mut start = 0;
    for piece in pieces {
        let lines = framing == Framing::Lines;
        for record in piece.split(|&byte| lines && byte == b'\n') {
            if record.trim_ascii().len() > most {
                return Some(skip_space(data, start));
            }
            start += record.len() + 1;
        }
    }
    None
}

/// The offset of the first byte from `from` on that is not white space.
pub(crate) fn skip_space(data: &[u8], from: usize) -> usize {
    let rest = data.get(from..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    from + blank.count()
}

/// The number of line feeds.
pub(crate) fn newlines(data: &[u8]) -> u64 {
    data.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The position of `data[offset]`, `records` records after `start`.
pub(crate) fn advance(start: &Position, data: &[u8], offset: usize, records: u64) -> Position {
    Position {
        source: start.source.clone(),
        record: start.record + records,
        line: start.line + newlines(&data[..offset.min(data.len())]),
        offset: start.offset + offset as u64,
    }
}
