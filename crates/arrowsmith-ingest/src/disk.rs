// SPDX-License-Identifier: Apache-2.0
//! The disk below spool, directory and rejects: the system's, and in tests one that fails, tears
//! and forgets.
//!
//! What is stored depends on a few calls and on their order; they are named here so that a test can
//! replace them. Nothing here decides what is written.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrowsmith_core::sink::sync_folder;

use crate::files;

/// A disk that several hold.
pub(crate) type SharedDisk = Arc<dyn Disk>;

/// A file that is open.
pub(crate) type OpenFile = Box<dyn DiskFile>;

/// Operations on names.
pub(crate) trait Disk: fmt::Debug + Send + Sync {
    /// Makes a folder, and those above it, so that it outlives a loss of power.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;
    /// Has the names in a folder outlive a loss of power.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// The names in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Takes a lock that ends with what is returned; `None` when another process has it.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send>>>;
    /// A new file, to be written at its end; an error when the name is there.
    fn create_new(&self, path: &Path) -> io::Result<OpenFile>;
    /// A file, to be written at its end; made if it is not there.
    fn append(&self, path: &Path) -> io::Result<OpenFile>;
    /// A file, to be read.
    fn read(&self, path: &Path) -> io::Result<OpenFile>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn exists(&self, path: &Path) -> bool;
    /// Whether work may go on in threads; without them everything has one order.
    fn has_threads(&self) -> bool {
        true
    }
}

/// Operations on a file.
pub(crate) trait DiskFile: Read + Write + Seek + Send {
    /// Has content and length outlive a loss of power. After an error it is unknown what of it
    /// does, and another call need not report the error.
    fn sync(&self) -> io::Result<()>;
    /// An error if the file was removed or moved since it was opened: what is written to it is
    /// lost, or in another folder.
    fn check_name(&self) -> io::Result<()> {
        Ok(())
    }
    /// Truncates the file to its first `bytes`.
    fn cut(&self, bytes: u64) -> io::Result<()>;
    /// Length in bytes.
    fn size(&self) -> io::Result<u64>;
}

/// All of a file that is small.
pub(crate) fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    disk.read(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes a file, also one that is not there.
pub(crate) fn remove_if_there(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The disk of the system.
#[derive(Debug)]
pub(crate) struct System;

/// The disk of the system, to be held.
pub(crate) fn system() -> SharedDisk {
    Arc::new(System)
}

struct SystemFile {
    file: File,
    path: PathBuf,
}

impl System {
    fn open(options: &fs::OpenOptions, path: &Path) -> io::Result<OpenFile> {
        Ok(Box::new(SystemFile { file: options.open(path)?, path: path.to_owned() }))
    }
}

impl Disk for System {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).collect();
        fs::create_dir_all(folder)?;
        for made in missing {
            let above = made.parent().filter(|above| !above.as_os_str().is_empty());
            // A folder above that may not be read cannot be synced, and was made by another user.
            match sync_folder(above.unwrap_or(Path::new("."))) {
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // Ours are all UTF-8.
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send>>> {
        let file = File::options().create(true).write(true).truncate(false).open(path)?;
        Ok(if file.try_lock().is_ok() { Some(Box::new(file)) } else { None })
    }

    fn create_new(&self, path: &Path) -> io::Result<OpenFile> {
        Self::open(File::options().create_new(true).append(true), path)
    }

    fn append(&self, path: &Path) -> io::Result<OpenFile> {
        Self::open(File::options().create(true).append(true).read(true), path)
    }

    fn read(&self, path: &Path) -> io::Result<OpenFile> {
        Self::open(File::options().read(true), path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }
}

impl Read for SystemFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Write for SystemFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SystemFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl DiskFile for SystemFile {
    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn check_name(&self) -> io::Result<()> {
        files::check_name(&self.file, &self.path)
    }

    fn cut(&self, bytes: u64) -> io::Result<()> {
        files::cut(&self.file, &self.path, bytes)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
