// SPDX-License-Identifier: Apache-2.0
//! Chooses the encoding of a column chunk, and whether it is compressed, by its first page.
//!
//! Every encoding that the type has is tried on a sample of the page, compressed as the page would
//! be, and the smallest is taken; ones that cost readers more have to be smaller by some percent. A
//! dictionary is judged by what it would be after some pages more: the number of distinct values is
//! extrapolated from that of the first page.

use arrowsmith_core::Result;
use parquet::basic::Type as Physical;

use crate::compress::Compressor;
use crate::dense::Dense;
use crate::dictionary::Dictionary;
use crate::encoding as enc;
use crate::number::{bits, in_page, index};
use crate::options::{Choice, Codec, Encoding, Options};
use crate::rle;
use crate::schema::Leaf;

/// Values of a sample.
const SAMPLE_VALUES: usize = 4_096;
/// Bytes of a sample, where values are long; of a single value all is taken.
const SAMPLE_BYTES: usize = 128 << 10;
/// Pages after which a dictionary has to have paid, if the first one is not the last.
const PAGES: f64 = 8.0;
/// The share by which data have to shrink for compression to be worth it; of pages, see [`gains`].
const GAIN_MIN: f64 = 0.02;
/// What a byte before compression costs, in bytes after it: it has to be compressed, and again
/// decompressed by each reader.
const RAW_COST: f64 = 0.03;

/// The codecs of [`Codec::Auto`], and what decompressing a byte costs with each, in hundredths of a
/// byte that is stored (docs/design/0017).
const AUTO: [(Codec, u64); 2] = [(Codec::Lz4, 3), (Codec::Zstd(1), 10)];

/// What has been chosen for a column chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) encoding: Encoding,
    /// What continues a dictionary that is given up.
    pub(crate) fallback: Encoding,
    pub(crate) codec: Codec,
}

/// An encoding and the bytes of a value in it.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    encoding: Encoding,
    raw: f64,
    compressed: f64,
}

impl Candidate {
    /// Bytes of a value, with what makes an encoding worse for readers.
    fn score(&self) -> f64 {
        let handicap = match self.encoding {
            Encoding::Dictionary => 0.97,
            Encoding::Plain | Encoding::Rle => 1.0,
            Encoding::DeltaLengthByteArray => 1.01,
            Encoding::DeltaBinaryPacked | Encoding::ByteStreamSplit => 1.05,
            Encoding::DeltaByteArray => 1.10,
        };
        (self.compressed + RAW_COST * self.raw) * handicap
    }
}

/// Whether a column chunk starts with a dictionary, until its first page is known.
pub(crate) fn may_have_dictionary(leaf: &Leaf, options: &Options) -> bool {
    leaf.physical != Physical::BOOLEAN
        && options.dictionary_bytes > 0
        && match leaf.forced {
            Some(forced) => forced == Encoding::Dictionary,
            None => options.choice != Choice::Plain,
        }
}

/// Whether compression is worth it for a page.
pub(crate) fn gains(compressed: usize, raw: usize) -> bool {
    compressed + raw / 50 < raw
}

/// Chooses the codec of [`Codec::Auto`] by the first bytes of a page.
pub(crate) fn choose_codec(page: &[u8], compressor: &mut Compressor) -> Result<Codec> {
    let part = &page[..page.len().min(SAMPLE_BYTES)];
    let mut best = (part.len() as u64 * 100, Codec::None);
    for (codec, cost) in AUTO {
        let bytes = compressor.compress(codec, part)?.len();
        let cost = 100 * bytes as u64 + cost * part.len() as u64;
        if cost < best.0 {
            best = (cost, codec);
        }
    }
    Ok(best.1)
}

/// Chooses by the values of the first page that has some; `indices` are those of a new dictionary.
/// `whole` says that there are no more pages.
pub(crate) fn choose(
    leaf: &Leaf,
    options: &Options,
    values: &Dense,
    dictionary: Option<(&Dictionary, &[u32])>,
    whole: bool,
    compressor: &mut Compressor,
) -> Result<Chosen> {
    let sample = sample(leaf, values);
    let mut measure = Measure { compressor, codec: options.codec.base(), page: Vec::new() };
    let mut best: Option<Candidate> = None;
    let mut fallback: Option<Candidate> = None;
    for encoding in candidates(leaf, options) {
        let Some(candidate) = (match (encoding, dictionary) {
            (Encoding::Dictionary, Some((dictionary, indices))) => {
                let forced = leaf.forced.is_some();
                measure.dictionary(dictionary, indices, options, whole, forced)?
            }
            (Encoding::Dictionary, None) => None,
            _ => Some(measure.values(encoding, leaf, &sample)?),
        }) else {
            continue;
        };
        let better = |other: &Option<Candidate>| {
            other.as_ref().is_none_or(|other| candidate.score() < other.score())
        };
        if encoding != Encoding::Dictionary && better(&fallback) {
            fallback = Some(candidate);
        }
        if better(&best) {
            best = Some(candidate);
        }
    }
    let plain = Candidate { encoding: Encoding::Plain, raw: 1.0, compressed: 0.0 };
    let best = best.unwrap_or(plain);
    let shrinks = best.compressed < best.raw * (1.0 - GAIN_MIN);
    Ok(Chosen {
        encoding: best.encoding,
        fallback: fallback.map_or(Encoding::Plain, |candidate| candidate.encoding),
        codec: if shrinks || !options.skip_incompressible {
            options.codec.base()
        } else {
            Codec::None
        },
    })
}

/// The encodings that are tried.
fn candidates(leaf: &Leaf, options: &Options) -> Vec<Encoding> {
    use Encoding as E;
    match (leaf.forced, options.choice, leaf.physical) {
        (Some(E::Dictionary), ..) => vec![E::Dictionary],
        (Some(forced), ..) => vec![forced],
        (_, Choice::Plain, _) | (_, Choice::Compatible, Physical::BOOLEAN) => vec![E::Plain],
        (_, Choice::Compatible, _) => vec![E::Dictionary, E::Plain],
        (_, Choice::Smallest, Physical::BOOLEAN) => vec![E::Plain, E::Rle],
        (_, Choice::Smallest, Physical::INT32 | Physical::INT64) => {
            vec![E::Dictionary, E::Plain, E::DeltaBinaryPacked]
        }
        (_, Choice::Smallest, Physical::FLOAT | Physical::DOUBLE) => {
            vec![E::Dictionary, E::Plain, E::ByteStreamSplit]
        }
        (_, Choice::Smallest, Physical::BYTE_ARRAY) if leaf.is_dictionary => {
            vec![E::Dictionary, E::Plain]
        }
        (_, Choice::Smallest, Physical::BYTE_ARRAY) => {
            vec![E::Dictionary, E::Plain, E::DeltaLengthByteArray, E::DeltaByteArray]
        }
        (_, Choice::Smallest, _) => vec![E::Dictionary, E::Plain],
    }
}

/// The first values of a page.
fn sample(leaf: &Leaf, values: &Dense) -> Dense {
    let mut count = values.count.min(SAMPLE_VALUES);
    if leaf.width == 0 {
        let bytes = in_page(SAMPLE_BYTES);
        count = count.min(values.offsets.partition_point(|end| *end <= bytes).max(1));
    }
    let ends = &values.offsets[..values.offsets.len().min(count + 1)];
    let bytes = match leaf.width {
        0 => ends.last().map_or(0, |end| index(*end)),
        width => (count * width).min(values.bytes.len()),
    };
    Dense {
        count,
        bools: values.bools[..values.bools.len().min(count)].to_vec(),
        words: values.words[..values.words.len().min(count)].to_vec(),
        longs: values.longs[..values.longs.len().min(count)].to_vec(),
        bytes: values.bytes[..bytes].to_vec(),
        offsets: ends.to_vec(),
    }
}

struct Measure<'a> {
    compressor: &'a mut Compressor,
    codec: Codec,
    page: Vec<u8>,
}

#[expect(clippy::cast_precision_loss, reason = "sizes of samples are far below 2^52")]
impl Measure<'_> {
    fn compressed(&mut self) -> Result<f64> {
        if self.codec == Codec::None {
            return Ok(self.page.len() as f64);
        }
        Ok(self.compressor.compress(self.codec, &self.page)?.len() as f64)
    }

    fn values(&mut self, encoding: Encoding, leaf: &Leaf, sample: &Dense) -> Result<Candidate> {
        self.page.clear();
        encode(encoding, leaf, sample, &mut self.page);
        let count = sample.count.max(1) as f64;
        let raw = self.page.len() as f64 / count;
        Ok(Candidate { encoding, raw, compressed: self.compressed()? / count })
    }

    /// The cost of a dictionary after some pages; `None` if it would become too large.
    fn dictionary(
        &mut self,
        dictionary: &Dictionary,
        indices: &[u32],
        options: &Options,
        whole: bool,
        forced: bool,
    ) -> Result<Option<Candidate>> {
        let (count, distinct) = (indices.len() as f64, dictionary.len() as f64);
        let horizon = if whole { count } else { count * PAGES };
        let expected = distinct_after(count, distinct, horizon);
        let bytes = dictionary.bytes() as f64 * expected / distinct;
        if !forced && bytes > options.dictionary_bytes as f64 {
            return Ok(None);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        let width = bits((expected.ceil() as u64).saturating_sub(1)).min(32);
        let sample = &indices[..indices.len().min(SAMPLE_VALUES)];
        let values = sample.len() as f64;
        self.page.clear();
        rle::encode(sample, width, &mut self.page);
        let raw = self.page.len() as f64 / values;
        let compressed = self.compressed()? / values;
        let page = dictionary.page();
        let part = &page[..page.len().min(SAMPLE_BYTES)];
        self.page.clear();
        self.page.extend_from_slice(part);
        let ratio = self.compressed()? / (part.len() as f64).max(1.0);
        Ok(Some(Candidate {
            encoding: Encoding::Dictionary,
            raw: raw + bytes / horizon,
            compressed: compressed + ratio * bytes / horizon,
        }))
    }
}

/// The expected number of distinct values after `horizon` values, of which the first `count` had
/// `distinct`: of `d` values that are as likely as each other, `n` draws find `d (1 - e^(-n/d))`.
fn distinct_after(count: f64, distinct: f64, horizon: f64) -> f64 {
    if horizon <= count {
        return distinct;
    }
    let found = |all: f64, draws: f64| all * (1.0 - (-draws / all).exp());
    let (mut low, mut high) = (distinct, distinct * 1e6);
    if found(high, count) < distinct {
        return distinct / count * horizon;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if found(middle, count) < distinct {
            low = middle;
        } else {
            high = middle;
        }
    }
    found(high, horizon).max(distinct)
}

/// Appends values in an encoding that is not a dictionary.
pub(crate) fn encode(encoding: Encoding, leaf: &Leaf, values: &Dense, out: &mut Vec<u8>) {
    match (encoding, leaf.physical) {
        (Encoding::Rle, _) => {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            let mut packed = Vec::new();
            enc::plain_bits(&values.bools, &mut packed);
            rle::encode_bits(&packed, values.bools.len(), out);
            let bytes = in_page(out.len() - start - 4);
            out[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
        }
        (Encoding::DeltaBinaryPacked, Physical::INT32) => enc::delta32(&values.words, out),
        (Encoding::DeltaBinaryPacked, _) => enc::delta64(&values.longs, out),
        (Encoding::DeltaLengthByteArray, _) => enc::delta_length(values.strings(), out),
        (Encoding::DeltaByteArray, Physical::BYTE_ARRAY) => {
            enc::delta_strings(values.strings(), out);
        }
        (Encoding::DeltaByteArray, _) => {
            let values_end = in_page(values.bytes.len());
            let offsets: Vec<u32> = (0..=values_end).step_by(leaf.width).collect();
            enc::delta_strings(enc::Strings { bytes: &values.bytes, offsets: &offsets }, out);
        }
        (Encoding::ByteStreamSplit, Physical::INT32 | Physical::FLOAT) => {
            enc::split32(&values.words, out);
        }
        (Encoding::ByteStreamSplit, Physical::INT64 | Physical::DOUBLE) => {
            enc::split64(&values.longs, out);
        }
        (Encoding::ByteStreamSplit, _) => enc::split_bytes(&values.bytes, leaf.width, out),
        (Encoding::Plain | Encoding::Dictionary, Physical::BOOLEAN) => {
            enc::plain_bits(&values.bools, out);
        }
        (Encoding::Plain | Encoding::Dictionary, Physical::INT32 | Physical::FLOAT) => {
            enc::plain32(&values.words, out);
        }
        (Encoding::Plain | Encoding::Dictionary, Physical::INT64 | Physical::DOUBLE) => {
            enc::plain64(&values.longs, out);
        }
        (Encoding::Plain | Encoding::Dictionary, Physical::BYTE_ARRAY) => {
            enc::plain_strings(values.strings(), out);
        }
        (Encoding::Plain | Encoding::Dictionary, _) => out.extend_from_slice(&values.bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_are_extrapolated() {
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.02;
        // 1,000 values, all seen; 20,000, of which 20,000 draws find 12,642; never the same twice.
        assert!(near(distinct_after(20_000.0, 1_000.0, 160_000.0), 1_000.0));
        assert!(near(distinct_after(20_000.0, 12_642.0, 160_000.0), 19_993.0));
        assert!(near(distinct_after(20_000.0, 20_000.0, 160_000.0), 160_000.0));
        assert!(near(distinct_after(20_000.0, 500.0, 20_000.0), 500.0));
    }

    /// None for what does not shrink, LZ4 for what it shrinks nearly as much as Zstandard does.
    #[test]
    fn codecs_are_chosen_by_what_they_make_of_a_page() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let noise: Vec<u8> = (0..50_000).map(|_| random().to_le_bytes()[0]).collect();
        let words = ["delta ", "page ", "of ", "values ", "levels ", "and ", "rows "];
        let text: String =
            (0..10_000).map(|_| words[usize::try_from(random() % 7).unwrap()]).collect();
        let mut compressor = Compressor::default();
        for (page, codec) in [
            (noise.as_slice(), Codec::None),
            (&[], Codec::None),
            (&[7; 50_000], Codec::Lz4),
            (text.as_bytes(), Codec::Zstd(1)),
        ] {
            assert_eq!(choose_codec(page, &mut compressor).unwrap(), codec);
        }
    }
}
