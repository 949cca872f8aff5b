// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` of Parquet files: every output, conditions, folders, standard input, broken
//! files.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::cli::data::{read_file, read_parquet, read_stream, whole};
use crate::cli::run::{Folder, snapshot};

/// `id` counts, `name` repeats and is null now and then, `ratio` is a number.
fn rows(first: i64, count: i64) -> RecordBatch {
    let ids = first..first + count;
    let names: StringArray =
        ids.clone().map(|id| (id % 10 != 3).then(|| format!("name {}", id % 7))).collect();
    let ratios: Float64Array =
        ids.clone().map(|id| Some(f64::from(i32::try_from(id).unwrap()) / 4.0)).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef, false),
        ("name", Arc::new(names), true),
        ("ratio", Arc::new(ratios), true),
    ])
    .unwrap()
}

fn write(folder: &Folder, name: &str, batch: &RecordBatch) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    if let Some(parent) = folder.path(name).parent() {
        std::fs::create_dir_all(parent).unwrap();
    }
    folder.write(name, writer.into_inner().unwrap());
}

fn ids(batch: &RecordBatch) -> Vec<i64> {
    batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// Converts to an Arrow stream and gives its rows.
fn converted(folder: &Folder, args: &[&str]) -> RecordBatch {
    let ran = folder.run(&[&["convert", "-q", "-o", "-", "--to", "arrows"], args].concat());
    ran.assert_status(0);
    whole(&read_stream(&ran.stdout))
}

/// Columns of later files are not lost, unless that is said.
#[test]
fn columns_that_the_first_file_lacks() {
    let folder = Folder::new();
    let all = rows(0, 10);
    write(&folder, "d/1.parquet", &all.project(&[0]).unwrap());
    write(&folder, "d/2.parquet", &all);
    let ran = folder.run(&["convert", "d", "-o", "x.arrow"]);
    ran.assert_status(1);
    let expected = "2.parquet: unsupported: column name is not in the first file; \
                    --late-columns add reads the columns of all files before any row, \
                    --late-columns ignore leaves it out";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(!folder.path("x.arrow").exists());
    let found = converted(&folder, &["d", "--late-columns", "add"]);
    assert_eq!((found.num_columns(), found.num_rows()), (3, 20));
    assert_eq!(found.column(1).null_count(), 11);
    assert_eq!(found.column(2).slice(10, 10).to_data(), all.column(2).to_data());
    assert_eq!(converted(&folder, &["d", "--late-columns", "ignore"]).num_columns(), 1);
    assert_eq!(converted(&folder, &["d", "--columns", "id"]).num_rows(), 20);
    let ran = folder.run(&["infer", "d", "--late-columns", "add"]);
    ran.assert_status(0);
    assert_eq!(ran.stdout, b"id: int64\nname: utf8\nratio: float64\n");
    let first = rows(0, 1).project(&[1]).unwrap();
    write(&folder, "d/0.parquet", &first);
    let where_late = ["d", "--late-columns", "add", "--where", "ratio > 2", "--columns", "id"];
    assert_eq!(ids(&converted(&folder, &where_late)), [9]);
}

#[test]
fn every_output_has_the_rows() {
    let folder = Folder::new();
    let wanted = rows(0, 3500);
    write(&folder, "x.parquet", &wanted);
    for name in ["x.arrow", "x.arrows", "y.parquet"] {
        for threads in ["1", "3"] {
            let ran = folder.run(&["convert", "x.parquet", "-o", name, "--threads", threads]);
            ran.assert_status(0);
            assert!(ran.stderr.starts_with("3,500 rows; "), "{}", ran.stderr);
            let batches = match name {
                "x.arrows" => read_stream(&folder.read(name)),
                "y.parquet" => read_parquet(&folder, name),
                _ => read_file(&folder, name),
            };
            assert_eq!(whole(&batches), wanted, "{name}");
        }
    }
    let ran = folder.run(&["convert", "x.parquet", "-o", "x.jsonl"]);
    ran.assert_status(0);
    let text = String::from_utf8(folder.read("x.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 3500);
    assert_eq!(text.lines().nth(3), Some(r#"{"id":3,"name":null,"ratio":0.75}"#));
    // JSON that was written is read as the same rows.
    let schema = "id: int64 not null, name: utf8, ratio: float64";
    let again = converted(&folder, &["x.jsonl", "--schema", schema]);
    assert_eq!(again.columns(), wanted.columns());
    for engine in ["cpu", "reference"] {
        assert_eq!(converted(&folder, &["x.parquet", "--engine", engine]), wanted);
    }
}

#[test]
fn parts_are_read() {
    let folder = Folder::new();
    let all = rows(0, 3500);
    write(&folder, "x.parquet", &all);
    let read = |args: &[&str]| converted(&folder, &[&["x.parquet"], args].concat());
    let condition = "id between 1990 and 2010 and name is not null";
    let wanted: Vec<i64> = (1990..=2010).filter(|id| id % 10 != 3).collect();
    assert_eq!(ids(&read(&["--where", condition])), wanted);
    assert_eq!(ids(&read(&["--where", condition, "--limit", "2"])), [1990, 1991]);
    assert_eq!(read(&["--limit", "1500"]), all.slice(0, 1500));
    assert_eq!(read(&["--row-groups", "1"]), all.slice(1000, 1000));
    assert_eq!(
        ids(&read(&["--row-groups", "3,0"]))[..501],
        [(3000..3500).collect::<Vec<_>>(), vec![0]].concat()
    );
    let names: Vec<String> = read(&["--columns", "ratio,id", "--where", "name = 'name 1'"])
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["ratio", "id"]);
    let kinds = |args: &[&str]| read(args).schema().field(1).data_type().to_string();
    assert_eq!(kinds(&["--strings", "view"]), "Utf8View");
    assert_eq!(kinds(&["--dictionary-columns", "*"]), "Dictionary(Int32, Utf8)");

    let ran = folder.run(&["convert", "x.parquet", "--explain", "--where", "id < 5 or id = 3400"]);
    ran.assert_status(0);
    snapshot("explain/parquet.txt", str::from_utf8(&ran.stdout).unwrap());
}

#[test]
fn folders_and_patterns_are_one_table() {
    let folder = Folder::new();
    for year in 2022..2025 {
        let first = (year - 2022) * 100;
        write(&folder, &format!("sales/year={year}/part.parquet"), &rows(first, 100));
    }
    let all = converted(&folder, &["sales"]);
    assert_eq!(ids(&all), (0..300).collect::<Vec<_>>());
    let years = all.column_by_name("year").unwrap().as_primitive::<Int64Type>();
    assert_eq!((years.value(0), years.value(299)), (2022, 2024));
    let some = converted(&folder, &["sales", "--where", "year = 2023 and id >= 190"]);
    assert_eq!(ids(&some), (190..200).collect::<Vec<_>>());
    assert_eq!(
        ids(&converted(&folder, &["sales/*/*.parquet", "--where", "year = 2024"])).len(),
        100
    );
    let texts = converted(&folder, &["sales", "--partition-types", "year: utf8"]);
    assert_eq!(texts.column_by_name("year").unwrap().as_string::<i32>().value(0), "2022");
}

#[test]
fn standard_input_is_read() {
    let folder = Folder::new();
    let wanted = rows(0, 100);
    write(&folder, "x.parquet", &wanted);
    let args = ["convert", "-q", "-o", "x.arrow", "--format", "parquet", "-"];
    folder.run_with(&args, &folder.read("x.parquet")).assert_status(0);
    assert_eq!(whole(&read_file(&folder, "x.arrow")), wanted);
}

#[test]
fn a_broken_file_leaves_nothing() {
    let folder = Folder::new();
    write(&folder, "x.parquet", &rows(0, 1500));
    let whole = folder.read("x.parquet");
    for (number, at) in (4..whole.len()).step_by(whole.len() / 60).enumerate() {
        let mut bytes = whole.clone();
        if number % 2 == 0 {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 0xff;
        }
        folder.write("broken.parquet", &bytes);
        let ran = folder.run(&["convert", "broken.parquet", "-o", "y.arrow"]);
        assert!(matches!(ran.status, 0 | 1), "{at}: {}", ran.text());
        assert!(!ran.stderr.contains("panicked"), "{at}: {}", ran.text());
        if ran.status == 1 {
            assert!(ran.stderr.starts_with("error: broken.parquet"), "{at}: {}", ran.text());
            assert_eq!(folder.names(), ["broken.parquet", "x.parquet"]);
        } else {
            std::fs::remove_file(folder.path("y.arrow")).unwrap();
        }
    }
}

#[test]
fn options_of_the_other_format_are_refused() {
    let folder = Folder::new();
    write(&folder, "x.parquet", &rows(0, 10));
    folder.write("x.jsonl", "{\"id\":1}\n");
    let mut text = String::new();
    for args in [
        &["x.jsonl", "--lists", "large"][..],
        &["x.jsonl", "--strings", "view"],
        &["x.jsonl", "--row-groups", "0"],
        &["x.parquet", "--schema", "id: int64"],
        &["x.parquet", "--on-error", "skip"],
        &["x.parquet", "--where", "id ="],
        &["x.parquet", "--where", "age = 1"],
        &["x.parquet", "--where", "id = 'one'"],
        &["x.parquet", "--columns", "age"],
        &["x.parquet", "--row-groups", "7"],
        &["x.parquet", "x.jsonl"],
    ] {
        let ran = folder.run(&[&["convert", "-o", "y.arrow"], args].concat());
        text.push_str(&format!(
            "$ arrowsmith convert {}\n{}: {}\n",
            args.join(" "),
            ran.status,
            ran.stderr
        ));
        assert_eq!(ran.status, 2, "{}", ran.text());
    }
    snapshot("wrong_parquet_calls.txt", &text);
    assert_eq!(folder.names(), ["x.jsonl", "x.parquet"]);
}
