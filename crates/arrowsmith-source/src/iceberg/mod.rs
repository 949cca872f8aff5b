// SPDX-License-Identifier: Apache-2.0
//! Iceberg tables as inputs: the schema of a table, and the Parquet files that are its current
//! snapshot.
//!
//! By the [specification](https://iceberg.apache.org/spec/), versions 1 to 3, from the files of a
//! table alone, without a catalog, and not by the crate `iceberg`, which is on another version of
//! Arrow. `arrowsmith-sink` writes them. What cannot be read exactly is refused: rows deleted by
//! equality, defaults of columns, encryption, files of other formats. No Parquet file is opened
//! here.

mod avro;
mod deletes;
mod partition;
mod place;
mod schema;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io;

use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, FileErrorKind, Result};
use serde::Deserialize;

pub use self::avro::{Encoded, encoded};
pub use self::deletes::{PositionFile, Positions};
use self::partition::has_text;
pub use self::place::LocalPlace;
pub use self::place::Place;
#[cfg(feature = "store")]
pub use self::place::StorePlace;
use self::schema::{Column, TableSchema};
use self::snapshot::{Found, Spec};
use crate::{DataFile, without_scheme};

/// The folder of a table's metadata.
const METADATA: &str = "metadata";

/// Maximum size of a table's metadata, in bytes.
const METADATA_BYTES_MAX: u64 = 64 << 20;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its columns; the metadata `PARQUET:field_id` of each is its id, by which files have them.
    pub schema: SchemaRef,
    /// The files of its current snapshot, those that were added last first. Rows that deletion
    /// vectors have deleted are noted.
    pub files: Vec<DataFile>,
    /// Files of rows that were deleted from others, for [`Positions`].
    pub position_files: Vec<PositionFile>,
    /// Of each file, what it is called, and the number of the commit that added it.
    origins: Vec<(String, i64)>,
}

/// What the metadata of a table says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Metadata {
    format_version: u32,
    location: String,
    current_snapshot_id: Option<i64>,
    #[serde(default)]
    snapshots: Vec<Snapshot>,
    #[serde(default)]
    schemas: Vec<TableSchema>,
    current_schema_id: Option<i32>,
    /// In version 1, which need not have the two fields before.
    schema: Option<TableSchema>,
    #[serde(default)]
    partition_specs: Vec<Spec>,
    partition_spec: Option<Vec<snapshot::PartitionField>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Snapshot {
    snapshot_id: i64,
    manifest_list: Option<String>,
    /// In version 1, in place of the list.
    #[serde(default)]
    manifests: Vec<String>,
}

impl Table {
    /// Reads what a table is: `name` is the location of its folder, or of a file
    /// `….metadata.json`, which says what the table was when that was written. In a folder the
    /// last one counts: the one that `version-hint.text` names, or that of the highest number.
    ///
    /// A table may have been moved: files in the folder that its metadata names are looked for in
    /// the folder that it is in.
    ///
    /// # Errors
    /// [`Error::Io`] for files that are missing or malformed; [`Error::File`] for a table with
    /// something that is not supported; [`Error::Config`] for a folder without a table, and one of
    /// which it is not known which of its files counts.
    pub fn load(place: &dyn Place, name: &str) -> Result<Self> {
        let name = name.trim_end_matches('/');
        let file = match name.ends_with(".json") {
            true => name.to_owned(),
            false => current(place, name)?,
        };
        let bytes = place.read(&file, METADATA_BYTES_MAX)?;
        let metadata: Metadata = serde_json::from_slice(&bytes)
            .map_err(|error| malformed(&file, &format!("no metadata of a table: {error}")))?;
        let table = Reading { place, name, moved: moved(&file, &metadata.location), metadata };
        table.read()
    }
}

/// The location of the metadata of the table in a folder.
fn current(place: &dyn Place, table: &str) -> Result<String> {
    let folder = format!("{table}/{METADATA}");
    let hint = place.read(&format!("{folder}/version-hint.text"), 1 << 10).ok();
    if let Some(hint) = hint.as_deref().and_then(|hint| std::str::from_utf8(hint).ok()) {
        return Ok(match hint.trim() {
            version if version.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{folder}/v{}.metadata.json", latest(version, &place.list(&folder)?))
            }
            name => format!("{folder}/{name}"),
        });
    }
    let names = place.list(&folder)?;
    let numbered = |name: &String| -> Option<(u64, String)> {
        let stem = name.strip_suffix(".metadata.json").filter(|stem| !is_temporary(stem))?;
        let stem = stem.strip_prefix('v').unwrap_or(stem);
        let digits = stem.split('-').next()?;
        Some((digits.parse().ok()?, name.clone()))
    };
    let mut all: Vec<(u64, String)> = names.iter().filter_map(numbered).collect();
    all.sort();
    match all.as_slice() {
        [] if names.iter().any(|name| name.ends_with(".metadata.json")) => {
            Err(refuse(table, "names of metadata files without a number: name one of the files"))
        }
        [] => {
            let message = "there is no Iceberg table (no metadata/*.metadata.json)";
            Err(Error::Config(format!("{table}: {message}")))
        }
        [.., (before, one), (last, other)] if before == last => {
            let message = format!(
                "{one} and {other} have the same number, and only its catalog knows which of them \
                 counts: name one of them"
            );
            Err(Error::Config(format!("{table}: {message}")))
        }
        [.., (_, name)] => Ok(format!("{folder}/{name}")),
    }
}

/// Whether metadata with such a name, without its end, is not part of the table: Hadoop's catalog
/// gives it a UUID before it has its number.
pub fn is_temporary(stem: &str) -> bool {
    let is_uuid = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    stem.len() == 36 && stem.bytes().enumerate().all(is_uuid)
}

/// The last version of a table whose hint names this one: a writer that has committed may end
/// before it writes the hint.
fn latest(hint: &str, names: &[String]) -> String {
    let Ok(mut version) = hint.parse::<u64>() else { return hint.to_owned() };
    let names: HashSet<&str> = names.iter().map(String::as_str).collect();
    let is_there = |version| names.contains(format!("v{version}.metadata.json").as_str());
    while version < u64::MAX && is_there(version + 1) {
        version += 1;
    }
    version.to_string()
}

/// Where a table was when its metadata was written, and where it is, if it has been moved. The
/// metadata is in a folder of its own in the table's.
fn moved(file: &str, location: &str) -> Option<(String, String)> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let here = match folder.rsplit_once('/') {
        Some((here, METADATA)) => here,
        None if folder == METADATA => ".",
        _ => return None,
    };
    let location = location.trim_end_matches('/');
    (here != location).then(|| (location.to_owned(), here.to_owned()))
}

/// A table that is being read.
struct Reading<'a> {
    place: &'a dyn Place,
    name: &'a str,
    moved: Option<(String, String)>,
    metadata: Metadata,
}

impl Reading<'_> {
    fn read(&self) -> Result<Table> {
        if self.metadata.format_version > 3 {
            let version = self.metadata.format_version;
            return Err(self.refuse(&format!("version {version} of the format")));
        }
        let schema = self.schema()?;
        let arrow = schema.arrow().map_err(|what| self.refuse(&what))?;
        for earlier in &self.metadata.schemas {
            schema.check_earlier(earlier).map_err(|what| self.refuse(&what))?;
        }
        let (mut found, deletes) = match self.snapshot()? {
            Some(snapshot) => self.snapshot_files(snapshot)?,
            None => (Vec::new(), Vec::new()),
        };
        // Stable, so that files of one commit are in the order of its manifests.
        found.sort_by_key(|file| std::cmp::Reverse(file.sequence));
        let constants = self.constants(schema, &found)?;
        let (mut deleted, position_files) = self.deleted(&found, deletes)?;
        let files = found.iter().enumerate().map(|(place, file)| {
            let input = self.place.input(&self.located(&file.path))?;
            let partitions = constants.iter().map(|column| {
                let value = file.values.iter().find(|(id, _)| *id == column.id);
                (column.name.clone(), value.and_then(|(_, value)| value.clone()))
            });
            Ok(DataFile {
                input,
                partitions: partitions.collect(),
                deleted: deleted.remove(&place),
            })
        });
        let files = files.collect::<Result<_>>()?;
        let origins = found.into_iter().map(|file| (file.path, file.sequence)).collect();
        Ok(Table { schema: arrow.into(), files, position_files, origins })
    }

    fn schema(&self) -> Result<&TableSchema> {
        let current = self.metadata.current_schema_id.unwrap_or(0);
        let of_current = |schema: &&TableSchema| schema.schema_id == current;
        let schema = self.metadata.schemas.iter().find(of_current);
        schema
            .or(self.metadata.schema.as_ref())
            .ok_or_else(|| malformed(self.name, "the metadata has no current schema"))
    }

    fn snapshot(&self) -> Result<Option<&Snapshot>> {
        let Some(current) = self.metadata.current_snapshot_id.filter(|id| *id != -1) else {
            return Ok(None);
        };
        let is_it = |snapshot: &&Snapshot| snapshot.snapshot_id == current;
        let snapshot = self.metadata.snapshots.iter().find(is_it);
        snapshot.map(Some).ok_or_else(|| malformed(self.name, "the current snapshot is missing"))
    }

    /// The columns whose values are constants in every file: those by which all files are
    /// partitioned as they are. If only some are, all have the column.
    fn constants<'s>(&self, schema: &'s TableSchema, files: &[Found]) -> Result<Vec<&'s Column>> {
        let Some(first) = files.first() else { return Ok(Vec::new()) };
        let in_all = |column: &&Column| {
            let has = |file: &Found| file.values.iter().any(|(id, _)| *id == column.id);
            has(first) && has_text(column) && files.iter().all(has)
        };
        Ok(schema.fields.iter().filter(in_all).collect())
    }

    /// Where a file of the table is now.
    fn located(&self, location: &str) -> String {
        if let Some((from, to)) = &self.moved
            && let Some(rest) = without_scheme(location).strip_prefix(without_scheme(from))
            && let Some(rest) = rest.strip_prefix('/')
        {
            return format!("{to}/{rest}");
        }
        location.to_owned()
    }

    fn refuse(&self, what: &str) -> Error {
        refuse(self.name, what)
    }
}

fn refuse(table: &str, what: &str) -> Error {
    let message = format!("an Iceberg table with {what}, which is not supported");
    let unsupported = Error::file(FileErrorKind::Unsupported, message);
    unsupported.at(|place| place.source = Some(table.into()))
}

fn malformed(file: &str, reason: &str) -> Error {
    Error::io(file, io::Error::new(io::ErrorKind::InvalidData, reason.to_owned()))
}
