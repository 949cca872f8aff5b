// SPDX-License-Identifier: Apache-2.0
//! [`Table`]: the log of a table, replayed: its last checkpoint, then the commits after it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_source::deletion_vector::Rows;

use super::actions::{Action, Add, Metadata, Protocol};
use super::checkpoint;
use super::deletions::{self, At};
use super::names::{Names, commit_name, decoded, encoded};
use super::place::Place;
use super::schema::{self, Column};

/// Maximum size of a commit, and of a part of a checkpoint, in bytes.
const COMMIT_BYTES_MAX: u64 = 256 << 20;
const CHECKPOINT_BYTES_MAX: u64 = 1 << 30;

/// Maximum size of an action, in bytes: parsed, it takes several times as much.
const ACTION_BYTES_MAX: usize = 64 << 20;

/// Maximum number of files of a table.
const FILES_MAX: usize = 10_000_000;

/// Maximum memory of what is kept of all files, in bytes: a checkpoint may store one long text for
/// many of them.
const KEPT_BYTES_MAX: u64 = 4 << 30;

/// Features of tables that readers here know, or that change nothing for them. What a file with
/// deleted rows or renamed columns has is noticed where it is used.
const READER_FEATURES: [&str; 5] =
    ["columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"];

/// Features that change nothing for a writer that only adds files, or whose demands are looked for
/// in the table's properties.
const WRITER_FEATURES: [&str; 12] = [
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "invariants",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
];

/// Properties of a table that demand something of every file that is added.
const DEMANDS: [&str; 4] = [
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.enableInCommitTimestamps",
    "delta.enableRowTracking",
];

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    /// Its path, relative to the table.
    pub path: String,
    /// The values of the partition columns, in their order; `None` is null.
    pub partitions: Vec<(String, Option<String>)>,
    /// Its rows that have been deleted.
    pub deleted: Option<Rows>,
}

impl TableFile {
    /// Its path as a part of a URL.
    pub fn url_path(&self) -> String {
        encoded(&self.path)
    }
}

/// A table as its log describes it.
pub struct Table {
    place: Arc<dyn Place>,
    name: String,
    version: u64,
    protocol: Protocol,
    metadata: Metadata,
    files: BTreeMap<String, Add>,
}

impl Table {
    /// Reads the log; `None` if there is none. `name` is the name of the table in errors.
    ///
    /// # Errors
    /// [`Error::Io`] if the log cannot be read, is incomplete or malformed.
    pub fn load(place: Arc<dyn Place>, name: &str) -> Result<Option<Self>> {
        let names = Names::new(&place.list()?);
        let Some(last) = names.last() else { return Ok(None) };
        let mut replay = Replay::default();
        let mut next = 0;
        if let Some((version, parts)) = names.checkpoint() {
            for part in parts {
                let bytes = place.read(part, CHECKPOINT_BYTES_MAX)?;
                let read = checkpoint::actions(bytes, |line| replay.apply(line));
                read.map_err(|reason| malformed(name, part, &reason))?;
            }
            next = version + 1;
        }
        for version in next..=last {
            commit(place.as_ref(), name, version, &mut replay)?;
        }
        let (Some(protocol), Some(metadata)) = (replay.protocol, replay.metadata) else {
            return Err(malformed(name, super::LOG, "there is no protocol or no schema"));
        };
        let name = name.to_owned();
        Ok(Some(Self { place, name, version: last, protocol, metadata, files: replay.files }))
    }

    /// The number of the last commit.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The schema of the table as Arrow's: every column may be null.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that is not known.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(schema::arrow(&self.columns()?)?.into())
    }

    /// The names of the columns whose values are in the log instead of the files.
    pub fn partition_columns(&self) -> &[String] {
        &self.metadata.partition_columns
    }

    /// The files of the table, those that were added last first.
    ///
    /// # Errors
    /// [`Error::File`] for a table with a feature that is not known here: files with mapped names
    /// of columns, files elsewhere; [`Error::Io`] if the rows that were deleted cannot be read.
    pub fn files(&self) -> Result<Vec<TableFile>> {
        self.check_read()?;
        // Each file has a value for each of the columns.
        let names = &self.metadata.partition_columns;
        let per_file = names.iter().map(|name| name.len() + VALUE_BYTES).sum::<usize>();
        if self.files.len().saturating_mul(per_file) as u64 > KEPT_BYTES_MAX {
            let (files, columns) = (self.files.len(), names.len());
            return Err(self.refuse(&format!("{files} files by {columns} partition columns")));
        }
        let mut files: Vec<&Add> = self.files.values().collect();
        files.sort_by_key(|add| std::cmp::Reverse(add.modification_time));
        let found = files.iter().map(|add| {
            let path = decoded(&add.path);
            let is_within = path.as_ref().is_some_and(|path| {
                let is_url = path.contains("://");
                !is_url && !path.starts_with('/') && path.split('/').all(|name| name != "..")
            });
            let Some(path) = path.filter(|_| is_within) else {
                return Err(self.refuse("files outside of its folder"));
            };
            let partitions = self.metadata.partition_columns.iter().map(|name| {
                let value = add.partition_values.get(name).cloned().flatten();
                (name.clone(), value.filter(|value| !value.is_empty()))
            });
            Ok(TableFile { path, partitions: partitions.collect(), deleted: None })
        });
        let mut found = found.collect::<Result<Vec<_>>>()?;
        self.find_deleted(&files, &mut found)?;
        Ok(found)
    }

    /// Reads which rows of the files have been deleted. Files of vectors have those of many files.
    fn find_deleted(&self, adds: &[&Add], files: &mut [TableFile]) -> Result<()> {
        let mut vectors = Vec::new();
        let mut kept = 0;
        let mut keep = |file: &mut TableFile, rows: Rows| {
            kept += size_of_val(&*rows) as u64;
            file.deleted = Some(rows);
            match kept > KEPT_BYTES_MAX {
                true => Err(self.refuse(&format!("ranges of deleted rows of {kept} bytes"))),
                false => Ok(()),
            }
        };
        for (index, add) in adds.iter().enumerate() {
            let Some(vector) = &add.deletion_vector else { continue };
            match vector.at().map_err(|what| self.refuse(&what))? {
                At::Here(bytes) => {
                    let rows = vector.rows(&bytes);
                    let commit = commit_name(add.commit);
                    let wrong = |what: String| malformed(&self.name, &commit, &what);
                    keep(&mut files[index], rows.map_err(wrong)?)?;
                }
                At::File(path, offset) => vectors.push((path, offset, index, vector)),
            }
        }
        vectors.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        for of_file in vectors.chunk_by(|a, b| a.0 == b.0) {
            let path = &of_file[0].0;
            let bytes = self.place.read_of_table(path, deletions::FILE_BYTES_MAX)?;
            for (_, offset, index, vector) in of_file {
                let rows = vector.rows_of_file(&bytes, *offset);
                let wrong = |what: String| {
                    let error = io::Error::new(io::ErrorKind::InvalidData, what);
                    Error::io(format!("{}/{path}", self.name.trim_end_matches('/')), error)
                };
                keep(&mut files[*index], rows.map_err(wrong)?)?;
            }
        }
        Ok(())
    }

    fn check_read(&self) -> Result<()> {
        let protocol = &self.protocol;
        let version = protocol.min_reader_version;
        let features = protocol.reader_features.iter().flatten().map(String::as_str);
        self.known("read", version, 3, features, &READER_FEATURES)?;
        self.no_mapping()?;
        self.is_parquet()
    }

    pub(super) fn columns(&self) -> Result<Vec<Column>> {
        schema::parse(&self.metadata.schema_string)
    }

    /// An error if files cannot be added to the table by what is known here.
    pub(super) fn check_append(&self) -> Result<()> {
        self.check_read()?;
        let protocol = &self.protocol;
        let version = protocol.min_writer_version;
        let features = protocol.writer_features.iter().flatten().map(String::as_str);
        self.known("add to", version, 7, features, &WRITER_FEATURES)?;
        for (key, value) in &self.metadata.configuration {
            let is_true = value.as_ref().is_some_and(|value| value.eq_ignore_ascii_case("true"));
            if key.starts_with("delta.constraints.") || (is_true && DEMANDS.contains(&&**key)) {
                return Err(self.refuse(&format!("the property {key}")));
            }
        }
        match self.columns()?.iter().find_map(|column| column.demand().map(str::to_owned)) {
            Some(demand) => Err(self.refuse(&format!("a column with {demand}"))),
            None => Ok(()),
        }
    }

    /// Reads the commits that others have made meanwhile.
    ///
    /// # Errors
    /// As [`Table::load`]; [`Error::Config`] if schema or protocol are no longer the same.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let names = Names::new(&self.place.list()?);
        while names.last().is_some_and(|last| last > self.version) {
            let mut replay = Replay::default();
            commit(self.place.as_ref(), &self.name, self.version + 1, &mut replay)?;
            let same_protocol = replay.protocol.is_none_or(|new| new == self.protocol);
            if !same_protocol || replay.metadata.is_some_and(|new| new != self.metadata) {
                let message = "another process has changed the table's schema meanwhile";
                return Err(Error::Config(format!("{}: {message}", self.name)));
            }
            self.version += 1;
        }
        Ok(())
    }

    fn known<'a>(
        &self,
        what: &str,
        version: u32,
        most: u32,
        mut features: impl Iterator<Item = &'a str>,
        known: &[&str],
    ) -> Result<()> {
        if version > most {
            return Err(self.refuse(&format!("version {version} of the protocol to {what} it")));
        }
        match features.find(|feature| !known.contains(feature)) {
            Some(feature) => Err(self.refuse(&format!("the feature {feature}"))),
            None => Ok(()),
        }
    }

    fn no_mapping(&self) -> Result<()> {
        match self.metadata.configuration.get("delta.columnMapping.mode") {
            None | Some(None) => Ok(()),
            Some(Some(mode)) if mode == "none" => Ok(()),
            Some(Some(_)) => Err(self.refuse("mapped names of columns")),
        }
    }

    fn is_parquet(&self) -> Result<()> {
        match self.metadata.format.provider.as_str() {
            "parquet" => Ok(()),
            other => Err(self.refuse(&format!("files of {other}"))),
        }
    }

    fn refuse(&self, what: &str) -> Error {
        let message = format!("a Delta table with {what}, which is not supported");
        let unsupported = Error::file(FileErrorKind::Unsupported, message);
        unsupported.at(|place| place.source = Some(self.name.as_str().into()))
    }
}

/// What a log says so far.
#[derive(Default)]
struct Replay {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    files: BTreeMap<String, Add>,
    /// The commit that is read.
    commit: u64,
    /// About the memory of the files.
    kept_bytes: u64,
}

/// About the memory of a partition value besides its text, in bytes.
const VALUE_BYTES: usize = 64;

/// About the memory of a file of a table, in bytes.
fn kept_bytes(add: &Add) -> u64 {
    let values = add
        .partition_values
        .iter()
        .map(|(name, value)| name.len() + value.as_ref().map_or(0, String::len) + VALUE_BYTES);
    let vector = add.deletion_vector.as_ref().map_or(0, |vector| vector.path_or_inline_dv.len());
    // The path is there twice.
    (size_of::<Add>() + VALUE_BYTES + 2 * add.path.len() + values.sum::<usize>() + vector) as u64
}

impl Replay {
    fn apply(&mut self, line: &[u8]) -> std::result::Result<(), String> {
        if line.len() > ACTION_BYTES_MAX {
            return Err(format!("an action of more than {ACTION_BYTES_MAX} bytes"));
        }
        let action: Action = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        self.protocol = action.protocol.or_else(|| self.protocol.take());
        self.metadata = action.meta_data.or_else(|| self.metadata.take());
        if action.sidecar.is_some() {
            return Err("a checkpoint with sidecars, which is not supported".to_owned());
        }
        // A commit that deletes rows of a file adds it again and removes what it was before, in
        // either order.
        let is_before = |add: &Add| add.commit != self.commit;
        let removed =
            action.remove.filter(|remove| self.files.get(&remove.path).is_some_and(is_before));
        let removed = removed.and_then(|remove| self.files.remove(&remove.path));
        let replaced = action.add.and_then(|mut add| {
            add.commit = self.commit;
            self.kept_bytes += kept_bytes(&add);
            self.files.insert(add.path.clone(), add)
        });
        for gone in [removed, replaced].iter().flatten() {
            self.kept_bytes -= kept_bytes(gone);
        }
        if self.files.len() > FILES_MAX {
            return Err(format!("more than {FILES_MAX} files"));
        }
        match self.kept_bytes > KEPT_BYTES_MAX {
            true => Err(format!("names of files of more than {KEPT_BYTES_MAX} bytes")),
            false => Ok(()),
        }
    }
}

/// Replays a commit.
fn commit(place: &dyn Place, table: &str, version: u64, replay: &mut Replay) -> Result<()> {
    let name = commit_name(version);
    replay.commit = version;
    let bytes = place.read(&name, COMMIT_BYTES_MAX)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    for line in lines {
        replay.apply(line).map_err(|reason| malformed(table, &name, &reason))?;
    }
    Ok(())
}

fn malformed(table: &str, file: &str, reason: &str) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
    Error::io(format!("{}/{}/{file}", table.trim_end_matches('/'), super::LOG), error)
}
