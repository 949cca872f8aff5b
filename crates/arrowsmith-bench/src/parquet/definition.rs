// SPDX-License-Identifier: Apache-2.0
//! The files of `bench/definitions/parquet.toml`.

use serde::{Deserialize, Serialize};

use super::data::Data;
use crate::BenchError;
use crate::definition::{Definition, Named};

const PARQUET: &str = include_str!("../../embedded/definitions/parquet.toml");

/// One file.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadDefinition {
    pub(crate) name: String,
    pub(crate) data: Data,
    pub(crate) encoding: EncodingName,
    #[serde(default)]
    pub(crate) codec: CodecName,
    pub(crate) page_bytes: u64,
    /// Maximum rows of a page; if absent, as many as fit.
    pub(crate) page_rows: Option<usize>,
    /// 1 or 2.
    pub(crate) page_version: u8,
    #[serde(default)]
    pub(crate) statistics: bool,
}

/// The encoding of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EncodingName {
    Plain,
    Dictionary,
    DeltaBinaryPacked,
    DeltaLengthByteArray,
    DeltaByteArray,
    ByteStreamSplit,
}

/// The compression of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CodecName {
    #[default]
    None,
    Snappy,
    Zstd,
    Lz4,
}

impl Named for WorkloadDefinition {
    fn name(&self) -> &String {
        &self.name
    }
}

impl Definition<WorkloadDefinition> {
    /// The Parquet suite.
    pub(crate) fn parquet() -> Result<Self, BenchError> {
        Self::parse(PARQUET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_whole() {
        let definition = Definition::parquet().unwrap();
        assert_eq!(definition.suite, "parquet");
        for figure in &definition.figures {
            assert!(figure.workloads.iter().all(|name| definition.workload(name).is_some()));
            assert!(definition.select_engines(&figure.engines).is_ok());
        }
        for engine in &definition.engines {
            assert!(engine.peer.is_some() != engine.base.is_some(), "{engine:?}");
        }
    }

    #[test]
    fn workloads_and_figures_share_their_names() {
        let definition = Definition::parquet().unwrap();
        let (workloads, figures) = definition.select(&[]).unwrap();
        assert_eq!(workloads.len(), definition.workloads.len());
        assert_eq!(figures.len(), definition.figures.len());
        let (workloads, figures) = definition.select(&["page-size".into()]).unwrap();
        assert_eq!((workloads.len(), figures.len()), (0, 1));
        let (workloads, figures) = definition.select(&["int64-plain".into()]).unwrap();
        assert_eq!((workloads.len(), figures.len()), (1, 0));
        assert!(definition.select(&["int65".into()]).is_err());
    }
}
