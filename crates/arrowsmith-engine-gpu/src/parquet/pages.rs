// SPDX-License-Identifier: Apache-2.0
//! The pages of a column chunk: found on the host, decompressed there if the device cannot, and
//! sent to it one after another.

use std::ops::Range;

use arrowsmith_parquet::{
    DataPage, Encoding, File, LevelEncoding, Levels, PackedPage, Page, Pages, Physical,
};
use parquet::basic::Compression;

use super::chunk::{Halt, Run};
use super::frame::Frame;
use super::shape::Shape;
use crate::abi::{Cut, Kernel, PageEncoding, UNPACK_SNAPPY, UNPACK_ZSTD, UnpackArgs};
use crate::device::Ptr;
use crate::device::memory::{Refused, Sent};

/// Readable bytes after every page that is decompressed, and what it begins at a multiple of.
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
    /// As it was sent.
    Sent(Sent),
    /// In the memory that the device decompresses to.
    Unpacked(Range<usize>),
}

impl Place {
    pub fn len(&self) -> usize {
        match self {
            Self::Sent(sent) => sent.len,
            Self::Unpacked(range) => range.len(),
        }
    }

    /// Its address, by that of the memory that the device decompresses to.
    pub fn at(&self, unpacked: Ptr) -> Ptr {
        match self {
            Self::Sent(sent) => sent.at,
            Self::Unpacked(range) => unpacked.offset(range.start as u64),
        }
    }
}

/// A page that the device unpacks.
pub(super) struct Task {
    /// Its compressed bytes.
    pub from: Sent,
    /// The blocks of the frame of a large page.
    pub frame: Option<Frame>,
    /// Its decompressed bytes.
    pub to: Range<usize>,
    /// Offset of the kernel's scratch memory for it.
    pub aside: usize,
    /// The levels that it begins with: `Cut`s.
    pub cuts: u64,
    /// Number of the data page; `None` for the dictionary.
    pub page: Option<usize>,
}

/// The pages of a chunk, as the host knows them.
#[derive(Default)]
pub(super) struct Host {
    /// Bytes that were sent: dictionary, levels and values.
    pub sent_bytes: usize,
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
    pub def: Option<Sent>,
    pub rep: Option<Sent>,
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

    /// Reads the pages that have these rows, all pages of a column of lists, and sends them to the
    /// device.
    ///
    /// # Errors
    /// [`Halt`]. What is malformed is [`Halt::Unsure`]: another engine reports it.
    pub fn read(
        run: &mut Run<'_>,
        file: &File,
        row_group: usize,
        shape: &Shape,
        rows: &Range<usize>,
        verify_checksums: bool,
    ) -> Result<Self, Halt> {
        let unsure = |_| Halt::Unsure;
        let codec = Codec::of(file.chunk(row_group, shape.leaf).map_err(unsure)?.compression());
        let mut host = Self { codec, ..Self::default() };
        let pages = Pages::new(file, row_group, shape.leaf).map_err(unsure)?;
        let mut pages = pages.verify_checksums(verify_checksums);
        let mut row = 0;
        let repeats = shape.rep_max > 0;
        while repeats || row < rows.end {
            let info = match pages.peek().map_err(unsure)? {
                Some(info) => info,
                None if repeats => break,
                None => return Err(Halt::Unsure),
            };
            if !info.dictionary && !repeats && row + info.count <= rows.start && host.entries == 0 {
                pages.skip().map_err(unsure)?;
                row += info.count;
                host.first = row;
                continue;
            }
            let bytes = host.sent_bytes.saturating_add(host.unpacked_bytes);
            let bytes = bytes.saturating_add(info.uncompressed_bytes) as u64;
            let entries = host.entries.saturating_add(info.count) as u64;
            // The kernels number entries with 31 bits.
            let is_many = !info.dictionary && entries > run.options.offset_max;
            if bytes > run.options.memory_bytes_max || is_many {
                return Err(Halt::TooLarge);
            }
            if !info.dictionary {
                row += info.count;
            }
            // The entries of a dictionary array are decoded separately, as they were sent.
            if let Some(codec) = codec.filter(|_| !(info.dictionary && shape.keys.is_some()))
                && let Some(page) =
                    pages.next_packed(|packed| codec.takes(packed)).map_err(unsure)?
            {
                host.add_packed(run, shape, &page, codec)?;
                continue;
            }
            match pages.next().map_err(unsure)? {
                None => return Err(Halt::Unsure),
                Some(Page::Dictionary(page)) => {
                    let sent = host.send(run, page.values)?;
                    host.dictionary = Some((Place::Sent(sent), page.count));
                }
                Some(Page::Data(page)) => host.add(run, shape, &page)?,
            }
        }
        if host.entries > 0 { Ok(host) } else { Err(Halt::Unsure) }
    }

    /// The dictionary as a page of values.
    pub fn entries_of_dictionary(&self) -> Option<Self> {
        let (values @ Place::Sent(_), count) = self.dictionary.clone()? else { return None };
        let encoding = PageEncoding::Plain;
        let page = HostPage { values, def: None, rep: None, count, encoding, full: true };
        Some(Self { pages: vec![page], entries: count, ..Self::default() })
    }

    fn send(&mut self, run: &mut Run<'_>, bytes: &[u8]) -> Result<Sent, Refused> {
        self.sent_bytes = self.sent_bytes.saturating_add(bytes.len());
        run.send(bytes)
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

    fn add(&mut self, run: &mut Run<'_>, shape: &Shape, page: &DataPage<'_>) -> Result<(), Halt> {
        let encoding = self.encoding(shape, page.encoding).ok_or(Halt::Unsure)?;
        let wanted = [(shape.def_max, &page.def), (shape.rep_max, &page.rep)];
        let is_runs = |levels: &Levels<'_>| levels.encoding == LevelEncoding::Rle;
        if wanted
            .iter()
            .any(|(max, levels)| u64::from(levels.max) != *max || (*max > 0 && !is_runs(levels)))
        {
            return Err(Halt::Unsure);
        }
        let full = shape.def_max == 0 || is_full(page.def.bytes, shape.def_max, page.count);
        let mut levels = [None; 2];
        for (sent, (max, levels)) in levels.iter_mut().zip(wanted) {
            if max > 0 {
                *sent = Some(self.send(run, levels.bytes)?);
            }
        }
        let [def, rep] = levels;
        let values = Place::Sent(self.send(run, page.values)?);
        self.entries += page.count;
        self.pages.push(HostPage { values, def, rep, count: page.count, encoding, full });
        Ok(())
    }

    fn add_packed(
        &mut self,
        run: &mut Run<'_>,
        shape: &Shape,
        page: &PackedPage<'_>,
        codec: Codec,
    ) -> Result<(), Halt> {
        let to = self.unpacked_bytes..self.unpacked_bytes + page.unpacked_bytes;
        if page.dictionary {
            self.dictionary = Some((Place::Unpacked(to), page.count));
            self.task(run, page.packed, page.unpacked_bytes, codec, (0, None))?;
            return Ok(());
        }
        let encoding = self.encoding(shape, page.encoding).ok_or(Halt::Unsure)?;
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
                return Err(Halt::Unsure);
            }
            let cut = |has: bool, cut: Cut| if has { cut as u64 } else { 0 };
            cuts = cut(has_rep, Cut::Reps) | cut(has_def, Cut::Levels);
        } else {
            host_page.full = !has_def || is_full(page.def, shape.def_max, page.count);
            if has_def {
                host_page.def = Some(self.send(run, page.def)?);
            }
            if has_rep {
                host_page.rep = Some(self.send(run, page.rep)?);
            }
        }
        let number = Some(self.pages.len());
        self.task(run, page.packed, page.unpacked_bytes, codec, (cuts, number))?;
        self.entries += page.count;
        self.pages.push(host_page);
        Ok(())
    }

    /// Adds a page that the device decompresses, to `len` bytes: the levels that it begins with,
    /// and its number.
    pub fn task(
        &mut self,
        run: &mut Run<'_>,
        packed: &[u8],
        len: usize,
        codec: Codec,
        (cuts, page): (u64, Option<usize>),
    ) -> Result<(), Refused> {
        let to = self.unpacked_bytes..self.unpacked_bytes + len;
        self.unpacked_bytes = after(to.end);
        // The stored bytes of an empty page do not matter.
        let packed = if to.is_empty() { &[] } else { packed };
        let is_large = len as u64 > run.options.split_bytes_min;
        let frame = (codec == Codec::Zstd && is_large).then(|| Frame::parse(packed, len)).flatten();
        let from = self.send(run, packed)?;
        let aside = self.aside_bytes;
        self.aside_bytes += codec.aside_bytes(to.len());
        self.tasks.push(Task { from, frame, to, aside, cuts, page });
        Ok(())
    }
}
