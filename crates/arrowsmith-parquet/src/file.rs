// SPDX-License-Identifier: Apache-2.0
//! The ingester: a Parquet file as its bytes and its metadata.
//!
//! The bytes are whole in memory, or the ranges of a remote file that the caller has fetched, or a
//! [`ReadAt`] reads them, a few pages at a time. Without a [`ReadAt`], a missing range is an error
//! that names it.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::Fields;
use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use arrowsmith_simd::{Buf, ReadAt};
use bytes::Bytes;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::footer::{self, Metadata, TAIL_BYTES};
use crate::mapping::{self, ColumnMapping};

/// A Parquet file: its metadata, and those of its bytes that are in memory. Clones share both.
#[derive(Clone)]
pub struct File {
    inner: Arc<Inner>,
}

struct Inner {
    name: Option<Arc<str>>,
    file_bytes: u64,
    metadata: Arc<ParquetMetaData>,
    /// Column chunks that are encrypted, as row group and leaf, in ascending order.
    encrypted: Arc<[(usize, usize)]>,
    limits: Limits,
    /// What is in memory: pieces by their offset, in ascending order.
    pieces: Vec<(u64, Bytes)>,
    /// Where everything else is read from.
    source: Option<Arc<dyn ReadAt>>,
}

/// What [`File::open_tail`] makes of the end of a file.
pub enum Tail {
    /// The file.
    File(File),
    /// That many bytes from the end of the file are needed to open it.
    More(usize),
}

impl File {
    /// Opens a file whose bytes are all in memory, or mapped.
    ///
    /// # Errors
    /// Bytes that are not a Parquet file, encrypted metadata, metadata that a limit forbids.
    pub fn open(bytes: Bytes, limits: &Limits) -> Result<Self> {
        Self::open_named(None, bytes, limits)
    }

    /// As [`File::open`], with a name that errors show.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_named(name: Option<Arc<str>>, bytes: Bytes, limits: &Limits) -> Result<Self> {
        let file_bytes = bytes.len() as u64;
        match Self::open_tail(name.clone(), bytes, file_bytes, limits)? {
            Tail::File(file) => Ok(file),
            Tail::More(_) => Err(footer::not_parquet().at(|place| place.source = name)),
        }
    }

    /// Opens a file of `file_bytes` bytes, given its last ones.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_tail(
        name: Option<Arc<str>>,
        tail: Bytes,
        file_bytes: u64,
        limits: &Limits,
    ) -> Result<Tail> {
        let source = name.clone();
        Self::open_tail_unnamed(name, tail, file_bytes, limits)
            .map_err(|error| error.at(|place| place.source = source))
    }

    fn open_tail_unnamed(
        name: Option<Arc<str>>,
        tail: Bytes,
        file_bytes: u64,
        limits: &Limits,
    ) -> Result<Tail> {
        footer::long_enough(file_bytes)?;
        let Some((body, last)) = tail.split_last_chunk::<TAIL_BYTES>() else {
            return Ok(Tail::More(TAIL_BYTES));
        };
        let metadata_bytes = footer::metadata_bytes(*last, file_bytes, limits)?;
        let Some(start) = body.len().checked_sub(metadata_bytes) else {
            return Ok(Tail::More(metadata_bytes + TAIL_BYTES));
        };
        let Metadata { metadata, encrypted } = footer::decode_metadata(&body[start..], limits)?;
        let offset = file_bytes.saturating_sub(tail.len() as u64);
        Ok(Tail::File(Self {
            inner: Arc::new(Inner {
                name,
                file_bytes,
                metadata: Arc::new(metadata),
                encrypted: encrypted.into(),
                limits: limits.clone(),
                pieces: vec![(offset, tail)],
                source: None,
            }),
        }))
    }

    /// The same file with more of its bytes, at these offsets. Earlier pieces stay.
    #[must_use]
    pub fn with_pieces(&self, pieces: impl IntoIterator<Item = (u64, Bytes)>) -> Self {
        let mut all = self.inner.pieces.clone();
        all.extend(pieces);
        all.sort_by_key(|(offset, bytes)| (*offset, bytes.len()));
        self.with(all, self.inner.source.clone())
    }

    /// The same file; what is not in memory is read from `source` when it is needed.
    #[must_use]
    pub fn with_source(&self, source: Arc<dyn ReadAt>) -> Self {
        self.with(self.inner.pieces.clone(), Some(source))
    }

    /// The same file with these ranges in memory, for callers that read the same bytes repeatedly.
    ///
    /// # Errors
    /// A range that is not in memory and cannot be read.
    pub fn loaded(&self, ranges: &[Range<u64>]) -> Result<Self> {
        if self.inner.source.is_none() {
            return Ok(self.clone());
        }
        let mut pieces = Vec::with_capacity(ranges.len());
        for range in ranges {
            pieces.push((range.start, self.slice(range.clone())?));
        }
        Ok(self.with_pieces(pieces))
    }

    /// The same file with the names that its columns have in a table, at any depth; those that are
    /// none of the table's have names that no table has.
    ///
    /// # Errors
    /// A schema that is invalid.
    pub fn with_names_of(&self, table: &Fields, mapping: ColumnMapping) -> Result<Self> {
        match mapping::with_names(&self.inner.metadata, table, mapping)? {
            Some(metadata) => {
                let (pieces, source) = (self.inner.pieces.clone(), self.inner.source.clone());
                Ok(self.made(Arc::new(metadata), pieces, source))
            }
            None => Ok(self.clone()),
        }
    }

    fn with(&self, pieces: Vec<(u64, Bytes)>, source: Option<Arc<dyn ReadAt>>) -> Self {
        self.made(Arc::clone(&self.inner.metadata), pieces, source)
    }

    fn made(
        &self,
        metadata: Arc<ParquetMetaData>,
        pieces: Vec<(u64, Bytes)>,
        source: Option<Arc<dyn ReadAt>>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                name: self.inner.name.clone(),
                file_bytes: self.inner.file_bytes,
                metadata,
                encrypted: Arc::clone(&self.inner.encrypted),
                limits: self.inner.limits.clone(),
                pieces,
                source,
            }),
        }
    }

    /// The name that errors show.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.inner.name.as_ref()
    }

    /// Length of the file, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.inner.file_bytes
    }

    /// The metadata, as the `parquet` crate presents it. Every row group has as many column chunks
    /// as the schema has leaves; all other numbers are as the file has them, unchecked.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.inner.metadata
    }

    /// Whether a writer has put an Arrow schema into the file, and it can be read.
    pub fn has_arrow_schema(&self) -> bool {
        crate::schema::has_arrow_schema(self.inner.metadata.file_metadata())
    }

    /// Whether data pages of version 2 are compressed whatever their headers say: parquet-cpp-arrow
    /// wrote such pages before 3.0.0 (ARROW-10353, ARROW-17100).
    pub(crate) fn compresses_always(&self) -> bool {
        compresses_always(self.inner.metadata.file_metadata().created_by())
    }

    /// The limits that the file was opened with.
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Number of row groups.
    pub fn row_groups(&self) -> usize {
        self.inner.metadata.num_row_groups()
    }

    /// Rows of a row group.
    ///
    /// # Errors
    /// A row group that the file does not have, or whose count is negative.
    pub fn row_group_rows(&self, row_group: usize) -> Result<usize> {
        let group = self.inner.metadata.row_groups().get(row_group).ok_or_else(|| {
            Error::Config(format!("row group {row_group} of {}", self.row_groups()))
        })?;
        usize::try_from(group.num_rows()).map_err(|_| {
            self.error(FileErrorKind::Corrupt, "a negative number of rows")
                .at(|place| place.row_group = Some(row_group))
        })
    }

    /// Checks the number of values of a column chunk against its bytes in the file: each page has a
    /// header, and stores its number of values in 31 bits.
    ///
    /// # Errors
    /// More values than that many bytes can hold.
    pub fn plausible_values(&self, row_group: usize, leaf: usize) -> Result<()> {
        let range = self.chunk_range(row_group, leaf)?;
        let values = self.chunk(row_group, leaf)?.num_values();
        let pages = (range.end - range.start) / PAGE_BYTES_MIN;
        let most = pages.saturating_mul(i32::MAX.unsigned_abs().into());
        if u64::try_from(values).is_ok_and(|values| values <= most) {
            return Ok(());
        }
        let bytes = range.end - range.start;
        let message = format!("{values} values in a column chunk of {bytes} bytes");
        Err(self.place(Error::file(FileErrorKind::Corrupt, message), row_group, leaf))
    }

    /// The metadata of one column chunk.
    ///
    /// # Errors
    /// A row group or column that the file does not have.
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<&ColumnChunkMetaData> {
        let group = self.inner.metadata.row_groups().get(row_group);
        group.and_then(|group| group.columns().get(leaf)).ok_or_else(|| {
            Error::Config(format!("the file has no column chunk {leaf} in row group {row_group}"))
        })
    }

    /// Whether a column chunk is encrypted.
    pub fn is_encrypted(&self, row_group: usize, leaf: usize) -> bool {
        self.inner.encrypted.binary_search(&(row_group, leaf)).is_ok()
    }

    /// Where a column chunk is in the file, in bytes: what a remote reader has to fetch before
    /// [`Pages`](crate::Pages) can read it.
    ///
    /// # Errors
    /// A chunk that is encrypted, in another file, or whose offset or length is impossible.
    pub fn chunk_range(&self, row_group: usize, leaf: usize) -> Result<Range<u64>> {
        let chunk = self.chunk(row_group, leaf)?;
        if self.is_encrypted(row_group, leaf) {
            let message =
                "the column is encrypted: decrypt the file first, or leave the column out";
            return Err(self.place(
                Error::file(FileErrorKind::Encrypted, message),
                row_group,
                leaf,
            ));
        }
        chunk_range(chunk, self.inner.file_bytes, self.inner.metadata.file_metadata().created_by())
            .map_err(|error| self.place(error, row_group, leaf))
    }

    /// The bytes of a range of the file, shared.
    ///
    /// # Errors
    /// A range that is not in memory and cannot be read.
    pub fn slice(&self, range: Range<u64>) -> Result<Bytes> {
        let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        if range.start <= range.end
            && let Ok(bytes) = self.here(range.start, len)
            && bytes.len() == len
        {
            return Ok(bytes);
        }
        match &self.inner.source {
            Some(source) if range.start <= range.end && range.end <= self.inner.file_bytes => {
                self.read(source, range.start, len)
            }
            _ => Err(self.missing(&range)),
        }
    }

    /// The bytes from an offset on: up to `bytes_max` if they are in memory, else `wanted`.
    pub(crate) fn slice_from(&self, offset: u64, wanted: usize, bytes_max: usize) -> Result<Bytes> {
        let here = self.here(offset, bytes_max);
        match &self.inner.source {
            Some(source) if here.as_ref().map_or(0, Bytes::len) < bytes_max => {
                self.read(source, offset, wanted.min(bytes_max))
            }
            _ => here,
        }
    }

    /// Where bytes that are not in memory are read from.
    pub(crate) fn source(&self) -> Option<&Arc<dyn ReadAt>> {
        self.inner.source.as_ref()
    }

    fn read(&self, source: &Arc<dyn ReadAt>, offset: u64, len: usize) -> Result<Bytes> {
        let mut bytes = Buf::<u8>::default();
        bytes.try_reserve(len)?;
        bytes.append_at(&**source, offset, len).map_err(|error| self.io_error(error))?;
        Ok(Bytes::from_owner(bytes.take()))
    }

    /// An I/O error of the file.
    pub(crate) fn io_error(&self, source: std::io::Error) -> Error {
        Error::Io { path: self.inner.name.as_deref().map(PathBuf::from), source }
    }

    /// The bytes in memory from an offset on, at most `bytes_max`, shared.
    fn here(&self, offset: u64, bytes_max: usize) -> Result<Bytes> {
        let (start, piece) = self.piece(offset)?;
        let start = usize::try_from(offset - start).unwrap_or(usize::MAX).min(piece.len());
        let end = start.saturating_add(bytes_max).min(piece.len());
        Ok(piece.slice(start..end))
    }

    /// The piece that holds the byte at `offset`; of several the one that extends farthest.
    fn piece(&self, offset: u64) -> Result<&(u64, Bytes)> {
        let pieces = &self.inner.pieces;
        let before = pieces.partition_point(|(start, _)| *start <= offset);
        let holds = |(start, bytes): &&(u64, Bytes)| offset - *start < bytes.len() as u64;
        pieces[..before]
            .iter()
            .filter(holds)
            .max_by_key(|(start, bytes)| start + bytes.len() as u64)
            .ok_or_else(|| self.missing(&(offset..offset)))
    }

    fn missing(&self, range: &Range<u64>) -> Error {
        let Range { start, end } = range;
        let inside = *end <= self.inner.file_bytes && start < end;
        let message = if inside {
            format!("bytes {start} to {end} of the file are needed and were not given")
        } else {
            format!("bytes {start} to {end} of a file of {} bytes", self.inner.file_bytes)
        };
        self.error(FileErrorKind::Truncated, message).at(|place| place.offset = Some(*start))
    }

    /// An error that names this file.
    pub(crate) fn error(&self, kind: FileErrorKind, message: impl Into<String>) -> Error {
        Error::file(kind, message).at(|place| place.source.clone_from(&self.inner.name))
    }

    /// Adds file name, row group and column to an error.
    pub fn place(&self, error: Error, row_group: usize, leaf: usize) -> Error {
        error.at(|place| {
            place.source.clone_from(&self.inner.name);
            place.row_group = Some(row_group);
            let schema = self.inner.metadata.file_metadata().schema_descr();
            if leaf < schema.num_columns() {
                place.column = Some(schema.column(leaf).path().string());
            }
        })
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("name", &self.inner.name)
            .field("file_bytes", &self.inner.file_bytes)
            .field("row_groups", &self.row_groups())
            .finish_non_exhaustive()
    }
}

/// Bytes of the shortest header of a page that has values.
const PAGE_BYTES_MIN: u64 = 12;

/// Bytes by which a chunk may be longer than its metadata says, for writers that did not count the
/// dictionary's header (PARQUET-816).
const UNCOUNTED_BYTES_MAX: u64 = 100;

fn compresses_always(created_by: Option<&str>) -> bool {
    let version =
        created_by.and_then(|by| by.trim_start().strip_prefix("parquet-cpp-arrow version "));
    let major = version.and_then(|version| version.split(['.', '-', ' ']).next());
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 3)
}

fn chunk_range(
    chunk: &ColumnChunkMetaData,
    file_bytes: u64,
    created_by: Option<&str>,
) -> Result<Range<u64>> {
    if chunk.file_path().is_some_and(|path| !path.is_empty()) {
        return Err(Error::file(
            FileErrorKind::Unsupported,
            "the column chunk is in another file, which is not followed",
        ));
    }
    let data = chunk.data_page_offset();
    // Offset 0 means no dictionary: some writers store 0 for that.
    let start = match chunk.dictionary_page_offset() {
        Some(dictionary) if dictionary > 0 && dictionary < data => dictionary,
        _ => data,
    };
    let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(chunk.compressed_size()))
    else {
        let message = format!("a column chunk of {} bytes at {start}", chunk.compressed_size());
        return Err(Error::file(FileErrorKind::Corrupt, message));
    };
    let end = start.checked_add(length).filter(|end| *end <= file_bytes).ok_or_else(|| {
        Error::file(
            FileErrorKind::Truncated,
            format!("a column chunk of {length} bytes at {start} in a file of {file_bytes}"),
        )
    })?;
    let forgetful = created_by.is_some_and(|writer| {
        let version = writer.strip_prefix("parquet-mr version 1.");
        let minor = version.and_then(|version| version.split_once('.'));
        minor.is_some_and(|(minor, rest)| match minor.parse::<u32>() {
            Ok(0 | 1) => true,
            Ok(2) => rest.starts_with(|digit: char| digit.is_ascii_digit() && digit < '9'),
            _ => false,
        })
    });
    let slack = if forgetful { UNCOUNTED_BYTES_MAX } else { 0 };
    Ok(start..(end + slack).min(file_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_writers_are_known_by_their_names() {
        for (by, always) in [
            (Some("parquet-cpp-arrow version 2.0.0"), true),
            (Some("parquet-cpp-arrow version 0.17.1-SNAPSHOT"), true),
            (Some("parquet-cpp-arrow version 3.0.0"), false),
            (Some("parquet-cpp-arrow version 26.0.0"), false),
            (Some("parquet-cpp version 1.5.1-SNAPSHOT"), false),
            (Some("parquet-mr version 1.12.0"), false),
            (Some("parquet-cpp-arrow version "), false),
            (None, false),
        ] {
            assert_eq!(compresses_always(by), always, "{by:?}");
        }
    }
}
