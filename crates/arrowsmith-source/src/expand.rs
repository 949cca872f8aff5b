// SPDX-License-Identifier: Apache-2.0
//! Expands command-line arguments to inputs: paths, patterns, `-`.

use std::io;
use std::path::Path;

use arrowsmith_core::{Error, Result};

use crate::Input;

/// The rules of wildcards: as in a shell, `*` matches neither `/` nor hidden files.
const MATCHING: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The inputs that `argument` names: `-` is standard input; an existing path is taken literally;
/// anything else with `*`, `?` or `[` is a pattern, whose files are sorted by name. `**` matches
/// any number of folders.
///
/// # Errors
/// [`Error::Io`] names the pattern if it matches no file or is invalid. A path without wildcards
/// that does not exist is reported when it is opened.
pub fn expand(argument: impl AsRef<Path>) -> Result<Vec<Input>> {
    let path = argument.as_ref();
    if path == Path::new("-") {
        return Ok(vec![Input::Stdin]);
    }
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    let (None, Some(pattern)) = (path.symlink_metadata().ok(), pattern) else {
        return Ok(vec![Input::Path(path.to_owned())]);
    };
    let refuse =
        |message: String| Error::io(path, io::Error::new(io::ErrorKind::NotFound, message));
    let matches = glob::glob_with(pattern, MATCHING)
        .map_err(|error| refuse(format!("not a pattern: {error}")))?;
    let mut paths = Vec::new();
    for found in matches {
        let found = found.map_err(|error| Error::io(error.path().to_owned(), error.into()))?;
        if !found.is_dir() {
            paths.push(found);
        }
    }
    if paths.is_empty() {
        return Err(refuse("no file matches this pattern".to_owned()));
    }
    paths.sort();
    Ok(paths.into_iter().map(Input::Path).collect())
}

/// Calls [`expand`] for every argument, in the given order.
///
/// # Errors
/// As [`expand`]; [`Error::Config`] when standard input is named twice.
pub fn expand_all<P: AsRef<Path>>(arguments: &[P]) -> Result<Vec<Input>> {
    let mut inputs = Vec::with_capacity(arguments.len());
    for argument in arguments {
        inputs.extend(expand(argument)?);
    }
    if inputs.iter().filter(|input| matches!(input, Input::Stdin)).count() > 1 {
        return Err(Error::Config("standard input (-) can be read only once".to_owned()));
    }
    Ok(inputs)
}
