// SPDX-License-Identifier: Apache-2.0
//! Corrected column chunks for other readers, which trust headers that are known to be wrong.
//!
//! parquet-cpp-arrow before 3.0.0 compressed data pages of version 2 and said in their headers that
//! it did not (ARROW-10353). [`Pages`] checks the writer's name; a reader that does not gets a copy
//! with correct headers.

use arrowsmith_core::Result;
use bytes::Bytes;

use super::Pages;
use crate::File;
use crate::header::HeaderError;
use crate::thrift::{FALSE, Reader, STRUCT, TRUE};

/// The bytes of a column chunk with headers that say of pages of version 2 that they are
/// compressed; `None` if the headers are correct.
///
/// # Errors
/// A chunk that [`Pages`] rejects.
pub fn corrected_chunk(file: &File, row_group: usize, leaf: usize) -> Result<Option<Bytes>> {
    if !file.compresses_always() {
        return Ok(None);
    }
    let range = file.chunk_range(row_group, leaf)?;
    let mut bytes = file.slice(range.clone())?.to_vec();
    let mut pages = Pages::new(file, row_group, leaf)?;
    while let Some(page) = pages.peek()? {
        let at = usize::try_from(page.offset - range.start).unwrap_or(usize::MAX);
        if let Some(header) = bytes.get_mut(at..)
            && let Some(flag) = false_flag(header).map_err(HeaderError::into_error)?
        {
            header[flag] = header[flag] & 0xf0 | TRUE;
        }
        pages.skip()?;
    }
    Ok(Some(bytes.into()))
}

/// Where a page's header says that the values are not compressed.
fn false_flag(bytes: &[u8]) -> Result<Option<usize>, HeaderError> {
    let mut reader = Reader::new(bytes);
    let mut last = 0;
    while let Some((number, kind)) = reader.field(&mut last)? {
        if (number, kind) != (8, STRUCT) {
            reader.skip(kind)?;
            continue;
        }
        let mut last = 0;
        loop {
            let flag = reader.at();
            match reader.field(&mut last)? {
                None => return Ok(None),
                Some((7, FALSE)) => return Ok(Some(flag)),
                Some((_, kind)) => reader.skip(kind)?,
            }
        }
    }
    Ok(None)
}
