// SPDX-License-Identifier: Apache-2.0
//! Pages as the file has them, for readers that decompress themselves, such as a GPU.

use arrowsmith_core::Result;

use super::Pages;
use super::body::Body;
use crate::header::{Encoding, LevelEncoding, PageHeader, PageKind};

/// A page that is still compressed.
#[derive(Debug, Clone, Copy)]
pub struct PackedPage<'a> {
    /// Whether it is the dictionary, whose entries are PLAIN.
    pub dictionary: bool,
    /// Values, nulls included; entries of a dictionary.
    pub count: usize,
    /// How the values are encoded.
    pub encoding: Encoding,
    /// Of a data page of version 1, whose levels precede the values in what is compressed: how
    /// repetition and definition levels are encoded, if the encoding is a known one.
    pub v1_levels: Option<(Option<LevelEncoding>, Option<LevelEncoding>)>,
    /// Repetition levels of a page of version 2, in runs.
    pub rep: &'a [u8],
    /// Definition levels of a page of version 2, in runs.
    pub def: &'a [u8],
    /// What is compressed.
    pub packed: &'a [u8],
    /// Bytes after decompression; if 0, `packed` may hold anything.
    pub unpacked_bytes: usize,
}

impl Pages {
    /// The next page as the file has it, if `takes` accepts its compressed bytes. `None` at the end
    /// of the chunk, for pages that `takes` declines, and for those that are not compressed;
    /// [`Pages::next`] reads these.
    ///
    /// # Errors
    /// As [`Pages::next`], except those that only decompression finds.
    pub fn next_packed(
        &mut self,
        takes: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Option<PackedPage<'_>>> {
        let found = self.pack(takes).map_err(|error| self.place(error))?;
        Ok(found.map(|(header, Body { start, end, levels, .. })| {
            let bytes = &self.bytes[start..end];
            let (v1_levels, repetition_bytes) = match header.kind {
                PageKind::DataV1 { definition, repetition } => (Some((repetition, definition)), 0),
                PageKind::DataV2 { repetition_bytes, .. } => (None, repetition_bytes),
                PageKind::Dictionary | PageKind::Other => (None, 0),
            };
            PackedPage {
                dictionary: header.kind == PageKind::Dictionary,
                count: header.count,
                encoding: header.encoding,
                v1_levels,
                rep: &bytes[..repetition_bytes],
                def: &bytes[repetition_bytes..levels],
                packed: &bytes[levels..],
                unpacked_bytes: header.uncompressed_bytes - levels,
            }
        }))
    }

    fn pack(&mut self, takes: impl FnOnce(&[u8]) -> bool) -> Result<Option<(PageHeader, Body)>> {
        let Some(header) = self.header()? else { return Ok(None) };
        self.current = None;
        let body = self.body(&header)?;
        let Body { start, end, levels, compressed } = body;
        if !compressed || !takes(&self.bytes[start + levels..end]) {
            return Ok(None);
        }
        self.may_become(end - start - levels, levels, header.uncompressed_bytes)?;
        self.pass(&header);
        Ok(Some((header, body)))
    }
}
