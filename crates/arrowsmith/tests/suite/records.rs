// SPDX-License-Identifier: Apache-2.0
//! Records below a path: the same rows, errors and schemas as of the records alone, at their
//! positions in the documents, however the text is read.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use arrowsmith::arrow_array::RecordBatch;
use arrowsmith::arrow_schema::SchemaRef;
use arrowsmith::json::{ReaderBuilder, infer_schema};
use arrowsmith::options::{Format, InferRecords};
use arrowsmith::plan::text::format_schema;
use arrowsmith::{Error, ErrorKind, Input, JsonReadOptions, OnError};

/// Documents, and the records in them with their offsets.
fn documents(count: usize, record: impl Fn(usize) -> String) -> (String, Vec<(usize, String)>) {
    let (mut text, mut records) = (String::new(), Vec::new());
    for document in 0..count {
        write!(text, "{{\"meta\":{{\"page\":{document},\"items\":[0]}},\n\"data\":{{\"items\":[")
            .unwrap();
        for number in 0..document % 4 {
            text.push_str(if number > 0 { " ,\n " } else { "" });
            let one = record(records.len());
            records.push((text.len(), one.clone()));
            text.push_str(&one);
        }
        text.push_str("]},\"next\":null}\n");
    }
    (text, records)
}

fn below(path: &str) -> JsonReadOptions {
    JsonReadOptions { records: Some(path.parse().unwrap()), ..JsonReadOptions::default() }
}

/// A stream that yields a few bytes at a time.
struct Drip(io::Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

type Rows = (SchemaRef, RecordBatch);

fn all(builder: ReaderBuilder, input: Input) -> Result<Rows, Error> {
    let (schema, batches) = builder.read_all([input])?;
    let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    Ok((schema, whole))
}

#[test]
fn rows_are_those_of_the_records_alone() {
    // A key and a type that come late, and a record longer than a chunk.
    let record = |number: usize| match number {
        90 => format!("{{\"id\":{number},\"late\":\"{}\"}}", "x".repeat(500)),
        95.. => format!("{{\"id\":{number}.5}}"),
        _ => format!("{{\"id\":{number},\"tags\":[\"]\",\"{{\"]}}"),
    };
    let (text, records) = documents(70, record);
    let alone: String = records.iter().map(|(_, record)| format!("{record}\n")).collect();
    let expected = all(ReaderBuilder::new(), Input::bytes(alone.into_bytes())).unwrap();
    assert!(format_schema(&expected.0).contains("id: float64"));
    for infer_records in [InferRecords::First(3), InferRecords::All] {
        for (threads, chunk_bytes) in [(1, 64), (1, 1 << 20), (3, 40), (3, 300)] {
            let options =
                JsonReadOptions { infer_records, threads: Some(threads), ..below("data.items") };
            let builder = || ReaderBuilder::new().options(options.clone()).chunk_bytes(chunk_bytes);
            let input = Input::bytes(text.clone().into_bytes());
            assert_eq!(all(builder(), input).unwrap(), expected);
            if infer_records == InferRecords::All {
                let drip = Input::reader(Drip(io::Cursor::new(text.clone().into_bytes())));
                assert_eq!(all(builder(), drip).unwrap(), expected);
            }
        }
    }
    let found = infer_schema([Input::bytes(text.into_bytes())], &below("/data/items")).unwrap();
    assert_eq!(found.schema, expected.0);
    assert_eq!(found.records, records.len() as u64);
}

#[test]
fn bad_records_have_their_position_in_the_document() {
    let record = |number: usize| match number % 5 {
        3 => format!("{{\"id\":\"{number}\"}}"),
        4 => "{\"id\":tru}".to_owned(),
        _ => format!("{{\"id\":{number}}}"),
    };
    let (text, records) = documents(30, record);
    let lines = |offset: usize| 1 + text[..offset].matches('\n').count() as u64;
    let expected: Vec<_> = (0..)
        .zip(&records)
        .filter(|(number, _)| number % 5 > 2)
        .map(|(number, (offset, record))| {
            let at = offset + record.find(':').unwrap() + 1;
            (number, lines(at), at as u64, record.clone())
        })
        .collect();
    let schema = arrowsmith::plan::text::parse_schema("id: int64").unwrap();
    for (threads, chunk_bytes) in [(1, 30), (1, 1 << 20), (2, 100)] {
        let rejects = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&rejects);
        let options = JsonReadOptions {
            schema: Some(Arc::new(schema.clone())),
            on_error: OnError::Skip,
            threads: Some(threads),
            ..below("data.items")
        };
        let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
        let builder = builder.on_reject(move |reject| taken.lock().unwrap().push(reject));
        let (_, rows) = all(builder, Input::bytes(text.clone().into_bytes())).unwrap();
        assert_eq!(rows.num_rows(), records.len() - expected.len());
        let rejects = rejects.lock().unwrap();
        let found: Vec<_> = rejects
            .iter()
            .map(|reject| {
                let position = &reject.error.position;
                let record = String::from_utf8(reject.record.clone()).unwrap();
                (position.record, position.line, position.offset, record)
            })
            .collect();
        assert_eq!(found, expected);
    }
}

/// What reading a text returns: rows, or the first error.
fn outcome(text: &str, options: JsonReadOptions) -> (usize, Option<(ErrorKind, u64, u64, String)>) {
    let input = Input::bytes(text.as_bytes().to_vec());
    let mut rows = 0;
    let mut reader = match ReaderBuilder::new().options(options).open([input]) {
        Ok(reader) => reader,
        Err(error) => return (rows, Some(place(&error))),
    };
    loop {
        match reader.next_batch() {
            Ok(Some(batch)) => rows += batch.num_rows(),
            Ok(None) => return (rows, None),
            Err(error) => return (rows, Some(place(&error))),
        }
    }
}

fn place(error: &Error) -> (ErrorKind, u64, u64, String) {
    let data = error.as_data().expect("a data error");
    (data.kind, data.position.line, data.position.offset, data.path.clone())
}

#[test]
fn what_surrounds_the_records_ends_the_reading() {
    let documents = "{\"a\":{\"b\":[{\"x\":1},\n{\"x\":2}]}}\n";
    let after = |text: &str| format!("{documents}{text}");
    let error = |kind, line, offset: u64, path: &str| {
        Some((kind, line, documents.len() as u64 + offset, path.to_owned()))
    };
    for (text, rows, expected) in [
        (after(""), 2, None),
        (after("{\"a\":null}"), 2, None),
        (after("{\n\"a\":{\"c\":[{\"x\":3}]}}"), 2, error(ErrorKind::MissingField, 4, 20, "a.b")),
        (after("{\"a\":{\"b\":{\"x\":3}}}"), 2, error(ErrorKind::WrongType, 3, 10, "a.b")),
        (after("{\"a\":{\"b\":[{\"x\":3},"), 3, error(ErrorKind::Truncated, 3, 19, "a.b")),
        (after("{\"a\":{\"b\":[{\"x\":3}{"), 3, error(ErrorKind::Syntax, 3, 18, "a.b")),
    ] {
        for on_error in [OnError::Fail, OnError::Skip, OnError::Null] {
            // With a schema and without one.
            for schema in [None, Some("x: int64")] {
                let schema = schema
                    .map(|text| Arc::new(arrowsmith::plan::text::parse_schema(text).unwrap()));
                let options = JsonReadOptions { schema, on_error, ..below("a.b") };
                assert_eq!(outcome(&text, options), (rows, expected.clone()), "{text}");
            }
        }
    }
    // Before the first record there is nothing to infer from.
    let missing = Some((ErrorKind::MissingField, 2, 2, "a".to_owned()));
    assert_eq!(outcome("{\n}", below("a.b")), (0, missing));
    assert_eq!(outcome("{\"a\":[]}", below("a")), (0, None));
}

#[test]
fn options_that_contradict_the_path_are_refused() {
    let refused = |options: JsonReadOptions| {
        let result =
            ReaderBuilder::new().options(options).open([Input::bytes(b"{\"a\":[]}".to_vec())]);
        assert!(matches!(result.err(), Some(Error::Config(_))));
    };
    refused(JsonReadOptions { format: Format::Array, ..below("a") });
    refused(JsonReadOptions { range_start: 1, ..below("a") });
}
