// SPDX-License-Identifier: Apache-2.0
//! The files that a sink adds to a table: their paths, sizes and statistics, noted while they are
//! written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};
use arrowsmith_source::partitions_of;

use super::statistics::Statistics;

/// Files that have been written.
#[derive(Default)]
pub(super) struct Added {
    /// The path of the file that has been created last.
    pub(super) created: String,
    pub(super) files: Vec<File>,
}

/// A file that has been written.
pub(super) struct File {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) statistics: String,
}

pub(super) fn lock(added: &Mutex<Added>) -> MutexGuard<'_, Added> {
    added.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the paths of the files of a folder.
pub(super) struct Noting<'a> {
    pub(super) folder: Box<dyn Folder + 'a>,
    pub(super) added: Arc<Mutex<Added>>,
}

impl Folder for Noting<'_> {
    /// Files that no commit mentions may be there.
    fn is_shared(&self) -> bool {
        true
    }

    fn create(&mut self, name: &str) -> Result<Output> {
        let empty = partitions_of(name.split('/'))
            .into_iter()
            .find(|(_, value)| value.as_ref().is_some_and(String::is_empty));
        if let Some((name, _)) = empty {
            let message = "is an empty text, which would be null as the partition of a Delta table";
            return Err(Error::schema(name, message));
        }
        let output = self.folder.create(name)?;
        name.clone_into(&mut lock(&self.added).created);
        Ok(output)
    }

    fn commit(&mut self) -> Result<()> {
        self.folder.commit()
    }

    fn cleanup(&self) -> Cleanup {
        self.folder.cleanup()
    }
}

/// A file of the table, with its statistics.
pub(super) struct Counted {
    pub(super) sink: Box<dyn Sink>,
    pub(super) statistics: Statistics,
    pub(super) path: String,
    pub(super) added: Arc<Mutex<Added>>,
}

impl Sink for Counted {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.statistics.add(batch);
        self.sink.write(batch)
    }

    fn bytes(&mut self) -> Result<u64> {
        self.sink.bytes()
    }

    fn held_bytes(&self) -> u64 {
        self.sink.held_bytes()
    }

    fn release(&mut self) -> Result<()> {
        self.sink.release()
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        let summary = self.sink.finish()?;
        let statistics = self.statistics.text();
        lock(&self.added).files.push(File { path: self.path, bytes: summary.bytes, statistics });
        Ok(summary)
    }
}
