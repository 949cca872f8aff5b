// SPDX-License-Identifier: Apache-2.0
//! Positions of errors and rejects do not depend on how the input was split, and valid rows come
//! first.

use std::io;
use std::sync::{Arc, Mutex};

use arrowsmith_core::{DecodeOptions, Error, ErrorKind, Limits, OnError, Position, Reject};
use arrowsmith_source::Input;

use super::{Drip, Watched, cpu, drain, pipeline, record};
use crate::JsonPipeline;

const CHUNKS: [usize; 4] = [1, 50, 1000, 1 << 20];

/// 120 lines, of which the one with this number does not match the schema.
fn lines_with_bad(bad: usize, blank: &str) -> (String, usize) {
    let mut text = String::new();
    let mut offset = 0;
    for number in 0..120 {
        text.push_str(blank);
        if number == bad {
            offset = text.len() + 5;
            text.push_str("{\"n\":true}");
        } else {
            text.push_str(&record(number));
        }
        text.push('\n');
    }
    (text, offset)
}

#[test]
fn the_first_error_stands_where_it_is_and_comes_after_the_rows_before_it() {
    for (bad, blank) in [(0, ""), (1, "\n"), (57, ""), (57, " \r\n\n"), (119, "\n")] {
        let (text, offset) = lines_with_bad(bad, blank);
        let line = text[..offset].matches('\n').count() as u64 + 1;
        for threads in [1, 2, 4] {
            for chunk in CHUNKS {
                let named = Input::Reader {
                    name: Some(Arc::from("second")),
                    reader: Box::new(Drip::new(text.clone(), 100)),
                };
                let first = Input::bytes("{\"n\":1}\n{\"n\":2}\n");
                let batches = JsonPipeline::builder(super::plan(), cpu())
                    .inputs([first, named])
                    .threads(threads)
                    .chunk_bytes(chunk)
                    .start()
                    .unwrap();
                let (rows, error) = drain(batches);
                assert_eq!(rows.num_rows(), 2 + bad);
                let error = error.unwrap();
                let data = error.as_data().unwrap();
                let source = Some(Arc::from("second"));
                let position = Position { source, record: bad as u64, line, offset: offset as u64 };
                assert_eq!(data.position, position, "{threads} threads, chunks of {chunk}");
                assert_eq!((data.kind, data.path.as_str()), (ErrorKind::WrongType, "n"));
            }
        }
    }
}

#[test]
fn rejects_come_in_order_with_absolute_positions_and_nothing_is_lost() {
    let mut text = String::new();
    let mut expected = Vec::new();
    for number in 0..300u64 {
        if number % 7 == 3 {
            let bad = format!("{{\"n\":\"no {number}\"}}");
            let offset = text.len() as u64 + 5;
            expected.push((number, number + 1, offset, bad.clone()));
            text.push_str(&bad);
        } else {
            text.push_str(&record(usize::try_from(number).unwrap()));
        }
        text.push('\n');
    }
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    for threads in [1, 2, 4] {
        for chunk in CHUNKS {
            let rejects = Arc::new(Mutex::new(Vec::new()));
            let into = Arc::clone(&rejects);
            let batches = pipeline(cpu(), Input::bytes(text.clone()))
                .options(options.clone())
                .threads(threads)
                .chunk_bytes(chunk)
                .on_reject(move |reject: Reject| into.lock().unwrap().push(reject))
                .start()
                .unwrap();
            let progress = Arc::clone(batches.progress());
            let (rows, error) = drain(batches);
            assert!(error.is_none());
            assert_eq!(rows.num_rows(), 300 - expected.len());
            assert_eq!(progress.rejects(), expected.len() as u64);
            assert_eq!(progress.rows(), rows.num_rows() as u64);
            let seen: Vec<_> = rejects
                .lock()
                .unwrap()
                .drain(..)
                .map(|reject| {
                    let Position { record, line, offset, .. } = reject.error.position;
                    (record, line, offset, String::from_utf8(reject.record).unwrap())
                })
                .collect();
            assert_eq!(seen, expected, "{threads} threads, chunks of {chunk}");
        }
    }
}

#[test]
fn a_reader_that_fails_loses_nothing_that_came_whole() {
    for threads in [1, 2] {
        for chunk in CHUNKS {
            let text = format!("{}\n{}\n{{\"n\":", record(1), record(2));
            let mut reader = Drip::new(text, 10);
            reader.error = Some(io::Error::other("the line is down"));
            let input = Input::Reader { name: Some(Arc::from("wire")), reader: Box::new(reader) };
            let batches =
                pipeline(cpu(), input).threads(threads).chunk_bytes(chunk).start().unwrap();
            let (rows, error) = drain(batches);
            assert_eq!(rows.num_rows(), 2, "{threads} threads, chunks of {chunk}");
            let error = error.unwrap();
            assert!(matches!(error, Error::Io { .. }));
            assert_eq!(error.to_string(), "wire: the line is down");
        }
    }
}

#[test]
fn a_file_that_is_missing_comes_after_the_rows_before_it() {
    for threads in [1, 2] {
        let batches = JsonPipeline::builder(super::plan(), cpu())
            .inputs([Input::bytes("{\"n\":1}"), Input::Path("/no/such/file.json".into())])
            .threads(threads)
            .start()
            .unwrap();
        let (rows, error) = drain(batches);
        assert_eq!(rows.num_rows(), 1);
        assert!(error.unwrap().to_string().starts_with("/no/such/file.json: "));
    }
}

#[test]
fn a_panic_of_the_engine_is_an_error_in_its_place() {
    let text: String = (0..100).map(|number| record(number) + "\n").collect();
    for threads in [1, 2, 4] {
        let engine = Arc::new(Watched { panics_at: Some("\"n\":50,"), ..Watched::default() });
        let batches = pipeline(engine, Input::bytes(text.clone()))
            .threads(threads)
            .chunk_bytes(1)
            .start()
            .unwrap();
        let (rows, error) = drain(batches);
        assert_eq!(rows.num_rows(), 50);
        assert!(error.unwrap().to_string().contains("the engine met"));
    }
}

#[test]
fn a_record_beyond_the_limit_is_an_error_at_its_first_byte() {
    let long = format!("{{\"s\":\"{}\"}}", "y".repeat(5000));
    let text = format!("{}\n{long}\n{}\n", record(1), record(2));
    let mut options = DecodeOptions::default();
    options.limits = Limits::default().with_record_bytes_max(1000);
    for threads in [1, 2] {
        for chunk in CHUNKS {
            for input in [Input::bytes(text.clone()), Input::reader(Drip::new(text.clone(), 99))] {
                let batches = pipeline(cpu(), input)
                    .options(options.clone())
                    .threads(threads)
                    .chunk_bytes(chunk)
                    .start()
                    .unwrap();
                let (rows, error) = drain(batches);
                assert_eq!(rows.num_rows(), 1, "{threads} threads, chunks of {chunk}");
                let error = error.unwrap();
                let data = error.as_data().unwrap();
                assert_eq!(data.kind, ErrorKind::RecordTooLong);
                let offset = record(1).len() as u64 + 1;
                let position = Position { source: None, record: 1, line: 2, offset };
                assert_eq!(data.position, position, "{threads} threads, chunks of {chunk}");
            }
        }
    }
}

#[test]
fn hints_are_given_for_values_that_do_not_fit() {
    let hint = Some("look here".to_owned());
    let start = |text: &'static str| {
        let batches =
            pipeline(cpu(), Input::bytes(text)).schema_hint(hint.clone()).start().unwrap();
        drain(batches).1.unwrap().as_data().unwrap().hint.clone()
    };
    assert_eq!(start("{\"n\":\"a\"}\n"), hint);
    assert_ne!(start("{\"n\":]}\n"), hint);
}

#[test]
fn what_is_wrong_with_an_array_is_counted_in_its_own_source() {
    let good = "{\"n\":1}\n{\"n\":2}\n";
    let cases = [
        ("[{\"n\":1},\n{\"n\":2}", ErrorKind::Truncated, 17, 2),
        ("[{\"n\":1},\n]", ErrorKind::Syntax, 10, 1),
        ("[{\"n\":1}]\n x", ErrorKind::TrailingData, 11, 1),
        ("[", ErrorKind::Truncated, 1, 0),
    ];
    for (text, kind, offset, before) in cases {
        for threads in [1, 2] {
            for chunk in CHUNKS {
                let batches = JsonPipeline::builder(super::plan(), cpu())
                    .inputs([Input::bytes(good), Input::reader(Drip::new(text, 1))])
                    .threads(threads)
                    .chunk_bytes(chunk)
                    .start()
                    .unwrap();
                let (rows, error) = drain(batches);
                let label = format!("{text:?}, {threads} threads, chunks of {chunk}");
                assert_eq!(rows.num_rows(), 2 + before, "{label}");
                let error = error.unwrap();
                let data = error.as_data().unwrap();
                let line = text[..offset].matches('\n').count() as u64 + 1;
                let record = before as u64;
                let expected = Position { source: None, record, line, offset: offset as u64 };
                assert_eq!((data.kind, &data.position), (kind, &expected), "{label}");
            }
        }
    }
}
