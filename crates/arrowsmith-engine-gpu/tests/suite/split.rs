// SPDX-License-Identifier: Apache-2.0
//! Values of pages that many blocks of threads decode: deltas, lengths, strings. What one block per
//! page makes of the same bytes is the oracle, and of sound files the array that was written.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrowsmith_core::Limits;
use arrowsmith_engine::Chain;
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use arrowsmith_workload::SplitMix64;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;

use crate::common;

/// A file of one column.
fn file(column: &ArrayRef, encoding: Encoding, codec: Compression, page_rows: usize) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("x", Arc::clone(column))]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(encoding)
        .set_compression(codec)
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows.min(1024));
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The column, if the device decodes it without another engine.
fn decoded(file: &[u8], seed: u64, split: bool) -> Option<ArrayRef> {
    let file = File::open(Bytes::copy_from_slice(file), &Limits::default()).ok()?;
    let bytes = if split { 0 } else { u64::MAX };
    let options = GpuOptions::default().with_split_bytes_min(bytes);
    let engine = GpuEngine::new(common::device(seed), options);
    let read = ReadOptions::default();
    let plan = ReadPlan::new(&file, &read).ok()?;
    let batch = engine.device_batch(&file, 0, &plan, &read, &Chain::default()).ok()?;
    Some(Arc::clone(batch.to_host().ok()?.column(0)))
}

/// Numbers whose differences have up to `bits` bits, some of them null.
fn numbers(chance: &mut SplitMix64, len: usize, bits: u32) -> Vec<Option<i64>> {
    let mut number = 0_i64;
    let nulls = chance.index(3);
    (0..len)
        .map(|_| {
            let step = if bits == 0 { 7 } else { chance.next_u64() >> (64 - bits) };
            number = number.wrapping_add(step.cast_signed());
            (nulls == 0 || chance.index(5) > 0).then_some(number)
        })
        .collect()
}

fn strings(chance: &mut SplitMix64, len: usize) -> ArrayRef {
    let most = [1, 8, 40, 6000][chance.index(4)];
    let len = if most > 1000 { len / 20 + 1 } else { len };
    let word = |chance: &mut SplitMix64| {
        let len = chance.index(most);
        (b'a'..=b'z').cycle().take(len).map(char::from).collect::<String>()
    };
    let words = (0..len).map(|_| (chance.index(9) > 0).then(|| word(chance)));
    Arc::new(words.collect::<StringArray>())
}

/// A column and how it is written.
fn case(chance: &mut SplitMix64) -> (ArrayRef, Encoding) {
    let len = [1, 2, 129, 3000, 20_000][chance.index(5)];
    match chance.index(4) {
        0 => {
            let bits = [0, 1, 7, 33, 64][chance.index(5)];
            let numbers = numbers(chance, len, bits);
            (Arc::new(Int64Array::from(numbers)), Encoding::DELTA_BINARY_PACKED)
        }
        1 => {
            let bits = [0, 5, 16][chance.index(3)];
            // They wrap, as the differences of 32 bits do.
            let low = |number: i64| i32::try_from(number & 0x7FFF_FFFF).unwrap();
            let numbers = numbers(chance, len, bits).into_iter().map(|number| number.map(low));
            (Arc::new(numbers.collect::<Int32Array>()), Encoding::DELTA_BINARY_PACKED)
        }
        2 => (strings(chance, len), Encoding::DELTA_LENGTH_BYTE_ARRAY),
        _ => (strings(chance, len), Encoding::PLAIN),
    }
}

const CODECS: [Compression; 2] = [Compression::UNCOMPRESSED, Compression::SNAPPY];

#[test]
fn split_pages_have_the_values_that_were_written() {
    for seed in 0..common::seeds(40) {
        let mut chance = SplitMix64::new(seed);
        let (column, encoding) = case(&mut chance);
        let rows = [500, 1 << 20][chance.index(2)];
        let bytes = file(&column, encoding, CODECS[chance.index(2)], rows);
        let found = decoded(&bytes, seed, true);
        assert!(found.as_ref() == Some(&column), "seed {seed}: {encoding}");
    }
}

/// Bytes of pages are changed, which no checksum covers: split or not, the device is in doubt or
/// has the same values.
#[test]
fn damaged_pages_are_the_same_split_or_not() {
    let (mut doubts, mut values) = (0, 0);
    for seed in 0..common::seeds(150) {
        let mut chance = SplitMix64::new(seed ^ 0x5B11);
        let (column, encoding) = case(&mut chance);
        let mut bytes = file(&column, encoding, CODECS[0], 1 << 20);
        // The page is between the file's head and its footer.
        let most = bytes.len() * 2 / 3;
        for _ in 0..=chance.index(3) {
            let at = 4 + chance.index(most.saturating_sub(4).max(1));
            bytes[at] ^= 1 << chance.index(8);
        }
        let [whole, split] = [false, true].map(|split| decoded(&bytes, seed, split));
        assert!(whole == split, "seed {seed}: {encoding}");
        *(if whole.is_some() { &mut values } else { &mut doubts }) += 1;
    }
    // A run of few seeds, as under a sanitizer, says nothing about how many.
    let few = common::seeds(150) < 150;
    assert!(few || (doubts > 10 && values > 10), "{doubts} and {values}");
}
