// SPDX-License-Identifier: Apache-2.0
//! Records that are nothing but one array of integers, 4 KiB at a time.
//!
//! In `{"voltage":[12,7]}\n{"voltage":[3]}\n` everything from one array's `]` to the next one's `[`
//! is the same text in every record: the *literal*. Given that, a block of text is in order exactly
//! when
//! 1. every comma, and every `[`, is followed by a digit, and every comma follows a digit,
//! 2. no number has a leading zero or too many digits,
//! 3. before every `[` stands the literal, with a digit before its `]`, and
//! 4. there are no other bytes than digits, commas, and as many as the literals have.
//!
//! All four are questions about bit masks of the whole block, so that a validating reader pays
//! little. The kernel works in three passes over a block: masks; numbers; records. It stops in
//! front of the first block that is not in order, and the caller goes on record by record.

/// Bytes in a block.
pub const BLOCK_BYTES: usize = 4096;

/// Longest literal.
pub const LITERAL_BYTES_MAX: usize = 64;

/// What is the same in every record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStream {
    /// The literal at the end of the array: byte 63 is the `[`.
    pub(crate) literal: [u8; 64],
    /// Its length, in bytes.
    pub(crate) len: usize,
    /// Whether values above `i64::MAX` have to stop the kernel.
    pub(crate) signed: bool,
}

impl ListStream {
    /// A stream with this literal, which runs from a record's `]` to the next one's `[`. `None`
    /// when the literal is too long, or holds a byte that would be taken for one of a number or an
    /// array.
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

/// How far a stream kernel came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamProgress {
    /// Records that were completed: as many offsets were appended.
    pub records: usize,
    /// The position after the `[` of the first record that was not.
    pub pos: usize,
    /// Up to here it makes no sense to try again.
    pub tried: usize,
}

impl StreamProgress {
    /// No record.
    pub fn none(pos: usize) -> Self {
        Self { records: 0, pos, tried: usize::MAX }
    }
}
