// SPDX-License-Identifier: Apache-2.0
//! DELTA_BINARY_PACKED as no writer here makes it: blocks and miniblocks of all sizes, wide and
//! empty ones, last ones that are missing, next to PLAIN pages, with and without nulls.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};
use arrowsmith_core::Limits;
use arrowsmith_engine::Chain;
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use arrowsmith_workload::SplitMix64;
use bytes::Bytes;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use crate::common;

const PLAIN: u64 = 0;
const DELTA: u64 = 5;
const DELTA_LENGTH: u64 = 6;

fn unsigned(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn zigzag(value: i64, out: &mut Vec<u8>) {
    unsigned((value << 1 ^ value >> 63).cast_unsigned(), out);
}

/// Numbers of `width` bits.
fn packed(numbers: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut held, mut bits) = (0_u128, 0);
    for number in numbers {
        held |= u128::from(*number) << bits;
        bits += width;
        while bits >= 8 {
            out.push(held.to_le_bytes()[0]);
            (held, bits) = (held >> 8, bits - 8);
        }
    }
    assert_eq!(bits, 0, "miniblocks have a multiple of 32 values");
}

/// How deltas are laid out: values and miniblocks of a block.
#[derive(Debug, Clone, Copy)]
struct Layout {
    block: usize,
    minis: usize,
}

const LAYOUTS: [Layout; 7] = [
    Layout { block: 128, minis: 4 },
    Layout { block: 128, minis: 1 },
    Layout { block: 256, minis: 2 },
    Layout { block: 1024, minis: 32 },
    Layout { block: 384, minis: 3 },
    Layout { block: 2048, minis: 64 },
    Layout { block: 8192, minis: 4 },
];

/// Numbers as deltas.
fn deltas(chance: &mut SplitMix64, numbers: &[i64], layout: Layout) -> Vec<u8> {
    let Layout { block, minis } = layout;
    let mut out = Vec::new();
    unsigned(block as u64, &mut out);
    unsigned(minis as u64, &mut out);
    unsigned(numbers.len() as u64, &mut out);
    zigzag(numbers.first().copied().unwrap_or(0), &mut out);
    let steps: Vec<i64> = numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    for steps in steps.chunks(block) {
        // Any other minimum is right too, as sums wrap.
        let odd = chance.index(6) == 0;
        let least =
            if odd { chance.next_u64().cast_signed() } else { *steps.iter().min().unwrap() };
        zigzag(least, &mut out);
        let mut widths = Vec::new();
        let mut data = Vec::new();
        for steps in steps.chunks(block / minis) {
            let mut over: Vec<u64> =
                steps.iter().map(|step| step.wrapping_sub(least).cast_unsigned()).collect();
            let least = over.iter().map(|over| 64 - over.leading_zeros()).max().unwrap();
            let more = u32::try_from(chance.index(usize::try_from(65 - least).unwrap())).unwrap();
            let width = if chance.index(3) == 0 { least + more } else { least };
            over.resize(block / minis, 0);
            widths.push(u8::try_from(width).unwrap());
            packed(&over, width, &mut data);
        }
        // Of those without values only a width is there, which does not matter.
        widths.resize_with(minis, || [0, 9, 255][chance.index(3)]);
        out.extend(widths);
        out.extend(data);
    }
    out
}

/// An integer field of a Thrift structure, whose id is one more than that of the previous field.
fn field(value: u64, out: &mut Vec<u8>) {
    out.push(0x15);
    unsigned(value << 1, out);
}

/// A page of version 1.
fn page(entries: usize, encoding: u64, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    field(0, &mut out);
    field(body.len() as u64, &mut out);
    field(body.len() as u64, &mut out);
    out.push(0x2c);
    field(entries as u64, &mut out);
    field(encoding, &mut out);
    field(3, &mut out);
    field(3, &mut out);
    out.extend([0, 0]);
    out.extend(body);
    out
}

/// A file of one column: its pages.
fn file(column: &str, pages: &[u8], entries: usize) -> Vec<u8> {
    let message = parse_message_type(&format!("message m {{ {column} }}")).unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
    let mut bytes = b"PAR1".to_vec();
    bytes.extend(pages);
    let (size, entries) = (i64::try_from(pages.len()).unwrap(), i64::try_from(entries).unwrap());
    let chunk = ColumnChunkMetaData::builder(schema.column(0))
        .set_num_values(entries)
        .set_data_page_offset(4)
        .set_total_compressed_size(size)
        .set_total_uncompressed_size(size);
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(entries)
        .set_total_byte_size(size)
        .set_column_metadata(vec![chunk.build().unwrap()]);
    let file = FileMetaData::new(2, entries, None, None, schema, None);
    let metadata = ParquetMetaData::new(file, vec![group.build().unwrap()]);
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    bytes
}

/// The column, if the device decodes it without another engine; else the reason.
fn decoded(file: &[u8], seed: u64) -> Result<ArrayRef, String> {
    let file = File::open(Bytes::copy_from_slice(file), &Limits::default()).unwrap();
    let engine = GpuEngine::new(common::device(seed), GpuOptions::default());
    let read = ReadOptions::default();
    let plan = ReadPlan::new(&file, &read).unwrap();
    let batch = engine.device_batch(&file, 0, &plan, &read, &Chain::default());
    let batch = batch.map_err(|error| error.to_string())?;
    Ok(Arc::clone(batch.to_host().unwrap().column(0)))
}

/// Definition levels as a page of version 1 has them, in runs.
fn levels(present: &[bool]) -> Vec<u8> {
    let mut runs = Vec::new();
    for run in present.chunk_by(|a, b| a == b) {
        unsigned((run.len() as u64) << 1, &mut runs);
        runs.push(u8::from(run[0]));
    }
    [&u32::try_from(runs.len()).unwrap().to_le_bytes()[..], &runs].concat()
}

/// Numbers whose steps have up to N bits, for a random N.
fn numbers(chance: &mut SplitMix64, len: usize) -> Vec<i64> {
    let bits = [0, 1, 5, 13, 31, 32, 33, 64][chance.index(8)];
    let mut number = chance.next_u64().cast_signed();
    let mut next = || {
        let step = if bits == 0 { 3 } else { chance.next_u64() >> (64 - bits) };
        number = number.wrapping_add(step.cast_signed());
        number
    };
    (0..len).map(|_| next()).collect()
}

/// What a file has, and its bytes.
struct Case {
    column: ArrayRef,
    bytes: Vec<u8>,
}

const TYPES: [&str; 3] = ["int64 a;", "int32 a;", "binary a (UTF8);"];

fn case(chance: &mut SplitMix64) -> Case {
    let (which, optional, any_nulls) = (chance.index(3), chance.index(3) > 0, chance.index(2) > 0);
    let (mut pages, mut wide, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=chance.index(4) {
        let entries = [1, 2, 129, 130, 700, 5000, 20_000][chance.index(7)];
        let full = !(optional && any_nulls);
        let present: Vec<bool> = (0..entries).map(|_| full || chance.index(7) > 0).collect();
        let count = present.iter().filter(|present| **present).count();
        let layout = LAYOUTS[chance.index(LAYOUTS.len())];
        let mut body = if optional { levels(&present) } else { Vec::new() };
        let mut encoding = DELTA;
        if which == 2 {
            encoding = DELTA_LENGTH;
            let most = [1, 3, 30, 400][chance.index(4)];
            let letters = ["a", "é", "z"];
            let own: Vec<String> =
                (0..count).map(|_| letters[chance.index(3)].repeat(chance.index(most))).collect();
            let lens: Vec<i64> =
                own.iter().map(|text| i64::try_from(text.len()).unwrap()).collect();
            body.extend(deltas(chance, &lens, layout));
            body.extend(own.iter().flat_map(|text| text.bytes()));
            let mut own = own.into_iter();
            texts.extend(present.iter().map(|present| present.then(|| own.next().unwrap())));
        } else {
            let own = numbers(chance, count);
            if chance.index(4) == 0 {
                encoding = PLAIN;
                let bytes = if which == 0 { 8 } else { 4 };
                body.extend(own.iter().flat_map(|number| number.to_le_bytes()[..bytes].to_vec()));
            } else {
                body.extend(deltas(chance, &own, layout));
            }
            let mut own = own.into_iter();
            wide.extend(present.iter().map(|present| present.then(|| own.next().unwrap())));
        }
        pages.extend(page(entries, encoding, &body));
    }
    let low = |number: i64| i32::from_le_bytes(*number.to_le_bytes().first_chunk().unwrap());
    let column: ArrayRef = match which {
        0 => Arc::new(Int64Array::from(wide)),
        1 => Arc::new(wide.into_iter().map(|number| number.map(low)).collect::<Int32Array>()),
        _ => Arc::new(StringArray::from(texts)),
    };
    let kind = format!("{} {}", if optional { "optional" } else { "required" }, TYPES[which]);
    Case { bytes: file(&kind, &pages, column.len()), column }
}

#[test]
fn deltas_of_any_layout_are_decoded() {
    for seed in 0..common::seeds(60) {
        let Case { column, bytes } = case(&mut SplitMix64::new(seed));
        let found = decoded(&bytes, seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(found == column, "seed {seed}");
    }
}

/// A page that ends before its last wanted value is left to another engine, and so is one whose
/// header does not suit.
#[test]
fn deltas_that_are_missing_are_noticed() {
    let whole = |body: &[u8], count: usize| {
        decoded(&file("required int64 a;", &page(count, DELTA, body), count), 1).ok()
    };
    for seed in 0..common::seeds(20) {
        let mut chance = SplitMix64::new(seed ^ 0xDE17);
        let len = [2, 128, 129, 3000][chance.index(4)];
        let numbers: Vec<i64> = (0..len).map(|_| chance.next_u64().cast_signed()).collect();
        let layout = LAYOUTS[chance.index(LAYOUTS.len())];
        let body = deltas(&mut chance, &numbers, layout);
        let expected: ArrayRef = Arc::new(Int64Array::from(numbers));
        assert!(whole(&body, len) == Some(Arc::clone(&expected)), "seed {seed}");
        let cut = body.len() - 1 - chance.index(body.len() - 1);
        assert!(whole(&body[..cut], len).is_none(), "seed {seed}: {cut} of {}", body.len());
        assert!(whole(&body, len + 1).is_none(), "seed {seed}: one more");
        assert!(whole(&body, len - 1).is_none(), "seed {seed}: one less");
    }
    for header in [[0, 4], [100, 4], [127, 1], [128, 0], [128, 3], [128, 8], [1 << 21, 4]] {
        let mut body = Vec::new();
        header.into_iter().chain([2, 0]).for_each(|number| unsigned(number, &mut body));
        body.resize(400, 0);
        assert!(whole(&body, 2).is_none(), "{header:?}");
    }
}
