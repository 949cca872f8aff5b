// SPDX-License-Identifier: Apache-2.0
//! Each kind of bad input, under each `--on-error`: the messages, the output, the remaining files.

use crate::cli::data::{everyday, read_file, write_schema};
use crate::cli::run::{Folder, snapshot};

struct Case {
    name: &'static str,
    input: &'static [u8],
    args: &'static [&'static str],
}

const fn case(name: &'static str, input: &'static [u8]) -> Case {
    Case { name, input, args: &[] }
}

const fn case_with(
    name: &'static str,
    input: &'static [u8],
    args: &'static [&'static str],
) -> Case {
    Case { name, input, args }
}

/// Each has a good record before and after the bad one, where that is possible.
const CASES: &[Case] = &[
    case("wrong_type", b"{\"id\":1}\n{\"id\":2,\"score\":\"x\"}\n{\"id\":3}\n"),
    case("wrong_type_nested", b"{\"id\":1}\n{\"id\":2,\"user\":{\"tags\":[\"a\",7]}}\n{\"id\":3}\n"),
    case("fraction_for_integer", b"{\"id\":1}\n{\"id\":2.0}\n{\"id\":3}\n"),
    case("overflow", b"{\"id\":1}\n{\"id\":2,\"small\":256}\n{\"id\":3}\n"),
    case("overflow_minus", b"{\"id\":1}\n{\"id\":2,\"small\":-1}\n{\"id\":3}\n"),
    case("overflow_float", b"{\"id\":1}\n{\"id\":2,\"score\":1e999}\n{\"id\":3}\n"),
    case("invalid_utf8", b"{\"id\":1}\n{\"id\":2,\"name\":\"\xff\"}\n{\"id\":3}\n"),
    case("invalid_escape", b"{\"id\":1}\n{\"id\":2,\"name\":\"a\\x\"}\n{\"id\":3}\n"),
    case("lone_surrogate", b"{\"id\":1}\n{\"id\":2,\"name\":\"\\ud800\"}\n{\"id\":3}\n"),
    case("control_character", b"{\"id\":1}\n{\"id\":2,\"name\":\"a\tb\"}\n{\"id\":3}\n"),
    case_with(
        "too_deep",
        b"{\"id\":1}\n{\"id\":2,\"other\":[[[[[1]]]]]}\n{\"id\":3}\n",
        &["--depth-max", "4"],
    ),
    case_with(
        "too_long",
        b"{\"id\":1}\n{\"id\":2,\"name\":\"0123456789012345678901234567890123456789\"}\n{\"id\":3}\n",
        &["--record-bytes-max", "32"],
    ),
    case("not_a_number", b"{\"id\":1}\n{\"id\":2,\"score\":NaN}\n{\"id\":3}\n"),
    case("trailing_garbage", b"{\"id\":1}\n{\"id\":2} x\n{\"id\":3}\n"),
    case("truncated_last_line", b"{\"id\":1}\n{\"id\":2,\"na"),
    case("missing_required", b"{\"id\":1}\n{\"name\":\"x\"}\n{\"id\":3}\n"),
    case("null_for_required", b"{\"id\":1}\n{\"id\":null}\n{\"id\":3}\n"),
    case_with(
        "duplicate_key",
        b"{\"id\":1}\n{\"id\":2,\"id\":4}\n{\"id\":3}\n",
        &["--duplicate-keys", "error"],
    ),
    case_with(
        "unknown_key",
        b"{\"id\":1}\n{\"id\":2,\"other\":4}\n{\"id\":3}\n",
        &["--unknown-keys", "error"],
    ),
    case("not_json", b"{\"id\":1}\nhello\n{\"id\":3}\n"),
    case("mark_in_the_middle", b"{\"id\":1}\n\xef\xbb\xbf{\"id\":2}\n{\"id\":3}\n"),
];

fn prepare(case: &Case) -> Folder {
    let folder = Folder::new();
    folder.write("in.jsonl", case.input);
    write_schema(&folder, "schema", everyday());
    folder
}

fn convert(folder: &Folder, case: &Case, more: &[&str]) -> crate::cli::run::Ran {
    let args = ["convert", "in.jsonl", "-o", "out.arrow", "--schema", "schema", "--quiet"];
    folder.run(&[&args[..], case.args, more].concat())
}

fn ids(folder: &Folder) -> Vec<Option<i64>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    let batches = read_file(folder, "out.arrow");
    let column = |batch: &arrow_array::RecordBatch| {
        batch.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

#[test]
fn fail_says_where_and_leaves_nothing() {
    let mut text = String::new();
    for case in CASES {
        let folder = prepare(case);
        let ran = convert(&folder, case, &[]);
        assert_eq!(ran.status, 1, "{}: {}", case.name, ran.text());
        assert!(ran.stdout.is_empty(), "{}", case.name);
        assert_eq!(folder.names(), ["in.jsonl", "schema"], "{}: no half file", case.name);
        text.push_str(&format!("# {}\n{}\n", case.name, ran.stderr));
    }
    snapshot("bad_input/fail.txt", &text);
}

#[test]
fn skip_keeps_the_good_records_and_the_bad_ones_too() {
    let mut text = String::new();
    for case in CASES {
        let folder = prepare(case);
        let ran = convert(&folder, case, &["--on-error", "skip", "--rejects", "bad.jsonl"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", case.name);
        let good =
            if case.name == "truncated_last_line" { vec![Some(1)] } else { vec![Some(1), Some(3)] };
        assert_eq!(ids(&folder), good, "{}", case.name);
        let rejects = String::from_utf8(folder.read("bad.jsonl")).unwrap();
        assert_eq!(rejects.lines().count(), 1, "{}: {rejects}", case.name);
        assert_whole(case, &rejects);
        text.push_str(&format!("# {}\n{rejects}\n", case.name));
    }
    snapshot("bad_input/skip.txt", &text);
}

/// The rejected text is the line, to the byte.
fn assert_whole(case: &Case, rejects: &str) {
    use base64::Engine as _;
    let reject: serde_json::Value = serde_json::from_str(rejects).unwrap();
    let record = match &reject["text"] {
        serde_json::Value::String(text) => text.clone().into_bytes(),
        _ => base64::prelude::BASE64_STANDARD
            .decode(reject["text_base64"].as_str().unwrap())
            .unwrap(),
    };
    let line = case.input.split(|&byte| byte == b'\n').nth(1).unwrap();
    assert_eq!(record, line, "{}: {rejects}", case.name);
}

#[test]
fn null_keeps_what_it_can() {
    let mut text = String::new();
    for case in CASES {
        let folder = prepare(case);
        let ran = convert(&folder, case, &["--on-error", "null", "--rejects", "bad.jsonl"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", case.name);
        let rejects = String::from_utf8(folder.read("bad.jsonl")).unwrap();
        let reject: serde_json::Value = serde_json::from_str(&rejects).unwrap();
        text.push_str(&format!(
            "{}: {:?}, kept_as_null: {}\n",
            case.name,
            ids(&folder),
            reject["kept_as_null"]
        ));
    }
    snapshot("bad_input/null.txt", &text);
}

#[test]
fn without_a_file_the_first_reasons_are_shown() {
    let folder = Folder::new();
    let bad: String = (0..8).map(|n| format!("{{\"id\":\"{n}\"}}\n{{\"id\":{n}}}\n")).collect();
    folder.write("in.jsonl", bad);
    write_schema(&folder, "schema", everyday());
    let args =
        ["convert", "in.jsonl", "-o", "out.arrow", "--schema", "schema", "--on-error", "skip"];
    let ran = folder.run(&args);
    ran.assert_status(0);
    assert_eq!(ids(&folder).len(), 8);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 7, "{}", ran.stderr);
    assert!(lines[4].starts_with("rejected: in.jsonl: line 9, byte "), "{}", ran.stderr);
    assert!(lines[5].starts_with("and 3 more records"), "{}", ran.stderr);
    assert!(lines[6].ends_with("8 rejected, 0 nulled"), "{}", ran.stderr);
}

#[test]
fn rejects_stay_when_the_work_fails() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":\"x\"}\n");
    write_schema(&folder, "schema", everyday());
    let args = ["convert", "a.jsonl", "missing.jsonl", "-o", "out.arrow", "--schema", "schema"];
    let ran = folder.run(&[&args[..], &["--on-error", "skip", "--rejects", "bad.jsonl"]].concat());
    ran.assert_status(1);
    assert!(ran.stderr.contains("missing.jsonl"), "{}", ran.stderr);
    assert!(!folder.path("out.arrow").exists());
}

#[test]
fn without_its_rejects_there_is_no_output() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":\"x\"}\n");
    write_schema(&folder, "schema", everyday());
    let args = ["convert", "a.jsonl", "-o", "out.arrow", "--schema", "schema"];
    let ran = folder.run(&[&args[..], &["--on-error", "skip", "--rejects", "/dev/full"]].concat());
    ran.assert_status(1);
    assert!(ran.stderr.contains("/dev/full"), "{}", ran.stderr);
    assert!(!folder.path("out.arrow").exists());
}

#[test]
fn what_only_looks_bad_is_taken() {
    for (name, input, rows) in [
        ("empty lines", &b"\n{\"id\":1}\n\n  \n{\"id\":2}\n\n"[..], 2),
        ("carriage returns", b"{\"id\":1}\r\n\r\n{\"id\":2}\r\n", 2),
        ("a byte order mark", b"\xef\xbb\xbf{\"id\":1}\n{\"id\":2}\n", 2),
        ("no last line end", b"{\"id\":1}\n{\"id\":2}", 2),
        ("a repeated key", b"{\"id\":7,\"id\":1}\n{\"id\":2}\n", 2),
        ("unknown keys", b"{\"x\":[{}],\"id\":1}\n{\"id\":2,\"y\":null}\n", 2),
        ("white space", b" { \"id\" : 1 } \n\t{\"id\":2}\t\n", 2),
        (
            "nulls",
            b"{\"id\":1,\"name\":null,\"user\":null}\n{\"id\":2,\"user\":{\"tags\":[null]}}\n",
            2,
        ),
        ("nothing", b"", 0),
        ("white space only", b"\n \n", 0),
    ] {
        let folder = Folder::new();
        folder.write("in.jsonl", input);
        write_schema(&folder, "schema", everyday());
        let ran = folder.run(&["convert", "in.jsonl", "-o", "out.arrow", "--schema", "schema"]);
        assert_eq!(ran.status, 0, "{name}: {}", ran.text());
        let wanted: Vec<Option<i64>> = (1..=rows).map(Some).collect();
        assert_eq!(ids(&folder), wanted, "{name}");
    }
}

#[test]
fn nan_is_taken_when_allowed() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\":1,\"score\":NaN}\n{\"id\":2,\"score\":-Infinity}\n");
    write_schema(&folder, "schema", everyday());
    let args = ["convert", "in.jsonl", "-o", "out.arrow", "--schema", "schema", "--allow-nan"];
    folder.run(&args).assert_status(0);
    assert_eq!(ids(&folder), [Some(1), Some(2)]);
}

/// Settings, tokens and keys are read to their end, which a device may not have.
#[cfg(unix)]
#[test]
fn files_without_an_end_are_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"a\":1}\n");
    let serve = ["serve", "a.jsonl", "--listen", "127.0.0.1:0"];
    let fetch = ["fetch", "grpc+tls://127.0.0.1:1/a", "-o", "-"];
    for args in [
        &["ingest", "--config", "/dev/zero"][..],
        &["generate", "trip", "--connect", "tcp://127.0.0.1:1", "--token-file", "/dev/zero"],
        &["generate", "trip", "--connect", "tls://127.0.0.1:1", "--ca", "/dev/zero"],
        &[&serve[..], &["--tokens", "/dev/zero"]].concat(),
        &[&serve[..], &["--users", "/dev/zero"]].concat(),
        &[&serve[..], &["--ticket-key", "/dev/zero"]].concat(),
        &[&serve[..], &["--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"]].concat(),
        &[&fetch[..], &["--token", "/dev/zero"]].concat(),
        &[&fetch[..], &["--tls-ca", "/dev/zero"]].concat(),
    ] {
        let ran = folder.run(args);
        assert!(ran.stderr.starts_with("error: /dev/zero: more than "), "{args:?}: {}", ran.stderr);
    }
}
