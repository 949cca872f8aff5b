// SPDX-License-Identifier: Apache-2.0
//! Folders and patterns of files that form one table, with partition values in folder names:
//! `sales/year=2024/zone=A/part-0.parquet`.
//!
//! This module only handles names: no file is opened, and values stay text.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use arrowsmith_core::{Error, Result};

use crate::deletion_vector::Rows;
use crate::expand::{Matched, matched};
use crate::{Input, expand};

/// The value that stands for null in a folder name.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Maximum nesting of folders.
const DEPTH_MAX: usize = 64;

/// A file of a table.
#[derive(Debug)]
pub struct DataFile {
    /// The file.
    pub input: Input,
    /// Names and values of `name=value` folders, outermost first; `None` is null.
    pub partitions: Vec<(String, Option<String>)>,
    /// The rows that a table no longer has, if its files keep them.
    pub deleted: Option<Rows>,
}

impl From<Input> for DataFile {
    fn from(input: Input) -> Self {
        Self { input, partitions: Vec::new(), deleted: None }
    }
}

/// The files that `argument` names: those of [`expand`], and for a folder all files in it, at any
/// depth, whose names end in one of `extensions`. Files and folders whose names start with `.` or
/// `_` are skipped. Files are sorted by name.
///
/// Folders `name=value` below the named folder, or from the first wildcard of a pattern on, give
/// partition values, and so does a named folder that is called `name=value` itself; percent escapes
/// are decoded. A pattern that matches folders only stands for the files in them.
///
/// # Errors
/// As [`expand`]; [`Error::Io`] for a folder that cannot be read or has no such file;
/// [`Error::Config`] for files that do not have the same partition names.
pub fn expand_dataset(argument: impl AsRef<Path>, extensions: &[&str]) -> Result<Vec<DataFile>> {
    let path = argument.as_ref();
    let files: Vec<DataFile> = if path != Path::new("-") && path.is_dir() {
        let root = before_partitions(path);
        files_of(path, [path], extensions)?.into_iter().map(|file| data_file(file, root)).collect()
    } else {
        match matched(path)? {
            None => expand(path)?.into_iter().map(DataFile::from).collect(),
            Some(Matched { mut files, folders }) => {
                if files.is_empty() {
                    files = files_of(path, folders.iter().map(PathBuf::as_path), extensions)?;
                }
                let root = before_wildcards(path);
                files.into_iter().map(|file| data_file(file, &root)).collect()
            }
        }
    };
    same_names(path, &files)?;
    Ok(files)
}

/// Calls [`expand_dataset`] for every argument, in the given order.
///
/// # Errors
/// As [`expand_dataset`]; [`Error::Config`] if standard input is named twice.
pub fn expand_datasets<P: AsRef<Path>>(
    arguments: &[P],
    extensions: &[&str],
) -> Result<Vec<DataFile>> {
    let mut files = Vec::new();
    for argument in arguments {
        files.extend(expand_dataset(argument, extensions)?);
    }
    if files.iter().filter(|file| matches!(file.input, Input::Stdin)).count() > 1 {
        return Err(Error::Config("standard input (-) can be read only once".to_owned()));
    }
    Ok(files)
}

/// The files in these folders, each once, in order; `argument` names the folders in errors.
fn files_of<'a>(
    argument: &Path,
    folders: impl IntoIterator<Item = &'a Path>,
    extensions: &[&str],
) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for folder in folders {
        walk(folder, extensions, DEPTH_MAX, &mut paths)?;
    }
    if paths.is_empty() {
        return Err(Error::io(argument, nothing_in("file in this folder", extensions)));
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The error for a folder without a file of these names.
pub(crate) fn nothing_in(what: &str, extensions: &[&str]) -> io::Error {
    // Those with a compression's name at their end go without saying.
    let plain: Vec<&str> = extensions.iter().copied().filter(|name| !name.contains('.')).collect();
    let message = format!("no {what} ends in .{}", plain.join(" or ."));
    io::Error::new(io::ErrorKind::NotFound, message)
}

fn walk(folder: &Path, extensions: &[&str], depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let named = |error| Error::io(folder, error);
    if depth == 0 {
        let message = format!("folders nested deeper than {DEPTH_MAX}");
        return Err(named(io::Error::other(message)));
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(named)? {
        entries.push(entry.map_err(named)?.path());
    }
    entries.sort();
    for path in entries {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            walk(&path, extensions, depth - 1, found)?;
        } else if has_extension(&path, extensions) {
            found.push(path);
        }
    }
    Ok(())
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.file_name().is_some_and(|name| ends_in(&name.to_string_lossy(), extensions))
}

/// Whether a file's name ends in one of `extensions`, which may have several parts: `json.gz`.
pub(crate) fn ends_in(name: &str, extensions: &[&str]) -> bool {
    extensions.iter().any(|extension| {
        let start = name.len().checked_sub(extension.len() + 1);
        let end = start.and_then(|start| name.get(start..));
        let end = end.and_then(|end| end.strip_prefix('.'));
        end.is_some_and(|end| end.eq_ignore_ascii_case(extension))
    })
}

/// The part of a folder's path before the folders `name=value` at its end.
fn before_partitions(folder: &Path) -> &Path {
    let mut root = folder;
    while let Some(name) = root.file_name()
        && partition(&name.to_string_lossy()).is_some()
        && let Some(parent) = root.parent()
    {
        root = parent;
    }
    root
}

/// The part of a pattern before its first component with a wildcard.
fn before_wildcards(pattern: &Path) -> PathBuf {
    let plain = |component: &Component<'_>| {
        !component.as_os_str().to_string_lossy().contains(['*', '?', '['])
    };
    pattern.components().take_while(plain).collect()
}

fn data_file(path: PathBuf, root: &Path) -> DataFile {
    let below = path.strip_prefix(root).unwrap_or(&path);
    let folders = below.parent().into_iter().flat_map(Path::components);
    let folders: Vec<_> = folders.map(|folder| folder.as_os_str().to_string_lossy()).collect();
    let partitions = partitions_of(folders.iter().map(AsRef::as_ref));
    DataFile { partitions, input: Input::Path(path), deleted: None }
}

/// The partition values in folder names, outermost first; folders with other names have none.
pub fn partitions_of<'a>(folders: impl Iterator<Item = &'a str>) -> Vec<(String, Option<String>)> {
    folders.filter_map(partition).collect()
}

/// The path of a file of the file system, which some writers name by a URL; other locations as they
/// are.
pub fn without_scheme(location: &str) -> &str {
    let Some(rest) = location.strip_prefix("file:") else { return location };
    rest.strip_prefix("//").unwrap_or(rest)
}

/// Name and value of a folder `name=value`.
fn partition(folder: &str) -> Option<(String, Option<String>)> {
    let (name, value) = folder.split_once('=')?;
    if name.is_empty() {
        return None;
    }
    let value = (value != NULL).then(|| unescaped(value));
    Some((unescaped(name), value))
}

/// Decodes percent escapes; invalid escapes, and text that would not be UTF-8, stay unchanged.
pub(crate) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let value = digits
            .filter(|_| first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Checks that all files of a table have the same partition names, so that all rows have the same
/// columns.
fn same_names(path: &Path, files: &[DataFile]) -> Result<()> {
    let names = |file: &DataFile| -> Vec<String> {
        file.partitions.iter().map(|(name, _)| name.clone()).collect()
    };
    let Some(first) = files.first() else { return Ok(()) };
    let expected = names(first);
    match files.iter().find(|file| names(file) != expected) {
        None => Ok(()),
        Some(other) => {
            let name = |file: &DataFile| file.input.name().unwrap_or_default();
            Err(Error::Config(format!(
                "{}: {} is partitioned by [{}], {} by [{}]",
                path.display(),
                name(first),
                expected.join(", "),
                name(other),
                names(other).join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn found(files: &[DataFile], root: &Path) -> Vec<String> {
        let show = |file: &DataFile| {
            let name = file.input.name().unwrap();
            let name = Path::new(&*name).strip_prefix(root).unwrap().display().to_string();
            let name = name.replace(std::path::MAIN_SEPARATOR, "/");
            let values = file.partitions.iter().map(|(name, value)| format!(" {name}:{value:?}"));
            name + &values.collect::<String>()
        };
        files.iter().map(show).collect()
    }

    #[test]
    fn folders_are_walked_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [
            "year=2024/zone=B%2FC/b.parquet",
            "year=2024/zone=__HIVE_DEFAULT_PARTITION__/a.parquet",
            "year=2023/zone=A/x.PARQUET",
            "year=2023/zone=A/_SUCCESS",
            "year=2023/zone=A/.x.parquet.crc",
            "year=2023/zone=A/readme.txt",
            "_delta_log/0.parquet",
        ] {
            touch(root, name);
        }
        let files = expand_dataset(root, &["parquet"]).unwrap();
        assert_eq!(
            found(&files, root),
            [
                "year=2023/zone=A/x.PARQUET year:Some(\"2023\") zone:Some(\"A\")",
                "year=2024/zone=B%2FC/b.parquet year:Some(\"2024\") zone:Some(\"B/C\")",
                "year=2024/zone=__HIVE_DEFAULT_PARTITION__/a.parquet year:Some(\"2024\") zone:None",
            ]
        );
        // Folders matched by wildcards give partition values; folders named literally do not.
        let files = expand_dataset(root.join("year=2024/*/*.parquet"), &["parquet"]).unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(files[0].partitions, [("zone".to_owned(), Some("B/C".to_owned()))]);
        let one = expand_dataset(root.join("year=2023/zone=A/x.PARQUET"), &["parquet"]).unwrap();
        assert!(one[0].partitions.is_empty());
        // As a shell expands `year=*/`, and as it does not.
        let year = [("year", "2024"), ("zone", "B/C")];
        for argument in ["year=2024/", "year=2024", "year=202[4]/", "year=2024/*"] {
            let files = expand_dataset(root.join(argument), &["parquet"]).unwrap();
            let known = if argument.ends_with('*') { &year[1..] } else { &year };
            let expected: Vec<_> =
                known.iter().map(|(name, value)| ((*name).into(), Some((*value).into()))).collect();
            assert_eq!(files[0].partitions, expected, "{argument}");
        }
        let inner = expand_dataset(root.join("year=2024/zone=B%2FC"), &["parquet"]).unwrap();
        assert_eq!(inner[0].partitions.len(), 2);
    }

    #[test]
    fn names_may_end_in_a_compression() {
        let known = ["json", "json.gz"];
        for (name, expected) in [
            ("a.json", true),
            ("a.JSON.gz", true),
            ("a.gz", false),
            ("json", false),
            (".json", true),
            ("a.xjson", false),
            ("ä.é", false),
        ] {
            assert_eq!(ends_in(name, &known), expected, "{name}");
        }
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let error = expand_dataset(root, &["parquet", "parq"]).unwrap_err().to_string();
        assert!(error.contains("no file in this folder ends in .parquet or .parq"), "{error}");
        touch(root, "a=1/x.parquet");
        touch(root, "b=1/x.parquet");
        let error = expand_dataset(root, &["parquet"]).unwrap_err().to_string();
        assert!(error.contains("is partitioned by [a]"), "{error}");
    }

    #[test]
    fn escapes_that_are_none_stay() {
        for (text, expected) in [("a%20b", "a b"), ("100%", "100%"), ("%zz", "%zz"), ("%ff", "%ff")]
        {
            assert_eq!(unescaped(text), expected);
        }
        assert_eq!(partition("=x"), None);
        assert_eq!(partition("x"), None);
        assert_eq!(partition("a=b=c"), Some(("a".to_owned(), Some("b=c".to_owned()))));
    }
}
