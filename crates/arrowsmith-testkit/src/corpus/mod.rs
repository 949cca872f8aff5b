// SPDX-License-Identifier: Apache-2.0
//! The third-party corpora, read from `../shared/corpora` beside the repository, or from the folder
//! in `ARROWSMITH_CORPORA`. They are never part of the repository.
//!
//! - [`run_corpus`]: documents that have to be accepted or rejected, or whose verdict is listed;
//! - [`vectors`]: decimal texts with the bits they round to, and valid and invalid UTF-8 sequences.

mod documents;
pub mod vectors;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use documents::{CorpusSummary, run_corpus, run_some};

/// A file of the corpora, as `MANIFEST.tsv` lists it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Path below the corpora's folder.
    pub path: String,
    /// `accept`, `reject`, `either`, …
    pub expected: String,
    /// `json`, `ndjson`, `ndjson-partial`, …
    pub container: String,
    /// The note of the corpus on it.
    pub note: String,
}

impl Listed {
    /// The corpus, the expectation for the file, and the listed decision.
    pub(crate) fn kind<D: std::fmt::Debug>(&self, decided: Option<&D>) -> String {
        let corpus = self.path.split('/').next().unwrap_or_default();
        format!("{corpus} {} {} {decided:?}", self.expected, self.container)
    }
}

/// The folder of the corpora, if there is one.
pub fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ARROWSMITH_CORPORA") {
        return Some(PathBuf::from(folder)).filter(|folder| folder.is_dir());
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|above| above.join("../shared/corpora")).find(|folder| folder.is_dir())
}

/// The files that `MANIFEST.tsv` lists.
///
/// # Errors
/// If the list cannot be read.
pub fn listed(folder: &Path) -> std::io::Result<Vec<Listed>> {
    let list = std::fs::read_to_string(folder.join("MANIFEST.tsv"))?;
    let column = |line: &str, at: usize| line.split('\t').nth(at).unwrap_or_default().to_owned();
    let entry = |line: &str| Listed {
        path: column(line, 0),
        expected: column(line, 3),
        container: column(line, 5),
        note: column(line, 7),
    };
    Ok(list.lines().skip(1).map(entry).collect())
}

/// The folder of the repository's test data.
pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}
