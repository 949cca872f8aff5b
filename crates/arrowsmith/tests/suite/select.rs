// SPDX-License-Identifier: Apache-2.0
//! Conditions, limits and columns of origin over JSON, against the records as they were made.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use arrow_select::concat::concat_batches;
use arrowsmith::arrow_array::cast::AsArray;
use arrowsmith::arrow_array::types::Int64Type;
use arrowsmith::arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrowsmith::arrow_schema::Schema;
use arrowsmith::json::{ReaderBuilder, Step};
use arrowsmith::options::{InferRecords, LateKeys};
use arrowsmith::parquet::Predicate;
use arrowsmith::plan::text::{format_schema, parse_schema};
use arrowsmith::{DataFile, Error, ErrorKind, Input, JsonReadOptions, OnError};

/// A record, and where it is.
#[derive(Debug, Clone)]
struct Row {
    file: String,
    year: Option<i64>,
    record: i64,
    id: i64,
    level: Option<&'static str>,
    n: Option<f64>,
    late: Option<i64>,
}

impl Row {
    fn text(&self) -> String {
        let level = self.level.map(|level| format!(",\"level\":\"{level}\"")).unwrap_or_default();
        let n = self.n.map(|n| format!(",\"n\":{n}")).unwrap_or_default();
        let late = self.late.map(|late| format!(",\"u\":{{\"late\":{late},\"x\":[1]}}"));
        format!("{{\"id\":{}{level}{n}{}}}\n", self.id, late.unwrap_or_default())
    }

    fn place(&self) -> Place {
        (self.id, self.year, self.file.clone(), self.record)
    }
}

type Place = (i64, Option<i64>, String, i64);

/// Rows of several files: fractions, and the key `u.late`, come late.
fn rows(seed: u64, files: usize, records: usize) -> Vec<Row> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from(state >> 33).unwrap() % below
    };
    let late_from = random(u32::try_from(files * records).unwrap());
    let mut all = Vec::new();
    for file in 0..files {
        for record in 0..records {
            let id = u32::try_from(all.len()).unwrap();
            let is_late = id >= late_from;
            let whole = f64::from(random(6));
            let n = if is_late && random(2) == 0 { whole + 0.5 } else { whole };
            all.push(Row {
                file: format!("f{file}"),
                year: (file % 3 != 2).then_some(2020 + file as i64),
                record: record as i64,
                id: i64::from(id),
                level: [Some("error"), Some("info"), None][random(3) as usize],
                n: (random(4) > 0).then_some(n),
                late: (is_late && random(3) == 0).then_some(i64::from(random(9))),
            });
        }
    }
    all
}

fn files(rows: &[Row]) -> Vec<DataFile> {
    let chunks = rows.chunk_by(|a, b| a.file == b.file);
    let file = |rows: &[Row]| {
        let text: String = rows.iter().map(Row::text).collect();
        let name = Some(Arc::from(rows[0].file.as_str()));
        let partitions = vec![("year".to_owned(), rows[0].year.map(|year| year.to_string()))];
        DataFile {
            input: Input::Bytes { name, bytes: Arc::new(text.into_bytes()) },
            partitions,
            deleted: None,
        }
    };
    chunks.map(file).collect()
}

fn places(batches: &[RecordBatch]) -> Vec<Place> {
    let mut places = Vec::new();
    for batch in batches {
        let int = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
        let (id, year, r) = (int("id"), int("year"), int("r"));
        let f = batch.column_by_name("f").unwrap().as_string::<i32>();
        places.extend((0..batch.num_rows()).map(|row| {
            let year = year.is_valid(row).then(|| year.value(row));
            (id.value(row), year, f.value(row).to_owned(), r.value(row))
        }));
    }
    places
}

fn options(filter: Option<&str>) -> JsonReadOptions {
    JsonReadOptions {
        filter: filter.map(|text| Predicate::parse(text).unwrap()),
        file_column: Some("f".to_owned()),
        record_column: Some("r".to_owned()),
        infer_records: InferRecords::First(3),
        ..JsonReadOptions::default()
    }
}

fn builder(options: &JsonReadOptions, threads: usize, chunk: usize) -> ReaderBuilder {
    let options = JsonReadOptions { threads: Some(threads), ..options.clone() };
    ReaderBuilder::new().options(options).chunk_bytes(chunk)
}

fn shown(schema: &Schema) -> String {
    format_schema(schema).trim_end().replace('\n', ", ")
}

type Test = (&'static str, fn(&Row) -> bool);

const TESTS: [Test; 9] = [
    ("level = 'error'", |row| row.level == Some("error")),
    ("not level = 'error'", |row| row.level == Some("info")),
    ("n >= 2.5", |row| row.n.is_some_and(|n| n >= 2.5)),
    ("n = 3 or n is null", |row| row.n.is_none_or(|n| n == 3.0)),
    ("year = 2021 and level is not null", |row| row.year == Some(2021) && row.level.is_some()),
    ("year is null or id < 7", |row| row.year.is_none() || row.id < 7),
    ("u.late > 3", |row| row.late.is_some_and(|late| late > 3)),
    ("u is null", |row| row.late.is_none()),
    ("f = 'f1' and id >= 34", |row| row.file == "f1" && row.id >= 34),
];

#[test]
fn conditions_keep_what_they_say_wherever_the_schema_grows() {
    for seed in 0..12 {
        let all = rows(seed, 4, 30);
        let has_late = all.iter().any(|row| row.late.is_some());
        for (text, holds) in TESTS {
            if text.starts_with('u') && !has_late {
                continue;
            }
            let expected: Vec<Place> =
                all.iter().filter(|row| holds(row)).map(Row::place).collect();
            for (threads, chunk) in [(1, 1), (1, 200), (3, 64), (2, 1 << 20)] {
                let label = format!("seed {seed}, {text}, {threads} threads, chunks of {chunk}");
                let mut options = options(Some(text));
                if seed % 2 == 1 {
                    // Keys that only the condition needs may be late, too.
                    options.columns = Some(vec!["id".to_owned(), "year".to_owned()]);
                }
                let (schema, batches) =
                    builder(&options, threads, chunk).read_all(files(&all)).unwrap();
                assert_eq!(places(&batches), expected, "{label}");
                for batch in &batches {
                    assert_eq!(*batch.schema_ref(), schema, "{label}");
                }
                let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
                assert_eq!(names[names.len() - 3..], ["year", "f", "r"], "{label}");

                let mut reader = builder(&options, threads, chunk).growing(files(&all)).unwrap();
                let mut written = Vec::new();
                loop {
                    match reader.step().unwrap() {
                        Step::Batch(batch) => written.push(batch),
                        Step::Grown => {
                            written.clear();
                            reader.restart().unwrap();
                        }
                        Step::End => break,
                    }
                }
                assert_eq!(places(&written), expected, "{label}, written");
                assert_eq!(reader.schema(), schema, "{label}");
            }
        }
    }
}

#[test]
fn selected_columns_may_be_late() {
    for seed in 0..12 {
        let all = rows(seed, 4, 30);
        for paths in [&["u.late", "id", "year"][..], &["u.late"], &["u", "level"], &["id", "no"]] {
            let columns = Some(paths.iter().map(|&path| path.to_owned()).collect());
            let options = JsonReadOptions { columns, ..options(None) };
            let infer_records = InferRecords::All;
            let whole = JsonReadOptions { infer_records, ..options.clone() };
            let expected = builder(&whole, 1, 1 << 20).read_all(files(&all));
            for (threads, chunk) in [(1, 1), (3, 64), (2, 1 << 20)] {
                let label = format!("seed {seed}, {paths:?}, {threads} threads, chunks of {chunk}");
                let read = builder(&options, threads, chunk).read_all(files(&all));
                let (schema, batches) = match &expected {
                    Ok(expected) => expected,
                    Err(error) => {
                        assert_eq!(read.unwrap_err().to_string(), error.to_string(), "{label}");
                        continue;
                    }
                };
                let (found, read) = read.unwrap();
                assert_eq!(&found, schema, "{label}");
                let (read, batches) =
                    (concat_batches(schema, &read), concat_batches(schema, batches));
                assert_eq!(read.unwrap(), batches.unwrap(), "{label}");
            }
        }
    }
}

#[test]
fn columns_of_the_condition_are_dropped() {
    let all = rows(3, 3, 20);
    let keep = |columns: &[&str], filter: &str| {
        let columns = Some(columns.iter().map(|&name| name.to_owned()).collect());
        let filter = Some(Predicate::parse(filter).unwrap());
        let infer_records = InferRecords::All;
        let options =
            JsonReadOptions { columns, filter, infer_records, ..JsonReadOptions::default() };
        let (schema, batches) = ReaderBuilder::new().options(options).read_all(files(&all))?;
        let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        Ok::<_, Error>((shown(&schema), rows))
    };
    let errors = all.iter().filter(|row| row.level == Some("error")).count();
    assert_eq!(keep(&["id"], "level = 'error'").unwrap(), ("id: int64".to_owned(), errors));
    let of = |late: bool| all.iter().filter(|row| row.late.is_some() == late).count();
    assert_eq!(
        keep(&["u.x", "year"], "u.late is not null").unwrap(),
        ("u: struct<x: list<int64>>, year: int64".to_owned(), of(true))
    );
    assert_eq!(keep(&["year"], "u is null").unwrap(), ("year: int64".to_owned(), of(false)));
    assert!(keep(&["nothing"], "u is null").is_err());
}

#[test]
fn skip_and_limit_count_rows_that_match() {
    let all = rows(5, 3, 25);
    let matching: Vec<Place> =
        all.iter().filter(|row| row.level == Some("info")).map(Row::place).collect();
    for (threads, chunk) in [(1, 50), (3, 64), (2, 1 << 20)] {
        for skip in [0, 1, 7, 1000] {
            for limit in [None, Some(0), Some(1), Some(10), Some(1000)] {
                let options = JsonReadOptions {
                    skip,
                    limit,
                    infer_records: InferRecords::All,
                    ..options(Some("level = 'info'"))
                };
                let rows = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
                let skipped = usize::try_from(skip).unwrap();
                let expected: Vec<Place> =
                    matching.iter().skip(skipped).take(rows).cloned().collect();
                let (_, batches) = builder(&options, threads, chunk).read_all(files(&all)).unwrap();
                assert_eq!(places(&batches), expected, "{skip}, {limit:?}, {threads}, {chunk}");
            }
        }
    }
}

/// Records without end; reading far beyond what was requested is an error.
struct Endless(usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(self.0 < 100 << 20, "the limit does not stop reading");
        let line = b"{\"a\":1}\n";
        for byte in &mut *buffer {
            *byte = line[self.0 % line.len()];
            self.0 += 1;
        }
        Ok(buffer.len())
    }
}

#[test]
fn a_limit_stops_reading() {
    for threads in [1, 3] {
        let options = JsonReadOptions {
            limit: Some(10),
            threads: Some(threads),
            ..JsonReadOptions::default()
        };
        let builder = ReaderBuilder::new().options(options).chunk_bytes(1 << 10);
        let (_, batches) = builder.read_all([Input::reader(Endless(0))]).unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    }
}

/// What comes after the last row does not count, in whatever chunk it is.
#[test]
fn nothing_after_the_limit_is_an_error_or_a_reject() {
    let text = "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":2}\n{\"a\":3}\n{\"a\":\"y\"}\n{\"a\":4}\n";
    let schema = Arc::new(parse_schema("a: int64").unwrap());
    for (threads, chunk) in [(1, 1), (1, 30), (2, 1 << 20)] {
        for (limit, rejected) in [(1, vec![]), (2, vec![1]), (3, vec![1]), (4, vec![1, 4])] {
            let rejects = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&rejects);
            let options = JsonReadOptions {
                limit: Some(limit),
                on_error: OnError::Skip,
                record_column: Some("r".to_owned()),
                ..JsonReadOptions::default()
            };
            let (_, batches) = builder(&options, threads, chunk)
                .schema(Arc::clone(&schema))
                .on_reject(move |reject| seen.lock().unwrap().push(reject.error.position.record))
                .read_all([Input::bytes(text)])
                .unwrap();
            let numbers: Vec<i64> = batches
                .iter()
                .flat_map(|batch| batch.column(1).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            assert_eq!(numbers, [0, 2, 3, 5][..usize::try_from(limit).unwrap()]);
            assert_eq!(*rejects.lock().unwrap(), rejected, "{limit}, chunks of {chunk}");
        }
        let failing = |limit| {
            let options = JsonReadOptions { limit, ..JsonReadOptions::default() };
            let builder = builder(&options, threads, chunk).schema(Arc::clone(&schema));
            builder.read_all([Input::bytes(text)])
        };
        assert_eq!(failing(Some(1)).unwrap().1.len(), 1);
        let error = failing(Some(2)).unwrap_err();
        assert_eq!(error.as_data().map(|data| data.kind), Some(ErrorKind::WrongType));
    }
}

/// With a limit a schema does not grow: it would depend on how far threads are.
#[test]
fn new_keys_before_the_limit_are_an_error_beyond_the_sample() {
    let mut text = "{\"a\":1}\n".repeat(20);
    text.push_str("{\"a\":2,\"b\":3}\n");
    let read = |limit, filter: Option<&str>, late_keys| {
        let options = JsonReadOptions {
            limit: Some(limit),
            late_keys,
            infer_records: InferRecords::First(5),
            filter: filter.map(|text| Predicate::parse(text).unwrap()),
            ..JsonReadOptions::default()
        };
        ReaderBuilder::new().options(options).read_all([Input::bytes(text.clone())])
    };
    assert_eq!(read(20, None, LateKeys::Add).unwrap().0.fields().len(), 1);
    assert_eq!(read(21, None, LateKeys::Add).unwrap().0.fields().len(), 2);
    let error = read(1, Some("a = 2"), LateKeys::Add).unwrap_err();
    assert_eq!(error.as_data().map(|data| data.kind), Some(ErrorKind::UnknownKey));
    assert_eq!(read(1, Some("a = 2"), LateKeys::Ignore).unwrap().0.fields().len(), 1);
}

#[test]
fn what_cannot_be_selected_is_refused() {
    let mixed = "{\"a\":1,\"l\":[1]}\n{\"a\":\"x\",\"l\":[]}\n";
    let refused = |text: &str, options: JsonReadOptions| {
        let error = ReaderBuilder::new()
            .options(options)
            .read_all([Input::bytes(text.to_owned())])
            .unwrap_err();
        error.to_string()
    };
    let filter = |text: &str| JsonReadOptions {
        filter: Some(Predicate::parse(text).unwrap()),
        ..JsonReadOptions::default()
    };
    let is = |text: &str, part: &str| assert!(text.contains(part), "{text}");
    is(&refused(mixed, filter("a = 1")), "column a is json");
    is(&refused(mixed, filter("b = 1")), "no column b");
    is(&refused(mixed, filter("l = 1")), "column l");
    is(&refused("{\"a\":1}\n", filter("a = 'x'")), "column a is Int64");
    // Names may have dots: which of the two is meant is not known.
    let both = "{\"a.b\":1,\"a\":{\"b\":2},\"c\":3}\n";
    is(&refused(both, filter("a.b = 1")), "more than one column");
    let columns = Some(vec!["c".to_owned()]);
    is(&refused(both, JsonReadOptions { columns, ..filter("a.b = 1") }), "more than one column");
    is(&refused("{\"a.b\":1}\n{\"a\":{\"b\":2}}\n", filter("a.b = 1")), "more than one column");
    let numbered =
        JsonReadOptions { record_column: Some("r".to_owned()), ..filter("r < 3 or a = 1") };
    is(&refused("{\"a\":1}\n", numbered), "column r cannot be compared");
    let named = |file_column: &str| JsonReadOptions {
        file_column: Some(file_column.to_owned()),
        ..JsonReadOptions::default()
    };
    is(&refused("{\"a\":1}\n", named("a")), "there is a column a already");
    // Nothing but nulls: true of no row, and no reason to stop.
    let options = filter("a = 'x' and not a = 3");
    let nulls = Input::bytes("{\"a\":null}\n{\"a\":null}\n");
    let (_, batches) = ReaderBuilder::new().options(options).read_all([nulls]).unwrap();
    assert!(batches.is_empty());
}

#[test]
fn partitions_are_typed_and_count_more_than_keys() {
    let file = |name: &str, year: &str, text: &str| {
        let bytes = Arc::new(text.to_owned().into_bytes());
        let partitions = vec![("year".to_owned(), Some(year.to_owned()))];
        DataFile {
            input: Input::Bytes { name: Some(name.into()), bytes },
            partitions,
            deleted: None,
        }
    };
    let open = |types: Option<&str>, filter: Option<&str>| {
        let options = JsonReadOptions {
            partitions: types.map(|types| Arc::new(parse_schema(types).unwrap())),
            filter: filter.map(|text| Predicate::parse(text).unwrap()),
            ..JsonReadOptions::default()
        };
        let files = [
            file("a", "2023", "{\"year\":\"old\",\"a\":1}\n"),
            file("b", "2024", "{\"a\":2}\n{\"a\":3}\n"),
        ];
        ReaderBuilder::new().options(options).open(files)
    };
    let read = |types: Option<&str>, filter: Option<&str>| {
        let reader = open(types, filter).unwrap();
        (shown(&reader.schema()), reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>())
    };
    assert_eq!(read(None, None), ("a: int64, year: int64".to_owned(), 3));
    assert_eq!(read(Some("year: utf8"), None), ("a: int64, year: utf8".to_owned(), 3));
    // Files that the condition excludes are not looked at.
    assert_eq!(read(None, Some("year = 2024")), ("a: int64, year: int64".to_owned(), 2));
    assert_eq!(read(None, Some("year = 1")), ("a: int64, year: int64".to_owned(), 0));
    assert!(open(Some("year: date32"), None).is_err());
    assert!(open(Some("month: int64"), None).is_err());
    assert!(open(None, Some("year = 'x'")).is_err());
}
