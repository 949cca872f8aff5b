// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` of folders of JSON: partitions, names of files, conditions, limits.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::cli::data::{read_file, read_parquet, whole};
use crate::cli::run::{Folder, Ran};

/// Three years; the last has a key that the others lack, after more records than are sampled.
fn logs(folder: &Folder) {
    for year in 2022..2025 {
        let mut text = String::new();
        for n in 0..6_000 {
            let level = if n % 100 == 0 { "error" } else { "info" };
            let late = if year == 2024 && n == 5_000 { ",\"late\":1.5" } else { "" };
            writeln!(text, "{{\"id\":\"{n}\",\"level\":\"{level}\"{late}}}").unwrap();
        }
        fs::create_dir_all(folder.path(&format!("year={year}/_tmp"))).unwrap();
        folder.write(&format!("year={year}/_tmp/x.jsonl"), "no JSON");
        folder.write(&format!("year={year}/.hidden.json"), "no JSON");
        folder.write(&format!("year={year}/readme.txt"), "no JSON");
        let name = format!("year={year}/part-0.jsonl");
        if year == 2023 {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(text.as_bytes()).unwrap();
            folder.write(&(name + ".gz"), gzip.finish().unwrap());
        } else {
            folder.write(&name, text);
        }
    }
}

fn convert(folder: &Folder, args: &[&str], name: &str) -> Ran {
    let ran = folder.run(&[&["convert", "-o", name], args].concat());
    ran.assert_status(0);
    ran
}

fn years(batch: &RecordBatch) -> Vec<i64> {
    let years = batch.column_by_name("year").unwrap().as_primitive::<Int64Type>();
    let mut years = years.values().to_vec();
    years.dedup();
    years
}

#[test]
fn folders_of_json_are_one_table() {
    let folder = Folder::new();
    logs(&folder);
    // As a shell expands `year=*/`.
    let args = ["year=2022/", "year=2023/", "year=2024/", "--file-column", "f"];
    let args = [&args[..], &["--where", "level = 'error'", "--types", "id: utf8"]].concat();
    let ran = convert(&folder, &args, "all.parquet");
    assert!(ran.stderr.starts_with("180 rows; "), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("0 rejected, 0 nulled, 17,820 did not match\n"), "{}", ran.stderr);
    let all = whole(&read_parquet(&folder, "all.parquet"));
    let names: Vec<_> = all.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "level", "late", "year", "f"]);
    assert_eq!(years(&all), [2022, 2023, 2024]);
    assert_eq!(all.column(0).as_string::<i32>().value(1), "100");
    let files = all.column(4).as_string::<i32>();
    let expected =
        ["year=2022/part-0.jsonl", "year=2023/part-0.jsonl.gz", "year=2024/part-0.jsonl"];
    for (file, expected) in expected.into_iter().enumerate() {
        assert!((0..60).all(|row| files.value(file * 60 + row) == expected), "{expected}");
    }

    // The same, as the command expands them.
    convert(&folder, &[&["year=*/"], &args[3..]].concat(), "again.parquet");
    assert_eq!(whole(&read_parquet(&folder, "again.parquet")), all);
    // The folder has the output, too.
    convert(&folder, &[&[".", "--format", "json"], &args[3..]].concat(), "inside.parquet");
    assert_eq!(years(&whole(&read_parquet(&folder, "inside.parquet"))), [2022, 2023, 2024]);
}

#[test]
fn a_condition_on_a_folder_leaves_files_unread() {
    let folder = Folder::new();
    logs(&folder);
    folder.write("year=2022/part-0.jsonl", "{\"id\":");
    let args = [".", "--where", "year >= 2023", "--skip", "5990", "--limit", "20"];
    let args = [&args[..], &["--record-column", "r"]].concat();
    let ran = convert(&folder, &args, "x.arrow");
    assert!(ran.stderr.starts_with("20 rows; "), "{}", ran.stderr);
    let batch = whole(&read_file(&folder, "x.arrow"));
    assert_eq!(years(&batch), [2023, 2024]);
    let numbers = batch.column_by_name("r").unwrap().as_primitive::<Int64Type>();
    assert_eq!(numbers.values().to_vec(), (5990..6000).chain(0..10).collect::<Vec<_>>());
    folder.run(&["infer", "year=2023"]).assert_status(0);
}

#[test]
fn folders_that_are_no_table_are_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("mixed")).unwrap();
    folder.write("mixed/a.json", "{\"a\":1}");
    folder.write("mixed/b.parquet", "PAR1");
    fs::create_dir(folder.path("empty")).unwrap();
    for (args, part) in [
        (&["mixed"][..], "files of Parquet and of JSON: give --format"),
        (&["empty"], "ends in .parquet or .parq or .pq or .json or .jsonl or .ndjson"),
        (&["mixed", "--format", "json", "--file-column", ""], "expected a name"),
        (&["mixed/b.parquet", "--file-column", "f"], "--file-column is for JSON input only"),
        (&["mixed", "--format", "json", "--where", "a ="], "condition"),
    ] {
        let ran = folder.run(&[&["convert", "-o", "x.arrow"], args].concat());
        assert!(ran.status != 0 && ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
    convert(&folder, &["mixed", "--format", "json"], "x.arrow");
}
