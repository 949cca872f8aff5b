// SPDX-License-Identifier: Apache-2.0
//! The pages of a column chunk on the host: found, decompressed, and laid one behind the other for the device.

use std::ops::Range;

use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, Encoding, File, LevelEncoding, Levels, Page, Pages, Physical};

use super::shape::Shape;

/// Bytes behind every page that may be read.
const SPARE: usize = 16;

/// What became of reading pages.
pub(super) enum Read {
    Pages(Host),
    /// More bytes, or entries, than there may be.
    TooLarge,
    /// Something that the kernels do not hold, or that is not sound.
    Unsure,
}

/// The pages of a chunk, on the host.
pub(super) struct Host {
    /// Dictionary, levels and values, one behind the other.
    pub bytes: Vec<u8>,
    /// Where the dictionary is, and how many entries it has.
    pub dictionary: Option<(Range<usize>, usize)>,
    pub pages: Vec<HostPage>,
    /// The first row of the first page.
    pub first: usize,
    /// Levels, nulls included.
    pub entries: usize,
}

/// A data page.
pub(super) struct HostPage {
    pub values: Range<usize>,
    pub def: Option<Range<usize>>,
    pub rep: Option<Range<usize>>,
    pub count: usize,
    pub encoding: u64,
}

impl Host {
    /// Reads and decompresses the pages that hold these rows; of a column of lists all pages.
    ///
    /// # Errors
    /// What the file says of a page.
    pub fn read(
        file: &File,
        row_group: usize,
        shape: &Shape,
        rows: &Range<usize>,
        (bytes_max, entries_max): (u64, u64),
        verify_checksums: bool,
    ) -> Result<Read> {
        let mut host =
            Self { bytes: Vec::new(), dictionary: None, pages: Vec::new(), first: 0, entries: 0 };
        let mut pages = Pages::new(file, row_group, shape.leaf)?.verify_checksums(verify_checksums);
        let mut row = 0;
        let repeats = shape.rep_max > 0;
        while repeats || row < rows.end {
            let info = match pages.peek()? {
                Some(info) => info,
                None if repeats => break,
                None => return Ok(Read::Unsure),
            };
            if !info.dictionary && !repeats && row + info.count <= rows.start && host.entries == 0 {
                pages.skip()?;
                row += info.count;
                host.first = row;
                continue;
            }
            let bytes = host.bytes.len().saturating_add(info.uncompressed_bytes) as u64;
            let entries = host.entries.saturating_add(info.count) as u64;
            if bytes > bytes_max || (!info.dictionary && entries > entries_max) {
                return Ok(Read::TooLarge);
            }
            match pages.next()? {
                None => return Ok(Read::Unsure),
                Some(Page::Dictionary(page)) => {
                    host.dictionary = Some((host.put(page.values), page.count));
                }
                Some(Page::Data(page)) => {
                    row += page.count;
                    if !host.add(shape, &page) {
                        return Ok(Read::Unsure);
                    }
                }
            }
        }
        Ok(if host.entries > 0 { Read::Pages(host) } else { Read::Unsure })
    }

    /// The dictionary as a page of values.
    pub fn entries_of_dictionary(&self) -> Option<Self> {
        let (values, count) = self.dictionary.clone()?;
        let page = HostPage { values: 0..values.len(), def: None, rep: None, count, encoding: 0 };
        let mut host = Self {
            bytes: Vec::new(),
            dictionary: None,
            pages: vec![page],
            first: 0,
            entries: count,
        };
        host.put(self.bytes.get(values)?);
        Some(host)
    }

    fn put(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let range = from..self.bytes.len();
        self.bytes.resize(self.bytes.len() + SPARE, 0);
        range
    }

    fn add(&mut self, shape: &Shape, page: &DataPage<'_>) -> bool {
        use Physical as P;
        let encoding = match (page.encoding, shape.physical) {
            (Encoding::Plain, _) => 0,
            (Encoding::Dictionary, kind) if kind != P::BOOLEAN => 1,
            (Encoding::Rle, P::BOOLEAN) => 2,
            (Encoding::DeltaBinaryPacked, P::INT32 | P::INT64) => 3,
            (Encoding::DeltaLengthByteArray, P::BYTE_ARRAY) => 4,
            (Encoding::DeltaByteArray, P::BYTE_ARRAY) => 5,
            (Encoding::ByteStreamSplit, kind) if kind != P::BOOLEAN && kind != P::BYTE_ARRAY => 6,
            _ => return false,
        };
        if encoding == 1 && self.dictionary.is_none() {
            return false;
        }
        // Dictionary arrays are made of dictionary pages; of others the CPU engine makes them.
        if shape.keys.is_some() && encoding != 1 {
            return false;
        }
        let wanted = [(shape.def_max, &page.def), (shape.rep_max, &page.rep)];
        let is_runs = |levels: &Levels<'_>| levels.encoding == LevelEncoding::Rle;
        if wanted
            .iter()
            .any(|(max, levels)| u64::from(levels.max) != *max || (*max > 0 && !is_runs(levels)))
        {
            return false;
        }
        let [def, rep] = wanted.map(|(max, levels)| (max > 0).then(|| self.put(levels.bytes)));
        let values = self.put(page.values);
        self.entries += page.count;
        self.pages.push(HostPage { values, def, rep, count: page.count, encoding });
        true
    }
}
