// SPDX-License-Identifier: Apache-2.0
//! What `convert` reads besides JSON and Parquet, and what it names: Arrow streams and files, CSV,
//! byte ranges, and the folders of partitions.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Cursor, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_cast::cast;
use arrow_cast::parse::string_to_datetime;
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use arrow_select::concat::concat_batches;
use arrowsmith::json::ReaderBuilder;
use arrowsmith::options::Format;
use arrowsmith::{Compression, Input, JsonReadOptions, OnError};
use arrowsmith_cli::fuzzing::csv;
use arrowsmith_core::error::Position;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink, SinkSummary, Upload};
use arrowsmith_flight::dataset::{self, FileAccess, Snapshot};
use arrowsmith_flight::ipc::{Bounds, StreamReader};
use arrowsmith_sink::folder::{FolderOptions, FolderSink};
use arrowsmith_source::partitions_of;
use arrowsmith_testkit::random::Rng;

use crate::flight::{DECODED_BYTES_MAX, quiet};

/// Any bytes as an Arrow file, or as a stream, by the first byte: an error, or valid arrays, which
/// are those that arrow-ipc reads.
pub fn arrow(data: &[u8]) {
    let [how, data @ ..] = data else { return };
    quiet();
    let read = if how % 2 == 0 { stream(data) } else { file(data) };
    let Some(batches) = read else { return };
    for column in batches.iter().flat_map(RecordBatch::columns) {
        column.to_data().validate_full().expect("arrays are sound");
    }
    if how % 2 == 0 {
        // What was accepted is safe for a reader without checks.
        let reference = arrow_ipc::reader::StreamReader::try_new(data, None);
        let reference = reference.and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(batches, reference.expect("it was read"));
    }
}

fn stream(data: &[u8]) -> Option<Vec<RecordBatch>> {
    let bounds = Bounds { decoded_bytes_max: DECODED_BYTES_MAX, ..Bounds::default() };
    let reader = Box::new(Cursor::new(data.to_vec()));
    StreamReader::new("fuzz", reader, bounds).ok()?.collect::<Result<_, _>>().ok()
}

fn file(data: &[u8]) -> Option<Vec<RecordBatch>> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("arrowsmith-fuzz-{}-{number}.arrow", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, data).expect("the disk works");
    let read = || {
        let paths = [path.clone()];
        let json = JsonReadOptions::default();
        let snapshot =
            Snapshot::open(&paths, dataset::Format::Ipc, &json, FileAccess::Read).ok()?;
        let batches = snapshot.read(&dataset::Read::default()).ok()?;
        batches.collect::<Result<_, _>>().ok()
    };
    let batches = read();
    std::fs::remove_file(&path).expect("it was made here");
    batches
}

/// Bytes that are returned in pieces of random lengths.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    end: usize,
    rng: Rng,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.end {
            self.end = self.bytes.len().min(self.at + 1 + self.rng.below(9));
        }
        Ok(&self.bytes[self.at..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

/// Any text as CSV, in pieces, against arrow-csv's reader of the whole text; a byte selects the
/// delimiter, one the pieces.
pub fn csv(data: &[u8]) {
    const FIELDS_MAX: usize = 50;
    let [how, seed, text @ ..] = data else { return };
    // The command removes it: the decoder does so only if it gets it in one piece.
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    if text.starts_with("\u{feff}".as_bytes()) {
        return;
    }
    let delimiter = if how % 2 == 0 { b',' } else { b'\t' };
    let records = [None, Some(1), Some(3)][usize::from(how / 2) % 3];
    let pieces = || {
        let rng = Rng::new(u64::from(*seed));
        Pieces { bytes: text.to_vec(), at: 0, end: 0, rng }
    };
    let mut reader = pieces();
    let mut inference = csv::Inference::new(delimiter, records, usize::MAX, FIELDS_MAX);
    let Ok(start) = inference.add(&mut reader, None, true) else { return };
    // Another file of the same records changes nothing.
    inference.add(&mut pieces(), None, false).expect("it was read before");
    let schema = inference.schema();
    if schema.fields().is_empty() {
        return;
    }
    let whole = arrow_csv::reader::Format::default().with_header(true).with_delimiter(delimiter);
    let (expected, _) = whole.infer_schema(text, records).expect("it was inferred in pieces");
    // A column without values is text: later records may have some.
    // Zones, which it drops, make times those of UTC, or text.
    let as_ours =
        |(field, ours): (&FieldRef, &FieldRef)| match (field.data_type(), ours.data_type()) {
            (DataType::Null, _) => field.as_ref().clone().with_data_type(DataType::Utf8),
            (DataType::Timestamp(unit, None), DataType::Timestamp(_, Some(zone))) => {
                let in_utc = DataType::Timestamp(*unit, Some(zone.clone()));
                field.as_ref().clone().with_data_type(in_utc)
            }
            (DataType::Timestamp(..), DataType::Utf8) => {
                field.as_ref().clone().with_data_type(DataType::Utf8)
            }
            _ => field.as_ref().clone(),
        };
    assert_eq!(expected.fields().len(), schema.fields().len());
    let zones = says_zones(text, delimiter, records, expected.fields().len());
    for ((field, ours), zones) in expected.fields().iter().zip(schema.fields()).zip(zones) {
        if let DataType::Timestamp(unit, None) = field.data_type() {
            let expected = match zones {
                Some([false, true]) => DataType::Timestamp(*unit, Some("UTC".into())),
                Some([_, false]) => field.data_type().clone(),
                Some([true, true]) => DataType::Utf8,
                None => continue,
            };
            assert_eq!(ours.data_type(), &expected);
        }
    }
    let pairs = expected.fields().iter().zip(schema.fields());
    let expected: Vec<Field> = pairs.map(as_ours).collect();
    assert_eq!(schema, Schema::new(expected));
    let schema = Arc::new(schema);
    let again: Box<dyn BufRead + Send> =
        Box::new(io::BufReader::with_capacity(7, Cursor::new(start).chain(reader)));
    let options = csv::CsvOptions {
        delimiter,
        record_bytes_max: 1 << 20,
        fields_max: FIELDS_MAX,
        may_lack: true,
        threads: 1,
        block_bytes: usize::from(*seed % 32),
    };
    let names = schema.fields().iter().map(|field| field.name().clone());
    let guess = Arc::new(csv::Guess::new(names, records.is_some()));
    let ours = csv::Csv::new(std::iter::once(Ok((None, again))), &schema, None, options, guess);
    let ours =
        ours.and_then(|batches| batches.map(|batch| Ok(batch?.1)).collect::<Result<Vec<_>, _>>());
    let theirs = arrow_csv::ReaderBuilder::new(Arc::clone(&schema))
        .with_header(true)
        .with_delimiter(delimiter)
        .build_buffered(text)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let all = |batches: &[RecordBatch]| concat_batches(&schema, batches);
            assert_eq!(all(&ours).expect("alike"), all(&theirs).expect("alike"));
        }
        (Err(_), Err(_)) => {}
        // What is stricter here.
        (Err(error), Ok(_)) => {
            let error = error.to_string();
            // Digits that a type does not keep.
            let inexact = ["date32", "float64", "timestamp"].map(|name| format!(" of type {name}"));
            let is_inexact = inexact.iter().any(|known| error.contains(known));
            let is_known =
                ["does not end", "is not UTF-8"].iter().any(|known| error.contains(known));
            assert!(is_known || is_inexact, "{error}");
        }
        (Ok(ours), Err(error)) => panic!("{ours:?}\n{error}"),
    }
}

/// Whether columns have times without a zone, and times with one: an instant that depends on the
/// zone that is given is of a text without one. `None` for those with values that are not times.
fn says_zones(
    text: &[u8],
    delimiter: u8,
    records: Option<usize>,
    columns: usize,
) -> Vec<Option<[bool; 2]>> {
    let fields = (0..columns).map(|at| Field::new(at.to_string(), DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let reader = arrow_csv::ReaderBuilder::new(schema).with_header(true).with_delimiter(delimiter);
    let reader = reader.with_bounds(0, records.unwrap_or(usize::MAX >> 1));
    let mut all = vec![Some([false; 2]); columns];
    let Ok(reader) = reader.build_buffered(text) else { return vec![None; columns] };
    let instant = |zone: &str, text: &str| {
        let zone: Tz = zone.parse().expect("an offset");
        string_to_datetime(&zone, text).map(|time| time.timestamp()).ok()
    };
    for batch in reader {
        let Ok(batch) = batch else { return vec![None; columns] };
        for (column, seen) in batch.columns().iter().zip(&mut all) {
            for text in column.as_string::<i32>().iter().flatten() {
                let (one, other) = (instant("+00:00", text), instant("+01:00", text));
                match (one, other, &mut *seen) {
                    (Some(one), Some(other), Some([without, with])) => {
                        let says = one == other;
                        (*with, *without) = (*with || says, *without || !says);
                    }
                    _ => *seen = None,
                }
            }
        }
    }
    all
}

/// Any text of lines, in ranges between any offsets: the records and rejects of the whole, each
/// once, where they are in the whole. A byte is the number of cuts, of two bytes each.
pub fn byte_ranges(data: &[u8]) {
    let [count, rest @ ..] = data else { return };
    let (cuts, text) = rest.split_at((usize::from(*count % 8) * 2).min(rest.len()));
    if text.len() > 64 << 10 {
        return;
    }
    let cut = |pair: &[u8]| u64::from(u16::from_le_bytes([pair[0], pair[1]]));
    let mut cuts: Vec<u64> = cuts.chunks_exact(2).map(cut).collect();
    // Beyond the end there is nothing.
    cuts.iter_mut().for_each(|cut| *cut %= text.len() as u64 + 2);
    cuts.extend([0, u64::MAX]);
    cuts.sort_unstable();
    let whole = part(text, None);
    let mut all = Part::default();
    for ends in cuts.windows(2) {
        let part = part(text, Some((ends[0], ends[1])));
        all.rows.extend(part.rows);
        all.rejects.extend(part.rejects);
    }
    assert_eq!(all, whole, "{cuts:?}");
}

/// Rows and rejects.
#[derive(Debug, Default, PartialEq)]
struct Part {
    rows: Vec<String>,
    rejects: Vec<Position>,
}

fn part(text: &[u8], range: Option<(u64, u64)>) -> Part {
    let rejects = Arc::<Mutex<Vec<Position>>>::default();
    let kept = Arc::clone(&rejects);
    let schema = arrowsmith::plan::text::parse_schema("a: json, b: int64").expect("well-formed");
    let options = JsonReadOptions {
        format: Format::Ndjson,
        // Text may begin as a compressed file does.
        compression: Compression::None,
        on_error: OnError::Skip,
        threads: Some(1),
        ..JsonReadOptions::default()
    };
    let mut builder = ReaderBuilder::new()
        .options(options)
        .schema(Arc::new(schema))
        .chunk_bytes(16)
        .on_reject(move |reject| kept.lock().expect("no panic").push(reject.error.position));
    if let Some((start, end)) = range {
        builder = builder.byte_range(start, end);
    }
    let (_, batches) = builder.read_all([Input::bytes(text.to_vec())]).expect("errors are skipped");
    let rows = batches.iter().flat_map(arrowsmith_testkit::render::rows).collect();
    let rejects = rejects.lock().expect("no panic").clone();
    Part { rows, rejects }
}

/// The types that folders can be named after.
fn partition_types() -> Vec<DataType> {
    let zone = |zone: &str| DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()));
    vec![
        DataType::Utf8,
        DataType::Utf8View,
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        DataType::Int8,
        DataType::UInt64,
        DataType::Boolean,
        DataType::Decimal32(9, 2),
        DataType::Decimal128(38, 0),
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Second, None),
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        zone("UTC"),
        zone("-08:00"),
    ]
}

/// Values as partitions: the folders have distinct names, which are one name each, and give the
/// values back. Bytes select the type and the length of the column's name.
pub fn folder_names(data: &[u8]) {
    let [which, len, data @ ..] = data else { return };
    let types = partition_types();
    let data_type = &types[usize::from(*which) % types.len()];
    let (name, data) = data.split_at(usize::from(*len % 8).min(data.len()));
    let name = String::from_utf8_lossy(name);
    let name = format!("c{}", name.replace(['(', ')'], "").trim());
    let Some(values) = values(data_type, data) else { return };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
    let schema = Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, false),
        Field::new(&name, data_type.clone(), true),
    ]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![numbers, Arc::clone(&values)]);
    let batch = batch.expect("columns of one length");

    let written = Arc::<Mutex<Written>>::default();
    let folder = Box::new(Recorder(Arc::clone(&written)));
    let partition = name.parse().expect("a name is a partition");
    let options = FolderOptions { partition_by: vec![partition], ..FolderOptions::default() };
    let into = Arc::clone(&written);
    let make = move |output: Output, _: &_| -> arrowsmith::Result<Box<dyn Sink>> {
        Ok(Box::new(Rows::new(&output, &into)))
    };
    let mut sink =
        Box::new(FolderSink::new(folder, &schema, options, Box::new(make)).expect("it suits"));
    sink.write(&batch).expect("every value has a folder");
    sink.finish().expect("memory is written to");
    let written = written.lock().expect("no panic");
    let mut rows = 0;
    for (path, numbers) in written.iter() {
        let (folder, file) = path.split_once('/').expect("a folder and a file");
        assert!(!file.contains('/') && !folder.starts_with('.'), "{path:?}");
        assert!(!path.contains(|c: char| c.is_ascii_control() || c == '\\'), "{path:?}");
        let read = partitions_of([folder].into_iter());
        let [(column, value)] = read.as_slice() else { panic!("{path:?}: {read:?}") };
        assert_eq!(*column, name);
        let value: ArrayRef = Arc::new(StringArray::from(vec![value.clone()]));
        let value = cast(&value, data_type).expect("a text of this type");
        rows += numbers.len();
        for number in numbers {
            let at = usize::try_from(*number).expect("a row");
            assert_eq!(values.slice(at, 1).as_ref(), value.as_ref(), "{path:?}");
        }
    }
    assert_eq!(rows, values.len());
}

/// Values of a type: texts between bytes `\xfe`, where two bytes `\xff` are a null, or numbers of
/// eight bytes.
fn values(data_type: &DataType, data: &[u8]) -> Option<ArrayRef> {
    let is_text =
        matches!(data_type, DataType::Utf8 | DataType::Utf8View | DataType::Dictionary(..));
    let plain: ArrayRef = if is_text {
        let texts = data.split(|byte| *byte == 0xfe);
        let texts = texts.map(|text| (text != [0xff; 2]).then(|| String::from_utf8_lossy(text)));
        Arc::new(texts.collect::<StringArray>())
    } else {
        // Of times those in years of four digits, which have one text.
        const DAYS: (i64, i64) = (2_900_000, 700_000);
        let per_day = match data_type {
            DataType::Date32 => Some(1),
            DataType::Timestamp(TimeUnit::Second, _) => Some(86_400),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Some(86_400_000_000),
            _ => None,
        };
        let number = |chunk: &[u8; 8]| {
            let number = i64::from_le_bytes(*chunk);
            per_day.map_or(number, |per_day: i64| {
                number.rem_euclid(DAYS.0 * per_day) - DAYS.1 * per_day
            })
        };
        Arc::new(Int64Array::from_iter_values(data.as_chunks().0.iter().map(number)))
    };
    let plain = match data_type {
        DataType::Date32 => cast(&plain, &DataType::Int32).ok()?,
        _ => plain,
    };
    // A number that the type does not have becomes null.
    cast(&plain, data_type).ok()
}

/// The numbers `n` of each file.
pub(crate) type Written = BTreeMap<String, Vec<i64>>;

/// A folder that exists in names only.
pub(crate) struct Recorder(pub(crate) Arc<Mutex<Written>>);

impl Folder for Recorder {
    fn is_shared(&self) -> bool {
        false
    }

    fn create(&mut self, name: &str) -> arrowsmith::Result<Output> {
        let previous = self.0.lock().expect("no panic").insert(name.to_owned(), Vec::new());
        assert!(previous.is_none(), "{name:?} twice");
        Ok(Output::upload(name, Box::new(Nothing)))
    }

    fn commit(&mut self) -> arrowsmith::Result<()> {
        Ok(())
    }

    fn cleanup(&self) -> Cleanup {
        Box::new(|| {})
    }
}

struct Nothing;

impl Write for Nothing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Upload for Nothing {
    fn commit(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the numbers of a file.
pub(crate) struct Rows {
    path: String,
    written: Arc<Mutex<Written>>,
    summary: SinkSummary,
}

impl Rows {
    pub(crate) fn new(output: &Output, written: &Arc<Mutex<Written>>) -> Self {
        let path = output.path().display().to_string();
        Self { path, written: Arc::clone(written), summary: SinkSummary::default() }
    }
}

impl Sink for Rows {
    fn write(&mut self, batch: &RecordBatch) -> arrowsmith::Result<()> {
        let numbers = batch.column(0).as_any().downcast_ref::<Int64Array>().expect("numbers");
        let mut written = self.written.lock().expect("no panic");
        written.entry(self.path.clone()).or_default().extend(numbers.values());
        self.summary.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> arrowsmith::Result<u64> {
        Ok(0)
    }

    fn finish(self: Box<Self>) -> arrowsmith::Result<SinkSummary> {
        Ok(self.summary)
    }
}

/// Any bytes as a VARIANT, the first one is the length of the metadata: an error, or JSON text
/// that becomes the same values again.
pub fn variant(data: &[u8]) {
    let [len, rest @ ..] = data else { return };
    let (metadata, value) = rest.split_at(usize::from(*len).min(rest.len()));
    let column = |name, bytes: &[u8]| {
        let column: ArrayRef = Arc::new(BinaryArray::from_vec(vec![bytes]));
        (Arc::new(Field::new(name, DataType::Binary, false)), column)
    };
    let storage = StructArray::from(vec![column("metadata", metadata), column("value", value)]);
    let Ok(texts) = arrowsmith_sink::variant::to_json(&(Arc::new(storage) as _), "v") else {
        return;
    };
    let text = texts.as_string::<i64>().value(0);
    serde_json::from_str::<serde::de::IgnoredAny>(text).expect("it is JSON");
    // Longer numbers than decimals have are doubles, in some of their forms.
    let Ok(again) = arrowsmith_sink::variant::from_json(&texts, "v") else { return };
    let again = arrowsmith_sink::variant::to_json(&again, "v").expect("it was made by us");
    // A single-precision number with an exponent comes back as a double, which may have none.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
    let again = again.as_string::<i64>().value(0);
    assert!(again == text || value(again) == value(text), "{text}, {again}");
}
