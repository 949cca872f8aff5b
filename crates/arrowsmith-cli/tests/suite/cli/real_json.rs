// SPDX-License-Identifier: Apache-2.0
//! JSON as people have it: coercions, objects as columns, streams that drift, more compressions.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::DataType;

use crate::cli::data::{read_parquet, whole};
use crate::cli::run::Folder;

fn converted(folder: &Folder, args: &[&str], stdin: &[u8]) -> RecordBatch {
    let output = ["convert", "-q", "-o", "out.parquet"];
    folder.run_with(&[&output, args].concat(), stdin).assert_status(0);
    whole(&read_parquet(folder, "out.parquet"))
}

#[test]
fn columns_take_what_their_coercions_say() {
    let folder = Folder::new();
    let text = concat!(
        r#"{"id":"7","price":"1.5","on":"0","day":"05.03.2024","at":1700000000.25,"n":"N/A"}"#,
        "\n",
        r#"{"id":8.0,"price":"-","on":true,"day":"2024-03-06","at":"N/A","n":3}"#,
        "\n"
    );
    let types = "id: int64 scalars, price: float64 scalars, on: bool scalars, \
                 day: date32(\"%d.%m.%Y\", \"%F\"), at: timestamp(us) epoch s";
    let args = ["-", "--types", types, "--coerce", "nulls \"N/A\" \"-\""];
    let batch = converted(&folder, &args, text.as_bytes());
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[7, 8]);
    let prices = batch.column(1).as_primitive::<Float64Type>();
    assert_eq!((prices.value(0), prices.is_valid(1)), (1.5, false));
    let on = batch.column(2).as_boolean();
    assert_eq!((on.value(0), on.value(1)), (false, true));
    assert_eq!(batch.column(3).as_primitive::<Date32Type>().values(), &[19_787, 19_788]);
    let at = batch.column(4).as_primitive::<TimestampMicrosecondType>();
    assert_eq!((at.value(0), at.is_valid(1)), (1_700_000_000_250_000, false));
    // It is inferred: the word is null there, too.
    let numbers = batch.column(5).as_primitive::<Int64Type>();
    assert_eq!((numbers.is_valid(0), numbers.value(1)), (false, 3));
    let kept = batch.schema().fields().iter().any(|field| !field.metadata().is_empty());
    assert!(!kept, "{:?}", batch.schema());
}

#[test]
fn what_is_not_exact_is_an_error_with_its_place() {
    let folder = Folder::new();
    for (types, value, kind) in [
        ("a: int64 scalars", "\"1.5\"", "inexact"),
        ("a: int64 scalars", "\"1,5\"", "invalid-value"),
        ("a: timestamp(s) epoch ms", "1500", "inexact"),
        ("a: date32(\"%d.%m.%Y\")", "\"31.02.2024\"", "invalid-value"),
    ] {
        let text = format!("{{\"a\":null}}\n{{\"a\":{value}}}\n");
        let args = ["convert", "-q", "-", "-o", "out.parquet", "--types", types];
        let ran = folder.run_with(&args, text.as_bytes());
        assert_ne!(ran.status, 0, "{types} {value}");
        let place = format!("line 2, byte 16 (record 1), field a: {kind}");
        assert!(ran.stderr.contains(&place), "{}", ran.stderr);
    }
    let args = ["convert", "-q", "-", "-o", "o.parquet", "--types", "a: list<int64> scalars"];
    assert_ne!(folder.run_with(&args, b"{}").status, 0);
}

#[test]
fn objects_become_columns() {
    let folder = Folder::new();
    let text = concat!(
        r#"{"user":{"name":"a","at":{"x":1}},"n":1}"#,
        "\n",
        r#"{"user":null,"n":2}"#,
        "\n",
        r#"{"user":{"name":"b","at":{}},"n":3}"#,
        "\n"
    );
    let batch = converted(&folder, &["-", "--flatten"], text.as_bytes());
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["user.name", "user.at.x", "n"]);
    assert!(batch.column(0).is_null(1) && batch.column(1).is_null(1));
    assert!(batch.column(0).is_valid(2) && batch.column(1).is_null(2));
    let clash = b"{\"a.b\":1,\"a\":{\"b\":2}}\n";
    let ran = folder.run_with(&["convert", "-q", "-", "-o", "x.parquet", "--flatten"], clash);
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("a.b"), "{}", ran.stderr);
}

/// 60,000 records; a key and fractions come with the second half.
fn drifting() -> String {
    let record = |number: usize| match number {
        0..30_000 => format!("{{\"a\":{number}}}\n"),
        _ => format!("{{\"a\":{number}.5,\"b\":\"x\"}}\n"),
    };
    (0..60_000).map(record).collect()
}

#[test]
fn standard_input_may_drift() {
    let folder = Folder::new();
    let text = drifting();
    let batch = converted(&folder, &["-"], text.as_bytes());
    assert_eq!(batch.num_rows(), 60_000);
    assert_eq!(batch.schema().field(0).data_type(), &DataType::Float64);
    assert_eq!(batch.column(1).null_count(), 30_000);
    // More was read than may be kept: a new key needs nothing to be read again, another type does.
    let late = |record: &str| "{\"a\":1}\n".repeat(400_000) + record;
    let little = ["-", "--spool-bytes-max", "2MB"];
    let batch = converted(&folder, &little, late("{\"b\":1}\n").as_bytes());
    assert_eq!((batch.num_rows(), batch.column(1).null_count()), (400_001, 400_000));
    let little = [&["convert", "-q", "-o", "x.parquet"], &little[..]].concat();
    let ran = folder.run_with(&little, late("{\"a\":\"x\"}\n").as_bytes());
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("record 400000"), "{}", ran.stderr);
}

/// Keys that come late, and types after nulls only, make the file that knowing them makes.
#[test]
fn keys_that_come_late_make_the_same_file() {
    let folder = Folder::new();
    let mut text = String::new();
    for record in 0..60_000 {
        write!(text, "{{\"a\":{record},\"n\":").unwrap();
        match record {
            0..40_000 => text.push_str("null"),
            _ => write!(text, "\"text {}\"", record % 1000).unwrap(),
        }
        for key in (0..6).filter(|key| record >= 9_000 * (key + 1) && record % 3 != 0) {
            write!(text, ",\"k{key}\":[{record},{{\"x\":{key}.5}}]").unwrap();
        }
        text.push_str("}\n");
    }
    folder.write("a.jsonl", text.as_bytes());
    for more in [&[][..], &["--variant"], &["--codec", "snappy", "--row-group-rows", "25000"]] {
        let file = |name: &str, how: &[&str]| {
            let args = ["convert", "-q", "a.jsonl", "-o", name];
            folder.run(&[&args, how, more].concat()).assert_status(0);
            folder.read(name)
        };
        let known = file("known.parquet", &["--infer-records", "all"]);
        for threads in ["1", "2", "3"] {
            let found = file("late.parquet", &["--threads", threads]);
            assert!(found == known, "{more:?}, {threads} threads");
        }
    }
}

#[test]
fn inputs_after_the_sample_may_drift() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"a\":1}\n".repeat(3).as_bytes());
    folder.write("empty.jsonl", b"");
    folder.write("b.jsonl", b"{\"a\":2.5,\"b\":1}\n");
    // A file without anything looks like those of /proc, which are streams.
    let inputs = ["--infer-records", "2", "a.jsonl", "empty.jsonl", "b.jsonl"];
    let batch = converted(&folder, &inputs, b"");
    assert_eq!((batch.num_rows(), batch.num_columns()), (4, 2));
    let inputs = ["--infer-records", "2", "a.jsonl", "-", "b.jsonl"];
    let batch = converted(&folder, &inputs, b"{\"a\":1,\"c\":\"x\"}\n{\"d\":1}\n");
    assert_eq!((batch.num_rows(), batch.num_columns()), (6, 4));
}

#[test]
fn selected_columns_may_be_late() {
    let folder = Folder::new();
    folder.write("a.jsonl", drifting().as_bytes());
    let batch = converted(&folder, &["a.jsonl", "--columns", "b", "--where", "b = 'x'"], b"");
    assert_eq!((batch.num_rows(), batch.num_columns()), (30_000, 1));
    let ran = folder.run(&["convert", "-q", "a.jsonl", "-o", "x.parquet", "--columns", "c"]);
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("field c: there is no such column"), "{}", ran.stderr);
}

#[test]
fn everything_is_inferred_from() {
    let folder = Folder::new();
    folder.write("a.jsonl", drifting().as_bytes());
    let ran = folder.run(&["infer", "a.jsonl", "--infer-records", "all"]);
    ran.assert_status(0);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "a: float64\nb: utf8\n");
    let ran = folder.run_with(&["infer", "-", "--infer-records", "all"], drifting().as_bytes());
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "a: float64\nb: utf8\n");
    let args = ["infer", "-", "--coerce", "nulls \"N/A\""];
    let ran = folder.run_with(&args, b"{\"a\":\"N/A\"}\n{\"a\":1}\n");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "a: int64 nulls \"N/A\"\n");
}

#[test]
fn rows_know_where_their_records_start() {
    let folder = Folder::new();
    for (text, on_error, expected) in [
        ("{\"a\":1}\n\n  {\"a\":2}\n{\"a\":\"x\"}\n{\"a\":4}\n", "skip", vec![0, 11, 29]),
        ("[ {\"a\":1},\n {\"a\":2} ]", "fail", vec![2, 12]),
        ("{\"a\":1}{\"a\":2}", "fail", vec![0, 7]),
    ] {
        let args = ["-", "--schema", "a: int64", "--on-error", on_error, "--offset-column", "o"];
        let batch = converted(&folder, &args, text.as_bytes());
        let offsets = batch.column(1).as_primitive::<Int64Type>();
        assert_eq!(offsets.values(), expected.as_slice(), "{text}");
    }
}

#[test]
fn objects_of_many_keys_are_maps() {
    let folder = Folder::new();
    let text = b"{\"m\":{\"a\":1,\"b\":2}}\n{\"m\":{\"c\":3}}\n";
    let ran = folder.run_with(&["infer", "-", "--object-keys-max", "2"], text);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "m: map<utf8, int64>\n");
}

/// Two records, in two streams each.
const BZIP2: &[u8] =
    b"BZh91AY&SY\xba\xc6M\xdb\x00\x00\x03Y\x80\x00\x10\x10\x00 \x10 \x00\x00\x0a \x00\x22\
    \x03e\x08`\x11J\x1f\x17rE8P\x90\xba\xc6M\xdbBZh91AY&SY\xb8\xaf\xb8R\x00\x00\x03Y\x80\
    \x00\x10\x10\x00\x10\x10 \x00\x00\x0a \x00\x22\x03e\x08`\x11J\x1f\x17rE8P\x90\xb8\
    \xaf\xb8R";
const XZ: &[u8] =
    b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x02\x00!\x01\x16\x00\x00\x00t/\xe5\xa3\x01\x00\x07\
    {\x22a\x22:1}\x0a\x00\xbeI\x91CU\x04\xef\x85\x00\x01 \x08\xbb\x19\xd9\xbb\x1f\xb6\
    \xf3}\x01\x00\x00\x00\x00\x04YZ\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x02\x00!\x01\x16\
    \x00\x00\x00t/\xe5\xa3\x01\x00\x07{\x22a\x22:2}\x0a\x00\xe3\xff/\xf0\x8a'\xf3\xc4\
    \x00\x01 \x08\xbb\x19\xd9\xbb\x1f\xb6\xf3}\x01\x00\x00\x00\x00\x04YZ";

#[test]
fn bzip2_and_xz_are_read() {
    let folder = Folder::new();
    for packed in [BZIP2, XZ] {
        let batch = converted(&folder, &["-"], packed);
        assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2]);
        let truncated = &packed[..packed.len() - 3];
        let args = ["convert", "-q", "-", "-o", "x.parquet"];
        let ran = folder.run_with(&args, truncated);
        ran.assert_status(1);
        assert!(
            ran.stderr.ends_with("2 data ends early\n")
                || ran.stderr.ends_with("xz data ends early\n"),
            "{}",
            ran.stderr
        );
    }
}
