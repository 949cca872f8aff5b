// SPDX-License-Identifier: Apache-2.0
//! The pages of a column chunk on the host: found, concatenated for the device, and decompressed if
//! the device cannot.

use std::ops::Range;

use arrowsmith_core::Result;
use arrowsmith_parquet::{
    DataPage, Encoding, File, LevelEncoding, Levels, PackedPage, Page, Pages, Physical,
};
use parquet::basic::Compression;

use super::shape::Shape;
use crate::abi::{Cut, Kernel, PageEncoding, UNPACK_SNAPPY, UNPACK_ZSTD, UnpackArgs};

/// Readable bytes after every page, and what every page begins at a multiple of.
const SPARE: usize = 16;

/// Runs of levels that are looked at to find out that a page has no nulls.
const RUNS_MAX: usize = 16;

/// Maximum bytes of literals of a Zstandard block.
const ASIDE_BYTES_MAX: usize = 128 << 10;

/// A codec that the device can decompress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Snappy,
    Zstd,
}

impl Codec {
    pub fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::SNAPPY => Some(Self::Snappy),
            Compression::ZSTD(_) => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its kernel.
    pub fn kernel(self) -> Kernel<UnpackArgs> {
        match self {
            Self::Snappy => UNPACK_SNAPPY,
            Self::Zstd => UNPACK_ZSTD,
        }
    }

    /// Whether the kernel takes these bytes: frames with a checksum or a dictionary are for the
    /// host.
    fn takes(self, packed: &[u8]) -> bool {
        match self {
            Self::Snappy => true,
            Self::Zstd => packed.get(4).is_some_and(|descriptor| descriptor & 0x0F == 0),
        }
    }

    /// Bytes of scratch memory that the kernel needs for a page.
    fn aside_bytes(self, unpacked: usize) -> usize {
        match self {
            Self::Snappy => 0,
            Self::Zstd => unpacked.min(ASIDE_BYTES_MAX),
        }
    }
}

/// Location of bytes of a page.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// In the bytes that are copied to the device.
    Sent(Range<usize>),
    /// In the memory that the device decompresses to.
    Unpacked(Range<usize>),
}

impl Place {
    pub fn len(&self) -> usize {
        match self {
            Self::Sent(range) | Self::Unpacked(range) => range.len(),
        }
    }
}

/// A page that the device unpacks.
pub(super) struct Task {
    /// Its compressed bytes, among those that are copied to the device.
    pub from: Range<usize>,
    /// Its decompressed bytes.
    pub to: Range<usize>,
    /// Offset of the kernel's scratch memory for it.
    pub aside: usize,
    /// The levels that it begins with: `Cut`s.
    pub cuts: u64,
    /// Number of the data page; `None` for the dictionary.
    pub page: Option<usize>,
}

/// The result of reading pages.
pub(super) enum Read {
    Pages(Host),
    /// More bytes, or entries, than allowed.
    TooLarge,
    /// Something unsupported by the kernels, or malformed.
    Unsure,
}

/// The pages of a chunk, on the host.
#[derive(Default)]
pub(super) struct Host {
    /// Dictionary, levels and values, concatenated.
    pub bytes: Vec<u8>,
    /// Location of the dictionary, and its number of entries.
    pub dictionary: Option<(Place, usize)>,
    pub pages: Vec<HostPage>,
    /// The first row of the first page.
    pub first: usize,
    /// Levels, nulls included.
    pub entries: usize,
    /// What the device decompresses: the codec, the pages, the bytes after decompression, the bytes
    /// of scratch memory.
    pub codec: Option<Codec>,
    pub tasks: Vec<Task>,
    pub unpacked_bytes: usize,
    pub aside_bytes: usize,
}

/// A data page.
pub(super) struct HostPage {
    /// Its values; in a page that the device decompresses, its levels precede them.
    pub values: Place,
    pub def: Option<Range<usize>>,
    pub rep: Option<Range<usize>>,
    pub count: usize,
    pub encoding: PageEncoding,
    /// Whether it is known that every entry has a value.
    pub full: bool,
}

/// Where the next page begins after this many bytes.
fn after(bytes: usize) -> usize {
    (bytes + SPARE).next_multiple_of(SPARE)
}

/// Whether runs of definition levels say, without a closer look, that every entry has a value.
fn is_full(levels: &[u8], most: u64, count: usize) -> bool {
    let (mut at, mut done) = (0, 0);
    for _ in 0..RUNS_MAX {
        if done >= count as u64 {
            return true;
        }
        let mut head = 0_u64;
        for shift in (0..).step_by(7) {
            let Some(byte) = levels.get(at).filter(|_| shift < 63) else { return false };
            at += 1;
            head |= u64::from(byte & 127) << shift;
            if *byte < 128 {
                break;
            }
        }
        // Levels of a column have one byte; packed ones are for the device.
        if head & 1 == 1 || levels.get(at).is_none_or(|level| u64::from(*level) != most) {
            return false;
        }
        at += 1;
        done = (head >> 1).saturating_add(done);
    }
    done >= count as u64
}

impl Host {
    /// Whether every entry is a row with a value, so that levels do not matter.
    pub fn is_dense(&self, shape: &Shape) -> bool {
        let flat = shape.rep_max == 0 && shape.slots == (0, 0) && shape.ancestors.is_empty();
        flat && self.pages.iter().all(|page| page.full)
    }

    /// Reads the pages that have these rows; all pages of a column of lists.
    ///
    /// # Errors
    /// Errors of reading a page.
    pub fn read(
        file: &File,
        row_group: usize,
        shape: &Shape,
        rows: &Range<usize>,
        (bytes_max, entries_max): (u64, u64),
        verify_checksums: bool,
    ) -> Result<Read> {
        let codec = Codec::of(file.chunk(row_group, shape.leaf)?.compression());
        let mut host = Self { codec, ..Self::default() };
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
            let bytes = host.bytes.len().saturating_add(host.unpacked_bytes);
            let bytes = bytes.saturating_add(info.uncompressed_bytes) as u64;
            let entries = host.entries.saturating_add(info.count) as u64;
            if bytes > bytes_max || (!info.dictionary && entries > entries_max) {
                return Ok(Read::TooLarge);
            }
            if !info.dictionary {
                row += info.count;
            }
            // The entries of a dictionary array are decoded separately, from the host's memory.
            if let Some(codec) = codec.filter(|_| !(info.dictionary && shape.keys.is_some()))
                && let Some(page) = pages.next_packed(|packed| codec.takes(packed))?
            {
                if !host.add_packed(shape, &page, codec) {
                    return Ok(Read::Unsure);
                }
                continue;
            }
            match pages.next()? {
                None => return Ok(Read::Unsure),
                Some(Page::Dictionary(page)) => {
                    host.dictionary = Some((Place::Sent(host.put(page.values)), page.count));
                }
                Some(Page::Data(page)) => {
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
        let (Place::Sent(values), count) = self.dictionary.clone()? else { return None };
        let place = Place::Sent(0..values.len());
        let encoding = PageEncoding::Plain;
        let page = HostPage { values: place, def: None, rep: None, count, encoding, full: true };
        let mut host = Self { pages: vec![page], entries: count, ..Self::default() };
        host.put(self.bytes.get(values)?);
        Some(host)
    }

    fn put(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let range = from..self.bytes.len();
        self.bytes.resize(after(self.bytes.len()), 0);
        range
    }

    /// An encoding in the kernels; `None` for what they do not hold.
    fn encoding(&self, shape: &Shape, encoding: Encoding) -> Option<PageEncoding> {
        use {PageEncoding as E, Physical as P};
        let found = match (encoding, shape.physical) {
            (Encoding::Plain, _) => E::Plain,
            (Encoding::Dictionary, kind) if kind != P::BOOLEAN => E::Dictionary,
            (Encoding::Rle, P::BOOLEAN) => E::Runs,
            (Encoding::DeltaBinaryPacked, P::INT32 | P::INT64) => E::Delta,
            (Encoding::DeltaLengthByteArray, P::BYTE_ARRAY) => E::DeltaLength,
            (Encoding::DeltaByteArray, P::BYTE_ARRAY) => E::DeltaStrings,
            (Encoding::ByteStreamSplit, kind) if kind != P::BOOLEAN && kind != P::BYTE_ARRAY => {
                E::Split
            }
            _ => return None,
        };
        // Dictionary arrays are decoded from dictionary pages only; the next engine decodes others.
        let indices = found == E::Dictionary;
        let keys = shape.keys.is_none() || indices;
        (keys && (!indices || self.dictionary.is_some())).then_some(found)
    }

    fn add(&mut self, shape: &Shape, page: &DataPage<'_>) -> bool {
        let Some(encoding) = self.encoding(shape, page.encoding) else { return false };
        let wanted = [(shape.def_max, &page.def), (shape.rep_max, &page.rep)];
        let is_runs = |levels: &Levels<'_>| levels.encoding == LevelEncoding::Rle;
        if wanted
            .iter()
            .any(|(max, levels)| u64::from(levels.max) != *max || (*max > 0 && !is_runs(levels)))
        {
            return false;
        }
        let full = shape.def_max == 0 || is_full(page.def.bytes, shape.def_max, page.count);
        let [def, rep] = wanted.map(|(max, levels)| (max > 0).then(|| self.put(levels.bytes)));
        let values = Place::Sent(self.put(page.values));
        self.entries += page.count;
        self.pages.push(HostPage { values, def, rep, count: page.count, encoding, full });
        true
    }

    fn add_packed(&mut self, shape: &Shape, page: &PackedPage<'_>, codec: Codec) -> bool {
        let to = self.unpacked_bytes..self.unpacked_bytes + page.unpacked_bytes;
        if page.dictionary {
            self.dictionary = Some((Place::Unpacked(to), page.count));
            self.task(page.packed, page.unpacked_bytes, codec, 0, None);
            return true;
        }
        let Some(encoding) = self.encoding(shape, page.encoding) else { return false };
        let (has_rep, has_def) = (shape.rep_max > 0, shape.def_max > 0);
        let mut host_page = HostPage {
            values: Place::Unpacked(to.clone()),
            def: None,
            rep: None,
            count: page.count,
            encoding,
            full: !has_def,
        };
        let mut cuts = 0;
        if let Some((rep, def)) = page.v1_levels {
            let runs = Some(LevelEncoding::Rle);
            if (has_rep && rep != runs) || (has_def && def != runs) {
                return false;
            }
            let cut = |has: bool, cut: Cut| if has { cut as u64 } else { 0 };
            cuts = cut(has_rep, Cut::Reps) | cut(has_def, Cut::Levels);
        } else {
            host_page.full = !has_def || is_full(page.def, shape.def_max, page.count);
            host_page.def = has_def.then(|| self.put(page.def));
            host_page.rep = has_rep.then(|| self.put(page.rep));
        }
        self.task(page.packed, page.unpacked_bytes, codec, cuts, Some(self.pages.len()));
        self.entries += page.count;
        self.pages.push(host_page);
        true
    }

    /// Adds a page that the device decompresses, to `len` bytes.
    pub fn task(
        &mut self,
        packed: &[u8],
        len: usize,
        codec: Codec,
        cuts: u64,
        number: Option<usize>,
    ) {
        let to = self.unpacked_bytes..self.unpacked_bytes + len;
        self.unpacked_bytes = after(to.end);
        // The stored bytes of an empty page do not matter.
        let from = if to.is_empty() { 0..0 } else { self.put(packed) };
        let aside = self.aside_bytes;
        self.aside_bytes += codec.aside_bytes(to.len());
        self.tasks.push(Task { from, to, aside, cuts, page: number });
    }
}
