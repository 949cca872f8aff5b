// SPDX-License-Identifier: Apache-2.0
//! [`Table`]: the current metadata of a table, and what it becomes with a snapshot more. What is
//! not known of it stays as it is.

use std::io;
use std::sync::Arc;

use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_source::iceberg::is_temporary;
use arrowsmith_source::without_scheme;
use serde_json::{Value, json};

use super::partition::Spec;
use super::schema::column;
use super::{METADATA, METADATA_END};
use crate::table::{Place, identifier, now};

/// Maximum size of a table's metadata, in bytes: parsed, it takes many times as much.
const BYTES_MAX: usize = 16 << 20;

/// Files of earlier metadata that are remembered, as Iceberg's own writers do.
const EARLIER_MAX: usize = 100;

/// A table of a file system.
pub struct Table {
    place: Arc<dyn Place>,
    name: String,
    version: u64,
    metadata: Value,
}

/// A snapshot that is added to a table.
pub(super) struct Snapshot {
    pub(super) id: i64,
    pub(super) sequence: i64,
    /// The URL of its list of manifests.
    pub(super) list: String,
    pub(super) files: usize,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

impl Table {
    /// Reads the current metadata; `None` if there is none. `name` is the name of the table in
    /// errors.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read or is malformed; [`Error::File`] for a table of a
    /// catalog.
    pub fn load(place: Arc<dyn Place>, name: &str) -> Result<Option<Self>> {
        let names = place.list(METADATA)?;
        let mut last = None;
        for file in names.iter().filter(|name| !name.starts_with('.')) {
            let Some((stem, end)) = file.split_once(METADATA_END) else { continue };
            if is_temporary(stem) {
                continue;
            }
            let digits = stem.strip_prefix('v').filter(|it| it.bytes().all(|b| b.is_ascii_digit()));
            let version = digits.and_then(|digits| digits.parse::<u64>().ok());
            let Some(version) = version.filter(|_| end.is_empty()) else {
                let why = match digits.is_some() || stem.ends_with(".gz") || !end.is_empty() {
                    true => "which is compressed",
                    false => "only its catalog adds rows to it",
                };
                return Err(refuse(name, &format!("the metadata file {file}: {why}")));
            };
            last = last.max(Some(version));
        }
        let Some(version) = last else { return Ok(None) };
        let path = file_of(version);
        let bytes = place.read(&path, BYTES_MAX as u64)?;
        let metadata: Value = serde_json::from_slice(&bytes).map_err(|error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            Error::io(format!("{}/{path}", name.trim_end_matches('/')), error)
        })?;
        Ok(Some(Self { place, name: name.to_owned(), version, metadata }))
    }

    /// The number of the current metadata.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// An error if rows cannot be added to the table by what is known here.
    pub(super) fn check_append(&self) -> Result<()> {
        match self.metadata["format-version"].as_i64() {
            Some(2) => {}
            version => {
                let version = version.map_or_else(|| "none".to_owned(), |it| it.to_string());
                return Err(self.refuse(&format!("version {version} of the format")));
            }
        }
        let there = self.location()?;
        if !self.place.is_at(there)? {
            let here = self.place.location()?;
            return Err(self.refuse(&format!("the location {there}, but it is at {here}")));
        }
        let properties = self.metadata["properties"].as_object();
        for (key, value) in properties.into_iter().flatten() {
            let is_other = key == "write.format.default" && value != "parquet";
            if is_other || key.starts_with("encryption.") {
                return Err(self.refuse(&format!("the property {key}")));
            }
        }
        for column in self.columns()? {
            if column.get("write-default").is_some_and(|value| !value.is_null()) {
                return Err(self.refuse("defaults of columns"));
            }
        }
        self.spec().map(drop)
    }

    /// The URL of the table, as it has it.
    pub(super) fn location(&self) -> Result<&str> {
        let location = self.metadata["location"].as_str();
        let location = location.map(|location| location.trim_end_matches('/'));
        location.ok_or_else(|| self.malformed("no location"))
    }

    /// The current schema.
    pub(super) fn schema(&self) -> Result<&Value> {
        let id = &self.metadata["current-schema-id"];
        let schemas = self.metadata["schemas"].as_array().into_iter().flatten();
        let mut schemas = schemas.filter(|schema| schema["schema-id"] == *id);
        schemas.next().ok_or_else(|| self.malformed("no current schema"))
    }

    /// Its columns.
    pub(super) fn columns(&self) -> Result<&[Value]> {
        let fields = self.schema()?["fields"].as_array();
        fields.map(Vec::as_slice).ok_or_else(|| self.malformed("no columns"))
    }

    /// How rows that are added are partitioned.
    pub(super) fn spec(&self) -> Result<Spec> {
        let spec = self.spec_json().ok_or_else(|| self.malformed("no partition spec"))?;
        Spec::parse(spec, self.columns()?).map_err(|what| self.refuse(&what))
    }

    /// The fields of its partition spec.
    pub(super) fn spec_fields(&self) -> Value {
        self.spec_json().map_or(Value::Null, |spec| spec["fields"].clone())
    }

    fn spec_json(&self) -> Option<&Value> {
        let id = &self.metadata["default-spec-id"];
        let specs = self.metadata["partition-specs"].as_array();
        specs.into_iter().flatten().find(|spec| spec["spec-id"] == *id)
    }

    /// The current snapshot.
    fn snapshot(&self) -> Result<Option<&Value>> {
        let id = self.metadata["current-snapshot-id"].as_i64().filter(|id| *id != -1);
        let Some(id) = id else { return Ok(None) };
        let snapshots = self.metadata["snapshots"].as_array().into_iter().flatten();
        let mut it = snapshots.filter(|snapshot| snapshot["snapshot-id"].as_i64() == Some(id));
        it.next().map(Some).ok_or_else(|| self.malformed("no current snapshot"))
    }

    /// The id of the current snapshot.
    pub(super) fn snapshot_id(&self) -> Result<Option<i64>> {
        Ok(self.snapshot()?.and_then(|snapshot| snapshot["snapshot-id"].as_i64()))
    }

    /// The path of the list of the current snapshot's manifests.
    pub(super) fn list(&self) -> Result<Option<String>> {
        let Some(snapshot) = self.snapshot()? else { return Ok(None) };
        let list = snapshot["manifest-list"].as_str();
        let list = list.ok_or_else(|| self.refuse("a snapshot without a list of manifests"))?;
        let below = without_scheme(list).strip_prefix(without_scheme(self.location()?));
        let below = below.and_then(|below| below.strip_prefix('/'));
        let below = below.filter(|path| path.split('/').all(|name| name != ".."));
        below.map(|path| Some(path.to_owned())).ok_or_else(|| self.refuse("metadata elsewhere"))
    }

    /// The sequence number of the next snapshot.
    pub(super) fn next_sequence(&self) -> Result<i64> {
        let last = self.metadata["last-sequence-number"].as_i64();
        let next = last.and_then(|last| last.checked_add(1)).filter(|next| *next > 0);
        next.ok_or_else(|| self.malformed("no last sequence number"))
    }

    /// The next metadata: its path, and what it is with a snapshot more.
    pub(super) fn with(&self, snapshot: &Snapshot) -> Result<(String, Vec<u8>)> {
        let before = self.snapshot()?;
        let earlier = json!({
            "metadata-file": format!("{}/{}", self.location()?, file_of(self.version)),
            "timestamp-ms": self.metadata["last-updated-ms"],
        });
        let mut metadata = self.metadata.clone();
        add(&mut metadata, snapshot, before);
        push(&mut metadata["metadata-log"], earlier);
        if let Some(log) = metadata["metadata-log"].as_array_mut() {
            let old = log.len().saturating_sub(EARLIER_MAX);
            log.drain(..old);
        }
        let version = self.version.checked_add(1);
        let version = version.ok_or_else(|| self.malformed("no next version"))?;
        let bytes = metadata.to_string().into_bytes();
        match bytes.len() > BYTES_MAX {
            true => Err(self.refuse(&format!("metadata of more than {BYTES_MAX} bytes"))),
            false => Ok((file_of(version), bytes)),
        }
    }

    /// Reads what others have committed meanwhile.
    ///
    /// # Errors
    /// As [`Table::load`]; [`Error::Config`] if schema, partitions or place are no longer the same.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let Some(now) = Self::load(Arc::clone(&self.place), &self.name)? else {
            return Err(Error::Config(format!("{}: the table is gone", self.name)));
        };
        now.check_append()?;
        let is_same = now.schema()? == self.schema()? && now.spec_json() == self.spec_json();
        if !is_same || now.location()? != self.location()? {
            let message = "another process has changed the table's schema meanwhile";
            return Err(Error::Config(format!("{}: {message}", self.name)));
        }
        *self = now;
        Ok(())
    }

    pub(super) fn refuse(&self, what: &str) -> Error {
        refuse(&self.name, what)
    }

    fn malformed(&self, what: &str) -> Error {
        let error = io::Error::new(io::ErrorKind::InvalidData, format!("the metadata has {what}"));
        let path = file_of(self.version);
        Error::io(format!("{}/{path}", self.name.trim_end_matches('/')), error)
    }
}

/// The path of the metadata of a version.
pub(super) fn file_of(version: u64) -> String {
    format!("{METADATA}/v{version}{METADATA_END}")
}

/// The schema of a table that is created.
pub(super) fn schema(columns: Vec<(&str, i32, Value)>) -> Value {
    let fields = columns.into_iter().map(|(name, id, kind)| column(name, id, kind));
    json!({"type": "struct", "schema-id": 0, "fields": fields.collect::<Vec<_>>()})
}

/// The first metadata of a table: its path, and what it is.
pub(super) fn first(
    location: &str,
    schema: &Value,
    last_column: i32,
    spec: &Spec,
    fields: &Value,
    snapshot: Option<&Snapshot>,
) -> (String, Vec<u8>) {
    let mut metadata = json!({
        "format-version": 2,
        "table-uuid": identifier(),
        "location": location,
        "last-sequence-number": 0,
        "last-updated-ms": now(),
        "last-column-id": last_column,
        "schemas": [schema],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": spec.id, "fields": fields}],
        "default-spec-id": spec.id,
        "last-partition-id": spec.last_id(),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
    });
    if let Some(snapshot) = snapshot {
        add(&mut metadata, snapshot, None);
    }
    (file_of(1), metadata.to_string().into_bytes())
}

/// Makes a snapshot the current one.
fn add(metadata: &mut Value, snapshot: &Snapshot, before: Option<&Value>) {
    let Snapshot { id, sequence, list, files, rows, bytes } = snapshot;
    // Time does not go back in a table, whatever clocks its writers have.
    let time = now().max(metadata["last-updated-ms"].as_i64().unwrap_or(0));
    let mut summary = json!({
        "operation": "append",
        "added-data-files": files.to_string(),
        "added-records": rows.to_string(),
        "added-files-size": bytes.to_string(),
        "engine-name": "arrowsmith",
        "engine-version": env!("CARGO_PKG_VERSION"),
    });
    let totals = [
        ("total-data-files", *files as u64),
        ("total-records", *rows),
        ("total-files-size", *bytes),
        ("total-delete-files", 0),
        ("total-position-deletes", 0),
        ("total-equality-deletes", 0),
    ];
    for (key, more) in totals {
        let total = match before {
            None => Some(0),
            // Unknown stays unknown.
            Some(before) => before["summary"][key].as_str().and_then(|it| it.parse::<u64>().ok()),
        };
        if let Some(total) = total.and_then(|total| total.checked_add(more)) {
            summary[key] = json!(total.to_string());
        }
    }
    let mut entry = json!({
        "snapshot-id": id, "sequence-number": sequence, "timestamp-ms": time,
        "manifest-list": list, "summary": summary, "schema-id": metadata["current-schema-id"],
    });
    if let Some(before) = before {
        entry["parent-snapshot-id"] = before["snapshot-id"].clone();
    }
    push(&mut metadata["snapshots"], entry);
    push(&mut metadata["snapshot-log"], json!({"snapshot-id": id, "timestamp-ms": time}));
    metadata["last-sequence-number"] = json!(sequence);
    metadata["last-updated-ms"] = json!(time);
    metadata["current-snapshot-id"] = json!(id);
    // A branch may have settings of its own.
    if !metadata["refs"]["main"].is_object() {
        if !metadata["refs"].is_object() {
            metadata["refs"] = json!({});
        }
        metadata["refs"]["main"] = json!({"type": "branch"});
    }
    metadata["refs"]["main"]["snapshot-id"] = json!(id);
}

/// Adds a value to a list, which may be missing.
fn push(list: &mut Value, value: Value) {
    match list {
        Value::Array(values) => values.push(value),
        other => *other = json!([value]),
    }
}

fn refuse(name: &str, what: &str) -> Error {
    let message = format!("an Iceberg table with {what}, which is not supported");
    let unsupported = Error::file(FileErrorKind::Unsupported, message);
    unsupported.at(|place| place.source = Some(name.into()))
}
