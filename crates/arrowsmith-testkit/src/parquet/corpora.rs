// SPDX-License-Identifier: Apache-2.0
//! Parquet files that others wrote, good and bad.
//!
//! Every file has to be read as the `parquet` crate reads it, or refused where that refuses it, and
//! all as the corpora's list says. Where a reader does otherwise on purpose, or the two disagree,
//! `testdata/parquet/decisions.txt` has a line with the verdict and the reason: a file that is
//! neither plain nor listed fails, and so does a line that is not needed.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::{Ask, ParquetRs, Reader, difference};
use crate::corpus::{Listed, listed, testdata};
use crate::scale::Sample;

/// What a run over the corpora found.
#[derive(Debug, Default)]
pub struct Summary {
    /// Files that were read or refused.
    pub files: usize,
    /// Files that were read as the reference reads them.
    pub equal: usize,
    /// What was wrong, a line each.
    pub failures: Vec<String>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Read as the reference reads it.
    Equal,
    /// Refused, as the reference does.
    Refused,
    /// Read, where the reference refuses.
    OnlyWe,
    /// Refused, where the reference reads.
    OnlyReference,
    /// Read as something else than the reference reads.
    Differs,
}

impl Verdict {
    /// As the decisions name it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Refused => "refused",
            Self::OnlyWe => "only-we",
            Self::OnlyReference => "only-reference",
            Self::Differs => "differs",
        }
    }

    /// What is expected where nothing is listed.
    fn is_plain(&self, entry: &Listed) -> bool {
        match entry.expected.as_str() {
            "accept" => *self == Self::Equal,
            "reject" | "needs_key" => *self == Self::Refused,
            _ => matches!(self, Self::Equal | Self::Refused),
        }
    }
}

/// The Parquet files that are listed, good or bad.
///
/// # Errors
/// When the list cannot be read.
pub fn files(folder: &Path) -> std::io::Result<Vec<Listed>> {
    let is_parquet = |entry: &Listed| {
        let name = entry.path.to_lowercase();
        let known = [".parquet", ".parq", ".parquet.encrypted"];
        known.iter().any(|ending| name.ends_with(ending)) || begins_as_parquet(folder, entry)
    };
    let ours = |entry: &Listed| {
        entry.path.starts_with("parquet-")
            && !["aux", "expectation"].contains(&entry.expected.as_str())
            && is_parquet(entry)
    };
    Ok(listed(folder)?.into_iter().filter(ours).collect())
}

fn begins_as_parquet(folder: &Path, entry: &Listed) -> bool {
    let bytes = std::fs::read(folder.join(&entry.path)).unwrap_or_default();
    bytes.starts_with(b"PAR1") || bytes.starts_with(b"PARE")
}

/// Reads every file of the corpora.
///
/// # Errors
/// When a file cannot be read from the disk.
pub fn run(reader: &dyn Reader, folder: &Path) -> std::io::Result<Summary> {
    run_some(reader, folder, &mut Sample::of("files", 1))
}

/// Reads some files of the corpora, of each corpus those that are good, bad, and decided otherwise.
///
/// # Errors
/// When a file cannot be read from the disk.
pub fn run_some(
    reader: &dyn Reader,
    folder: &Path,
    sample: &mut Sample,
) -> std::io::Result<Summary> {
    let mut summary = Summary::default();
    let mut decisions = decisions()?;
    for entry in files(folder)? {
        if !sample.takes(&[&entry.kind(decisions.get(&entry.path))], &entry.path) {
            decisions.remove(&entry.path);
            continue;
        }
        let bytes = Bytes::from(std::fs::read(folder.join(&entry.path))?);
        let (verdict, said) = judge(reader, &bytes);
        summary.files += 1;
        summary.equal += usize::from(verdict == Verdict::Equal);
        let said: String = said.chars().take(400).collect();
        match decisions.remove(&entry.path) {
            Some(decided) if decided == verdict.name() => {
                if verdict.is_plain(&entry) {
                    let path = &entry.path;
                    summary.failures.push(format!("{path}: listed, but it needs no line"));
                }
            }
            Some(decided) => {
                let (path, name) = (&entry.path, verdict.name());
                summary.failures.push(format!("{path}: {name}, decided was {decided}: {said}"));
            }
            None if verdict.is_plain(&entry) => {}
            None => {
                let (path, name, expected) = (&entry.path, verdict.name(), &entry.expected);
                summary.failures.push(format!("{path}: {name}, expected {expected}: {said}"));
            }
        }
        if entry.expected == "needs_key" && !said.to_lowercase().contains("encrypt") {
            let path = &entry.path;
            summary.failures.push(format!("{path}: does not say that it is encrypted: {said}"));
        }
    }
    for path in decisions.keys() {
        summary.failures.push(format!("{path}: decided, but there is no such file"));
    }
    Ok(summary)
}

/// Compares the readings of one file; the text says what differed or was refused.
pub fn judge(reader: &dyn Reader, bytes: &Bytes) -> (Verdict, String) {
    let read = |reader: &dyn Reader| reader.read(bytes, &Ask::default());
    match (read(reader), read(&ParquetRs)) {
        (Err(error), Err(_)) => (Verdict::Refused, error),
        (Err(error), Ok(_)) => (Verdict::OnlyReference, error),
        (Ok(rows), Err(error)) => match rows.concat() {
            Ok(_) => (Verdict::OnlyWe, error),
            Err(unsound) => (Verdict::Differs, unsound),
        },
        (Ok(found), Ok(expected)) => {
            let both = found.concat().and_then(|found| Ok((found, expected.concat()?)));
            match both.map(|(found, expected)| difference(&found, &expected)) {
                Ok(None) => (Verdict::Equal, String::new()),
                Ok(Some(text)) | Err(text) => (Verdict::Differs, text),
            }
        }
    }
}

/// Path → verdict; what follows on a line is the reason.
fn decisions() -> std::io::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(testdata().join("parquet/decisions.txt"))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        (columns.next().unwrap_or_default(), columns.next().unwrap_or_default())
    };
    Ok(lines.map(entry).collect())
}
