// SPDX-License-Identifier: Apache-2.0
//! The values that options of the command line accept, with the help text of each.

use arrowsmith_sink::parquet::ParquetOptions;
use arrowsmith_sink::target::{FORMATS, Format, Named};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// `--to`.
#[derive(Debug, Clone, Copy)]
pub enum To {
    /// Files of a format.
    Files(&'static Named),
    /// A Delta table, whose files are Parquet.
    Delta,
}

impl To {
    /// The names of all formats, and `delta`.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        let formats = FORMATS.iter().map(|named| {
            let help = format!("{}: .{}", named.about, named.extensions.join(", ."));
            PossibleValue::new(named.name).aliases(named.aliases).help(help)
        });
        let delta =
            PossibleValue::new("delta").help("A Delta table: a folder of Parquet files and a log");
        let parser = PossibleValuesParser::new(formats.chain([delta]));
        parser.map(|word| {
            let is_called =
                |named: &&Named| named.name == word || named.aliases.contains(&word.as_str());
            FORMATS.iter().find(is_called).map_or(Self::Delta, Self::Files)
        })
    }

    pub fn is_delta(self) -> bool {
        matches!(self, Self::Delta)
    }

    /// The format of the files, with its default options.
    pub fn format(self) -> Format {
        match self {
            Self::Files(named) => (named.format)(),
            Self::Delta => Format::Parquet(ParquetOptions::default()),
        }
    }
}

/// `--buffer-compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BufferCompression {
    None,
    Lz4,
    Zstd,
}

/// `--encodings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Encodings {
    /// The smallest of all encodings of the format
    Smallest,
    /// A dictionary where it is smaller, else plain values: for readers from before 2015
    Compatible,
    /// Plain values only
    Plain,
}

/// `--writer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Writer {
    /// Arrowsmith's own, with as many threads as decode
    Arrowsmith,
    /// That of the `parquet` crate, on one thread
    Reference,
}
