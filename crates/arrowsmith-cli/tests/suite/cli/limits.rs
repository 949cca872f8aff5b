// SPDX-License-Identifier: Apache-2.0
//! The output of a few bytes is bounded, and what is skipped or cannot be read is reported.

use crate::cli::run::{Folder, finish};

#[test]
fn schemas_of_any_width_are_errors() {
    let folder = Folder::new();
    folder.write("x.jsonl", "{}\n".repeat(40));
    for engine in ["cpu", "reference"] {
        for schema in [
            "a: fixed_size_binary(2147483647) encoding hex",
            "a: fixed_size_list<int8, 2147483647>",
            "a: struct<b: list<fixed_size_list<fixed_size_list<int8, 65536>, 65536>>>",
        ] {
            let ran = folder
                .run(&["convert", "x.jsonl", "-o", "y.arrow", "-s", schema, "--engine", engine]);
            assert_eq!(ran.status, 2, "{}", ran.text());
            assert!(ran.stderr.contains("row_bytes_max, 1048576"), "{}", ran.stderr);
        }
    }
    let wide = "a: fixed_size_binary(4096)";
    let ran = folder.run(&[
        "convert",
        "x.jsonl",
        "-o",
        "y.arrow",
        "-s",
        wide,
        "--row-bytes-max",
        "4095B",
    ]);
    assert!(ran.stderr.contains("field a: an empty value takes 4096 bytes"), "{}", ran.stderr);
    let args = ["convert", "x.jsonl", "-o", "y.arrow", "-s", "a: int8, b: int8"];
    let ran = folder.run(&[&args[..], &["--fields-max", "1"]].concat());
    assert!(ran.stderr.contains("2 fields are more than fields_max, 1"), "{}", ran.stderr);
}

#[test]
fn rows_of_many_columns_are_converted_within_the_memory() {
    let folder = Folder::new();
    let keys: Vec<String> = (0..2000).map(|key| format!("\"k{key}\":1")).collect();
    folder.write("x.jsonl", format!("{{{}}}\n{}", keys.join(","), "{}\n".repeat(5000)));
    let ran = folder.run(&["convert", "x.jsonl", "-o", "y.arrow", "--memory", "16MiB"]);
    assert_eq!(ran.status, 0, "{}", ran.text());
    assert!(ran.stderr.starts_with("5,001 rows; "), "{}", ran.stderr);
}

#[test]
fn keys_that_come_after_the_sample_are_not_left_out_silently() {
    let folder = Folder::new();
    let early = "{\"a\":1}\n".repeat(50);
    let late = "{\"a\":2,\"b\":{\"c\":3}}\n".repeat(30);
    folder.write("x.jsonl", early + &late + "{\"d\":4}\n");
    let args = ["convert", "x.jsonl", "-o", "y.arrow"];
    let ignored = ["--infer-records", "50", "--late-keys", "ignore"];
    let ran = folder.run(&[&args[..], &ignored].concat());
    assert_eq!(ran.status, 0, "{}", ran.text());
    assert!(ran.stderr.contains("warning: 31 values skipped: key \"b\""), "{}", ran.stderr);
    for quiet in [
        &["--infer-records", "50"][..],
        &["--infer-records", "all"],
        &["--schema", "a: int64"],
        &["--infer-records", "50", "--columns", "a"],
        &[&ignored[..], &["--quiet"]].concat(),
    ] {
        let ran = folder.run(&[&args[..], quiet].concat());
        assert_eq!(ran.status, 0, "{}", ran.text());
        assert!(!ran.stderr.contains("values skipped"), "{quiet:?}: {}", ran.stderr);
    }
    for refused in [
        &["--infer-records", "50", "--late-keys", "error"][..],
        &["--infer-records", "50", "--unknown-keys", "error"],
        &["--infer-records", "50", "--late-keys", "error", "--on-error", "skip"],
    ] {
        let ran = folder.run(&[&args[..], refused].concat());
        assert_eq!(ran.status, 1, "{}", ran.text());
        assert!(
            ran.stderr.contains("line 51, byte 407 (record 50): unknown-key"),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("inferred from the first 50 records"), "{}", ran.stderr);
    }
    // Standard output has its schema before the end.
    let ran = folder.run(&["convert", "x.jsonl", "-o", "-", "--infer-records", "50"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("unknown-key"), "{}", ran.stderr);
}

/// What is not selected is known, so that neither unknown nor late keys are errors because of it.
#[test]
fn keys_of_columns_that_are_not_selected_are_not_unknown() {
    let folder = Folder::new();
    let line = "{\"n\":1,\"m\":2,\"u\":{\"a\":3,\"b\":[4]},\"s\":\"x\"}\n";
    folder.write("x.jsonl", line.repeat(60));
    folder.write("late.jsonl", line.repeat(60) + "{\"n\":1,\"late\":2}\n");
    folder.write("inner.jsonl", line.repeat(60) + "{\"n\":1,\"u\":{\"a\":5,\"z\":2}}\n");
    let schema = "n: int64, m: int8, u: struct<a: int8, b: list<int8>>, s: utf8";
    let given = ["--schema", schema, "--unknown-keys", "error"];
    let inferred = ["--infer-records", "50", "--late-keys", "error"];
    let both = ["--infer-records", "50", "--unknown-keys", "error"];
    for source in [given, inferred, both] {
        for select in [
            &["--columns", "n"][..],
            &["--columns", "u.a"],
            &["--columns", "u.a", "--flatten"],
            &["--columns", "n", "--where", "m = 2 and u.a > 2"],
            &["--columns", "u", "--where", "s = 'x'", "--threads", "1"],
        ] {
            let convert = |name: &str| {
                let args = ["convert", name, "-o", "y.jsonl"];
                folder.run(&[&args[..], &source, select].concat())
            };
            let ran = convert("x.jsonl");
            assert_eq!(ran.status, 0, "{source:?} {select:?}: {}", ran.text());
            assert!(ran.stderr.contains("60 rows"), "{}", ran.stderr);
            let ran = convert("late.jsonl");
            assert_eq!(ran.status, 1, "{source:?} {select:?}: {}", ran.text());
            assert!(ran.stderr.contains("unknown-key"), "{}", ran.stderr);
            // What is not selected is skipped as a whole.
            let within = select.iter().any(|word| word.starts_with('u') || word.contains("u."));
            let ran = convert("inner.jsonl");
            assert_eq!(ran.status, i32::from(within), "{source:?} {select:?}: {}", ran.text());
        }
    }
}

#[test]
fn inputs_of_another_format_are_called_by_its_name() {
    let folder = Folder::new();
    for (name, text, what) in [
        ("x.txt", "id,name\n1,x\n", "comma-separated values (CSV)"),
        ("x.bin", "Obj\u{1}\0", "an Avro file"),
        ("x.orc", "ORC\0", "an ORC file"),
        ("x.zip", "PK\u{3}\u{4}\u{14}\0", "a zip archive"),
    ] {
        folder.write(name, text);
        for schema in [&[][..], &["--schema", "id: int64"]] {
            let ran = folder.run(&[&["convert", name, "-o", "y.parquet"][..], schema].concat());
            assert_eq!(ran.status, 1, "{}", ran.text());
            assert!(ran.stderr.contains(what), "{}", ran.stderr);
        }
    }
}

#[test]
fn what_is_not_there_is_said_before_what_it_cannot_be_asked() {
    let folder = Folder::new();
    let ran = folder.run(&["convert", "rides/", "-o", "y.arrow", "--where", "a = 1"]);
    assert_eq!(ran.status, 1, "{}", ran.text());
    assert!(ran.stderr.contains("No such file or directory"), "{}", ran.stderr);
}

#[test]
fn an_empty_file_among_others_adds_nothing() {
    let folder = Folder::new();
    folder.write("a.jsonl", "");
    folder.write("b.jsonl", "{\"a\":1}\n");
    folder.write("c.jsonl", "");
    let ran = folder.run(&["convert", "a.jsonl", "b.jsonl", "c.jsonl", "-o", "y.arrow"]);
    assert_eq!(ran.status, 0, "{}", ran.text());
    assert!(ran.stderr.starts_with("1 row; "), "{}", ran.stderr);
}

#[test]
fn an_unknown_instruction_set_is_an_error() {
    let folder = Folder::new();
    folder.write("x.jsonl", "{\"a\":1}\n");
    assert_eq!(folder.run(&["convert", "x.jsonl", "-o", "x.parquet"]).status, 0);
    // JSON is refused before it is read, Parquet with the first column.
    for (input, status) in [("x.jsonl", 2), ("x.parquet", 1)] {
        let mut command = folder.command(&["convert", input, "-o", "x.arrow"]);
        let ran = finish(command.env("ARROWSMITH_CPU", "avx521").spawn().unwrap());
        assert_eq!(ran.status, status, "{}", ran.text());
        let expected = "ARROWSMITH_CPU=avx521: expected one of avx512, avx2, neon, portable";
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
