// SPDX-License-Identifier: Apache-2.0
//! [`Target`]: a place and a format, by which the sink is chosen: what the command and the Python
//! package write to.

use std::fs;
use std::io;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use arrow_schema::SchemaRef;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink};
use arrowsmith_core::{Error, Result};
#[cfg(feature = "store")]
use arrowsmith_source::store::StoreOptions;

use crate::csv::{CsvOptions, CsvSink};
use crate::delta::{self, DeltaSink, FilesOf, LocalPlace, Place, Table};
use crate::folder::{FolderOptions, FolderSink, LocalFolder};
use crate::ipc::{self, IpcOptions, IpcSink};
use crate::json::{JsonOptions, JsonSink};
use crate::parquet::{ParquetOptions, ParquetSink, SortedBy, Workers, Writer};
use crate::sort::{SortOptions, SortSink};
pub use crate::text::TextCompression;

/// The format of the files, with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    /// Arrow IPC, a file or a stream.
    Ipc(IpcOptions),
    /// Parquet.
    Parquet(ParquetOptions),
    /// Newline-delimited JSON.
    Json(JsonOptions),
    /// Comma- or tab-separated values.
    Csv(CsvOptions),
}

impl Format {
    /// The format, with its default options, of a file of this name; `None` if its extension is
    /// that of none. Text may be compressed: `x.jsonl.gz`, `x.csv.zst`.
    pub fn by_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if let Some(compression) = TextCompression::by_extension(&extension.to_ascii_lowercase()) {
            // Not twice.
            let inner = Path::new(path.file_stem()?);
            let name = inner.extension()?.to_str()?.to_ascii_lowercase();
            let format = Self::by_extension(inner)?.with_compression(compression);
            return format.filter(|_| TextCompression::by_extension(&name).is_none());
        }
        let ipc = |format| Self::Ipc(IpcOptions { format, ..IpcOptions::default() });
        match extension.to_ascii_lowercase().as_str() {
            "arrow" | "feather" | "ipc" => Some(ipc(ipc::Format::File)),
            "arrows" => Some(ipc(ipc::Format::Stream)),
            "parquet" => Some(Self::Parquet(ParquetOptions::default())),
            "jsonl" | "ndjson" => Some(Self::Json(JsonOptions::default())),
            "csv" => Some(Self::Csv(CsvOptions::default())),
            "tsv" => Some(Self::Csv(CsvOptions { delimiter: b'\t', ..CsvOptions::default() })),
            _ => None,
        }
    }

    /// The same with a compression of the whole file; `None` for a format that compresses inside
    /// of it.
    pub fn with_compression(&self, compression: TextCompression) -> Option<Self> {
        match *self {
            Self::Json(options) => Some(Self::Json(JsonOptions { compression, ..options })),
            Self::Csv(options) => Some(Self::Csv(CsvOptions { compression, ..options })),
            Self::Ipc(_) | Self::Parquet(_) => None,
        }
    }

    /// Whether the files are text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Csv(_))
    }

    /// The extension of files of this format.
    pub fn extension(&self) -> String {
        let (name, compression) = match self {
            Self::Ipc(IpcOptions { format: ipc::Format::File, .. }) => {
                ("arrow", TextCompression::None)
            }
            Self::Ipc(_) => ("arrows", TextCompression::None),
            Self::Parquet(_) => ("parquet", TextCompression::None),
            Self::Json(options) => ("jsonl", options.compression),
            Self::Csv(CsvOptions { delimiter: b'\t', compression }) => ("tsv", *compression),
            Self::Csv(options) => ("csv", options.compression),
        };
        format!("{name}{}", compression.suffix())
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
            Self::Csv(options) => Box::new(CsvSink::new(output, schema, options)?),
        })
    }
}

/// A file or a folder of files, in the file system or in a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    path: PathBuf,
    format: Format,
    folder: Option<FolderOptions>,
    /// Whether the folder is a Delta table.
    is_delta: bool,
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
            is_delta: false,
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

    /// A Delta table, to which rows are added if there is one and `append` is given.
    pub fn delta(
        path: impl Into<PathBuf>,
        parquet: ParquetOptions,
        options: FolderOptions,
        append: bool,
    ) -> Self {
        Self { is_delta: true, ..Self::folder(path, Format::Parquet(parquet), options, append) }
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
        if !self.is_delta {
            self.is_no_table()?;
            let folder = self.files(self.append)?;
            on_exit(folder.cleanup());
            return Ok(Box::new(FolderSink::new(folder, schema, options, make)?));
        }
        let name = self.path.display().to_string();
        let table = Table::load(self.place()?, &name)?;
        if table.is_some() && !self.append {
            let message = "there is a Delta table; with append, rows are added to it";
            let error = io::Error::new(io::ErrorKind::AlreadyExists, message);
            return Err(Error::io(&self.path, error));
        }
        let folder = self.files(table.is_some())?;
        on_exit(folder.cleanup());
        let files = FilesOf { folder, options, make };
        Ok(Box::new(DeltaSink::new(table, self.place()?, &name, schema, files)?))
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
        if self.url().is_none() && self.path.join(delta::LOG).is_dir() {
            let message = "is a Delta table, and its files have to be added as such";
            return Err(Error::Config(format!("{}: {message}", self.path.display())));
        }
        Ok(())
    }

    /// Where the log of a table is.
    fn place(&self) -> Result<Box<dyn Place>> {
        #[cfg(feature = "store")]
        if let Some(url) = self.url() {
            return Ok(Box::new(arrowsmith_source::store::Prefix::new(url, &self.store)?));
        }
        Ok(Box::new(LocalPlace::new(&self.path)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn a_target_is_a_file_or_a_folder() {
        let outer = tempfile::tempdir().unwrap();
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let names = ["x.arrow", "x.arrows", "x.parquet", "x.JSONL", "x.jsonl.gz", "x.ndjson.zst"];
        for name in names.into_iter().chain(["x.csv", "x.TSV", "x.csv.ZST", "x.tsv.gz"]) {
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
        for name in ["x.txt", "x.gz", "x.parquet.gz", "x.csv.gz.zst", "x", ".csv"] {
            assert_eq!(Format::by_extension(Path::new(name)), None, "{name}");
        }
        assert!(Target::is_folder(Path::new("new/")) && Target::is_folder(outer.path()));
        assert!(!Target::is_folder(Path::new("new")));
    }

    /// The order of the rows is in the file, and the footer states it.
    #[test]
    fn a_sorted_file_states_its_order() {
        let outer = tempfile::tempdir().unwrap();
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let batch =
            RecordBatch::try_from_iter([("a", Arc::clone(&column)), ("n", column)]).unwrap();
        let path = outer.path().join("x.parquet");
        let keys = ["n desc", "a"].map(|key| key.parse().unwrap()).to_vec();
        let sort = SortOptions { keys, ..SortOptions::default() };
        let format = Format::Parquet(ParquetOptions::default());
        let target = Target::file(&path, format).with_sort(sort.clone());
        let mut sink = target.open(&batch.schema(), |_| {}).unwrap();
        sink.write(&batch).unwrap();
        sink.finish().unwrap();
        let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
        let order = reader.metadata().row_group(0).sorting_columns().unwrap();
        let order: Vec<_> =
            order.iter().map(|by| (by.column_idx, by.descending, by.nulls_first)).collect();
        assert_eq!(order, [(1, true, false), (0, false, false)]);
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows, ["{a: 3, n: 3}", "{a: 1, n: 1}", "{a: null, n: null}"]);

        // A file that ends after some bytes is not known before it is sorted.
        let options = FolderOptions { bytes_per_file: Some(1), ..FolderOptions::default() };
        let format = Format::Parquet(ParquetOptions::default());
        let folder = Target::folder(outer.path().join("d"), format, options, false);
        let refused = folder.with_sort(sort).open(&batch.schema(), |_| {}).err().unwrap();
        assert!(matches!(refused, Error::Config(_)));
    }

    /// Rows of a table are not added to its folder without its log.
    #[test]
    fn a_table_is_written_as_one() {
        let outer = tempfile::tempdir().unwrap();
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let path = outer.path().join("t");
        let write = |target: Target| {
            let mut sink = target.open(&batch.schema(), |_| {})?;
            sink.write(&batch)?;
            sink.finish()
        };
        let (parquet, options) = (ParquetOptions::default(), FolderOptions::default());
        let table = |append| Target::delta(&path, parquet.clone(), options.clone(), append);
        assert_eq!(write(table(false)).unwrap().rows, 3);
        assert_eq!(write(table(true)).unwrap().rows, 3);
        assert!(matches!(write(table(false)), Err(Error::Io { .. })));
        let format = Format::Parquet(parquet.clone());
        let folder = Target::folder(&path, format, options.clone(), true);
        assert!(matches!(write(folder), Err(Error::Config(_))));
        let read = Table::load(Box::new(LocalPlace::new(&path)), "t").unwrap().unwrap();
        assert_eq!((read.version(), read.files().unwrap().len()), (1, 2));
    }
}
