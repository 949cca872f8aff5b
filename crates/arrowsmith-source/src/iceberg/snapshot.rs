// SPDX-License-Identifier: Apache-2.0
//! The files of a snapshot: its list of manifests, and these.

use arrowsmith_core::Result;
use serde::Deserialize;

use super::avro::{self, Record, Value};
use super::deletes::{Deletes, deletes};
use super::partition::{has_text, text};
use super::schema::Column;
use super::{Reading, Snapshot, malformed};

/// Maximum size of a manifest, and of the list of them, in bytes.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of files of a table, and of manifests.
const FILES_MAX: usize = 10_000_000;

/// Maximum memory of the paths and partition values of all files, in bytes.
const KEPT_BYTES_MAX: u64 = 4 << 30;

/// How a table is partitioned, or was when some of its files were written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Spec {
    spec_id: i64,
    fields: Vec<PartitionField>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PartitionField {
    source_id: Option<i32>,
    field_id: Option<i64>,
    name: String,
    transform: String,
}

/// A file with rows of the table.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: String,
    pub(super) sequence: i64,
    /// Values of the columns, by their ids, by which it is partitioned as they are.
    pub(super) values: Vec<(i32, Option<String>)>,
}

/// A manifest: the list of some of a snapshot's files.
struct Manifest {
    path: String,
    spec: Option<i64>,
    /// For files whose entries have none.
    sequence: i64,
    /// Whether it lists files with deleted rows.
    has_deletes: bool,
}

impl Reading<'_> {
    /// The files of a snapshot, in the order of its manifests, and those of deleted rows.
    pub(super) fn snapshot_files(&self, snapshot: &Snapshot) -> Result<(Vec<Found>, Vec<Deletes>)> {
        let mut manifests = Vec::new();
        if let Some(list) = &snapshot.manifest_list {
            self.each(list, |_, record| {
                manifests.push(manifest(record)?);
                match manifests.len() > FILES_MAX {
                    true => Err(format!("more than {FILES_MAX} manifests").into()),
                    false => Ok(()),
                }
            })?;
        }
        manifests.extend(snapshot.manifests.iter().map(|path| Manifest {
            path: path.clone(),
            spec: None,
            sequence: 0,
            has_deletes: false,
        }));
        let columns = &self.schema()?.fields;
        let (mut found, mut deleted, mut kept) = (Vec::new(), Vec::new(), 0_u64);
        for manifest in &manifests {
            self.each(&manifest.path, |file, record| {
                // 2: it was deleted by this snapshot.
                if record.get("status").long() == Some(2) {
                    return Ok(());
                }
                let Value::Record(data) = record.get("data_file") else {
                    return Err("an entry without a file".to_owned().into());
                };
                let sequence = record.get("sequence_number").long().unwrap_or(manifest.sequence);
                if manifest.has_deletes {
                    let one = deletes(data, sequence)?;
                    kept += one.held() as u64;
                    deleted.push(one);
                    return within(found.len() + deleted.len(), kept);
                }
                let spec = manifest.spec.or(file.entry("partition-spec-id").and_then(parsed));
                let one = Found {
                    path: self.data_path(data)?,
                    sequence,
                    values: self.values(data, spec.unwrap_or(0), columns)?,
                };
                let texts = one.values.iter().filter_map(|(_, value)| value.as_ref());
                let texts = texts.map(String::len).sum::<usize>();
                let held = one.path.len() + texts + size_of::<Found>() + 48 * one.values.len();
                kept += held as u64;
                found.push(one);
                within(found.len() + deleted.len(), kept)
            })?;
        }
        Ok((found, deleted))
    }

    /// Calls `each` for every record of an Avro file of the table.
    fn each(
        &self,
        location: &str,
        mut each: impl FnMut(&avro::File<'_>, &Record<'_>) -> Result<(), Wrong>,
    ) -> Result<()> {
        let location = self.located(location);
        let bytes = self.place.read(&location, MANIFEST_BYTES_MAX)?;
        let wrong = |what: String| malformed(&location, &what);
        let head = avro::File::open(&bytes).map_err(wrong)?;
        let mut refused = None;
        let read = avro::File::open(&bytes).and_then(|file| {
            file.records(|record| match each(&head, record) {
                Ok(()) => Ok(()),
                Err(Wrong::Malformed(what)) => Err(what),
                Err(Wrong::Unsupported(what)) => {
                    refused = Some(self.refuse(&what));
                    Err(String::new())
                }
            })
        });
        match refused {
            Some(error) => Err(error),
            None => read.map_err(wrong),
        }
    }

    /// The path of a file of rows.
    fn data_path(&self, data: &Record<'_>) -> Result<String, Wrong> {
        if data.get("content").long().is_some_and(|content| content != 0) {
            return Err("a manifest of rows with a file of deletes".to_owned().into());
        }
        let format = data.get("file_format").text().unwrap_or_default();
        if !format.eq_ignore_ascii_case("parquet") {
            return Err(Wrong::Unsupported(format!("files of {format}")));
        }
        if !data.get("key_metadata").is_null() {
            return Err(Wrong::Unsupported("encrypted files".to_owned()));
        }
        let path = data.get("file_path").text();
        path.map(str::to_owned).ok_or_else(|| "an entry without a path".to_owned().into())
    }

    /// The values of the columns by which a file is partitioned as they are.
    fn values(
        &self,
        data: &Record<'_>,
        spec: i64,
        columns: &[Column],
    ) -> Result<Vec<(i32, Option<String>)>, Wrong> {
        let Value::Record(partition) = data.get("partition") else { return Ok(Vec::new()) };
        let specs = &self.metadata.partition_specs;
        let fields = specs.iter().find(|known| known.spec_id == spec).map(|spec| &spec.fields);
        let fields = fields.or(self.metadata.partition_spec.as_ref().filter(|_| specs.is_empty()));
        let fields = fields.ok_or_else(|| format!("a partition spec {spec} that is not there"))?;
        let mut values = Vec::new();
        for field in fields.iter().filter(|field| field.transform == "identity") {
            let column = columns.iter().find(|column| Some(column.id) == field.source_id);
            let Some(column) = column.filter(|column| has_text(column)) else { continue };
            let value = match field.field_id {
                Some(id) if !partition.by_id(id).is_null() => partition.by_id(id),
                _ => partition.get(&field.name),
            };
            values.push((column.id, text(column, value)?));
        }
        Ok(values)
    }
}

/// Refuses more files, or more memory of them, than the limits allow.
fn within(files: usize, kept: u64) -> Result<(), Wrong> {
    match files > FILES_MAX || kept > KEPT_BYTES_MAX {
        true => Err(format!("a table of {files} files and more").into()),
        false => Ok(()),
    }
}

/// What is wrong with a record.
pub(super) enum Wrong {
    Malformed(String),
    /// The table has something that is not read.
    Unsupported(String),
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self::Malformed(what)
    }
}

/// An entry of a list of manifests.
fn manifest(record: &Record<'_>) -> Result<Manifest, Wrong> {
    let path = record.get("manifest_path").text().ok_or("a manifest without a path".to_owned())?;
    Ok(Manifest {
        path: path.to_owned(),
        spec: record.get("partition_spec_id").long(),
        sequence: record.get("sequence_number").long().unwrap_or(0),
        has_deletes: record.get("content").long().is_some_and(|content| content != 0),
    })
}

fn parsed(text: &str) -> Option<i64> {
    text.parse().ok()
}
