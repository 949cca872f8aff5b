// SPDX-License-Identifier: Apache-2.0
//! [`Page`] and [`Chunk`]: compressed pages, and what the footer and the page index say of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrowsmith_core::{Error, Result};
use parquet::basic::{
    BrotliLevel, Compression, Encoding as Named, GzipLevel, PageType, Type as Physical, ZstdLevel,
};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnChunkMetaDataBuilder, LevelHistogram, PageEncodingStats,
};
use parquet::file::statistics::{Statistics, ValueStatistics};

use crate::column::{PageEncoding, RawPage};
use crate::compress::Compressor;
use crate::number::signed;
use crate::options::{Codec, Options, PageVersion};
use crate::schema::{Leaf, Order, failed};
use crate::statistics::{Bounds, boundary_order, truncated_max, truncated_min};
use crate::thrift::{IndexEntry, Location, PageKind, column_index, offset_index, page_header};

/// A page as it is in the file, and what indexes say of it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) header: Vec<u8>,
    pub(crate) body: Vec<u8>,
    plain_bytes: usize,
    encoding: PageEncoding,
    rows: usize,
    entries: usize,
    nulls: usize,
    bounds: Option<Bounds>,
    def_histogram: Vec<i64>,
    rep_histogram: Vec<i64>,
    text_bytes: usize,
    v2: bool,
}

impl Page {
    /// Compresses a page.
    pub(crate) fn new(
        raw: RawPage,
        codec: Codec,
        options: &Options,
        compressor: &mut Compressor,
    ) -> Result<Self> {
        let plain_bytes = raw.body.len();
        let v2 =
            options.page_version == PageVersion::V2 && raw.encoding != PageEncoding::DictionaryPage;
        let mut compressed = codec != Codec::None;
        let body = if !compressed {
            raw.body
        } else if v2 {
            let levels = raw.rep_bytes + raw.def_bytes;
            let (levels, values) = raw.body.split_at(levels);
            let packed = compressor.compress(codec, values)?;
            compressed = packed.len() < values.len();
            if compressed { [levels, packed].concat() } else { raw.body }
        } else {
            compressor.compress(codec, &raw.body)?.to_vec()
        };
        for bytes in [plain_bytes, body.len()] {
            if i32::try_from(bytes).is_err() {
                let message = format!("a page of {bytes} bytes, more than a page can have");
                return Err(Error::schema("", message));
            }
        }
        let encoding = match raw.encoding {
            PageEncoding::DictionaryPage => 0,
            PageEncoding::Indices => 8,
            PageEncoding::Values(number) => i64::from(number),
        };
        let kind = match raw.encoding {
            PageEncoding::DictionaryPage => PageKind::Dictionary { entries: raw.entries },
            _ if v2 => PageKind::V2 {
                entries: raw.entries,
                nulls: raw.nulls,
                rows: raw.rows,
                encoding,
                def_bytes: raw.def_bytes,
                rep_bytes: raw.rep_bytes,
                compressed,
            },
            _ => PageKind::V1 { entries: raw.entries, encoding },
        };
        let crc = options.crc.then(|| crc32fast::hash(&body));
        Ok(Self {
            header: page_header(kind, plain_bytes, body.len(), crc),
            body,
            plain_bytes,
            encoding: raw.encoding,
            rows: raw.rows,
            entries: raw.entries,
            nulls: raw.nulls,
            bounds: raw.bounds,
            def_histogram: raw.def_histogram,
            rep_histogram: raw.rep_histogram,
            text_bytes: raw.text_bytes,
            v2,
        })
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> usize {
        self.header.len() + self.body.len()
    }
}

/// The pages of a column chunk, a dictionary page first.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) pages: Vec<Page>,
    pub(crate) codec: Codec,
    /// The bloom filter as in the file, where there is one.
    pub(crate) bloom: Option<Vec<u8>>,
}

/// What the end of the file says of a chunk, wherever it is.
#[derive(Debug)]
pub(crate) struct Described {
    /// Offsets are from the start of the chunk.
    metadata: ColumnChunkMetaData,
    /// Empty if there is none.
    pub(crate) column_index: Vec<u8>,
    /// Offsets are from the start of the chunk.
    pages: Vec<Location>,
    pub(crate) bytes: u64,
    /// Number of distinct values, or more.
    pub(crate) distinct_max: usize,
}

impl Described {
    /// Size before compression, in bytes.
    pub(crate) fn plain_bytes(&self) -> i64 {
        self.metadata.uncompressed_size()
    }

    /// The metadata of the chunk at an offset of the file.
    pub(crate) fn metadata_at(&self, start: u64) -> ColumnChunkMetaDataBuilder {
        let start = start.cast_signed();
        let (data, dictionary) =
            (self.metadata.data_page_offset(), self.metadata.dictionary_page_offset());
        let metadata = self.metadata.clone().into_builder();
        metadata
            .set_data_page_offset(start + data)
            .set_dictionary_page_offset(dictionary.map(|offset| start + offset))
    }

    /// The offset index of the chunk at an offset of the file.
    pub(crate) fn offset_index_at(&self, start: u64) -> Vec<u8> {
        offset_index(&self.pages, start)
    }
}

impl Chunk {
    /// Describes the chunk.
    pub(crate) fn describe(&self, leaf: &Leaf, options: &Options) -> Result<Described> {
        let is_data = |page: &&Page| page.encoding != PageEncoding::DictionaryPage;
        let mut offset = 0;
        let mut dictionary_at = None;
        let mut first_row = 0;
        let mut locations = Vec::new();
        for page in &self.pages {
            if is_data(&page) {
                locations.push(Location {
                    offset,
                    bytes: page.bytes(),
                    first_row,
                    text_bytes: (leaf.physical == Physical::BYTE_ARRAY).then_some(page.text_bytes),
                });
                first_row += page.rows;
            } else {
                dictionary_at = Some(offset.cast_signed());
            }
            offset += page.bytes() as u64;
        }
        let data: Vec<&Page> = self.pages.iter().filter(is_data).collect();
        let data_at = locations.first().map_or(0, |page| page.offset);
        let plain = self.pages.iter().map(|page| page.header.len() + page.plain_bytes).sum();
        let sum = |field: fn(&Page) -> usize| signed(data.iter().map(|page| field(page)).sum());
        let texts = leaf.physical == Physical::BYTE_ARRAY;
        let metadata = ColumnChunkMetaData::builder(Arc::clone(&leaf.descr))
            .set_compression(compression(self.codec)?)
            .set_encodings(self.encodings(leaf))
            .set_page_encoding_stats(self.encoding_statistics())
            .set_num_values(sum(|page| page.entries))
            .set_total_compressed_size(offset.cast_signed())
            .set_total_uncompressed_size(signed(plain))
            .set_dictionary_page_offset(dictionary_at)
            .set_data_page_offset(data_at.cast_signed())
            .set_unencoded_byte_array_data_bytes(texts.then(|| sum(|page| page.text_bytes)))
            .set_definition_level_histogram(total(data.iter().map(|page| &page.def_histogram)))
            .set_repetition_level_histogram(total(data.iter().map(|page| &page.rep_histogram)));
        let metadata = if options.statistics {
            metadata.set_statistics(statistics(leaf, options, &data))
        } else {
            metadata
        };
        Ok(Described {
            metadata: metadata.build().map_err(failed)?,
            column_index: index(leaf, options, &data),
            pages: locations,
            bytes: offset,
            distinct_max: self.distinct_max(),
        })
    }

    fn distinct_max(&self) -> usize {
        let values = |page: &Page| match page.encoding {
            PageEncoding::DictionaryPage => page.entries,
            // Each is in the dictionary.
            PageEncoding::Indices => 0,
            PageEncoding::Values(_) => page.entries - page.nulls,
        };
        self.pages.iter().map(values).sum()
    }

    fn encodings(&self, leaf: &Leaf) -> Vec<Named> {
        let mut found: Vec<Named> = Vec::new();
        if leaf.max_def > 0 || leaf.max_rep > 0 {
            found.push(Named::RLE);
        }
        for page in &self.pages {
            found.push(named(page.encoding));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn encoding_statistics(&self) -> Vec<PageEncodingStats> {
        let mut counts = BTreeMap::new();
        for page in &self.pages {
            *counts.entry(page.encoding).or_insert(0_i32) += 1;
        }
        let v2 = self.pages.iter().any(|page| page.v2);
        let data = if v2 { PageType::DATA_PAGE_V2 } else { PageType::DATA_PAGE };
        counts
            .into_iter()
            .map(|(encoding, count)| PageEncodingStats {
                page_type: match encoding {
                    PageEncoding::DictionaryPage => PageType::DICTIONARY_PAGE,
                    _ => data,
                },
                encoding: named(encoding),
                count,
            })
            .collect()
    }
}

/// The sum of histograms; `None` where there are none.
fn total<'a>(histograms: impl Iterator<Item = &'a Vec<i64>>) -> Option<LevelHistogram> {
    let mut total: Vec<i64> = Vec::new();
    for histogram in histograms {
        // Bounded: by the depth of the schema.
        total.resize(histogram.len(), 0);
        total.iter_mut().zip(histogram).for_each(|(sum, count)| *sum += count);
    }
    (!total.is_empty()).then(|| LevelHistogram::from(total))
}

fn named(encoding: PageEncoding) -> Named {
    match encoding {
        PageEncoding::Indices => Named::RLE_DICTIONARY,
        PageEncoding::Values(3) => Named::RLE,
        PageEncoding::Values(5) => Named::DELTA_BINARY_PACKED,
        PageEncoding::Values(6) => Named::DELTA_LENGTH_BYTE_ARRAY,
        PageEncoding::Values(7) => Named::DELTA_BYTE_ARRAY,
        PageEncoding::Values(9) => Named::BYTE_STREAM_SPLIT,
        PageEncoding::DictionaryPage | PageEncoding::Values(_) => Named::PLAIN,
    }
}

fn compression(codec: Codec) -> Result<Compression> {
    Ok(match codec {
        Codec::Auto | Codec::None => Compression::UNCOMPRESSED,
        Codec::Snappy => Compression::SNAPPY,
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).map_err(failed)?),
        Codec::Gzip(level) => Compression::GZIP(GzipLevel::try_new(level).map_err(failed)?),
        Codec::Brotli(level) => Compression::BROTLI(BrotliLevel::try_new(level).map_err(failed)?),
    })
}

/// The bounds of a chunk: those of all pages that have values; `None` if there are none.
fn merged(leaf: &Leaf, pages: &[&Page]) -> Option<Bounds> {
    let mut found: Option<Bounds> = None;
    for bounds in pages.iter().filter_map(|page| page.bounds.as_ref()) {
        match &mut found {
            Some(found) => found.merge(leaf, bounds),
            None => found = Some(bounds.clone()),
        }
    }
    found
}

/// The statistics of a chunk.
fn statistics(leaf: &Leaf, options: &Options, pages: &[&Page]) -> Statistics {
    let nulls = Some(pages.iter().map(|page| page.nulls as u64).sum());
    let bounds = merged(leaf, pages);
    let both = |convert: fn(&[u8]) -> [u8; 8]| match &bounds {
        Some(bounds) => (Some(convert(&bounds.min)), Some(convert(&bounds.max))),
        None => (None, None),
    };
    // Readers from before 2018 know only the fields for values with a sign.
    let old = matches!(leaf.order, Order::Signed | Order::Float);
    let (min, max) = both(eight);
    let four = |bytes: [u8; 8]| [bytes[0], bytes[1], bytes[2], bytes[3]];
    macro_rules! of {
        ($convert:expr) => {{
            let convert = $convert;
            ValueStatistics::new(min.map(convert), max.map(convert), None, nulls, false)
                .with_backwards_compatible_min_max(old)
        }};
    }
    match leaf.physical {
        Physical::BOOLEAN => Statistics::Boolean(of!(|bytes: [u8; 8]| bytes[0] != 0)),
        Physical::INT32 => Statistics::Int32(of!(|bytes| i32::from_le_bytes(four(bytes)))),
        Physical::INT64 => Statistics::Int64(of!(i64::from_le_bytes)),
        Physical::FLOAT => Statistics::Float(of!(|bytes| f32::from_le_bytes(four(bytes)))),
        Physical::DOUBLE => Statistics::Double(of!(f64::from_le_bytes)),
        _ => {
            let most = options.statistics_bytes;
            let truncated = bounds.as_ref().map(|bounds| {
                let (min, min_exact) = truncated_min(leaf.order, &bounds.min, most);
                (min.to_vec(), min_exact, truncated_max(leaf.order, &bounds.max, most))
            });
            let (min, max, exact) = match truncated {
                Some((min, min_exact, (max, max_exact))) => {
                    (Some(min), Some(max), (min_exact, max_exact))
                }
                None => (None, None, (false, false)),
            };
            let (min, max) = (min.map(ByteArray::from), max.map(ByteArray::from));
            if leaf.physical == Physical::BYTE_ARRAY {
                Statistics::ByteArray(
                    ValueStatistics::new(min, max, None, nulls, false)
                        .with_min_is_exact(exact.0)
                        .with_max_is_exact(exact.1),
                )
            } else {
                let (min, max) =
                    (min.map(FixedLenByteArray::from), max.map(FixedLenByteArray::from));
                Statistics::FixedLenByteArray(
                    ValueStatistics::new(min, max, None, nulls, false)
                        .with_min_is_exact(exact.0)
                        .with_max_is_exact(exact.1),
                )
            }
        }
    }
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    let mut eight = [0; 8];
    for (to, from) in eight.iter_mut().zip(bytes) {
        *to = *from;
    }
    eight
}

/// The column index; empty if a page with values has no bounds.
fn index(leaf: &Leaf, options: &Options, pages: &[&Page]) -> Vec<u8> {
    let most = options.statistics_bytes;
    let mut truncated = Vec::with_capacity(pages.len());
    for page in pages {
        truncated.push(match &page.bounds {
            Some(bounds) => {
                let (min, _) = truncated_min(leaf.order, &bounds.min, most);
                Some((min.to_vec(), truncated_max(leaf.order, &bounds.max, most).0))
            }
            None if page.entries == page.nulls => None,
            None => return Vec::new(),
        });
    }
    let entries: Vec<IndexEntry<'_>> = pages
        .iter()
        .zip(&truncated)
        .map(|(page, bounds)| IndexEntry {
            bounds: bounds.as_ref().map(|(min, max)| (min.as_slice(), max.as_slice())),
            nulls: page.nulls,
            def_histogram: &page.def_histogram,
            rep_histogram: &page.rep_histogram,
        })
        .collect();
    let order = boundary_order(leaf, entries.iter().filter_map(|entry| entry.bounds));
    column_index(&entries, order)
}
