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
    let ran = folder.run(&["convert", "in.jsonl", "-o", "x.arrow", "--infer-records", "2"]);
    ran.assert_status(1);
    snapshot("infer/after_the_sample.txt", &ran.text());
    folder
        .run(&["convert", "in.jsonl", "-o", "x.arrow", "--infer-records", "all"])
        .assert_status(0);
    let batch = whole(&read_file(&folder, "x.arrow"));
    assert_eq!(batch.column(0).data_type(), &DataType::Float64);
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
