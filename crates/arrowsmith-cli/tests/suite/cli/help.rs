// SPDX-License-Identifier: Apache-2.0
//! The help of every command, and usage errors.

use crate::cli::run::{Folder, snapshot};

#[test]
fn help_is_as_kept() {
    let folder = Folder::new();
    let help = |args: &[&str]| {
        let ran = folder.run(args);
        ran.assert_status(0);
        assert_eq!(ran.stderr, "");
        String::from_utf8(ran.stdout).unwrap()
    };
    snapshot("help/arrowsmith.txt", &help(&["--help"]));
    for command in ["convert", "infer", "inspect", "generate", "ingest", "serve", "fetch", "rtl"] {
        snapshot(&format!("help/{command}.txt"), &help(&[command, "--help"]));
    }
    snapshot("help/bench.txt", &help(&["bench", "--help"]));
    snapshot("help/bench_json.txt", &help(&["bench", "json", "--help"]));
    snapshot("help/bench_parquet.txt", &help(&["bench", "parquet", "--help"]));
    snapshot("help/bench_convert.txt", &help(&["bench", "convert", "--help"]));
    snapshot("help/bench_write.txt", &help(&["bench", "write", "--help"]));
    snapshot("help/bench_flight.txt", &help(&["bench", "flight", "--help"]));
    snapshot("help/bench_ingest.txt", &help(&["bench", "ingest", "--help"]));
    assert!(help(&["--version"]).starts_with("arrowsmith 0."));
}

#[test]
fn a_call_that_is_wrong_ends_with_2() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"a\":1}\n");
    let mut text = String::new();
    for args in [
        &[][..],
        &["dance"],
        &["convert"],
        &["convert", "a.jsonl"],
        &["convert", "a.jsonl", "-o", "a.txt"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--codec", "zip"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--codec", "zstd"],
        &["convert", "a.jsonl", "-o", "a.parquet", "--buffer-compression", "lz4"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--memory", "much"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--threads", "0"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--schema", "a: number"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--schema", "tripp"],
        &["convert", "a.jsonl", "-o", "a.arrow", "--schema", "trip", "--columns", "b"],
        &["convert", "a.jsonl", "-o", "-", "--rejects", "-"],
        &["infer", "a.jsonl", "--infer-records", "0"],
        &["generate", "quasar"],
        &["generate", "trip", "--bytes", "1KiB", "--rows", "2"],
        &["generate", "trip", "--connect", "ftp://127.0.0.1:1"],
        &["generate", "trip", "--connect", "tcp://127.0.0.1:1", "--connections", "0"],
        &["generate", "trip", "--connect", "tcp://127.0.0.1:1", "--rate", "fast"],
        &["generate", "trip", "--listen", "http://127.0.0.1:0"],
        &["ingest", "--schema", "a: number"],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.text());
        assert!(ran.stdout.is_empty(), "{args:?}: {}", ran.text());
        if !args.is_empty() {
            text.push_str(&format!("$ arrowsmith {}\n{}\n", args.join(" "), ran.stderr));
        }
    }
    assert_eq!(folder.names(), ["a.jsonl"]);
    snapshot("wrong_calls.txt", &text);
}
