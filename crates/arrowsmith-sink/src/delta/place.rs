// SPDX-License-Identifier: Apache-2.0
//! [`Place`]: where the log of a table is: a folder of the file system, or a prefix of a store.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use arrowsmith_core::sink::sync_folder;
use arrowsmith_core::{Error, Result, whole};

use super::LOG;
use crate::folder::unique;

/// The files of a table's log. Names are those of files in `_delta_log`.
pub trait Place: Send + Sync {
    /// The names of all files of the log; none if there is no log.
    ///
    /// # Errors
    /// [`Error::Io`] names the table.
    fn list(&self) -> Result<Vec<String>>;

    /// A file of the log, of at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Io`] names the file; of kind [`io::ErrorKind::NotFound`] if there is none.
    fn read(&self, name: &str, most: u64) -> Result<Vec<u8>>;

    /// A file of the table, of at most `most` bytes: its path relative to the table.
    ///
    /// # Errors
    /// As [`Place::read`].
    fn read_of_table(&self, path: &str, most: u64) -> Result<Vec<u8>>;

    /// Creates a file of the log with these bytes, all of them at once, unless there is one of this
    /// name; returns whether it did.
    ///
    /// # Errors
    /// [`Error::Io`] names the file. It may exist after an error.
    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool>;

    /// Deletes a file of the table: its path relative to the table.
    fn delete(&self, path: &str);
}

/// A table in the file system.
pub struct LocalPlace {
    table: PathBuf,
    log: PathBuf,
}

impl LocalPlace {
    /// The table in this folder.
    pub fn new(table: &Path) -> Self {
        Self { log: table.join(LOG), table: table.to_owned() }
    }
}

impl Place for LocalPlace {
    fn list(&self) -> Result<Vec<String>> {
        let entries = match fs::read_dir(&self.log) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Error::io(&self.log, error))?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
        names.collect::<io::Result<_>>().map_err(|error| Error::io(&self.log, error))
    }

    fn read(&self, name: &str, most: u64) -> Result<Vec<u8>> {
        read(&self.log.join(name), most)
    }

    fn read_of_table(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        read(&self.table.join(path), most)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.log.join(name);
        let failed = |error| Error::io(&path, error);
        fs::create_dir_all(&self.log).map_err(failed)?;
        // Complete before it has its name; a link fails where a rename would replace.
        let temporary = self.log.join(format!(".{name}.{}.tmp", unique()));
        let created =
            write(&temporary, bytes).and_then(|()| match fs::hard_link(&temporary, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                linked => linked.and_then(|()| sync_folder(&self.log)).map(|()| true),
            });
        // A failure cannot be reported here; the name shows that the file is temporary.
        let _ = fs::remove_file(&temporary);
        created.map_err(failed)
    }

    fn delete(&self, path: &str) {
        // A file that is in no log is invisible.
        let _ = fs::remove_file(self.table.join(path));
    }
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    whole::read(path, most).map_err(|error| Error::io(path, error))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(feature = "store")]
impl Place for arrowsmith_source::store::Prefix {
    fn list(&self) -> Result<Vec<String>> {
        Self::list(self, LOG)
    }

    fn read(&self, name: &str, most: u64) -> Result<Vec<u8>> {
        let bytes = Self::read(self, &format!("{LOG}/{name}"), most)?;
        Ok(bytes.to_vec())
    }

    fn read_of_table(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        Ok(Self::read(self, path, most)?.to_vec())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        Self::create(self, &format!("{LOG}/{name}"), bytes)
    }

    fn delete(&self, path: &str) {
        Self::delete(self, path);
    }
}
