// SPDX-License-Identifier: Apache-2.0
//! [`Target`]: a place and a format, by which the sink is chosen: what the command and the Python
//! package write to.

mod format;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_schema::SchemaRef;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink};
use arrowsmith_core::{Error, Result};
#[cfg(feature = "store")]
use arrowsmith_source::store::StoreOptions;

use crate::delta::{self, DeltaSink};
use crate::folder::{FolderOptions, FolderSink, LocalFolder};
use crate::iceberg::{self, IcebergSink};
use crate::parquet::{ParquetOptions, SortedBy, Workers};
use crate::sort::{SortOptions, SortSink};
use crate::table::{FilesOf, LocalPlace, Place};
pub use crate::text::TextCompression;

pub use self::format::{FORMATS, Format, Named};

/// How often it is looked for a table where there are files only, and the time between.
const STARTS_MAX: u32 = 20;
const START_AGAIN: Duration = Duration::from_millis(50);

/// The formats of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Delta Lake.
    Delta,
    /// Apache Iceberg, of a file system or a store without a catalog.
    Iceberg,
}

impl TableFormat {
    /// What such a table is called.
    fn called(self) -> &'static str {
        match self {
            Self::Delta => "a Delta table",
            Self::Iceberg => "an Iceberg table",
        }
    }
}

/// A file or a folder of files, in the file system or in a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    path: PathBuf,
    format: Format,
    folder: Option<FolderOptions>,
    /// The table that the folder is.
    table: Option<TableFormat>,
    sort: Option<SortOptions>,
    append: bool,
    fsync: bool,
    #[cfg(feature = "store")]
    store: StoreOptions,
}

impl Target {
    /// A file; `-` is standard output. With the feature `store`, text such as `s3://bucket/name` is
    /// the URL of an object.
    pub fn file(path: impl Into<PathBuf>, format: Format) -> Self {
        Self {
            path: path.into(),
            format,
            folder: None,
            table: None,
            sort: None,
            append: false,
            fsync: false,
            #[cfg(feature = "store")]
            store: StoreOptions::default(),
        }
    }

    /// A folder of files, to which others are added if it has some and `append` is given; or the
    /// objects below a prefix.
    pub fn folder(
        path: impl Into<PathBuf>,
        format: Format,
        options: FolderOptions,
        append: bool,
    ) -> Self {
        let options = FolderOptions { extension: format.extension(), ..options };
        Self { folder: Some(options), append, ..Self::file(path, format) }
    }

    /// A table, to which rows are added if there is one and `append` is given.
    pub fn table(
        path: impl Into<PathBuf>,
        table: TableFormat,
        parquet: ParquetOptions,
        options: FolderOptions,
        append: bool,
    ) -> Self {
        let folder = Self::folder(path, Format::Parquet(parquet), options, append);
        Self { table: Some(table), ..folder }
    }

    /// With the rows of each file sorted.
    #[must_use]
    pub fn with_sort(mut self, sort: SortOptions) -> Self {
        if let Format::Parquet(options) = &mut self.format {
            let keys = sort.keys.iter().map(|key| SortedBy {
                column: key.column.clone(),
                descending: key.descending,
                nulls_first: false,
            });
            options.sorted_by = keys.collect();
        }
        self.sort = Some(sort);
        self
    }

    /// With `true`, files and folders are synced to disk.
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// With settings of the store, if it is in one.
    #[cfg(feature = "store")]
    #[must_use]
    pub fn with_store(mut self, store: StoreOptions) -> Self {
        self.store = store;
        self
    }

    /// With this many threads that encode Parquet.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        if let Format::Parquet(options) = &mut self.format {
            options.threads = threads;
        }
        self
    }

    /// Whether what is written has been read by others before the end: standard output, a pipe or a
    /// device.
    pub fn is_stream(&self) -> bool {
        let is_file = |path: &Path| path.metadata().map_or(true, |metadata| metadata.is_file());
        let is_local_file = self.url().is_none() && self.folder.is_none();
        is_local_file && (self.path == Path::new("-") || !is_file(&self.path))
    }

    /// Whether a path is a folder, by a separator at its end or because there is one.
    pub fn is_folder(path: &Path) -> bool {
        path.as_os_str().to_string_lossy().ends_with(['/', MAIN_SEPARATOR]) || path.is_dir()
    }

    /// Starts to write; the sink makes the files visible when it is finished. `on_exit` is called
    /// with what a signal handler that ends the process has to call, if there is something to
    /// remove.
    ///
    /// # Errors
    /// [`Error::Io`] if the place cannot be written,
    /// [`Error::Schema`] for a type that the format does not have,
    /// [`Error::Config`] for an option with an invalid value.
    pub fn open(
        &self,
        schema: &SchemaRef,
        on_exit: impl FnOnce(Cleanup),
    ) -> Result<Box<dyn Sink + '_>> {
        let Some(options) = &self.folder else {
            let output = self.output(on_exit)?;
            return self.sink(output, schema, None);
        };
        if self.sort.is_some() && options.bytes_per_file.is_some() {
            let message = "a sorted file has its bytes only at the end: limit its rows instead";
            return Err(Error::Config(message.to_owned()));
        }
        let workers = self.format.workers()?;
        let make =
            Box::new(move |output, schema: &SchemaRef| self.sink(output, schema, workers.as_ref()));
        let options = options.clone();
        let Some(format) = self.table else {
            self.is_no_table()?;
            let folder = self.files(self.append)?;
            on_exit(folder.cleanup());
            return Ok(Box::new(FolderSink::new(folder, schema, options, make)?));
        };
        if let Format::Parquet(ParquetOptions { variant: true, .. }) = &self.format {
            let to = format.called();
            let message = format!("VARIANT is not written to {to}: its files have JSON as text");
            return Err(Error::Config(message));
        }
        let (name, place, append) = (self.path.display().to_string(), self.place()?, self.append);
        Ok(match format {
            TableFormat::Delta => {
                let load = || delta::Table::load(Arc::clone(&place), &name);
                let (table, folder) = self.open_table(format, load)?;
                on_exit(folder.cleanup());
                let files = FilesOf { folder, append, options, make };
                Box::new(DeltaSink::new(table, place, &name, schema, files)?)
            }
            TableFormat::Iceberg => {
                let load = || iceberg::Table::load(Arc::clone(&place), &name);
                let (table, folder) = self.open_table(format, load)?;
                on_exit(folder.cleanup());
                let files = FilesOf { folder, append, options, make };
                Box::new(IcebergSink::new(table, place, &name, schema, files)?)
            }
        })
    }

    /// The table that is there, and the folder of its files.
    fn open_table<T>(
        &self,
        format: TableFormat,
        load: impl Fn() -> Result<Option<T>>,
    ) -> Result<(Option<T>, Box<dyn Folder>)> {
        let mut tries = 1;
        loop {
            let table = load()?;
            if table.is_some() && !self.append {
                let there = format.called();
                let message = format!("there is {there}; with append, rows are added to it");
                let error = io::Error::new(io::ErrorKind::AlreadyExists, message);
                return Err(Error::io(&self.path, error));
            }
            if table.is_some() {
                let folder = self.files(true)?;
                return Ok((table, folder));
            }
            // The files of a folder that is not a table do not become part of one. They may be
            // those of another process, whose commit follows.
            match self.files(false) {
                Ok(_) if self.append => return Ok((None, self.files(true)?)),
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists
                        && self.append
                        && tries < STARTS_MAX =>
                {
                    tries += 1;
                    thread::sleep(START_AGAIN);
                }
                folder => return Ok((None, folder?)),
            }
        }
    }

    /// The sink of a file.
    fn sink(
        &self,
        output: Output,
        schema: &SchemaRef,
        workers: Option<&Workers>,
    ) -> Result<Box<dyn Sink>> {
        let sink = self.format.sink(output, schema, workers)?;
        Ok(match &self.sort {
            Some(options) => Box::new(SortSink::new(sink, schema, options)?),
            None => sink,
        })
    }

    /// Files that were added to the folder of a table would not be in the table.
    fn is_no_table(&self) -> Result<()> {
        if self.url().is_some() {
            return Ok(());
        }
        let is_metadata = |name: &String| name.ends_with(iceberg::METADATA_END);
        // What cannot be listed is no such folder.
        let metadata = self.place()?.list(iceberg::METADATA).unwrap_or_default();
        let of = if self.path.join(delta::LOG).is_dir() {
            TableFormat::Delta
        } else if metadata.iter().any(is_metadata) {
            TableFormat::Iceberg
        } else {
            return Ok(());
        };
        let message = format!("is {}, and its files have to be added as such", of.called());
        Err(Error::Config(format!("{}: {message}", self.path.display())))
    }

    /// Where a table is.
    fn place(&self) -> Result<Arc<dyn Place>> {
        #[cfg(feature = "store")]
        if let Some(url) = self.url() {
            return Ok(Arc::new(arrowsmith_source::store::Prefix::new(url, &self.store)?));
        }
        Ok(Arc::new(LocalPlace::new(&self.path)))
    }

    fn output(&self, on_exit: impl FnOnce(Cleanup)) -> Result<Output> {
        #[cfg(feature = "store")]
        if let Some(url) = self.url() {
            return arrowsmith_source::store::create(url, &self.store);
        }
        let output = Output::create(&self.path)?.with_fsync(self.fsync);
        if let Some(path) = output.temporary_path() {
            let path = path.to_owned();
            on_exit(Box::new(move || drop(fs::remove_file(path))));
        }
        Ok(output)
    }

    fn files(&self, append: bool) -> Result<Box<dyn Folder>> {
        #[cfg(feature = "store")]
        if let Some(url) = self.url() {
            let folder = arrowsmith_source::store::StoreFolder::new(url, &self.store, append)?;
            return Ok(Box::new(folder));
        }
        Ok(Box::new(LocalFolder::new(&self.path, append, self.fsync)?))
    }

    #[cfg(feature = "store")]
    fn url(&self) -> Option<&str> {
        self.path.to_str().filter(|path| arrowsmith_source::store::is_url(path))
    }

    #[cfg(not(feature = "store"))]
    fn url(&self) -> Option<&str> {
        let Self { .. } = self;
        None
    }
}
