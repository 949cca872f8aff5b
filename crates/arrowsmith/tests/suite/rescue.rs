// SPDX-License-Identifier: Apache-2.0
//! The column of keys that the schema lacks: the same from every engine, in any framing and number
//! of threads, beside conditions and bad records.

use std::sync::Arc;

use arrowsmith::arrow_array::RecordBatch;
use arrowsmith::arrow_array::cast::AsArray;
use arrowsmith::arrow_array::types::Int64Type;
use arrowsmith::json::ReaderBuilder;
use arrowsmith::options::{InferRecords, LateKeys};
use arrowsmith::parquet::Predicate;
use arrowsmith::plan::text::{format_schema, parse_schema};
use arrowsmith::{Error, ErrorKind, Input, JsonReadOptions, OnError, UnknownKeys};

/// A row: `id`, its number of the record, and what was rescued.
type Row = (Option<i64>, i64, Option<String>);

fn rescuing() -> JsonReadOptions {
    JsonReadOptions {
        rescued_column: Some("_rescued".to_owned()),
        record_column: Some("record".to_owned()),
        ..JsonReadOptions::default()
    }
}

fn with_schema() -> JsonReadOptions {
    let schema = parse_schema("id: int64, user: struct<name: utf8>").unwrap();
    JsonReadOptions { schema: Some(Arc::new(schema)), ..rescuing() }
}

fn read(text: &str, options: JsonReadOptions, chunk_bytes: usize) -> Result<Vec<Row>, Error> {
    let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
    let mut reader = builder.open([Input::bytes(text.as_bytes().to_vec())])?;
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        rows.extend(rows_of(&batch));
    }
    // What is rescued is not counted as skipped.
    assert_eq!(reader.progress().left_out(), (0, None));
    Ok(rows)
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let column = |name| batch.column_by_name(name).unwrap();
    let ids = column("id").as_primitive::<Int64Type>().iter();
    let records = column("record").as_primitive::<Int64Type>().iter().flatten();
    let rescued = column("_rescued").as_string::<i32>().iter();
    ids.zip(records)
        .zip(rescued)
        .map(|((id, record), text)| (id, record, text.map(str::to_owned)))
        .collect()
}

/// A record, and what is rescued of it.
fn record(number: i64) -> (String, Option<String>) {
    match number % 7 {
        2 => (
            format!("{{\"late\" : [{number}, \"}}\"],\"id\":{number}}}"),
            Some(format!("{{\"late\":[{number}, \"}}\"]}}")),
        ),
        5 => (
            format!("{{\"id\":{number},\"user\":{{\"age\":{number},\"name\":\"x\"}}}}"),
            Some(format!("{{\"user\":{{\"age\":{number}}}}}")),
        ),
        _ => (format!("{{\"id\":{number},\"user\":{{\"name\":\"a\"}}}}"), None),
    }
}

#[test]
fn every_engine_and_framing_rescues_the_same() {
    let expected: Vec<Row> =
        (0..200).map(|number| (Some(number), number, record(number).1)).collect();
    let texts: Vec<String> = (0..200).map(|number| record(number).0).collect();
    let (lines, array) = (texts.join("\n"), format!("[{}]", texts.join(" ,\n")));
    let even: Vec<Row> = expected.iter().filter(|row| row.1 > 150).cloned().collect();
    for engine in ["cpu", "reference"] {
        for (threads, chunk_bytes) in [(1, 1 << 20), (1, 90), (3, 300)] {
            let options = || JsonReadOptions {
                engine: engine.to_owned(),
                threads: Some(threads),
                ..with_schema()
            };
            for text in [&lines, &array, &texts.concat()] {
                assert_eq!(read(text, options(), chunk_bytes).unwrap(), expected, "{engine}");
            }
            let filter = Some(Predicate::parse("id > 150").unwrap());
            let filtered = JsonReadOptions { filter, ..options() };
            assert_eq!(read(&lines, filtered, chunk_bytes).unwrap(), even, "{engine}");
            // Columns that are not selected are not new.
            let projected = JsonReadOptions { columns: Some(vec!["id".to_owned()]), ..options() };
            assert_eq!(read(&lines, projected, chunk_bytes).unwrap(), expected, "{engine}");
        }
    }
}

#[test]
fn bad_records_move_nothing() {
    let text = "{\"id\":0,\"z\":0}\n{\"id\":\"x\",\"z\":1}\ntru\n\n{\"id\":3,\"z\":3}\n{\"z\":4,\"id\":tru}\n{\"id\":5}";
    let kept = |number: i64| (Some(number), number, Some(format!("{{\"z\":{number}}}")));
    let options = |on_error| JsonReadOptions { on_error, ..with_schema() };
    let skipped = read(text, options(OnError::Skip), 1 << 20).unwrap();
    assert_eq!(skipped, [kept(0), kept(3), (Some(5), 5, None)]);
    let nulled = read(text, options(OnError::Null), 1 << 20).unwrap();
    let one = (None, 1, Some("{\"z\":1}".to_owned()));
    assert_eq!([&nulled[0], &nulled[1], &nulled[3]], [&kept(0), &one, &kept(3)]);
    // What is not JSON is a row of nulls.
    assert_eq!([&nulled[2], &nulled[4]], [&(None, 2, None), &(None, 4, None)]);
    assert_eq!(nulled.len(), 6);
}

#[test]
fn an_inferred_schema_rescues_what_comes_late() {
    let text = "{\"id\":0}\n{\"id\":1}\n{\"id\":2,\"late\":1.50}\n";
    let options = |late_keys| JsonReadOptions {
        infer_records: InferRecords::First(2),
        late_keys,
        ..rescuing()
    };
    let expected =
        [(Some(0), 0, None), (Some(1), 1, None), (Some(2), 2, Some("{\"late\":1.50}".to_owned()))];
    for late_keys in [LateKeys::Add, LateKeys::Ignore] {
        assert_eq!(read(text, options(late_keys), 1 << 20).unwrap(), expected);
        let builder = ReaderBuilder::new().options(options(late_keys));
        let (schema, batches) = builder.read_all([Input::bytes(text.as_bytes().to_vec())]).unwrap();
        assert_eq!(batches.iter().flat_map(rows_of).collect::<Vec<_>>(), expected);
        assert_eq!(format_schema(&schema), "id: int64\n_rescued: json\nrecord: int64 not null\n");
    }
    let error = read(text, options(LateKeys::Error), 1 << 20).unwrap_err();
    assert_eq!(error.as_data().map(|data| data.kind), Some(ErrorKind::UnknownKey));
    let contradiction = JsonReadOptions { unknown_keys: UnknownKeys::Error, ..with_schema() };
    assert!(matches!(read(text, contradiction, 1 << 20), Err(Error::Config(_))));
}
