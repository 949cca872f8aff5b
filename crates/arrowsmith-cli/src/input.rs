// SPDX-License-Identifier: Apache-2.0
//! The inputs that `convert` and `infer` name.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use arrowsmith::{DataFile, Error, Input, json, parquet};
use arrowsmith_flight::ipc::CONTINUATION;

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

/// What reads the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Json,
    Parquet,
    /// Parquet files that a log names.
    Delta,
    /// Parquet files that manifests name.
    Iceberg,
    /// Arrow IPC.
    Arrow,
    /// Values between delimiters.
    Csv {
        delimiter: u8,
    },
}

impl Kind {
    /// Those that are told by their names, and whose files a folder may have.
    const NAMED: [Self; 5] = [
        Self::Json,
        Self::Parquet,
        Self::Arrow,
        Self::Csv { delimiter: b',' },
        Self::Csv { delimiter: b'\t' },
    ];

    /// What the names of such files end in, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Json => json::EXTENSIONS,
            Self::Parquet | Self::Delta | Self::Iceberg => parquet::EXTENSIONS,
            Self::Arrow => arrowsmith_flight::dataset::Format::Ipc.extensions(),
            Self::Csv { delimiter: b'\t' } => {
                &["tsv", "tsv.gz", "tsv.zst", "tsv.lz4", "tsv.bz2", "tsv.xz"]
            }
            Self::Csv { .. } => &["csv", "csv.gz", "csv.zst", "csv.lz4", "csv.bz2", "csv.xz"],
        }
    }

    /// The name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Parquet => "Parquet",
            Self::Delta => "Delta",
            Self::Iceberg => "Iceberg",
            Self::Arrow => "Arrow",
            Self::Csv { delimiter: b'\t' } => "TSV",
            Self::Csv { .. } => "CSV",
        }
    }

    /// By the end of a file's name.
    fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let has =
            |kind: &Self| kind.extensions().iter().any(|end| name.ends_with(&format!(".{end}")));
        Self::NAMED.into_iter().find(has)
    }

    /// By the first bytes of a text: of JSON, if they tell nothing else.
    fn of_start(start: &[u8]) -> Self {
        match start {
            b"PAR1" => Self::Parquet,
            b"ARRO" => Self::Arrow,
            start if start == CONTINUATION => Self::Arrow,
            _ => Self::Json,
        }
    }
}

/// What reads the inputs: all of them, by `--format`, by their names, by `--delimiter`, or by their
/// first bytes.
///
/// # Errors
/// When they are of several formats, and when there is a delimiter for what is not CSV.
pub fn kind(args: &InputArgs, format: Format) -> Outcome<Kind> {
    let kind = detected_kind(args, format)?;
    let is_named = |name: &String| Kind::of_name(name).is_some();
    match kind {
        _ if args.delimiter.is_none() => Ok(kind),
        Kind::Csv { .. } => Ok(kind),
        // Nothing else says what they are.
        Kind::Json if format == Format::Auto && !args.inputs.iter().any(is_named) => {
            Ok(Kind::Csv { delimiter: b',' })
        }
        _ => Err(Failure::Usage(format!("--delimiter is not for {} input", kind.name()))),
    }
}

fn detected_kind(args: &InputArgs, format: Format) -> Outcome<Kind> {
    match format {
        Format::Auto => {}
        Format::Json => return Ok(Kind::Json),
        Format::Parquet => return Ok(Kind::Parquet),
        Format::Delta => return Ok(Kind::Delta),
        Format::Iceberg => return Ok(Kind::Iceberg),
        Format::Arrow => return Ok(Kind::Arrow),
        Format::Csv { delimiter } => return Ok(Kind::Csv { delimiter }),
    }
    let mut found: Option<Kind> = None;
    for name in &args.inputs {
        let next = detected(name)?;
        match found {
            Some(before) if before != next => {
                return Err(Failure::Usage(format!(
                    "the inputs are of several formats ({} and {}): give --format for all of them",
                    before.name(),
                    next.name()
                )));
            }
            _ => found = Some(next),
        }
    }
    Ok(found.unwrap_or(Kind::Json))
}

fn detected(name: &str) -> Outcome<Kind> {
    if name == "-" {
        // This leaves the bytes where they are: in the buffer of standard input.
        let mut stdin = io::stdin().lock();
        // An error comes again when it is read.
        let start = stdin.fill_buf().unwrap_or_default();
        return Ok(match Kind::of_start(start.get(..4).unwrap_or(start)) {
            Kind::Arrow => Kind::Arrow,
            // Parquet cannot be read from a pipe: what is said of JSON names it.
            _ => Kind::Json,
        });
    }
    if is_url(name) {
        // A prefix is treated as a folder.
        let is_folder = name.ends_with('/');
        return Ok(Kind::of_name(name).unwrap_or(if is_folder {
            Kind::Parquet
        } else {
            Kind::Json
        }));
    }
    let path = Path::new(name);
    let is_pattern = !path.exists() && name.contains(['*', '?', '[']);
    if path.is_dir() || is_pattern {
        return of_folder(path);
    }
    // Bytes read from a pipe here would be lost.
    if let Some(kind) = Kind::of_name(name)
        && (kind != Kind::Json || !path.is_file())
    {
        return Ok(kind);
    }
    if !path.is_file() {
        return Ok(Kind::Json);
    }
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    Ok(read.map_or(Kind::Json, |()| Kind::of_start(&start)))
}

/// By the names of the files in a folder, or of those that a pattern matches.
fn of_folder(path: &Path) -> Outcome<Kind> {
    let extensions: Vec<&str> =
        Kind::NAMED.iter().flat_map(|kind| kind.extensions()).copied().collect();
    let files = match arrowsmith::expand_dataset(path, &extensions) {
        Err(error) if path.is_dir() => return Err(error.into()),
        // Other errors come again when the files are expanded to be read.
        files => files.unwrap_or_default(),
    };
    let mut kinds = files.iter().filter_map(|file| Kind::of_name(&file.input.name()?));
    let Some(first) = kinds.next() else { return Ok(Kind::Json) };
    match kinds.find(|kind| *kind != first) {
        Some(other) => Err(Failure::Usage(format!(
            "{}: there are files of {} and of {}: give --format",
            path.display(),
            first.name(),
            other.name()
        ))),
        None => Ok(first),
    }
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
