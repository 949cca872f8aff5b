// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` with random options of many kinds together: what is written in one way, on
//! one thread, is what is written in another: sorted, to a Delta table, from a stream, on several
//! threads.

use std::fmt::Write as _;

use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::scale;
use serde_json::Value;

use crate::cli::run::{Folder, Ran};

/// Records of a few shapes, some late, some that match no schema.
fn text(rng: &mut Rng) -> String {
    let mut text = String::new();
    let count = 1 + rng.below(40);
    let bad = rng.one_in(2);
    for id in 0..count {
        let mut members = vec![format!("\"id\":{id}")];
        let mut add = |member: &str| members.push(member.to_owned());
        add(rng.pick::<&str>(&[
            "\"n\":1",
            "\"n\":\"2\"",
            "\"n\":\"-\"",
            "\"n\":3.0",
            "\"n\":null",
            "\"m\":1",
        ]));
        add(rng.pick::<&str>(&[
            "\"d\":\"2024-01-02\"",
            "\"d\":\"3.1.2024\"",
            "\"d\":\"\"",
            "\"d\":null",
        ]));
        add(rng.pick::<&str>(&[
            "\"b\":true",
            "\"b\":0",
            "\"b\":\"False\"",
            "\"s\":\"x\"",
            "\"s\":\"é\\n\"",
        ]));
        add(rng.pick::<&str>(&[
            "\"u\":{\"a\":1,\"v\":{\"c\":\"y\"}}",
            "\"u\":{\"a\":\"7\",\"l\":[1,2]}",
            "\"u\":{}",
            "\"u\":null",
            "\"t\":\"2024-01-02T03:04:05.25\"",
            "\"t\":1700000000",
        ]));
        if id > 20 && rng.one_in(6) {
            add("\"late\":{\"z\":1}");
        }
        if bad && rng.one_in(9) {
            add(rng.pick::<&str>(&[
                "\"n\":[1]",
                "\"id\":\"x\"",
                "\"u\":3",
                "\"x\":tru",
                "\"s\":\"\\ud800\"",
            ]));
        }
        let _ = writeln!(text, "{{{}}}", members.join(","));
    }
    text
}

const SCHEMA: &str = "id: int64, n: int32 scalars nulls \"-\", d: date32 format \"%d.%m.%Y\" nulls \
    \"\", b: bool scalars, s: utf8, u: struct<a: int8 scalars, v: struct<c: utf8>, l: list<int64>>, \
    t: timestamp(us) epoch s";

/// Options that decide what is read.
fn options(rng: &mut Rng) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |words: &[&str]| options.extend(words.iter().map(|&word| word.to_owned()));
    if rng.one_in(2) {
        add(&["--schema", SCHEMA]);
    } else {
        add(&["--infer-records", *rng.pick(&["1", "5", "all"])]);
        add(&["--coerce", *rng.pick(&["nulls \"-\" \"\"", "scalars nulls \"-\""])]);
        add(rng.pick::<&[&str]>(&[&[], &["--infer-timestamps"], &["--late-keys", "ignore"]]));
    }
    add(&["--on-error", *rng.pick(&["skip", "null", "skip", "fail"])]);
    let rare: &[&[&str]] = &[
        &["--flatten"],
        &["--dialect", "spark"],
        &["--unknown-keys", "error"],
        &["--duplicate-keys", "error"],
        &["--where", "n is not null or b = true"],
        &["--where", "id >= 3"],
        &["--where", "late.z is null and id > 1"],
        &["--columns", "id,u.a,n"],
        &["--columns", "id,u"],
        &["--columns", "late,id"],
        &["--limit", "5"],
        &["--skip", "2"],
        &["--record-bytes-max", "60"],
        &["--depth-max", "3"],
        &["--types", "n: utf8 scalars"],
        &["--record-column", "record"],
        &["--memory", "1MiB"],
        &["--batch-bytes-max", "4KiB"],
    ];
    for words in rare {
        if rng.one_in(5) && !options.iter().any(|word| word == words[0]) {
            options.extend(words.iter().map(|&word| word.to_owned()));
        }
    }
    options
}

/// A record without its nulls, which formats write or do not.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (key, bare(value)));
            Value::Object(members.filter(|(_, value)| !value.is_null()).collect())
        }
        Value::Array(items) => items.into_iter().map(bare).collect(),
        other => other,
    }
}

/// The records of a file, in the order of their text.
fn records(folder: &Folder, name: &str) -> Vec<String> {
    let text = String::from_utf8(folder.read(name)).unwrap();
    // In a column of JSON text half a surrogate pair may be escaped.
    let record = |line: &str| match serde_json::from_str(line) {
        Ok(value) => bare(value).to_string(),
        Err(_) => line.to_owned(),
    };
    let mut records: Vec<String> = text.lines().map(record).collect();
    records.sort_unstable();
    records
}

/// Not a result of the options: what an output cannot hold.
fn is_unsupported(ran: &Ran) -> bool {
    ["tables have no", "of version 2 have no", "no order to sort by", "no such column to sort by"]
        .iter()
        .any(|reason| ran.stderr.contains(reason))
}

fn check(seed: u64) -> bool {
    let rng = &mut Rng::new(seed);
    let folder = Folder::new();
    let (input, options) = (text(rng), options(rng));
    folder.write("in.jsonl", &input);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let run = |from: &str, more: &[&str]| {
        let args = [&["convert", "-q", from], &options[..], more].concat();
        let ran = match from {
            "-" => folder.run_with(&args, input.as_bytes()),
            _ => folder.run(&args),
        };
        let about = format!("seed {seed}: {args:?}\n{input}\n{}", ran.text());
        assert!((0..=2).contains(&ran.status) && !ran.stderr.contains("panicked"), "{about}");
        (ran, about)
    };
    let mut one = vec!["-o", "a.jsonl", "--threads", "1"];
    let threads = (1 + rng.below(3)).to_string();
    let mut more = vec!["--threads", &threads];
    if !options.contains(&"fail") {
        one.extend(["--rejects", "a.rejects"]);
        more.extend(["--rejects", "b.rejects"]);
    }
    let (first, about) = run("in.jsonl", &one);
    let from = *rng.pick(&["in.jsonl", "-"]);
    if from == "-" {
        more.extend(["--format", "ndjson"]);
    }
    let (name, to) = *rng.pick(&[
        ("b.parquet", &[][..]),
        ("b.arrow", &["--batch-rows", "3"]),
        ("b", &["--to", "delta"]),
        ("b", &["--to", "delta", "--append", "--rows-per-file", "4"]),
        ("b", &["--to", "iceberg", "--append", "--rows-per-file", "4"]),
    ]);
    more.extend(["-o", name]);
    more.extend(to);
    if rng.one_in(2) {
        more.extend(["--sort-by", *rng.pick(&["id", "id desc", "n,id"])]);
        more.extend(["--sort-memory", *rng.pick(&["1KiB", "1GiB"])]);
    }
    let (second, other) = run(from, &more);
    if is_unsupported(&second) {
        return false;
    }
    let about = format!("{about}\n{other}");
    assert_eq!(first.status, second.status, "{about}");
    let rejects = |name: &str| {
        let text = std::fs::read_to_string(folder.path(name)).unwrap_or_default();
        text.replace("\"source\":\"in.jsonl\"", "\"source\":\"-\"")
    };
    assert_eq!(rejects("a.rejects"), rejects("b.rejects"), "{about}");
    if first.status != 0 {
        assert!(!folder.path("a.jsonl").exists(), "{about}");
        assert!(name == "b" || !folder.path(name).exists(), "{about}");
        return true;
    }
    let mut back = vec!["convert", "-q", name, "-o", "b.jsonl"];
    if name == "b" {
        back.extend(["--format", to[1]]);
    }
    let ran = folder.run(&back);
    let (empty, rows) = (ran.stderr.contains("has no files"), records(&folder, "a.jsonl"));
    assert!(ran.status == 0 || (empty && rows.is_empty()), "{about}\n{}", ran.text());
    if !empty {
        assert_eq!(records(&folder, "b.jsonl"), rows, "{about}");
    }
    true
}

#[test]
fn any_options_together_give_what_they_give_apart() {
    let seeds = scale::number("ARROWSMITH_COMBINATIONS", 25, 2_000);
    let first = scale::number("ARROWSMITH_COMBINATIONS_FROM", 0, 0);
    let compared = (first..first + seeds).filter(|seed| check(*seed)).count() as u64;
    assert!(compared > seeds / 2, "only {compared} of {seeds} outputs could be compared");
}
