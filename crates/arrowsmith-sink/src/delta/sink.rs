// SPDX-License-Identifier: Apache-2.0
//! [`DeltaSink`]: a folder of Parquet files as a sink, and the commit that makes them part of a
//! table.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use arrowsmith_core::sink::{Sink, SinkSummary};
use arrowsmith_core::{Error, Result};
use arrowsmith_source::partitions_of;
use serde_json::json;

use super::actions::{Action, Add, Format, Metadata, Protocol};
use super::log::Table;
use super::names::{commit_name, encoded};
use super::schema::{self, Column};
use super::{LOG, statistics};
use crate::folder::FolderSink;
use crate::table::{
    Added, Columns, Conversion, Failed, File, FilesOf, Place, TRIES_MAX, create_once, identifier,
    lock, now,
};

/// Writes record batches to new files of a table, which are part of it when it is finished.
pub struct DeltaSink<'a> {
    commit: Commit,
    columns: Columns,
    files: Box<FolderSink<'a>>,
    added: Arc<Mutex<Added>>,
}

impl<'a> DeltaSink<'a> {
    /// Starts to write; `table` is the table that the rows are added to, `None` to create one at
    /// this place.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that is not in the table, has another type there, or one that
    /// Delta does not have; [`Error::Config`] for partitions other than those of the table, and for
    /// a table with a feature that is not known here.
    pub fn new(
        table: Option<Table>,
        place: Arc<dyn Place>,
        name: &str,
        schema: &Schema,
        files: FilesOf<'a>,
    ) -> Result<Self> {
        let mut files = files;
        let options = &mut files.options;
        if let Some(table) = &table
            && options.partition_by.is_empty()
        {
            let names = table.partition_columns().iter().map(|name| name.parse());
            options.partition_by = names.collect::<Result<_>>()?;
        }
        schema::names_are_valid("", schema.fields())?;
        let mut given = Vec::new();
        let mut fields = Vec::new();
        for field in schema.fields() {
            let data_type = schema::written(field.name(), field.data_type())?;
            given.push(Column::new(field.name(), schema::type_of(&data_type)));
            fields.push(field.as_ref().clone().with_data_type(data_type));
        }
        let partitions = options.partition_by.iter();
        let partitions: Vec<String> = partitions.map(|partition| partition.name()).collect();
        let columns = match &table {
            None => {
                schema::can_be_read(&given)?;
                None
            }
            Some(table) => {
                table.check_append()?;
                if table.partition_columns() != partitions {
                    return Err(Error::Config(format!(
                        "{name}: the table is partitioned by {:?}, not by {partitions:?}",
                        table.partition_columns()
                    )));
                }
                Some(table.columns()?)
            }
        };
        let known = columns.as_deref();
        let columns =
            given.iter().zip(fields).map(|(given, field)| conversion(known, given, field));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        if let Some(known) = known {
            all_are_given(known, &given, &partitions)?;
        }
        let columns = Columns::new(columns, Vec::new());
        let parts = options.partition_by.iter().filter(|partition| !partition.is_whole());
        given.extend(parts.map(|part| Column::new(&part.name(), json!(part.delta_type()))));
        let name = name.to_owned();
        let append = files.append;
        let commit = Commit { table, place, append, name, partitions, columns: given };
        let (files, added) = files.sink(columns.schema(), "", Box::new(check_path))?;
        Ok(Self { commit, columns, files, added })
    }
}

impl Sink for DeltaSink<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.columns.converted(batch)?;
        self.files.write(&batch)
    }

    fn bytes(&mut self) -> Result<u64> {
        self.files.bytes()
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        // The files are in the folder then, and no part of the table.
        let summary = self.files.finish()?;
        let files = std::mem::take(&mut lock(&self.added).files);
        self.commit.run(&files)?;
        Ok(summary)
    }
}

/// An empty text would be another value in the table.
fn check_path(path: &str) -> Result<()> {
    let empty = partitions_of(path.split('/'))
        .into_iter()
        .find(|(_, value)| value.as_ref().is_some_and(String::is_empty));
    let message = "is an empty text, which would be null as the partition of a Delta table";
    empty.map_or(Ok(()), |(name, _)| Err(Error::schema(name, message)))
}

/// A column of the batches in the table.
fn conversion(known: Option<&[Column]>, given: &Column, field: Field) -> Result<Conversion> {
    let Some(known) = known else {
        return Ok(Conversion { field: field.with_nullable(true), nullable: true });
    };
    let Some(column) = known.iter().find(|column| column.name == given.name) else {
        let message = "is no column of the table: leave it out, or add it to the table before";
        return Err(Error::schema(&given.name, message));
    };
    let data_type = match schema::same(&column.data_type, &given.data_type) {
        true => field.data_type().clone(),
        false if schema::widens(&given.data_type, &column.data_type) => {
            schema::arrow_of(&given.name, &column.data_type)?
        }
        false => {
            let message = format!("is {} in the table, not {}", column.data_type, given.data_type);
            return Err(Error::schema(&given.name, message));
        }
    };
    let field = field.with_data_type(data_type).with_nullable(true);
    Ok(Conversion { field, nullable: column.nullable })
}

/// Checks that no column is missing that may not be null. Those of parts of times are computed.
fn all_are_given(known: &[Column], given: &[Column], partitions: &[String]) -> Result<()> {
    let is_given = |name: &String| {
        given.iter().any(|column| column.name == *name) || partitions.contains(name)
    };
    match known.iter().find(|column| !column.nullable && !is_given(&column.name)) {
        Some(column) => {
            Err(Error::schema(&column.name, "is missing, and may not be null in the table"))
        }
        None => Ok(()),
    }
}

/// What makes files part of a table.
struct Commit {
    table: Option<Table>,
    place: Arc<dyn Place>,
    /// Whether rows are added to a table that another process creates meanwhile.
    append: bool,
    name: String,
    partitions: Vec<String>,
    /// Of a table that is created.
    columns: Vec<Column>,
}

impl Commit {
    /// Creates the next commit. If that fails, the files are deleted, unless it may be there.
    fn run(&mut self, files: &[File]) -> Result<()> {
        let mut bytes = self.text(files)?;
        let undone = |commit: &Self, error| {
            files.iter().for_each(|file| commit.place.delete(&file.path));
            Err(error)
        };
        for _ in 0..TRIES_MAX {
            let version = self.table.as_ref().map_or(0, |table| table.version() + 1);
            let name = format!("{LOG}/{}", commit_name(version));
            match create_once(self.place.as_ref(), &name, &bytes) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Failed { error, is_certain: true }) => return undone(self, error),
                Err(Failed { error, is_certain: false }) => return Err(error),
            }
            let refreshed = match &mut self.table {
                Some(table) => table.refresh(),
                None => self.join(),
            };
            let refreshed = refreshed.and_then(|()| self.text(files));
            match refreshed {
                Ok(text) => bytes = text,
                Err(error) => return undone(self, error),
            }
        }
        let message = "others commit to the table all the time";
        undone(self, Error::Config(format!("{}: {message}", self.name)))
    }

    /// Adds the rows to the table that another process has created meanwhile.
    fn join(&mut self) -> Result<()> {
        let message = "another process has created a table here meanwhile";
        let table = Table::load(Arc::clone(&self.place), &self.name)?;
        let Some(table) = table.filter(|_| self.append) else {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, message);
            return Err(Error::io(&self.name, error));
        };
        table.check_append()?;
        let known = table.columns()?;
        // The files are written: nothing is converted any more.
        let takes = |given: &Column| {
            known.iter().any(|column| {
                column.name == given.name
                    && column.nullable
                    && schema::same(&column.data_type, &given.data_type)
            })
        };
        let other = self.columns.iter().find(|given| !takes(given));
        if other.is_some() || table.partition_columns() != self.partitions {
            let what = other.map_or("other partitions".to_owned(), |column| {
                format!("another type for the column {}, or without it", column.name)
            });
            return Err(Error::Config(format!("{}: {message}, with {what}", self.name)));
        }
        all_are_given(&known, &self.columns, &self.partitions)?;
        self.table = Some(table);
        Ok(())
    }

    /// The lines of the commit.
    fn text(&self, files: &[File]) -> Result<Vec<u8>> {
        let now = now();
        let mode = if self.table.is_some() { "Append" } else { "ErrorIfExists" };
        let by = serde_json::to_string(&self.partitions).unwrap_or_default();
        let mut actions = vec![Action {
            commit_info: Some(json!({
                "timestamp": now,
                "operation": "WRITE",
                "operationParameters": {"mode": mode, "partitionBy": by},
                "isBlindAppend": true,
                "engineInfo": concat!("arrowsmith/", env!("CARGO_PKG_VERSION")),
                "txnId": identifier(),
            })),
            ..Action::default()
        }];
        if self.table.is_none() {
            actions.push(Action { protocol: Some(protocol(&self.columns)), ..Action::default() });
            let metadata = Metadata {
                id: identifier(),
                format: Format { provider: "parquet".to_owned(), options: BTreeMap::new() },
                schema_string: schema::text(&self.columns),
                partition_columns: self.partitions.clone(),
                configuration: BTreeMap::new(),
                created_time: Some(now),
            };
            actions.push(Action { meta_data: Some(metadata), ..Action::default() });
        }
        let zoneless: Vec<&str> = self.zoneless();
        for file in files {
            let folders = file.path.split('/').rev().skip(1).collect::<Vec<_>>();
            let values = partitions_of(folders.into_iter().rev()).into_iter();
            let values = values.map(|(name, value)| {
                let is_zoneless = zoneless.contains(&name.as_str());
                let value = value.map(|v| if is_zoneless { v.replace('T', " ") } else { v });
                (name, value)
            });
            let add = Add {
                path: encoded(&file.path),
                partition_values: values.collect(),
                size: i64::try_from(file.bytes).unwrap_or(i64::MAX),
                modification_time: now,
                data_change: true,
                stats: Some(statistics::text(&file.statistics)),
                deletion_vector: None,
                commit: 0,
            };
            actions.push(Action { add: Some(add), ..Action::default() });
        }
        let mut bytes = Vec::new();
        for action in actions {
            let line = serde_json::to_vec(&action);
            bytes.extend(line.map_err(|error| Error::io(&self.name, error.into()))?);
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    /// Partition columns of times without a zone, which the log has with a space.
    fn zoneless(&self) -> Vec<&str> {
        let is_zoneless = |column: &&Column| column.data_type == "timestamp_ntz";
        self.columns.iter().filter(is_zoneless).map(|column| column.name.as_str()).collect()
    }
}

/// The protocol that a table with these columns needs.
fn protocol(columns: &[Column]) -> Protocol {
    let needs = columns.iter().any(|column| column.data_type.to_string().contains("timestamp_ntz"));
    let feature = || needs.then(|| vec!["timestampNtz".to_owned()]);
    Protocol {
        min_reader_version: if needs { 3 } else { 1 },
        min_writer_version: if needs { 7 } else { 2 },
        reader_features: feature(),
        writer_features: feature(),
    }
}
