// SPDX-License-Identifier: Apache-2.0
//! What `convert` writes, and where: the name or `--to` selects the format, and the options have to
//! suit it.

use std::io::IsTerminal as _;
use std::path::Path;

use arrow_schema::SchemaRef;
use arrowsmith_core::Error;
use arrowsmith_core::redact::redacted;
use arrowsmith_core::sink::Sink;
use arrowsmith_sink::csv::CsvOptions;
use arrowsmith_sink::folder::FolderOptions;
use arrowsmith_sink::ipc::{self, IpcOptions};
use arrowsmith_sink::json::JsonOptions;
use arrowsmith_sink::parquet::{self, Codec, ParquetOptions};
use arrowsmith_sink::sort::{SortKey, SortOptions};
use arrowsmith_sink::target::{self, Format, TextCompression};

use crate::args::{BufferCompression, Encodings, OutputArgs, To, Writer};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;

/// What `convert` writes, and where.
pub struct Target(target::Target);

impl Target {
    /// The target of a path and its options; an error if an option does not apply to the format.
    pub fn new(path: &Path, args: &OutputArgs) -> Outcome<Self> {
        let (is_stdout, is_folder) = (path == Path::new("-"), is_folder(path, args));
        let format = match args.to {
            Some(to) => Some(to.format()),
            None if is_stdout => {
                let format = ipc::Format::Stream;
                Some(Format::Ipc(IpcOptions { format, ..IpcOptions::default() }))
            }
            None => Format::by_extension(path),
        };
        let format = match format {
            Some(format) => format,
            None if is_folder => Format::Parquet(ParquetOptions::default()),
            None => return Err(unknown(path)),
        };
        check(&format, args)?;
        let is_local = !is_stdout && !path.to_str().is_some_and(crate::input::is_url);
        if args.fsync && !is_local {
            return Err(Failure::Usage("--fsync is for files and folders only".to_owned()));
        }
        if is_stdout && is_binary(&format, args) && std::io::stdout().is_terminal() {
            let message = "standard output is a terminal, and Arrow, Parquet and what is \
                           compressed are binary: send it to a file or a program, or say \
                           --to ndjson or --to csv";
            return Err(Failure::Usage(message.to_owned()));
        }
        if is_stdout && is_folder {
            let message = "several files cannot be written to standard output";
            return Err(Failure::Usage(message.to_owned()));
        }
        #[cfg(not(feature = "store"))]
        if path.to_str().is_some_and(crate::input::is_url) {
            return Err(crate::input::no_store(&path.display().to_string()));
        }
        let format = with_options(format, args)?;
        let append = args.folder.append;
        let target = match args.to.and_then(To::table) {
            Some(table) => {
                let (parquet, folder) = (parquet_options(args), folder_options(args));
                target::Target::table(path, table, parquet, folder, append)
            }
            None if is_folder => target::Target::folder(path, format, folder_options(args), append),
            None => target::Target::file(path, format),
        };
        let target = match sort_options(args) {
            Some(sort) => target.with_sort(sort),
            None => target,
        };
        Ok(Self(target.with_fsync(args.fsync)))
    }

    /// Whether what is written has been read by others before the end: a pipe or a device.
    pub fn is_stream(&self) -> bool {
        self.0.is_stream()
    }

    /// With this many threads that encode, instead of one per core.
    #[must_use]
    pub fn with_threads(self, threads: Option<usize>) -> Self {
        Self(match threads {
            Some(threads) => self.0.with_threads(threads),
            None => self.0,
        })
    }

    /// Creates the file or folder.
    pub fn open(&self, schema: &SchemaRef, interrupt: &Interrupt) -> Outcome<Box<dyn Sink + '_>> {
        let opened = self.0.open(schema, |cleanup| interrupt.at_exit(cleanup));
        opened.map_err(|error| match error {
            // An option does not suit the schema.
            Error::Config(message) => Failure::Usage(message),
            error => Failure::output(error),
        })
    }
}

fn unknown(path: &Path) -> Failure {
    Failure::Usage(format!(
        "cannot tell the format from the name {:?}: end it in one of {}, or give --to",
        redacted(&path.display().to_string()),
        Format::extensions()
    ))
}

/// Checks that every option applies to the format.
fn check(format: &Format, args: &OutputArgs) -> Outcome {
    let parquet_only = [
        ("--codec", args.codec.is_some() && !format.is_text()),
        ("--row-group-rows", args.row_group_rows.is_some()),
        ("--row-group-bytes", args.row_group_bytes.is_some()),
        ("--encodings", args.encodings.is_some()),
        ("--no-dictionary", args.no_dictionary),
        ("--bloom-filter", !args.bloom_filter.is_empty()),
        ("--variant", args.variant),
        ("--writer", args.writer.is_some()),
    ];
    let arrow_only = [("--buffer-compression", args.buffer_compression.is_some())];
    let (name, parquet, arrow) = match format {
        Format::Ipc(_) => ("Arrow", false, true),
        Format::Parquet(_) => ("Parquet", true, false),
        Format::Json(_) => ("JSON", false, false),
        Format::Csv(_) => ("CSV", false, false),
    };
    let wrong = parquet_only.iter().filter(|_| !parquet);
    let mut wrong = wrong.chain(arrow_only.iter().filter(|_| !arrow));
    match wrong.find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!("{option} is not for {name} output"))),
        None if args.writer == Some(Writer::Reference)
            && args.encodings == Some(Encodings::Smallest) =>
        {
            let message = "--encodings smallest is not for --writer reference";
            Err(Failure::Usage(message.to_owned()))
        }
        None => Ok(()),
    }
}

/// How the rows of each file are sorted. A column of folders has one value in each.
fn sort_options(args: &OutputArgs) -> Option<SortOptions> {
    let default = SortOptions::default();
    let bytes_max = args.sort_memory.unwrap_or(default.bytes_max);
    let folders = &args.folder.partition_by;
    let varies = |key: &&SortKey| !folders.iter().any(|folder| folder.has_all_of(&key.column));
    let keys: Vec<SortKey> = args.sort_by.iter().filter(varies).cloned().collect();
    (!keys.is_empty()).then_some(SortOptions { keys, bytes_max })
}

/// Whether an output is a folder of files.
fn is_folder(path: &Path, args: &OutputArgs) -> bool {
    args.to.and_then(To::table).is_some()
        || args.folder.are_given()
        || target::Target::is_folder(path)
}

fn folder_options(args: &OutputArgs) -> FolderOptions {
    let (folder, default) = (&args.folder, FolderOptions::default());
    let partitions_max = folder.partitions_max.and_then(|max| usize::try_from(max).ok());
    FolderOptions {
        partition_by: folder.partition_by.clone(),
        rows_per_file: folder.rows_per_file,
        bytes_per_file: folder.bytes_per_file,
        partitions_max: partitions_max.unwrap_or(default.partitions_max),
        ..default
    }
}

/// Whether the output is not for a terminal.
fn is_binary(format: &Format, args: &OutputArgs) -> bool {
    !format.is_text() || !matches!(args.codec, None | Some(Codec::None))
}

fn with_options(format: Format, args: &OutputArgs) -> Outcome<Format> {
    Ok(match format {
        Format::Ipc(options) => {
            let compression = match args.buffer_compression {
                None | Some(BufferCompression::None) => ipc::BufferCompression::None,
                Some(BufferCompression::Lz4) => ipc::BufferCompression::Lz4,
                Some(BufferCompression::Zstd) => ipc::BufferCompression::Zstd,
            };
            Format::Ipc(IpcOptions { compression, ..options })
        }
        Format::Parquet(_) => Format::Parquet(parquet_options(args)),
        Format::Json(options) => {
            let compression = compression(args, options.compression)?;
            Format::Json(JsonOptions { compression, ..options })
        }
        Format::Csv(options) => {
            let compression = compression(args, options.compression)?;
            Format::Csv(CsvOptions { compression, ..options })
        }
    })
}

/// The compression of a file of text: by `--codec`, or by its name.
fn compression(args: &OutputArgs, by_name: TextCompression) -> Outcome<TextCompression> {
    match args.codec {
        None => Ok(by_name),
        Some(Codec::None) => Ok(TextCompression::None),
        Some(Codec::Gzip(level)) => Ok(TextCompression::Gzip(level)),
        Some(Codec::Zstd(level)) => Ok(TextCompression::Zstd(level)),
        Some(other) => Err(Failure::Usage(format!(
            "--codec {other} is for Parquet: JSON and CSV have none, gzip and zstd"
        ))),
    }
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
        sorted_by: Vec::new(),
        variant: args.variant,
        threads: 0,
    }
}
