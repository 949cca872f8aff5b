// SPDX-License-Identifier: Apache-2.0
//! Delta and Iceberg tables as inputs: their logs and manifests say which Parquet files are read.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{Schema, SchemaRef};
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_sink::delta;
use arrowsmith_sink::table::{LocalPlace, Place};
#[cfg(feature = "store")]
use arrowsmith_source::store::{self, StoreOptions};
use arrowsmith_source::{DataFile, Input, iceberg};
use parquet::arrow::ArrowWriter;

use super::{ColumnMapping, ParquetReader, ReaderBuilder};
use crate::options::ParquetReadOptions;

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
    /// How the columns are found in its files.
    pub mapping: ColumnMapping,
}

impl Table {
    /// The table in a folder: a path, or with the feature `store` a URL. Of an Iceberg table a file
    /// `….metadata.json` may be named instead, which says what the table was when that was written.
    ///
    /// # Errors
    /// [`Error::Config`] for a folder without a table; [`Error::File`] for a table with something
    /// that is not supported, such as rows of Iceberg deleted by equality;
    /// [`Error::Io`] for files that are missing or malformed.
    pub fn open(format: TableFormat, name: &str) -> Result<Self> {
        match format {
            #[cfg(feature = "store")]
            _ if is_url(name) => Self::open_with(format, name, &StoreOptions::default()),
            TableFormat::Delta => delta_table(name),
            TableFormat::Iceberg => {
                iceberg_table(iceberg::Table::load(&iceberg::LocalPlace, name)?)
            }
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
                iceberg_table(iceberg::Table::load(&place, &iceberg::StorePlace::location(name))?)
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
        let mut builder = builder.column_mapping(self.mapping);
        if !self.files.is_empty() {
            return builder.schema(self.schema).open(self.files);
        }
        let mut schema = self.schema;
        if let Some(partitions) = builder.take_partitions() {
            schema = Arc::new(with_types(&schema, &partitions)?);
        }
        // So that what is wrong with options is the same as in tables with rows.
        builder.schema(Arc::clone(&schema)).open([empty_file(&schema)?])
    }
}

/// An Iceberg table, without the rows that files of positions delete.
fn iceberg_table(mut table: iceberg::Table) -> Result<Table> {
    let mut deleted = iceberg::Positions::new(&table);
    for file in &table.position_files {
        let (path, row) = ("file_path".to_owned(), "pos".to_owned());
        let columns = Some(vec![path, row]);
        // The types of the file, whatever Arrow's its writer had.
        let options =
            ParquetReadOptions { columns, arrow_schema: false, ..ParquetReadOptions::default() };
        let input = file.input.again().ok_or_else(|| Error::Config("a file is gone".to_owned()))?;
        let source = file.input.name();
        let wrong = |message: &str| {
            let wrong = Error::file(FileErrorKind::Corrupt, message);
            wrong.at(|place| place.source.clone_from(&source))
        };
        let opened = ReaderBuilder::new().options(options).open([input]);
        let mut reader = opened.map_err(|error| match error {
            Error::Config(message) => wrong(&message),
            other => other,
        })?;
        while let Some(batch) = reader.next_batch()? {
            let column = |name: &str| batch.column_by_name(name);
            let paths = column("file_path").and_then(|paths| paths.as_string_opt::<i32>());
            let rows = column("pos").and_then(|rows| rows.as_primitive_opt::<Int64Type>());
            let (Some(paths), Some(rows)) = (paths, rows) else {
                return Err(wrong("no file of deleted rows: expected file_path: utf8, pos: int64"));
            };
            let pairs = paths.iter().zip(rows).filter_map(|(path, row)| path.zip(row));
            deleted.add(file, pairs)?;
        }
    }
    for (place, rows) in deleted.finish() {
        if let Some(file) = table.files.get_mut(place) {
            file.deleted = Some(rows);
        }
    }
    Ok(Table { schema: table.schema, files: table.files, mapping: ColumnMapping::Id })
}

/// A schema in which some columns have other types.
fn with_types(schema: &Schema, types: &Schema) -> Result<Schema> {
    let mut fields = schema.fields().to_vec();
    for field in types.fields() {
        let column = fields.iter_mut().find(|column| column.name() == field.name());
        let column = column.ok_or_else(|| {
            Error::Config(format!("the table has no partition column {}", field.name()))
        })?;
        *column = Arc::new(column.as_ref().clone().with_data_type(field.data_type().clone()));
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
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
    delta_table_at(Arc::new(LocalPlace::new(folder)), name, |file| {
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
    place: Arc<dyn Place>,
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
    Ok(Table { schema: table.schema()?, files, mapping: table.mapping()? })
}
