// SPDX-License-Identifier: Apache-2.0
//! The ingester: reads the window of the file that has the next page, and the page's header in it.

use arrowsmith_core::{Error, FileErrorKind, Result};
use bytes::Bytes;

use super::{HEADER_BYTES_MAX, NEXT_HEADER_BYTES, Pages, WINDOW_BYTES, corrupt};
use crate::header::{HeaderError, PageHeader, PageKind};
use crate::thrift::ThriftError;

impl Pages {
    /// The header of the next page that matters, checked against the bytes in memory.
    #[inline]
    pub(super) fn header(&mut self) -> Result<Option<PageHeader>> {
        if self.header.is_some() {
            return Ok(self.header);
        }
        loop {
            if self.owed == Some(0) {
                return Ok(None);
            }
            if self.at >= self.bytes.len() {
                let offset = self.offset();
                if offset >= self.end {
                    return match self.owed {
                        Some(owed) => Err(Error::file(
                            FileErrorKind::Truncated,
                            format!("the column chunk ends {owed} values before its metadata says"),
                        )),
                        None => Ok(None),
                    };
                }
                // A page like the skipped one may follow: its header is enough.
                let passed = self.at > self.bytes.len();
                self.fill(if passed { NEXT_HEADER_BYTES } else { WINDOW_BYTES })?;
            }
            let window = self.bytes.len() - self.at;
            let header = match PageHeader::read(&self.bytes[self.at..]) {
                Ok(header) => header,
                Err(HeaderError::Thrift(ThriftError::Truncated))
                    if window < HEADER_BYTES_MAX && self.more() =>
                {
                    self.fill(WINDOW_BYTES.max(2 * window))?;
                    continue;
                }
                Err(error) => return Err(error.into_error()),
            };
            let chunk_left = usize::try_from(self.end - self.offset()).unwrap_or(usize::MAX);
            let left = if self.more() { chunk_left } else { window };
            let left = left.saturating_sub(header.header_bytes);
            if header.compressed_bytes > left {
                let bytes = header.compressed_bytes;
                return Err(Error::file(
                    FileErrorKind::Truncated,
                    format!("a page of {bytes} bytes where the column chunk has {left} left"),
                ));
            }
            match header.kind {
                PageKind::Other => {
                    self.at += header.header_bytes + header.compressed_bytes;
                    self.ordinal += 1;
                    continue;
                }
                PageKind::Dictionary if self.data_seen => {
                    return Err(corrupt("a dictionary page after a data page"));
                }
                PageKind::Dictionary => {}
                PageKind::DataV1 { .. } | PageKind::DataV2 { .. } => {
                    if let PageKind::DataV2 { nulls, rows, .. } = header.kind
                        && nulls.max(rows) > header.count
                    {
                        let count = header.count;
                        return Err(corrupt(format!(
                            "a page of {count} values with {nulls} nulls and {rows} rows"
                        )));
                    }
                    if let Some(owed) = self.owed
                        && header.count > owed
                    {
                        let count = header.count;
                        return Err(corrupt(format!(
                            "a page of {count} values where the column chunk has {owed} left"
                        )));
                    }
                }
            }
            self.header = Some(header);
            return Ok(self.header);
        }
    }

    /// Whether the chunk continues after the window, and can be read there.
    pub(super) fn more(&self) -> bool {
        self.file.source().is_some() && self.base + (self.bytes.len() as u64) < self.end
    }

    /// Begins a window at the next page: `wanted` bytes, or what the chunk has; all of it if it is
    /// in memory.
    pub(super) fn fill(&mut self, wanted: usize) -> Result<()> {
        let offset = self.offset();
        let bytes_max = usize::try_from(self.end.saturating_sub(offset)).unwrap_or(usize::MAX);
        self.current = None;
        // Its memory is still in the cache, and the next window may reuse it.
        self.bytes = Bytes::new();
        (self.base, self.at) = (offset, 0);
        self.bytes = self.file.slice_from(offset, wanted, bytes_max)?;
        Ok(())
    }

    /// Ensures that the page of `header`, which is the next one, is in the window.
    #[inline]
    pub(super) fn load(&mut self, header: &PageHeader) -> Result<()> {
        let page = header.header_bytes + header.compressed_bytes;
        if page <= self.bytes.len() - self.at {
            return Ok(());
        }
        if header.compressed_bytes > self.page_bytes_max {
            return Err(self.too_large(header.compressed_bytes));
        }
        self.fill(page.saturating_add(NEXT_HEADER_BYTES).max(WINDOW_BYTES))?;
        if page > self.bytes.len() {
            return Err(Error::file(FileErrorKind::Truncated, "the file ends inside a page"));
        }
        Ok(())
    }

    pub(super) fn too_large(&self, bytes: usize) -> Error {
        let limit = self.page_bytes_max;
        Error::file(
            FileErrorKind::Limit,
            format!("a page of {bytes} bytes, page_bytes_max is {limit}"),
        )
    }
}
