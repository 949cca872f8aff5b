// SPDX-License-Identifier: Apache-2.0
//! Streams that can be read again: what is read of them is kept, at first in memory, then in a
//! temporary file, up to a limit for all of them together.
//!
//! The file has no name any more once it is open, so that it goes away with the process, however
//! that ends.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are kept in memory, before there is a file.
const MEMORY_BYTES: usize = 16 << 20;

/// What is kept of streams, in the order in which it was read. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Spool(Arc<Mutex<Log>>);

struct Log {
    /// The first bytes.
    head: Vec<u8>,
    /// Those after the head.
    file: Option<File>,
    bytes: u64,
    bytes_max: u64,
    memory_bytes: usize,
    /// Whether there were more than are kept, or they could not be written; then none are.
    lost: bool,
}

impl Spool {
    /// Keeps at most `bytes_max` of all streams together.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self::with_memory(bytes_max, MEMORY_BYTES)
    }

    /// As [`Spool::new`], with at most `memory_bytes` of them in memory: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_memory(bytes_max: u64, memory_bytes: usize) -> Self {
        let (head, file, lost) = (Vec::new(), None, false);
        Self(Arc::new(Mutex::new(Log { head, file, bytes: 0, bytes_max, memory_bytes, lost })))
    }

    /// The start of a stream that is kept.
    #[must_use]
    pub fn stream(&self, reader: Box<dyn Read + Send>) -> Spooled {
        let stream = Stream { reader, read: 0, extents: Vec::new() };
        Spooled { spool: self.clone(), stream: Arc::new(Mutex::new(stream)), at: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a stream that is kept. Handles of one stream share what is kept; each reads all of
/// it.
pub struct Spooled {
    spool: Spool,
    stream: Arc<Mutex<Stream>>,
    at: u64,
}

struct Stream {
    reader: Box<dyn Read + Send>,
    /// Bytes that were read from the reader.
    read: u64,
    /// Where they are kept, in order: one extent, unless other streams were read in between.
    extents: Vec<Extent>,
}

/// A part of the log.
struct Extent {
    start: u64,
    len: u64,
}

impl Spooled {
    /// The start again; `None` if it is not kept any more.
    pub fn again(&self) -> Option<Self> {
        let lost = self.spool.lock().lost;
        let (spool, stream) = (self.spool.clone(), Arc::clone(&self.stream));
        (!lost).then_some(Self { spool, stream, at: 0 })
    }
}

impl fmt::Debug for Spooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spooled").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Read for Spooled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let read = if self.at < stream.read {
            stream.kept(&self.spool, self.at, buffer)?
        } else {
            stream.next(&self.spool, buffer)?
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Stream {
    /// Bytes that were read before.
    fn kept(&self, spool: &Spool, mut at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut log = spool.lock();
        if log.lost {
            return Err(io::Error::other("what was read of this stream is not kept"));
        }
        for Extent { start, len } in &self.extents {
            if at < *len {
                let left = usize::try_from(len - at).unwrap_or(usize::MAX).min(buffer.len());
                return log.read(start + at, &mut buffer[..left]);
            }
            at -= len;
        }
        Ok(0)
    }

    /// The next bytes of the reader.
    fn next(&mut self, spool: &Spool, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            // Others that are read after it need its descriptor.
            self.reader = Box::new(io::empty());
        }
        let kept = spool.lock().keep(buffer.get(..read).unwrap_or_default());
        if let Some(start) = kept.filter(|_| read > 0) {
            let len = read as u64;
            match self.extents.last_mut() {
                Some(last) if last.start + last.len == start => last.len += len,
                _ => self.extents.push(Extent { start, len }),
            }
        }
        self.read += read as u64;
        Ok(read)
    }
}

impl Log {
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let head = self.head.len() as u64;
        if at < head {
            let at = usize::try_from(at).unwrap_or(self.head.len());
            return (&self.head[at..]).read(buffer);
        }
        let Some(file) = &mut self.file else { return Ok(0) };
        file.seek(SeekFrom::Start(at - head))?;
        file.read(buffer)
    }

    /// Keeps bytes, and returns where they are.
    fn keep(&mut self, bytes: &[u8]) -> Option<u64> {
        let start = self.bytes;
        if !self.lost && self.append(bytes).is_err() {
            // Whoever reads on does not need them.
            (self.lost, self.head, self.file) = (true, Vec::new(), None);
        }
        self.bytes += bytes.len() as u64;
        (!self.lost).then_some(start)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes + bytes.len() as u64 > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.file.is_none() && self.head.len() + bytes.len() <= self.memory_bytes {
            self.head.try_reserve(bytes.len())?;
            self.head.extend_from_slice(bytes);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(temporary_file()?),
        };
        file.seek(SeekFrom::Start(self.bytes - self.head.len() as u64))?;
        file.write_all(bytes)
    }
}

/// An empty file without a name, in the folder for temporary ones, which only this user can read.
///
/// # Errors
/// That of the folder, as where it does not exist or is full.
pub fn temporary_file() -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for _ in 0..100 {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("arrowsmith-spool-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match options.open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|at| b'a' + u8::try_from(at * 7 % 26).unwrap()).collect()
    }

    /// Reads in pieces of other sizes.
    fn read(spooled: &mut Spooled, len: usize, piece: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let mut buffer = vec![0; piece.min(len - bytes.len())];
            match spooled.read(&mut buffer).unwrap() {
                0 => break,
                read => bytes.extend_from_slice(&buffer[..read]),
            }
        }
        bytes
    }

    #[test]
    fn every_handle_reads_everything() {
        for len in [0, 1, 1000, MEMORY_BYTES, MEMORY_BYTES + 1, 2 * MEMORY_BYTES + 12_345] {
            let text = text(len);
            let mut first = Spool::new(u64::MAX).stream(Box::new(Cursor::new(text.clone())));
            assert!(read(&mut first, len / 2, 70_001) == text[..len / 2], "{len}");
            let mut second = first.again().unwrap();
            assert!(read(&mut second, usize::MAX, 1 << 20) == text, "{len}");
            // The second one has read more than the first one now.
            assert!(read(&mut first, usize::MAX, 333_333) == text[len / 2..], "{len}");
            assert!(read(&mut first.again().unwrap(), usize::MAX, 1 << 16) == text, "{len}");
        }
    }

    #[test]
    fn a_stream_longer_than_the_limit_is_read_once() {
        let text = text(100_000);
        let mut first = Spool::new(99_999).stream(Box::new(Cursor::new(text.clone())));
        let mut early = first.again().unwrap();
        assert!(read(&mut first, usize::MAX, 1000) == text);
        assert!(first.again().is_none());
        assert!(early.read(&mut [0; 10]).is_err());
    }

    #[test]
    fn streams_share_the_limits() {
        let parts = [text(30_000), text(50_001), text(7)];
        let spool = |bytes_max| {
            let spool = Spool::with_memory(bytes_max, 40_000);
            parts.clone().map(|part| spool.stream(Box::new(Cursor::new(part))))
        };
        // Read in turn, and one after the other: the second goes to the file.
        for piece in [1_000, usize::MAX] {
            let mut streams = spool(80_008);
            let mut left = true;
            while left {
                let counts = streams.each_mut().map(|stream| read(stream, piece, 1 << 20).len());
                left = counts.iter().any(|count| *count > 0);
            }
            for (stream, part) in streams.iter().zip(&parts) {
                assert!(read(&mut stream.again().unwrap(), usize::MAX, 777) == *part, "{piece}");
            }
        }
        let mut streams = spool(80_007);
        for stream in &mut streams {
            read(stream, usize::MAX, 1 << 20);
        }
        assert!(streams.iter().all(|stream| stream.again().is_none()));
    }
}
