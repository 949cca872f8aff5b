// SPDX-License-Identifier: Apache-2.0
//! A file as a byte slice: the one unsafe call of memory mapping, behind a safe face.
//!
//! It is the first step of source → plan → engine → batch → sink for plain regular files. It stands in
//! a crate of its own so that every other crate around it can forbid unsafe code. It never writes.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};

/// The bytes of a regular file, read by the system when they are touched.
///
/// # Files that change
/// The map shows the file, not a copy of it. A process that overwrites the file while it is mapped
/// changes the bytes seen here; one that truncates it makes the system end this process with
/// `SIGBUS` when it touches the pages that are gone. Whoever has to read such files reads them as streams.
#[derive(Debug)]
pub struct FileMap {
    map: Mmap,
}

impl FileMap {
    /// Maps the whole of `file`, and tells the system that it will be read once, front to back.
    ///
    /// # Errors
    /// The system's error, for what cannot be mapped: pipes, directories, some network file systems.
    pub fn open(file: &File) -> io::Result<Self> {
        // SAFETY: the map is private to this struct, is only ever lent out as `&[u8]` that borrows it,
        // and is unmapped when it is dropped, so that no reference outlives the memory. What remains
        // is another process that changes the file: bytes may then differ between two reads, which
        // decoders stand since they check what they derive from bytes where they use it; truncation
        // ends the process with SIGBUS, as the type's documentation says.
        let map = unsafe { Mmap::map(file)? };
        // Advice can be refused without harm.
        let _ = map.advise(Advice::Sequential);
        let _ = map.advise(Advice::WillNeed);
        Ok(Self { map })
    }
}

impl AsRef<[u8]> for FileMap {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn shows_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{\"a\":1}\n").unwrap();
        let map = FileMap::open(&file).unwrap();
        drop(file);
        assert_eq!(map.as_ref(), b"{\"a\":1}\n");
    }

    #[test]
    fn an_empty_file_is_an_empty_slice() {
        let file = tempfile::tempfile().unwrap();
        assert!(FileMap::open(&file).unwrap().as_ref().is_empty());
    }

    #[test]
    fn a_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path()).unwrap();
        assert!(FileMap::open(&file).is_err());
    }
}
