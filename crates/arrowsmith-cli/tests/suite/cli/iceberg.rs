// SPDX-License-Identifier: Apache-2.0
//! `--format iceberg`: tables that pyiceberg made (`testdata/iceberg/make.py`), moved to here, with
//! the rows that it reads of them; and `--to iceberg`.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use serde_json::Value;

use crate::cli::data::{read_file, whole};
use crate::cli::run::Folder;

fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/iceberg")
}

fn table(name: &str) -> String {
    tables().join(name).display().to_string()
}

/// The one file of a table's metadata.
fn metadata(table: &Path) -> PathBuf {
    let files = fs::read_dir(table.join("metadata")).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    files.next().unwrap()
}

/// A value of `rows.json` as Arrow shows it.
fn shown(value: &Value, data_type: &DataType) -> String {
    match (value, data_type) {
        (Value::Null, _) => String::new(),
        (Value::Number(number), DataType::Float32 | DataType::Float64) => {
            format!("{:?}", number.as_f64().unwrap())
        }
        (Value::String(text), DataType::Timestamp(..)) => {
            text.replace(' ', "T").replace("+00:00", "Z")
        }
        (Value::String(text), DataType::FixedSizeBinary(16)) => text.replace('-', ""),
        (Value::String(text), _) => text.clone(),
        (Value::Array(pairs), DataType::Map(..)) => {
            let pairs = pairs.iter().map(|pair| {
                let value = shown(&pair[1], &DataType::Int64);
                format!("{}: {value}", pair[0].as_str().unwrap())
            });
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        (Value::Array(items), _) => {
            let items = items.iter().map(|item| shown(item, &DataType::Int32));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        (Value::Object(fields), _) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{key}: {}", value.as_str().unwrap()));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        (other, _) => other.to_string(),
    }
}

fn rows(batch: &RecordBatch) -> Vec<(String, Vec<String>)> {
    let options = FormatOptions::default();
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| {
        let formatter = ArrayFormatter::try_new(column, &options).unwrap();
        let values = (0..batch.num_rows()).map(|row| formatter.value(row).to_string());
        (field.name().clone(), values.collect())
    });
    columns.collect()
}

fn read(folder: &Folder, table: &str, args: &[&str]) -> RecordBatch {
    let all = [&["convert", "-q", table, "--format", "iceberg", "-o", "x.arrow"], args].concat();
    folder.run(&all).assert_status(0);
    whole(&read_file(folder, "x.arrow"))
}

#[test]
fn tables_have_the_rows_that_pyiceberg_reads() {
    let folder = Folder::new();
    let expected: Value =
        serde_json::from_slice(&fs::read(tables().join("rows.json")).unwrap()).unwrap();
    for (name, columns) in expected.as_object().unwrap() {
        for engine in ["cpu", "reference"] {
            let found = read(&folder, &table(name), &["--engine", engine]);
            let schema = found.schema();
            let mut expected = Vec::new();
            for (column, values) in columns.as_object().unwrap() {
                let data_type = schema.field_with_name(column).unwrap().data_type();
                let values = values.as_array().unwrap().iter();
                let values = values.map(|value| shown(value, data_type)).collect::<Vec<_>>();
                expected.push((column.clone(), values));
            }
            let mut found = rows(&found);
            // Keys of JSON have no order here.
            if engine == "cpu" && name == "evolved" {
                let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
                assert_eq!(names, ["price", "id", "a.b", "amount", "was", "id2"]);
            }
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{name}, {engine}");
        }
    }
}

#[test]
fn fields_of_structs_are_found_by_their_ids() {
    let folder = Folder::new();
    let expected = fs::read(tables().join("nested.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
    for engine in ["cpu", "reference"] {
        let args = ["--format", "iceberg", "--engine", engine, "-o", "x.jsonl"];
        folder.run(&[&["convert", "-q", &table("nested")], &args[..]].concat()).assert_status(0);
        let found = String::from_utf8(folder.read("x.jsonl")).unwrap();
        let found = found.lines().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(found.collect::<Vec<Value>>(), expected, "{engine}");
    }
    let args = ["--where", "record.in.new is null and record.z = 1", "--columns", "record.in.new"];
    let found = read(&folder, &table("nested"), &args);
    assert_eq!(rows(&found), [("record".to_owned(), vec!["{in: {new: }}".to_owned()])]);
}

#[test]
fn columns_and_conditions_are_those_of_the_table() {
    let folder = Folder::new();
    let found = read(&folder, &table("partitioned"), &["--where", "level is null and n > 150"]);
    assert_eq!(found.num_rows(), 2);
    let found = read(&folder, &table("partitioned"), &["--columns", "n,level", "--limit", "1"]);
    assert_eq!(rows(&found).len(), 2);
    // Where a file lacks the column, it is null; where it had another name, it has its values.
    let found = read(&folder, &table("evolved"), &["--where", "was is null and price > 2"]);
    assert_eq!(rows(&found)[1], ("id".to_owned(), vec!["2".to_owned()]));
    let ran = folder.run(&["infer", &table("evolved"), "--format", "iceberg"]);
    ran.assert_status(0);
    let schema = String::from_utf8(ran.stdout).unwrap();
    assert!(schema.starts_with("price: float64 ") && schema.contains("\nid: int64 "), "{schema}");
    assert!(schema.contains("amount: decimal128(9, 2)"), "{schema}");
    let file = metadata(&tables().join("types")).display().to_string();
    assert_eq!(read(&folder, &file, &[]).num_rows(), 4);
}

/// A copy of a table with other metadata.
fn changed(folder: &Folder, from: &str, change: impl Fn(&mut Value)) -> String {
    let (from, to) = (tables().join(from), folder.path("changed"));
    for part in ["metadata", "data"] {
        fs::create_dir_all(to.join(part)).unwrap();
        for entry in fs::read_dir(from.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, to.join(part).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let file = metadata(&to);
    let mut metadata: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    change(&mut metadata);
    fs::write(file, metadata.to_string()).unwrap();
    to.display().to_string()
}

/// By files of positions, several of one file, and by deletion vectors, which take their place; the
/// rows are those that pyiceberg reads.
#[test]
fn deleted_rows_are_not_read() {
    let folder = Folder::new();
    let ranges: Vec<(i64, i64)> =
        serde_json::from_slice(&fs::read(tables().join("deleted.json")).unwrap()).unwrap();
    let expected: Vec<i64> = ranges.into_iter().flat_map(|(start, end)| start..end).collect();
    for engine in ["cpu", "reference"] {
        for (condition, from) in [("n >= 0", 0), ("n >= 82000", 82_000)] {
            let args = ["--engine", engine, "--where", condition];
            let found = read(&folder, &table("deleted"), &args);
            let mut found = found.column(0).as_primitive::<Int64Type>().values().to_vec();
            found.sort_unstable();
            let wanted = &expected[expected.partition_point(|n| *n < from)..];
            assert!(found == wanted, "{engine} {condition}");
        }
    }
}

#[test]
fn a_file_of_deleted_rows_that_is_none_is_an_error() {
    let folder = Folder::new();
    let table = changed(&folder, "deleted", |_| {});
    let data = folder.path("changed/data");
    let convert = |status: i32, expected: &str| {
        let ran = folder.run(&["convert", &table, "--format", "iceberg", "-o", "x.arrow"]);
        assert!(ran.status == status && ran.stderr.contains(expected), "{}", ran.text());
    };
    let manifest = folder.path("changed/metadata/deletes-m0.avro");
    let sound = fs::read(&manifest).unwrap();
    let mut equality = sound.clone();
    // The content of an entry, 1, before the path of its file.
    let is_content =
        |bytes: &[u8]| bytes.starts_with(&[2, 2, 2]) && bytes[4..].starts_with(b"file:");
    let at = equality.windows(9).position(is_content).unwrap();
    equality[at + 1] = 4;
    fs::write(&manifest, equality).unwrap();
    convert(1, "rows deleted by equality");
    fs::write(&manifest, sound).unwrap();

    let vectors = data.join("vectors.puffin");
    let sound = fs::read(&vectors).unwrap();
    for (at, expected) in [(4, "ends early"), (100, "another checksum")] {
        let mut broken = sound.clone();
        broken[at] ^= 1;
        fs::write(&vectors, broken).unwrap();
        convert(1, expected);
    }
    fs::write(&vectors, &sound[..40]).unwrap();
    convert(1, "ends early");
    fs::remove_file(&vectors).unwrap();
    convert(1, "vectors.puffin");
    fs::write(&vectors, &sound).unwrap();
    fs::write(data.join("positions-2.parquet"), "none").unwrap();
    convert(1, "positions-2.parquet");
    let rows = fs::read_dir(tables().join("types/data")).unwrap().next().unwrap().unwrap();
    fs::copy(rows.path(), data.join("positions-2.parquet")).unwrap();
    convert(1, "file_path");
}

#[test]
fn a_table_without_a_snapshot_has_columns() {
    let folder = Folder::new();
    let empty = changed(&folder, "partitioned", |table| table["current-snapshot-id"] = (-1).into());
    let to = ["-q", "--format", "iceberg", "-o", "x.csv", "--where", "n > 1"];
    folder.run(&[&["convert", &empty][..], &to].concat()).assert_status(0);
    assert_eq!(fs::read_to_string(folder.path("x.csv")).unwrap(), "level,ts,n\n");
}

#[test]
fn what_cannot_be_read_exactly_is_refused() {
    let folder = Folder::new();
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 7] = [
        (|table| table["format-version"] = 4.into(), "version 4 of the format"),
        (|table| table["current-schema-id"] = 9.into(), "no current schema"),
        (|table| table["current-snapshot-id"] = 9.into(), "current snapshot is missing"),
        (
            |table| table["schemas"][0]["fields"][0]["type"] = "variant".into(),
            "a column b of type variant",
        ),
        (
            |table| table["schemas"][0]["fields"][0]["initial-default"] = true.into(),
            "a default for earlier rows",
        ),
        (
            |table| {
                let mut before = table["schemas"][0].clone();
                before["schema-id"] = 7.into();
                before["fields"][16]["type"]["fields"][0]["type"] = "int".into();
                table["schemas"].as_array_mut().unwrap().push(before);
            },
            "a column st whose type has changed",
        ),
        (|table| table["partition-specs"] = Value::Array(Vec::new()), "partition spec 0"),
    ];
    for (change, expected) in changes {
        let table = changed(&folder, "types", change);
        let ran = folder.run(&["convert", &table, "--format", "iceberg", "-o", "x.arrow"]);
        assert!(ran.status != 0 && ran.stderr.contains(expected), "{}", ran.stderr);
    }
    // Files of its metadata that are no such files, and a table that is none.
    let table = changed(&folder, "types", |_| {});
    let metadata = folder.path("changed/metadata");
    for entry in fs::read_dir(&metadata).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "avro") {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
        }
    }
    let ran = folder.run(&["convert", &table, "--format", "iceberg", "-o", "x.arrow"]);
    assert!(ran.status == 1 && ran.stderr.contains("it is cut off"), "{}", ran.stderr);
    fs::write(metadata.join("00002-other.metadata.json"), "{}").unwrap();
    let ran = folder.run(&["convert", &table, "--format", "iceberg", "-o", "x.arrow"]);
    assert!(ran.stderr.contains("have the same number"), "{}", ran.stderr);
    fs::write(metadata.join("version-hint.text"), "00002-other.metadata.json\n").unwrap();
    let ran = folder.run(&["convert", &table, "--format", "iceberg", "-o", "x.arrow"]);
    assert!(ran.stderr.contains("no metadata of a table"), "{}", ran.stderr);
    let ran = folder.run(&["convert", "nowhere", "--format", "iceberg", "-o", "x.arrow"]);
    assert!(ran.stderr.contains("there is no Iceberg table"), "{}", ran.stderr);
    let two = folder.run(&["convert", "a", "b", "--format", "iceberg", "-o", "x.arrow"]);
    assert!(two.status == 2 && two.stderr.contains("reads one table"), "{}", two.stderr);
}

#[test]
fn a_table_is_written_grows_and_is_read() {
    let folder = Folder::new();
    let lines = |rows: std::ops::Range<i64>| {
        let line = |n: i64| {
            let (level, minute) = (["info", "a/b ä%"][usize::try_from(n % 2).unwrap()], n % 60);
            let rest = format!("\"ts\":\"2024-03-05T01:{minute:02}:00Z\",\"tags\":[\"{n}\"]");
            format!("{{\"id\":{n},\"level\":\"{level}\",{rest}}}\n")
        };
        rows.map(line).collect::<String>()
    };
    folder.write("in.jsonl", lines(0..300));
    let write = ["convert", "-q", "in.jsonl", "-o", "t", "--to", "iceberg", "--infer-timestamps"];
    let by = ["--partition-by", "level,hour(ts)", "--rows-per-file", "100"];
    folder.run(&[&write[..], &by].concat()).assert_status(0);
    for (args, status, expected) in [
        (&write[..], 1, "there is an Iceberg table"),
        (&["convert", "in.jsonl", "-o", "t/", "--append"], 2, "added as such"),
        (&["convert", "in.jsonl", "-o", "-", "--to", "iceberg"], 2, "standard output"),
        (&["convert", "in.jsonl", "-o", "v", "--to", "iceberg", "--variant"], 2, "VARIANT"),
    ] {
        let ran = folder.run(args);
        assert!(ran.status == status && ran.stderr.contains(expected), "{args:?}: {}", ran.text());
    }
    folder.write("in.jsonl", lines(300..400));
    folder.run(&[&write[..], &["--append"]].concat()).assert_status(0);
    for engine in ["cpu", "reference"] {
        let all = read(&folder, "t", &["--engine", engine]);
        let mut ids = all.column(0).as_primitive::<Int64Type>().values().to_vec();
        ids.sort_unstable();
        assert_eq!(ids, (0..400).collect::<Vec<_>>(), "{engine}");
        let some = ["--engine", engine, "--where", "level = 'a/b ä%' and id >= 300"];
        assert_eq!(read(&folder, "t", &some).num_rows(), 50, "{engine}");
    }
    let table = folder.path("t/data");
    let folders = fs::read_dir(&table).unwrap().map(|entry| entry.unwrap().file_name());
    let mut folders: Vec<_> = folders.map(|name| name.into_string().unwrap()).collect();
    folders.sort();
    assert_eq!(folders, ["level=a%2Fb ä%25", "level=info"]);
    // A table of a catalog.
    let table = changed(&folder, "types", |_| {});
    let ran = folder.run(&["convert", "in.jsonl", "-o", &table, "--to", "iceberg", "--append"]);
    assert!(ran.status == 1 && ran.stderr.contains("only its catalog"), "{}", ran.text());
}
