// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith serve` and `arrowsmith fetch`: one process serves files, others read them, and it
//! exits on a signal.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use crate::cli::data::{read_file, read_stream, whole};
use crate::cli::run::{Folder, finish};

/// A server of the folder's files, and its address.
fn serve(folder: &Folder, args: &[&str]) -> (Child, String) {
    let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
    let mut child = folder.command(&args).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let Some(address) = line.trim_end().strip_prefix("listening on ") else {
        panic!("{line:?}: {}", finish(child).stderr);
    };
    let address = address.to_owned();
    (child, address)
}

fn end(child: Child) {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    finish(child).assert_status(0);
}

#[test]
fn files_are_served_and_fetched() {
    let folder = Folder::new();
    folder.run(&["generate", "taxi", "--rows", "5000", "-o", "rides.jsonl"]).assert_status(0);
    folder.run(&["convert", "-q", "rides.jsonl", "-o", "rides.parquet"]).assert_status(0);
    folder.run(&["convert", "-q", "rides.jsonl", "-o", "mapped.arrow"]).assert_status(0);
    let expected = whole(&read_file(&folder, "mapped.arrow"));
    let (server, address) = serve(&folder, &["rides.parquet", "mapped.arrow", "text=rides.jsonl"]);

    let list = folder.run(&["fetch", &address]);
    list.assert_status(0);
    let list = String::from_utf8(list.stdout).unwrap();
    for name in ["rides", "mapped", "text"] {
        assert!(list.lines().any(|line| line.contains(name)), "{list}");
        let url = format!("{address}/{name}");
        folder.run(&["fetch", "-q", &url, "-o", "out.arrow"]).assert_status(0);
        let fetched = whole(&read_file(&folder, "out.arrow"));
        assert_eq!(fetched.columns(), expected.columns(), "{name}");
    }

    let url = format!("{address}/rides");
    let some = ["--columns", "fare_amount", "--where", "fare_amount > 20", "--limit", "7"];
    let fetched = folder.run(&[&["fetch", "-q", &url, "-o", "-"], &some[..]].concat());
    fetched.assert_status(0);
    let fetched = whole(&read_stream(&fetched.stdout));
    let from = ["convert", "-q", "rides.parquet", "-o", "-", "--to", "arrows"];
    let converted = folder.run(&[&from, &some[..]].concat());
    converted.assert_status(0);
    assert_eq!(fetched, whole(&read_stream(&converted.stdout)));

    let unknown = folder.run(&["fetch", &format!("{address}/../etc"), "-o", "no.arrow"]);
    assert_eq!(unknown.status, 1, "{}", unknown.text());
    assert!(!folder.path("no.arrow").exists());
    end(server);
    let late = folder.run(&["fetch", &address]);
    assert_eq!(late.status, 1, "{}", late.text());
}

#[test]
fn a_token_is_required() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    folder.write("tokens", "open-sesame\n");
    let (server, address) = serve(&folder, &["a.jsonl", "--tokens", "tokens"]);
    let url = format!("{address}/a");
    let refused = folder.run(&["fetch", &url, "-o", "out.arrow"]);
    assert_eq!(refused.status, 1, "{}", refused.text());
    let mut fetch = folder.command(&["fetch", "-q", &url, "-o", "out.jsonl"]);
    fetch.env("ARROWSMITH_FLIGHT_TOKEN", "open-sesame");
    finish(fetch.spawn().unwrap()).assert_status(0);
    assert_eq!(folder.read("out.jsonl"), b"{\"a\":1}\n{\"a\":2}\n");
    end(server);
}

#[test]
fn json_is_served_with_the_options_of_its_reader() {
    let folder = Folder::new();
    let fetched = |address: &str, name: &str| {
        let url = format!("{address}/{name}");
        let ran = folder.run(&["fetch", "-q", &url, "-o", "-", "--to", "jsonl"]);
        (ran.status, String::from_utf8(ran.stdout).unwrap(), ran.stderr)
    };

    // A key that comes after the records that a schema is inferred from.
    let late = ["{\"a\":1}\n", "{\"a\":2}\n", "{\"a\":3,\"b\":4}\n"].concat();
    folder.write("late.jsonl", &late);
    let (server, address) = serve(&folder, &["late.jsonl", "--infer-records", "2"]);
    let (status, _, text) = fetched(&address, "late");
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("--infer-records all"), "{text}");
    end(server);
    let (server, address) = serve(&folder, &["late.jsonl", "--infer-records", "all"]);
    let (status, rows, text) = fetched(&address, "late");
    assert_eq!((status, rows.lines().last()), (0, Some("{\"a\":3,\"b\":4}")), "{text}");
    end(server);

    // Types, words that mean null, and records within a document.
    folder.write("docs.json", "{\"data\":[{\"id\":7,\"at\":\"-\"},{\"id\":8,\"at\":1000}]}");
    let options = ["--records", "data", "--types", "id: utf8 scalars, at: timestamp(ms) epoch ms"];
    let options = [&["docs.json"], &options[..], &["--coerce", "nulls \"-\""]];
    let (server, address) = serve(&folder, &options.concat());
    let (status, rows, text) = fetched(&address, "docs");
    assert_eq!(status, 0, "{text}");
    let expected = ["{\"id\":\"7\",\"at\":null}", "{\"id\":\"8\",\"at\":\"1970-01-01T00:00:01\"}"];
    assert_eq!(rows.lines().collect::<Vec<_>>(), expected, "{text}");
    end(server);
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let folder = Folder::new();
    let ran = folder.run(&["serve", "nothing.parquet", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.status, 1, "{}", ran.text());
    assert!(ran.stderr.contains("nothing.parquet"), "{}", ran.text());
    folder.run(&["serve"]).assert_status(2);
    folder.write("a.jsonl", "{\"a\":1}\n");
    folder.run(&["convert", "-q", "a.jsonl", "-o", "a.parquet"]).assert_status(0);
    for (args, word) in [
        (&["a.parquet", "--types", "a: utf8"][..], "--types"),
        (&["a.parquet", "--schema", "a: utf8"], "--schema"),
        (&["a.jsonl", "--records", "x", "--writable"], "--records"),
    ] {
        let ran = folder.run(&[&["serve"], args].concat());
        assert_eq!(ran.status, 2, "{}", ran.text());
        assert!(ran.stderr.contains(word), "{}", ran.text());
    }
}
