// SPDX-License-Identifier: Apache-2.0
//! A Parquet file out of an input: mapped, in memory, or remote with only those parts here that are read.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use arrowsmith_parquet::{File, Tail};
use arrowsmith_source::{Compression, Content, Input, OpenOptions, Ranged, SharedBytes};
use bytes::Bytes;

/// Bytes that the first request for a remote file fetches from its end: the metadata of most files.
const TAIL_BYTES: u64 = 64 << 10;

/// Bytes between two ranges of a remote file that are fetched too, to save a request.
const GAP_BYTES: u64 = 256 << 10;

/// A file, and where its missing parts come from.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) file: File,
    remote: Option<Arc<dyn Ranged>>,
}

/// Opens one file and reads its metadata.
///
/// # Errors
/// [`Error::Io`] names the input; [`Error::File`] for bytes that are no Parquet file.
pub fn open_file(input: Input, limits: &Limits) -> Result<File> {
    Ok(open(input, limits)?.file)
}

pub(crate) fn open(input: Input, limits: &Limits) -> Result<Opened> {
    let name = input.name();
    if let Input::Ranged { ranged, .. } = input {
        return remote(name, ranged, limits);
    }
    // A file that happens to start with a compression's magic number is no Parquet file either way.
    let options = OpenOptions { compression: Compression::None, ..OpenOptions::default() };
    let bytes = match input.open(&options)?.content {
        Content::Whole(bytes) => Bytes::from_owner(Owner(bytes)),
        Content::Stream(stream) => whole(stream, &name)?,
    };
    Ok(Opened { file: File::open_named(name, bytes, limits)?, remote: None })
}

/// Shared bytes as `Bytes` wants them.
struct Owner(SharedBytes);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// All of a stream: the metadata stands at its end.
fn whole(mut stream: Box<dyn Read + Send>, name: &Option<Arc<str>>) -> Result<Bytes> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(|source| io_error(name, source))?;
    Ok(bytes.into())
}

fn io_error(name: &Option<Arc<str>>, source: std::io::Error) -> Error {
    Error::Io { path: name.as_deref().map(PathBuf::from), source }
}

fn remote(name: Option<Arc<str>>, ranged: Arc<dyn Ranged>, limits: &Limits) -> Result<Opened> {
    let file_bytes = ranged.bytes();
    let mut tail_bytes = TAIL_BYTES;
    // The second answer is the last: then the length of the metadata is known.
    for _ in 0..3 {
        let start = file_bytes.saturating_sub(tail_bytes);
        let read = ranged.read(std::slice::from_ref(&(start..file_bytes)));
        let mut pieces = read.map_err(|source| io_error(&name, source))?;
        let tail = pieces.pop().unwrap_or_default();
        match File::open_tail(name.clone(), tail, file_bytes, limits)? {
            Tail::File(file) => return Ok(Opened { file, remote: Some(ranged) }),
            Tail::More(bytes) => tail_bytes = bytes as u64,
        }
    }
    let message = "the end of the file changes while it is read";
    Err(Error::file(FileErrorKind::Truncated, message).at(|place| place.source = name))
}

impl Opened {
    /// The file with these ranges of it here.
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

/// Ranges in rising order, those that are near one another as one.
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
