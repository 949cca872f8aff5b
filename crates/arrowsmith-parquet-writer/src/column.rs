// SPDX-License-Identifier: Apache-2.0
//! [`Encoder`]: the arrays of a column chunk → pages that are not yet compressed.
//!
//! Where pages end depends on the arrays in their order alone, never on when they come or on which
//! thread.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType;
use arrowsmith_core::{Error, Result};
use parquet::basic::Type as Physical;

use crate::bloom::Bloom;
use crate::choose::{Chosen, choose, choose_codec, encode, gains, may_have_dictionary};
use crate::compress::Compressor;
use crate::dense::{BYTES_MAX, Dense, Refused, dictionary_keys};
use crate::dictionary::Dictionary;
use crate::levels::{Levels, leaf_bytes};
use crate::number::{byte, in_page, index};
use crate::options::{Codec, Encoding, Options, PageVersion};
use crate::rle;
use crate::schema::Leaf;
use crate::statistics::Bounds;

/// What a thread reuses from one page to the next.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) compressor: Compressor,
    levels: Levels,
    values: Dense,
    indices: Vec<u32>,
}

/// The encoding of a page's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PageEncoding {
    /// A page of the dictionary's values.
    DictionaryPage,
    /// A data page of indices.
    Indices,
    /// A data page of values.
    Values(u8),
}

/// A page before compression.
#[derive(Debug)]
pub(crate) struct RawPage {
    pub(crate) encoding: PageEncoding,
    pub(crate) rows: usize,
    pub(crate) entries: usize,
    pub(crate) nulls: usize,
    /// Bytes of the repetition levels at the start of the body.
    pub(crate) rep_bytes: usize,
    /// Bytes of the definition levels, which follow.
    pub(crate) def_bytes: usize,
    pub(crate) body: Vec<u8>,
    pub(crate) bounds: Option<Bounds>,
    pub(crate) def_histogram: Vec<i64>,
    pub(crate) rep_histogram: Vec<i64>,
    /// Bytes of BYTE_ARRAY values without their lengths.
    pub(crate) text_bytes: usize,
}

/// Rows of an array that are in no page yet.
#[derive(Debug)]
struct Piece {
    /// Of no rows if all are null: a table may have thousands of columns that hardly occur.
    array: ArrayRef,
    nulls: bool,
    rows: Range<usize>,
    /// Estimated size.
    bytes: u64,
}

/// Encodes a column chunk.
pub(crate) struct Encoder {
    leaf: Arc<Leaf>,
    options: Arc<Options>,
    pending: VecDeque<Piece>,
    pending_rows: usize,
    pending_bytes: u64,
    chosen: Option<Chosen>,
    /// The codec of all pages, once there is one: pages of nulls do not choose one.
    codec: Option<Codec>,
    /// The dictionary that new values are added to.
    dictionary: Option<Dictionary>,
    /// One that has been given up, kept for its page.
    retired: Option<Dictionary>,
    /// Values of the last dictionary array, and the index of each in the dictionary.
    translated: Option<(ArrayRef, Vec<u32>)>,
    /// Bytes of the values so far, as PLAIN and as indices.
    plain_bytes: usize,
    index_bytes: usize,
    /// Size of the last page before compression.
    body_bytes: usize,
    /// Whether a page of indices has been written.
    used: bool,
    bloom: Option<Bloom>,
    pages: u32,
}

/// What a page is made of, apart from what is in [`Tools`].
struct Gathered {
    rows: usize,
    /// Whether the values are in the indices already.
    keyed: bool,
}

/// No index yet.
const NONE: u32 = u32::MAX;
/// Pages after which a dictionary is checked.
const CHECK_PAGES: u32 = 4;

impl Encoder {
    pub(crate) fn new(leaf: Arc<Leaf>, options: Arc<Options>) -> Self {
        let dictionary = may_have_dictionary(&leaf, &options).then(|| Dictionary::new(&leaf));
        Self {
            leaf,
            options,
            pending: VecDeque::new(),
            pending_rows: 0,
            pending_bytes: 0,
            chosen: None,
            codec: None,
            dictionary,
            retired: None,
            translated: None,
            plain_bytes: 0,
            index_bytes: 0,
            body_bytes: 0,
            used: false,
            bloom: None,
            pages: 0,
        }
    }

    /// The codec of the chunk.
    pub(crate) fn codec(&self) -> Codec {
        self.codec.unwrap_or(self.options.codec.base())
    }

    /// Takes the next rows; calls `page` with each page that is full.
    pub(crate) fn push(
        &mut self,
        array: ArrayRef,
        rows: Range<usize>,
        tools: &mut Tools,
        page: &mut impl FnMut(RawPage, Codec, &mut Tools) -> Result<()>,
    ) -> Result<()> {
        let bytes = leaf_bytes(&self.leaf, &array, rows.clone());
        self.pending_rows += rows.len();
        self.pending_bytes += bytes;
        let nulls = self.leaf.may_be_null() && array.null_count() == array.len();
        let array = if nulls { new_empty_array(array.data_type()) } else { array };
        self.pending.push_back(Piece { array, nulls, rows, bytes });
        while self.pending_rows >= self.options.page_rows
            || (self.pending_rows > 0 && self.pending_bytes >= self.options.page_bytes as u64)
        {
            self.page(false, tools, page)?;
        }
        Ok(())
    }

    /// Encodes what is left; returns the dictionary page, if the chunk has one.
    pub(crate) fn finish(
        &mut self,
        tools: &mut Tools,
        page: &mut impl FnMut(RawPage, Codec, &mut Tools) -> Result<()>,
    ) -> Result<Option<RawPage>> {
        while self.pending_rows > 0 {
            self.page(true, tools, page)?;
        }
        let dictionary = self.retired.take().or_else(|| self.dictionary.take());
        let Some(dictionary) = dictionary.filter(|_| self.used) else {
            return Ok(None);
        };
        let body = dictionary.page();
        if let Some(bloom) = self.filter()? {
            bloom.add_plain(&body);
        }
        Ok(Some(RawPage {
            encoding: PageEncoding::DictionaryPage,
            rows: 0,
            entries: dictionary.len(),
            nulls: 0,
            rep_bytes: 0,
            def_bytes: 0,
            body,
            bounds: None,
            def_histogram: Vec::new(),
            rep_histogram: Vec::new(),
            text_bytes: 0,
        }))
    }

    /// The bloom filter of all values, once they are encoded; a column of nulls has an empty one.
    pub(crate) fn bloom(&mut self) -> Result<Option<Vec<u8>>> {
        self.filter()?;
        self.bloom.take().map_or(Ok(None), Bloom::finish)
    }

    /// The bloom filter, if the column has one.
    fn filter(&mut self) -> Result<Option<&mut Bloom>> {
        if self.leaf.bloom && self.bloom.is_none() {
            self.bloom = Some(Bloom::new(&self.leaf, &self.options)?);
        }
        Ok(self.bloom.as_mut())
    }

    /// Rows of the next page, by the estimate of their size.
    fn page_rows(&self) -> usize {
        let mut rows = self.pending_rows.min(self.options.page_rows);
        let limit = self.options.page_bytes as u64;
        if self.pending_bytes > limit {
            let share = self.pending_rows as u64 * limit / self.pending_bytes;
            rows = rows.min(usize::try_from(share).unwrap_or(rows));
        }
        rows.max(1)
    }

    fn page(
        &mut self,
        last: bool,
        tools: &mut Tools,
        emit: &mut impl FnMut(RawPage, Codec, &mut Tools) -> Result<()>,
    ) -> Result<()> {
        let gathered = self.gather(tools)?;
        let whole = last && gathered.rows == self.pending_rows && self.pages == 0;
        self.forget(gathered.rows);
        let page = self.encode(&gathered, whole, tools)?;
        self.pages += 1;
        let chosen = self.chosen.map_or(self.options.codec.base(), |chosen| chosen.codec);
        let codec = *self.codec.get_or_insert(chosen);
        emit(page, codec, tools)
    }

    /// Collects the values of as many rows as fit.
    fn gather(&mut self, tools: &mut Tools) -> Result<Gathered> {
        let mut rows = self.page_rows();
        loop {
            match self.gather_rows(rows, tools) {
                Ok(keyed) => {
                    let bytes = tools.values.plain_bytes();
                    if keyed || rows == 1 || bytes <= 2 * self.options.page_bytes {
                        return Ok(Gathered { rows, keyed });
                    }
                    rows = (rows * self.options.page_bytes / bytes).max(1);
                }
                Err(Refused::Error(error)) => return Err(error),
                Err(Refused::TooLarge) if rows > 1 => rows /= 2,
                Err(Refused::TooLarge) => {
                    let message = format!("a row of more than {BYTES_MAX} bytes");
                    return Err(Error::schema(self.leaf.path.clone(), message));
                }
            }
        }
    }

    fn gather_rows(
        &mut self,
        rows: usize,
        tools: &mut Tools,
    ) -> std::result::Result<bool, Refused> {
        tools.levels.clear();
        tools.values.clear();
        tools.indices.clear();
        let mut keyed = false;
        let mut left = rows;
        let with_dictionary = self.dictionary.is_some() && self.chosen.is_some();
        for at in 0..self.pending.len() {
            if left == 0 {
                break;
            }
            let Some(piece) = self.pending.get(at) else { break };
            let mut part = piece.rows.start..piece.rows.start + piece.rows.len().min(left);
            left -= part.len();
            let leaf = Arc::clone(&self.leaf);
            if piece.nulls {
                tools.levels.append_nulls(&leaf, part.len());
                part = 0..0;
            }
            let (array, selection) = tools.levels.append(&leaf, &piece.array, part)?;
            if with_dictionary && matches!(array.data_type(), DataType::Dictionary(..)) {
                let start = tools.indices.len();
                let values = dictionary_keys(&array, &selection, &mut tools.indices);
                if let Some(values) = values {
                    self.translate(&values, start, &mut tools.indices)?;
                    keyed = true;
                    continue;
                }
            }
            tools.values.append(&leaf, &array, &selection)?;
        }
        Ok(keyed)
    }

    /// Makes of the keys of a dictionary array, from `start` on, indices of the chunk's dictionary.
    fn translate(
        &mut self,
        values: &ArrayRef,
        start: usize,
        keys: &mut [u32],
    ) -> std::result::Result<(), Refused> {
        let same = self.translated.take().filter(|(last, _)| Arc::ptr_eq(last, values));
        let (_, mut known) = same.unwrap_or_else(|| (Arc::clone(values), vec![NONE; values.len()]));
        let mut new = Vec::new();
        for key in &keys[start..] {
            let slot = known.get_mut(index(*key));
            let slot = slot.ok_or_else(|| {
                Error::schema(self.leaf.path.clone(), "a key beyond the dictionary")
            })?;
            if *slot == NONE {
                *slot = 0;
                new.push(index(*key));
            }
        }
        if let (false, Some(dictionary)) = (new.is_empty(), &mut self.dictionary) {
            let mut dense = Dense::default();
            dense.clear();
            let selection = crate::levels::Selection::Index(new);
            dense.append(&self.leaf, values, &selection)?;
            let mut indices = Vec::new();
            dictionary.encode(&dense, &mut indices);
            if let crate::levels::Selection::Index(new) = selection {
                for (key, index) in new.into_iter().zip(indices) {
                    known[key] = index;
                }
            }
        }
        for key in &mut keys[start..] {
            *key = known[index(*key)];
        }
        self.translated = Some((Arc::clone(values), known));
        Ok(())
    }

    /// Removes rows that are in a page.
    fn forget(&mut self, mut rows: usize) {
        self.pending_rows -= rows;
        while rows > 0 {
            let Some(piece) = self.pending.front_mut() else { break };
            let part = piece.rows.len().min(rows);
            let bytes = piece.bytes * part as u64 / (piece.rows.len() as u64).max(1);
            piece.rows.start += part;
            piece.bytes -= bytes;
            self.pending_bytes -= bytes;
            rows -= part;
            if piece.rows.is_empty() {
                self.pending_bytes -= piece.bytes;
                self.pending.pop_front();
            }
        }
    }

    fn encode(&mut self, gathered: &Gathered, whole: bool, tools: &mut Tools) -> Result<RawPage> {
        let leaf = Arc::clone(&self.leaf);
        let statistics = self.options.statistics;
        let count = if gathered.keyed { tools.indices.len() } else { tools.values.count };
        let mut indexed = gathered.keyed;
        if let (false, true, Some(dictionary)) = (indexed, count > 0, &mut self.dictionary) {
            dictionary.encode(&tools.values, &mut tools.indices);
            indexed = true;
        }
        if self.chosen.is_none() && count > 0 {
            let dictionary = self.dictionary.as_ref().map(|known| (known, &*tools.indices));
            let compressor = &mut tools.compressor;
            let chosen =
                choose(&leaf, &self.options, &tools.values, dictionary, whole, compressor)?;
            if chosen.encoding != Encoding::Dictionary {
                self.dictionary = None;
                indexed = false;
            }
            self.chosen = Some(chosen);
        }
        // Bounded: by the page before. Most pages are about as long.
        let mut body = Vec::with_capacity(self.body_bytes + self.body_bytes / 8);
        let (rep_bytes, def_bytes) = self.write_levels(&tools.levels, &mut body);
        let by_bytes = leaf.physical == Physical::BYTE_ARRAY
            || leaf.physical == Physical::FIXED_LEN_BYTE_ARRAY;
        let (encoding, bounds, text_bytes);
        match (&mut self.dictionary, indexed) {
            (Some(dictionary), true) => {
                let width = rle::width(in_page(dictionary.len().saturating_sub(1)));
                body.push(byte(u64::from(width)));
                let start = body.len();
                rle::encode(&tools.indices, width, &mut body);
                self.index_bytes += body.len() - start;
                text_bytes = match leaf.physical {
                    Physical::BYTE_ARRAY if gathered.keyed => {
                        dictionary.value_bytes(&tools.indices)
                    }
                    Physical::BYTE_ARRAY => tools.values.bytes.len(),
                    _ => 0,
                };
                self.plain_bytes += match (by_bytes, leaf.width) {
                    (true, 0) => text_bytes + 4 * count,
                    (_, width) => width * count,
                };
                bounds = if !statistics {
                    None
                } else if gathered.keyed || by_bytes {
                    dictionary.bounds(&leaf, &tools.indices, self.pages)
                } else {
                    Bounds::of(&leaf, &tools.values)
                };
                encoding = PageEncoding::Indices;
                self.used = true;
                self.check_dictionary();
            }
            _ => {
                let chosen = self.chosen.map_or(Encoding::Plain, |chosen| match chosen.encoding {
                    Encoding::Dictionary => chosen.fallback,
                    other => other,
                });
                encode(chosen, &leaf, &tools.values, &mut body);
                if let Some(bloom) = self.filter()? {
                    bloom.add(&tools.values);
                }
                text_bytes = match leaf.physical {
                    Physical::BYTE_ARRAY => tools.values.bytes.len(),
                    _ => 0,
                };
                bounds = if statistics { Bounds::of(&leaf, &tools.values) } else { None };
                encoding = PageEncoding::Values(number(chosen));
            }
        }
        self.body_bytes = body.len();
        if self.codec.is_none() && count > 0 {
            let levels = rep_bytes + def_bytes;
            self.check_codec(&body, levels, &mut tools.compressor)?;
        }
        let levels = &tools.levels;
        Ok(RawPage {
            encoding,
            rows: gathered.rows,
            entries: levels.entries,
            nulls: levels.nulls,
            rep_bytes,
            def_bytes,
            body,
            bounds,
            def_histogram: histogram(&levels.def, leaf.max_def, levels),
            rep_histogram: histogram(&levels.rep, leaf.max_rep, levels),
            text_bytes,
        })
    }

    /// Compresses after all if only the values of the sample did not shrink: the levels of a first
    /// page may. Chooses the codec if it is to be chosen.
    fn check_codec(
        &mut self,
        body: &[u8],
        levels: usize,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let Some(chosen) = &mut self.chosen else { return Ok(()) };
        let with_levels = self.options.page_version == PageVersion::V1 && levels > 0;
        if self.options.codec == Codec::Auto {
            chosen.codec = choose_codec(body, compressor)?;
        } else if chosen.codec == Codec::None && self.options.codec != Codec::None && with_levels {
            let bytes = compressor.compress(self.options.codec, body)?.len();
            if gains(bytes, body.len()) {
                chosen.codec = self.options.codec;
            }
        }
        Ok(())
    }

    /// Gives a dictionary up that has become too large, or that does not pay.
    fn check_dictionary(&mut self) {
        let Some(dictionary) = &self.dictionary else { return };
        let bytes = dictionary.bytes();
        let forced = self.leaf.forced == Some(Encoding::Dictionary);
        let costs = bytes + self.index_bytes;
        let poor = !forced && self.pages + 1 >= CHECK_PAGES && costs > self.plain_bytes;
        if bytes > self.options.dictionary_bytes || poor {
            self.retired = self.dictionary.take();
        }
    }

    /// Appends repetition and definition levels; returns the bytes of each.
    fn write_levels(&self, levels: &Levels, body: &mut Vec<u8>) -> (usize, usize) {
        let leaf = &self.leaf;
        let with_length = self.options.page_version == PageVersion::V1;
        let mut write = |write: &dyn Fn(&mut Vec<u8>)| {
            let start = body.len();
            if with_length {
                body.extend_from_slice(&[0; 4]);
            }
            let levels_at = body.len();
            write(body);
            if with_length {
                let bytes = in_page(body.len() - levels_at);
                body[start..levels_at].copy_from_slice(&bytes.to_le_bytes());
            }
            body.len() - start
        };
        let (mut rep_bytes, mut def_bytes) = (0, 0);
        if leaf.max_rep > 0 {
            let width = rle::width(u32::from(leaf.max_rep));
            rep_bytes = write(&|out| rle::encode(&levels.rep, width, out));
        }
        if leaf.max_def > 0 && leaf.steps.is_empty() {
            def_bytes = write(&|out| rle::encode_bits(&levels.valid, levels.entries, out));
        } else if leaf.max_def > 0 {
            let width = rle::width(u32::from(leaf.max_def));
            def_bytes = write(&|out| rle::encode(&levels.def, width, out));
        }
        (rep_bytes, def_bytes)
    }
}

/// The format's number of an encoding of values.
fn number(encoding: Encoding) -> u8 {
    match encoding {
        Encoding::Plain | Encoding::Dictionary => 0,
        Encoding::Rle => 3,
        Encoding::DeltaBinaryPacked => 5,
        Encoding::DeltaLengthByteArray => 6,
        Encoding::DeltaByteArray => 7,
        Encoding::ByteStreamSplit => 9,
    }
}

/// Highest level that is counted by passes.
const PASSES_MAX: u16 = 7;
/// Levels of which equal ones are counted in 16 bits.
const PART: usize = 1 << 12;

/// Number of entries of each level, for definition levels those of a leaf in no list as well;
/// empty where there is only one level.
fn histogram(levels: &[u16], max: u16, page: &Levels) -> Vec<i64> {
    if max == 0 {
        return Vec::new();
    }
    // Bounded: by the depth of the schema.
    let mut counts = vec![0; usize::from(max) + 1];
    if levels.is_empty() && max == 1 {
        counts[0] = crate::number::signed(page.nulls);
        counts[1] = crate::number::signed(page.entries - page.nulls);
        return counts;
    }
    if max <= PASSES_MAX {
        // A pass for each level compares many at once.
        for (level, count) in (0..=max).zip(&mut counts) {
            for part in levels.chunks(PART) {
                let same = part.iter().map(|other| u16::from(*other == level)).sum::<u16>();
                *count += i64::from(same);
            }
        }
        return counts;
    }
    for level in levels {
        counts[usize::from(*level)] += 1;
    }
    counts
}
