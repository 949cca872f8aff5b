// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith infer`, and `convert` without a schema.

use arrow_array::Array;
use arrow_schema::DataType;

use crate::cli::data::{read_file, whole};
use crate::cli::run::{Folder, snapshot};

#[test]
fn an_inferred_schema_is_the_one_that_convert_takes() {
    let folder = Folder::new();
    folder.write(
        "in.jsonl",
        "{\"id\":1,\"when\":\"2026-11-21T04:00:00Z\",\"xs\":[1,2.5]}\n{\"id\":2,\"xs\":[],\"user\":{\"a\":null,\"b\":true}}\n",
    );
    let ran = folder.run(&["infer", "in.jsonl"]);
    snapshot("infer/plain.txt", &ran.text());
    folder.write("text.schema", &ran.stdout);
    let times = folder.run(&["infer", "in.jsonl", "--infer-timestamps"]);
    snapshot("infer/timestamps.txt", &times.text());

    folder.run(&["convert", "in.jsonl", "-o", "inferred.arrow"]).assert_status(0);
    let args = ["convert", "in.jsonl", "-o", "given.arrow", "--schema", "text.schema"];
    folder.run(&args).assert_status(0);
    let inline = str::from_utf8(&ran.stdout).unwrap();
    folder.run(&["convert", "in.jsonl", "-o", "inline.arrow", "--schema", inline]).assert_status(0);
    let inferred = whole(&read_file(&folder, "inferred.arrow"));
    assert_eq!(inferred, whole(&read_file(&folder, "given.arrow")));
    assert_eq!(inferred, whole(&read_file(&folder, "inline.arrow")));
    assert_eq!(inferred.num_rows(), 2);
}

#[test]
fn a_value_after_the_sample_that_does_not_fit_says_what_to_do() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":2.5}\n");
    // A stream has its schema before the end.
    let ran = folder.run(&["convert", "in.jsonl", "-o", "-", "--infer-records", "2"]);
    assert_eq!(ran.status, 1);
    snapshot("infer/after_the_sample.txt", &ran.stderr);
    folder.run(&["convert", "in.jsonl", "-o", "-", "--infer-records", "all"]).assert_status(0);
    for records in ["2", "all"] {
        let args = ["convert", "in.jsonl", "-o", "x.arrow", "--infer-records", records];
        folder.run(&args).assert_status(0);
        let batch = whole(&read_file(&folder, "x.arrow"));
        assert_eq!(batch.column(0).data_type(), &DataType::Float64);
    }
}

/// The file of the issue: another key, and fractions, from the middle on.
#[test]
fn keys_and_types_that_come_late_are_kept() {
    let folder = Folder::new();
    let mut text = "{\"a\":1}\n".repeat(30_000);
    text.push_str(&"{\"a\":2.5,\"b\":\"x\"}\n".repeat(30_000));
    folder.write("in.jsonl", &text);
    for (output, threads) in [("x.arrow", "1"), ("y.arrow", "3"), ("x.parquet", "2")] {
        let ran = folder.run(&["convert", "in.jsonl", "-o", output, "--threads", threads]);
        ran.assert_status(0);
        assert!(ran.stderr.starts_with("60,000 rows; "), "{}", ran.stderr);
        assert!(ran.stderr.contains("0 rejected, 0 nulled"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("values skipped"), "{}", ran.stderr);
        if output.ends_with(".arrow") {
            let batch = whole(&read_file(&folder, output));
            let types: Vec<_> =
                batch.schema().fields().iter().map(|field| field.data_type().clone()).collect();
            assert_eq!(types, [DataType::Float64, DataType::Utf8]);
            assert_eq!(batch.num_rows(), 60_000);
            assert_eq!((batch.column(0).null_count(), batch.column(1).null_count()), (0, 30_000));
        }
    }
    assert_eq!(folder.names().len(), 4, "temporary files stay: {:?}", folder.names());
}

#[test]
fn bad_records_in_the_sample_are_rejected_like_others() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\":1}\nhello\n{\"id\":3}\n");
    let args = ["convert", "in.jsonl", "-o", "x.arrow", "--on-error", "skip", "--rejects", "bad"];
    folder.run(&args).assert_status(0);
    assert_eq!(whole(&read_file(&folder, "x.arrow")).num_rows(), 2);
    assert_eq!(folder.read("bad").iter().filter(|&&byte| byte == b'\n').count(), 1);
    let ran = folder.run(&["infer", "in.jsonl"]);
    ran.assert_status(1);
    assert!(ran.stderr.starts_with("error: in.jsonl: line 2, "), "{}", ran.stderr);
}

#[test]
fn types_are_given_for_some_columns() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\":\"7\",\"user\":{\"born\":\"2001-02-03\",\"n\":1}}\n");
    let types = "id: large_string, user.born: date, late: bigint";
    let ran = folder.run(&["infer", "in.jsonl", "--types", types]);
    ran.assert_status(0);
    let text = "id: large_utf8\nuser: struct<born: date32, n: int64>\nlate: int64\n";
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), text);
    let args = ["convert", "in.jsonl", "-o", "x.arrow", "--types", types];
    folder.run(&args).assert_status(0);
    let batch = whole(&read_file(&folder, "x.arrow"));
    assert_eq!(batch.column(0).data_type(), &DataType::LargeUtf8);
    assert_eq!(batch.column(2).null_count(), 1);
    let ran = folder.run(&["convert", "in.jsonl", "-o", "y.arrow", "--types", "id.x: int8"]);
    ran.assert_status(2);
    assert!(ran.stderr.contains("field id.x"), "{}", ran.stderr);
}
