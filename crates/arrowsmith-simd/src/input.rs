// SPDX-License-Identifier: Apache-2.0
//! A text with readable padding, so that a vector load at any position inside it is in bounds.
//!
//! Memory safety does not depend on the content of the padding. A caller that reads a value at the
//! end of the text must not let the padding determine the value.

use arrowsmith_core::PADDING_BYTES;

static ZEROS: [u8; 64] = [0; 64];

/// A text of `end` bytes followed by at least [`PADDING_BYTES`] readable ones.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    bytes: &'a [u8],
    end: usize,
}

impl<'a> Input<'a> {
    /// The text `bytes[..end]`; `None` if the padding is missing.
    #[inline]
    pub fn new(bytes: &'a [u8], end: usize) -> Option<Self> {
        let needed = end.checked_add(PADDING_BYTES)?;
        (bytes.len() >= needed).then(|| Self { bytes: &bytes[..needed], end })
    }

    /// Length of the text, in bytes.
    #[inline(always)]
    pub fn end(self) -> usize {
        self.end
    }

    /// The text, without padding.
    #[inline]
    pub fn text(self) -> &'a [u8] {
        &self.bytes[..self.end]
    }

    /// The bytes in `from..to`, limited to the bytes available.
    #[inline]
    pub fn slice(self, from: usize, to: usize) -> &'a [u8] {
        let to = to.min(self.bytes.len());
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The byte at `pos`; 0 beyond the padding.
    #[inline(always)]
    pub fn at(self, pos: usize) -> u8 {
        self.bytes.get(pos).copied().unwrap_or(0)
    }

    /// The 64 bytes from `pos` on; zeros if they reach beyond the padding.
    #[inline(always)]
    pub fn window(self, pos: usize) -> &'a [u8; 64] {
        // `new` has made the text at least PADDING_BYTES long, so that this cannot wrap around.
        if pos > self.bytes.len() - 64 {
            return &ZEROS;
        }
        // SAFETY: 64 bytes from `pos` on are inside, as was just checked.
        unsafe { &*self.bytes.as_ptr().add(pos).cast() }
    }

    /// The eight bytes from `pos` on, the first in the low byte.
    #[inline(always)]
    pub fn word(self, pos: usize) -> u64 {
        if pos > self.bytes.len() - 8 {
            return 0;
        }
        // SAFETY: eight bytes from `pos` on are inside, as was just checked.
        u64::from_le_bytes(unsafe { *self.bytes.as_ptr().add(pos).cast() })
    }

    /// Everything from `pos` on, padding included: for kernels that find their own end.
    #[inline(always)]
    pub fn from(self, pos: usize) -> &'a [u8] {
        self.bytes.get(pos..).unwrap_or_default()
    }
}
