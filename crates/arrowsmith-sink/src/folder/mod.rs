// SPDX-License-Identifier: Apache-2.0
//! A folder of files as a sink: rows are distributed over folders `name=value` by the values of
//! columns, and over files by size. What a file contains is the business of the sink that is made
//! for it.
//!
//! [`Partitioner`] says which rows belong to which folder, [`FolderSink`] keeps the files of
//! several folders open in bounded memory, and a [`Folder`] makes all files visible at the end, or
//! none.

mod local;
mod partition;
mod split;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrowsmith_core::sink::{Folder, Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

pub use self::local::LocalFolder;
pub use self::partition::Partition;
pub use self::split::Partitioner;
use self::split::Share;

/// Rows of a folder that are collected before they are written: a writer is slow with few.
const ROWS_MIN: usize = 8192;

/// Collected rows of all folders, in bytes, above which the largest are written.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// How a [`FolderSink`] distributes rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderOptions {
    /// One level of folders `name=value` each, outermost first. A column that is named without a
    /// function is in the names of folders only, unless `keeps_columns` is set.
    pub partition_by: Vec<Partition>,
    /// Whether such a column is in the files, too. Default: no.
    pub keeps_columns: bool,
    /// Rows after which a file ends. Default: no limit.
    pub rows_per_file: Option<u64>,
    /// Bytes after which a file ends: at the end of the next batch, or of Parquet's row group.
    /// Default: no limit.
    pub bytes_per_file: Option<u64>,
    /// The extension of the files.
    pub extension: String,
    /// What the files are called without it: the first of a folder so, the next with `-1` after it,
    /// and so on; for names that are the same each time. Default: `part-` and a number, and
    /// between them what no other writer of the folder has.
    pub stem: Option<String>,
    /// Maximum number of folders `name=value`. Default 10,000.
    pub partitions_max: usize,
    /// Maximum number of open files; the one that was written to longest ago is completed first.
    /// Default 256.
    pub open_files_max: usize,
    /// Arrow data in incomplete row groups of all open files, in bytes, above which the largest
    /// group ends. Default 512 MiB.
    pub held_bytes_max: u64,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            partition_by: Vec::new(),
            keeps_columns: false,
            rows_per_file: None,
            bytes_per_file: None,
            extension: "parquet".to_owned(),
            stem: None,
            partitions_max: 10_000,
            open_files_max: 256,
            held_bytes_max: 512 << 20,
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
    folder: Box<dyn Folder + 'a>,
    /// Between `part-` and the number of a file: of this sink alone, if there may be other files.
    infix: Option<String>,
    partitioner: Partitioner,
    parts: Vec<Part>,
    /// By the number of the folder.
    open: BTreeMap<usize, OpenFile>,
    waiting_bytes: usize,
    /// Counts writes: to find the file that was written to longest ago.
    clock: u64,
    summary: SinkSummary,
}

/// The rows of one combination of partition values.
struct Part {
    /// The path of its folder, with a `/` at its end, or empty.
    path: String,
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
    /// Starts to write into a folder.
    ///
    /// # Errors
    /// [`Error::Schema`] for a partition by a column that does not exist or has an unsuitable type;
    /// [`Error::Config`] for a limit of 0.
    pub fn new(
        folder: Box<dyn Folder + 'a>,
        schema: &SchemaRef,
        options: FolderOptions,
        make: MakeSink<'a>,
    ) -> Result<Self> {
        options.check()?;
        let partitioner = Partitioner::new(schema, &options)?;
        Ok(Self {
            options,
            make,
            infix: folder.is_shared().then(unique),
            folder,
            partitioner,
            parts: Vec::new(),
            open: BTreeMap::new(),
            waiting_bytes: 0,
            clock: 0,
            summary: SinkSummary::default(),
        })
    }

    fn push(&mut self, share: Share) -> Result<()> {
        let Share { folder: at, batch } = share;
        while self.parts.len() <= at {
            self.parts.push(Part::new(self.partitioner.path(self.parts.len())));
        }
        let bytes = batch.get_array_memory_size();
        let part = &mut self.parts[at];
        part.waiting_rows += batch.num_rows();
        part.waiting_bytes += bytes;
        part.waiting.push(batch);
        self.waiting_bytes += bytes;
        if self.parts[at].waiting_rows >= ROWS_MIN { self.write_waiting(at) } else { Ok(()) }
    }

    /// Writes what has been collected for a folder.
    fn write_waiting(&mut self, at: usize) -> Result<()> {
        let part = &mut self.parts[at];
        let batches = std::mem::take(&mut part.waiting);
        part.waiting_rows = 0;
        self.waiting_bytes -= std::mem::take(&mut part.waiting_bytes);
        let batches = match batches.as_slice() {
            [] | [_] => batches,
            // Together they may have more text, or values in a dictionary, than one array can.
            several => match concat_batches(self.partitioner.schema(), several) {
                Ok(batch) => vec![batch],
                Err(_) => batches,
            },
        };
        for batch in batches {
            let mut start = 0;
            while start < batch.num_rows() {
                let rows = self.room(at).min(batch.num_rows() - start);
                let file = self.file(at)?;
                file.sink.write(&batch.slice(start, rows))?;
                file.rows += rows as u64;
                start += rows;
                self.end_if_full(at)?;
            }
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
                let part = &mut self.parts[at];
                let name = match (&self.options.stem, &self.infix) {
                    (Some(stem), _) if part.files == 0 => stem.clone(),
                    (Some(stem), _) => format!("{stem}-{}", part.files),
                    (None, Some(infix)) => format!("part-{infix}-{:05}", part.files),
                    (None, None) => format!("part-{:05}", part.files),
                };
                let name = format!("{}{name}.{}", part.path, self.options.extension);
                let output = self.folder.create(&name)?;
                part.files += 1;
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
        let waiting = |part: &Part| part.waiting_bytes;
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(waiting(&self.parts[*at])));
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
        self.summary.count(batch);
        if batch.num_rows() == 0 {
            return Ok(());
        }
        for share in self.partitioner.split(batch)? {
            self.push(share)?;
        }
        self.limit_waiting()
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        if self.parts.is_empty() && self.options.partition_by.is_empty() {
            // A file without rows still has the schema.
            self.parts.push(Part::new(String::new()));
            self.file(0)?;
        }
        for at in 0..self.parts.len() {
            self.write_waiting(at)?;
            self.end_file(at)?;
        }
        self.folder.commit()?;
        Ok(self.summary)
    }
}

impl Part {
    fn new(path: String) -> Self {
        Self { path, waiting: Vec::new(), waiting_rows: 0, waiting_bytes: 0, files: 0 }
    }
}

/// A part of a name that no other writer of this folder uses: time, process and a counter.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = now.as_secs() << 30 | u64::from(now.subsec_nanos());
    format!("{nanos:016x}-{:x}-{count:x}", process::id())
}
