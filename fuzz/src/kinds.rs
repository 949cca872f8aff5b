// SPDX-License-Identifier: Apache-2.0
//! The kinds of values in lines: of all lines, of those that are not left, and of each line alone.

use arrowsmith_core::{Chunk, Framing};
use arrowsmith_json::infer::{InferOptions, Inferrer};
use arrowsmith_json::kinds::Kinds;

/// Larger texts could have more places than are kept.
const BYTES_MAX: usize = 1 << 16;

/// The kinds as text, and the positions of the lines that were left.
fn observed(text: &[u8]) -> (String, Vec<usize>) {
    let (mut kinds, mut at, mut left) = (Kinds::default(), 0, Vec::new());
    while at < text.len() {
        let read = kinds.observe(&text[at..]).expect("memory for the last line");
        assert!(read > 0);
        left.extend(kinds.left().iter().map(|line| at + line));
        at += read;
    }
    (kinds.to_string(), left)
}

/// Any lines: those that are left have no part in the kinds, and the others are JSON, which
/// inference reads with a grammar of its own.
pub fn json_kinds(data: &[u8]) {
    if data.len() > BYTES_MAX {
        return;
    }
    let (whole, left) = observed(data);
    let (mut at, mut good) = (0, Vec::new());
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        let is_left = left.binary_search(&at).is_ok();
        assert_eq!(!observed(line).1.is_empty(), is_left, "{}", line.escape_ascii());
        if !is_left {
            let mut inferrer = Inferrer::new(InferOptions::default());
            let read = inferrer.observe(&Chunk::new(line, Framing::Lines));
            assert!(read.is_ok(), "{read:?}: {}", line.escape_ascii());
            good.extend_from_slice(line);
        }
        at += line.len();
    }
    assert_eq!(observed(&good), (whole, Vec::new()), "{}", data.escape_ascii());
}
