// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` to text, compressed or not, to sorted files and to Delta tables, read back.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use crate::cli::data::{read_file, read_parquet, whole};
use crate::cli::run::{Folder, Ran};

fn input(folder: &Folder, rows: std::ops::Range<i64>) {
    let mut text = String::new();
    for n in rows {
        let level = ["info", "warn", "error"][usize::try_from(n % 3).unwrap()];
        writeln!(text, "{{\"id\":{n},\"level\":\"{level}\",\"x\":{}.5}}", n * 7 % 11).unwrap();
    }
    folder.write("in.jsonl", text);
}

fn convert(folder: &Folder, args: &[&str], status: i32) -> Ran {
    let ran = folder.run(&[&["convert", "-q"], args].concat());
    ran.assert_status(status);
    ran
}

fn ids(batch: &RecordBatch) -> Vec<i64> {
    column(batch, "id")
}

fn column(batch: &RecordBatch, name: &str) -> Vec<i64> {
    batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn text_comes_back_from_every_compression() {
    let folder = Folder::new();
    input(&folder, 0..5000);
    convert(&folder, &["in.jsonl", "-o", "expected.arrow"], 0);
    let expected = whole(&read_file(&folder, "expected.arrow"));
    for name in ["x.csv", "x.tsv", "x.csv.gz", "x.tsv.zst", "x.jsonl.gz", "x.ndjson.zst"] {
        convert(&folder, &["in.jsonl", "-o", name], 0);
        convert(&folder, &[name, "-o", "back.arrow"], 0);
        assert_eq!(whole(&read_file(&folder, "back.arrow")), expected, "{name}");
        let is_plain = !name.ends_with("gz") && !name.ends_with("zst");
        let small = folder.read(name).len() < folder.read("in.jsonl").len() / 3;
        assert_eq!(small, !is_plain, "{name}");
    }
    // What the option says counts, and files of a folder are named after it.
    let args = ["in.jsonl", "-o", "parts/", "--to", "csv", "--codec", "gzip:9"];
    convert(&folder, &[&args[..], &["--rows-per-file", "3000"]].concat(), 0);
    let mut text = String::new();
    for name in ["parts/part-00000.csv.gz", "parts/part-00001.csv.gz"] {
        let file = std::fs::File::open(folder.path(name)).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    }
    assert_eq!(text.lines().count(), 5002);
    let piped = convert(&folder, &["in.jsonl", "-o", "-", "--to", "csv", "--limit", "1"], 0);
    assert_eq!(piped.stdout, b"id,level,x\n0,info,0.5\n");
    for (args, expected) in [
        (vec!["-o", "x.csv", "--codec", "snappy"], "--codec snappy is for Parquet"),
        (vec!["-o", "x.arrow", "--codec", "zstd"], "--codec is not for Arrow output"),
        (vec!["-o", "x.csv", "--bloom-filter", "id"], "--bloom-filter is not for CSV output"),
        (vec!["-o", "x.parquet.gz"], "cannot tell the format"),
    ] {
        let ran = convert(&folder, &[&["in.jsonl"], &args[..]].concat(), 2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    folder.write("nested.jsonl", "{\"a\":[1]}");
    let ran = convert(&folder, &["nested.jsonl", "-o", "y.csv"], 1);
    assert!(ran.stderr.contains("CSV has no lists"), "{}", ran.stderr);
    assert!(folder.names().iter().all(|name| !name.starts_with('.') && name != "y.csv"));
}

#[test]
fn files_are_sorted_in_any_memory() {
    let folder = Folder::new();
    input(&folder, 0..5000);
    for memory in ["1GiB", "20KiB"] {
        let args = ["in.jsonl", "-o", "x.parquet", "--sort-by", "level,id desc"];
        convert(&folder, &[&args[..], &["--sort-memory", memory]].concat(), 0);
        let found = whole(&read_parquet(&folder, "x.parquet"));
        let mut expected: Vec<i64> = (0..5000).collect();
        let level = |n: &i64| ["info", "warn", "error"][usize::try_from(n % 3).unwrap()];
        expected.sort_by_key(|n| (level(n), std::cmp::Reverse(*n)));
        assert_eq!(ids(&found), expected, "{memory}");
    }
    // A file has one value of the folder's column.
    let args = ["in.jsonl", "-o", "t/", "--sort-by", "level desc,x,id", "--partition-by", "level"];
    convert(&folder, &[&args[..], &["--rows-per-file", "1000"]].concat(), 0);
    let part = whole(&read_parquet(&folder, "t/level=warn/part-00001.parquet"));
    assert_eq!((part.num_rows(), part.num_columns()), (667, 2));
    let x = part.column(1).as_primitive::<arrow_array::types::Float64Type>();
    assert!(x.values().is_sorted());
    for (args, expected) in [
        (vec!["--sort-by", "nope"], "no such column to sort by"),
        (vec!["--sort-memory", "1KiB"], "--sort-by"),
        (vec!["--sort-by", "id", "--bytes-per-file", "1KiB"], "limit its rows"),
    ] {
        let ran = folder.run(&[&["convert", "in.jsonl", "-o", "u/"], &args[..]].concat());
        assert!(ran.status != 0 && ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

/// A table that deltalake reads as its rows say, with vectors of CRoaring: lists, runs and bits, in
/// files and in the log.
#[test]
fn deleted_rows_of_a_delta_table_are_not_read() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/delta");
    let ranges = std::fs::read(tables.join("rows.json")).unwrap();
    let ranges: Vec<(i64, i64)> = serde_json::from_slice(&ranges).unwrap();
    let expected: Vec<i64> = ranges.into_iter().flat_map(|(start, end)| start..end).collect();
    let table = tables.join("deleted").display().to_string();
    let folder = Folder::new();
    for args in [&["--engine", "cpu"][..], &["--engine", "reference", "--threads", "1"]] {
        let read = [&table, "--format", "delta", "-o", "x.arrow"];
        convert(&folder, &[&read[..], args].concat(), 0);
        assert!(column(&whole(&read_file(&folder, "x.arrow")), "n") == expected, "{args:?}");
        convert(&folder, &[&read[..], args, &["--where", "n < 15000 or n > 220000"]].concat(), 0);
        let some = column(&whole(&read_file(&folder, "x.arrow")), "n");
        let wanted = expected.iter().copied().filter(|n| *n < 15_000 || *n > 220_000);
        assert!(some == wanted.collect::<Vec<_>>(), "{args:?}");
    }
    // A vector that is gone, and one that has changed.
    let copy = folder.path("copy");
    let copied = Command::new("cp").arg("-r").arg(tables.join("deleted")).arg(&copy).status();
    assert!(copied.unwrap().success());
    let vectors = std::fs::read_dir(Path::new(&copy).join("a b")).unwrap().next().unwrap();
    let vectors = vectors.unwrap().path();
    let mut bytes = std::fs::read(&vectors).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 4;
    std::fs::write(&vectors, bytes).unwrap();
    let read = ["copy", "--format", "delta", "-o", "y.arrow"];
    let ran = convert(&folder, &read, 1);
    assert!(ran.stderr.contains("checksum") && ran.stderr.contains("a b/"), "{}", ran.stderr);
    std::fs::remove_file(&vectors).unwrap();
    let ran = convert(&folder, &read, 1);
    assert!(ran.stderr.contains("No such file"), "{}", ran.stderr);
}

/// The records of what is converted, in the order of their texts.
fn records(folder: &Folder, args: &[&str]) -> Vec<String> {
    convert(folder, &[args, &["-o", "records.jsonl"]].concat(), 0);
    let text = String::from_utf8(folder.read("records.jsonl")).unwrap();
    let mut records: Vec<String> = text.lines().map(str::to_owned).collect();
    records.sort();
    records
}

/// Columns and fields that were renamed, dropped, added and widened, and checkpoints of version 2:
/// tables of Delta Lake itself, with the rows that Spark reads.
#[test]
fn tables_of_delta_lake_have_the_rows_that_spark_reads() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/delta");
    let folder = Folder::new();
    let mut tried = 0;
    for name in ["mapped-name", "mapped-id", "widened", "sidecars-json", "sidecars-parquet"] {
        let table = tables.join(name).display().to_string();
        let expected = records(&folder, &[&format!("{table}/_rows.parquet")]);
        for args in [&["--engine", "cpu"][..], &["--engine", "reference", "--threads", "1"]] {
            let read = [&[&table, "--format", "delta"], args].concat();
            assert_eq!(records(&folder, &read), expected, "{name} {args:?}");
            tried += expected.len();
        }
    }
    assert_eq!(tried, 2 * (10 + 10 + 5 + 10 + 10));
    for name in ["mapped-name", "mapped-id"] {
        let table = tables.join(name).display().to_string();
        let read =
            |args: &[&str]| records(&folder, &[&[&table, "--format", "delta"], args].concat());
        let found = read(&["--where", "s.z > 3 and part = 'even'", "--columns", "part,s.z,l.w"]);
        let expected = |n: i32, rest: &str| {
            format!("{{\"part\":\"even\",\"s\":{{\"z\":{n}}},\"l\":[{{\"w\":{rest}}}]}}")
        };
        let new = [10, 11, 12, 13].map(|n| expected(n, "3"));
        assert_eq!(found, [&new[..], &[expected(4, "1},{\"w\":4")]].concat(), "{name}");
        let quoted = ["\"part\",\"s\".\"z\",\"l\".w", "part,s.\"z\",l.\"w\""];
        for columns in quoted {
            assert_eq!(
                read(&["--where", "s.z > 3 and part = 'even'", "--columns", columns]),
                found
            );
        }
        // Fields that earlier files lack are null there, in conditions, too.
        let found = read(&["--where", "s.d is null and gone is null", "--columns", "s.d,gone"]);
        assert_eq!(found, vec!["{\"s\":{\"d\":null},\"gone\":null}"; 6], "{name}");
        for gone in ["s.b", "s.a", "name", "p"] {
            let ran = folder.run(&[
                "convert",
                &table,
                "--format",
                "delta",
                "--columns",
                gone,
                "-o",
                "x.jsonl",
            ]);
            assert!(ran.status != 0 && ran.stderr.contains(gone), "{}", ran.stderr);
        }
        let infer = folder.run(&["infer", &table, "--format", "delta"]);
        let schema = String::from_utf8(infer.stdout).unwrap();
        assert!(schema.starts_with("key: int64") && !schema.contains("physical"), "{schema}");
    }
    // Nothing is added by names that are not those of the files.
    let copy = folder.path("copy").display().to_string();
    let copied = Command::new("cp").arg("-r").arg(tables.join("mapped-name")).arg(&copy).status();
    assert!(copied.unwrap().success());
    input(&folder, 0..3);
    let ran = convert(&folder, &["in.jsonl", "-o", "copy", "--to", "delta", "--append"], 1);
    assert!(ran.stderr.contains("mapped names"), "{}", ran.stderr);
}

#[test]
fn a_delta_table_is_written_grows_and_is_read() {
    let folder = Folder::new();
    input(&folder, 0..3000);
    let write = ["in.jsonl", "-o", "t", "--to", "delta"];
    convert(&folder, &[&write[..], &["--partition-by", "level"]].concat(), 0);
    let ran = convert(&folder, &write, 1);
    assert!(ran.stderr.contains("there is a Delta table"), "{}", ran.stderr);
    let ran = convert(&folder, &["in.jsonl", "-o", "t/", "--append"], 2);
    assert!(ran.stderr.contains("added as such"), "{}", ran.stderr);
    input(&folder, 3000..4000);
    convert(&folder, &[&write[..], &["--append"]].concat(), 0);

    let read = ["t", "--format", "delta", "-o"];
    convert(&folder, &[&read[..], &["all.arrow"]].concat(), 0);
    let all = whole(&read_file(&folder, "all.arrow"));
    let names: Vec<_> = all.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "level", "x"]);
    assert_eq!(all.column(1).null_count(), 0);
    let mut found = ids(&all);
    found.sort_unstable();
    assert_eq!(found, (0..4000).collect::<Vec<_>>());
    let ran = folder.run(
        &[&["convert"], &read[..], &["some.arrow", "--where", "level = 'warn' and id >= 3000"]]
            .concat(),
    );
    ran.assert_status(0);
    assert_eq!(whole(&read_file(&folder, "some.arrow")).num_rows(), 333);

    // A file with fewer columns than the table, and the newest.
    folder.write("few.jsonl", "{\"id\":5000,\"level\":\"warn\"}\n");
    convert(&folder, &["few.jsonl", "-o", "t", "--to", "delta", "--append"], 0);
    convert(&folder, &[&read[..], &["all.arrow", "--where", "x is null"]].concat(), 0);
    let few = whole(&read_file(&folder, "all.arrow"));
    let names: Vec<_> = few.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!((names, ids(&few)), (vec!["id".into(), "level".into(), "x".into()], vec![5000]));
    convert(&folder, &[&read[..], &["all.arrow"]].concat(), 0);
    let all = whole(&read_file(&folder, "all.arrow"));
    assert_eq!(all.num_rows(), 4001);

    let ran = folder.run(&["infer", "t", "--format", "delta"]);
    ran.assert_status(0);
    assert_eq!(ran.stdout, b"id: int64\nlevel: utf8\nx: float64\n");

    // A file that is in no commit is not part of the table.
    std::fs::write(folder.path("t/level=warn/part-x.parquet"), "no Parquet").unwrap();
    convert(&folder, &[&read[..], &["again.arrow"]].concat(), 0);
    assert_eq!(ids(&whole(&read_file(&folder, "again.arrow"))), ids(&all));
    for (args, status, expected) in [
        (vec!["convert", "in.jsonl", "--format", "delta", "-o", "x.arrow"], 1, "in.jsonl"),
        (vec!["convert", "t", "t", "--format", "delta", "-o", "x.arrow"], 2, "reads one table"),
        (vec!["convert", "in.jsonl", "-o", "-", "--to", "delta"], 2, "standard output"),
    ] {
        let ran = folder.run(&args);
        assert!(ran.status == status && ran.stderr.contains(expected), "{args:?}: {}", ran.text());
    }
}
