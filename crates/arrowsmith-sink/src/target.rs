// SPDX-License-Identifier: Apache-2.0
//! [`Target`]: a place and a format, by which the sink is chosen: what the command and the Python
//! package write to.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use arrow_schema::SchemaRef;
use arrowsmith_core::Result;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink};

use crate::folder::{FolderOptions, FolderSink, LocalFolder};
use crate::ipc::{self, IpcOptions, IpcSink};
use crate::json::{JsonOptions, JsonSink};
use crate::parquet::{ParquetOptions, ParquetSink, Workers, Writer};

/// The format of the files, with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    /// Arrow IPC, a file or a stream.
    Ipc(IpcOptions),
    /// Parquet.
    Parquet(ParquetOptions),
    /// Newline-delimited JSON.
    Json(JsonOptions),
}

impl Format {
    /// The format, with its default options, of a file of this name; `None` if its extension is
    /// that of none.
    pub fn by_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let ipc = |format| Self::Ipc(IpcOptions { format, ..IpcOptions::default() });
        match extension.to_ascii_lowercase().as_str() {
            "arrow" | "feather" | "ipc" => Some(ipc(ipc::Format::File)),
            "arrows" => Some(ipc(ipc::Format::Stream)),
            "parquet" => Some(Self::Parquet(ParquetOptions::default())),
            "jsonl" | "ndjson" => Some(Self::Json(JsonOptions::default())),
            _ => None,
        }
    }

    /// The extension of files of this format.
    pub fn extension(&self) -> &'static str {
        match self {
            Self::Ipc(IpcOptions { format: ipc::Format::File, .. }) => "arrow",
            Self::Ipc(_) => "arrows",
            Self::Parquet(_) => "parquet",
            Self::Json(_) => "jsonl",
        }
    }

    /// Threads that all files of a folder use.
    fn workers(&self) -> Result<Option<Workers>> {
        match self {
            Self::Parquet(options) if options.writer == Writer::Arrowsmith => {
                options.workers().map(Some)
            }
            _ => Ok(None),
        }
    }

    fn sink(
        &self,
        output: Output,
        schema: &SchemaRef,
        workers: Option<&Workers>,
    ) -> Result<Box<dyn Sink>> {
        Ok(match self {
            Self::Ipc(options) => Box::new(IpcSink::new(output, schema, options)?),
            Self::Parquet(options) => {
                Box::new(ParquetSink::with_workers(output, schema, options, workers)?)
            }
            Self::Json(options) => Box::new(JsonSink::new(output, schema, options)?),
        })
    }
}

/// A file or a folder of files, in the file system or in a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    path: PathBuf,
    format: Format,
    folder: Option<FolderOptions>,
    append: bool,
    fsync: bool,
}

impl Target {
    /// A file; `-` is standard output. With the feature `store`, text such as `s3://bucket/name` is
    /// the URL of an object.
    pub fn file(path: impl Into<PathBuf>, format: Format) -> Self {
        Self { path: path.into(), format, folder: None, append: false, fsync: false }
    }

    /// A folder of files, to which others are added if it has some and `append` is given; or the
    /// objects below a prefix.
    pub fn folder(
        path: impl Into<PathBuf>,
        format: Format,
        options: FolderOptions,
        append: bool,
    ) -> Self {
        let options = FolderOptions { extension: format.extension().to_owned(), ..options };
        Self { folder: Some(options), append, ..Self::file(path, format) }
    }

    /// With `true`, files and folders are synced to disk.
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
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
    /// [`Error::Io`](arrowsmith_core::Error::Io) if the place cannot be written,
    /// [`Error::Schema`](arrowsmith_core::Error::Schema) for a type that the format does not have,
    /// [`Error::Config`](arrowsmith_core::Error::Config) for an option with an invalid value.
    pub fn open(
        &self,
        schema: &SchemaRef,
        on_exit: impl FnOnce(Cleanup),
    ) -> Result<Box<dyn Sink + '_>> {
        let Some(options) = &self.folder else {
            let output = self.output(on_exit)?;
            return self.format.sink(output, schema, None);
        };
        let workers = self.format.workers()?;
        let make = Box::new(move |output, schema: &SchemaRef| {
            self.format.sink(output, schema, workers.as_ref())
        });
        let folder = self.files()?;
        on_exit(folder.cleanup());
        Ok(Box::new(FolderSink::new(folder, schema, options.clone(), make)?))
    }

    fn output(&self, on_exit: impl FnOnce(Cleanup)) -> Result<Output> {
        #[cfg(feature = "store")]
        if let Some(url) = self.url() {
            return arrowsmith_source::store::create(url);
        }
        let output = Output::create(&self.path)?.with_fsync(self.fsync);
        if let Some(path) = output.temporary_path() {
            let path = path.to_owned();
            on_exit(Box::new(move || drop(fs::remove_file(path))));
        }
        Ok(output)
    }

    fn files(&self) -> Result<Box<dyn Folder>> {
        #[cfg(feature = "store")]
        if let Some(url) = self.url() {
            return Ok(Box::new(arrowsmith_source::store::StoreFolder::new(url, self.append)?));
        }
        Ok(Box::new(LocalFolder::new(&self.path, self.append, self.fsync)?))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};

    use super::*;

    #[test]
    fn a_target_is_a_file_or_a_folder() {
        let outer = tempfile::tempdir().unwrap();
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        for name in ["x.arrow", "x.arrows", "x.parquet", "x.JSONL"] {
            let path = outer.path().join(name);
            let format = Format::by_extension(&path).unwrap();
            let options = FolderOptions { rows_per_file: Some(2), ..FolderOptions::default() };
            let folder = outer.path().join(format!("{name}.d"));
            let last = folder.join(format!("part-00001.{}", format.extension()));
            let file = Target::file(&path, format.clone());
            let folder = Target::folder(&folder, format, options, false);
            for (target, written) in [(file, path), (folder, last)] {
                let mut cleanup = None;
                let mut open =
                    || target.open(&batch.schema(), |call| cleanup = Some(call)).unwrap();
                assert!(!target.is_stream());
                let mut sink = open();
                sink.write(&batch).unwrap();
                sink.finish().unwrap();
                cleanup.unwrap()();
                assert!(written.exists(), "{}", written.display());
            }
        }
        assert_eq!(Format::by_extension(Path::new("x.csv")), None);
        assert!(Target::is_folder(Path::new("new/")) && Target::is_folder(outer.path()));
        assert!(!Target::is_folder(Path::new("new")));
    }
}
