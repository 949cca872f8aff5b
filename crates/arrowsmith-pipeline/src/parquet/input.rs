// SPDX-License-Identifier: Apache-2.0
//! A Parquet file from an input: in memory, read page by page, or remote with only the needed parts
//! fetched.

use std::fs;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use arrowsmith_parquet::{File, Tail};
use arrowsmith_simd::Buf;
use arrowsmith_source::FileReader;
use arrowsmith_source::{
    Compression, Content, Input, OpenOptions, Ranged, SharedBytes, temporary_file,
};
use bytes::Bytes;

/// Bytes that the first request fetches from the end of a remote file: the metadata of most files.
const TAIL_BYTES: u64 = 64 << 10;

/// Bytes of the magic number at the start of a file.
const MAGIC_BYTES: u64 = 4;

/// Bytes of a stream that are read at once, to be written to a temporary file.
const PIECE_BYTES: u64 = 1 << 20;

/// Bytes of a stream that are kept in memory; a longer one goes to a temporary file.
const STREAM_BYTES: u64 = if cfg!(test) { 1000 } else { 64 << 20 };

/// Maximum gap between two ranges of a remote file that are fetched together, to save a request.
const GAP_BYTES: u64 = 256 << 10;

/// A file, and the source of its missing parts.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) file: File,
    remote: Option<Arc<dyn Ranged>>,
}

/// Opens one file and reads its metadata.
///
/// # Errors
/// [`Error::Io`] names the input; [`Error::File`] for bytes that are not a Parquet file.
pub fn open_file(input: Input, limits: &Limits) -> Result<File> {
    Ok(open(input, limits)?.file)
}

pub(crate) fn open(input: Input, limits: &Limits) -> Result<Opened> {
    let name = input.name();
    if let Input::Ranged { ranged, .. } = input {
        return remote(name, ranged, limits);
    }
    if let Input::Path(path) = &input
        && let Some(opened) = local(path, &name, limits)?
    {
        return Ok(opened);
    }
    // A file that starts with a compression's magic number is not a Parquet file.
    let options = OpenOptions { compression: Compression::None, ..OpenOptions::default() };
    match input.open(&options)?.content {
        Content::Whole(bytes) => in_memory(name, Bytes::from_owner(Owner(bytes)), limits),
        Content::Stream(stream) => streamed(stream, name, limits),
    }
}

fn in_memory(name: Option<Arc<str>>, bytes: Bytes, limits: &Limits) -> Result<Opened> {
    Ok(Opened { file: File::open_named(name, bytes, limits)?, remote: None })
}

/// A local file; `None` if it is not a regular file.
fn local(path: &Path, name: &Option<Arc<str>>, limits: &Limits) -> Result<Option<Opened>> {
    let failed = |source| io_error(name, source);
    let file = fs::File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    // Files of `/proc` have length 0 and are not empty.
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    on_disk(name, file, metadata.len(), limits).map(Some)
}

/// A file that is read page by page.
fn on_disk(
    name: &Option<Arc<str>>,
    file: fs::File,
    file_bytes: u64,
    limits: &Limits,
) -> Result<Opened> {
    let reader = Arc::new(FileReader::new(file));
    let read = |range: Range<u64>| {
        let bytes = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut tail = Buf::<u8>::default();
        let refused = |refused| io::Error::new(io::ErrorKind::OutOfMemory, refused);
        tail.try_reserve(bytes).map_err(refused)?;
        tail.append_at(&*reader, range.start, bytes)?;
        Ok(Bytes::from_owner(tail.take()))
    };
    let file = from_tail(name, file_bytes, limits, &read)?;
    Ok(Opened { file: file.with_source(Arc::clone(&reader) as _), remote: None })
}

/// Opens a file by its end.
fn from_tail(
    name: &Option<Arc<str>>,
    file_bytes: u64,
    limits: &Limits,
    read: &dyn Fn(Range<u64>) -> io::Result<Bytes>,
) -> Result<File> {
    let mut tail_bytes = TAIL_BYTES;
    // At most two rounds are needed: then the length of the metadata is known.
    for _ in 0..3 {
        let start = file_bytes.saturating_sub(tail_bytes);
        let tail = read(start..file_bytes).map_err(|source| io_error(name, source))?;
        match File::open_tail(name.clone(), tail, file_bytes, limits)? {
            Tail::File(file) => return Ok(file),
            Tail::More(bytes) => tail_bytes = bytes as u64,
        }
    }
    let message = "the end of the file changes while it is read";
    Err(Error::file(FileErrorKind::Truncated, message).at(|place| place.source.clone_from(name)))
}

/// Shared bytes as the owner of a `Bytes`.
struct Owner(SharedBytes);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// A stream, which is read to its end, where the metadata is, if it begins as a Parquet file:
/// others may have no end.
fn streamed(
    stream: Box<dyn Read + Send>,
    name: Option<Arc<str>>,
    limits: &Limits,
) -> Result<Opened> {
    let failed = |source| io_error(&name, source);
    let mut bytes = Vec::new();
    let mut start = stream.take(MAGIC_BYTES);
    start.read_to_end(&mut bytes).map_err(failed)?;
    if start.limit() == 0 && !matches!(&*bytes, b"PAR1" | b"PARE") {
        let message = "not a Parquet file: it does not start with PAR1";
        return Err(Error::file(FileErrorKind::Format, message).at(|place| place.source = name));
    }
    let mut start = start.into_inner().take(STREAM_BYTES);
    start.read_to_end(&mut bytes).map_err(failed)?;
    if start.limit() > 0 {
        return in_memory(name, bytes.into(), limits);
    }
    let (mut stream, mut file) = (start.into_inner(), temporary_file().map_err(not_kept)?);
    let mut file_bytes = 0;
    loop {
        file.write_all(&bytes).map_err(not_kept)?;
        file_bytes += bytes.len() as u64;
        bytes.clear();
        if stream.by_ref().take(PIECE_BYTES).read_to_end(&mut bytes).map_err(failed)? == 0 {
            return on_disk(&name, file, file_bytes, limits);
        }
    }
}

/// A stream cannot be kept.
fn not_kept(error: io::Error) -> Error {
    let message = format!("in the folder for temporary files: {error}");
    Error::Io { path: None, source: io::Error::new(error.kind(), message) }
}

fn io_error(name: &Option<Arc<str>>, source: io::Error) -> Error {
    Error::Io { path: name.as_deref().map(PathBuf::from), source }
}

fn remote(name: Option<Arc<str>>, ranged: Arc<dyn Ranged>, limits: &Limits) -> Result<Opened> {
    let read = |range| Ok(ranged.read(&[range])?.pop().unwrap_or_default());
    let file = from_tail(&name, ranged.bytes(), limits, &read)?;
    Ok(Opened { file, remote: Some(ranged) })
}

impl Opened {
    /// The file with these ranges in memory.
    pub(crate) fn with(&self, ranges: Vec<Range<u64>>) -> Result<File> {
        let Some(remote) = &self.remote else { return Ok(self.file.clone()) };
        let missing = ranges.into_iter().filter(|range| self.file.slice(range.clone()).is_err());
        let ranges = joined(missing.collect());
        if ranges.is_empty() {
            return Ok(self.file.clone());
        }
        let name = self.file.name().cloned();
        let pieces = remote.read(&ranges).map_err(|source| io_error(&name, source))?;
        let offsets = ranges.iter().map(|range| range.start);
        Ok(self.file.with_pieces(offsets.zip(pieces)))
    }
}

/// Ranges in ascending order; close ones are merged.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}
