// SPDX-License-Identifier: Apache-2.0
//! [`Stage`]: files that become visible together.
//!
//! They are written below a hidden folder beside or inside the target. A new target is that folder,
//! renamed: it appears at once. An existing one gets the files one after another, by renames, and
//! loses those it got if one of them fails.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrowsmith_core::sink::{Output, sync_folder};
use arrowsmith_core::{Error, Result};

use super::FolderOptions;

/// Files of a folder that is not complete; dropping it removes them.
pub(super) struct Stage {
    target: PathBuf,
    temporary: PathBuf,
    /// Paths relative to both.
    files: Vec<PathBuf>,
    /// Between `part-` and the number of a file: of this writer alone, if the target has files.
    infix: Option<String>,
    extension: String,
    is_added: bool,
    fsync: bool,
    is_complete: bool,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.is_complete || self.is_added {
            // A failure cannot be reported here; the name shows that the folder is temporary.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

impl Stage {
    pub(super) fn new(path: &Path, options: &FolderOptions) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        // A symbolic link is followed, so that it stays one.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
        let has_files = match fs::read_dir(&target) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if has_files && !options.append {
            let message = "the folder is not empty; with append, files are added to it";
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        let outer = target.parent().filter(|outer| !outer.as_os_str().is_empty());
        let outer = if has_files { &target } else { outer.unwrap_or(Path::new(".")) };
        let temporary = temporary_in(outer).map_err(failed)?;
        Ok(Self {
            target,
            temporary,
            files: Vec::new(),
            infix: has_files.then(unique),
            extension: options.extension.clone(),
            is_added: has_files,
            fsync: options.fsync,
            is_complete: false,
        })
    }

    /// The temporary folder.
    pub(super) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Creates file `number` of a folder.
    pub(super) fn create(&mut self, folder: &Path, number: u32) -> Result<Output> {
        let name = match &self.infix {
            Some(infix) => format!("part-{infix}-{number:05}.{}", self.extension),
            None => format!("part-{number:05}.{}", self.extension),
        };
        let file = folder.join(name);
        let inner = self.temporary.join(folder);
        fs::create_dir_all(&inner).map_err(|error| Error::io(&inner, error))?;
        let output = Output::create(self.temporary.join(&file))?.with_fsync(self.fsync);
        self.files.push(file);
        Ok(output)
    }

    /// Makes the files visible.
    pub(super) fn commit(&mut self) -> Result<()> {
        let done = if self.is_added { self.add() } else { self.rename() };
        done.map_err(|error| Error::io(&self.target, error))
    }

    fn rename(&mut self) -> io::Result<()> {
        if self.fsync {
            self.sync(&self.temporary)?;
        }
        match fs::remove_dir(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
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

/// Creates a folder under an unused hidden name.
fn temporary_in(outer: &Path) -> io::Result<PathBuf> {
    loop {
        let path = outer.join(format!(".arrowsmith-{}.tmp", unique()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
}

/// A part of a name that no other writer of this folder uses: time, process and a counter, mixed.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = now.as_secs() << 30 | u64::from(now.subsec_nanos());
    format!("{nanos:016x}-{:x}-{count:x}", process::id())
}
