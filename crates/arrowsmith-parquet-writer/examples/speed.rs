// SPDX-License-Identifier: Apache-2.0
//! Writes generated rows with this crate and with the `parquet` crate, in turn, and prints the
//! processor time and the bytes of each:
//! `cargo run --release --example speed -p arrowsmith-parquet-writer` for single columns, with the
//! argument `64` for workloads of 64 MiB of JSON each; a second argument selects data by their
//! name, a third is the number of rounds.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a measurement that cannot go on ends"
)]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrowsmith_parquet_writer::{Options, ParquetWriter};
use arrowsmith_testkit::random::Rng;
use arrowsmith_workload::{Generator, Workload};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// The allocator of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Values of a column.
const VALUES: usize = 4_000_000;
/// Rows of a batch.
const BATCH_ROWS: usize = 64 << 10;

fn integers(value: impl FnMut(usize) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..VALUES).map(value)))
}

fn texts(value: impl FnMut(usize) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..VALUES / 2).map(value)))
}

/// A column by its name.
fn column(name: &str) -> ArrayRef {
    let rng = &mut Rng::new(7);
    let mut sum = 0;
    match name {
        "int64-random" => integers(|_| (rng.bits() >> 11) as i64),
        "int64-small" => integers(|_| rng.below(100) as i64),
        "int64-20bit" => integers(|_| rng.below(1 << 20) as i64),
        "int64-few-wide" => integers(|_| rng.below(1_000) as i64 * 1_000_000_007),
        "int64-sorted" => integers(|_| {
            sum += rng.below(16) as i64;
            sum
        }),
        "int64-nulls" => Arc::new(Int64Array::from_iter(
            (0..VALUES).map(|_| (!rng.one_in(5)).then(|| rng.below(5_000) as i64)),
        )),
        "float64" => Arc::new(Float64Array::from_iter_values(
            (0..VALUES).map(|_| rng.below(100_000) as f64 / 100.0),
        )),
        "string-few" => texts(|_| format!("category {}", rng.below(40))),
        "string-1000" => texts(|_| format!("https://example.com/{}", rng.below(1_000))),
        "string-many" => texts(|_| format!("user-{:x}-{}", rng.bits() >> 11, rng.below(1_000))),
        "list-int64" => {
            let mut lists = ListBuilder::new(Int64Builder::new());
            for _ in 0..VALUES / 8 {
                (0..rng.below(16))
                    .for_each(|_| lists.values().append_value(rng.below(2_047) as i64));
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        _ => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for _ in 0..VALUES / 16 {
                let tags = rng.below(8);
                (0..tags)
                    .for_each(|_| lists.values().append_value(format!("tag{}", rng.below(300))));
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
    }
}

const COLUMNS: [&str; 12] = [
    "int64-random",
    "int64-small",
    "int64-20bit",
    "int64-sorted",
    "int64-few-wide",
    "int64-nulls",
    "float64",
    "string-few",
    "string-1000",
    "string-many",
    "list-int64",
    "list-string",
];

fn batches(name: &str) -> Vec<RecordBatch> {
    let rows = RecordBatch::try_from_iter_with_nullable([("c", column(name), true)]).unwrap();
    let starts = (0..rows.num_rows()).step_by(BATCH_ROWS);
    starts.map(|start| rows.slice(start, BATCH_ROWS.min(rows.num_rows() - start))).collect()
}

/// Arrow's JSON reader knows no named zones.
fn without_zone(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_zone).collect()),
        DataType::List(item) => DataType::List(without_zone(item)),
        other => other.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(kind))
}

fn workload(workload: Workload, bytes: usize) -> Vec<RecordBatch> {
    let fields: Vec<FieldRef> = workload.schema().fields().iter().map(without_zone).collect();
    let mut text = Vec::new();
    Generator::new(workload, 7, 64).fill(bytes, &mut text);
    let reader = arrow_json::ReaderBuilder::new(Arc::new(Schema::new(fields)));
    let reader = reader.with_batch_size(BATCH_ROWS / 2).build(&text[..]).unwrap();
    reader.map(Result::unwrap).collect()
}

fn ours(batches: &[RecordBatch], options: &Options) -> usize {
    let schema = batches[0].schema();
    let mut writer = ParquetWriter::try_new(Vec::new(), schema, options.clone()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap().1.len()
}

fn theirs(batches: &[RecordBatch], codec: Compression) -> usize {
    let properties = WriterProperties::builder().set_compression(codec).build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap().len()
}

/// Seconds that this thread has had of a processor, where the system says so, else those gone by.
fn clock(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ran = text.split_whitespace().next().and_then(|ran| ran.parse::<f64>().ok());
    ran.map_or_else(|| start.elapsed().as_secs_f64(), |ran| ran / 1e9)
}

/// The median; the times are sorted.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let what = arguments.first().map_or("columns", String::as_str);
    let filter = arguments.get(1).map_or("", String::as_str);
    let rounds = arguments.get(2).and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let zstd = |level| Compression::ZSTD(ZstdLevel::try_new(level).unwrap());
    let codecs = [
        ("none", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("zstd:1", zstd(1)),
        ("zstd:3", zstd(3)),
    ];
    let workloads = [Workload::Logs, Workload::Lineitem, Workload::Trip, Workload::Taxi];
    let megabytes: Option<usize> = what.parse().ok();
    let names: Vec<&str> = match megabytes {
        Some(_) => workloads.iter().map(|workload| workload.name()).collect(),
        None => COLUMNS.to_vec(),
    };
    let codecs = if megabytes.is_some() { &codecs[..] } else { &codecs[..1] };
    println!("data            codec      ours s  theirs s  ratio       bytes  size  2 threads");
    for (at, name) in names.iter().enumerate().filter(|(_, name)| name.contains(filter)) {
        let batches = match megabytes {
            Some(megabytes) => workload(workloads[at], megabytes << 20),
            None => batches(name),
        };
        for (codec, their_codec) in codecs {
            let one = Options { codec: codec.parse().unwrap(), ..Options::default() };
            let two = Options { threads: 2, ..one.clone() };
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let (mut alone, mut both) = (f64::MAX, f64::MAX);
            let (mut bytes, mut their_bytes) = (0, 1);
            for _ in 0..rounds {
                let start = Instant::now();
                let before = clock(start);
                bytes = ours(&batches, &one);
                a.push(clock(start) - before);
                alone = alone.min(start.elapsed().as_secs_f64());
                let start = Instant::now();
                assert_eq!(ours(&batches, &two), bytes);
                both = both.min(start.elapsed().as_secs_f64());
                let before = clock(start);
                their_bytes = theirs(&batches, *their_codec);
                b.push(clock(start) - before);
            }
            let (a, b) = (median(&mut a), median(&mut b));
            let size = bytes as f64 / their_bytes as f64;
            let (ratio, threads) = (b / a, alone / both);
            println!(
                "{name:15} {codec:8} {a:8.4} {b:9.4} {ratio:6.2} {bytes:11} {size:5.3} {threads:10.2}"
            );
        }
    }
}
