// SPDX-License-Identifier: Apache-2.0
//! The schedule of a connection's chunks.
//!
//! The schedule is fixed at the start: a late connection sends immediately until it has caught up,
//! and latency counts from the due time, so that a stalled receiver cannot hide it (no coordinated
//! omission).

use std::time::{Duration, Instant};

use crate::{Chunk, Rate};

/// Minimum chunks per second of a connection with a rate: fine enough for latencies over a second,
/// coarse enough for the timer.
const CHUNKS_PER_SECOND: f64 = 200.0;

/// A connection's schedule.
pub(crate) struct Pace {
    start: Instant,
    /// Its share of the rate.
    rate: Option<Rate>,
    /// Seconds from `start` at which the next chunk is due.
    due_s: f64,
}

impl Pace {
    /// The share of connection `index` of `connections`; their starts are spread over the time of
    /// one chunk.
    pub(crate) fn new(rate: Option<Rate>, index: usize, connections: usize) -> Self {
        let count = connections.max(1);
        #[expect(clippy::cast_precision_loss, reason = "numbers of connections are small")]
        let (share, part) = (1.0 / count as f64, index as f64 / count as f64);
        let rate = rate.map(|rate| match rate {
            Rate::BytesPerSecond(all) => Rate::BytesPerSecond(all * share),
            Rate::RecordsPerSecond(all) => Rate::RecordsPerSecond(all * share),
        });
        Self { start: Instant::now(), rate, due_s: part / CHUNKS_PER_SECOND }
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Bytes per chunk that allow an even rate.
    pub(crate) fn chunk_bytes(&self, most: usize) -> usize {
        let bytes = match self.rate {
            Some(Rate::BytesPerSecond(rate)) => rate / CHUNKS_PER_SECOND,
            // A record of most workloads is larger than this: one at a time at low rates.
            Some(Rate::RecordsPerSecond(rate)) => rate / CHUNKS_PER_SECOND * 64.0,
            None => return most.max(1),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 1 ..= most, and `as` saturates"
        )]
        let bytes = bytes.max(1.0) as usize;
        bytes.clamp(1, most.max(1))
    }

    /// When a chunk is due. Advances the schedule by the duration of this chunk at the rate.
    pub(crate) fn due(&mut self, chunk: &Chunk) -> Instant {
        let Some(rate) = self.rate else { return Instant::now() };
        let due = Duration::try_from_secs_f64(self.due_s)
            .ok()
            .and_then(|from_start| self.start.checked_add(from_start))
            .unwrap_or_else(Instant::now);
        #[expect(clippy::cast_precision_loss, reason = "sizes of one chunk are small")]
        let seconds = match rate {
            Rate::BytesPerSecond(rate) => chunk.text.len() as f64 / rate,
            Rate::RecordsPerSecond(rate) => chunk.records as f64 / rate,
        };
        self.due_s += seconds;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_due_as_the_rate_says() {
        let chunk = Chunk { text: vec![b'\n'; 1000].into(), records: 10 };
        for rate in [Rate::BytesPerSecond(2e4), Rate::RecordsPerSecond(200.0)] {
            // Half of the rate each: 1000 bytes or 10 records take 0.1 s.
            let mut pace = Pace::new(Some(rate), 1, 2);
            let first = pace.due(&chunk);
            (0..9).for_each(|_| assert!(pace.due(&chunk) > first));
            let apart = pace.due(&chunk) - first;
            assert!((apart.as_secs_f64() - 1.0).abs() < 1e-6, "{apart:?}");
        }
        assert_eq!(Pace::new(Some(Rate::BytesPerSecond(2e4)), 0, 1).chunk_bytes(1 << 20), 100);
        assert_eq!(Pace::new(Some(Rate::RecordsPerSecond(1.0)), 0, 1).chunk_bytes(1 << 20), 1);
        assert_eq!(Pace::new(None, 0, 1).chunk_bytes(77), 77);
    }
}
