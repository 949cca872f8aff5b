// SPDX-License-Identifier: Apache-2.0
//! How much memory is in flight, and how large the next piece may be so that it stays within the
//! budget.
//!
//! The Arrow size of a piece is not known before it is decoded: `{}` a thousand times can be
//! columns of any width. So the growth from text to Arrow is learned from earlier pieces, and
//! pieces get smaller if it is large. A piece that still exceeds its share is passed on in parts.

/// Maximum pieces in flight per thread: more would only evict caches.
const PIECES_PER_THREAD: usize = 4;

/// Minimum bytes of a piece that is shortened to fit the budget.
const PIECE_BYTES_MIN: usize = 64 << 10;

/// Minimum share of a batch, in bytes: enough for any piece whose columns are no wider than its
/// text, while they grow.
const SHARE_BYTES_MIN: usize = 16 << 20;

/// How large pieces are, and how much may be in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Text of one piece, in bytes.
    pub(crate) piece_bytes: usize,
    /// Maximum bytes of everything in flight.
    pub(crate) memory_bytes: usize,
    pub(crate) threads: usize,
}

impl Budget {
    /// Bytes of columns after which a batch ends.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.share().max(SHARE_BYTES_MIN.min(self.memory_bytes))
    }

    fn share(&self) -> usize {
        self.memory_bytes / (self.threads + 2)
    }
}

/// What is in flight.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pieces: usize,
    bytes: usize,
    bytes_peak: usize,
    /// Recent Arrow bytes per 16 bytes of text.
    growth_16: usize,
}

impl Load {
    /// Bytes of text that the next piece should have.
    pub(crate) fn target(&self, budget: Budget) -> usize {
        let least = PIECE_BYTES_MIN.min(budget.piece_bytes);
        let target = budget.share().saturating_mul(16) / (16 + self.growth_16);
        target.clamp(least, budget.piece_bytes)
    }

    /// The same, if there is memory for the piece now; always for a single one.
    pub(crate) fn admit(&self, budget: Budget) -> Option<usize> {
        let target = self.target(budget);
        let bytes = self.bytes.saturating_add(self.grown(target));
        let fits = bytes <= budget.memory_bytes && self.pieces < budget.threads * PIECES_PER_THREAD;
        (fits || self.pieces == 0).then_some(target)
    }

    /// Whether there is memory for one more batch of this size.
    pub(crate) fn has_room(&self, budget: Budget, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= budget.memory_bytes
    }

    /// The bytes of text, and of its expected columns.
    pub(crate) fn grown(&self, text_bytes: usize) -> usize {
        text_bytes.saturating_mul(16 + self.growth_16) / 16
    }

    /// A piece begins, for which this many bytes are reserved.
    pub(crate) fn begin(&mut self, expected: usize) {
        self.pieces += 1;
        self.bytes += expected;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
    }

    /// It was decoded, and takes this many bytes.
    pub(crate) fn correct(&mut self, expected: usize, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(expected) + bytes;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
    }

    /// It, or a part of it, was returned to the consumer.
    pub(crate) fn finish(&mut self, bytes: usize, last: bool) {
        self.pieces = self.pieces.saturating_sub(usize::from(last));
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Learns from a piece, or from the part of it that filled a batch. Short pieces are ignored:
    /// they measure spare capacity rather than data.
    pub(crate) fn learn(&mut self, text_bytes: usize, output_bytes: usize, full: bool) {
        if full || text_bytes >= PIECE_BYTES_MIN / 2 {
            let seen = output_bytes.saturating_mul(16) / text_bytes.max(1);
            self.growth_16 = seen.max(self.growth_16 - self.growth_16 / 8);
        }
    }

    /// Maximum bytes that were in flight.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        self.bytes_peak
    }
}
