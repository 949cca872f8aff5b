// SPDX-License-Identifier: Apache-2.0
//! Columns of a condition, one window of rows at a time: a column that returns fewer rows than
//! requested, because they are too large, makes the window shorter for all.

use arrow_array::{Array, ArrayRef};
use arrowsmith_core::Result;
use arrowsmith_parquet::Held;

use super::field::{Stream, bytes_held};

/// Streams that are read together.
pub(crate) struct Windows {
    streams: Vec<(Stream, Option<ArrayRef>)>,
    bytes_max: usize,
    /// The arrays' share of all portions' memory.
    held: Held,
}

impl Windows {
    /// Windows of about `bytes_max` bytes at most, which are accounted in `held`.
    pub(crate) fn new(streams: Vec<Stream>, bytes_max: usize, held: Held) -> Self {
        let bytes_max = bytes_max / streams.len().max(1);
        let streams = streams.into_iter().map(|stream| (stream, None)).collect();
        Self { streams, bytes_max, held }
    }

    /// The next `rows` rows of all, or fewer.
    pub(crate) fn next(&mut self, rows: usize) -> Result<(Vec<ArrayRef>, usize)> {
        let (mut count, mut bytes) = (rows, 0);
        for (stream, pending) in &mut self.streams {
            let found = match pending.take() {
                Some(array) => array,
                None => stream.next(count, self.bytes_max)?,
            };
            count = count.min(found.len());
            bytes += bytes_held(&found);
            self.held.set(bytes);
            *pending = Some(found);
        }
        let mut columns = Vec::with_capacity(self.streams.len());
        for (_, pending) in &mut self.streams {
            let Some(array) = pending.take() else { continue };
            columns.push(array.slice(0, count));
            if count < array.len() {
                *pending = Some(array.slice(count, array.len() - count));
            }
        }
        Ok((columns, count))
    }
}
