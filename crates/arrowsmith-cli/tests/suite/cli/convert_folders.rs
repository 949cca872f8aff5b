// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` of folders of JSON: partitions, names of files, conditions, limits.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

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
        (&["mixed"][..], "files of JSON and of Parquet: give --format"),
        (&["empty"], "ends in .json or .jsonl or .ndjson or .parquet or .parq or .pq or .arrow"),
        (&["mixed", "--format", "json", "--file-column", ""], "expected a name"),
        (&["mixed/b.parquet", "--file-column", "f"], "--file-column is for JSON input only"),
        (&["mixed", "--format", "json", "--where", "a ="], "condition"),
    ] {
        let ran = folder.run(&[&["convert", "-o", "x.arrow"], args].concat());
        assert!(ran.status != 0 && ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
    convert(&folder, &["mixed", "--format", "json"], "x.arrow");
}

/// Names of all files below a folder, sorted.
fn files(folder: &Folder, root: &str) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.path(root)]);
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder.path(root)).unwrap().display().to_string();
                found.push(name.replace(std::path::MAIN_SEPARATOR, "/"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_partitioned_folder_is_read_back_as_it_was() {
    let folder = Folder::new();
    logs(&folder);
    // The schema grows at the last year, so what was written of the first two is started again.
    let by = ["--partition-by", "year,level"];
    convert(&folder, &[&["year=2022", "year=2023", "year=2024"], &by[..]].concat(), "table");
    let expected: Vec<String> = (2022..2025)
        .flat_map(|year| ["error", "info"].map(|level| (year, level)))
        .map(|(year, level)| format!("year={year}/level={level}/part-00000.parquet"))
        .collect();
    assert_eq!(files(&folder, "table"), expected);
    assert!(folder.names().iter().all(|name| !name.ends_with(".tmp")), "{:?}", folder.names());

    let ran = convert(&folder, &["table", "--where", "level = 'error'"], "errors.arrow");
    assert!(ran.stderr.starts_with("180 rows; "), "{}", ran.stderr);
    convert(&folder, &["table"], "back.arrow");
    let back = whole(&read_file(&folder, "back.arrow"));
    assert_eq!(back.num_rows(), 18_000);
    assert_eq!(years(&back), [2022, 2023, 2024]);
    let late = back.column_by_name("late").unwrap();
    assert_eq!(late.len() - late.null_count(), 1);

    let again = folder.run(&["convert", "year=2022", "-o", "table", "--partition-by", "year"]);
    again.assert_status(1);
    assert!(again.stderr.contains("not empty"), "{}", again.stderr);
    let args = [&["year=2022", "--append"], &by[..]].concat();
    convert(&folder, &args, "table");
    assert_eq!(files(&folder, "table").len(), 8);
    convert(&folder, &["table"], "more.arrow");
    assert_eq!(whole(&read_file(&folder, "more.arrow")).num_rows(), 24_000);
}

#[test]
fn files_have_a_size() {
    let folder = Folder::new();
    logs(&folder);
    convert(&folder, &["year=2022", "--rows-per-file", "2500", "--to", "arrow"], "parts/");
    let names = ["part-00000.arrow", "part-00001.arrow", "part-00002.arrow"];
    assert_eq!(files(&folder, "parts"), names);
    let rows = names.map(|name| whole(&read_file(&folder, &format!("parts/{name}"))).num_rows());
    assert_eq!(rows, [2500, 2500, 1000]);
    let ran = folder.run(&["convert", "year=2022", "-o", "-", "--rows-per-file", "1"]);
    ran.assert_status(2);
    assert!(ran.stderr.contains("standard output"), "{}", ran.stderr);
    let ran = folder.run(&["convert", "year=2022", "-o", "x", "--partition-by", "day(id)"]);
    ran.assert_status(1);
    assert!(ran.stderr.contains("needs a date or a timestamp"), "{}", ran.stderr);
    assert!(!folder.path("x").exists());
}

#[test]
fn folders_of_every_format_have_their_partitions_back() {
    let folder = Folder::new();
    let mut text = String::new();
    for n in 0..100 {
        let x = if n < 40 { String::new() } else { format!(",\"x\":{n}") };
        writeln!(text, "{{\"id\":{n},\"year\":{},\"zone\":\"z{}\"{x}}}", 2022 + n / 40, n % 2)
            .unwrap();
    }
    folder.write("in.jsonl", text);
    convert(&folder, &["in.jsonl"], "in.arrow");
    let expected = whole(&read_file(&folder, "in.arrow"));
    for format in ["ndjson", "parquet", "arrow", "csv", "tsv"] {
        let name = format!("{format}/");
        convert(&folder, &["in.jsonl", "--to", format, "--partition-by", "year,zone"], &name);
        let back = |args: &[&str]| {
            let format = if format == "ndjson" { "json" } else { format };
            convert(&folder, &[&[&name, "--format", format], args].concat(), "back.arrow");
            whole(&read_file(&folder, "back.arrow"))
        };
        // The folders are in the order of their names.
        let all = back(&["--columns", "id,x,year,zone"]);
        let ids = all.column_by_name("id").unwrap().as_primitive::<Int64Type>();
        assert_eq!(all.num_rows(), 100, "{format}");
        for (row, id) in ids.values().iter().enumerate() {
            let at = usize::try_from(*id).unwrap();
            for column in ["year", "zone"] {
                let (found, column) = (all.column_by_name(column), expected.column_by_name(column));
                assert_eq!(
                    &found.unwrap().slice(row, 1),
                    &column.unwrap().slice(at, 1),
                    "{format}"
                );
            }
            // CSV has no values in the first file to tell the type from.
            let x = all.column_by_name("x").unwrap();
            let x: Option<i64> = match x.as_string_opt::<i32>() {
                Some(text) => text.is_valid(row).then(|| text.value(row).parse().unwrap()),
                None => x.is_valid(row).then(|| x.as_primitive::<Int64Type>().value(row)),
            };
            assert_eq!(x, (*id >= 40).then_some(*id), "{format}");
        }
        assert_eq!(years(&back(&["--columns", "year"])), [2022, 2023, 2024], "{format}");
        if format.ends_with("sv") {
            let typed = back(&["--partition-types", "year: utf8, zone: utf8"]);
            assert_eq!(typed.column_by_name("year").unwrap().data_type(), &DataType::Utf8);
        } else {
            let some = back(&["--where", "year = 2023 and zone = 'z1' and id > 45"]);
            assert_eq!(some.num_rows(), 17, "{format}");
        }
    }
}
