// SPDX-License-Identifier: Apache-2.0
//! [`LocalFolder`]: files of the file system that become visible together.
//!
//! They are written below a hidden folder beside a new target, or inside one that exists. A new
//! target is that folder, renamed: it appears at once. An existing one, which may be a mount point
//! or have permissions of its own, gets the files one after another, by renames, and loses those
//! it got if one of them fails.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrowsmith_core::sink::{Folder, Output, sync_folder};
use arrowsmith_core::{Error, Result};

/// A folder of the file system.
pub struct LocalFolder {
    target: PathBuf,
    temporary: PathBuf,
    /// Paths relative to both.
    files: Vec<PathBuf>,
    /// Whether the target exists, so that files are added to it.
    is_added: bool,
    fsync: bool,
    is_complete: bool,
}

impl Drop for LocalFolder {
    fn drop(&mut self) {
        if !self.is_complete || self.is_added {
            // A failure cannot be reported here; the name shows that the folder is temporary.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

impl LocalFolder {
    /// Starts a folder. With `append` it may have files; with `fsync` files and folders are synced
    /// to disk.
    ///
    /// # Errors
    /// [`Error::Io`] if `path` cannot be written, is a file, or is a folder with files without
    /// `append`.
    pub fn new(path: &Path, append: bool, fsync: bool) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        // A symbolic link is followed, so that it stays one.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
        let (exists, has_files) = match fs::read_dir(&target) {
            Ok(mut entries) => (true, entries.next().is_some()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (false, false),
            Err(error) => return Err(failed(error)),
        };
        if has_files && !append {
            let message = "the folder is not empty; with append, files are added to it";
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        let outer = target.parent().filter(|outer| !outer.as_os_str().is_empty());
        let outer = if exists { &target } else { outer.unwrap_or(Path::new(".")) };
        let temporary = temporary_in(outer).map_err(failed)?;
        Ok(Self {
            target,
            temporary,
            files: Vec::new(),
            is_added: exists,
            fsync,
            is_complete: false,
        })
    }

    /// The folder with the incomplete files: a signal handler that ends the process has to remove
    /// it.
    pub fn temporary_path(&self) -> &Path {
        &self.temporary
    }

    fn rename(&mut self) -> io::Result<()> {
        if self.fsync {
            self.sync(&self.temporary)?;
        }
        // Another run may have made it meanwhile.
        if self.target.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(&self.temporary, &self.target)?;
        self.is_complete = true;
        let outer = self.target.parent().filter(|outer| !outer.as_os_str().is_empty());
        if self.fsync { sync_folder(outer.unwrap_or(Path::new("."))) } else { Ok(()) }
    }

    fn add(&mut self) -> io::Result<()> {
        let mut moved = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let (from, to) = (self.temporary.join(file), self.target.join(file));
            let done = to.parent().map_or(Ok(()), fs::create_dir_all);
            if let Err(error) = done.and_then(|()| fs::rename(&from, &to)) {
                moved.iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(error);
            }
            moved.push(to);
        }
        self.is_complete = true;
        if self.fsync { self.sync(&self.target) } else { Ok(()) }
    }

    /// Syncs the folders of all files below `root`.
    fn sync(&self, root: &Path) -> io::Result<()> {
        let folders = self.files.iter().flat_map(|file| file.ancestors().skip(1));
        let folders: BTreeSet<PathBuf> = folders.map(|folder| root.join(folder)).collect();
        folders.iter().try_for_each(|folder| sync_folder(folder))
    }
}

impl Folder for LocalFolder {
    fn has_files(&self) -> bool {
        self.is_added
    }

    fn create(&mut self, name: &str) -> Result<Output> {
        let file = PathBuf::from(name);
        let path = self.temporary.join(&file);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        let output = Output::create(&path)?.with_fsync(self.fsync);
        self.files.push(file);
        Ok(output)
    }

    fn commit(&mut self) -> Result<()> {
        let done = if self.is_added { self.add() } else { self.rename() };
        done.map_err(|error| Error::io(&self.target, error))
    }
}

/// Creates a folder under an unused hidden name.
fn temporary_in(outer: &Path) -> io::Result<PathBuf> {
    loop {
        let path = outer.join(format!(".arrowsmith-{}.tmp", super::unique()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
}
