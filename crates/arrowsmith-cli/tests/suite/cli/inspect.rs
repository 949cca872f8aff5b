// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith inspect` on good, broken and foreign files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_sink::ipc::{BufferCompression, Format, IpcOptions, IpcSink};
use arrowsmith_sink::parquet::{ParquetOptions, ParquetSink};

use crate::cli::run::{Folder, snapshot};

fn batch(rows: i64) -> RecordBatch {
    let numbers = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    let texts: StringArray = (0..rows).map(|n| (n % 4 != 0).then(|| format!("text {n}"))).collect();
    let fields = vec![
        Field::new("number", numbers.data_type().clone(), false),
        Field::new("text", arrow_schema::DataType::Utf8, true),
    ];
    let metadata = HashMap::from([("answer".to_owned(), "4\"2".to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    RecordBatch::try_new(schema, vec![numbers, Arc::new(texts)]).unwrap()
}

fn finish(mut sink: Box<dyn Sink>, sizes: &[i64]) {
    for &rows in sizes {
        sink.write(&batch(rows)).unwrap();
    }
    sink.finish().unwrap();
}

fn write_arrow(folder: &Folder, name: &str, options: &IpcOptions, sizes: &[i64]) {
    let output = Output::create(folder.path(name)).unwrap();
    finish(Box::new(IpcSink::new(output, &batch(1).schema(), options).unwrap()), sizes);
}

fn write_parquet(folder: &Folder, name: &str, sizes: &[i64]) {
    let output = Output::create(folder.path(name)).unwrap();
    let options = ParquetOptions { row_group_rows: 600, ..ParquetOptions::default() };
    finish(Box::new(ParquetSink::new(output, &batch(1).schema(), &options).unwrap()), sizes);
}

#[test]
fn arrow_and_parquet_are_described() {
    let folder = Folder::new();
    let stream = IpcOptions { format: Format::Stream, compression: BufferCompression::Lz4 };
    write_arrow(&folder, "x.arrow", &IpcOptions::default(), &[1000, 0, 250]);
    write_arrow(&folder, "many.arrow", &IpcOptions::default(), &[1; 30]);
    write_arrow(&folder, "x.arrows", &stream, &[1000, 250]);
    write_parquet(&folder, "x.parquet", &[1000, 250]);
    for name in ["x.arrow", "many.arrow", "x.arrows", "x.parquet"] {
        let ran = folder.run(&["inspect", name]);
        ran.assert_status(0);
        snapshot(&format!("inspect/{name}.txt"), str::from_utf8(&ran.stdout).unwrap());
        let ran = folder.run(&["inspect", "--json", name]);
        ran.assert_status(0);
        snapshot(&format!("inspect/{name}.json"), str::from_utf8(&ran.stdout).unwrap());
    }
    let ran = folder.run_with(&["inspect", "-"], &folder.read("x.arrows"));
    assert_eq!(ran.stdout, folder.run(&["inspect", "x.arrows"]).stdout);
}

#[test]
fn a_broken_file_is_an_error_wherever_it_breaks() {
    let folder = Folder::new();
    write_arrow(&folder, "x.arrow", &IpcOptions::default(), &[100]);
    let stream = IpcOptions { format: Format::Stream, ..IpcOptions::default() };
    write_arrow(&folder, "x.arrows", &stream, &[100]);
    write_parquet(&folder, "x.parquet", &[100]);
    for name in ["x.arrow", "x.arrows", "x.parquet"] {
        let whole = folder.read(name);
        for part in [0, 1, 5, 8, 100, whole.len() / 2, whole.len() - 1] {
            folder.write("broken", &whole[..part]);
            let ran = folder.run(&["inspect", "broken"]);
            if name == "x.arrows" && part >= whole.len() - 1 {
                // Only the end-of-stream marker is cut off.
                continue;
            }
            ran.assert_status(1);
            assert!(ran.stderr.starts_with("error: broken: "), "{}", ran.text());
            assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.text());
        }
    }
}

#[test]
fn every_byte_may_be_wrong() {
    let folder = Folder::new();
    write_arrow(&folder, "x.arrow", &IpcOptions::default(), &[3]);
    let whole = folder.read("x.arrow");
    // The footer and the lengths around it: every 7th byte of the last part, flipped.
    for at in (whole.len() - 400..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        folder.write("broken", &bytes);
        let ran = folder.run(&["inspect", "broken"]);
        assert!(matches!(ran.status, 0 | 1), "byte {at}: {}", ran.text());
        assert!(!ran.stderr.contains("panicked"), "byte {at}: {}", ran.text());
    }
}

#[test]
fn other_files_are_refused() {
    let folder = Folder::new();
    folder.write("x.json", "{}");
    let mut text = String::new();
    for args in [["inspect", "x.json"], ["inspect", "missing"], ["inspect", "."]] {
        let ran = folder.run(&args);
        ran.assert_status(1);
        text.push_str(&ran.stderr);
    }
    snapshot("inspect/refused.txt", &text);
}
