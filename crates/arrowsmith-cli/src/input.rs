// SPDX-License-Identifier: Apache-2.0
//! The inputs that `convert` and `infer` name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use arrowsmith::parquet::EXTENSIONS;
use arrowsmith::{DataFile, Error, Input, json};

use crate::args::{Format, InputArgs};
use crate::failure::{Failure, Outcome};

/// The files of a format named by the arguments: paths, folders, patterns, URLs. Of folders those
/// count whose names end in one of `extensions`.
pub fn files(args: &InputArgs, extensions: &[&str]) -> Outcome<Vec<DataFile>> {
    let mut files = Vec::new();
    for name in &args.inputs {
        files.extend(match is_url(name) {
            true => expand_url(name, extensions)?,
            false => arrowsmith::expand_dataset(name, extensions)?,
        });
    }
    if files.iter().filter(|file| matches!(file.input, Input::Stdin)).count() > 1 {
        let message = "standard input (-) can be read only once".to_owned();
        return Err(Error::Config(message).into());
    }
    Ok(files)
}

/// Whether an argument names an object in a store.
pub fn is_url(name: &str) -> bool {
    name.contains("://") && known_scheme(name)
}

#[cfg(feature = "store")]
use arrowsmith::store::is_url as known_scheme;

/// Any scheme: what is said then is that this build has no stores.
#[cfg(not(feature = "store"))]
fn known_scheme(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|name| name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The objects that a URL names.
#[cfg(feature = "store")]
pub fn expand_url(url: &str, extensions: &[&str]) -> Outcome<Vec<DataFile>> {
    Ok(arrowsmith::store::expand_url(url, extensions)?)
}

#[cfg(not(feature = "store"))]
pub fn expand_url(url: &str, _: &[&str]) -> Outcome<Vec<DataFile>> {
    Err(no_store(url))
}

#[cfg(not(feature = "store"))]
pub fn no_store(url: &str) -> Failure {
    Failure::Usage(format!(
        "{}: this build has no `store`: build the command with `--features store` (or `full`)",
        arrowsmith_core::redact::redacted(url)
    ))
}

/// A format that only `convert` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// Arrow IPC.
    Arrow,
    /// Values between delimiters.
    Csv { delimiter: u8 },
}

/// Extensions of CSV.
pub const CSV_EXTENSIONS: &[&str] = &[
    "csv", "tsv", "csv.gz", "tsv.gz", "csv.zst", "tsv.zst", "csv.lz4", "tsv.lz4", "csv.bz2",
    "tsv.bz2", "csv.xz", "tsv.xz",
];

/// Whether the inputs are of such a format: by `--format`, or all of them by their names.
///
/// # Errors
/// When some are and some are not.
pub fn other(args: &InputArgs, format: Format) -> Outcome<Option<Other>> {
    match format {
        Format::Arrow => return Ok(Some(Other::Arrow)),
        Format::Csv { delimiter } => return Ok(Some(Other::Csv { delimiter })),
        Format::Json | Format::Parquet | Format::Delta => return Ok(None),
        Format::Auto => {}
    }
    let mut found = args.inputs.iter().map(|name| other_by_name(name));
    let first = found.next().flatten();
    if found.any(|next| next != first) {
        let message = "the inputs are of several formats: give --format for all of them";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(first)
}

fn other_by_name(name: &str) -> Option<Other> {
    let name = name.to_ascii_lowercase();
    let ends_in = |end: &&str| name.ends_with(&format!(".{end}"));
    if ["arrow", "arrows", "feather", "ipc"].iter().any(ends_in) {
        return Some(Other::Arrow);
    }
    let end = CSV_EXTENSIONS.iter().find(|end| ends_in(end))?;
    Some(Other::Csv { delimiter: if end.starts_with('t') { b'\t' } else { b',' } })
}

/// Whether the inputs are Parquet: all of them, or none.
///
/// # Errors
/// When some are and some are not.
pub fn is_parquet(args: &InputArgs, format: Format) -> Outcome<bool> {
    let mut parquet = 0;
    for name in &args.inputs {
        parquet += usize::from(match format {
            // A prefix is treated as a folder; an object is detected by its name.
            Format::Auto if is_url(name) && name.ends_with('/') => true,
            Format::Auto => looks_like_parquet(Path::new(name))?,
            Format::Parquet | Format::Delta => true,
            Format::Json | Format::Arrow | Format::Csv { .. } => false,
        });
    }
    if parquet != 0 && parquet != args.inputs.len() {
        let message = "some inputs are Parquet and some are not: give --format for all of them";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(parquet > 0)
}

/// Checks that files named without a pattern exist. This error is reported before all others, which
/// would not matter.
pub fn are_there(args: &InputArgs) -> Outcome {
    let is_name =
        |name: &&String| name.as_str() != "-" && !is_url(name) && !name.contains(['*', '?', '[']);
    for name in args.inputs.iter().filter(is_name) {
        std::fs::metadata(name).map_err(|error| Error::io(name, error))?;
    }
    Ok(())
}

/// Detects Parquet: by the name, by what is in a folder, or by the first bytes.
fn looks_like_parquet(path: &Path) -> Outcome<bool> {
    let name = path.to_string_lossy();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_pattern = !path.exists() && name.contains(['*', '?', '[']);
    if path.is_dir() || is_pattern {
        return folder_is_parquet(path);
    }
    if EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension)) {
        return Ok(true);
    }
    // Bytes read from a pipe here would be lost.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(false);
    }
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    Ok(read.is_ok() && &start == b"PAR1")
}

/// Whether the files of a folder, or those that a pattern matches, are Parquet.
fn folder_is_parquet(path: &Path) -> Outcome<bool> {
    // Other errors come again when the files are expanded to be read.
    let has = |extensions: &[&str]| {
        let files = arrowsmith::expand_dataset(path, extensions).unwrap_or_default();
        files.iter().any(|file| {
            let name = file.input.name().unwrap_or_default().to_ascii_lowercase();
            extensions.iter().any(|end| name.ends_with(&format!(".{end}")))
        })
    };
    match (has(EXTENSIONS), has(json::EXTENSIONS)) {
        (true, true) => Err(Failure::Usage(format!(
            "{}: there are files of Parquet and of JSON: give --format",
            path.display()
        ))),
        (false, false) if path.is_dir() => {
            arrowsmith::expand_dataset(path, &[EXTENSIONS, json::EXTENSIONS].concat())?;
            Ok(false)
        }
        (parquet, _) => Ok(parquet),
    }
}
