// SPDX-License-Identifier: Apache-2.0
//! The page cursor: a column chunk's bytes → its pages, one at a time.
//!
//! Four stages of the page pipeline are here: the *ingester* reads the chunk's bytes, the *aligner*
//! finds where header, levels and values begin, the *metadata interpreter* (`header`) reads the
//! header, the *decompressor* (`codec`) undoes the compression. Levels and values stay encoded; an
//! engine decodes them. A page is valid until the next one is requested; it is in the file's own
//! bytes or in one buffer that all pages share. A file that is not in memory is read by windows: a
//! page, or several small ones.

mod body;
mod compressed;
mod legacy;
mod page;
mod window;

use std::sync::Arc;

use arrowsmith_core::{Error, FileErrorKind, Result};
use bytes::Bytes;
use parquet::basic::Compression;

use self::body::Found;
use crate::budget::{Budget, Share};
use crate::codec::PageBuffers;
use crate::file::File;
use crate::header::{PageHeader, PageKind};

pub use compressed::PackedPage;
pub use legacy::corrected_chunk;
pub use page::{DataPage, DictionaryPage, Levels, Page, PageInfo, Stored};

/// Bytes of a window over small pages, and of the first window: a part of a core's own cache.
const WINDOW_BYTES: usize = if cfg!(test) { 256 } else { 128 << 10 };

/// Bytes after a page that are read with it, for the header of the next one, and for kernels that
/// load more than they use.
const NEXT_HEADER_BYTES: usize = if cfg!(test) { 16 } else { 512 };

/// Maximum bytes of a header, statistics included.
const HEADER_BYTES_MAX: usize = if cfg!(test) { 2048 } else { 16 << 20 };

/// Maximum bytes of a page that is prefetched as a whole.
const PREFETCH_BYTES_MAX: usize = 4 << 10;

/// Minimum bytes of values that are left in the file and read directly into the array.
const LEAVE_BYTES_MIN: usize = if cfg!(test) { 512 } else { 32 << 10 };

/// A cursor over the pages of one column chunk.
#[derive(Debug)]
pub struct Pages {
    file: File,
    row_group: usize,
    leaf: usize,
    /// The bytes in memory, from `base` on.
    bytes: Bytes,
    /// Where `bytes` starts in the file.
    base: u64,
    /// Position in `bytes`.
    at: usize,
    /// Where the chunk ends in the file.
    end: u64,
    compressed: bool,
    /// Whether pages of version 2 are compressed, whatever their headers say.
    compressed_always: bool,
    max_def: u16,
    max_rep: u16,
    /// Values still expected from data pages; `None` after a seek, when that is unknown.
    owed: Option<usize>,
    /// Number of the next page.
    ordinal: usize,
    /// Whether a data page has been passed.
    data_seen: bool,
    /// The header at `at`, where it has been read.
    header: Option<PageHeader>,
    /// The page that was read last, while its bytes are here.
    current: Option<Found>,
    verify_checksums: bool,
    leave_values: bool,
    page_bytes_max: usize,
    buffers: PageBuffers,
    /// The memory of the page in `buffers`, as part of the columns' budget; `None`: only the page
    /// itself is limited.
    share: Option<Share>,
}

impl Pages {
    /// A cursor at the start of a column chunk.
    ///
    /// # Errors
    /// A chunk that the file does not have, is encrypted, compressed by a codec that is not known,
    /// or not where its metadata says.
    pub fn new(file: &File, row_group: usize, leaf: usize) -> Result<Self> {
        Self::with_buffers(file, row_group, leaf, PageBuffers::default())
    }

    /// As [`Pages::new`], with buffers that another cursor has left ([`Pages::take_buffers`]).
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn with_buffers(
        file: &File,
        row_group: usize,
        leaf: usize,
        mut buffers: PageBuffers,
    ) -> Result<Self> {
        let place = |error| file.place(error, row_group, leaf);
        let range = file.chunk_range(row_group, leaf)?;
        let chunk = file.chunk(row_group, leaf)?;
        let owed = usize::try_from(chunk.num_values()).map_err(|_| {
            place(Error::file(FileErrorKind::Corrupt, "a negative number of values"))
        })?;
        let max_rep = chunk.column_descr().max_rep_level();
        let rows = file.row_group_rows(row_group)?;
        if max_rep == 0 && owed != rows {
            let message = format!("{owed} values of a column that does not repeat, {rows} rows");
            return Err(place(Error::file(FileErrorKind::Corrupt, message)));
        }
        file.plausible_values(row_group, leaf)?;
        let codec = chunk.compression();
        buffers.choose(codec).map_err(place)?;
        let level = |level: i16| u16::try_from(level).unwrap_or(0);
        Ok(Self {
            row_group,
            leaf,
            bytes: Bytes::new(),
            base: range.start,
            at: 0,
            end: range.end,
            compressed: codec != Compression::UNCOMPRESSED,
            compressed_always: file.compresses_always(),
            max_def: level(chunk.column_descr().max_def_level()),
            max_rep: level(max_rep),
            owed: Some(owed),
            ordinal: 0,
            data_seen: false,
            header: None,
            current: None,
            verify_checksums: false,
            leave_values: false,
            page_bytes_max: file.limits().page_bytes_max,
            buffers,
            share: None,
            file: file.clone(),
        })
    }

    /// Verifies the checksums of pages that have one.
    #[must_use]
    pub fn verify_checksums(mut self, verify: bool) -> Self {
        self.verify_checksums = verify;
        self
    }

    /// Takes memory for pages out of a budget.
    #[must_use]
    pub fn within(mut self, budget: &Arc<Budget>) -> Self {
        self.share = Some(budget.share());
        self
    }

    /// Leaves values in the file if they are PLAIN, without levels, and not in memory: the caller
    /// reads them into its buffer ([`DataPage::stored`]).
    #[must_use]
    pub fn leave_values(mut self, leave: bool) -> Self {
        self.leave_values = leave;
        self
    }

    /// Takes the buffers for the next cursor: this one has read its last page.
    pub fn take_buffers(&mut self) -> PageBuffers {
        self.current = None;
        std::mem::take(&mut self.buffers)
    }

    /// Number of the page that comes next, from 0, the dictionary included (after [`Pages::seek`]:
    /// counted from there).
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Goes to the page whose header is at `offset` in the file, as an offset index says. From then
    /// on the chunk ends where its bytes end, whatever its metadata says of values.
    pub fn seek(&mut self, offset: u64) {
        self.base = offset;
        self.bytes = Bytes::new();
        self.at = 0;
        self.header = None;
        self.current = None;
        self.owed = None;
    }

    /// What the next page's header says; `None` at the end of the chunk.
    ///
    /// # Errors
    /// A malformed header, or one that contradicts the chunk.
    pub fn peek(&mut self) -> Result<Option<PageInfo>> {
        let header = self.header().map_err(|error| self.place(error))?;
        Ok(header.map(|header| PageInfo {
            dictionary: header.kind == PageKind::Dictionary,
            count: header.count,
            rows: self.rows(&header),
            uncompressed_bytes: header.uncompressed_bytes,
            compressed_bytes: header.compressed_bytes,
            encoding: header.encoding,
            offset: self.offset(),
        }))
    }

    /// Skips the next page, without reading it.
    ///
    /// # Errors
    /// As [`Pages::peek`].
    pub fn skip(&mut self) -> Result<()> {
        if let Some(header) = self.header().map_err(|error| self.place(error))? {
            self.pass(&header);
        }
        Ok(())
    }

    /// The next page; `None` at the end of the chunk.
    ///
    /// # Errors
    /// A page that is malformed: header, checksum, compression, lengths.
    // Not an iterator: a page borrows the cursor.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Page<'_>>> {
        self.advance()?;
        Ok(self.current())
    }

    /// Goes to the next page, which is [`Pages::current`] then; returns whether there is one.
    ///
    /// # Errors
    /// As [`Pages::next`].
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        // Returning the page here would borrow it in the error's branch too; hence the two steps.
        self.current = match self.read() {
            Ok(found) => found,
            Err(error) => {
                self.current = None;
                return Err(self.place(error));
            }
        };
        Ok(self.current.is_some())
    }

    /// The page that [`Pages::next`] returned last; `None` before the first, at the end, and once
    /// the page after it has been requested.
    #[inline]
    pub fn current(&self) -> Option<Page<'_>> {
        self.current.as_ref().map(|found| self.page(found))
    }

    /// Adds to an error the position of the page that [`Pages::next`] returned last.
    pub fn place_current(&self, error: Error) -> Error {
        let page = self.ordinal.saturating_sub(1);
        self.file.place(error, self.row_group, self.leaf).at(|place| {
            place.page.get_or_insert(page);
        })
    }

    /// Offset of the next page's header in the file.
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    fn place(&self, error: Error) -> Error {
        let (page, offset) = (self.ordinal, self.offset());
        self.file.place(error, self.row_group, self.leaf).at(|place| {
            place.page = Some(page);
            place.offset.get_or_insert(offset);
        })
    }

    #[inline]
    fn rows(&self, header: &PageHeader) -> Option<usize> {
        match header.kind {
            PageKind::Dictionary | PageKind::Other => None,
            _ if self.max_rep == 0 => Some(header.count),
            PageKind::DataV2 { rows, .. } => Some(rows),
            PageKind::DataV1 { .. } => None,
        }
    }
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::file(FileErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests;
