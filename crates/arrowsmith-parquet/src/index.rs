// SPDX-License-Identifier: Apache-2.0
//! The page index of a column chunk: where its pages are, which rows they hold, and their bounds.
//!
//! Read only for columns of a condition or a selection, one chunk at a time; the bounds stay
//! encoded as in the file.

use std::ops::Range;

use arrowsmith_core::{Error, FileErrorKind, Result};
use bytes::Bytes;

use crate::file::File;
use crate::thrift::{BINARY, FALSE, I32, I64, LIST, Reader, STRUCT, TRUE, ThriftError};

/// A page, as the offset index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLocation {
    /// Offset of the page's header in the file, in bytes: for [`Pages::seek`](crate::Pages::seek).
    pub offset: u64,
    /// Bytes of header and page.
    pub bytes: usize,
    /// The page's rows in the row group.
    pub rows: Range<usize>,
}

/// Bounds of the pages of a column chunk.
#[derive(Debug, Default)]
pub(crate) struct ColumnIndex {
    /// For each page: whether it holds nulls only.
    pub(crate) null_pages: Vec<bool>,
    pub(crate) min: Vec<Bytes>,
    pub(crate) max: Vec<Bytes>,
    /// Empty where the writer did not count.
    pub(crate) null_counts: Vec<i64>,
}

/// The pages of a column chunk; `None` if the file has no offset index for it, or it is not in
/// memory.
///
/// # Errors
/// A malformed index, or one whose rows are not those of the row group.
pub fn page_locations(
    file: &File,
    row_group: usize,
    leaf: usize,
) -> Result<Option<Vec<PageLocation>>> {
    let chunk = file.chunk(row_group, leaf)?;
    let Some(bytes) = part(file, chunk.offset_index_offset(), chunk.offset_index_length())? else {
        return Ok(None);
    };
    let rows = file.row_group_rows(row_group)?;
    let locations = read_locations(&bytes, rows).map_err(|error| {
        let error = Error::file(FileErrorKind::Corrupt, format!("the offset index {error}"));
        file.place(error, row_group, leaf)
    })?;
    Ok(Some(locations))
}

/// The bounds of the pages of a column chunk; `None` if the file has none.
pub(crate) fn column_index(
    file: &File,
    row_group: usize,
    leaf: usize,
) -> Result<Option<ColumnIndex>> {
    let chunk = file.chunk(row_group, leaf)?;
    let Some(bytes) = part(file, chunk.column_index_offset(), chunk.column_index_length())? else {
        return Ok(None);
    };
    let index = read_index(&bytes).map_err(|error| {
        let message = format!("the column index {}", error.message());
        file.place(Error::file(FileErrorKind::Corrupt, message), row_group, leaf)
    })?;
    Ok(Some(index))
}

fn part(file: &File, offset: Option<i64>, length: Option<i32>) -> Result<Option<Bytes>> {
    let (Some(offset), Some(length)) = (offset, length) else { return Ok(None) };
    let (Ok(start), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
        return Err(file.error(FileErrorKind::Corrupt, "a page index of negative size or place"));
    };
    if length > file.limits().metadata_bytes_max as u64 {
        let message = format!(
            "a page index of {length} bytes, metadata_bytes_max is {}",
            file.limits().metadata_bytes_max
        );
        return Err(file.error(FileErrorKind::Limit, message));
    }
    let range = start..start.saturating_add(length);
    match file.slice(range.clone()) {
        // Of a remote file only some parts are in memory, and the index is optional.
        Err(_) if range.end <= file.file_bytes() => Ok(None),
        found => found.map(Some),
    }
}

fn read_locations(
    bytes: &[u8],
    rows: usize,
) -> std::result::Result<Vec<PageLocation>, &'static str> {
    let mut found: Vec<(i64, i32, i64)> = Vec::new();
    let mut read = || -> std::result::Result<(), ThriftError> {
        let mut reader = Reader::new(bytes);
        let mut last = 0;
        while let Some((number, kind)) = reader.field(&mut last)? {
            if (number, kind) != (1, LIST) {
                reader.skip(kind)?;
                continue;
            }
            let (kind, count) = reader.list()?;
            if kind != STRUCT && count > 0 {
                return Err(ThriftError::Malformed);
            }
            for _ in 0..count {
                let (mut offset, mut bytes, mut first) = (-1, -1, -1);
                let mut last = 0;
                while let Some((number, kind)) = reader.field(&mut last)? {
                    match (number, kind) {
                        (1, I64) => offset = reader.i64()?,
                        (2, I32) => bytes = reader.i32()?,
                        (3, I64) => first = reader.i64()?,
                        _ => reader.skip(kind)?,
                    }
                }
                found.push((offset, bytes, first));
            }
        }
        Ok(())
    };
    read().map_err(ThriftError::message)?;
    let mut locations = Vec::with_capacity(found.len());
    for (index, (offset, bytes, first)) in found.iter().enumerate() {
        let start = usize::try_from(*first).map_err(|_| "has a negative row")?;
        let end = match found.get(index + 1) {
            Some((_, _, next)) => usize::try_from(*next).map_err(|_| "has a negative row")?,
            None => rows,
        };
        if start > end || end > rows || (index == 0 && start != 0) {
            return Err("has rows that are not those of the row group");
        }
        locations.push(PageLocation {
            offset: u64::try_from(*offset).map_err(|_| "has a negative offset")?,
            bytes: usize::try_from(*bytes).map_err(|_| "has a negative size")?,
            rows: start..end,
        });
    }
    Ok(locations)
}

fn read_index(bytes: &Bytes) -> std::result::Result<ColumnIndex, ThriftError> {
    let mut index = ColumnIndex::default();
    let mut reader = Reader::new(bytes);
    let mut last = 0;
    while let Some((number, kind)) = reader.field(&mut last)? {
        if kind != LIST || !(1..=5).contains(&number) {
            reader.skip(kind)?;
            continue;
        }
        let (element, count) = reader.list()?;
        for _ in 0..count {
            match (number, element) {
                (1, TRUE | FALSE) => index.null_pages.push(reader.element_bool()?),
                (2, BINARY) => index.min.push(bytes.slice_ref(reader.binary()?)),
                (3, BINARY) => index.max.push(bytes.slice_ref(reader.binary()?)),
                (5, I64) => index.null_counts.push(reader.i64()?),
                _ => return Err(ThriftError::Malformed),
            }
        }
    }
    Ok(index)
}
