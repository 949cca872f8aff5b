// SPDX-License-Identifier: Apache-2.0
//! The actions of a log, as JSON. Fields that are not needed here are ignored when they are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line of a commit: one of these.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Action {
    /// Only written: as a tree, what others write here would take many times its text.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(super) commit_info: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) protocol: Option<Protocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) meta_data: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) add: Option<Add>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remove: Option<Remove>,
    /// A file with more actions of a checkpoint.
    #[serde(skip_serializing)]
    pub(super) sidecar: Option<Sidecar>,
}

/// A file with more actions of a checkpoint.
#[derive(Debug, Deserialize)]
pub(super) struct Sidecar {
    /// Its name in the folder of sidecars, percent-encoded.
    pub(super) path: String,
}

/// What a reader and a writer of the table must know.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Protocol {
    pub(super) min_reader_version: u32,
    pub(super) min_writer_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reader_features: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) writer_features: Option<Vec<String>>,
}

/// The schema and the properties of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) id: String,
    pub(super) format: Format,
    /// JSON in JSON.
    pub(super) schema_string: String,
    #[serde(default)]
    pub(super) partition_columns: Vec<String>,
    #[serde(default)]
    pub(super) configuration: BTreeMap<String, Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created_time: Option<i64>,
}

/// The format of the files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Format {
    pub(super) provider: String,
    #[serde(default)]
    pub(super) options: BTreeMap<String, Option<String>>,
}

/// A file that is part of the table from now on.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Add {
    /// Relative to the table, percent-encoded.
    pub(super) path: String,
    #[serde(default)]
    pub(super) partition_values: BTreeMap<String, Option<String>>,
    pub(super) size: i64,
    pub(super) modification_time: i64,
    pub(super) data_change: bool,
    /// Only written.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(super) stats: Option<String>,
    /// Rows of the file that have been deleted.
    #[serde(skip_serializing)]
    pub(super) deletion_vector: Option<DeletionVector>,
    /// The commit that it was read from.
    #[serde(skip)]
    pub(super) commit: u64,
}

/// Where the vector of a file's deleted rows is. Fields that are missing are noticed in use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DeletionVector {
    /// `u`: in a file that an id names; `i`: here; `p`: in a file elsewhere.
    pub(super) storage_type: String,
    pub(super) path_or_inline_dv: String,
    pub(super) offset: Option<i64>,
    pub(super) size_in_bytes: i64,
    pub(super) cardinality: i64,
}

/// A file that is no longer part of it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Remove {
    pub(super) path: String,
}
