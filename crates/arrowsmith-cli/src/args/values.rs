// SPDX-License-Identifier: Apache-2.0
//! The values that options of the command line accept, with the help text of each.

use arrowsmith_sink::parquet::ParquetOptions;
use arrowsmith_sink::target::{FORMATS, Format, Named, TableFormat};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// The formats of tables, with the help text of each.
const TABLES: [(&str, TableFormat, &str); 2] = [
    ("delta", TableFormat::Delta, "A Delta table: a folder of Parquet files and a log"),
    (
        "iceberg",
        TableFormat::Iceberg,
        "An Iceberg table without a catalog: a folder of Parquet files and metadata",
    ),
];

/// `--to`.
#[derive(Debug, Clone, Copy)]
pub enum To {
    /// Files of a format.
    Files(&'static Named),
    /// A table, whose files are Parquet.
    Table(TableFormat),
}

impl To {
    /// The names of all formats of files and of tables.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        let formats = FORMATS.iter().map(|named| {
            let help = format!("{}: .{}", named.about, named.extensions.join(", ."));
            PossibleValue::new(named.name).aliases(named.aliases).help(help)
        });
        let tables = TABLES.iter().map(|(name, _, help)| PossibleValue::new(name).help(help));
        let parser = PossibleValuesParser::new(formats.chain(tables));
        parser.map(|word| {
            let is_called =
                |named: &&Named| named.name == word || named.aliases.contains(&word.as_str());
            let table = TABLES.iter().find(|(name, ..)| *name == word);
            let table = table.map_or(TableFormat::Delta, |(_, table, _)| *table);
            FORMATS.iter().find(is_called).map_or(Self::Table(table), Self::Files)
        })
    }

    /// The format of the table, if it is one.
    pub fn table(self) -> Option<TableFormat> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }

    /// The format of the files, with its default options.
    pub fn format(self) -> Format {
        match self {
            Self::Files(named) => (named.format)(),
            Self::Table(_) => Format::Parquet(ParquetOptions::default()),
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
