// SPDX-License-Identifier: Apache-2.0
//! One column chunk: its pages to the device, through the kernels, and an array back.

use std::ops::Range;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::ArrayData;
use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, Encoding, File, LevelEncoding, Page, Pages, Physical};

use super::shape::{Form, Shape};
use crate::device::memory::{Arena, Refused};
use crate::device::{Ptr, Stream};

/// Bytes behind every page that may be read.
const SPARE: usize = 16;

/// Words of a page in `PageDesc`.
const DESC_WORDS: usize = 9;

/// Entries of a chunk, at most: what 31 bits number.
const ENTRIES_MAX: usize = (1 << 31) - 1;

/// The pages of a chunk, on the host.
pub(super) struct Host {
    /// Dictionary, levels and values, one behind the other.
    bytes: Vec<u8>,
    dictionary: Option<(usize, usize, usize)>,
    pages: Vec<HostPage>,
    /// The first row of the first page.
    first: usize,
    entries: usize,
}

struct HostPage {
    values: Range<usize>,
    levels: Option<Range<usize>>,
    count: usize,
    encoding: u64,
}

/// The rows of some pages.
pub(super) struct Decoded {
    pub array: ArrayRef,
    /// The first of them, in the row group.
    pub first: usize,
}

impl Host {
    /// Reads and decompresses the pages that hold these rows; none if the kernels do not hold one of them.
    pub fn read(
        file: &File,
        row_group: usize,
        shape: &Shape,
        rows: Range<usize>,
        verify_checksums: bool,
    ) -> Result<Option<Self>> {
        let mut host =
            Self { bytes: Vec::new(), dictionary: None, pages: Vec::new(), first: 0, entries: 0 };
        let mut pages = Pages::new(file, row_group, shape.leaf)?.verify_checksums(verify_checksums);
        let mut row = 0;
        while row < rows.end {
            let Some(info) = pages.peek()? else { return Ok(None) };
            if !info.dictionary
                && let Some(page_rows) = info.rows
                && row + page_rows <= rows.start
                && host.entries == 0
            {
                pages.skip()?;
                row += page_rows;
                host.first = row;
                continue;
            }
            match pages.next()? {
                None => return Ok(None),
                Some(Page::Dictionary(page)) => {
                    let at = host.put(page.values);
                    host.dictionary = Some((at.start, at.len(), page.count));
                }
                Some(Page::Data(page)) => {
                    row += page.count;
                    if !host.add(shape, &page) {
                        return Ok(None);
                    }
                }
            }
        }
        Ok((host.entries > 0 && host.entries <= ENTRIES_MAX).then_some(host))
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
        if page.def.max > 0 && page.def.encoding != LevelEncoding::Rle {
            return false;
        }
        if encoding == 1 && self.dictionary.is_none() {
            return false;
        }
        let levels = (page.def.max > 0).then(|| self.put(page.def.bytes));
        let values = self.put(page.values);
        self.entries += page.count;
        self.pages.push(HostPage { values, levels, count: page.count, encoding });
        true
    }
}

/// One chunk on its way.
struct Run<'r> {
    stream: &'r mut dyn Stream,
    arena: &'r mut Arena,
}

impl Run<'_> {
    fn take(&mut self, bytes: usize) -> Result<Ptr, Refused> {
        let at = self.arena.take(bytes as u64)?;
        self.arena.fence(self.stream, at, bytes as u64).map_err(Refused::Device)?;
        Ok(at)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<Ptr, Refused> {
        let at = self.take(bytes.len())?;
        self.stream.copy_in(at, bytes).map_err(Refused::Device)?;
        Ok(at)
    }

    fn zeros(&mut self, bytes: usize) -> Result<Ptr, Refused> {
        let at = self.take(bytes)?;
        self.stream.fill(at, 0, bytes as u64).map_err(Refused::Device)?;
        Ok(at)
    }

    fn launch(&mut self, kernel: &'static str, grid: u64, args: &[u64]) -> Result<(), Refused> {
        self.stream.launch(kernel, grid, args).map_err(Refused::Device)
    }

    fn fetch(&mut self, parts: &[(Ptr, usize)]) -> Result<Vec<MutableBuffer>, Refused> {
        let parts: Vec<_> = parts.iter().map(|(at, bytes)| (*at, *bytes as u64)).collect();
        self.stream.fetch(&parts).map_err(Refused::Device)
    }

    /// Sums an array of numbers in place, with the sum of all behind it.
    fn scan(&mut self, values: Ptr, count: usize) -> Result<(), Refused> {
        let per_slot = self.stream.blocks(count as u64);
        let sums = self.take((usize::try_from(per_slot).unwrap_or(usize::MAX) + 1) * 8)?;
        let args = [values.0, count as u64, per_slot, sums.0, values.0 + count as u64 * 8];
        self.launch("slots_sum", per_slot, &args)?;
        self.launch("slots_join", 1, &args)?;
        self.launch("slots_spread", per_slot, &args)
    }
}

/// Decodes the pages of a chunk; none where the device is not sure, or has no room.
pub(super) fn decode(
    stream: &mut dyn Stream,
    arena: &mut Arena,
    shape: &Shape,
    host: &Host,
) -> Result<Option<Decoded>> {
    let mut run = Run { stream, arena };
    match column(&mut run, shape, host) {
        Ok(array) => Ok(array.map(|array| Decoded { array, first: host.first })),
        Err(Refused::Bound) => Ok(None),
        Err(Refused::Device(error)) => Err(error),
    }
}

fn number(bytes: &[u8], index: usize) -> u64 {
    let word = bytes.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(word.unwrap_or_default())
}

/// The dictionary on the device: its bytes, or where its texts are, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Dictionary {
    bytes: Ptr,
    words: Ptr,
    lens: Ptr,
    count: usize,
}

fn column(run: &mut Run<'_>, shape: &Shape, host: &Host) -> Result<Option<ArrayRef>, Refused> {
    let text = run.put(&host.bytes)?;
    let bad = run.zeros(4)?;
    let mut desc: Vec<u64> = Vec::with_capacity(host.pages.len() * DESC_WORDS);
    let mut first = 0;
    for page in &host.pages {
        let levels = page.levels.as_ref();
        desc.extend([
            text.0 + page.values.start as u64,
            page.values.len() as u64,
            levels.map_or(0, |levels| text.0 + levels.start as u64),
            levels.map_or(0, |levels| levels.len() as u64),
            page.count as u64,
            first,
            page.encoding,
            0,
            0,
        ]);
        first += page.count as u64;
    }
    let desc: Vec<u8> = desc.iter().flat_map(|word| word.to_le_bytes()).collect();
    let pages = run.put(&desc)?;
    let page_count = host.pages.len() as u64;
    let entries = host.entries;
    let valid = run.take(entries)?;
    let before = run.take((entries + 1) * 8)?;
    let args = [pages.0, page_count, valid.0, before.0, entries as u64, bad.0];
    run.launch("page_levels", page_count, &args)?;
    run.scan(before, entries)?;
    run.launch("page_firsts", run.stream.blocks(page_count), &args)?;
    let total = run.fetch(&[(before.offset(entries as u64 * 8), 8)])?;
    let values = usize::try_from(number(&total[0], 0)).unwrap_or(usize::MAX);
    if values > entries {
        return Ok(None);
    }
    let is_text = matches!(shape.form, Form::Bytes { .. });
    let words = run.take(values * 8)?;
    let lens = run.take(if is_text { values * 8 } else { 0 })?;
    let totals = run.zeros(host.pages.len() * 8)?;
    let Some(dictionary) = dictionary(run, shape, host, text, bad)? else { return Ok(None) };
    let mut args =
        [pages.0, page_count, words.0, lens.0, dictionary.count as u64, totals.0, 0, bad.0];
    run.launch("page_values", page_count, &args)?;
    if is_text {
        run.launch("page_strings", run.stream.blocks(page_count), &args)?;
        if host.pages.iter().any(|page| page.encoding == 5) {
            let parts = [(totals, host.pages.len() * 8), (bad, 4)];
            let fetched = run.fetch(&parts)?;
            if fetched[1].iter().any(|byte| *byte != 0) {
                return Ok(None);
            }
            let mut starts = Vec::with_capacity(host.pages.len() * 8);
            let mut sum = 0_u64;
            for page in 0..host.pages.len() {
                starts.extend(sum.to_le_bytes());
                sum = sum.saturating_add(number(&fetched[0], page));
            }
            args[6] = run.take(usize::try_from(sum).unwrap_or(usize::MAX))?.0;
            run.stream.copy_in(totals, &starts).map_err(Refused::Device)?;
            run.launch("page_joins", page_count, &args)?;
        }
    }
    gather(run, shape, host, &Parts { pages, valid, before, words, lens, dictionary, bad })
}

/// Makes the dictionary ready; none for one that is not sound.
fn dictionary(
    run: &mut Run<'_>,
    shape: &Shape,
    host: &Host,
    text: Ptr,
    bad: Ptr,
) -> Result<Option<Dictionary>, Refused> {
    let Some((at, len, count)) = host.dictionary else { return Ok(Some(Dictionary::default())) };
    let bytes = text.offset(at as u64);
    let least = match shape.form {
        Form::Bits => return Ok(None),
        Form::Fixed { stored, .. } => usize::try_from(stored).unwrap_or(usize::MAX),
        Form::Bytes { .. } => 4,
    };
    if count.saturating_mul(least) > len {
        return Ok(None);
    }
    let mut dictionary = Dictionary { bytes, count, ..Dictionary::default() };
    if matches!(shape.form, Form::Bytes { .. }) {
        dictionary.words = run.take(count * 8)?;
        dictionary.lens = run.take(count * 8)?;
        let desc = [bytes.0, len as u64, 0, 0, count as u64, 0, 0, 0, count as u64];
        let desc: Vec<u8> = desc.iter().flat_map(|word| word.to_le_bytes()).collect();
        let page = run.put(&desc)?;
        let args = [page.0, 1, dictionary.words.0, dictionary.lens.0, 0, 0, 0, bad.0];
        run.launch("page_strings", 1, &args)?;
    }
    Ok(Some(dictionary))
}

/// What the pages became on the device.
struct Parts {
    pages: Ptr,
    valid: Ptr,
    before: Ptr,
    words: Ptr,
    lens: Ptr,
    dictionary: Dictionary,
    bad: Ptr,
}

fn gather(
    run: &mut Run<'_>,
    shape: &Shape,
    host: &Host,
    parts: &Parts,
) -> Result<Option<ArrayRef>, Refused> {
    let entries = host.entries;
    // Words of what is not sound are followed nowhere.
    let sound = run.fetch(&[(parts.bad, 4)])?;
    if sound[0].iter().any(|byte| *byte != 0) {
        return Ok(None);
    }
    let (stored, width, turn, factor) = match shape.form {
        Form::Bits => (0, 1, 0, 1),
        Form::Fixed { stored, width, turn, factor } => (stored, width, turn as u64, factor),
        Form::Bytes { .. } => (0, 0, 0, 1),
    };
    let mut args = [
        parts.pages.0,
        host.pages.len() as u64,
        entries as u64,
        parts.valid.0,
        parts.before.0,
        parts.words.0,
        parts.lens.0,
        parts.dictionary.bytes.0,
        parts.dictionary.words.0,
        parts.dictionary.lens.0,
        stored,
        width,
        turn,
        factor.cast_unsigned(),
        0,
        0,
        0,
        0,
        parts.bad.0,
    ];
    let rows = run.stream.blocks(entries as u64);
    let nulls = run.zeros(8)?;
    let bit_bytes = entries.div_ceil(32) * 4;
    let bits = run.take(bit_bytes)?;
    run.launch("pack_valid", rows, &[parts.valid.0, entries as u64, bits.0, nulls.0])?;
    let mut wanted = vec![(parts.bad, 4), (nulls, 4), (bits, bit_bytes)];
    match shape.form {
        Form::Bits | Form::Fixed { .. } => {
            let bytes = entries.saturating_mul(usize::try_from(width).unwrap_or(usize::MAX));
            let out = run.take(bytes)?;
            args[14] = out.0;
            run.launch("gather_fixed", rows, &args)?;
            if shape.form == Form::Bits {
                let packed = run.take(bit_bytes)?;
                let ones = nulls.offset(4);
                run.launch("pack_valid", rows, &[out.0, entries as u64, packed.0, ones.0])?;
                wanted.push((packed, bit_bytes));
            } else {
                wanted.push((out, bytes));
            }
        }
        Form::Bytes { large, utf8 } => {
            let offsets = run.take((entries + 1) * 8)?;
            args[15] = offsets.0;
            args[17] = u64::from(utf8);
            run.launch("gather_lens", rows, &args)?;
            run.scan(offsets, entries)?;
            let total = run.fetch(&[(offsets.offset(entries as u64 * 8), 8)])?;
            let total = usize::try_from(number(&total[0], 0)).unwrap_or(usize::MAX);
            if !large && i32::try_from(total).is_err() {
                return Ok(None);
            }
            let out = run.take(total)?;
            args[14] = out.0;
            if large {
                wanted.push((offsets, (entries + 1) * 8));
            } else {
                let narrow = run.take((entries + 1) * 4)?;
                args[16] = narrow.0;
                wanted.push((narrow, (entries + 1) * 4));
            }
            run.launch("gather_text", rows, &args)?;
            wanted.push((out, total));
        }
    }
    let mut fetched = run.fetch(&wanted)?.into_iter();
    let mut next = || fetched.next().unwrap_or_default();
    if next().iter().any(|byte| *byte != 0) {
        return Ok(None);
    }
    let has_nulls = next().iter().any(|byte| *byte != 0);
    let bits = next();
    let mut data = ArrayData::builder(shape.data_type.clone()).len(entries);
    if has_nulls && shape.nullable {
        data = data.null_bit_buffer(Some(Buffer::from(bits)));
    } else if has_nulls {
        return Ok(None);
    }
    for part in fetched {
        data = data.add_buffer(Buffer::from(part));
    }
    // Held to Arrow's rules: what is not sound is not handed on.
    Ok(data.build().ok().map(make_array))
}
