// SPDX-License-Identifier: Apache-2.0
//! CSV as written, compressed or not, and what CSV cannot hold.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Int64Array,
    RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::Error;
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_sink::csv::{CsvOptions, CsvSink, TextCompression};
use arrowsmith_sink::json::{JsonOptions, JsonSink};

fn batch() -> RecordBatch {
    let time = TimestampMillisecondArray::from(vec![Some(1_500), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![Some(-1), None]))),
        ("text, \"quoted\"", Arc::new(StringArray::from(vec!["a,\"\nb", ""]))),
        ("ok", Arc::new(BooleanArray::from(vec![true, false]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![12345, -1]).with_precision_and_scale(9, 2).unwrap(),
            ),
        ),
        ("at", Arc::new(time.with_timezone("Europe/Berlin"))),
        ("day", Arc::new(Date32Array::from(vec![19_787, 0]))),
        ("raw", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], b""]))),
        ("kind", Arc::new(DictionaryArray::<Int32Type>::from_iter(["x", "y"]))),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

const EXPECTED: &str = "id,\"text, \"\"quoted\"\"\",ok,price,at,day,raw,kind
-1,\"a,\"\"\nb\",true,123.45,1970-01-01T00:00:01.500Z,2024-03-05,00ff,x
,,false,-0.01,,1970-01-01,,y
";

fn write(path: &Path, batch: &RecordBatch, options: &CsvOptions, times: usize) -> u64 {
    let output = Output::create(path).unwrap();
    let mut sink = Box::new(CsvSink::new(output, &batch.schema(), options).unwrap());
    for _ in 0..times {
        sink.write(batch).unwrap();
    }
    let bytes = sink.finish().unwrap().bytes;
    assert_eq!(fs::metadata(path).unwrap().len(), bytes);
    bytes
}

fn read(path: &Path, compression: TextCompression) -> String {
    let file = fs::File::open(path).unwrap();
    let mut text = String::new();
    let read = match compression {
        TextCompression::None => fs::read_to_string(path).map(|all| text = all).map(|()| 0),
        TextCompression::Gzip(_) => flate2::read::GzDecoder::new(file).read_to_string(&mut text),
        TextCompression::Zstd(_) => {
            zstd::stream::read::Decoder::new(file).unwrap().read_to_string(&mut text)
        }
    };
    read.unwrap();
    text
}

#[test]
fn every_value_has_one_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    write(&path, &batch(), &CsvOptions::default(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), EXPECTED);
    // Only the header.
    write(&path, &batch(), &CsvOptions::default(), 0);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        EXPECTED.lines().next().unwrap().to_owned() + "\n"
    );
    let tabs = CsvOptions { delimiter: b'\t', ..CsvOptions::default() };
    write(&path, &batch().project(&[0, 2]).unwrap(), &tabs, 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "id\tok\n-1\ttrue\n\tfalse\n");
}

/// More rows than are written at once, in each compression, and the same of JSON.
#[test]
fn a_compressed_file_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_001));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let lines = |line: &dyn Fn(i64) -> String| (0..10_001).map(line).collect::<String>();
    let expected = String::from("id\n") + &lines(&|id| format!("{id}\n"));
    let objects = lines(&|id| format!("{{\"id\":{id}}}\n"));
    let mut sizes = Vec::new();
    for compression in [
        TextCompression::None,
        TextCompression::Gzip(0),
        TextCompression::GZIP,
        TextCompression::ZSTD,
        TextCompression::Zstd(22),
    ] {
        let path = folder.path().join("x");
        sizes.push(write(&path, &batch, &CsvOptions { compression, ..CsvOptions::default() }, 1));
        assert_eq!(read(&path, compression), expected);
        let options = JsonOptions { compression, ..JsonOptions::default() };
        let output = Output::create(&path).unwrap();
        let mut sink = Box::new(JsonSink::new(output, &batch.schema(), &options).unwrap());
        sink.write(&batch).unwrap();
        assert_eq!(sink.finish().unwrap().bytes, fs::metadata(&path).unwrap().len());
        assert_eq!(read(&path, compression), objects);
    }
    assert!(sizes[2] < sizes[0] / 2 && sizes[3] < sizes[0] / 2, "{sizes:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn what_csv_does_not_have_is_refused_before_the_first_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let item = || Arc::new(Field::new("item", DataType::Int64, true));
    let text = DataType::Utf8;
    let refused = [
        (vec![Field::new("a", DataType::List(item()), true)], "a: CSV has no lists"),
        (vec![Field::new("a", DataType::Struct(vec![item()].into()), true)], "a: CSV has no lists"),
        (
            vec![Field::new("a", text.clone(), true), Field::new("a", text, true)],
            "a: CSV has no two",
        ),
        (vec![], "at least one column"),
    ];
    for (fields, expected) in refused {
        let output = Output::create(&path).unwrap();
        let made = CsvSink::new(output, &Schema::new(fields), &CsvOptions::default());
        let error = made.err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for compression in [TextCompression::Gzip(10), TextCompression::Zstd(0)] {
        let options = CsvOptions { compression, ..CsvOptions::default() };
        let made = CsvSink::new(Output::create(&path).unwrap(), &batch().schema(), &options);
        assert!(matches!(made.err(), Some(Error::Config(_))));
    }
    // A sink that is dropped leaves nothing, compressed or not.
    let options = CsvOptions { compression: TextCompression::ZSTD, ..CsvOptions::default() };
    drop(CsvSink::new(Output::create(&path).unwrap(), &batch().schema(), &options).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
