// SPDX-License-Identifier: Apache-2.0
//! The parts of a file hold its records, each once and in order, and report errors where they
//! are in the whole file.

use std::io::Write;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrowsmith_core::{OnError, Position};
use arrowsmith_plan::text::parse_schema;
use arrowsmith_source::Input;
use tempfile::NamedTempFile;

use crate::json::{ReaderBuilder, infer_schema};
use crate::options::{Format, JsonReadOptions};

/// Records of different lengths, one of them long, with empty lines; some of them bad.
fn text(end: &str, last: bool) -> String {
    let mut text = "\u{FEFF}".to_owned();
    for number in 0..300 {
        let filler = "x".repeat(if number == 150 { 200_000 } else { number % 37 });
        match number % 29 {
            13 => text += &format!(" \t{end}"),
            17 => text += end,
            19 => text += &format!("{{\"n\":\"bad {number}\"}}{end}"),
            _ => {}
        }
        text += &format!("{{\"n\":{number},\"s\":\"{filler}\"}}");
        text += if number < 299 || last { end } else { "" };
    }
    text
}

/// The numbers of a part, and where its rejects are.
fn part(file: &NamedTempFile, range: Option<(u64, u64)>, builder: ReaderBuilder) -> Part {
    let rejects = Arc::<Mutex<Vec<Position>>>::default();
    let kept = Arc::clone(&rejects);
    let mut builder = builder
        .schema(Arc::new(parse_schema("n: int64").unwrap()))
        .on_reject(move |reject| kept.lock().unwrap().push(reject.error.position));
    if let Some((start, end)) = range {
        builder = builder.byte_range(start, end);
    }
    let mut reader = builder.open([Input::Path(file.path().to_owned())]).unwrap();
    let mut numbers = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        numbers.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
    }
    let rejects = rejects.lock().unwrap().clone();
    Part { numbers, rejects }
}

#[derive(Debug, Default, PartialEq)]
struct Part {
    numbers: Vec<i64>,
    rejects: Vec<Position>,
}

fn builder(threads: usize, map_files: bool) -> ReaderBuilder {
    let (threads, on_error) = (Some(threads), OnError::Skip);
    let options = JsonReadOptions { threads, on_error, ..JsonReadOptions::default() };
    ReaderBuilder::new().options(options).map_files(map_files).chunk_bytes(4096)
}

#[test]
fn parts_make_up_the_whole() {
    for (end, last) in [("\n", true), ("\n", false), ("\r\n", true), ("\r\n", false)] {
        let text = text(end, last);
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let whole = part(&file, None, builder(1, true));
        assert_eq!((whole.numbers.len(), whole.rejects.len()), (300, 10));
        let len = text.len() as u64;
        for step in [97, 1000, 65_536, len] {
            // Threads take a while to start.
            let ways = [(1, true), (1, false), (2, true)];
            for (threads, map_files) in ways.into_iter().take(if step < 65_536 { 2 } else { 3 }) {
                let mut all = Part::default();
                for start in (0..len).step_by(usize::try_from(step).unwrap()) {
                    let range = Some((start, start + step));
                    let Part { numbers, rejects } = part(&file, range, builder(threads, map_files));
                    all.numbers.extend(numbers);
                    all.rejects.extend(rejects);
                }
                assert!(all == whole, "steps of {step}, {threads} threads, {map_files}");
            }
        }
    }
}

#[test]
fn errors_are_where_they_are_in_the_file() {
    let text = text("\n", true);
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let start = text.find("\"n\":250").unwrap() as u64;
    let read = |relative: bool| {
        let schema = Arc::new(parse_schema("n: int64").unwrap());
        let mut reader = ReaderBuilder::new()
            .schema(schema)
            .byte_range(start, u64::MAX)
            .count_before(!relative)
            .open([Input::Path(file.path().to_owned())])
            .unwrap();
        loop {
            match reader.next_batch() {
                Ok(batch) => assert!(batch.is_some()),
                Err(error) => return error.as_data().unwrap().position.clone(),
            }
        }
    };
    let offset = text.find("\"bad 251\"").unwrap();
    let before = text[..offset].lines().filter(|line| !line.trim().is_empty()).count() - 1;
    let line = text[..offset].matches('\n').count() as u64 + 1;
    let absolute = read(false);
    assert_eq!((absolute.record, absolute.line), (before as u64, line));
    assert_eq!(absolute.offset, offset as u64);
    let relative = read(true);
    assert_eq!((relative.record, relative.line, relative.offset), (0, 1, offset as u64));
}

#[test]
fn a_schema_is_inferred_from_the_range() {
    let text = "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n";
    let options =
        JsonReadOptions { range_start: 3, range_end: Some(8), ..JsonReadOptions::default() };
    let found = infer_schema([Input::bytes(text)], &options).unwrap();
    assert_eq!(found.schema.field(0).name(), "b");
    assert_eq!(found.schema.fields().len(), 1);
}

#[test]
fn what_has_no_ranges_is_refused() {
    let refused = |options: JsonReadOptions, count: usize| {
        let inputs: Vec<Input> = (0..count).map(|_| Input::bytes("{\"a\":1}\n")).collect();
        let schema = Arc::new(parse_schema("a: int64").unwrap());
        let builder = ReaderBuilder::new().options(options).schema(schema);
        builder.open(inputs).map(|_| ()).unwrap_err().to_string()
    };
    let range = || JsonReadOptions { range_start: 5, range_end: Some(9), ..Default::default() };
    let array = JsonReadOptions { format: Format::Array, ..range() };
    let backwards = JsonReadOptions { range_end: Some(4), ..range() };
    let numbered = JsonReadOptions { record_column: Some("r".to_owned()), ..range() };
    for (error, expected) in [
        (refused(array, 1), "needs one record per line"),
        (refused(backwards, 1), "ends at 4, before its start, 5"),
        (refused(range(), 2), "of one input, and there are 2"),
        (refused(numbered, 1), "record_column"),
    ] {
        assert!(error.contains(expected), "{error}");
    }
}
