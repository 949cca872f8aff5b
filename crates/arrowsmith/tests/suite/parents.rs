// SPDX-License-Identifier: Apache-2.0
//! Fields beside records below a path: rows, errors and schemas are those of records that have the
//! fields, at the positions of the records in their documents, however the text is read.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use arrowsmith::arrow_array::cast::AsArray;
use arrowsmith::arrow_array::types::Int64Type;
use arrowsmith::arrow_array::{Array, RecordBatch};
use arrowsmith::arrow_schema::SchemaRef;
use arrowsmith::json::{ReaderBuilder, infer_schema};
use arrowsmith::options::InferRecords;
use arrowsmith::plan::text::parse_schema;
use arrowsmith::{Error, ErrorKind, Input, JsonReadOptions, OnError};

const FIELDS: &str = "\"page\":P,\"meta.at\":A,\"next\":N,";

/// Documents, records with the fields of theirs, and the offsets of the records.
fn documents(count: usize, record: impl Fn(usize) -> String) -> (String, Vec<String>, Vec<usize>) {
    let (mut text, mut records, mut offsets) = (String::new(), Vec::new(), Vec::new());
    for document in 0..count {
        // A field that comes late, one that changes its type, one that comes after the records.
        let at = if document < 30 { "null".to_owned() } else { format!("[{document}]") };
        let page = if document < 50 { document.to_string() } else { format!("\"{document}\"") };
        let next = document + 1;
        let fields = FIELDS.replace('P', &page).replace('A', &at).replace('N', &next.to_string());
        write!(text, "{{\"meta\":{{\"at\":{at},\"n\":0}},\"page\":{page},\n\"items\":[").unwrap();
        for number in 0..document % 4 {
            text.push_str(if number > 0 { " ,\n " } else { "" });
            let one = record(records.len());
            records.push(one.replacen('{', &format!("{{{fields}"), 1).replace(",}", "}"));
            offsets.push(text.len());
            text.push_str(&one);
        }
        writeln!(text, "],\"next\":{next}}}").unwrap();
    }
    (text, records, offsets)
}

fn options() -> JsonReadOptions {
    let fields = ["page", "meta.at", "next=/next"].map(str::to_owned);
    JsonReadOptions {
        records: Some("items".parse().unwrap()),
        parent_fields: Some(fields.to_vec()),
        ..JsonReadOptions::default()
    }
}

/// A stream that yields a few bytes at a time.
struct Drip(io::Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

fn bytes(text: &str) -> Input {
    Input::bytes(text.as_bytes().to_vec())
}

fn all(builder: ReaderBuilder, input: Input) -> Result<(SchemaRef, RecordBatch), Error> {
    let (schema, batches) = builder.read_all([input])?;
    let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    Ok((schema, whole))
}

#[test]
fn rows_are_those_of_records_that_have_the_fields() {
    let record = |number: usize| match number {
        90 => format!("{{\"id\":{number},\"late\":\"{}\"}}", "x".repeat(500)),
        95..100 => format!("{{\"id\":{number}.5}}"),
        _ if number.is_multiple_of(7) => "{}".to_owned(),
        _ => format!("{{\"id\":{number},\"tags\":[\"]\",\"{{\\u00e9\"]}}"),
    };
    let (text, records, offsets) = documents(90, record);
    let alone = records.join("\n");
    let expected = all(ReaderBuilder::new(), bytes(&alone)).unwrap();
    for infer_records in [InferRecords::First(3), InferRecords::All] {
        for (threads, chunk_bytes) in [(1, 64), (1, 1 << 20), (3, 40), (3, 300)] {
            let options = JsonReadOptions { infer_records, threads: Some(threads), ..options() };
            let builder = || ReaderBuilder::new().options(options.clone()).chunk_bytes(chunk_bytes);
            assert_eq!(all(builder(), bytes(&text)).unwrap(), expected);
            let drip = Input::reader(Drip(io::Cursor::new(text.clone().into_bytes())));
            if infer_records == InferRecords::All {
                assert_eq!(all(builder(), drip).unwrap(), expected);
            }
            // The records are where they are in the documents.
            let options = JsonReadOptions { offset_column: Some("at".to_owned()), ..options };
            let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
            let (_, rows) = all(builder, bytes(&text)).unwrap();
            let found = rows.column_by_name("at").unwrap().as_primitive::<Int64Type>();
            let found: Vec<usize> =
                found.values().iter().map(|at| usize::try_from(*at).unwrap()).collect();
            assert_eq!(found, offsets);
        }
    }
    let found = infer_schema([bytes(&text)], &options()).unwrap();
    assert_eq!(found.schema, expected.0);
}

#[test]
fn bad_records_have_their_position_in_the_document() {
    let record = |number: usize| match number % 5 {
        3 => format!("{{\"id\":\"{number}\"}}"),
        4 => "{\"id\":tru}".to_owned(),
        _ => format!("{{\"id\":{number}}}"),
    };
    let (text, records, offsets) = documents(40, record);
    let lines = |offset: usize| 1 + text[..offset].matches('\n').count() as u64;
    let expected: Vec<_> = (0..)
        .zip(records.iter().zip(&offsets))
        .filter(|(number, _)| number % 5 > 2)
        .map(|(number, (record, offset))| {
            let at = offset + "{\"id\":".len();
            (number, lines(at), at as u64, record.clone())
        })
        .collect();
    let schema = Arc::new(parse_schema("id: int64, page: int64, next: int64").unwrap());
    for (threads, chunk_bytes) in [(1, 30), (1, 1 << 20), (2, 100)] {
        let rejects = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&rejects);
        let options = JsonReadOptions {
            schema: Some(Arc::clone(&schema)),
            on_error: OnError::Skip,
            threads: Some(threads),
            ..options()
        };
        let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
        let builder = builder.on_reject(move |reject| taken.lock().unwrap().push(reject));
        let (_, rows) = all(builder, bytes(&text)).unwrap();
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

#[test]
fn a_bad_field_is_an_error_of_each_record() {
    let text = "{\"page\":\n\"x\",\"items\":[{\"a\":1},\n {\"a\":2}]}";
    let schema = Some(Arc::new(parse_schema("a: int64, page: int64").unwrap()));
    let rejects = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&rejects);
    let options = JsonReadOptions { schema, on_error: OnError::Null, ..options() };
    let builder = ReaderBuilder::new().options(options);
    let builder = builder.on_reject(move |reject| taken.lock().unwrap().push(reject.error));
    let (_, rows) = all(builder, bytes(text)).unwrap();
    assert_eq!((rows.num_rows(), rows.column(1).null_count()), (2, 2));
    let found: Vec<_> = rejects
        .lock()
        .unwrap()
        .iter()
        .map(|error| (error.position.line, error.position.offset, error.path.clone()))
        .collect();
    assert_eq!(found, [(2, 22, "page".to_owned()), (3, 32, "page".to_owned())]);
}

/// What reading a text returns: rows, and the first error.
fn outcome(
    text: &str,
    options: JsonReadOptions,
    chunk_bytes: usize,
) -> (usize, Option<(ErrorKind, u64, u64, u64)>) {
    let place = |error: &Error| {
        let data = error.as_data().expect("a data error");
        let position = &data.position;
        (data.kind, position.record, position.line, position.offset)
    };
    let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
    let mut reader = match builder.open([bytes(text)]) {
        Ok(reader) => reader,
        Err(error) => return (0, Some(place(&error))),
    };
    let mut rows = 0;
    loop {
        match reader.next_batch() {
            Ok(Some(batch)) => rows += batch.num_rows(),
            Ok(None) => return (rows, None),
            Err(error) => return (rows, Some(place(&error))),
        }
    }
}

#[test]
fn what_cannot_be_had_ends_the_reading_after_the_records_before_it() {
    use ErrorKind::*;
    let good = "{\"page\":1,\n\"items\":[{\"a\":1},\n{\"a\":2}]}\n";
    let long = "x".repeat(60);
    for (text, rows, error) in [
        (String::new(), 2, None),
        // A record has such a key, and one is not an object.
        (
            "{\"items\":[{\"a\":3},\n{\"a\":4,\n\"page\":5}]}".to_owned(),
            3,
            Some((DuplicateKey, 3, 3, 27)),
        ),
        ("{\"page\":0,\"items\":[{},\n[]]}".to_owned(), 3, Some((WrongType, 3, 2, 23))),
        // The document is cut off: what its records have is not known, or is.
        ("{\"items\":[{\"a\":3},\n{\"a\":4}".to_owned(), 2, Some((Truncated, 4, 2, 26))),
        ("{\"items\":[{\"a\":3},\n{\"a\":".to_owned(), 2, Some((Truncated, 3, 2, 24))),
        // A field comes long after the first record.
        (
            format!("{{\"items\":[{{\"a\":3}},{{\"b\":\"{long}\"}}],\n\"page\":7}}"),
            4,
            Some((Limit, 4, 2, 96)),
        ),
        (format!("{{\"items\":[{{\"a\":3}},{{\"b\":\"{long}\"}}],\n\"page\":null}}"), 4, None),
        (format!("{{\"page\":7,\"items\":[{{\"a\":3}},{{\"b\":\"{long}\"}}]}}"), 4, None),
    ] {
        let text = format!("{good}{text}");
        let error = error.map(|(kind, record, line, offset)| {
            (kind, record, line + 3, offset + good.len() as u64)
        });
        for on_error in [OnError::Fail, OnError::Skip, OnError::Null] {
            for chunk_bytes in [1, 30, 1 << 20] {
                let options = JsonReadOptions {
                    on_error,
                    schema: Some(Arc::new(parse_schema("page: int64, a: int64").unwrap())),
                    parent_fields: Some(vec!["page".to_owned()]),
                    record_bytes_max: 80,
                    ..options()
                };
                let found = outcome(&text, options, chunk_bytes);
                assert_eq!(found, (rows, error), "{text} {on_error:?} {chunk_bytes}");
            }
        }
    }
}

#[test]
fn fields_without_records_below_a_path_are_refused() {
    for options in [
        JsonReadOptions { records: None, ..options() },
        JsonReadOptions { parent_fields: Some(vec!["items.x".to_owned()]), ..options() },
        JsonReadOptions { parent_fields: Some(vec!["=x".to_owned()]), ..options() },
    ] {
        let result = ReaderBuilder::new().options(options).open([bytes("{\"items\":[]}")]);
        assert!(matches!(result.err(), Some(Error::Config(_))));
    }
}
