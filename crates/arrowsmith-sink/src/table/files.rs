// SPDX-License-Identifier: Apache-2.0
//! The files that a sink adds to a table: where they are created, and their paths, sizes and
//! statistics, noted while they are written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::Result;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink, SinkSummary};

use super::statistics::Statistics;
use crate::folder::{FolderOptions, FolderSink, MakeSink};

/// The folder in which the files of a table are created, and the sinks for them.
pub struct FilesOf<'a> {
    /// The folder of the table.
    pub folder: Box<dyn Folder + 'a>,
    /// Whether rows are added to a table that another process creates meanwhile.
    pub append: bool,
    /// How rows are distributed over files.
    pub options: FolderOptions,
    /// Makes the sink of a file.
    pub make: MakeSink<'a>,
}

/// Checks the path of a file before it is created.
pub(crate) type CheckPath = Box<dyn Fn(&str) -> Result<()> + Send>;

impl<'a> FilesOf<'a> {
    /// A sink for files below a folder of the table, `prefix` with a `/` at its end, or empty, and
    /// what it has written.
    pub(crate) fn sink(
        self,
        schema: &SchemaRef,
        prefix: &'static str,
        check: CheckPath,
    ) -> Result<(Box<FolderSink<'a>>, Arc<Mutex<Added>>)> {
        let Self { folder, options, mut make, .. } = self;
        let added = Arc::new(Mutex::new(Added::default()));
        let folder = Noting { folder, prefix, check, added: Arc::clone(&added) };
        let noted = Arc::clone(&added);
        let make: MakeSink<'a> = Box::new(move |output, schema: &SchemaRef| {
            let path = std::mem::take(&mut lock(&noted).created);
            let (statistics, added) = (Statistics::new(schema), Arc::clone(&noted));
            Ok(Box::new(Counted { sink: make(output, schema)?, statistics, path, added }))
        });
        Ok((Box::new(FolderSink::new(Box::new(folder), schema, options, make)?), added))
    }
}

/// Files that have been written.
#[derive(Default)]
pub(crate) struct Added {
    /// The path of the file that has been created last.
    created: String,
    pub(crate) files: Vec<File>,
}

/// A file that has been written; its path is relative to the table.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) statistics: Statistics,
}

pub(crate) fn lock(added: &Mutex<Added>) -> MutexGuard<'_, Added> {
    added.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the paths of the files of a folder.
struct Noting<'a> {
    folder: Box<dyn Folder + 'a>,
    prefix: &'static str,
    check: CheckPath,
    added: Arc<Mutex<Added>>,
}

impl Folder for Noting<'_> {
    /// Files that no commit mentions may be there.
    fn is_shared(&self) -> bool {
        true
    }

    fn create(&mut self, name: &str) -> Result<Output> {
        (self.check)(name)?;
        let path = format!("{}{name}", self.prefix);
        let output = self.folder.create(&path)?;
        lock(&self.added).created = path;
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
struct Counted {
    sink: Box<dyn Sink>,
    statistics: Statistics,
    path: String,
    added: Arc<Mutex<Added>>,
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
        let Self { path, statistics, .. } = *self;
        lock(&self.added).files.push(File { path, bytes: summary.bytes, statistics });
        Ok(summary)
    }
}
