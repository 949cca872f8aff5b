// SPDX-License-Identifier: Apache-2.0
//! Records that are nothing but one array of integers, 4 KiB at a time.
//!
//! In `{"voltage":[12,7]}\n{"voltage":[3]}\n` everything from one array's `]` to the next one's `[`
//! is the same text in every record: the *literal*. With a known literal, a block of text is valid
//! if and only if
//! 1. every comma and every `[` is followed by a digit, and every comma follows a digit,
//! 2. no number has a leading zero or too many digits,
//! 3. every `[` ends the literal, with a digit before its `]`, and
//! 4. all other bytes are digits and commas.
//!
//! All four are checked with bit masks of the whole block, so that validation is cheap. The kernel
//! makes three passes over a block: masks; numbers; records. It stops before the first block that
//! is not valid, and the caller continues record by record.

/// Bytes in a block.
pub const BLOCK_BYTES: usize = 4096;

/// Maximum length of the literal.
pub const LITERAL_BYTES_MAX: usize = 64;

/// The part of the text that is the same in every record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStream {
    /// The literal at the end of the array: byte 63 is the `[`.
    pub(crate) literal: [u8; 64],
    /// Its length, in bytes.
    pub(crate) len: usize,
    /// Whether the kernel has to stop at values above `i64::MAX`.
    pub(crate) signed: bool,
}

impl ListStream {
    /// A stream with this literal, which runs from a record's `]` to the next one's `[`. `None` if
    /// the literal is too long, or contains a byte that could be part of a number or an array.
    pub fn new(literal: &[u8], signed: bool) -> Option<Self> {
        let len = literal.len();
        let (first, last) = (literal.first()?, literal.last()?);
        let plain = |b: &u8| !b.is_ascii_digit() && *b != b',' && *b != b'[';
        let fits = len <= LITERAL_BYTES_MAX && *first == b']' && *last == b'[';
        if !fits || !literal[..len - 1].iter().all(plain) {
            return None;
        }
        let mut padded = [0; 64];
        padded[64 - len..].copy_from_slice(literal);
        Some(Self { literal: padded, len, signed })
    }
}

/// The result of a stream kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamProgress {
    /// Number of completed records, and of offsets appended.
    pub records: usize,
    /// The position after the `[` of the first record not completed.
    pub pos: usize,
    /// Trying again before this position would fail again.
    pub tried: usize,
}

impl StreamProgress {
    /// The result for no record.
    pub fn none(pos: usize) -> Self {
        Self { records: 0, pos, tried: usize::MAX }
    }
}
