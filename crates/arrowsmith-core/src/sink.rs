// SPDX-License-Identifier: Apache-2.0
//! The sink trait, the last of source → plan → engine → batch → sink, and the file that sinks
//! write.
//!
//! A [`Sink`] takes record batches in order and writes all of them, or says why not. It knows
//! nothing of engines, never reorders, and never leaves half a file under the name that was asked
//! for: [`Output`] sees to that for every sink alike. Nothing here knows a format.

use arrow_array::RecordBatch;

use crate::Result;

mod output;

pub use output::{Output, sync_folder};

/// Takes record batches and writes them.
pub trait Sink: Send {
    /// Writes one batch after those before it. All batches have the schema that the sink was made
    /// with.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) names the file; other kinds say what the format cannot hold.
    /// After an error the sink is only good for dropping, which removes what it wrote.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is left, and puts the file under its name. A sink that is dropped without this
    /// call leaves no file.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn finish(self: Box<Self>) -> Result<SinkSummary>;
}

/// What a sink has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SinkSummary {
    /// Rows in all batches.
    pub rows: u64,
    /// Batches that were given to the sink.
    pub batches: u64,
    /// Bytes of the file or stream, metadata and footer included.
    pub bytes: u64,
}

impl SinkSummary {
    /// Counts one more batch.
    pub fn count(&mut self, batch: &RecordBatch) {
        self.batches += 1;
        self.rows += batch.num_rows() as u64;
    }
}
