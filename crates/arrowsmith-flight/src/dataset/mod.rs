// SPDX-License-Identifier: Apache-2.0
//! Datasets: what is served under one name, in one state ([`Snapshot`]), and how a part of it is
//! read.
//!
//! A snapshot never changes: files that come or go make a new one. No network here, and no threads
//! but those of the readers below.

mod identity;
pub mod ipc;
pub mod json;
pub mod parquet;
mod split;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::parquet::Predicate;
use arrowsmith::{Error, Input, JsonReadOptions, Result, expand_datasets};

use self::identity::{Identity, version};
use crate::live::Upstream;
use crate::select::{Limited, Selected, condition, conform, project};

pub(crate) use split::split;

/// How the files of a dataset are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet files.
    Parquet,
    /// Arrow IPC files.
    Ipc,
    /// Newline-delimited JSON, with a schema.
    Json,
}

impl Format {
    /// Names that such files end in, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Parquet => arrowsmith::parquet::EXTENSIONS,
            Self::Ipc => &["arrow", "arrows", "feather", "ipc"],
            Self::Json => arrowsmith::json::EXTENSIONS,
        }
    }

    /// What the name of a file that is written ends in, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Ipc => "arrow",
            Self::Json => "ndjson",
        }
    }

    /// The format of a file of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        [Self::Parquet, Self::Ipc, Self::Json]
            .into_iter()
            .find(|format| format.extensions().iter().any(|end| name.ends_with(&format!(".{end}"))))
    }

    /// The name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Ipc => "arrow",
            Self::Json => "json",
        }
    }
}

/// How the bytes of files are come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileAccess {
    /// They are read on request.
    #[default]
    Read,
    /// Arrow IPC files are mapped and served without a copy. Such a file must never be changed or
    /// truncated in place, only replaced by another of its name: the system ends a process that
    /// accesses missing pages (SIGBUS).
    Map,
    /// All is read into memory at the start.
    Preload,
}

/// What to read of a snapshot.
#[derive(Debug, Clone)]
pub struct Read {
    /// Top-level columns, in this order; all without it.
    pub columns: Option<Vec<String>>,
    /// Rows for which this holds.
    pub filter: Option<Predicate>,
    /// Rows, at most.
    pub limit: Option<u64>,
    /// Number of the part, from 0.
    pub part: usize,
    /// How many parts there are.
    pub parts: usize,
    /// Arrow bytes of a batch, about.
    pub batch_bytes: usize,
    /// Decoder threads; at least one, which is the calling thread.
    pub threads: usize,
    /// Stops everything once it is true.
    pub cancel: Arc<AtomicBool>,
}

impl Default for Read {
    fn default() -> Self {
        Self {
            columns: None,
            filter: None,
            limit: None,
            part: 0,
            parts: 1,
            batch_bytes: 4 << 20,
            threads: 1,
            cancel: Arc::default(),
        }
    }
}

/// Batches in order; nothing follows an error.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The version of a snapshot of these files, without reading them.
pub(crate) fn version_of(paths: &[PathBuf], format: Format) -> Result<u64> {
    let mut files = Vec::new();
    for file in expand_datasets(paths, format.extensions())? {
        if let Input::Path(path) = file.input {
            let identity = Identity::at(&path)?;
            files.push((path, identity));
        }
    }
    Ok(version(files.iter().map(|(path, identity)| (path, identity))))
}

/// What there is to read.
#[derive(Debug)]
pub(crate) enum Content {
    /// A folder without files yet.
    Empty,
    Parquet(parquet::Files),
    Ipc(ipc::Files),
    Json(json::Files),
    /// Batches held in memory.
    Memory(Vec<RecordBatch>),
    /// A stream that another endpoint publishes.
    Live(Upstream),
}

/// One state of a dataset.
#[derive(Debug)]
pub struct Snapshot {
    /// Distinguishes states of a dataset.
    pub version: u64,
    /// The columns.
    pub schema: SchemaRef,
    /// Rows, where that is known without reading them.
    pub rows: Option<u64>,
    /// Bytes as they are stored, where that is known.
    pub bytes: Option<u64>,
    pub(crate) content: Content,
}

impl Snapshot {
    /// The state of these files now; `json` says how those of JSON are read.
    ///
    /// # Errors
    /// Errors of listing the files and reading their metadata.
    pub fn open(
        paths: &[PathBuf],
        format: Format,
        json: &JsonReadOptions,
        access: FileAccess,
    ) -> Result<Self> {
        let snapshot = match format {
            Format::Parquet => parquet::Files::open(paths)?,
            Format::Ipc => ipc::Files::open(paths, access == FileAccess::Map)?,
            Format::Json => json::Files::open(paths, json, access == FileAccess::Map)?,
        };
        if access == FileAccess::Preload { snapshot.load() } else { Ok(snapshot) }
    }

    pub(crate) fn empty() -> Self {
        Self {
            version: 0,
            schema: Arc::new(Schema::empty()),
            rows: Some(0),
            bytes: Some(0),
            content: Content::Empty,
        }
    }

    /// The same rows, held in memory.
    fn load(self) -> Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let batches =
            self.read(&Read { threads, ..Read::default() })?.collect::<Result<Vec<_>>>()?;
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let bytes = batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
        Ok(Self { rows: Some(rows), bytes: Some(bytes), content: Content::Memory(batches), ..self })
    }

    /// The schema of a read with these columns.
    ///
    /// # Errors
    /// [`Error::Config`] names a column that is not there, or twice.
    pub fn schema_of(&self, columns: Option<&[String]>) -> Result<SchemaRef> {
        project(&self.schema, columns)
    }

    /// Whether a request is valid for it.
    ///
    /// # Errors
    /// [`Error::Config`] for missing or duplicate columns, and for conditions that do not match
    /// them.
    pub fn check(&self, columns: Option<&[String]>, filter: Option<&Predicate>) -> Result<()> {
        self.schema_of(columns)?;
        match filter {
            Some(filter) => condition(filter, &self.schema).map(drop),
            None => Ok(()),
        }
    }

    /// Bytes of the largest piece of a file that is read at a time, where it is read as it is
    /// stored.
    pub(crate) fn block_bytes(&self) -> u64 {
        match &self.content {
            Content::Ipc(files) => files.block_bytes(),
            _ => 0,
        }
    }

    /// The number of parts worth reading in parallel, at most `wanted`.
    pub fn parts(&self, wanted: usize) -> usize {
        let units = match &self.content {
            Content::Parquet(files) => files.units(),
            Content::Ipc(files) => files.units(),
            Content::Json(files) => files.units(),
            Content::Memory(batches) => batches.len(),
            Content::Empty | Content::Live(_) => 1,
        };
        units.clamp(1, wanted.max(1))
    }

    /// Memory that reading takes beside the batches that are handed over, in bytes, about.
    pub fn read_bytes(&self, columns: Option<&[String]>) -> u64 {
        match &self.content {
            Content::Parquet(files) => files.read_bytes(columns),
            Content::Json(_) => 16 << 20,
            _ => 0,
        }
    }

    /// Whether all rows come out as they are stored, so that the stored messages can be sent.
    pub(crate) fn stored_messages(&self, read: &Read, bytes_max: usize) -> Option<ipc::Messages> {
        match &self.content {
            Content::Ipc(files)
                if read.columns.is_none() && read.filter.is_none() && read.limit.is_none() =>
            {
                files.messages(read.part, read.parts, bytes_max)
            }
            _ => None,
        }
    }

    /// Reads a part.
    ///
    /// # Errors
    /// Columns or a condition that do not match the schema, and errors of opening files. Later
    /// errors come with the batches.
    pub fn read(&self, read: &Read) -> Result<Batches> {
        let schema = self.schema_of(read.columns.as_deref())?;
        if read.limit == Some(0) {
            return Ok(Box::new(std::iter::empty()));
        }
        let batches: Batches = match &self.content {
            Content::Empty => return Ok(Box::new(std::iter::empty())),
            Content::Live(_) => {
                return Err(Error::Config("a live stream has no end to read to".to_owned()));
            }
            // Decodes the condition's columns first, and of the others only the selected rows.
            Content::Parquet(files) => {
                let batches = files.read(read)?;
                let batches = batches.map(move |batch| conform(batch?, &schema));
                return Ok(Box::new(Limited::new(batches, read.limit)));
            }
            Content::Ipc(files) => files.batches(read.part, read.parts),
            Content::Json(files) => files.read(read)?,
            Content::Memory(batches) => {
                let range = split(batches.iter().map(RecordBatch::num_rows), read.part, read.parts);
                let batches = batches.get(range).unwrap_or_default().to_vec();
                Box::new(batches.into_iter().map(Ok))
            }
        };
        let selected = Selected::new(batches, &self.schema, schema, read.filter.clone())?;
        Ok(Box::new(Limited::new(selected, read.limit)))
    }
}
