// SPDX-License-Identifier: Apache-2.0
//! [`Table`]: the log of a table, replayed: its last checkpoint, then the commits after it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::ColumnMapping;
use arrowsmith_source::deletion_vector::Rows;

use super::actions::{Action, Add, Metadata, Protocol, Sidecar};
use super::deletions::{self, At};
use super::names::{Names, commit_name, decoded, encoded};
use super::schema::{self, Column};
use super::{LOG, checkpoint};
use crate::table::Place;

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

/// The folder of the log with the sidecars of checkpoints, and their maximum number in one file.
const SIDECARS: &str = "_sidecars";
const SIDECARS_MAX: usize = 100_000;

/// Features of tables that readers here know, or that change nothing for them.
const READER_FEATURES: [&str; 7] = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
];

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
        let names = Names::new(&place.list(LOG)?);
        let Some(last) = names.last() else { return Ok(None) };
        let mut replay = Replay::default();
        let mut next = 0;
        if let Some((version, parts)) = names.checkpoint() {
            for part in parts {
                let mut sidecars = Vec::new();
                replay.checkpoint(place.as_ref(), name, part, Some(&mut sidecars))?;
                for sidecar in sidecars {
                    replay.checkpoint(place.as_ref(), name, &sidecar, None)?;
                }
            }
            next = version + 1;
        }
        for version in next..=last {
            commit(place.as_ref(), name, version, &mut replay)?;
        }
        let (Some(protocol), Some(metadata)) = (replay.protocol, replay.metadata) else {
            return Err(malformed(name, LOG, "there is no protocol or no schema"));
        };
        let name = name.to_owned();
        Ok(Some(Self { place, name, version: last, protocol, metadata, files: replay.files }))
    }

    /// The number of the last commit.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The schema of the table as Arrow's: every column may be null. The metadata of each field is
    /// what [`Table::mapping`] needs.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that is not known; [`Error::File`] as [`Table::mapping`].
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(schema::arrow(&self.columns()?, self.mapping()?)?.into())
    }

    /// How the columns of the schema are found in the files.
    ///
    /// # Errors
    /// [`Error::File`] for a way that is not known here.
    pub fn mapping(&self) -> Result<ColumnMapping> {
        let mode = self.metadata.configuration.get("delta.columnMapping.mode");
        match mode.and_then(Option::as_deref) {
            None | Some("none") => Ok(ColumnMapping::None),
            Some("name") => Ok(ColumnMapping::Name),
            Some("id") => Ok(ColumnMapping::Id),
            Some(other) => Err(self.refuse(&format!("columns mapped by {other}"))),
        }
    }

    /// The names of the columns whose values are in the log instead of the files.
    pub fn partition_columns(&self) -> &[String] {
        &self.metadata.partition_columns
    }

    /// The files of the table, those that were added last first.
    ///
    /// # Errors
    /// [`Error::File`] for a table with a feature that is not known here, such as files elsewhere;
    /// [`Error::Io`] if the rows that were deleted cannot be read.
    pub fn files(&self) -> Result<Vec<TableFile>> {
        self.check_read()?;
        // Each file has a value for each of the columns.
        let names = &self.metadata.partition_columns;
        let per_file = names.iter().map(|name| name.len() + VALUE_BYTES).sum::<usize>();
        if self.files.len().saturating_mul(per_file) as u64 > KEPT_BYTES_MAX {
            let (files, columns) = (self.files.len(), names.len());
            return Err(self.refuse(&format!("{files} files by {columns} partition columns")));
        }
        let (columns, mapping) = (self.columns()?, self.mapping()?);
        let by_name: HashMap<&str, &Column> =
            columns.iter().map(|column| (column.name.as_str(), column)).collect();
        // The log has them by their names in files.
        let names = names.iter().map(|name| {
            let stored = by_name.get(name.as_str());
            (name, stored.map_or(name.as_str(), |column| column.physical_name(mapping)))
        });
        let names: Vec<(&String, &str)> = names.collect();
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
            let partitions = names.iter().map(|(name, stored)| {
                let value = add.partition_values.get(*stored).cloned().flatten();
                ((*name).clone(), value.filter(|value| !value.is_empty()))
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
            let bytes = self.place.read(path, deletions::FILE_BYTES_MAX)?;
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
        self.mapping()?;
        self.is_parquet()
    }

    pub(super) fn columns(&self) -> Result<Vec<Column>> {
        schema::parse(&self.metadata.schema_string)
    }

    /// An error if files cannot be added to the table by what is known here.
    pub(super) fn check_append(&self) -> Result<()> {
        self.check_read()?;
        if self.mapping()? != ColumnMapping::None {
            return Err(self.refuse("mapped names of columns, to which rows are added"));
        }
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
        let names = Names::new(&self.place.list(LOG)?);
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
    /// Replays a file of a checkpoint. Some of its actions may be in other files, its sidecars.
    fn checkpoint(
        &mut self,
        place: &dyn Place,
        table: &str,
        name: &str,
        mut sidecars: Option<&mut Vec<String>>,
    ) -> Result<()> {
        let bytes = place.read(&format!("{LOG}/{name}"), CHECKPOINT_BYTES_MAX)?;
        let mut take = |line: &[u8]| {
            let Some(sidecar) = self.apply(line)? else { return Ok(()) };
            let path = decoded(&sidecar.path).filter(|path| !path.contains('/'));
            let path = path.ok_or("a sidecar elsewhere, which is not supported")?;
            let sidecars = sidecars.as_mut().ok_or("a sidecar of a sidecar")?;
            if sidecars.len() >= SIDECARS_MAX {
                return Err(format!("more than {SIDECARS_MAX} sidecars"));
            }
            sidecars.push(format!("{SIDECARS}/{path}"));
            Ok(())
        };
        let read = match name.ends_with(".json") {
            true => lines(&bytes).try_for_each(&mut take),
            false => checkpoint::actions(bytes, &mut take),
        };
        read.map_err(|reason| malformed(table, name, &reason))
    }

    /// Replays an action; what is left to do if it names a sidecar.
    fn apply(&mut self, line: &[u8]) -> std::result::Result<Option<Sidecar>, String> {
        if line.len() > ACTION_BYTES_MAX {
            return Err(format!("an action of more than {ACTION_BYTES_MAX} bytes"));
        }
        let action: Action = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        self.protocol = action.protocol.or_else(|| self.protocol.take());
        self.metadata = action.meta_data.or_else(|| self.metadata.take());
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
            false => Ok(action.sidecar),
        }
    }
}

/// Replays a commit.
fn commit(place: &dyn Place, table: &str, version: u64, replay: &mut Replay) -> Result<()> {
    let name = commit_name(version);
    replay.commit = version;
    let bytes = place.read(&format!("{LOG}/{name}"), COMMIT_BYTES_MAX)?;
    for line in lines(&bytes) {
        replay.apply(line).map_err(|reason| malformed(table, &name, &reason))?;
    }
    Ok(())
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

fn malformed(table: &str, file: &str, reason: &str) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
    Error::io(format!("{}/{}/{file}", table.trim_end_matches('/'), LOG), error)
}
