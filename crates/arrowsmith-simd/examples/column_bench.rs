// SPDX-License-Identifier: Apache-2.0
//! Throughput of the column decoders: each kernel against plain Rust and `memcpy`, with warm and
//! with fresh memory.
//!
//! `cargo run --release -p arrowsmith-simd --example column_bench [PART OF A NAME]` prints, for
//! each kernel, GB/s of Arrow output at the best of several alternating rounds. *small*: 64 Ki rows
//! into one recycled buffer, as in a stream of batches; *large*: 8 Mi rows, written with
//! non-temporal stores; *fresh*: as *large*, with the pool emptied before, so that the system maps
//! and clears new pages; *cold*: as *small*, with the input evicted from the caches, as for a file
//! that is read once.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a benchmark")]

#[path = "../tests/suite/column/encode.rs"]
mod encode;

use std::hint::black_box;
use std::time::Instant;

use arrowsmith_simd::buffer::{pool_clear, set_pool_bytes_max};
use arrowsmith_simd::column::*;
use arrowsmith_simd::{BitBuffer, Buf, Level};
use arrowsmith_workload::SplitMix64;

/// One round of a kernel: takes the level and the number of pages of [`PAGE`] values; returns the
/// bytes of output.
type Round<'a> = Box<dyn Fn(Level, usize) -> usize + 'a>;

/// Values of a page: 1 MiB of 64-bit numbers.
const PAGE: usize = 128 << 10;

/// Pseudo-random numbers from a fixed seed.
fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut numbers = SplitMix64::new(seed);
    std::iter::repeat_with(move || numbers.next_u64())
}

fn fixed<T: arrow_buffer::ArrowNativeType, D: Decode<T>>(
    level: Level,
    pages: usize,
    make: impl Fn() -> D,
) -> usize {
    let mut out = Buf::<T>::with_capacity(PAGE * pages);
    for _ in 0..pages {
        read(level, &mut make(), Rows::All(PAGE), &mut out).unwrap();
    }
    black_box(out.take()).len() * size_of::<T>()
}

fn text<D: DecodeStrings>(
    level: Level,
    pages: usize,
    bytes: usize,
    utf8: bool,
    make: impl Fn() -> D,
) -> usize {
    let mut out = Strings::<i32>::new(utf8, PAGE * pages, bytes * pages, usize::MAX);
    for _ in 0..pages {
        out.read(level, &mut make(), Rows::All(PAGE)).unwrap();
    }
    let len = out.bytes().len() + 4 * out.len();
    black_box(out.take_binary(None).unwrap());
    len
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    set_pool_bytes_max(1 << 30);
    let forced = std::env::var_os("ARROWSMITH_CPU").map(|_| vec![Level::get()]);
    let levels = forced.unwrap_or_else(Level::available);

    let numbers: Vec<i64> = random(1).take(PAGE).map(|r| (r % 2047) as i64).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    let narrow: Vec<i64> = random(2).take(PAGE).map(|r| i64::from(r as i32 >> 12)).collect();
    let stamps: Vec<i64> = random(3)
        .take(PAGE)
        .scan(1_700_000_000_000_000, |at, r| {
            *at += (r % 100_000) as i64;
            Some(*at)
        })
        .collect();
    let delta64 = encode::delta(&numbers, 4, 32, 64);
    let delta32 = encode::delta(&narrow, 4, 32, 32);
    let delta_time = encode::delta(&stamps, 4, 32, 64);
    let bytes4: Vec<u8> = bytes.as_chunks::<4>().0[..PAGE].concat();
    let bytes16: Vec<u8> = [bytes.as_slice(), bytes.as_slice()].concat();
    let (split4, split8) = (encode::split(&bytes4, 4), encode::split(&bytes, 8));
    let split16 = encode::split(&bytes16, 16);

    let words: Vec<Vec<u8>> = random(4)
        .take(PAGE)
        .map(|r| r.to_string().into_bytes()[..(1 + r % 12) as usize].to_vec())
        .collect();
    let word_bytes = words.iter().map(Vec::len).sum();
    let (plain, lengths) = (encode::plain_strings(&words), encode::delta_length(&words, 32));
    let mut sorted = words.clone();
    sorted.sort();
    let prefixes = encode::delta_strings(&sorted, 32);

    let few: Vec<u32> = random(5).take(PAGE).map(|r| (r % 100) as u32).collect();
    let many: Vec<u32> = random(6).take(PAGE).map(|r| (r % 30_000) as u32).collect();
    let runs: Vec<u32> = random(7).take(PAGE / 16).flat_map(|r| [(r % 100) as u32; 16]).collect();
    let few = encode::hybrid(&few, 7, &[(true, 19)]);
    let many = encode::hybrid(&many, 15, &[(true, 19)]);
    let runs = encode::hybrid(&runs, 7, &[(false, 3)]);
    let dictionary: Vec<i64> = random(8).take(30_000).map(|r| r as i64).collect();
    let dictionary16: Vec<i128> = dictionary.iter().map(|v| i128::from(*v)).collect();
    let entries = |count: usize| {
        let mut strings = Strings::<i32>::new(true, 0, 0, usize::MAX);
        let data = encode::plain_strings(&words[..count]);
        strings.read(levels[0], &mut PlainStrings::new(&data), Rows::All(count)).unwrap();
        StringDictionary::new(&strings).unwrap()
    };
    let (few_words, many_words) = (entries(100), entries(30_000));

    let valid: Vec<u32> = random(9).take(PAGE).map(|r| u32::from(r % 10 > 0)).collect();
    let mut valid_runs = Vec::new();
    mixed_runs(&valid, &mut valid_runs);
    let mut bits = BitBuffer::default();
    valid.iter().for_each(|valid| bits.push(*valid == 1));
    let nulls = Rows::Valid { bits: &bits, from: 0, to: PAGE };
    let two: Vec<u32> = random(10).take(PAGE).map(|r| (r % 3) as u32).collect();
    let two_bits = encode::hybrid(&two, 2, &[(true, 19), (false, 1)]);
    let definition: Vec<u8> = random(11).take(PAGE).map(|r| 3 - u8::from(r % 50 == 0)).collect();
    let repetition: Vec<u8> = random(12).take(PAGE).map(|r| u8::from(r % 5 > 0)).collect();

    let h = |data, width| Hybrid::new(data, width).unwrap();
    let rounds: Vec<(&str, Round<'_>)> = vec![
        (
            "memcpy",
            Box::new(|_, pages| {
                let mut out = Buf::<u8>::with_capacity(PAGE * 8 * pages);
                (0..pages).for_each(|_| out.extend(&bytes));
                black_box(out.take()).len()
            }),
        ),
        ("plain i64", Box::new(|l, p| fixed::<i64, _>(l, p, || Plain::new(&bytes)))),
        ("delta i64", Box::new(|l, p| fixed::<i64, _>(l, p, || Delta::new(&delta64).unwrap()))),
        (
            "delta i64 times",
            Box::new(|l, p| fixed::<i64, _>(l, p, || Delta::new(&delta_time).unwrap())),
        ),
        ("delta i32", Box::new(|l, p| fixed::<i32, _>(l, p, || Delta::new(&delta32).unwrap()))),
        (
            "decimal 7 bytes",
            Box::new(|l, p| fixed::<i128, _>(l, p, || BigEndian::new(PlainBytes::new(&bytes, 7)))),
        ),
        (
            "int96",
            Box::new(|l, p| fixed::<i64, _>(l, p, || Int96::new(&bytes16, TimeUnit::Microsecond))),
        ),
        (
            "i32 as i64",
            Box::new(|l, p| fixed::<i64, _>(l, p, || Cast::<i32, _>::new(Plain::new(&bytes4)))),
        ),
        ("split f32", Box::new(|l, p| fixed::<f32, _>(l, p, || Split::new(&split4)))),
        ("split f64", Box::new(|l, p| fixed::<f64, _>(l, p, || Split::new(&split8)))),
        ("split 16 bytes", Box::new(|l, p| fixed::<i128, _>(l, p, || Split::new(&split16)))),
        (
            "strings plain",
            Box::new(|l, p| text(l, p, word_bytes, false, || PlainStrings::new(&plain))),
        ),
        (
            "strings plain utf8",
            Box::new(|l, p| text(l, p, word_bytes, true, || PlainStrings::new(&plain))),
        ),
        (
            "strings delta length",
            Box::new(|l, p| {
                text(l, p, word_bytes, false, || DeltaLengthStrings::new(&lengths).unwrap())
            }),
        ),
        (
            "strings delta length utf8",
            Box::new(|l, p| {
                text(l, p, word_bytes, true, || DeltaLengthStrings::new(&lengths).unwrap())
            }),
        ),
        (
            "strings delta",
            Box::new(|l, p| text(l, p, word_bytes, true, || DeltaStrings::new(&prefixes).unwrap())),
        ),
        (
            "strings dictionary few",
            Box::new(|l, p| {
                text(l, p, 8 * PAGE, true, || DictionaryStrings::new(h(&few, 7), &few_words))
            }),
        ),
        (
            "strings dictionary many",
            Box::new(|l, p| {
                text(l, p, 8 * PAGE, true, || DictionaryStrings::new(h(&many, 15), &many_words))
            }),
        ),
        (
            "strings dictionary runs",
            Box::new(|l, p| {
                text(l, p, 8 * PAGE, true, || DictionaryStrings::new(h(&runs, 7), &few_words))
            }),
        ),
        ("indices few", Box::new(|l, p| fixed::<i32, _>(l, p, || Indices::new(h(&few, 7), 100)))),
        ("indices runs", Box::new(|l, p| fixed::<i32, _>(l, p, || Indices::new(h(&runs, 7), 100)))),
        (
            "gather i64 few",
            Box::new(|l, p| fixed::<i64, _>(l, p, || Gather::new(h(&few, 7), &dictionary))),
        ),
        (
            "gather i64 many",
            Box::new(|l, p| fixed::<i64, _>(l, p, || Gather::new(h(&many, 15), &dictionary))),
        ),
        (
            "gather i64 runs",
            Box::new(|l, p| fixed::<i64, _>(l, p, || Gather::new(h(&runs, 7), &dictionary))),
        ),
        (
            "gather 16 bytes",
            Box::new(|l, p| fixed::<i128, _>(l, p, || Gather::new(h(&few, 7), &dictionary16))),
        ),
        (
            "nulls i64 plain",
            Box::new(|l, p| {
                let mut out = Buf::<i64>::with_capacity(PAGE * p);
                (0..p).for_each(|_| read(l, &mut Plain::new(&bytes), nulls, &mut out).unwrap());
                black_box(out.take()).len() * 8
            }),
        ),
        (
            "nulls i64 plain + levels",
            Box::new(|l, p| {
                let mut out = Buf::<i64>::with_capacity(PAGE * p);
                let mut bits = BitBuffer::default();
                bits.reserve(PAGE * p);
                for _ in 0..p {
                    let from = bits.len();
                    h(&valid_runs, 1).bits(l, PAGE, &mut bits).unwrap();
                    let rows = Rows::Valid { bits: &bits, from, to: from + PAGE };
                    read(l, &mut Plain::new(&bytes), rows, &mut out).unwrap();
                }
                black_box((out.take(), bits.take())).0.len() * 8
            }),
        ),
        (
            "nulls strings plain",
            Box::new(|l, p| {
                let mut out = Strings::<i32>::new(false, PAGE * p, word_bytes * p, usize::MAX);
                (0..p).for_each(|_| out.read(l, &mut PlainStrings::new(&plain), nulls).unwrap());
                let len = out.bytes().len() + 4 * out.len();
                black_box(out.take_binary(None).unwrap());
                len
            }),
        ),
        (
            "levels 1 bit (levels/ns)",
            Box::new(|l, p| {
                let mut bits = BitBuffer::default();
                (0..p)
                    .for_each(|_| assert!(h(&valid_runs, 1).bits(l, PAGE, &mut bits).unwrap() > 0));
                black_box(bits.take()).len()
            }),
        ),
        (
            "levels 2 bits",
            Box::new(|l, p| {
                let mut out = Buf::<u8>::with_capacity(PAGE * p);
                (0..p).for_each(|_| h(&two_bits, 2).levels(l, PAGE, 2, &mut out).unwrap());
                black_box(out.take()).len()
            }),
        ),
        (
            "list starts (levels/ns)",
            Box::new(|l, p| {
                let mut out = Buf::<i32>::with_capacity(PAGE * p);
                let mut bits = BitBuffer::default();
                let mut elements = 0;
                let levels = levels::Levels { definition: &definition, repetition: &repetition };
                let slots = levels::Slots { repetition: 0, definition: 0 };
                let inside = levels::Slots { repetition: 1, definition: 2 };
                for _ in 0..p {
                    let shape = levels::ListShape { slots, elements: inside };
                    levels::list_starts(l, levels, PAGE, shape, &mut elements, &mut out).unwrap();
                    levels::validity(l, levels, PAGE, slots, 1, &mut bits).unwrap();
                }
                black_box((out.take(), bits.take()));
                PAGE * p
            }),
        ),
    ];

    println!("GB/s{:>22}{:>22}{:>22}{:>22}", "small", "large", "fresh", "cold");
    let sweep: Vec<u64> = random(13).take(12 << 20).collect();
    let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
    println!("{}", names.join(" / "));
    let mut memcpy = [f64::NAN; 4];
    for (name, round) in rounds {
        if name != "memcpy" && !name.contains(filter.as_str()) {
            continue;
        }
        let mut line = format!("{name:26}");
        let columns = [(1, false, false), (64, false, false), (64, true, false), (1, false, true)];
        for (column, (pages, fresh, cold)) in columns.into_iter().enumerate() {
            let mut best = vec![0.0_f64; levels.len()];
            for turn in 0..if pages == 1 && !cold { 300 } else { 7 } {
                for (best, level) in best.iter_mut().zip(&levels) {
                    if fresh {
                        pool_clear();
                        if turn > 3 {
                            continue;
                        }
                    }
                    if cold {
                        black_box(sweep.iter().fold(0_u64, |sum, n| sum.wrapping_add(*n)));
                    }
                    let start = Instant::now();
                    let bytes = round(*level, pages);
                    *best = best.max(bytes as f64 / start.elapsed().as_nanos() as f64);
                }
            }
            if name == "memcpy" {
                memcpy[column] = best[0];
            }
            for best in &best {
                line += &format!("{best:7.1}");
            }
            line += &format!(" ({:4.2})", best[0] / memcpy[column]);
        }
        println!("{line}");
    }
}

/// Runs as common writers choose them: eight equal values start a run.
fn mixed_runs(values: &[u32], out: &mut Vec<u8>) {
    let (mut at, mut packed) = (0, 0);
    let flush = |from: usize, to: usize, out: &mut Vec<u8>| {
        for piece in values[from..to].chunks(63 * 8) {
            let piece: Vec<u64> = piece.iter().map(|value| u64::from(*value)).collect();
            encode::varint((piece.len().div_ceil(8) as u64) << 1 | 1, out);
            encode::pack(&piece, 1, out);
        }
    };
    while at < values.len() {
        let same = values[at..].iter().take_while(|value| **value == values[at]).count();
        if same >= 8 && (at - packed).is_multiple_of(8) {
            flush(packed, at, out);
            encode::varint((same as u64) << 1, out);
            out.push(values[at] as u8);
            at += same;
            packed = at;
        } else {
            at += 1;
        }
    }
    flush(packed, at, out);
}
