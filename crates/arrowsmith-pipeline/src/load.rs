// SPDX-License-Identifier: Apache-2.0
//! How much memory is in flight, and how large the next piece may be so that it stays within the budget.
//!
//! What a piece becomes is not known before it is decoded: `{}` a thousand times over can be columns of
//! any width. So the growth from text to Arrow is learned from the pieces before, and pieces get smaller
//! where it is large. A piece that becomes more than its share all the same is handed on in parts.

/// Pieces in flight for each thread, at most: more would only make memory cold.
const PIECES_PER_THREAD: usize = 4;

/// Smallest piece that the budget makes of a larger one, in bytes.
const PIECE_BYTES_MIN: usize = 64 << 10;

/// Smallest share of a batch, in bytes: what any piece becomes whose columns are no wider than its text
/// says, while they grow.
const SHARE_BYTES_MIN: usize = 16 << 20;

/// How large pieces are, and how much may be in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Text of one piece, in bytes.
    pub(crate) piece_bytes: usize,
    /// Of everything in flight, in bytes.
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
    /// Arrow bytes that came out for every 16 bytes of text, lately.
    growth_16: usize,
}

impl Load {
    /// Bytes of text that the next piece should have.
    pub(crate) fn target(&self, budget: Budget) -> usize {
        let least = PIECE_BYTES_MIN.min(budget.piece_bytes);
        let target = budget.share().saturating_mul(16) / (16 + self.growth_16);
        target.clamp(least, budget.piece_bytes)
    }

    /// The same, if there is room for the piece now. There always is for a single one.
    pub(crate) fn admit(&self, budget: Budget) -> Option<usize> {
        let target = self.target(budget);
        let bytes = self.bytes.saturating_add(self.grown(target));
        let fits = bytes <= budget.memory_bytes && self.pieces < budget.threads * PIECES_PER_THREAD;
        (fits || self.pieces == 0).then_some(target)
    }

    /// Whether there is room for one more batch of the size of this one.
    pub(crate) fn has_room(&self, budget: Budget, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= budget.memory_bytes
    }

    /// Text, and what it will probably become.
    pub(crate) fn grown(&self, text_bytes: usize) -> usize {
        text_bytes.saturating_mul(16 + self.growth_16) / 16
    }

    /// A piece is on its way, for which this many bytes are set aside.
    pub(crate) fn begin(&mut self, expected: usize) {
        self.pieces += 1;
        self.bytes += expected;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
    }

    /// It was decoded: this is what it really holds.
    pub(crate) fn correct(&mut self, expected: usize, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(expected) + bytes;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
    }

    /// It, or the last part of it, was handed to the consumer.
    pub(crate) fn finish(&mut self, bytes: usize, last: bool) {
        self.pieces = self.pieces.saturating_sub(usize::from(last));
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Learns from a piece, or from the part of it that filled a batch. What is too short says more about
    /// spare capacity than about the data.
    pub(crate) fn learn(&mut self, text_bytes: usize, output_bytes: usize, full: bool) {
        if full || text_bytes >= PIECE_BYTES_MIN / 2 {
            let seen = output_bytes.saturating_mul(16) / text_bytes.max(1);
            self.growth_16 = seen.max(self.growth_16 - self.growth_16 / 8);
        }
    }

    /// Largest number of bytes that was ever in flight.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        self.bytes_peak
    }
}
