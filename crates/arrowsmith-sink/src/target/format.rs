// SPDX-License-Identifier: Apache-2.0
//! The formats of files, by name and by extension, and the sink of each. A new format is added
//! here. `mod.rs` decides where the files are written.

use std::path::Path;

use arrow_schema::SchemaRef;
use arrowsmith_core::Result;
use arrowsmith_core::sink::{Output, Sink};

use crate::csv::{CsvOptions, CsvSink};
use crate::ipc::{self, IpcOptions, IpcSink};
use crate::json::{JsonOptions, JsonSink};
use crate::parquet::{ParquetOptions, ParquetSink, Workers, Writer};
use crate::text::TextCompression;

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

/// A format by its name: a row of [`FORMATS`].
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// What `--to` takes.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Extensions of its files; those of a folder have the first.
    pub extensions: &'static [&'static str],
    /// What it is, for help texts.
    pub about: &'static str,
    /// The format with its default options.
    pub format: fn() -> Format,
}

/// The formats that have a name.
pub const FORMATS: &[Named] = &[
    Named {
        name: "arrow",
        aliases: &[],
        extensions: &["arrow", "feather", "ipc"],
        about: "Arrow IPC file",
        format: || ipc_format(ipc::Format::File),
    },
    Named {
        name: "arrows",
        aliases: &[],
        extensions: &["arrows"],
        about: "Arrow IPC stream",
        format: || ipc_format(ipc::Format::Stream),
    },
    Named {
        name: "parquet",
        aliases: &[],
        extensions: &["parquet"],
        about: "Parquet",
        format: || Format::Parquet(ParquetOptions::default()),
    },
    Named {
        name: "ndjson",
        aliases: &["jsonl"],
        extensions: &["jsonl", "ndjson"],
        about: "JSON, one object per line",
        format: || Format::Json(JsonOptions::default()),
    },
    Named {
        name: "csv",
        aliases: &[],
        extensions: &["csv"],
        about: "Comma-separated values with a header",
        format: || Format::Csv(CsvOptions::default()),
    },
    Named {
        name: "tsv",
        aliases: &[],
        extensions: &["tsv"],
        about: "Tab-separated values with a header",
        format: || Format::Csv(CsvOptions { delimiter: b'\t', ..CsvOptions::default() }),
    },
];

fn ipc_format(format: ipc::Format) -> Format {
    Format::Ipc(IpcOptions { format, ..IpcOptions::default() })
}

impl Format {
    /// The format, with its default options, of a file of this name; `None` if its extension is
    /// that of none. Text may be compressed: `x.jsonl.gz`, `x.csv.zst`.
    pub fn by_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        if let Some(compression) = TextCompression::by_extension(&extension) {
            // Not twice.
            let inner = Path::new(path.file_stem()?);
            let name = inner.extension()?.to_str()?.to_ascii_lowercase();
            let format = Self::by_extension(inner)?.with_compression(compression);
            return format.filter(|_| TextCompression::by_extension(&name).is_none());
        }
        let named = FORMATS.iter().find(|named| named.extensions.contains(&extension.as_str()))?;
        Some((named.format)())
    }

    /// The extensions of new files, for errors about a name that has none of them.
    pub fn extensions() -> String {
        let first = FORMATS.iter().filter_map(|named| named.extensions.first());
        let extensions: Vec<String> = first.map(|extension| format!(".{extension}")).collect();
        extensions.join(", ")
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
        match self {
            Self::Json(_) | Self::Csv(_) => true,
            Self::Ipc(_) | Self::Parquet(_) => false,
        }
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
    pub(super) fn workers(&self) -> Result<Option<Workers>> {
        match self {
            Self::Parquet(options) if options.writer == Writer::Arrowsmith => {
                options.workers().map(Some)
            }
            Self::Ipc(_) | Self::Parquet(_) | Self::Json(_) | Self::Csv(_) => Ok(None),
        }
    }

    pub(super) fn sink(
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
