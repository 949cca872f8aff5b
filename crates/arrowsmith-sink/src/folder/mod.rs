// SPDX-License-Identifier: Apache-2.0
//! A folder of files as a sink: rows are distributed over folders `name=value` by the values of
//! columns, and over files by size. What a file contains is the business of the sink that is made
//! for it.
//!
//! [`Partitioner`](split::Partitioner) says which rows belong to which folder, [`FolderSink`] keeps
//! the files of several folders open in bounded memory, and [`Stage`](stage::Stage) makes all files
//! visible at the end, or none.

mod partition;
mod split;
mod stage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

pub use self::partition::Partition;
use self::split::{Partitioner, Share};
use self::stage::Stage;

/// Rows of a folder that are collected before they are written: a writer is slow with few.
const ROWS_MIN: usize = 8192;

/// Collected rows of all folders, in bytes, above which the largest are written.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// How a [`FolderSink`] distributes rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderOptions {
    /// One level of folders `name=value` each, outermost first. A column that is named without a
    /// function is in the names of folders only.
    pub partition_by: Vec<Partition>,
    /// Rows after which a file ends. Default: no limit.
    pub rows_per_file: Option<u64>,
    /// Bytes after which a file ends: at the end of the next batch, or of Parquet's row group.
    /// Default: no limit.
    pub bytes_per_file: Option<u64>,
    /// The extension of the files.
    pub extension: String,
    /// Add files to a folder that has some, under names that it does not have. Otherwise the folder
    /// has to be empty or new.
    pub append: bool,
    /// Maximum number of folders `name=value`. Default 10,000.
    pub partitions_max: usize,
    /// Maximum number of open files; the one that was written to longest ago is completed first.
    /// Default 256.
    pub open_files_max: usize,
    /// Arrow data in incomplete row groups of all open files, in bytes, above which the largest
    /// group ends. Default 512 MiB.
    pub held_bytes_max: u64,
    /// Sync files and folders to disk.
    pub fsync: bool,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            partition_by: Vec::new(),
            rows_per_file: None,
            bytes_per_file: None,
            extension: "parquet".to_owned(),
            append: false,
            partitions_max: 10_000,
            open_files_max: 256,
            held_bytes_max: 512 << 20,
            fsync: false,
        }
    }
}

impl FolderOptions {
    fn check(&self) -> Result<()> {
        let numbers = [
            ("rows per file", self.rows_per_file.unwrap_or(1)),
            ("bytes per file", self.bytes_per_file.unwrap_or(1)),
            ("partitions", self.partitions_max as u64),
            ("open files", self.open_files_max as u64),
        ];
        match numbers.iter().find(|(_, number)| *number == 0) {
            Some((what, _)) => Err(Error::Config(format!("{what}: at least 1"))),
            None => Ok(()),
        }
    }
}

/// Makes the sink of a file. The schema is that of the input without the columns that are in the
/// names of folders.
pub type MakeSink<'a> = Box<dyn FnMut(Output, &SchemaRef) -> Result<Box<dyn Sink>> + Send + 'a>;

/// Writes record batches to the files of a folder, which become visible together when it is
/// finished.
pub struct FolderSink<'a> {
    options: FolderOptions,
    make: MakeSink<'a>,
    stage: Stage,
    partitioner: Partitioner,
    folders: Vec<Folder>,
    /// By the number of the folder.
    open: BTreeMap<usize, OpenFile>,
    waiting_bytes: usize,
    /// Counts writes: to find the file that was written to longest ago.
    clock: u64,
    summary: SinkSummary,
}

/// The rows of one combination of partition values.
struct Folder {
    path: PathBuf,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    /// The number of files that it got.
    files: u32,
}

struct OpenFile {
    sink: Box<dyn Sink>,
    rows: u64,
    written_at: u64,
}

impl<'a> FolderSink<'a> {
    /// Starts the folder.
    ///
    /// # Errors
    /// [`Error::Io`] if `path` cannot be written, is a file, or is a folder with files without
    /// [`FolderOptions::append`]; [`Error::Schema`] for a partition by a column that does not exist
    /// or has an unsuitable type; [`Error::Config`] for a limit of 0.
    pub fn new(
        path: &Path,
        schema: &SchemaRef,
        options: FolderOptions,
        make: MakeSink<'a>,
    ) -> Result<Self> {
        options.check()?;
        let partitioner = Partitioner::new(schema, &options)?;
        let stage = Stage::new(path, &options)?;
        Ok(Self {
            options,
            make,
            stage,
            partitioner,
            folders: Vec::new(),
            open: BTreeMap::new(),
            waiting_bytes: 0,
            clock: 0,
            summary: SinkSummary::default(),
        })
    }

    /// The folder with the incomplete files: a signal handler that ends the process has to remove
    /// it.
    pub fn temporary_path(&self) -> &Path {
        self.stage.path()
    }

    fn push(&mut self, share: Share) -> Result<()> {
        let Share { folder: at, batch } = share;
        while self.folders.len() <= at {
            self.folders.push(Folder::new(self.partitioner.path(self.folders.len())));
        }
        let bytes = batch.get_array_memory_size();
        let folder = &mut self.folders[at];
        folder.waiting_rows += batch.num_rows();
        folder.waiting_bytes += bytes;
        folder.waiting.push(batch);
        self.waiting_bytes += bytes;
        if self.folders[at].waiting_rows >= ROWS_MIN { self.write_waiting(at) } else { Ok(()) }
    }

    /// Writes what has been collected for a folder.
    fn write_waiting(&mut self, at: usize) -> Result<()> {
        let folder = &mut self.folders[at];
        let batches = std::mem::take(&mut folder.waiting);
        folder.waiting_rows = 0;
        self.waiting_bytes -= std::mem::take(&mut folder.waiting_bytes);
        let batch = match batches.as_slice() {
            [] => return Ok(()),
            [batch] => batch.clone(),
            batches => concat_batches(self.partitioner.schema(), batches)?,
        };
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = self.room(at).min(batch.num_rows() - start);
            let file = self.file(at)?;
            file.sink.write(&batch.slice(start, rows))?;
            file.rows += rows as u64;
            start += rows;
            self.end_if_full(at)?;
        }
        self.limit_held()
    }

    /// Rows that the folder's file may still get.
    fn room(&self, at: usize) -> usize {
        let rows = self.open.get(&at).map_or(0, |file| file.rows);
        let room = self.options.rows_per_file.map(|limit| limit - rows);
        room.map_or(usize::MAX, |room| usize::try_from(room).unwrap_or(usize::MAX))
    }

    /// The folder's open file.
    fn file(&mut self, at: usize) -> Result<&mut OpenFile> {
        self.clock += 1;
        if !self.open.contains_key(&at) && self.open.len() >= self.options.open_files_max {
            let oldest = self.open.iter().min_by_key(|(_, file)| file.written_at);
            if let Some((oldest, _)) = oldest {
                self.end_file(*oldest)?;
            }
        }
        let file = match self.open.entry(at) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(place) => {
                let folder = &mut self.folders[at];
                let output = self.stage.create(&folder.path, folder.files)?;
                folder.files += 1;
                let sink = (self.make)(output, self.partitioner.schema())?;
                place.insert(OpenFile { sink, rows: 0, written_at: 0 })
            }
        };
        file.written_at = self.clock;
        Ok(file)
    }

    fn end_if_full(&mut self, at: usize) -> Result<()> {
        let Some(file) = self.open.get_mut(&at) else { return Ok(()) };
        let is_full = self.options.rows_per_file.is_some_and(|limit| file.rows >= limit);
        let is_large = match self.options.bytes_per_file {
            Some(limit) => file.sink.bytes()? >= limit,
            None => false,
        };
        if is_full || is_large { self.end_file(at) } else { Ok(()) }
    }

    fn end_file(&mut self, at: usize) -> Result<()> {
        if let Some(file) = self.open.remove(&at) {
            self.summary.bytes += file.sink.finish()?.bytes;
        }
        Ok(())
    }

    /// Ends row groups until those of all files are small enough together.
    fn limit_held(&mut self) -> Result<()> {
        loop {
            let held = self.open.values().map(|file| file.sink.held_bytes());
            if held.sum::<u64>() <= self.options.held_bytes_max {
                return Ok(());
            }
            let largest = self.open.values_mut().max_by_key(|file| file.sink.held_bytes());
            largest.map_or(Ok(()), |file| file.sink.release())?;
        }
    }

    /// Writes the largest collections of rows until half of the space is free.
    fn limit_waiting(&mut self) -> Result<()> {
        if self.waiting_bytes <= WAITING_BYTES_MAX {
            return Ok(());
        }
        let waiting = |folder: &Folder| folder.waiting_bytes;
        let mut order: Vec<usize> = (0..self.folders.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(waiting(&self.folders[*at])));
        for at in order {
            if self.waiting_bytes <= WAITING_BYTES_MAX / 2 {
                break;
            }
            self.write_waiting(at)?;
        }
        Ok(())
    }
}

impl Sink for FolderSink<'_> {
    fn bytes(&mut self) -> Result<u64> {
        let open: Result<u64> = self.open.values_mut().map(|file| file.sink.bytes()).sum();
        Ok(self.summary.bytes + open?)
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for share in self.partitioner.split(batch)? {
            self.push(share)?;
        }
        self.summary.count(batch);
        self.limit_waiting()
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        if self.folders.is_empty() && self.options.partition_by.is_empty() {
            // A file without rows still has the schema.
            self.folders.push(Folder::new(PathBuf::new()));
            self.file(0)?;
        }
        for at in 0..self.folders.len() {
            self.write_waiting(at)?;
            self.end_file(at)?;
        }
        self.stage.commit()?;
        Ok(self.summary)
    }
}

impl Folder {
    fn new(path: PathBuf) -> Self {
        Self { path, waiting: Vec::new(), waiting_rows: 0, waiting_bytes: 0, files: 0 }
    }
}
