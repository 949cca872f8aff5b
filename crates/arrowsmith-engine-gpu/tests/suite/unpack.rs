// SPDX-License-Identifier: Apache-2.0
//! The decompressors of the device against the libraries of the host: texts of every kind at every
//! level, and malformed streams, which the device must reject or decode as the host does.

#![cfg(feature = "shim")]

use arrowsmith_engine_gpu::{GpuOptions, unpack_pages};
use arrowsmith_parquet::codec::decompressor;
use arrowsmith_workload::{Generator, SplitMix64, Workload};
use parquet::basic::{Compression, ZstdLevel};

use crate::common;

/// One of these.
fn of<T: Copy>(chance: &mut SplitMix64, items: &[T]) -> T {
    items[chance.index(items.len())]
}

fn byte(chance: &mut SplitMix64) -> u8 {
    chance.next_u64().to_le_bytes()[0]
}

/// Up to `most` bytes: literals from alphabets of all sizes, runs, copies from near and far, and
/// pieces of JSON.
fn text(chance: &mut SplitMix64, most: usize) -> Vec<u8> {
    let mut json = Vec::new();
    Generator::new(of(chance, &Workload::ALL), chance.next_u64(), 64).fill(4096, &mut json);
    let len = chance.index(most) + 1;
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        let most = of(chance, &[4, 20, 300, 5000]);
        let some = chance.index(most) + 1;
        match chance.index(5) {
            0 => {
                let mask = of(chance, &[0, 1, 7, 31, 255]);
                out.extend((0..some).map(|_| byte(chance) & mask));
            }
            1 => {
                let byte = byte(chance);
                out.resize(out.len() + some, byte);
            }
            2 if !out.is_empty() => {
                let back = of(chance, &[1, 2, 7, 64, 4000, out.len()]).min(out.len());
                let back = chance.index(back) + 1;
                for _ in 0..some {
                    out.push(out[out.len() - back]);
                }
            }
            _ => {
                let from = chance.index(json.len());
                out.extend_from_slice(&json[from..(from + some).min(json.len())]);
            }
        }
    }
    out.truncate(len);
    out
}

const SNAPPY: Compression = Compression::SNAPPY;

fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::default())
}

/// Pages are split from their first byte, or decoded by one block of threads each.
fn options(split: bool) -> GpuOptions {
    GpuOptions::default().with_split_bytes_min(if split { 0 } else { u64::MAX })
}

/// Decompresses pages on the device; `None` if it finds one malformed. And how many were split.
fn unpack(
    codec: Compression,
    pages: &[(&[u8], usize)],
    seed: u64,
    split: bool,
) -> (Option<Vec<Vec<u8>>>, usize) {
    let unpacked = unpack_pages(&common::device(seed), &options(split), codec, pages).unwrap();
    (unpacked.pages, unpacked.split)
}

fn pack(codec: Compression, text: &[u8], chance: &mut SplitMix64) -> Vec<u8> {
    if codec == SNAPPY {
        return snap::raw::Encoder::new().compress_vec(text).unwrap();
    }
    let level = of(chance, &[1, 3, 6, 12, 19, -7]);
    if chance.index(3) > 0 {
        return zstd::bulk::compress(text, level).unwrap();
    }
    // Without the total length, as in streams; flushed now and then, for more blocks.
    let mut encoder = zstd::Encoder::new(Vec::new(), level).unwrap();
    for part in text.chunks(chance.index(text.len()) + 1) {
        std::io::Write::write_all(&mut encoder, part).unwrap();
        std::io::Write::flush(&mut encoder).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn pages_become_what_they_were() {
    for codec in [SNAPPY, zstd()] {
        let mut all = 0;
        for seed in 0..common::seeds(40) {
            let mut chance = SplitMix64::new(seed);
            let most = of(&mut chance, &[60, 3000, 40_000, 300_000]);
            let texts: Vec<_> = (0..=chance.index(3)).map(|_| text(&mut chance, most)).collect();
            let packed: Vec<_> = texts.iter().map(|text| pack(codec, text, &mut chance)).collect();
            let pages: Vec<_> =
                packed.iter().zip(&texts).map(|(packed, text)| (&packed[..], text.len())).collect();
            for split in [false, true] {
                let (found, chains) = unpack(codec, &pages, seed, split);
                assert!(found.as_ref() == Some(&texts), "{codec:?}, seed {seed}, split {split}");
                // Every page of Snappy, of Zstandard those of several blocks.
                assert!(split || chains == 0);
                if split && codec == SNAPPY {
                    assert_eq!(chains, pages.len(), "seed {seed}");
                }
                all += chains;
            }
        }
        assert!(all > 0, "{codec:?}: no page was split");
    }
}

/// Snappy allows copies from before the 64 KiB that compressors make at once: one block of threads
/// decodes such a page.
#[test]
fn snappy_that_copies_from_afar_is_not_split() {
    let mut text: Vec<u8> = Vec::new();
    // A literal of 60,000 bytes, a copy of 64 of them from 60,000 back each, over 64 KiB.
    let mut packed = vec![];
    let len = 60_000 + 64 * 200;
    for shift in [0, 7, 14] {
        let byte = u8::try_from(len >> shift & 127).unwrap();
        packed.push(byte | if len >> shift > 127 { 128 } else { 0 });
    }
    packed.extend([61 << 2, 0x5F, 0xEA]);
    text.extend((0..=250_u8).cycle().step_by(7).take(60_000));
    packed.extend_from_slice(&text);
    for _ in 0..200 {
        packed.extend([63 << 2 | 2, 0x60, 0xEA]);
        text.extend_from_within(text.len() - 60_000..text.len() - 60_000 + 64);
    }
    let mut expected = vec![0; len];
    decompressor(SNAPPY).unwrap().decompress(&packed, &mut expected).unwrap();
    assert!(expected == text);
    let (found, split) = unpack(SNAPPY, &[(&packed, len)], 1, true);
    assert!(found == Some(vec![text]) && split == 0);
}

/// Blocks that repeat the tables and the trees of earlier ones, by text that is alike throughout.
#[test]
fn blocks_of_zstandard_that_refer_to_others() {
    for seed in 0..common::seeds(10) {
        let mut chance = SplitMix64::new(seed);
        let piece = text(&mut chance, 200_000);
        let text: Vec<u8> = piece.iter().copied().cycle().take(700_000).collect();
        let mut text = text;
        for _ in 0..20_000 {
            let at = chance.index(text.len());
            text[at] = byte(&mut chance) & 63;
        }
        let packed = pack(zstd(), &text, &mut chance);
        let (found, split) = unpack(zstd(), &[(&packed, text.len())], seed, true);
        assert!(found == Some(vec![text]), "seed {seed}");
        assert_eq!(split, 1, "seed {seed}");
    }
}

#[test]
fn broken_pages_become_nothing_that_the_host_would_not_make_of_them() {
    let mut sound = 0;
    for codec in [SNAPPY, zstd()] {
        let mut host = decompressor(codec).unwrap();
        for seed in 0..common::seeds(400) {
            let mut chance = SplitMix64::new(seed ^ 0xB0B);
            // Several units and blocks now and then.
            let most = of(&mut chance, &[12, 60, 3000]);
            let most = if seed % 16 == 0 { 300_000 } else { most };
            let text = text(&mut chance, most);
            let mut packed = pack(codec, &text, &mut chance);
            let mut len = text.len();
            for _ in 0..=chance.index(3) {
                let at = chance.index(packed.len());
                match chance.index(6) {
                    0 => packed.truncate(at),
                    1 => drop(packed.remove(at.min(packed.len().saturating_sub(1)))),
                    2 => len = (len + chance.index(5)).saturating_sub(2),
                    3 => packed.push(byte(&mut chance)),
                    _ => packed[at] ^= 1 << chance.index(8),
                }
                if packed.is_empty() {
                    break;
                }
            }
            let mut expected = vec![0; len];
            let host = host.decompress(&packed, &mut expected);
            let [whole, parts] =
                [false, true].map(|split| unpack(codec, &[(&packed, len)], seed, split).0);
            assert!(whole == parts, "{codec:?}, seed {seed}: split or not");
            if let Some(found) = whole
                && len > 0
            {
                sound += 1;
                assert!(host.is_ok(), "{codec:?}, seed {seed}: the host says {host:?}");
                assert!(found == [expected], "{codec:?}, seed {seed}");
            }
        }
    }
    // A byte of a literal may become any other.
    assert!(sound > 20 || common::seeds(400) < 400, "{sound}");
}

/// A frame of one raw block and some compressed ones, each with raw literals, one code of each kind
/// and any bits after the codes: most offsets repeat earlier ones, in every way there is. Also the
/// length of what it makes.
fn repeating(chance: &mut SplitMix64) -> (Vec<u8>, usize) {
    let header = |last: bool, kind: usize, size: usize| {
        (usize::from(last) | kind << 1 | size << 3).to_le_bytes()[..3].to_vec()
    };
    let mut len = 64;
    let mut blocks = header(false, 0, len);
    blocks.extend((0..len).map(|_| byte(chance)));
    let count = chance.index(6) + 1;
    for number in 1..=count {
        // Literals, offset, match: the code, the base, and the number of bits.
        let (literals, literal_base, literal_bits) =
            of(chance, &[(0, 0, 0), (0, 0, 0), (1, 1, 0), (3, 3, 0), (16, 16, 1)]);
        let offset_code = of(chance, &[0, 1, 1, 1, 2, 3, 5]);
        let (matches, match_base, match_bits) = of(chance, &[(0, 3, 0), (9, 12, 0), (32, 35, 1)]);
        let sequences = chance.index(100) + 1;
        // In the order in which they are read: from the highest bit, after a one.
        let mut bits = vec![true];
        let mut value = |count: usize| {
            let from = bits.len();
            bits.extend((0..count).map(|_| chance.index(2) == 1));
            bits[from..].iter().fold(0, |value, bit| value << 1 | usize::from(*bit))
        };
        let (mut literal_count, mut made) = (0, 0);
        for _ in 0..sequences {
            value(offset_code);
            made += match_base + value(match_bits);
            literal_count += literal_base + value(literal_bits);
        }
        literal_count += chance.index(4);
        len += made + literal_count;
        let mut content = (1 << 2 | 1 << 3 | literal_count << 4).to_le_bytes()[..3].to_vec();
        content.extend((0..literal_count).map(|_| byte(chance)));
        let code = |code: usize| code.to_le_bytes()[0];
        content.extend([code(sequences), 0x54, code(literals), code(offset_code), code(matches)]);
        let stream = bits
            .rchunks(8)
            .map(|byte| byte.iter().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit)));
        content.extend(stream);
        blocks.extend(header(number == count, 2, content.len()));
        blocks.extend(content);
    }
    // One segment, with its length in four bytes.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0];
    frame.extend(&len.to_le_bytes()[..4]);
    frame.extend(blocks);
    (frame, len)
}

/// Offsets that repeat those before the block, or those less one, are known only once the blocks
/// before are.
#[test]
fn offsets_repeat_those_of_earlier_blocks() {
    let mut host = decompressor(zstd()).unwrap();
    let (mut sound, mut broken) = (0, 0);
    for seed in 0..common::seeds(1500) {
        let mut chance = SplitMix64::new(seed ^ 0x0FF5E7);
        let (packed, len) = repeating(&mut chance);
        let mut expected = vec![0; len];
        let by_host = host.decompress(&packed, &mut expected);
        let expected = by_host.is_ok().then(|| vec![expected]);
        let [(whole, _), (parts, split)] =
            [false, true].map(|split| unpack(zstd(), &[(&packed, len)], seed, split));
        assert!(whole == expected, "seed {seed}: the host says {by_host:?}");
        // What is sound needs no second attempt by one block of threads.
        assert!(parts == expected && split == usize::from(expected.is_some()), "seed {seed}");
        sound += u32::from(expected.is_some());
        broken += u32::from(expected.is_none());
    }
    assert!(sound > 0 && (broken > 0 || common::seeds(1500) < 1500), "{sound} and {broken}");
}
