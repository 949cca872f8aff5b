// SPDX-License-Identifier: Apache-2.0
//! What `convert` writes, and where: the name or `--to` selects the sink, and the options have to
//! suit it.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{MAIN_SEPARATOR, Path};

use arrow_schema::SchemaRef;
use arrowsmith_core::sink::{Folder, Output, Sink};
use arrowsmith_core::{Error, Result};
use arrowsmith_sink::folder::{FolderOptions, FolderSink, LocalFolder};
use arrowsmith_sink::ipc::{Format, IpcOptions, IpcSink};
use arrowsmith_sink::json::{JsonOptions, JsonSink};
use arrowsmith_sink::parquet::{self, ParquetOptions, ParquetSink, Workers};

use crate::args::{BufferCompression, Encodings, OutputArgs, To, Writer};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;

/// What `convert` writes, and where.
pub struct Target<'a> {
    path: &'a Path,
    /// If it is in a store.
    url: Option<&'a str>,
    fsync: bool,
    append: bool,
    format: TargetFormat,
    /// If it is a folder of files.
    folder: Option<FolderOptions>,
}

enum TargetFormat {
    Ipc(IpcOptions),
    Parquet(ParquetOptions),
    Json(JsonOptions),
}

impl<'a> Target<'a> {
    /// The target of a path and its options; an error if an option does not apply to the format.
    pub fn new(path: &'a Path, args: &OutputArgs) -> Outcome<Self> {
        let is_folder = is_folder(path, args);
        let to = match args.to {
            Some(to) => to,
            None if path == Path::new("-") => To::Arrows,
            None if is_folder => by_extension(path).unwrap_or(To::Parquet),
            None => by_extension(path)?,
        };
        let parquet_only = [
            ("--codec", args.codec.is_some()),
            ("--row-group-rows", args.row_group_rows.is_some()),
            ("--row-group-bytes", args.row_group_bytes.is_some()),
            ("--encodings", args.encodings.is_some()),
            ("--no-dictionary", args.no_dictionary),
            ("--bloom-filter", !args.bloom_filter.is_empty()),
            ("--writer", args.writer.is_some()),
        ];
        let arrow_only = [("--buffer-compression", args.buffer_compression.is_some())];
        let (format, parquet, arrow) = match to {
            To::Arrow | To::Arrows => ("Arrow", false, true),
            To::Parquet => ("Parquet", true, false),
            To::Ndjson => ("JSON", false, false),
        };
        let wrong = parquet_only.iter().filter(|_| !parquet);
        let mut wrong = wrong.chain(arrow_only.iter().filter(|_| !arrow));
        if let Some((name, _)) = wrong.find(|(_, given)| *given) {
            return Err(Failure::Usage(format!("{name} is not for {format} output")));
        }
        if to != To::Ndjson && path == Path::new("-") && std::io::stdout().is_terminal() {
            let message = "standard output is a terminal, and Arrow and Parquet are binary: \
                           send it to a file or a program, or say --to ndjson";
            return Err(Failure::Usage(message.to_owned()));
        }
        let format = match to {
            To::Arrow => TargetFormat::Ipc(ipc_options(Format::File, args)),
            To::Arrows => TargetFormat::Ipc(ipc_options(Format::Stream, args)),
            To::Parquet => TargetFormat::Parquet(parquet_options(args)),
            To::Ndjson => TargetFormat::Json(JsonOptions::default()),
        };
        if is_folder && path == Path::new("-") {
            let message = "several files cannot be written to standard output";
            return Err(Failure::Usage(message.to_owned()));
        }
        let folder = is_folder.then(|| folder_options(to, args));
        let url = path.to_str().filter(|path| input::is_url(path));
        Ok(Self { path, url, fsync: args.fsync, append: args.folder.append, format, folder })
    }

    /// Whether what is written has been read by others before the end: a pipe or a device.
    pub fn is_stream(&self) -> bool {
        if self.url.is_some() {
            return false;
        }
        let is_file = |path: &Path| path.metadata().map_or(true, |metadata| metadata.is_file());
        self.folder.is_none() && (self.path == Path::new("-") || !is_file(self.path))
    }

    /// With this many threads that encode, instead of one per core.
    #[must_use]
    pub fn with_threads(mut self, threads: Option<usize>) -> Self {
        if let (TargetFormat::Parquet(options), Some(threads)) = (&mut self.format, threads) {
            options.threads = threads;
        }
        self
    }

    /// Creates the file or folder.
    pub fn open(&self, schema: &SchemaRef, interrupt: &Interrupt) -> Outcome<Box<dyn Sink + '_>> {
        let Some(options) = &self.folder else {
            let output = self.output(interrupt)?;
            return self.format.sink(output, schema, None).map_err(not_written);
        };
        let workers = self.format.workers().map_err(not_written)?;
        let make = Box::new(move |output, schema: &SchemaRef| {
            self.format.sink(output, schema, workers.as_ref())
        });
        let folder = self.folder(interrupt)?;
        let sink = FolderSink::new(folder, schema, options.clone(), make).map_err(not_written)?;
        Ok(Box::new(sink))
    }

    fn output(&self, interrupt: &Interrupt) -> Outcome<Output> {
        if let Some(url) = self.url {
            return input::create_url(url);
        }
        let output = Output::create(self.path).map_err(Failure::output)?.with_fsync(self.fsync);
        interrupt.remove_at_exit(output.temporary_path());
        Ok(output)
    }

    fn folder(&self, interrupt: &Interrupt) -> Outcome<Box<dyn Folder>> {
        if let Some(url) = self.url {
            return input::create_folder_url(url, self.append);
        }
        let folder = LocalFolder::new(self.path, self.append, self.fsync);
        let folder = folder.map_err(Failure::output)?;
        let temporary = folder.temporary_path().to_owned();
        // It no longer exists if the work has just ended.
        interrupt.at_exit(move || drop(fs::remove_dir_all(temporary)));
        Ok(Box::new(folder))
    }
}

impl TargetFormat {
    /// Threads that all files of a folder use.
    fn workers(&self) -> Result<Option<Workers>> {
        match self {
            Self::Parquet(options) if options.writer == parquet::Writer::Arrowsmith => {
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

fn not_written(error: Error) -> Failure {
    match error {
        // An option does not suit the schema.
        Error::Config(message) => Failure::Usage(message),
        error => Failure::output(error),
    }
}

/// Whether an output is a folder of files.
fn is_folder(path: &Path, args: &OutputArgs) -> bool {
    let ends_in_separator = path.as_os_str().to_string_lossy().ends_with(['/', MAIN_SEPARATOR]);
    args.folder.are_given() || ends_in_separator || path.is_dir()
}

fn folder_options(to: To, args: &OutputArgs) -> FolderOptions {
    let default = FolderOptions::default();
    let extension = match to {
        To::Arrow => "arrow",
        To::Arrows => "arrows",
        To::Parquet => "parquet",
        To::Ndjson => "jsonl",
    };
    let folder = &args.folder;
    let partitions_max = folder.partitions_max.and_then(|max| usize::try_from(max).ok());
    FolderOptions {
        partition_by: folder.partition_by.clone(),
        rows_per_file: folder.rows_per_file,
        bytes_per_file: folder.bytes_per_file,
        extension: extension.to_owned(),
        partitions_max: partitions_max.unwrap_or(default.partitions_max),
        ..default
    }
}

fn by_extension(path: &Path) -> Outcome<To> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "arrow" | "feather" | "ipc" => Ok(To::Arrow),
        "arrows" => Ok(To::Arrows),
        "parquet" => Ok(To::Parquet),
        "jsonl" | "ndjson" => Ok(To::Ndjson),
        _ => Err(Failure::Usage(format!(
            "cannot tell the format from the name {:?}: end it in .arrow, .arrows, .parquet or .jsonl, or give --to",
            path.display().to_string()
        ))),
    }
}

fn ipc_options(format: Format, args: &OutputArgs) -> IpcOptions {
    let compression = match args.buffer_compression {
        None | Some(BufferCompression::None) => arrowsmith_sink::ipc::BufferCompression::None,
        Some(BufferCompression::Lz4) => arrowsmith_sink::ipc::BufferCompression::Lz4,
        Some(BufferCompression::Zstd) => arrowsmith_sink::ipc::BufferCompression::Zstd,
    };
    IpcOptions { format, compression }
}

fn parquet_options(args: &OutputArgs) -> ParquetOptions {
    let default = ParquetOptions::default();
    let bytes = args.row_group_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let encodings = args.encodings.or(args.no_dictionary.then_some(Encodings::Plain));
    ParquetOptions {
        writer: match args.writer {
            None | Some(Writer::Arrowsmith) => parquet::Writer::Arrowsmith,
            Some(Writer::Reference) => parquet::Writer::Reference,
        },
        codec: args.codec.unwrap_or(default.codec),
        row_group_rows: args
            .row_group_rows
            .and_then(|rows| usize::try_from(rows).ok())
            .unwrap_or(default.row_group_rows),
        row_group_bytes: bytes.unwrap_or(default.row_group_bytes),
        encodings: match encodings {
            None | Some(Encodings::Smallest) => parquet::Choice::Smallest,
            Some(Encodings::Compatible) => parquet::Choice::Compatible,
            Some(Encodings::Plain) => parquet::Choice::Plain,
        },
        bloom_filters: args.bloom_filter.clone(),
        threads: 0,
    }
}
