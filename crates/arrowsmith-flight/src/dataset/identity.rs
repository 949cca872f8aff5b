// SPDX-License-Identifier: Apache-2.0
//! Which file it was that a snapshot was made of, so that a file that has taken its name is not
//! read in its place.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arrowsmith::{Error, Result};
use tonic::Status;

use crate::error::carried;

/// Identity of a file, which differs between files and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    bytes: u64,
    modified: Option<SystemTime>,
    place: Option<(u64, u64)>,
}

impl Identity {
    /// From the system's metadata.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: metadata.modified().ok(), place: place(metadata) }
    }

    /// Its size.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Of the file that has this name now.
    pub(super) fn at(path: &Path) -> Result<Self> {
        path.metadata().map(|metadata| Self::of(&metadata)).map_err(|error| Error::io(path, error))
    }

    /// Refuses an open file that is another one, or not as it was.
    pub(super) fn check(&self, file: &File, path: &Path) -> Result<()> {
        let metadata = file.metadata().map_err(|error| Error::io(path, error))?;
        if Self::of(&metadata) == *self { Ok(()) } else { Err(changed()) }
    }

    fn is_at(&self, path: &Path) -> bool {
        Self::at(path).is_ok_and(|now| now == *self)
    }

    /// Whether the file of this name is the same one, and was changed in place.
    fn is_changed_at(&self, path: &Path) -> bool {
        Self::at(path).is_ok_and(|now| now != *self && now.place == self.place)
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "as its twin")]
fn place(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Without numbers of files, their sizes and times have to do.
#[cfg(not(unix))]
fn place(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The error of a reader whose snapshot is gone.
pub(super) fn changed() -> Error {
    carried(Status::failed_precondition("the dataset has changed: request its flight again"))
}

/// The files of a reader that opens them by their names, when it is their turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Watched(Vec<(PathBuf, Identity)>);

impl Watched {
    pub(super) fn new(files: impl IntoIterator<Item = (PathBuf, Identity)>) -> Self {
        Self(files.into_iter().collect())
    }

    /// Before the reader opens them, and once it has opened the first.
    pub(super) fn before(&self) -> Result<()> {
        let same = self.0.iter().all(|(path, identity)| identity.is_at(path));
        if same { Ok(()) } else { Err(changed()) }
    }

    /// When everything was read. One file alone was opened at the start and may have lost its name
    /// since; several were opened one after the other.
    pub(super) fn after(&self) -> Result<()> {
        let other = match self.0.as_slice() {
            [(path, identity)] => identity.is_changed_at(path),
            all => all.iter().any(|(path, identity)| !identity.is_at(path)),
        };
        if other { Err(changed()) } else { Ok(()) }
    }
}

/// A number that changes when files do.
pub(super) fn version<'a>(files: impl IntoIterator<Item = (&'a PathBuf, &'a Identity)>) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_known_again_and_another_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let first = Identity::at(&path).unwrap();
        let watched = Watched::new([(path.clone(), first)]);
        watched.before().unwrap();
        watched.after().unwrap();
        // Another file of the same size takes its name: the open file is still the first.
        fs::write(folder.path().join("b"), "two").unwrap();
        fs::rename(folder.path().join("b"), &path).unwrap();
        assert_ne!(Identity::at(&path).unwrap(), first);
        watched.before().unwrap_err();
        watched.after().unwrap();
        let second = Identity::at(&path).unwrap();
        assert_ne!(version([(&path, &first)]), version([(&path, &second)]));
        let both = Watched::new([(path.clone(), second), (path.clone(), first)]);
        both.after().unwrap_err();
        // A file that is truncated in place has changed.
        let watched = Watched::new([(path.clone(), second)]);
        fs::write(&path, "t").unwrap();
        watched.after().unwrap_err();
        fs::remove_file(&path).unwrap();
        watched.before().unwrap_err();
    }
}
