// SPDX-License-Identifier: Apache-2.0
//! [`Source`]: the records, generated on demand, or generated beforehand and sent repeatedly.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use arrowsmith_workload::{Generator, Layout, VALUES_MAX_DEFAULT, Workload};
use bytes::Bytes;

use crate::Amount;
use crate::pace::Pace;

/// A chunk of whole records.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The records, each with a line feed.
    pub text: Bytes,
    /// Number of records.
    pub records: u64,
}

/// The source of records.
#[derive(Debug, Clone)]
pub enum Source {
    /// Generated on demand: connection `i` sends the output of `Generator::new(workload, seed + i,
    /// …)`.
    Generated {
        /// Kind of records.
        workload: Workload,
        /// Seed of the first connection.
        seed: u64,
        /// Maximum number of values in an array of `battery`.
        values_max: u32,
        /// White space.
        layout: Layout,
    },
    /// The same chunks repeatedly on every connection, which costs the sender almost nothing.
    Repeated(Arc<[Chunk]>),
}

impl Source {
    /// A workload with seed 0 and its defaults.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        let layout = Layout::default();
        Self::Generated { workload, seed: 0, values_max: VALUES_MAX_DEFAULT, layout }
    }

    /// Generates about `bytes` of a source's first connection now, in chunks of `chunk_bytes`, to
    /// be sent repeatedly.
    #[must_use]
    pub fn repeated(&self, bytes: u64, chunk_bytes: usize) -> Self {
        let pace = Pace::new(None, 0, 1);
        let mut feed = Feed::new(self, 0, Amount::Bytes(bytes), chunk_bytes, pace);
        let chunks: Arc<[Chunk]> = std::iter::from_fn(|| feed.make()).collect();
        Self::Repeated(chunks)
    }
}

/// A chunk to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) chunk: Chunk,
    /// When it is due.
    pub(crate) due: Instant,
    /// Whether it was sent before.
    pub(crate) again: bool,
}

/// The chunks of one connection, with the time at which each is due.
pub(crate) struct Feed {
    maker: Maker,
    amount: Amount,
    pace: Pace,
    chunk_bytes: usize,
    records: u64,
    bytes: u64,
    /// Chunks that were returned because they have to be sent again; they go first.
    returned: VecDeque<Item>,
}

enum Maker {
    Generated(Box<Generator>),
    Repeated(Arc<[Chunk]>, usize),
}

impl Feed {
    /// `amount` is the share of this connection, whose seed is that of the source plus `index`.
    pub(crate) fn new(
        source: &Source,
        index: u64,
        amount: Amount,
        chunk_bytes: usize,
        pace: Pace,
    ) -> Self {
        let maker = match source {
            Source::Generated { workload, seed, values_max, layout } => {
                let seed = seed.wrapping_add(index);
                let generator = Generator::new(*workload, seed, *values_max);
                Maker::Generated(Box::new(generator.with_layout(*layout)))
            }
            Source::Repeated(chunks) => Maker::Repeated(Arc::clone(chunks), 0),
        };
        let chunk_bytes = pace.chunk_bytes(chunk_bytes);
        Self { maker, amount, pace, chunk_bytes, records: 0, bytes: 0, returned: VecDeque::new() }
    }

    /// The next records, or `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Item> {
        if let Some(item) = self.returned.pop_front() {
            return Some(item);
        }
        let chunk = self.make()?;
        let due = self.pace.due(&chunk);
        Some(Item { chunk, due, again: false })
    }

    fn make(&mut self) -> Option<Chunk> {
        let (bytes_left, records_left) = match self.amount {
            Amount::Records(records) => (u64::MAX, records.saturating_sub(self.records)),
            Amount::Bytes(bytes) => (bytes.saturating_sub(self.bytes), u64::MAX),
            Amount::Time(time) if self.pace.elapsed() >= time => return None,
            Amount::Time(_) => (u64::MAX, u64::MAX),
        };
        if bytes_left == 0 || records_left == 0 {
            return None;
        }
        let chunk = match &mut self.maker {
            Maker::Generated(generator) => {
                let wanted =
                    usize::try_from(bytes_left).unwrap_or(usize::MAX).min(self.chunk_bytes);
                generate(generator, wanted, records_left)
            }
            Maker::Repeated(chunks, at) => {
                let chunk = chunks.get(*at % chunks.len().max(1))?;
                *at += 1;
                head(chunk, records_left)
            }
        };
        self.records += chunk.records;
        self.bytes += chunk.text.len() as u64;
        Some(chunk)
    }

    /// Returns chunks to the feed, to be sent again in their order, before all others.
    pub(crate) fn give_back(&mut self, items: impl DoubleEndedIterator<Item = Item>) {
        for item in items.rev() {
            self.returned.push_front(Item { again: true, ..item });
        }
    }
}

fn generate(generator: &mut Generator, bytes: usize, records_max: u64) -> Chunk {
    let mut text = Vec::with_capacity(bytes + bytes / 8);
    let mut records = 0;
    while text.len() < bytes && records < records_max {
        generator.next_record(&mut text);
        records += 1;
    }
    Chunk { text: text.into(), records }
}

/// The first records of a chunk.
fn head(chunk: &Chunk, records_max: u64) -> Chunk {
    if chunk.records <= records_max {
        return chunk.clone();
    }
    let mut ends = chunk.text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let skip = usize::try_from(records_max).unwrap_or(usize::MAX).saturating_sub(1);
    let end = ends.nth(skip).map_or(chunk.text.len(), |(at, _)| at + 1);
    Chunk { text: chunk.text.slice(..end), records: records_max }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(source: &Source, index: u64, amount: Amount, chunk_bytes: usize) -> Feed {
        Feed::new(source, index, amount, chunk_bytes, Pace::new(None, 0, 1))
    }

    fn all(feed: &mut Feed) -> (Vec<u8>, u64) {
        let (mut text, mut records) = (Vec::new(), 0);
        while let Some(Item { chunk, .. }) = feed.next() {
            assert!(chunk.records > 0 && chunk.text.ends_with(b"\n"));
            text.extend_from_slice(&chunk.text);
            records += chunk.records;
        }
        (text, records)
    }

    #[test]
    fn a_feed_is_what_the_generator_makes() {
        let source = Source::new(Workload::Trip);
        let (text, records) = all(&mut feed(&source, 3, Amount::Records(1000), 700));
        let mut expected = Vec::new();
        let mut generator = Generator::new(Workload::Trip, 3, VALUES_MAX_DEFAULT);
        (0..1000).for_each(|_| generator.next_record(&mut expected));
        assert_eq!((text, records), (expected, 1000));
        let (text, _) = all(&mut feed(&source, 0, Amount::Bytes(10_000), 3000));
        assert!((10_000..10_500).contains(&text.len()));
    }

    #[test]
    fn a_repeated_source_ends_at_the_requested_record() {
        let source = Source::new(Workload::Battery).repeated(5_000, 1_000);
        let (text, records) = all(&mut feed(&source, 9, Amount::Records(777), 10));
        assert_eq!(records, 777);
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 777);
        assert!(feed(&Source::Repeated([].into()), 0, Amount::Records(1), 1).next().is_none());
    }

    #[test]
    fn what_comes_back_goes_first_and_in_order() {
        let source = Source::new(Workload::Trip);
        let (expected, _) = all(&mut feed(&source, 0, Amount::Records(50), 500));
        let mut feed = feed(&source, 0, Amount::Records(50), 500);
        let first: Vec<Item> = (0..3).filter_map(|_| feed.next()).collect();
        feed.give_back(first.into_iter());
        assert_eq!(all(&mut feed).0, expected);
    }
}
