// SPDX-License-Identifier: Apache-2.0
//! Options of reading JSON in any combination: schemas with coercions, dialects, flattened objects,
//! selected and added columns, conditions, growing schemas, policies, limits.
//!
//! Threads, chunks, batches, and whether an input can be read again do not change what is read.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat_batches;
use arrowsmith::json::ReaderBuilder;
use arrowsmith::options::{Format, InferRecords, LateKeys};
use arrowsmith::parquet::Predicate;
use arrowsmith::plan::text::parse_schema;
use arrowsmith::{Input, JsonReadOptions, OnError, UnknownKeys};
use arrowsmith_core::error::Position;
use arrowsmith_core::{Dialect, DuplicateKeys};
use arrowsmith_testkit::random::Rng;

/// Text beyond this is not looked at, in bytes: it is read several times.
const TEXT_BYTES_MAX: usize = 16 << 10;

const SCHEMAS: &[&str] = &[
    "a: int64 scalars nulls \"-\", b: utf8 scalars, c: bool scalars, d: float64 scalars",
    "a: date32(\"%d.%m.%Y\"), b: timestamp(us) epoch s, c: timestamp(ms, \"UTC\") epoch ms format \"%Y-%m-%d %H:%M:%S.%f\"",
    "a: struct<a: int8 scalars, b: struct<c: utf8 nulls \"\">, c: list<struct<d: int64>>>, b: int64, c: json",
    "a: decimal128(10, 2) scalars, b: binary, c: map<utf8, int64 scalars>, d: list<date32(\"%j/%Y\") nulls \"x\">",
    "a: timestamp(us, \"UTC\"), b: timestamp(us), c: date32, d: utf8, a.b: int8",
    "a: int8 not null, b: struct<a: int8 not null, b: dictionary<int8, utf8>>, c: uint64 scalars",
    "root value, value: struct<a: int64 scalars, b: utf8>",
];

const COERCIONS: &[&str] = &[
    "scalars",
    "nulls \"\" \"-\" \"N/A\"",
    "scalars epoch ms nulls \"null\"",
    "format \"%d.%m.%Y\"",
];

const CONDITIONS: &[&str] =
    &["a = 1", "a is null", "b > 2 or c is null", "not a = 'x'", "a.a < 3", "n < 2", "b.b = 'x'"];

const COLUMNS: &[&[&str]] = &[&["a"], &["b", "a.a"], &["c"], &["a.c.d"], &["n"], &[]];

const TYPES: &[&str] = &["a: utf8 scalars", "b: float64", "late: int64 scalars", "a.a: int64"];

const RECORDS: &[&str] = &["r", "r", "p.r", "/p/r"];

const PARENT_FIELDS: &[&[&str]] =
    &[&["a=x"], &["x", "p.x"], &["b=p.x", "x"], &["p.y", "c=/x"], &["d=p.y.z"], &["p"], &[]];

/// Four bytes as the seed of options, and text for them.
pub fn json(data: &[u8]) {
    let Some((rng, text)) = &mut parts(data) else { return };
    compare(&options(rng), text, rng);
}

/// The same with records inside of documents.
pub fn documents(data: &[u8]) {
    let Some((rng, text)) = &mut parts(data) else { return };
    let options = JsonReadOptions {
        records: Some(rng.pick(RECORDS).parse().expect("well-formed")),
        parent_fields: some(rng, 1, PARENT_FIELDS)
            .map(|fields| fields.iter().map(|&field| field.to_owned()).collect()),
        ..options(rng)
    };
    compare(&options, text, rng);
}

fn parts(data: &[u8]) -> Option<(Rng, &[u8])> {
    let (seed, text) = data.split_first_chunk::<4>()?;
    // A zero with a sign is the one difference that is allowed where a schema grows.
    let is_wanted = text.len() <= TEXT_BYTES_MAX && !text.windows(2).any(|pair| pair == b"-0");
    is_wanted.then(|| (Rng::new(u64::from(u32::from_le_bytes(*seed))), text))
}

fn compare(options: &JsonReadOptions, text: &[u8], rng: &mut Rng) {
    let whole = Way { threads: 1, chunk_bytes: 1 << 20, batch_rows: 1 << 20, stream: false };
    let expected = read(options, text, &whole);
    if let Ok(read) = &expected {
        is_valid(options, read);
    }
    for stream in [false, true] {
        let way = Way {
            threads: 1 + rng.below(3),
            chunk_bytes: *rng.pick(&[1, 5, 40, 300]),
            batch_rows: *rng.pick(&[1, 2, 1000]),
            stream,
        };
        let found = read(options, text, &way);
        // What is not kept cannot be read again, where a schema grows.
        let once = stream && options.spool_bytes_max < text.len() as u64;
        // Which of two errors comes first is open where one is the condition's.
        let condition = options.filter.is_some() && expected.is_err();
        if !((once || condition) && found.is_err()) {
            assert_eq!(
                found,
                expected,
                "{way:?} {options:?} {:?}",
                text.escape_ascii().to_string()
            );
        }
    }
}

/// How a text is read.
#[derive(Debug)]
struct Way {
    threads: usize,
    chunk_bytes: usize,
    batch_rows: usize,
    stream: bool,
}

/// What is read: the rows in one batch, and where rejects are, with whether a row is kept.
#[derive(Debug, PartialEq)]
struct Read {
    rows: RecordBatch,
    rejects: Vec<(Position, Vec<u8>, bool)>,
}

fn read(options: &JsonReadOptions, text: &[u8], way: &Way) -> Result<Read, String> {
    let rejects = Arc::<Mutex<Vec<_>>>::default();
    let kept = Arc::clone(&rejects);
    let grows = options.schema.is_none();
    let options = JsonReadOptions {
        threads: Some(way.threads),
        batch_rows: Some(way.batch_rows),
        ..options.clone()
    };
    let builder = ReaderBuilder::new().options(options).chunk_bytes(way.chunk_bytes).on_reject(
        move |reject| {
            let row = (reject.error.position, reject.record, reject.kept_as_null);
            kept.lock().expect("no panic").push(row);
        },
    );
    let input = match way.stream {
        true => Input::reader(Cursor::new(text.to_vec())),
        false => Input::bytes(text.to_vec()),
    };
    let (schema, batches) = builder.read_all([input]).map_err(|error| error.to_string())?;
    let rows = concat_batches(&schema, &batches).map_err(|error| error.to_string())?;
    let mut rejects = std::mem::take(&mut *rejects.lock().expect("no panic"));
    if grows {
        // What is first wrong with a record depends on what was known of the schema.
        rejects.iter_mut().for_each(|(position, ..)| position.offset = 0);
    }
    Ok(Read { rows, rejects })
}

fn is_valid(options: &JsonReadOptions, read: &Read) {
    let schema = read.rows.schema();
    for column in read.rows.columns() {
        column.to_data().validate_full().expect("arrays are sound");
    }
    let mut names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), schema.fields().len(), "{schema:?}");
    if options.flatten {
        let is_struct = |data_type: &DataType| matches!(data_type, DataType::Struct(_));
        assert!(!schema.fields().iter().any(|field| is_struct(field.data_type())), "{schema:?}");
    }
    if let Some(limit) = options.limit {
        assert!(read.rows.num_rows() as u64 <= limit);
    }
}

/// One of these, once in `times`.
fn some<T: Clone>(rng: &mut Rng, times: usize, of: &[T]) -> Option<T> {
    rng.one_in(times).then(|| rng.pick(of).clone())
}

fn schema(text: &str) -> Arc<Schema> {
    Arc::new(parse_schema(text).expect("the schemas are well-formed"))
}

fn options(rng: &mut Rng) -> JsonReadOptions {
    let name = |name: &str| Some(name.to_owned());
    let mut options = JsonReadOptions {
        schema: some(rng, 2, SCHEMAS).map(schema),
        types: some(rng, 5, TYPES).map(schema),
        coerce: some(rng, 3, COERCIONS).map(|text| text.parse().expect("well-formed")),
        filter: some(rng, 5, CONDITIONS).map(|text| Predicate::parse(text).expect("well-formed")),
        skip: some(rng, 6, &[1, 3]).unwrap_or(0),
        limit: some(rng, 6, &[0, 1, 4]),
        flatten: rng.one_in(3),
        format: *rng.pick(&[Format::Auto, Format::Ndjson, Format::Array]),
        spool_bytes_max: *rng.pick(&[0, 20, 1 << 20]),
        on_error: *rng.pick(&[OnError::Fail, OnError::Skip, OnError::Null]),
        allow_nan: rng.one_in(4),
        infer_timestamps: rng.one_in(3),
        object_keys_max: *rng.pick(&[2, 1000]),
        ..JsonReadOptions::default()
    };
    options.infer_records =
        *rng.pick(&[InferRecords::First(1), InferRecords::First(2), InferRecords::All]);
    let columns = some(rng, 4, COLUMNS);
    options.columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    options.dialect = *rng.pick(&[Dialect::Iso, Dialect::Iso, Dialect::Spark]);
    options.late_keys =
        *rng.pick(&[LateKeys::Add, LateKeys::Add, LateKeys::Error, LateKeys::Ignore]);
    if rng.one_in(4) {
        options.unknown_keys = UnknownKeys::Error;
    }
    if rng.one_in(4) {
        options.duplicate_keys = DuplicateKeys::Error;
    }
    options.rescued_column = rng.one_in(5).then(|| name("r")).flatten();
    options.record_column = rng.one_in(4).then(|| name("n")).flatten();
    options.offset_column = rng.one_in(4).then(|| name("o")).flatten();
    if rng.one_in(5) {
        options.depth_max = 1 + rng.below(4);
    }
    if rng.one_in(5) {
        options.record_bytes_max = 1 + rng.below(60);
    }
    options
}
