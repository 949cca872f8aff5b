// SPDX-License-Identifier: Apache-2.0
//! Third-party Parquet files, valid and invalid.
//!
//! Every file has to be read, or rejected, as by the `parquet` crate, and as the corpora's list
//! states. For intentional differences `testdata/parquet/decisions.txt` has a line with the verdict
//! and the reason: an unexpected result that is not listed fails, and so does an unused line.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::{Ask, ParquetRs, Reader, difference};
use crate::corpus::{Listed, listed, testdata};
use crate::scale::Sample;

/// The result of a run over the corpora.
#[derive(Debug, Default)]
pub struct Summary {
    /// Number of files read or rejected.
    pub files: usize,
    /// Number of files read with the same result as the reference.
    pub equal: usize,
    /// Failures, one line each.
    pub failures: Vec<String>,
}

/// The verdict on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Read with the same result as the reference.
    Equal,
    /// Rejected by both.
    Refused,
    /// Read by us, rejected by the reference.
    OnlyWe,
    /// Rejected by us, read by the reference.
    OnlyReference,
    /// Read with another result than the reference.
    Differs,
}

impl Verdict {
    /// Its name in the list of decisions.
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

    /// Whether this is the expected verdict for a file that is not listed.
    fn is_plain(&self, entry: &Listed) -> bool {
        match entry.expected.as_str() {
            "accept" => *self == Self::Equal,
            "reject" | "needs_key" => *self == Self::Refused,
            _ => matches!(self, Self::Equal | Self::Refused),
        }
    }
}

/// The listed Parquet files, valid or invalid.
///
/// # Errors
/// If the list cannot be read.
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
/// If a file cannot be read from the disk.
pub fn run(reader: &dyn Reader, folder: &Path) -> std::io::Result<Summary> {
    run_some(reader, folder, &mut Sample::of("files", 1))
}

/// Reads a sample of the files: of each corpus some valid, invalid and listed ones.
///
/// # Errors
/// If a file cannot be read from the disk.
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

/// Compares the results for one file; the text describes the difference or the error.
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

/// Path → verdict; the rest of a line is the reason.
fn decisions() -> std::io::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(testdata().join("parquet/decisions.txt"))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        (columns.next().unwrap_or_default(), columns.next().unwrap_or_default())
    };
    Ok(lines.map(entry).collect())
}
