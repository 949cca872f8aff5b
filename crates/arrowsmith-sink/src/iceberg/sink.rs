// SPDX-License-Identifier: Apache-2.0
//! [`IcebergSink`]: a folder of Parquet files as a sink, and the commit that makes them part of a
//! table.

use std::io;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use arrowsmith_core::sink::{Sink, SinkSummary};
use arrowsmith_core::{Error, Result};
use arrowsmith_source::iceberg::encoded;
use serde_json::Value;

use super::manifest::{About, Entry, Listed, list_with, manifest};
use super::metadata::{self, Snapshot, Table};
use super::partition::Spec;
use super::schema::{self, Ids};
use super::{METADATA, partition};
use crate::folder::{FolderSink, Partition};
use crate::table::{
    Added, Columns, Conversion, Failed, File, FilesOf, Place, TRIES_MAX, create_once, identifier,
    lock, random,
};

/// The folder of the files.
const DATA: &str = "data/";

/// Maximum size of a list of manifests, in bytes.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// Writes record batches to new files of a table, which are part of it when it is finished.
pub struct IcebergSink<'a> {
    commit: Commit,
    columns: Columns,
    files: Box<FolderSink<'a>>,
    added: Arc<Mutex<Added>>,
}

impl<'a> IcebergSink<'a> {
    /// Starts to write; `table` is the table that the rows are added to, `None` to create one at
    /// this place.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that is not in the table, has another type there, or one that
    /// Iceberg does not have; [`Error::Config`] for partitions other than those of the table;
    /// [`Error::File`] for a table with something that is not known here.
    pub fn new(
        table: Option<Table>,
        place: Arc<dyn Place>,
        name: &str,
        schema: &Schema,
        mut files: FilesOf<'a>,
    ) -> Result<Self> {
        schema::names_are_unique("", schema.fields())?;
        let fields = schema.fields().iter().map(|field| {
            let data_type = schema::written(field.name(), field.data_type())?;
            Ok(field.as_ref().clone().with_data_type(data_type).with_nullable(true))
        });
        let fields = fields.collect::<Result<Vec<Field>>>()?;
        let append = files.append;
        let by = &mut files.options.partition_by;
        let (commit, columns) = match table {
            Some(table) => {
                table.check_append()?;
                let columns = fields.into_iter().map(|field| conversion(table.columns()?, field));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                all_are_given(table.columns()?, &columns)?;
                let spec = table.spec()?;
                if by.is_empty() {
                    *by = spec.partitions();
                }
                let commit = Commit {
                    location: table.location()?.to_owned(),
                    schema: table.schema()?.clone(),
                    last_column: 0,
                    fields: table.spec_fields(),
                    spec,
                    table: Some(table),
                    place,
                    append,
                    name: name.to_owned(),
                };
                (commit, columns)
            }
            None => create(place, name, fields, by, append)?,
        };
        if *by != commit.spec.partitions() {
            let text = |partitions: &[Partition]| {
                partitions.iter().map(Partition::to_string).collect::<Vec<_>>()
            };
            let (of, other) = (text(&commit.spec.partitions()), text(by));
            let message = format!("{name}: the table is partitioned by {of:?}, not by {other:?}");
            return Err(Error::Config(message));
        }
        let missing = commit.missing(&columns)?;
        let columns = Columns::new(columns, missing);
        // Readers of other libraries want them in the files, too.
        files.options.keeps_columns = true;
        let spec = commit.spec.clone();
        let check = Box::new(move |path: &str| spec.values(path).map(drop));
        let (files, added) = files.sink(columns.schema(), DATA, check)?;
        Ok(Self { commit, columns, files, added })
    }
}

impl Sink for IcebergSink<'_> {
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

/// A table that does not exist, and its columns.
fn create(
    place: Arc<dyn Place>,
    name: &str,
    fields: Vec<Field>,
    partitions: &[Partition],
    append: bool,
) -> Result<(Commit, Vec<Conversion>)> {
    let mut ids = Ids::default();
    let numbers: Vec<i32> = fields.iter().map(|_| ids.next()).collect();
    let columns = fields.iter().zip(numbers);
    let columns =
        columns.map(|(field, id)| (field.name().as_str(), id, schema::type_of(field, &mut ids)));
    let schema = metadata::schema(columns.collect());
    let columns = schema["fields"].as_array().map_or(&[][..], Vec::as_slice);
    schema::can_be_read(columns)?;
    let spec = Spec::new(partitions, columns)?;
    let conversions = fields.iter().zip(columns).map(|(field, column)| Conversion {
        field: schema::identified(field, &column["id"], &column["type"]),
        nullable: true,
    });
    let conversions = conversions.collect();
    let commit = Commit {
        table: None,
        location: place.location()?,
        place,
        append,
        name: name.to_owned(),
        fields: spec.json(columns),
        spec,
        schema,
        last_column: ids.last(),
    };
    Ok((commit, conversions))
}

/// A column of the batches in the table.
fn conversion(columns: &[Value], field: Field) -> Result<Conversion> {
    let Some(column) = columns.iter().find(|column| column["name"] == *field.name()) else {
        let message = "is no column of the table: leave it out, or add it to the table before";
        return Err(Error::schema(field.name(), message));
    };
    let given = schema::type_of(&field, &mut Ids::default());
    let field = match schema::same(&given, &column["type"]) {
        true => field,
        false => match schema::wider(&given, &column["type"]) {
            Some(data_type) => field.with_data_type(data_type),
            None => {
                let (table, given) = (schema::shown(&column["type"]), schema::shown(&given));
                let message = format!("is {table} in the table, not {given}");
                return Err(Error::schema(field.name(), message));
            }
        },
    };
    let nullable = column["required"] != true;
    let field = schema::identified(&field, &column["id"], &column["type"]);
    Ok(Conversion { field: field.with_nullable(nullable), nullable })
}

/// Checks that no column is missing that may not be null.
fn all_are_given(columns: &[Value], given: &[Conversion]) -> Result<()> {
    let is_given = |column: &Value| given.iter().any(|given| column["name"] == *given.field.name());
    let mut required = columns.iter().filter(|column| column["required"] == true);
    match required.find(|column| !is_given(column)) {
        Some(column) => {
            let name = column["name"].as_str().unwrap_or_default();
            Err(Error::schema(name, "is missing, and may not be null in the table"))
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
    location: String,
    /// The table's, as metadata has it.
    schema: Value,
    /// The last id of a column of a table that is created.
    last_column: i32,
    spec: Spec,
    /// The fields of `spec` as metadata has them.
    fields: Value,
}

/// A manifest that has been written, and what is in it.
struct Manifest {
    path: String,
    bytes: usize,
    snapshot: i64,
    files: usize,
    rows: u64,
    file_bytes: u64,
}

impl Commit {
    /// The columns that the table is partitioned by and that are not among these: they are null.
    fn missing(&self, given: &[Conversion]) -> Result<Vec<Field>> {
        let Some(table) = &self.table else { return Ok(Vec::new()) };
        let mut missing: Vec<Field> = Vec::new();
        for partition in self.spec.partitions() {
            let is_it = |field: &Field| field.name() == partition.column();
            if given.iter().any(|given| is_it(&given.field)) || missing.iter().any(is_it) {
                continue;
            }
            let columns = table.columns()?;
            let column = columns.iter().find(|column| column["name"] == partition.column());
            if let Some(column) = column
                && let Some(data_type) = column["type"].as_str().and_then(schema::arrow_of)
            {
                let field = Field::new(partition.column(), data_type, true);
                missing.push(schema::identified(&field, &column["id"], &column["type"]));
            }
        }
        Ok(missing)
    }

    /// Creates the next metadata. If that fails, all files are deleted, unless it may be there.
    fn run(&mut self, files: &[File]) -> Result<()> {
        // A file without rows is no part of the table.
        let is_empty = |file: &&File| file.statistics.rows == 0;
        files.iter().filter(is_empty).for_each(|file| self.place.delete(&file.path));
        let files: Vec<&File> = files.iter().filter(|file| !is_empty(file)).collect();
        if files.is_empty() && self.table.is_some() {
            return Ok(());
        }
        let mut written: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        let done = self.create(&files, &mut written);
        if done.as_ref().is_err_and(|failed| failed.is_certain) {
            written.iter().for_each(|path| self.place.delete(path));
        }
        done.map_err(|failed| failed.error)
    }

    /// Writes the manifest and the metadata; `written` are the paths of all files.
    fn create(
        &mut self,
        files: &[&File],
        written: &mut Vec<String>,
    ) -> std::result::Result<(), Failed> {
        let manifest = match files {
            [] => None,
            files => Some(self.manifest(files, written)?),
        };
        for _ in 0..TRIES_MAX {
            let (list, path, bytes) = self.next(manifest.as_ref(), written)?;
            if create_once(self.place.as_ref(), &path, &bytes)? {
                self.hint();
                return Ok(());
            }
            if let Some(list) = list {
                self.place.delete(&list);
            }
            match &mut self.table {
                Some(table) => table.refresh()?,
                None => self.join()?,
            }
        }
        let message = "others commit to the table all the time";
        Err(Error::Config(format!("{}: {message}", self.name)).into())
    }

    /// Writes the manifest of the files.
    fn manifest(&self, files: &[&File], written: &mut Vec<String>) -> Result<Manifest> {
        let snapshot = (random() >> 1).cast_signed().max(1);
        let about =
            About { schema: &self.schema, spec: &self.spec, fields: &self.fields, snapshot };
        let partitions = files.iter().map(|file| self.spec.values(&file.path));
        let partitions: Vec<Vec<partition::PartitionValue>> = partitions.collect::<Result<_>>()?;
        let entries = files.iter().zip(&partitions).map(|(file, partition)| Entry {
            location: format!("{}/{}", self.location, file.path),
            partition,
            bytes: file.bytes,
            statistics: &file.statistics,
        });
        let bytes = manifest(&about, &entries.collect::<Vec<_>>());
        let path = format!("{METADATA}/{}-m0.avro", identifier());
        self.write(&path, &bytes, written)?;
        Ok(Manifest {
            path,
            bytes: bytes.len(),
            snapshot,
            files: files.len(),
            rows: files.iter().map(|file| file.statistics.rows).sum(),
            file_bytes: files.iter().map(|file| file.bytes).sum(),
        })
    }

    /// Writes the list of manifests, if there is one more; returns its path, and the next metadata.
    fn next(
        &self,
        manifest: Option<&Manifest>,
        written: &mut Vec<String>,
    ) -> Result<(Option<String>, String, Vec<u8>)> {
        let Some(manifest) = manifest else {
            let (path, bytes) = self.first(None);
            return Ok((None, path, bytes));
        };
        let (sequence, parent, before) = match &self.table {
            Some(table) => {
                let before = table.list()?.map(|path| {
                    let bytes = self.place.read(&path, LIST_BYTES_MAX)?;
                    encoded(&bytes).map_err(|what| {
                        let error = io::Error::new(io::ErrorKind::InvalidData, what);
                        Error::io(format!("{}/{path}", self.name.trim_end_matches('/')), error)
                    })
                });
                (table.next_sequence()?, table.snapshot_id()?, before.transpose()?)
            }
            None => (1, None, None),
        };
        let listed = Listed {
            location: &format!("{}/{}", self.location, manifest.path),
            bytes: manifest.bytes,
            spec: self.spec.id,
            sequence,
            snapshot: manifest.snapshot,
            files: manifest.files,
            rows: manifest.rows,
        };
        let bytes = list_with(before, &listed, parent).map_err(|what| match &self.table {
            Some(table) => table.refuse(&what),
            None => Error::Config(what),
        })?;
        let list = format!("{METADATA}/snap-{}-{}.avro", manifest.snapshot, identifier());
        self.write(&list, &bytes, written)?;
        let snapshot = Snapshot {
            id: manifest.snapshot,
            sequence,
            list: format!("{}/{list}", self.location),
            files: manifest.files,
            rows: manifest.rows,
            bytes: manifest.file_bytes,
        };
        let (path, bytes) = match &self.table {
            Some(table) => table.with(&snapshot)?,
            None => self.first(Some(&snapshot)),
        };
        Ok((Some(list), path, bytes))
    }

    /// The first metadata of a table.
    fn first(&self, snapshot: Option<&Snapshot>) -> (String, Vec<u8>) {
        let Self { location, schema, last_column, spec, fields, .. } = self;
        metadata::first(location, schema, *last_column, spec, fields, snapshot)
    }

    /// Writes a file that has a name of its own.
    fn write(&self, path: &str, bytes: &[u8], written: &mut Vec<String>) -> Result<()> {
        written.push(path.to_owned());
        match self.place.create(path, bytes)? {
            true => Ok(()),
            false => Err(Error::io(path, io::ErrorKind::AlreadyExists.into())),
        }
    }

    /// Tells readers which metadata is the last.
    fn hint(&self) {
        let version = self.table.as_ref().map_or(0, Table::version) + 1;
        // The rows are in the table. Readers look for later versions than it names.
        let path = format!("{METADATA}/version-hint.text");
        let _ = self.place.replace(&path, version.to_string().as_bytes());
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
        // The files are written, with the ids of their columns.
        let has_same =
            table.columns()? == self.schema["fields"].as_array().map_or(&[][..], |it| it);
        if !has_same || table.spec_fields() != self.fields || table.spec()?.id != self.spec.id {
            let what = "with other columns or partitions";
            return Err(Error::Config(format!("{}: {message}, {what}", self.name)));
        }
        self.table = Some(table);
        Ok(())
    }
}
