// SPDX-License-Identifier: Apache-2.0
//! The footer: finds, checks and decodes the metadata.
//!
//! The `parquet` crate turns the metadata into structures. Before it does, this module walks the
//! bytes once and refuses what would make that costly: counts larger than the remaining bytes
//! allow, and a schema nested deeper than [`Limits::depth_max`].

use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use crate::repair::repaired;
use crate::thrift::{BINARY, I32, LIST, Reader, STRUCT, ThriftError};

/// Bytes at the end of every file: the metadata's length and the magic number.
pub const TAIL_BYTES: usize = 8;

/// Bytes of the smallest file: magic number, tail.
const FILE_BYTES_MIN: usize = 12;

/// Length of the metadata that precedes the tail, in bytes.
///
/// # Errors
/// A tail without Parquet's magic number, an encrypted footer, metadata longer than the file or the
/// limit.
pub fn metadata_bytes(tail: [u8; TAIL_BYTES], file_bytes: u64, limits: &Limits) -> Result<usize> {
    let [a, b, c, d, magic @ ..] = tail;
    match &magic {
        b"PAR1" => {}
        b"PARE" => {
            return Err(Error::file(
                FileErrorKind::Encrypted,
                "the footer is encrypted: decrypt the file first, decryption is not supported",
            ));
        }
        _ => return Err(not_parquet()),
    }
    let bytes = u32::from_le_bytes([a, b, c, d]);
    if u64::from(bytes) + TAIL_BYTES as u64 + 4 > file_bytes {
        return Err(Error::file(
            FileErrorKind::Truncated,
            format!("metadata of {bytes} bytes in a file of {file_bytes}"),
        ));
    }
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= limits.metadata_bytes_max => Ok(bytes),
        _ => Err(Error::file(
            FileErrorKind::Limit,
            format!(
                "metadata of {bytes} bytes, metadata_bytes_max is {}",
                limits.metadata_bytes_max
            ),
        )),
    }
}

/// The error for a file that is not a Parquet file.
pub(crate) fn not_parquet() -> Error {
    Error::file(FileErrorKind::Format, "not a Parquet file: it does not end with PAR1")
}

/// Whether a file of this length can be a Parquet file.
pub(crate) fn long_enough(file_bytes: u64) -> Result<()> {
    if file_bytes < FILE_BYTES_MIN as u64 {
        return Err(Error::file(
            FileErrorKind::Format,
            format!("not a Parquet file: {file_bytes} bytes are fewer than the format's frame has"),
        ));
    }
    Ok(())
}

/// Decodes the metadata.
///
/// # Errors
/// Bytes that are not the metadata of a Parquet file, or one that a limit forbids.
pub fn decode_metadata(bytes: &[u8], limits: &Limits) -> Result<Metadata> {
    let encrypted = check_shape(bytes, limits)?;
    let decoded = ParquetMetaDataReader::decode_metadata(bytes).or_else(|error| {
        let repaired = repaired(bytes).ok_or(error)?;
        ParquetMetaDataReader::decode_metadata(&repaired)
    });
    let metadata = match decoded {
        Ok(metadata) => metadata,
        Err(error) => return Err(explain(error, &encrypted)),
    };
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    for (index, row_group) in metadata.row_groups().iter().enumerate() {
        if row_group.num_columns() != leaves {
            let found = row_group.num_columns();
            let message = format!("{found} column chunks, the schema has {leaves} columns");
            return Err(Error::file(FileErrorKind::Corrupt, message)
                .at(|place| place.row_group = Some(index)));
        }
    }
    Ok(Metadata { metadata, encrypted: encrypted.chunks })
}

/// A decoded footer.
#[derive(Debug)]
pub struct Metadata {
    /// As the `parquet` crate presents it.
    pub metadata: ParquetMetaData,
    /// Column chunks that are encrypted, as row group and leaf, in ascending order.
    pub encrypted: Vec<(usize, usize)>,
}

/// Why metadata cannot be decoded: if the metadata of a column is encrypted too, that is the
/// reason.
fn explain(error: ParquetError, encrypted: &Encrypted) -> Error {
    match encrypted.without_metadata {
        Some(row_group) => Error::file(
            FileErrorKind::Encrypted,
            "a column and its metadata are encrypted: decrypt the file first, decryption is not \
             supported",
        )
        .at(|place| place.row_group = Some(row_group)),
        None => from_parquet(error),
    }
}

/// An error of the `parquet` crate as ours.
#[must_use]
pub fn from_parquet(error: ParquetError) -> Error {
    let (kind, message) = match error {
        ParquetError::General(message) => (FileErrorKind::Corrupt, message),
        ParquetError::NYI(message) => (FileErrorKind::Unsupported, message),
        ParquetError::EOF(message) => (FileErrorKind::Truncated, message),
        other => (FileErrorKind::Corrupt, other.to_string()),
    };
    Error::file(kind, message)
}

fn malformed(error: ThriftError) -> Error {
    let kind = match error {
        ThriftError::Truncated => FileErrorKind::Truncated,
        ThriftError::Malformed | ThriftError::Depth => FileErrorKind::Corrupt,
    };
    Error::file(kind, format!("the file's metadata {}", error.message()))
}

/// What [`check_shape`] finds about encryption.
#[derive(Default)]
struct Encrypted {
    chunks: Vec<(usize, usize)>,
    /// The first row group with a column that has no readable metadata.
    without_metadata: Option<usize>,
}

/// Walks `FileMetaData`: checks that its lists have as many elements as they declare, and that its
/// schema is a tree of bounded depth.
fn check_shape(bytes: &[u8], limits: &Limits) -> Result<Encrypted> {
    let mut encrypted = Encrypted::default();
    let mut reader = Reader::new(bytes);
    let mut last = 0;
    while let Some((number, kind)) = reader.field(&mut last).map_err(malformed)? {
        match (number, kind) {
            (2, LIST) => check_schema(&mut reader, limits)?,
            (4, LIST) => check_row_groups(&mut reader, &mut encrypted).map_err(malformed)?,
            _ => reader.skip(kind).map_err(malformed)?,
        }
    }
    Ok(encrypted)
}

type ThriftResult<T> = std::result::Result<T, ThriftError>;

fn check_row_groups(reader: &mut Reader<'_>, encrypted: &mut Encrypted) -> ThriftResult<()> {
    structures(reader, |reader, row_group| {
        let mut last = 0;
        while let Some((number, kind)) = reader.field(&mut last)? {
            match (number, kind) {
                (1, LIST) => structures(reader, |reader, leaf| {
                    let (mut metadata, mut crypto) = (false, false);
                    let mut last = 0;
                    while let Some((number, kind)) = reader.field(&mut last)? {
                        metadata |= number == 3;
                        crypto |= number == 8;
                        reader.skip(kind)?;
                    }
                    if crypto {
                        encrypted.chunks.push((row_group, leaf));
                        if !metadata {
                            encrypted.without_metadata.get_or_insert(row_group);
                        }
                    }
                    Ok(())
                })?,
                _ => reader.skip(kind)?,
            }
        }
        Ok(())
    })
}

/// Calls `read` for each structure of a list, with its number.
fn structures<'a>(
    reader: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>, usize) -> ThriftResult<()>,
) -> ThriftResult<()> {
    let (kind, count) = reader.list()?;
    if kind != STRUCT && count > 0 {
        return Err(ThriftError::Malformed);
    }
    (0..count).try_for_each(|index| read(reader, index))
}

/// Walks the schema, which is a tree in depth-first order with the number of children in each node.
fn check_schema(reader: &mut Reader<'_>, limits: &Limits) -> Result<()> {
    let (kind, count) = reader.list().map_err(malformed)?;
    if kind != STRUCT || count == 0 {
        return Err(Error::file(FileErrorKind::Corrupt, "the file has no schema"));
    }
    // For each open group: children still to come, bytes of its path.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut paths = 0_usize;
    for element in 0..count {
        while open.last().is_some_and(|(children, _)| *children == 0) {
            open.pop();
        }
        let around = match open.last_mut() {
            Some((children, path)) => {
                *children -= 1;
                *path
            }
            None if element == 0 => 0,
            None => return Err(tree("more elements than its groups hold")),
        };
        let (name, children) = read_children(reader).map_err(malformed)?;
        let path = around.saturating_add(name);
        let children =
            usize::try_from(children).map_err(|_| tree("a negative number of children"))?;
        if children > count - element - 1 {
            return Err(tree("a group of more children than it has elements"));
        }
        if children > 0 {
            open.push((children, path));
        } else {
            // Every leaf has its whole path in memory, more than once.
            paths = paths.saturating_add(path);
            if paths > limits.metadata_bytes_max / 4 {
                let limit = limits.metadata_bytes_max;
                let message =
                    format!("paths of columns of {paths} bytes, metadata_bytes_max is {limit}");
                return Err(Error::file(FileErrorKind::Limit, message));
            }
        }
        if open.len() > limits.depth_max {
            let message = format!("a schema nested deeper than depth_max, {}", limits.depth_max);
            return Err(Error::file(FileErrorKind::Limit, message));
        }
    }
    if open.iter().any(|(children, _)| *children > 0) {
        return Err(tree("fewer elements than its groups hold"));
    }
    Ok(())
}

fn tree(what: &str) -> Error {
    Error::file(FileErrorKind::Corrupt, format!("the schema is not a tree: {what}"))
}

/// Bytes of the name of the next schema element, and its `num_children`; 0 for a leaf.
fn read_children(reader: &mut Reader<'_>) -> ThriftResult<(usize, i32)> {
    let (mut name, mut children) = (0, 0);
    let mut last = 0;
    while let Some((number, kind)) = reader.field(&mut last)? {
        match (number, kind) {
            (4, BINARY) => name = reader.binary()?.len(),
            (5, I32) => children = reader.i32()?,
            _ => reader.skip(kind)?,
        }
    }
    Ok((name, children))
}

#[cfg(test)]
mod tests;
