// SPDX-License-Identifier: Apache-2.0
//! The body of a page: the *decompressor* undoes its compression, and the *aligner* finds where
//! levels and values begin.

use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_simd::prefetch;

use super::page::{DataPage, DictionaryPage, Levels, Page, Stored, bit_width};
use super::{LEAVE_BYTES_MIN, PREFETCH_BYTES_MAX, Pages, corrupt};
use crate::codec::SLACK_BYTES;
use crate::header::{Encoding, LevelEncoding, PageHeader, PageKind};

impl Pages {
    /// Whether the page of `header` is only plain values, which may stay in the file.
    #[inline]
    pub(super) fn stays(&self, header: &PageHeader) -> bool {
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
    pub(super) fn pass(&mut self, header: &PageHeader) {
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
    pub(super) fn read(&mut self) -> Result<Option<Found>> {
        let Some(header) = self.header()? else { return Ok(None) };
        if self.stays(&header) {
            let start = self.at + header.header_bytes;
            let end = start + header.compressed_bytes;
            let cuts = Cuts::none();
            self.pass(&header);
            return Ok(Some(Found { header, cuts, buffer: Buffer::Source, start, end }));
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
            Buffer::File | Buffer::Source => &self.bytes[start..end],
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
    pub(super) fn body(&mut self, header: &PageHeader) -> Result<Body> {
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
    pub(super) fn decompress(
        &mut self,
        start: usize,
        end: usize,
        levels: usize,
        bytes: usize,
    ) -> Result<()> {
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
    pub(super) fn may_become(&self, input: usize, levels: usize, bytes: usize) -> Result<()> {
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
    pub(super) fn page(&self, found: &Found) -> Page<'_> {
        let Found { header, cuts, buffer, start, end } = found;
        let (all, shared) = match buffer {
            Buffer::Own => (self.buffers.output(), None),
            Buffer::File => (&self.bytes[..], Some(&self.bytes)),
            Buffer::Source => return Page::Data(self.stored_page(header, *start, *end)),
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
    pub(super) fn stored_page(
        &self,
        header: &PageHeader,
        start: usize,
        end: usize,
    ) -> DataPage<'_> {
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
pub(super) struct Body {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Bytes of levels that are never compressed.
    pub(super) levels: usize,
    pub(super) compressed: bool,
}

/// Where the bytes of a page are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Buffer {
    File,
    Own,
    /// In the file, not read.
    Source,
}

/// Positions of a page that has been read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) header: PageHeader,
    pub(super) cuts: Cuts,
    pub(super) buffer: Buffer,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The aligner: where the parts of a page's body begin and end.
#[derive(Debug)]
pub(super) struct Cuts {
    rep: (usize, usize),
    def: (usize, usize),
    values: usize,
    rep_encoding: LevelEncoding,
    def_encoding: LevelEncoding,
}

impl Cuts {
    /// A page without levels.
    pub(super) fn none() -> Self {
        let rle = LevelEncoding::Rle;
        Self { rep: (0, 0), def: (0, 0), values: 0, rep_encoding: rle, def_encoding: rle }
    }

    #[inline]
    pub(super) fn find(
        header: &PageHeader,
        body: &[u8],
        max_rep: u16,
        max_def: u16,
    ) -> Result<Self> {
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
pub(super) fn v1_levels(
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

pub(super) fn unknown_levels() -> Error {
    Error::file(FileErrorKind::Unsupported, "an encoding of levels other than RLE and BIT_PACKED")
}
