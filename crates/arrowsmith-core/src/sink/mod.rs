// SPDX-License-Identifier: Apache-2.0
//! The sink trait, the last of source → plan → engine → batch → sink, and the file that sinks
//! write.
//!
//! A [`Sink`] writes record batches in order, or returns an error. It knows nothing of engines,
//! never reorders, and never leaves a partial file under the requested name: [`Output`] ensures
//! that for all sinks. Nothing here depends on a format.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::Result;

mod commit;
mod output;

pub use commit::CommitLock;
pub use output::{Output, Upload, sync_folder};

/// Writes record batches.
pub trait Sink: Send {
    /// Writes the next batch. All batches have the schema that the sink was created with, or that
    /// of the last [`Sink::widen`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) names the file; other kinds describe what the format cannot
    /// represent. After an error the sink can only be dropped, which removes its file.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Bytes of the file so far, by which its size can be limited: the same for the same batches,
    /// whatever the number of threads.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn bytes(&mut self) -> Result<u64>;

    /// Arrow data that is held in memory until more of it can be written, in bytes.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Writes what is held: a format that writes groups of rows ends one.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn release(&mut self) -> Result<()> {
        Ok(())
    }

    /// Goes on with a wider schema: it has all columns so far, in any order, and others that are
    /// nullable, and null in the rows so far. A column that has had nulls only may have another
    /// type. The result is that of a sink that was created with it. Returns whether the sink goes
    /// on; if not, nothing has changed.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn widen(&mut self, _schema: &SchemaRef) -> Result<bool> {
        Ok(false)
    }

    /// Writes what is left, and gives the file its name. A sink that is dropped without this call
    /// leaves no file.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn finish(self: Box<Self>) -> Result<SinkSummary>;
}

/// A place for files that become visible together.
pub trait Folder: Send {
    /// Whether there may be other files, so that new ones need names of their own.
    fn is_shared(&self) -> bool;

    /// Creates a file that stays hidden until [`Folder::commit`]. `name` is its path below the
    /// folder, with `/` between names.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) names the file.
    fn create(&mut self, name: &str) -> Result<Output>;

    /// Makes all files visible, whose outputs have been committed before. A folder that is dropped
    /// without this call leaves nothing.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io), and [`Error::Cancelled`](crate::Error::Cancelled) after a
    /// [`Cleanup`]; then none is visible, as far as that can be undone.
    fn commit(&mut self) -> Result<()>;

    /// What to call before the process ends without dropping the folder.
    fn cleanup(&self) -> Cleanup;
}

/// Removes what is temporary of a sink, and undoes a commit that has not ended: for a signal
/// handler that ends the process. Does nothing if the sink is finished.
pub type Cleanup = Box<dyn FnOnce() + Send>;

/// The totals of a sink.
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
