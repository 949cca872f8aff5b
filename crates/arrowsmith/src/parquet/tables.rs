// SPDX-License-Identifier: Apache-2.0
//! Delta and Iceberg tables as inputs: their logs and manifests say which Parquet files are read.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use arrowsmith_core::{Error, Result};
use arrowsmith_sink::delta;
#[cfg(feature = "store")]
use arrowsmith_source::store::{self, StoreOptions};
use arrowsmith_source::{DataFile, Input, iceberg};
use parquet::arrow::ArrowWriter;

use super::{ParquetReader, ReaderBuilder};

/// The formats of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Delta Lake: a log of JSON and Parquet, in the folder `_delta_log`.
    Delta,
    /// Apache Iceberg: metadata in JSON and Avro, in the folder `metadata`.
    Iceberg,
}

impl FromStr for TableFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "delta" => Ok(Self::Delta),
            "iceberg" => Ok(Self::Iceberg),
            other => Err(Error::Config(format!("table {other:?}: there are delta, iceberg"))),
        }
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delta => "Delta",
            Self::Iceberg => "Iceberg",
        })
    }
}

/// The current version of a table.
#[derive(Debug)]
pub struct Table {
    /// Its columns.
    pub schema: SchemaRef,
    /// Its files, those that were added last first; none of a table that is empty.
    pub files: Vec<DataFile>,
    /// Whether files have columns by the ids of the schema, see [`ReaderBuilder::columns_by_id`].
    pub columns_by_id: bool,
}

impl Table {
    /// The table in a folder: a path, or with the feature `store` a URL. Of an Iceberg table a file
    /// `….metadata.json` may be named instead, which says what the table was when that was written.
    ///
    /// # Errors
    /// [`Error::Config`] for a folder without a table; [`Error::File`] for a table with something
    /// that is not supported: deleted rows of Iceberg, renamed columns of Delta; [`Error::Io`] for
    /// files that are missing or malformed.
    pub fn open(format: TableFormat, name: &str) -> Result<Self> {
        match format {
            #[cfg(feature = "store")]
            _ if is_url(name) => Self::open_with(format, name, &StoreOptions::default()),
            TableFormat::Delta => delta_table(name),
            TableFormat::Iceberg => Ok(iceberg::Table::load(&iceberg::LocalPlace, name)?.into()),
        }
    }

    /// [`Table::open`] with the settings of the store.
    ///
    /// # Errors
    /// As [`Table::open`]; [`Error::Io`] if the store does not answer.
    #[cfg(feature = "store")]
    pub fn open_with(format: TableFormat, name: &str, options: &StoreOptions) -> Result<Self> {
        match format {
            _ if !is_url(name) => Self::open(format, name),
            TableFormat::Delta => delta_table_of_store(name, options),
            TableFormat::Iceberg => {
                let place = iceberg::StorePlace::new(options.clone());
                Ok(iceberg::Table::load(&place, &iceberg::StorePlace::location(name))?.into())
            }
        }
    }

    /// The types of its partition columns: what
    /// [`partitions`](crate::ParquetReadOptions::partitions) of the options is, unless others are
    /// wanted; `None` if it has none.
    #[must_use]
    pub fn partitions(&self) -> Option<Schema> {
        let first = self.files.first()?;
        let is_partition = |column: &str| first.partitions.iter().any(|(name, _)| name == column);
        let fields = self.schema.fields().iter().filter(|field| is_partition(field.name()));
        let fields: Vec<_> = fields.cloned().collect();
        (!fields.is_empty()).then(|| Schema::new(fields))
    }

    /// Reads it.
    ///
    /// # Errors
    /// As [`ReaderBuilder::open`].
    pub fn reader(self, builder: ReaderBuilder) -> Result<ParquetReader> {
        let builder = builder.schema(Arc::clone(&self.schema)).columns_by_id(self.columns_by_id);
        match self.files.is_empty() {
            false => builder.open(self.files),
            // So that what is wrong with options is the same as in tables with rows.
            true => builder.open([empty_file(&self.schema)?]),
        }
    }
}

impl From<iceberg::Table> for Table {
    fn from(table: iceberg::Table) -> Self {
        Self { schema: table.schema, files: table.files, columns_by_id: true }
    }
}

/// A file with these columns and no rows.
fn empty_file(schema: &SchemaRef) -> Result<Input> {
    let written = ArrowWriter::try_new(Vec::new(), Arc::clone(schema), None)
        .and_then(ArrowWriter::into_inner)
        .map_err(|error| Error::Config(error.to_string()))?;
    Ok(Input::bytes(written))
}

#[cfg(feature = "store")]
fn is_url(name: &str) -> bool {
    name.contains("://") && store::is_url(name)
}

fn delta_table(name: &str) -> Result<Table> {
    let folder = Path::new(name);
    delta_table_at(Arc::new(delta::LocalPlace::new(folder)), name, |file| {
        Ok(Input::Path(folder.join(&file.path)))
    })
}

#[cfg(feature = "store")]
fn delta_table_of_store(name: &str, options: &StoreOptions) -> Result<Table> {
    let place = Arc::new(store::Prefix::new(name, options)?);
    delta_table_at(place, name, |file| {
        let url = format!("{}/{}", name.trim_end_matches('/'), file.url_path());
        let object = store::expand_url_with(&url, super::EXTENSIONS, options)?.pop();
        let object = object.map(|object| object.input);
        object.ok_or_else(|| Error::Config(format!("{url}: there is no such object")))
    })
}

fn delta_table_at(
    place: Arc<dyn delta::Place>,
    name: &str,
    input: impl Fn(&delta::TableFile) -> Result<Input>,
) -> Result<Table> {
    let Some(table) = delta::Table::load(place, name)? else {
        let message = format!("{name}: there is no Delta table (no _delta_log with commits)");
        return Err(Error::Config(message));
    };
    let files = table.files()?.into_iter();
    let files = files.map(|file| {
        let input = input(&file)?;
        Ok(DataFile { input, partitions: file.partitions, deleted: file.deleted })
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    Ok(Table { schema: table.schema()?, files, columns_by_id: false })
}
