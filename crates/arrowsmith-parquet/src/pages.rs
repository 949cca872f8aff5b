// SPDX-License-Identifier: Apache-2.0
//! The page cursor: a column chunk's bytes → its pages, one at a time.
//!
//! Four stages of the page pipeline are here: the *ingester* reads the chunk's bytes, the *aligner*
//! finds where header, levels and values begin, the *metadata interpreter* (`header`) reads the
//! header, the *decompressor* (`codec`) undoes the compression. Levels and values stay encoded; an
//! engine decodes them. A page is valid until the next one is requested; it is in the file's own
//! bytes or in one buffer that all pages share. A file that is not in memory is read by windows: a
//! page, or several small ones.

mod compressed;
mod legacy;

use std::fmt;
use std::sync::Arc;

use arrow_buffer::ArrowNativeType;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_simd::{Buf, ReadAt, prefetch};
use bytes::Bytes;
use parquet::basic::Compression;

use crate::budget::{Budget, Share};
use crate::codec::{PageBuffers, SLACK_BYTES};
use crate::file::File;
use crate::header::{Encoding, HeaderError, LevelEncoding, PageHeader, PageKind};
use crate::thrift::ThriftError;

pub use compressed::PackedPage;
pub use legacy::corrected_chunk;

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

/// The encoded levels of one kind of a data page.
#[derive(Debug, Clone, Copy)]
pub struct Levels<'a> {
    /// The runs, without their length prefix. Empty where `max` is 0: there are no levels then.
    pub bytes: &'a [u8],
    /// `bytes` and the readable bytes after it, whose values do not matter.
    pub readable: &'a [u8],
    /// How they are encoded.
    pub encoding: LevelEncoding,
    /// The highest level that the schema allows.
    pub max: u16,
}

impl Levels<'_> {
    /// No levels: all are 0.
    pub fn none() -> Self {
        Self { bytes: &[], readable: &[], encoding: LevelEncoding::Rle, max: 0 }
    }

    /// Bits of a level.
    pub fn bit_width(&self) -> u8 {
        bit_width(self.max)
    }
}

fn bit_width(max: u16) -> u8 {
    // At most 16, so that nothing is lost.
    (u16::BITS - max.leading_zeros()).to_le_bytes()[0]
}

/// A data page.
#[derive(Debug, Clone, Copy)]
pub struct DataPage<'a> {
    /// Values, nulls included: the number of levels.
    pub count: usize,
    /// Nulls, where the page says so: what is null here or has no value because a parent has none.
    pub nulls: Option<usize>,
    /// Rows that begin in the page, where that is known without its levels.
    pub rows: Option<usize>,
    /// How `values` is encoded.
    pub encoding: Encoding,
    /// Repetition levels.
    pub rep: Levels<'a>,
    /// Definition levels.
    pub def: Levels<'a>,
    /// The encoded values.
    pub values: &'a [u8],
    /// `values` and the readable bytes after it (128 if the file has them), whose values do not
    /// matter.
    pub readable: &'a [u8],
    /// The file's bytes, of which `values` is a part: for decoding without a copy
    /// (`shared.slice_ref(values)`). None where the values were decompressed.
    pub shared: Option<&'a Bytes>,
    /// Where the values are, if they were left in the file ([`Pages::leave_values`]); `values` is
    /// empty then.
    pub stored: Option<Stored<'a>>,
}

/// Values that were left in the file.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    file: &'a File,
    source: &'a dyn ReadAt,
    offset: u64,
    bytes: usize,
}

impl Stored<'_> {
    /// Appends `count` numbers, stored as they are in memory, from byte `at` of the values on.
    ///
    /// # Errors
    /// Fewer values than that, or an I/O error.
    pub fn read<T: ArrowNativeType>(
        &self,
        at: usize,
        count: usize,
        out: &mut Buf<T>,
    ) -> Result<()> {
        let end = count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(at));
        if end.is_none_or(|end| end > self.bytes) {
            return Err(Error::file(
                FileErrorKind::Truncated,
                "the page ends before its values do",
            ));
        }
        let read = out.append_at(self.source, self.offset + at as u64, count);
        read.map_err(|error| self.file.io_error(error))
    }
}

impl fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("offset", &self.offset).field("bytes", &self.bytes).finish()
    }
}

/// A dictionary page.
#[derive(Debug, Clone, Copy)]
pub struct DictionaryPage<'a> {
    /// Entries.
    pub count: usize,
    /// The entries, always PLAIN.
    pub values: &'a [u8],
    /// `values` and the readable bytes after it, whose values do not matter.
    pub readable: &'a [u8],
    /// As in [`DataPage::shared`].
    pub shared: Option<&'a Bytes>,
}

/// A page of a column chunk.
#[derive(Debug, Clone, Copy)]
pub enum Page<'a> {
    /// The dictionary: the first page, if there is one.
    Dictionary(DictionaryPage<'a>),
    /// A data page.
    Data(DataPage<'a>),
}

/// What a page's header says, before the page is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageInfo {
    /// Whether it is the dictionary.
    pub dictionary: bool,
    /// Values, nulls included; entries of a dictionary.
    pub count: usize,
    /// Rows that begin in the page, where that is known without its levels.
    pub rows: Option<usize>,
    /// Bytes after decompression, levels included.
    pub uncompressed_bytes: usize,
    /// Bytes in the file, without the header.
    pub compressed_bytes: usize,
    /// How the values are encoded.
    pub encoding: Encoding,
    /// Offset of the header in the file, in bytes.
    pub offset: u64,
}

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

    /// The header of the next page that matters, checked against the bytes in memory.
    #[inline]
    fn header(&mut self) -> Result<Option<PageHeader>> {
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
    fn more(&self) -> bool {
        self.file.source().is_some() && self.base + (self.bytes.len() as u64) < self.end
    }

    /// Begins a window at the next page: `wanted` bytes, or what the chunk has; all of it if it is
    /// in memory.
    fn fill(&mut self, wanted: usize) -> Result<()> {
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
    fn load(&mut self, header: &PageHeader) -> Result<()> {
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

    fn too_large(&self, bytes: usize) -> Error {
        let limit = self.page_bytes_max;
        Error::file(
            FileErrorKind::Limit,
            format!("a page of {bytes} bytes, page_bytes_max is {limit}"),
        )
    }

    /// Whether the page of `header` is only plain values, which may stay in the file.
    #[inline]
    fn stays(&self, header: &PageHeader) -> bool {
        let behind = self.bytes.len() - self.at;
        let levels = match header.kind {
            PageKind::DataV1 { .. } => 0,
            PageKind::DataV2 { definition_bytes, repetition_bytes, .. } => {
                definition_bytes | repetition_bytes
            }
            PageKind::Dictionary | PageKind::Other => return false,
        };
        self.leave_values
            && header.encoding == Encoding::Plain
            && header.compressed_bytes >= LEAVE_BYTES_MIN
            && header.header_bytes + header.compressed_bytes > behind
            && (self.max_def | self.max_rep) == 0
            && levels == 0
            && !self.compressed
            && !(self.verify_checksums && header.crc.is_some())
    }

    /// Moves past the page of `header`.
    #[inline]
    fn pass(&mut self, header: &PageHeader) {
        self.at += header.header_bytes + header.compressed_bytes;
        self.ordinal += 1;
        self.header = None;
        if header.kind != PageKind::Dictionary {
            self.data_seen = true;
            // Checked against each other when the header was read.
            self.owed = self.owed.map(|owed| owed - header.count);
        }
    }

    /// Reads the next page: checks and decompresses it, and finds its parts.
    #[inline]
    fn read(&mut self) -> Result<Option<Found>> {
        let Some(header) = self.header()? else { return Ok(None) };
        if self.stays(&header) {
            let start = self.at + header.header_bytes;
            let end = start + header.compressed_bytes;
            let cuts = Cuts::none();
            self.pass(&header);
            return Ok(Some(Found { header, cuts, buffer: Buffer::Away, start, end }));
        }
        let Body { start, end, levels, compressed } = self.body(&header)?;
        let (buffer, start, end) = if compressed {
            let bytes = header.uncompressed_bytes;
            self.decompress(start, end, levels, bytes)?;
            (Buffer::Own, 0, bytes)
        } else {
            (Buffer::File, start, end)
        };
        let body = match buffer {
            Buffer::Own => &self.buffers.output()[start..end],
            Buffer::File | Buffer::Away => &self.bytes[start..end],
        };
        let cuts = Cuts::find(&header, body, self.max_rep, self.max_def)?;
        self.pass(&header);
        if header.compressed_bytes <= PREFETCH_BYTES_MAX {
            // The page after this one is about as long, and reading this one does not make the CPU
            // fetch it.
            prefetch(&self.bytes, self.at, header.compressed_bytes + header.header_bytes);
        }
        Ok(Some(Found { header, cuts, buffer, start, end }))
    }

    /// Reads the page of `header`, which is the next one, and checks its checksum and the lengths
    /// of its levels.
    #[inline]
    fn body(&mut self, header: &PageHeader) -> Result<Body> {
        self.load(header)?;
        let start = self.at + header.header_bytes;
        let end = start + header.compressed_bytes;
        if self.verify_checksums
            && let Some(expected) = header.crc
        {
            let found = crc32fast::hash(&self.bytes[start..end]);
            if found != expected {
                return Err(Error::file(
                    FileErrorKind::Checksum,
                    format!("the page's CRC-32 is {found:08x}, its header says {expected:08x}"),
                ));
            }
        }
        // Levels of a v2 page precede the compressed part, as they are.
        let (levels, compressed) = match header.kind {
            PageKind::DataV2 { definition_bytes, repetition_bytes, compressed, .. } => {
                let levels = definition_bytes.saturating_add(repetition_bytes);
                if levels > header.compressed_bytes || levels > header.uncompressed_bytes {
                    return Err(corrupt(format!(
                        "levels of {levels} bytes in a page of {}",
                        header.compressed_bytes
                    )));
                }
                (levels, (compressed || self.compressed_always) && self.compressed)
            }
            _ => (0, self.compressed),
        };
        Ok(Body { start, end, levels, compressed })
    }

    /// Decompresses `bytes[start + levels..end]` after a copy of the levels.
    fn decompress(&mut self, start: usize, end: usize, levels: usize, bytes: usize) -> Result<()> {
        self.may_become(end - start - levels, levels, bytes)?;
        let input = &self.bytes[start + levels..end];
        let values = bytes - levels;
        if let Some(share) = &mut self.share {
            share.grow(bytes)?;
        }
        // Bounded: by what that many compressed bytes may become, and by the share.
        self.buffers.reserve(bytes);
        self.buffers.output_mut()[..levels].copy_from_slice(&self.bytes[start..start + levels]);
        if values > 0 {
            self.buffers.decompress(input, levels, values)?;
        }
        Ok(())
    }

    /// Whether `input` compressed bytes may become a page of `bytes`, which include the levels.
    fn may_become(&self, input: usize, levels: usize, bytes: usize) -> Result<()> {
        if bytes > self.page_bytes_max {
            return Err(self.too_large(bytes));
        }
        let values = bytes - levels;
        // A page of nulls only: some writers compress zero bytes, some write none.
        if values > 0 && !self.buffers.plausible(input, values) {
            return Err(corrupt(format!(
                "{input} bytes cannot decompress to the {values} that the page's header says"
            )));
        }
        Ok(())
    }

    /// The slices of a page that has been read.
    #[inline]
    fn page(&self, found: &Found) -> Page<'_> {
        let Found { header, cuts, buffer, start, end } = found;
        let (all, shared) = match buffer {
            Buffer::Own => (self.buffers.output(), None),
            Buffer::File => (&self.bytes[..], Some(&self.bytes)),
            Buffer::Away => return Page::Data(self.away(header, *start, *end)),
        };
        let body = &all[*start..*end];
        let readable = &all[*start..(*end + SLACK_BYTES).min(all.len())];
        let values = &body[cuts.values..];
        if header.kind == PageKind::Dictionary {
            let count = header.count;
            return Page::Dictionary(DictionaryPage { count, values, readable, shared });
        }
        let nulls = match header.kind {
            PageKind::DataV2 { nulls, .. } => Some(nulls),
            _ if self.max_def == 0 => Some(0),
            _ => None,
        };
        let levels = |(from, to): (usize, usize), encoding, max| Levels {
            bytes: &body[from..to],
            readable: &readable[from..],
            encoding,
            max,
        };
        Page::Data(DataPage {
            count: header.count,
            nulls,
            rows: self.rows(header),
            encoding: header.encoding,
            rep: levels(cuts.rep, cuts.rep_encoding, self.max_rep),
            def: levels(cuts.def, cuts.def_encoding, self.max_def),
            values,
            readable: &readable[cuts.values..],
            shared,
            stored: None,
        })
    }

    /// A page of values that were left in the file.
    fn away(&self, header: &PageHeader, start: usize, end: usize) -> DataPage<'_> {
        let stored = self.file.source().map(|source| Stored {
            file: &self.file,
            source: &**source,
            offset: self.base + start as u64,
            bytes: end - start,
        });
        DataPage {
            count: header.count,
            nulls: Some(0),
            rows: self.rows(header),
            encoding: header.encoding,
            rep: Levels::none(),
            def: Levels::none(),
            values: &[],
            readable: &[],
            shared: None,
            stored,
        }
    }
}

/// Where a page is in the window: its levels first, where they are not compressed with the values.
struct Body {
    start: usize,
    end: usize,
    /// Bytes of levels that are never compressed.
    levels: usize,
    compressed: bool,
}

/// Where the bytes of a page are.
#[derive(Debug, Clone, Copy)]
enum Buffer {
    File,
    Own,
    /// In the file, not read.
    Away,
}

/// Positions of a page that has been read.
#[derive(Debug)]
struct Found {
    header: PageHeader,
    cuts: Cuts,
    buffer: Buffer,
    start: usize,
    end: usize,
}

/// The aligner: where the parts of a page's body begin and end.
#[derive(Debug)]
struct Cuts {
    rep: (usize, usize),
    def: (usize, usize),
    values: usize,
    rep_encoding: LevelEncoding,
    def_encoding: LevelEncoding,
}

impl Cuts {
    /// A page without levels.
    fn none() -> Self {
        let rle = LevelEncoding::Rle;
        Self { rep: (0, 0), def: (0, 0), values: 0, rep_encoding: rle, def_encoding: rle }
    }

    #[inline]
    fn find(header: &PageHeader, body: &[u8], max_rep: u16, max_def: u16) -> Result<Self> {
        let mut cuts = Self::none();
        match header.kind {
            PageKind::DataV1 { definition, repetition } => {
                if max_rep > 0 {
                    cuts.rep_encoding = repetition.ok_or_else(unknown_levels)?;
                    cuts.rep = v1_levels(body, 0, header.count, max_rep, cuts.rep_encoding)?;
                    cuts.values = cuts.rep.1;
                }
                if max_def > 0 {
                    cuts.def_encoding = definition.ok_or_else(unknown_levels)?;
                    cuts.def =
                        v1_levels(body, cuts.values, header.count, max_def, cuts.def_encoding)?;
                    cuts.values = cuts.def.1;
                }
            }
            // Their sum was checked against the body.
            PageKind::DataV2 { definition_bytes, repetition_bytes, .. } => {
                cuts.rep = (0, repetition_bytes);
                cuts.def = (repetition_bytes, repetition_bytes + definition_bytes);
                cuts.values = cuts.def.1;
            }
            PageKind::Dictionary | PageKind::Other => {}
        }
        Ok(cuts)
    }
}

/// The levels of a v1 page that begin at `at`: after their length (RLE), or of the length that
/// follows from their number (BIT_PACKED).
fn v1_levels(
    body: &[u8],
    at: usize,
    count: usize,
    max: u16,
    encoding: LevelEncoding,
) -> Result<(usize, usize)> {
    let rest = &body[at..];
    let (start, bytes) = match encoding {
        LevelEncoding::Rle => {
            let Some(length) = rest.first_chunk::<4>() else {
                return Err(corrupt("the page ends before its levels"));
            };
            (at + 4, usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX))
        }
        LevelEncoding::BitPacked => {
            (at, count.saturating_mul(usize::from(bit_width(max))).div_ceil(8))
        }
    };
    if bytes > body.len() - start {
        return Err(corrupt(format!(
            "levels of {bytes} bytes where the page has {} left",
            body.len() - start
        )));
    }
    Ok((start, start + bytes))
}

fn unknown_levels() -> Error {
    Error::file(FileErrorKind::Unsupported, "an encoding of levels other than RLE and BIT_PACKED")
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::file(FileErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests;
