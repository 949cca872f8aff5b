// SPDX-License-Identifier: Apache-2.0
//! The inputs that `convert` and `infer` name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use arrowsmith::parquet::EXTENSIONS;
use arrowsmith::{DataFile, Error, Input};

use crate::args::{Format, InputArgs};
use crate::failure::{Failure, Outcome};

/// The Parquet files named by the arguments: paths, folders, patterns, URLs.
pub fn datasets(args: &InputArgs) -> Outcome<Vec<DataFile>> {
    expand(args, |name| arrowsmith::expand_dataset(name, EXTENSIONS))
}

/// The files named by the arguments: paths, patterns, URLs.
pub fn inputs(args: &InputArgs) -> Outcome<Vec<Input>> {
    let paths = |name: &str| {
        Ok(arrowsmith::expand(name)?.into_iter().map(DataFile::from).collect::<Vec<_>>())
    };
    Ok(expand(args, paths)?.into_iter().map(|file| file.input).collect())
}

fn expand(
    args: &InputArgs,
    paths: impl Fn(&str) -> arrowsmith::Result<Vec<DataFile>>,
) -> Outcome<Vec<DataFile>> {
    let mut files = Vec::new();
    for name in &args.inputs {
        files.extend(match is_url(name) {
            true => expand_url(name)?,
            false => paths(name)?,
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
    cfg!(feature = "store") && name.contains("://") && known_scheme(name)
}

#[cfg(feature = "store")]
use arrowsmith::store::is_url as known_scheme;

#[cfg(not(feature = "store"))]
fn known_scheme(_: &str) -> bool {
    false
}

/// The objects that a URL names.
#[cfg(feature = "store")]
pub fn expand_url(url: &str) -> Outcome<Vec<DataFile>> {
    Ok(arrowsmith::store::expand_url(url, EXTENSIONS)?)
}

#[cfg(not(feature = "store"))]
pub fn expand_url(url: &str) -> Outcome<Vec<DataFile>> {
    Err(Failure::Usage(format!(
        "{url}: this build has no `store`: build the command with `--features store` (or `full`)"
    )))
}

/// Whether the inputs are Parquet: all of them, or none.
///
/// # Errors
/// When some are and some are not.
pub fn is_parquet(args: &InputArgs, format: Format) -> Outcome<bool> {
    let one = |name: &String| match format {
        // A prefix is treated as a folder; an object is detected by its name.
        Format::Auto if is_url(name) && name.ends_with('/') => true,
        Format::Auto => looks_like_parquet(Path::new(name)),
        Format::Parquet => true,
        Format::Json => false,
    };
    let parquet = args.inputs.iter().filter(|name| one(name)).count();
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

/// Detects Parquet: by the kind of the path (a folder), its name, or its first bytes.
fn looks_like_parquet(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension)) || path.is_dir() {
        return true;
    }
    // Bytes read from a pipe here would be lost.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"PAR1"
}
