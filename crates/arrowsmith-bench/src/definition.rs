// SPDX-License-Identifier: Apache-2.0
//! Reads the files of `bench/definitions`, which are compiled in: what a suite measures, as data.
//! The inputs are of the suite's format ([`Named`]), engines and figures are the same for all.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::BenchError;

const JSON: &str = include_str!("../embedded/definitions/json.toml");

/// A suite of benchmarks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition<W> {
    pub(crate) suite: String,
    pub(crate) seed: u64,
    /// Bytes of an input: of JSON text, or of the Arrow arrays that a Parquet file becomes.
    pub(crate) size_bytes: u64,
    pub(crate) rounds: u32,
    /// Parquet: bytes of Arrow arrays from one row group.
    #[serde(default)]
    pub(crate) group_bytes: u64,
    #[serde(rename = "workload")]
    pub(crate) workloads: Vec<W>,
    #[serde(default, rename = "figure")]
    pub(crate) figures: Vec<FigureDefinition>,
    #[serde(rename = "engine")]
    pub(crate) engines: Vec<EngineDefinition>,
}

/// What is selected by its name.
pub(crate) trait Named: Clone {
    fn name(&self) -> &String;
}

/// A figure of a paper: some workloads with other sizes.
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
    /// Whether a file is in memory beforehand.
    #[serde(default)]
    pub(crate) memory: bool,
    /// Whether it reads JSON without a schema, too.
    #[serde(default)]
    pub(crate) infers: bool,
    /// Whether it takes part only if an input has only strings.
    #[serde(default)]
    pub(crate) only_strings: bool,
}

impl Named for EngineDefinition {
    fn name(&self) -> &String {
        &self.name
    }
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

impl<W: Named + DeserializeOwned> Definition<W> {
    pub(crate) fn parse(text: &str) -> Result<Self, BenchError> {
        toml::from_str(text).map_err(|error| BenchError::Definition(error.to_string()))
    }

    /// The workloads and figures with these names, in the order of the definition; all if there are
    /// no names.
    pub(crate) fn select(
        &self,
        names: &[String],
    ) -> Result<(Vec<W>, Vec<FigureDefinition>), BenchError> {
        let is_figure = |name: &&String| self.figures.iter().any(|figure| figure.name == **name);
        let (figures, workloads): (Vec<String>, Vec<String>) =
            names.iter().cloned().partition(|name| is_figure(&name));
        let workloads = match workloads.is_empty() && !names.is_empty() {
            true => Vec::new(),
            false => select("workload", &self.workloads, &workloads)?,
        };
        let figures = self.figures.iter().filter(|f| names.is_empty() || figures.contains(&f.name));
        Ok((workloads, figures.cloned().collect()))
    }

    /// As [`Definition::select`], for engines.
    pub(crate) fn select_engines(
        &self,
        names: &[String],
    ) -> Result<Vec<EngineDefinition>, BenchError> {
        select("engine", &self.engines, names)
    }

    /// A workload by its name, for figures.
    pub(crate) fn workload(&self, name: &str) -> Option<&W> {
        self.workloads.iter().find(|workload| workload.name() == name)
    }
}

/// One input of the JSON suite: generated, or the records of a public file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextDefinition {
    pub(crate) name: String,
    /// The name of the schema in the hand-written peers.
    pub(crate) shape: String,
    pub(crate) generator: Option<String>,
    #[serde(default = "one")]
    pub(crate) values_max: u32,
    pub(crate) corpus: Option<CorpusDefinition>,
    /// How the schema changes on the way; engines are not given one then.
    pub(crate) drift: Option<Drift>,
    /// Size in bytes (as TOML keys are text) → records.
    #[serde(default)]
    pub(crate) records: BTreeMap<String, u64>,
}

/// How the schema of the records changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Drift {
    /// Not at all: for comparison.
    None,
    /// The record in the middle has a new key.
    Key,
    /// The first column, of integers, has a fraction in the middle.
    Type,
    /// Each 10,000th record has a new key.
    Keys,
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

impl Named for TextDefinition {
    fn name(&self) -> &String {
        &self.name
    }
}

const fn one() -> u32 {
    1
}

impl Definition<TextDefinition> {
    /// The JSON suite.
    pub(crate) fn json() -> Result<Self, BenchError> {
        Self::parse(JSON)
    }
}

/// The chosen ones of known names; all of them if there is no choice.
pub(crate) fn chosen<'a>(
    what: &'static str,
    names: &[String],
    known: &[&'a str],
) -> Result<Vec<&'a str>, BenchError> {
    BenchError::unless_known(what, names, known)?;
    let wanted = |known: &&str| names.is_empty() || names.iter().any(|name| name == known);
    Ok(known.iter().copied().filter(wanted).collect())
}

/// The items that `names` select: a full name, the start of one before `*`, or its family, as in
/// `generate` and `--engine`: `battery` is `battery-8`, `battery-64`…, `cpu` is `arrowsmith-cpu`.
fn select<T: Named>(what: &'static str, all: &[T], names: &[String]) -> Result<Vec<T>, BenchError> {
    let exact = |name: &String| all.iter().any(|item| item.name() == name);
    let selects = |name: &String, item: &T| {
        let item = item.name();
        let size = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        let family = |rest: &str| rest.strip_prefix('-').is_some_and(size);
        item == name
            || name.strip_suffix('*').is_some_and(|start| item.starts_with(start))
            || !exact(name)
                && (item.strip_prefix(name.as_str()).is_some_and(family)
                    || item.strip_prefix("arrowsmith-") == Some(name))
    };
    if let Some(name) = names.iter().find(|&name| !all.iter().any(|item| selects(name, item))) {
        let known = all.iter().map(|item| item.name().clone()).collect();
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
        let picked = definition.select(&["trip".into(), "logs".into()]).unwrap().0;
        assert_eq!(picked.iter().map(|w| &w.name[..]).collect::<Vec<_>>(), ["trip", "logs"]);
        assert_eq!(definition.select_engines(&[]).unwrap().len(), definition.engines.len());
        let engines = definition.select_engines(&["cpu".into()]).unwrap();
        assert_eq!(engines.iter().map(|e| &e.name[..]).collect::<Vec<_>>(), ["arrowsmith-cpu"]);
        let family = definition.select(&["battery".into()]).unwrap().0;
        assert!(family.len() > 1 && family.iter().all(|w| !w.name.contains("u64")));
        let mixed = definition.select(&["mixed-k*".into()]).unwrap().0;
        let mixed: Vec<&str> = mixed.iter().map(|w| &w.name[..]).collect();
        assert_eq!(mixed, ["mixed-kinds", "mixed-keys-200"]);
        assert!(definition.select(&["mixed-z*".into()]).is_err());
        let error = definition.select_engines(&["pandas".into()]).unwrap_err().to_string();
        assert!(error.starts_with("unknown engine \"pandas\"; there are arrowsmith-cpu,"));
    }
}
