// SPDX-License-Identifier: Apache-2.0
//! [`LocalFolder`]: files of the file system that become visible together.
//!
//! They are written below a hidden folder beside a new target, or inside one that exists, under
//! names that no reader looks for: some read hidden folders, too. A new target is that folder,
//! renamed: it appears at once. An existing one, which may be a mount point or have permissions of
//! its own, gets the files one after another, by renames, and loses those it got if one of them
//! fails.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrowsmith_core::sink::{Cleanup, CommitLock, Folder, Output, sync_folder};
use arrowsmith_core::{Error, Result};

/// How the names of temporary folders start, and the names of all that is temporary end.
const TEMPORARY: (&str, &str) = (".arrowsmith-", ".tmp");

/// A folder of the file system.
pub struct LocalFolder {
    target: PathBuf,
    temporary: PathBuf,
    /// Paths relative to both.
    files: Vec<PathBuf>,
    /// The folders of the files, relative as they are.
    folders: BTreeSet<PathBuf>,
    /// Whether the target exists, so that files are added to it.
    is_added: bool,
    /// Whether it may have files.
    append: bool,
    fsync: bool,
    /// Whether the temporary files have their names.
    is_named: bool,
    is_complete: bool,
    lock: CommitLock,
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
        let (is_added, has_files) = match has_files(&target) {
            Ok(has_files) => (true, has_files),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (false, false),
            Err(error) => return Err(failed(error)),
        };
        if !is_added && target.is_symlink() {
            let message = "a symbolic link to a folder that does not exist";
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, message)));
        }
        if has_files && !append {
            let message = "the folder is not empty; with append, files are added to it";
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        let temporary = temporary_in(if is_added { &target } else { outer(&target) });
        Ok(Self {
            target,
            temporary: temporary.map_err(failed)?,
            files: Vec::new(),
            folders: BTreeSet::new(),
            is_added,
            append,
            fsync,
            is_named: false,
            is_complete: false,
            lock: CommitLock::default(),
        })
    }

    /// Where a file is until it is moved.
    fn source(&self, file: &Path) -> PathBuf {
        let file = self.temporary.join(file);
        if self.is_named { file } else { hidden(&file) }
    }

    /// Makes the temporary folder the target.
    fn rename(&mut self) -> io::Result<()> {
        for file in &self.files {
            fs::rename(self.source(file), self.temporary.join(file))?;
        }
        self.is_named = true;
        if self.fsync {
            self.sync(&self.temporary)?;
        }
        let lock = self.lock.clone();
        let _held = lock.hold();
        self.go_on()?;
        if self.target.exists() {
            return Err(taken());
        }
        fs::rename(&self.temporary, &self.target)?;
        self.is_complete = true;
        Ok(())
    }

    /// Moves the files to the target.
    fn add(&mut self) -> io::Result<()> {
        let lock = self.lock.clone();
        let _held = lock.hold();
        if !self.append && has_files(&self.target)? {
            return Err(taken());
        }
        let mut made = Vec::new();
        let moved = self.files.iter().try_for_each(|file| {
            self.go_on()?;
            make_folders(&self.target, file, &mut made)?;
            let to = self.target.join(file);
            fs::rename(self.source(file), &to)?;
            made.push(to);
            Ok(())
        });
        if moved.is_err() {
            // The first failure is reported. Folders that others use meanwhile stay.
            let remove = |path: &PathBuf| fs::remove_file(path).or_else(|_| fs::remove_dir(path));
            made.iter().rev().for_each(|path| drop(remove(path)));
        }
        self.is_complete = moved.is_ok();
        moved
    }

    /// An error if the commit has been stopped.
    fn go_on(&self) -> io::Result<()> {
        if self.lock.is_stopped() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    fn move_files(&mut self) -> io::Result<()> {
        if !self.is_added {
            match self.rename() {
                // Another run has made it meanwhile.
                Err(_) if self.append && self.target.is_dir() => self.is_added = true,
                renamed => return renamed,
            }
        }
        self.add()
    }

    /// Syncs the folders of all files below `root`.
    fn sync(&self, root: &Path) -> io::Result<()> {
        let folders = self.folders.iter().map(|folder| root.join(folder));
        folders.chain([root.to_owned()]).try_for_each(|folder| sync_folder(&folder))
    }
}

impl Folder for LocalFolder {
    fn is_shared(&self) -> bool {
        self.is_added || self.append
    }

    fn create(&mut self, name: &str) -> Result<Output> {
        let file = PathBuf::from(name);
        for folder in folders_of(&file) {
            if self.folders.insert(folder.to_owned()) {
                let path = self.temporary.join(folder);
                fs::create_dir(&path).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => {
                        let message = "the file system does not distinguish this name from \
                                       another one";
                        Error::io(&path, io::Error::new(error.kind(), message))
                    }
                    _ => Error::io(&path, error),
                })?;
            }
        }
        let output = Output::create(self.source(&file))?.with_fsync(self.fsync);
        self.files.push(file);
        Ok(output)
    }

    fn commit(&mut self) -> Result<()> {
        let moved = self.move_files().and_then(|()| match (self.fsync, self.is_added) {
            (false, _) => Ok(()),
            (true, true) => self.sync(&self.target),
            (true, false) => sync_folder(outer(&self.target)),
        });
        moved.map_err(|error| match self.lock.is_stopped() {
            true => Error::Cancelled,
            false => Error::io(&self.target, error),
        })
    }

    fn cleanup(&self) -> Cleanup {
        let (lock, temporary) = (self.lock.clone(), self.temporary.clone());
        Box::new(move || {
            lock.stop();
            // The name shows that it is temporary.
            let _ = fs::remove_dir_all(temporary);
        })
    }
}

/// The name of a temporary file.
fn hidden(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(TEMPORARY.1);
    name.into()
}

fn outer(folder: &Path) -> &Path {
    let outer = folder.parent().filter(|outer| !outer.as_os_str().is_empty());
    outer.unwrap_or(Path::new("."))
}

/// Whether there is anything in a folder but what is temporary, of others or left by a crash.
fn has_files(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(TEMPORARY.0) || !name.ends_with(TEMPORARY.1) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error for a target that another run has written to since this one started.
fn taken() -> io::Error {
    let message = "another process has written to this folder meanwhile";
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}

/// The folders of a file, outermost first.
fn folders_of(file: &Path) -> impl Iterator<Item = &Path> {
    let folders = file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.collect::<Vec<_>>().into_iter().rev()
}

/// Makes the folders of a file; adds those that were not there to `made`.
fn make_folders(root: &Path, file: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    for folder in folders_of(file) {
        let folder = root.join(folder);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => made.push(folder),
        }
    }
    Ok(())
}

/// Creates a folder under an unused hidden name.
fn temporary_in(outer: &Path) -> io::Result<PathBuf> {
    loop {
        let path = outer.join(format!("{}{}{}", TEMPORARY.0, super::unique(), TEMPORARY.1));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
}
