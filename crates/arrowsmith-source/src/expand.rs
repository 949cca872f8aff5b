// SPDX-License-Identifier: Apache-2.0
//! Expands command-line arguments to inputs: paths, patterns, `-`.

use std::io;
use std::path::{Component, Path, PathBuf};

use arrowsmith_core::{Error, Result};

use crate::Input;

/// The rules of wildcards: as in a shell, `*` does not match `/`; nor hidden files, see
/// [`is_hidden`].
const MATCHING: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    // It panics in a folder with a name that is not UTF-8.
    require_literal_leading_dot: false,
};

/// Whether a file, or a folder around it, has a name with a dot in front, for which the pattern has
/// none.
fn is_hidden(found: &Path, pattern: &str) -> bool {
    let dotted = |name: &&str| name.starts_with('.');
    let patterns: Vec<&str> = pattern.split(std::path::is_separator).filter(dotted).collect();
    let names = found.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let mut hidden = names.filter(|name| name.starts_with('.'));
    hidden.any(|name| {
        !patterns.iter().any(|one| glob::Pattern::new(one).is_ok_and(|one| one.matches(&name)))
    })
}

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
    match matched(path)? {
        None => Ok(vec![Input::Path(path.to_owned())]),
        Some(Matched { files, .. }) if files.is_empty() => Err(no_match(path)),
        Some(Matched { files, .. }) => Ok(files.into_iter().map(Input::Path).collect()),
    }
}

/// What a pattern matches, sorted by name.
pub(crate) struct Matched {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) folders: Vec<PathBuf>,
}

/// What a pattern matches; `None` for a path that is none.
///
/// # Errors
/// As [`expand`].
pub(crate) fn matched(path: &Path) -> Result<Option<Matched>> {
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    let (None, Some(pattern)) = (path.symlink_metadata().ok(), pattern) else { return Ok(None) };
    let matches = glob::glob_with(pattern, MATCHING).map_err(|error| {
        let message = format!("not a pattern: {error}");
        Error::io(path, io::Error::new(io::ErrorKind::NotFound, message))
    })?;
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for found in matches {
        let found = found.map_err(|error| Error::io(error.path().to_owned(), error.into()))?;
        if is_hidden(&found, pattern) {
            continue;
        }
        if found.is_dir() { folders.push(found) } else { files.push(found) }
    }
    if files.is_empty() && folders.is_empty() {
        return Err(no_match(path));
    }
    files.sort();
    folders.sort();
    Ok(Some(Matched { files, folders }))
}

fn no_match(pattern: &Path) -> Error {
    let message = "no file matches this pattern";
    Error::io(pattern, io::Error::new(io::ErrorKind::NotFound, message))
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
