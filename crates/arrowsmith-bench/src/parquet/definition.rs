// SPDX-License-Identifier: Apache-2.0
//! Reads `bench/definitions/parquet.toml`, which is compiled in: files, figures and engines.

use serde::{Deserialize, Serialize};

use super::data::Data;
use crate::BenchError;
use crate::definition::{Kind, PeerKind, select};

const PARQUET: &str = include_str!("../../embedded/definitions/parquet.toml");

/// The suite.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    pub(crate) suite: String,
    pub(crate) seed: u64,
    /// Bytes of the output's Arrow arrays.
    pub(crate) size_bytes: u64,
    pub(crate) rounds: u32,
    /// Bytes of Arrow arrays from one row group.
    pub(crate) group_bytes: u64,
    #[serde(rename = "workload")]
    pub(crate) workloads: Vec<WorkloadDefinition>,
    #[serde(rename = "figure")]
    pub(crate) figures: Vec<FigureDefinition>,
    #[serde(rename = "engine")]
    pub(crate) engines: Vec<EngineDefinition>,
}

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

/// A figure of the paper: some workloads with other sizes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureDefinition {
    pub(crate) name: String,
    pub(crate) workloads: Vec<String>,
    pub(crate) page_bytes: Vec<u64>,
    pub(crate) output_bytes: Vec<u64>,
    pub(crate) engines: Vec<String>,
}

/// An engine that takes part.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngineDefinition {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) about: String,
    /// The embedded peer that runs it; `None` for engines in this process.
    pub(crate) peer: Option<PeerKind>,
    /// The engine in this process that runs it.
    pub(crate) base: Option<String>,
    /// Whether batches are kept until the end.
    #[serde(default)]
    pub(crate) collect: bool,
    /// Whether memory is requested from the system again each time.
    #[serde(default)]
    pub(crate) fresh: bool,
    /// The Arrow type of strings.
    #[serde(default)]
    pub(crate) strings: Strings,
    /// Whether the file is in memory beforehand.
    #[serde(default)]
    pub(crate) memory: bool,
    /// Whether it takes part only if the file has only strings.
    #[serde(default)]
    pub(crate) only_strings: bool,
}

/// The Arrow type of string columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strings {
    /// Offsets and bytes.
    #[default]
    Plain,
    /// Views.
    View,
    /// Dictionaries.
    Dictionary,
}

impl Strings {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::View => "view",
            Self::Dictionary => "dictionary",
        }
    }
}

impl Definition {
    pub(crate) fn parquet() -> Result<Self, BenchError> {
        toml::from_str(PARQUET).map_err(|error| BenchError::Definition(error.to_string()))
    }

    /// The workloads and figures with these names; all if there are no names.
    pub(crate) fn select(
        &self,
        names: &[String],
    ) -> Result<(Vec<WorkloadDefinition>, Vec<FigureDefinition>), BenchError> {
        let is_figure = |name: &&String| self.figures.iter().any(|figure| figure.name == **name);
        let (figures, workloads): (Vec<String>, Vec<String>) =
            names.iter().cloned().partition(|name| is_figure(&name));
        let workloads = match workloads.is_empty() && !names.is_empty() {
            true => Vec::new(),
            false => select("workload", &self.workloads, |workload| &workload.name, &workloads)?,
        };
        let figures = self.figures.iter().filter(|f| names.is_empty() || figures.contains(&f.name));
        Ok((workloads, figures.cloned().collect()))
    }

    pub(crate) fn select_engines(
        &self,
        names: &[String],
    ) -> Result<Vec<EngineDefinition>, BenchError> {
        select("engine", &self.engines, |engine| &engine.name, names)
    }

    /// A workload by its name, for figures.
    pub(crate) fn workload(&self, name: &str) -> Option<&WorkloadDefinition> {
        self.workloads.iter().find(|workload| workload.name == name)
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
