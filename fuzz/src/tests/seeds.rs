// SPDX-License-Identifier: Apache-2.0
//! Makes the seeds of the Parquet and Arrow targets with the writers of `parquet` and `arrow-ipc`:
//! `ARROWSMITH_BLESS=1` writes them; otherwise the files must be as they would be written.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int32Array,
    Int64Array, NullArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{
    DictionaryTracker, FileWriter, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, StreamWriter,
};
use arrowsmith_core::Limits;
use arrowsmith_parquet::{File, Page, Pages};
use arrowsmith_testkit::parquet::random;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

const ROWS: i32 = 150;

fn write(
    column: ArrayRef,
    nullable: bool,
    encoding: Option<Encoding>,
    codec: Compression,
) -> Bytes {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(encoding.is_none())
        .set_data_page_row_count_limit(60)
        .set_write_batch_size(20)
        .set_compression(codec);
    if let Some(encoding) = encoding {
        properties = properties.set_encoding(encoding);
    }
    let batch = RecordBatch::try_from_iter_with_nullable([("a", column, nullable)]).unwrap();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

fn text(nulls: bool) -> ArrayRef {
    let value = |row: i32| (!nulls || row % 3 > 0).then(|| format!("text-{}", row % 13));
    Arc::new((0..ROWS).map(value).collect::<StringArray>())
}

/// One for each column of `parquet_pages`, in order.
fn columns() -> Vec<(ArrayRef, bool)> {
    let mut lists = ListBuilder::new(Int32Builder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..ROWS {
        for item in 0..row % 4 {
            lists.values().append_option((item != 1).then_some(row));
            maps.keys().append_value(format!("k{item}"));
            maps.values().append_value(row);
        }
        lists.append(row % 5 > 0);
        maps.append(true).unwrap();
    }
    let some = |row: i32| row % 4 > 0;
    let bytes = (0..ROWS).map(|row| some(row).then(|| row.to_le_bytes()[..3].to_vec()));
    vec![
        (Arc::new((0..i64::from(ROWS)).map(|row| row * row).collect::<Int64Array>()), false),
        (Arc::new((0..ROWS).map(|row| some(row).then_some(row)).collect::<Int32Array>()), true),
        (
            Arc::new(
                (0..ROWS).map(|row| some(row).then_some(row % 2 > 0)).collect::<BooleanArray>(),
            ),
            true,
        ),
        (text(false), false),
        (text(true), true),
        (Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 3).unwrap()), true),
        // The crate does not write INT96; any twelve bytes will do.
        (
            Arc::new(
                (0..ROWS).map(|row| some(row).then_some(f64::from(row))).collect::<Float64Array>(),
            ),
            true,
        ),
        (
            Arc::new(
                (0..ROWS).map(|row| some(row).then_some(f64::from(row))).collect::<Float64Array>(),
            ),
            true,
        ),
        (Arc::new(lists.finish()), true),
        (Arc::new(maps.finish()), false),
    ]
}

fn chunk(bytes: &Bytes) -> Vec<u8> {
    let file = File::open(bytes.clone(), &Limits::default()).unwrap();
    file.slice(file.chunk_range(0, 0).unwrap()).unwrap().to_vec()
}

/// The values of the first data page, and its definition levels.
fn first_page(bytes: &Bytes) -> (Vec<u8>, Vec<u8>) {
    let file = File::open(bytes.clone(), &Limits::default()).unwrap();
    let mut pages = Pages::new(&file, 0, 0).unwrap();
    while let Some(page) = pages.next().unwrap() {
        if let Page::Data(page) = page {
            return (page.values.to_vec(), page.def.bytes.to_vec());
        }
    }
    panic!("a data page");
}

/// Messages of batches with every kind of buffer, as `ipc_message` reads them.
fn messages() -> Vec<(String, Vec<u8>)> {
    let numbers: ArrayRef =
        Arc::new((0..20).map(|n| (n % 3 > 0).then_some(n)).collect::<Int64Array>());
    let texts = || (0..20).map(|n| (n % 4 > 0).then(|| format!("a text of row {}", n % 5)));
    let views: ArrayRef = Arc::new(texts().collect::<StringViewArray>());
    let words: ArrayRef = Arc::new(texts().collect::<StringArray>());
    let kinds = (0..20).map(|n| ["a", "b", "c"][n % 3]);
    let kinds: ArrayRef = Arc::new(kinds.collect::<DictionaryArray<Int8Type>>());
    let mut lists = ListBuilder::new(Int32Builder::new());
    (0..20).for_each(|n| lists.append_value((0..n % 3).map(Some)));
    let lists: ArrayRef = Arc::new(lists.finish());
    let nulls: ArrayRef = Arc::new(NullArray::new(20));
    let fixed = (0..20_i32).map(|n| n.to_le_bytes());
    let fixed: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(fixed).unwrap());
    let columns = [
        ("numbers", numbers),
        ("texts", words),
        ("views", views),
        ("kinds", kinds),
        ("lists", lists),
        ("nulls", nulls),
        ("fixed", fixed),
    ];
    let codecs = [
        ("plain", None),
        ("lz4", Some(CompressionType::LZ4_FRAME)),
        ("zstd", Some(CompressionType::ZSTD)),
    ];
    let mut all = Vec::new();
    for (codec, compression) in codecs {
        for (name, column) in &columns {
            let batch = RecordBatch::try_from_iter([(*name, Arc::clone(column))]).unwrap();
            all.push((format!("{name}-{codec}"), message_bytes(&batch, compression)));
        }
    }
    all
}

fn message_bytes(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut tracker = DictionaryTracker::new(false);
    let writer = IpcDataGenerator::default();
    let schema =
        writer.schema_to_bytes_with_dictionary_tracker(&batch.schema(), &mut tracker, &options);
    let context = &mut IpcWriteContext::default();
    let (dictionaries, data) = writer.encode(batch, &mut tracker, &options, context).unwrap();
    let mut bytes = vec![0];
    for message in std::iter::once(schema).chain(dictionaries).chain([data]) {
        for part in [&message.ipc_message, &message.arrow_data] {
            bytes.extend(u16::try_from(part.len()).unwrap().to_le_bytes());
        }
        bytes.extend([message.ipc_message, message.arrow_data].concat());
    }
    bytes
}

/// Files and streams that `convert` reads, of several batches, some without rows or bytes.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let kinds = |kinds: [&'static str; 3]| -> ArrayRef {
        Arc::new(kinds.into_iter().collect::<DictionaryArray<Int8Type>>())
    };
    let batch = |n: i64, names: [&'static str; 3]| {
        let columns: [(&str, ArrayRef); 4] = [
            ("n", Arc::new(Int64Array::from(vec![Some(n), None, Some(n + 1)]))),
            (
                "t",
                Arc::new(StringViewArray::from(vec![Some("a text beyond a view"), None, Some("")])),
            ),
            ("k", kinds(names)),
            ("z", Arc::new(NullArray::new(3))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, c)| (name, c, true))).unwrap()
    };
    let first = batch(0, ["a", "b", "a"]);
    let batches = [first.slice(0, 0), first.clone(), first.slice(0, 0), first.slice(1, 2)];
    let nulls =
        |rows| RecordBatch::try_from_iter([("z", Arc::new(NullArray::new(rows)) as _)]).unwrap();
    let nulls = [nulls(3), nulls(0), nulls(2)];
    let codecs = [
        ("plain", None),
        ("lz4", Some(CompressionType::LZ4_FRAME)),
        ("zstd", Some(CompressionType::ZSTD)),
    ];
    let mut all = Vec::new();
    for (codec, compression) in codecs {
        let options = || IpcWriteOptions::default().try_with_compression(compression).unwrap();
        for (name, batches) in [("mixed", &batches[..]), ("nulls", &nulls)] {
            let schema = batches[0].schema();
            let mut writer =
                StreamWriter::try_new_with_options(vec![0], &schema, options()).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            all.push((format!("stream-{name}-{codec}"), writer.into_inner().unwrap()));
            let mut writer =
                FileWriter::try_new_with_options(Vec::new(), &schema, options()).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            let file = [vec![1], writer.into_inner().unwrap()].concat();
            all.push((format!("file-{name}-{codec}"), file));
        }
    }
    all
}

/// Target, name, bytes.
fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for seed in 0..4_u64 {
        seeds.push(("parquet_random", format!("seed-{seed}"), seed.to_le_bytes().to_vec()));
        seeds.push(("parquet_claims", format!("seed-{seed}"), seed.to_le_bytes().to_vec()));
        seeds.push(("parquet_writer", format!("seed-{seed}"), seed.to_le_bytes().to_vec()));
    }
    let small = (0..).map(|seed| (seed, random::file(seed).bytes)).filter(|(_, f)| f.len() < 3_000);
    for (seed, file) in small.take(12) {
        seeds.push(("parquet_file", format!("random-{seed}"), file.to_vec()));
        seeds.push(("parquet_reader", format!("random-{seed}"), file.to_vec()));
    }
    seeds.extend(inputs().into_iter().map(|(name, bytes)| ("arrow_input", name, bytes)));
    seeds.extend(messages().into_iter().map(|(name, bytes)| ("ipc_message", name, bytes)));
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::BROTLI(Default::default()),
    ];
    for (at, (column, nullable)) in columns().into_iter().enumerate() {
        for (codec, compression) in codecs.into_iter().enumerate() {
            if codec > 0 && codec != 1 + at % 6 {
                continue;
            }
            let pages = chunk(&write(Arc::clone(&column), nullable, None, compression));
            let head = [at, codec, 150].map(|part| part.to_le_bytes()[0]);
            seeds.push(("parquet_pages", format!("{at}-{codec}"), [&head[..], &pages].concat()));
        }
    }
    let integers = &columns()[0].0;
    let narrow: ArrayRef = Arc::new((0..ROWS).map(|row| row * 7 % 50).collect::<Int32Array>());
    let floats: ArrayRef = Arc::new((0..ROWS).map(f64::from).collect::<Float64Array>());
    let cases: [(u8, &ArrayRef, Option<Encoding>); 16] = [
        (0, integers, Some(Encoding::PLAIN)),
        (1, &narrow, Some(Encoding::DELTA_BINARY_PACKED)),
        (2, integers, Some(Encoding::DELTA_BINARY_PACKED)),
        (3, &narrow, None),
        (4, &narrow, None),
        (5, &narrow, Some(Encoding::BYTE_STREAM_SPLIT)),
        (6, &floats, Some(Encoding::BYTE_STREAM_SPLIT)),
        (7, integers, Some(Encoding::PLAIN)),
        (8, integers, Some(Encoding::PLAIN)),
        (9, &narrow, Some(Encoding::DELTA_BINARY_PACKED)),
        (12, &narrow, Some(Encoding::BYTE_STREAM_SPLIT)),
        (13, &narrow, None),
        (14, &text(false), Some(Encoding::PLAIN)),
        (15, &text(false), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        (16, &text(false), Some(Encoding::DELTA_BYTE_ARRAY)),
        (17, &narrow, None),
    ];
    for (which, column, encoding) in cases {
        let file = write(Arc::clone(column), false, encoding, Compression::UNCOMPRESSED);
        let (values, _) = first_page(&file);
        for (rows, step, nulls) in [(6, 255, 0), (6, 2, 60)] {
            let seed = [&[which, rows, step, nulls][..], &values].concat();
            seeds.push(("parquet_values", format!("{which}-{nulls}"), seed));
        }
    }
    let (_, levels) = first_page(&write(text(true), true, None, Compression::UNCOMPRESSED));
    for which in 0..5 {
        let seed = [&[which, 1, 12][..], &levels].concat();
        seeds.push(("parquet_levels", format!("{which}"), seed));
    }
    let lists: Vec<u8> =
        (0..200).map(|at| at % 6).chain((0..200_u8).map(|at| at.wrapping_mul(7) % 3)).collect();
    seeds.push(("parquet_levels", "lists".into(), [&[4, 0, 0][..], &lists].concat()));
    seeds
}

#[test]
fn seeds_are_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (target, name, bytes) in seeds() {
        let path = folder.join(target).join(name);
        if std::env::var_os("ARROWSMITH_BLESS").is_some() {
            std::fs::create_dir_all(folder.join(target)).unwrap();
            std::fs::write(&path, bytes).unwrap();
        } else {
            assert!(path.is_file(), "{}", path.display());
        }
    }
}
