// SPDX-License-Identifier: Apache-2.0
//! A file as a byte slice, or read by offset into uninitialised memory: the unsafe calls of both,
//! behind safe interfaces.
//!
//! The first step of source → plan → engine → batch → sink for uncompressed regular files, and the
//! only module of this crate with `unsafe` code. It never writes.
//!
//! Mapping is for callers that read all of a file sequentially and pass parts of it on. Copying or
//! decoding data in the page cache is faster with reads, which need no page tables and copy from
//! huge pages.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;

use arrowsmith_simd::ReadAt;
use memmap2::{Mmap, MmapOptions};

/// The bytes of a regular file, read by the system when they are accessed.
///
/// # Files that change
/// The map shows the file, not a copy of it. A process that overwrites the file while it is mapped
/// changes the bytes seen here; one that truncates it makes the system end this process with
/// `SIGBUS` when it accesses the missing pages. Such files have to be read as streams. Windows
/// refuses to truncate a mapped file.
#[derive(Debug)]
pub struct FileMap {
    map: Mmap,
}

impl FileMap {
    /// Maps all of `file`, and advises the system that it will be read once, sequentially.
    ///
    /// # Errors
    /// The system's error for files that cannot be mapped: pipes, directories, some network file
    /// systems.
    pub fn open(file: &File) -> io::Result<Self> {
        let map = Self::map(file, 0)?;
        advise(&map, map.len());
        Ok(Self { map })
    }

    /// Maps `file` from a byte on, and advises the system that the first `soon` bytes from there
    /// will be read once, sequentially.
    ///
    /// # Errors
    /// As [`FileMap::open`].
    pub fn open_from(file: &File, start: u64, soon: u64) -> io::Result<Self> {
        let map = Self::map(file, start)?;
        advise(&map, usize::try_from(soon).unwrap_or(usize::MAX));
        Ok(Self { map })
    }

    fn map(file: &File, start: u64) -> io::Result<Mmap> {
        // SAFETY: the map is private to this struct, is only ever lent out as `&[u8]` that borrows
        // it, and is unmapped when it is dropped, so that no reference outlives the memory. What
        // remains is another process that changes the file: bytes may then differ between two
        // reads, which decoders tolerate because they check derived values where they use them;
        // truncation ends the process with SIGBUS, as documented on the type.
        unsafe { MmapOptions::new().offset(start).map(file) }
    }
}

/// Advises the system that the map is read sequentially, and its first bytes soon. The advice may
/// be refused.
#[cfg(unix)]
fn advise(map: &Mmap, soon: usize) {
    let _ = map.advise(memmap2::Advice::Sequential);
    let _ = map.advise_range(memmap2::Advice::WillNeed, 0, soon.min(map.len()));
}

/// Windows accepts such advice only when a file is opened, and reads ahead by itself.
#[cfg(not(unix))]
fn advise(_map: &Mmap, _soon: usize) {}

impl AsRef<[u8]> for FileMap {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

/// A regular file that is read by offset, from any number of threads.
#[derive(Debug)]
pub struct FileReader(File);

impl FileReader {
    /// A reader of an open file.
    pub fn new(file: File) -> Self {
        Self(file)
    }
}

// SAFETY: `Ok` is returned once every byte of `into` was written, since `read_some` wrote those
// that it counts.
unsafe impl ReadAt for FileReader {
    fn read_at(&self, mut offset: u64, mut into: &mut [MaybeUninit<u8>]) -> io::Result<()> {
        while !into.is_empty() {
            match read_some(&self.0, offset, into) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    into = into.get_mut(read..).unwrap_or_default();
                    offset = offset.saturating_add(read as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// One read at an offset. Returns how many bytes of `into` it wrote, from the first on; 0 at the
/// end of the file.
#[cfg(unix)]
fn read_some(file: &File, offset: u64, into: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    use std::os::fd::AsRawFd;
    let beyond = |_| io::Error::from(io::ErrorKind::UnexpectedEof);
    let offset = libc::off_t::try_from(offset).map_err(beyond)?;
    // SAFETY: the descriptor is open as long as `file` lives, and `into` may be written.
    let read =
        unsafe { libc::pread(file.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), offset) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// One read at an offset. Returns how many bytes of `into` it wrote, from the first on; 0 at the
/// end of the file.
///
/// It moves the file's cursor, which is not used. The stable call needs initialised memory, which
/// is therefore cleared first, in pieces that stay in the CPU's cache until the system overwrites
/// them.
#[cfg(windows)]
fn read_some(file: &File, offset: u64, into: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    use std::os::windows::fs::FileExt;
    /// Bytes cleared and read at a time.
    const STEP_BYTES: usize = 256 << 10;
    if i64::try_from(offset).is_err() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let step = into.len().min(STEP_BYTES);
    let into = into.get_mut(..step).unwrap_or_default();
    into.fill(MaybeUninit::new(0));
    // SAFETY: all of it was written by the line before.
    let into = unsafe { into.assume_init_mut() };
    file.seek_read(into, offset)
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
    fn reads_are_whole_or_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        file.write_all(&bytes).unwrap();
        let reader = FileReader::new(file);
        let mut out = arrowsmith_simd::Buf::<u8>::default();
        out.append_at(&reader, 7, 90_000).unwrap();
        out.append_at(&reader, 99_999, 1).unwrap();
        assert_eq!(out.as_slice(), [&bytes[7..90_007], &bytes[99_999..]].concat());
        for (offset, count) in [(99_999, 2), (100_000, 1), (u64::MAX, 1), (1 << 62, 1)] {
            assert!(out.append_at(&reader, offset, count).is_err());
        }
        out.append_at(&reader, 100_000, 0).unwrap();
        assert_eq!(out.len(), 90_001);
    }

    #[test]
    fn an_empty_file_is_an_empty_slice() {
        let file = tempfile::tempfile().unwrap();
        assert!(FileMap::open(&file).unwrap().as_ref().is_empty());
    }

    #[test]
    fn a_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        // Windows does not even open a directory.
        let map = File::open(directory.path()).and_then(|file| FileMap::open(&file));
        assert!(map.is_err());
    }
}
