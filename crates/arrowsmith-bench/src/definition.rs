// SPDX-License-Identifier: Apache-2.0
//! Reads `bench/definitions/json.toml`, which is compiled in: the workloads and the engines.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::BenchError;

const JSON: &str = include_str!("../embedded/definitions/json.toml");

/// A suite of benchmarks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    pub(crate) suite: String,
    pub(crate) seed: u64,
    pub(crate) size_bytes: u64,
    pub(crate) rounds: u32,
    #[serde(rename = "workload")]
    pub(crate) workloads: Vec<WorkloadDefinition>,
    #[serde(rename = "engine")]
    pub(crate) engines: Vec<EngineDefinition>,
}

/// One input: generated, or the records of a public file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadDefinition {
    pub(crate) name: String,
    /// The name of the schema in the hand-written peers.
    pub(crate) shape: String,
    pub(crate) generator: Option<String>,
    #[serde(default = "one")]
    pub(crate) values_max: u32,
    pub(crate) corpus: Option<CorpusDefinition>,
    /// Size in bytes (as TOML keys are text) → records.
    #[serde(default)]
    pub(crate) records: BTreeMap<String, u64>,
}

/// Where the records of a real workload come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CorpusDefinition {
    pub(crate) file: String,
    pub(crate) array: String,
    #[serde(default)]
    pub(crate) prefix: String,
    #[serde(default)]
    pub(crate) suffix: String,
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
}

/// The category of an engine, for ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Arrowsmith.
    Ours,
    /// A ready-made reader.
    Reader,
    /// A parser, connected to Arrow builders.
    Library,
    /// A hand-written loop for one schema.
    HandWritten,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Reader => "reader",
            Self::Library => "library",
            Self::HandWritten => "hand-written",
        }
    }
}

/// The embedded peer programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PeerKind {
    /// `bench/peers/python`.
    Python,
    /// `bench/peers/rust`.
    Rust,
    /// `bench/peers/cpp`.
    Cpp,
}

const fn one() -> u32 {
    1
}

impl Definition {
    /// The JSON suite.
    pub(crate) fn json() -> Result<Self, BenchError> {
        toml::from_str(JSON).map_err(|error| BenchError::Definition(error.to_string()))
    }

    /// The workloads with these names, in the order of the definition; all if there are no names.
    pub(crate) fn select_workloads(
        &self,
        names: &[String],
    ) -> Result<Vec<WorkloadDefinition>, BenchError> {
        select("workload", &self.workloads, |workload| &workload.name, names)
    }

    /// As [`Definition::select_workloads`], for engines.
    pub(crate) fn select_engines(
        &self,
        names: &[String],
    ) -> Result<Vec<EngineDefinition>, BenchError> {
        select("engine", &self.engines, |engine| &engine.name, names)
    }
}

/// The items that `names` select: a full name, or its family, as in `generate` and `--engine`:
/// `battery` is `battery-8`, `battery-64`…, `cpu` is `arrowsmith-cpu`.
pub(crate) fn select<T: Clone>(
    what: &'static str,
    all: &[T],
    name_of: impl Fn(&T) -> &String,
    names: &[String],
) -> Result<Vec<T>, BenchError> {
    let exact = |name: &String| all.iter().any(|item| name_of(item) == name);
    let selects = |name: &String, item: &T| {
        let item = name_of(item);
        let size = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        let family = |rest: &str| rest.strip_prefix('-').is_some_and(size);
        item == name
            || !exact(name)
                && (item.strip_prefix(name.as_str()).is_some_and(family)
                    || item.strip_prefix("arrowsmith-") == Some(name))
    };
    if let Some(name) = names.iter().find(|&name| !all.iter().any(|item| selects(name, item))) {
        let known = all.iter().map(|item| name_of(item).clone()).collect();
        return Err(BenchError::UnknownName { what, name: name.clone(), known });
    }
    let wanted = |item: &&T| names.is_empty() || names.iter().any(|name| selects(name, item));
    Ok(all.iter().filter(wanted).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_one_source_and_a_known_shape() {
        let definition = Definition::json().unwrap();
        for workload in &definition.workloads {
            assert!(workload.generator.is_some() != workload.corpus.is_some(), "{workload:?}");
            assert!(crate::shapes::schema(&workload.shape).is_some(), "{workload:?}");
        }
        assert_eq!(definition.suite, "json");
    }

    #[test]
    fn names_select_and_a_wrong_one_is_refused() {
        let definition = Definition::json().unwrap();
        let picked = definition.select_workloads(&["trip".into(), "logs".into()]).unwrap();
        assert_eq!(picked.iter().map(|w| &w.name[..]).collect::<Vec<_>>(), ["trip", "logs"]);
        assert_eq!(definition.select_engines(&[]).unwrap().len(), definition.engines.len());
        let engines = definition.select_engines(&["cpu".into()]).unwrap();
        assert_eq!(engines.iter().map(|e| &e.name[..]).collect::<Vec<_>>(), ["arrowsmith-cpu"]);
        let family = definition.select_workloads(&["battery".into()]).unwrap();
        assert!(family.len() > 1 && family.iter().all(|w| !w.name.contains("u64")));
        let error = definition.select_engines(&["pandas".into()]).unwrap_err().to_string();
        assert!(error.starts_with("unknown engine \"pandas\"; there are arrowsmith-cpu,"));
    }
}
