// SPDX-License-Identifier: Apache-2.0
//! [`DirectoryOptions`]: where a directory is, what its files are, and when they end.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use arrowsmith_core::Error;
use arrowsmith_sink::folder::{FolderOptions, Partition, Partitioner};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::store;
use crate::units::{CompressionConfig, Fsync, Seconds, Size};

/// Options of a directory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryOptions {
    /// The directory, made if it is not there; or a prefix of a store, `s3://bucket/prefix`.
    pub path: PathBuf,
    /// What the files are.
    #[serde(default)]
    pub format: FileFormat,
    /// Folders `name=value` that Parquet files are in, outermost first, as of `convert
    /// --partition-by`. Default: none.
    #[serde(default, deserialize_with = "partitions")]
    pub partition_by: Vec<Partition>,
    /// Maximum number of folders that the rows between two rolls are in; with more, files end
    /// early. Default 1000.
    #[serde(default = "partitions_max")]
    pub partitions_max: usize,
    /// Where what is stored waits for its upload, if `path` is in a store. Default:
    /// `STREAM.SINK.state` in the folder that the service is started in.
    #[serde(default)]
    pub state: Option<PathBuf>,
    /// Maximum size of files that wait there, in bytes; then messages wait. Default 1 GiB.
    #[serde(default = "state_bytes")]
    pub state_bytes: Size,
    /// Size at which a file ends, in bytes of Arrow data. Default 256 MiB.
    #[serde(default = "roll_bytes")]
    pub roll_bytes: Size,
    /// Age at which a file ends. Default 60 s.
    #[serde(default = "roll_seconds")]
    pub roll_seconds: Seconds,
    /// Compression of the buffers of Arrow files.
    #[serde(default)]
    pub compression: CompressionConfig,
    /// Codec of Parquet files: none, snappy, lz4, zstd:3, … Default zstd.
    #[serde(default = "codec")]
    pub codec: String,
    /// When data is synced to disk: `always` with every message, `second` when a file is completed
    /// (the default), `never`.
    #[serde(default = "fsync")]
    pub fsync: Fsync,
}

fn partitions<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Partition>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

fn partitions_max() -> usize {
    1000
}

fn state_bytes() -> Size {
    Size(1 << 30)
}

fn roll_bytes() -> Size {
    Size(256 << 20)
}

fn roll_seconds() -> Seconds {
    Seconds(60.0)
}

fn codec() -> String {
    "zstd".to_owned()
}

fn fsync() -> Fsync {
    Fsync::Second
}

/// What the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// Arrow IPC files.
    #[default]
    Arrow,
    /// Parquet files.
    Parquet,
}

impl FileFormat {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
        }
    }
}

impl DirectoryOptions {
    /// The defaults, in a directory of this path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: FileFormat::Arrow,
            partition_by: Vec::new(),
            partitions_max: partitions_max(),
            state: None,
            state_bytes: state_bytes(),
            roll_bytes: roll_bytes(),
            roll_seconds: roll_seconds(),
            compression: CompressionConfig::None,
            codec: codec(),
            fsync: fsync(),
        }
    }

    /// The prefix in a store, if it is in one.
    pub(crate) fn url(&self) -> Option<&str> {
        self.path.to_str().filter(|path| path.contains("://"))
    }

    /// The local folder: of the files, or of what waits to be uploaded.
    pub(crate) fn folder(&self) -> &Path {
        match &self.state {
            Some(state) if self.url().is_some() => state,
            _ => &self.path,
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.path.as_os_str().is_empty() {
            return Err("path: a folder needs a name".to_owned());
        }
        match self.url() {
            None if self.state.is_some() => {
                return Err("state: is of a path in a store, such as s3://bucket/prefix".to_owned());
            }
            None => {}
            Some(url) => {
                store::check(url)?;
                if self.state.as_ref().is_none_or(|state| state.as_os_str().is_empty()) {
                    return Err(format!("state: {url} needs a local folder beside it"));
                }
            }
        }
        if self.roll_bytes.0 == 0 || self.state_bytes.0 == 0 || self.partitions_max == 0 {
            let what = "roll_bytes, state_bytes and partitions_max have to be above 0";
            return Err(what.to_owned());
        }
        if !self.partition_by.is_empty() && self.format != FileFormat::Parquet {
            return Err("partition_by: needs format = \"parquet\"".to_owned());
        }
        self.codec.parse::<arrowsmith_sink::parquet::Codec>().map_err(|e| e.to_string())?;
        Ok(())
    }

    /// Checks that rows of a schema have folders.
    pub(crate) fn check_schema(&self, schema: &SchemaRef) -> Result<(), String> {
        let made = self.partitioner(schema);
        made.map(drop).map_err(|error| format!("partition_by: {error}"))
    }

    /// Finds the folders of rows.
    pub(super) fn partitioner(&self, schema: &SchemaRef) -> Result<Partitioner, Error> {
        Partitioner::new(schema, &self.folders(self.partitions_max))
    }

    /// How rows are distributed over at most `partitions_max` folders.
    pub(super) fn folders(&self, partitions_max: usize) -> FolderOptions {
        let partition_by = self.partition_by.clone();
        FolderOptions { partition_by, partitions_max, ..FolderOptions::default() }
    }
}
