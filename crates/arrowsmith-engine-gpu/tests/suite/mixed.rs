// SPDX-License-Identifier: Apache-2.0
//! Columns whose first pages have a dictionary, and the others another encoding, as writers make
//! them; runs of all lengths, in pages of several tiles; and columns of several codecs in one row
//! group.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{Field, Schema};
use arrowsmith_core::{Limits, Result};
use arrowsmith_engine::{Chain, ColumnRequest, Engine};
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_parquet::{Budget, File, ReadOptions, ReadPlan};
use arrowsmith_testkit::engines::cpu;
use arrowsmith_workload::SplitMix64;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use crate::common;

/// Numbers in runs, from as many as there are kinds; some are none.
fn picks(chance: &mut SplitMix64) -> Vec<Option<usize>> {
    let len = [40, 3000, 12_000][chance.index(3)];
    let kinds = [1, 2, 9, 300, 5000][chance.index(5)];
    let run_max = [1, 3, 40, 3000][chance.index(4)];
    let nulls = [0, 0, 5, 60][chance.index(4)];
    let mut picks = Vec::with_capacity(len);
    while picks.len() < len {
        let pick = (nulls == 0 || chance.index(nulls) > 0).then(|| chance.index(kinds));
        let run = (1 + chance.index(run_max)).min(len - picks.len());
        picks.extend((0..run).map(|_| pick));
    }
    picks
}

/// A column, and how it is encoded once it has no dictionary.
fn case(chance: &mut SplitMix64) -> (ArrayRef, Encoding) {
    let picks = picks(chance).into_iter();
    let text = |pick: usize| format!("{}é{}", pick * 7919, "x".repeat(pick % 23));
    let number = |pick: usize| i64::try_from(pick * 7919).unwrap() - 90_000;
    match chance.index(6) {
        0 => (
            Arc::new(picks.map(|pick| pick.map(number)).collect::<Int64Array>()),
            Encoding::DELTA_BINARY_PACKED,
        ),
        1 => {
            let floats =
                picks.map(|pick| pick.map(|pick| f32::from(u16::try_from(pick).unwrap()) / 7.0));
            let encoding = [Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT][chance.index(2)];
            (Arc::new(floats.collect::<Float32Array>()), encoding)
        }
        2 => (
            Arc::new(picks.map(|pick| pick.map(|pick| pick % 2 > 0)).collect::<BooleanArray>()),
            Encoding::RLE,
        ),
        which => {
            let encodings =
                [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY, Encoding::PLAIN];
            let texts = picks.map(|pick| pick.map(text));
            (Arc::new(texts.collect::<StringArray>()), encodings[which - 3])
        }
    }
}

fn file(chance: &mut SplitMix64, column: &ArrayRef, encoding: Encoding) -> Vec<u8> {
    let nullable = column.null_count() > 0 || chance.index(2) > 0;
    let field = Field::new("x", column.data_type().clone(), nullable);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema, vec![Arc::clone(column)]).unwrap();
    let codecs = [Compression::UNCOMPRESSED, Compression::UNCOMPRESSED, Compression::SNAPPY];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let rows = [300, 5000, 1 << 20][chance.index(3)];
    let properties = WriterProperties::builder()
        .set_writer_version(versions[chance.index(2)])
        .set_dictionary_enabled(chance.index(4) > 0 && encoding != Encoding::RLE)
        .set_dictionary_page_size_limit([100, 3000, 1 << 20][chance.index(3)])
        .set_encoding(encoding)
        .set_compression(codecs[chance.index(3)])
        .set_data_page_row_count_limit(rows)
        .set_write_batch_size(rows.min(1024));
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn columns_of_several_encodings_are_decoded() {
    let mut mixed = 0;
    for seed in 0..common::seeds(60) {
        let mut chance = SplitMix64::new(seed);
        let (column, encoding) = case(&mut chance);
        let bytes = file(&mut chance, &column, encoding);
        let file = File::open(Bytes::from(bytes), &Limits::default()).unwrap();
        let chunk = file.chunk(0, 0).unwrap();
        let has = |wanted: Encoding| chunk.encodings().any(|encoding| encoding == wanted);
        mixed += u64::from(has(Encoding::RLE_DICTIONARY) && has(encoding));
        let engine = GpuEngine::new(common::device(seed), GpuOptions::default());
        let read = ReadOptions::default();
        let plan = ReadPlan::new(&file, &read).unwrap();
        let batch = engine
            .device_batch(&file, 0, &plan, &read, &Chain::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {encoding}: {error}"));
        let found = batch.to_host().unwrap();
        assert!(found.column(0) == &column, "seed {seed}: {encoding}");
    }
    assert!(mixed > 0);
}

/// A row group whose pages are decompressed at once, whatever their codecs; or, if one page is
/// damaged, read by the next engine.
#[test]
fn columns_of_several_codecs_are_decompressed_together() {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let codecs = [zstd, Compression::SNAPPY, Compression::UNCOMPRESSED, zstd, Compression::SNAPPY];
    let mut all_left = 0;
    for seed in 0..common::seeds(12) {
        let mut chance = SplitMix64::new(seed);
        let rows = [50, 4000, 30_000][chance.index(3)];
        let kinds = [1, 9, 300, 5000][chance.index(4)];
        let mut picks = || (0..rows).map(|_| chance.index(kinds)).collect::<Vec<_>>();
        let mut properties = WriterProperties::builder().set_data_page_row_count_limit(rows / 3);
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (number, codec) in codecs.into_iter().enumerate() {
            let name = format!("c{number}");
            properties = properties.set_column_compression(ColumnPath::from(name.as_str()), codec);
            let picks = picks().into_iter();
            let column: ArrayRef = match number % 2 {
                0 => Arc::new(picks.map(|pick| i64::try_from(pick).ok()).collect::<Int64Array>()),
                _ => Arc::new(
                    picks.map(|pick| Some(format!("text {pick}"))).collect::<StringArray>(),
                ),
            };
            columns.push((name, column));
        }
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = properties.set_write_batch_size(rows / 3).build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let bytes = writer.into_inner().unwrap();
        let options = GpuOptions::default().with_split_bytes_min([0, 16 << 10][chance.index(2)]);
        let engine = GpuEngine::new(common::device(seed), options);
        let read = ReadOptions::default();
        let decoded = |bytes: &[u8], rest: &Chain| {
            let file = File::open(Bytes::copy_from_slice(bytes), &Limits::default())?;
            let plan = ReadPlan::new(&file, &read)?;
            engine.device_batch(&file, 0, &plan, &read, rest)?.to_host()
        };
        // No other engine: all of it was decoded on the device.
        let found = decoded(&bytes, &Chain::default()).unwrap();
        assert_eq!(found.columns(), batch.columns(), "seed {seed}");
        let footer = bytes[bytes.len() - 8..].first_chunk().map(|len| u32::from_le_bytes(*len));
        let pages_end = bytes.len() - 8 - usize::try_from(footer.unwrap()).unwrap();
        for _ in 0..8 {
            let mut broken = bytes.clone();
            let at = 4 + chance.index(pages_end - 4);
            broken[at] ^= 1 << chance.index(8);
            let left_before = engine.column_chunks().1;
            let found = decoded(&broken, &Chain::from(cpu()));
            let left = engine.column_chunks().1 - left_before;
            assert!(left <= 1, "seed {seed}, byte {at}: the other columns are not affected");
            // If the host makes nothing of it, the device may not notice.
            if let Ok(expected) = by_cpu(&broken, &read) {
                assert_eq!(found.unwrap().columns(), expected, "seed {seed}, byte {at}");
            }
            all_left += left;
        }
    }
    assert!(all_left > 0);
}

/// The columns of the first row group by engine cpu.
fn by_cpu(bytes: &[u8], options: &ReadOptions) -> Result<Vec<ArrayRef>> {
    let file = File::open(Bytes::copy_from_slice(bytes), &Limits::default())?;
    let (chain, rows) = (Chain::from(cpu()), file.row_group_rows(0)?);
    let plan = ReadPlan::new(&file, options)?;
    let columns = plan.fields.iter().map(|column| {
        let decoder = chain.column(&ColumnRequest {
            file: &file,
            row_group: 0,
            column,
            selection: None,
            batch_rows: rows,
            options,
            budget: &Budget::unbounded(),
        });
        decoder?.next(rows)
    });
    columns.collect()
}
