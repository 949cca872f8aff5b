// SPDX-License-Identifier: Apache-2.0
//! [`Place`]: where a table is: a folder of the file system, or a prefix of a store.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use arrowsmith_core::sink::sync_folder;
use arrowsmith_core::{Error, Result, whole};
use arrowsmith_source::without_scheme;

use crate::folder::unique;

/// The files that say what a table is, by their paths relative to the table.
pub trait Place: Send + Sync {
    /// The names of all files in a folder; none if there is no such folder.
    ///
    /// # Errors
    /// [`Error::Io`] names the folder.
    fn list(&self, folder: &str) -> Result<Vec<String>>;

    /// A file of at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Io`] names the file; of kind [`io::ErrorKind::NotFound`] if there is none.
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>>;

    /// Creates a file with these bytes, all of them at once, unless there is one of this name;
    /// returns whether it did.
    ///
    /// # Errors
    /// [`Error::Io`] names the file. It may exist after an error.
    fn create(&self, path: &str, bytes: &[u8]) -> Result<bool>;

    /// Creates a file with these bytes, or replaces it: all of them at once.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    fn replace(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Deletes a file.
    fn delete(&self, path: &str);

    /// The URL of the table, in which nothing is escaped.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that is not text.
    fn location(&self) -> Result<String>;

    /// Whether a URL, or a path, is that of the table.
    ///
    /// # Errors
    /// As [`Place::location`].
    fn is_at(&self, location: &str) -> Result<bool>;
}

/// Why a file could not be created, and whether it is certain that it is not there.
pub(crate) struct Failed {
    pub(crate) error: Error,
    pub(crate) is_certain: bool,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, is_certain: true }
    }
}

/// Creates a file that makes a commit, unless another writer has created it; returns whether it is
/// there with these bytes, which no other writer has.
pub(crate) fn create_once(
    place: &dyn Place,
    path: &str,
    bytes: &[u8],
) -> std::result::Result<bool, Failed> {
    let error = match place.create(path, bytes) {
        Ok(is_created) => return Ok(is_created),
        Err(error) => error,
    };
    // The answer may have been lost.
    match place.read(path, bytes.len() as u64) {
        Ok(found) if found == bytes => Ok(true),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Err(error.into())
        }
        _ => Err(Failed { error, is_certain: false }),
    }
}

/// A table in the file system.
pub struct LocalPlace {
    table: PathBuf,
}

impl LocalPlace {
    /// The table in this folder.
    pub fn new(table: &Path) -> Self {
        Self { table: table.to_owned() }
    }

    /// Writes a temporary file, and lets `name` give it its name.
    fn write<T>(
        &self,
        path: &str,
        bytes: &[u8],
        name: impl FnOnce(&Path, &Path) -> io::Result<T>,
    ) -> Result<T> {
        let path = self.table.join(path);
        let failed = |error| Error::io(&path, error);
        let folder = path.parent().unwrap_or(&self.table);
        fs::create_dir_all(folder).map_err(failed)?;
        let file = path.file_name().unwrap_or_default().display();
        let temporary = folder.join(format!(".{file}.{}.tmp", unique()));
        let named = write(&temporary, bytes).and_then(|()| {
            let named = name(&temporary, &path)?;
            sync_folder(folder)?;
            Ok(named)
        });
        // A failure cannot be reported here; the name shows that the file is temporary.
        let _ = fs::remove_file(&temporary);
        named.map_err(failed)
    }
}

impl Place for LocalPlace {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let folder = self.table.join(folder);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Error::io(&folder, error))?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
        names.collect::<io::Result<_>>().map_err(|error| Error::io(&folder, error))
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let path = self.table.join(path);
        whole::read(&path, most).map_err(|error| Error::io(&path, error))
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        // A link fails where a rename would replace.
        self.write(path, bytes, |temporary, path| match fs::hard_link(temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        })
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.write(path, bytes, |temporary, path| fs::rename(temporary, path))
    }

    fn delete(&self, path: &str) {
        // A file that no metadata names is invisible.
        let _ = fs::remove_file(self.table.join(path));
    }

    fn location(&self) -> Result<String> {
        let failed = |error| Error::io(&self.table, error);
        let path = resolved(&self.table).map_err(failed)?;
        let text = path.to_str().ok_or_else(|| {
            failed(io::Error::new(io::ErrorKind::InvalidInput, "a path that is not text"))
        });
        Ok(format!("file://{}", text?.trim_end_matches('/')))
    }

    fn is_at(&self, location: &str) -> Result<bool> {
        let there = resolved(Path::new(without_scheme(location)));
        let here = resolved(&self.table).map_err(|error| Error::io(&self.table, error))?;
        Ok(there.is_ok_and(|there| there == here))
    }
}

/// A path without links on its way, whether there is something or not.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (fs::canonicalize(&path), path.parent(), path.file_name()) {
        (Err(_), Some(folder), Some(name)) => Ok(resolved(folder)?.join(name)),
        (found, ..) => found,
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(feature = "store")]
impl Place for arrowsmith_source::store::Prefix {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        Self::list(self, folder)
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        Ok(Self::read(self, path, most)?.to_vec())
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        Self::create(self, path, bytes)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut output = Self::replace(self, path)?;
        output.write_all(bytes).map_err(|error| Error::io(path, error))?;
        output.commit().map(drop)
    }

    fn delete(&self, path: &str) {
        Self::delete(self, path);
    }

    fn location(&self) -> Result<String> {
        Ok(Self::location(self))
    }

    fn is_at(&self, location: &str) -> Result<bool> {
        // Hadoop's names of the same store.
        let plain = |url: &str| {
            let url = url.trim_end_matches('/');
            let rest = url.strip_prefix("s3a://").or_else(|| url.strip_prefix("s3n://"));
            rest.map_or_else(|| url.to_owned(), |rest| format!("s3://{rest}"))
        };
        Ok(plain(location) == plain(&Self::location(self)))
    }
}
