// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` of inputs that other libraries read: Arrow IPC files, by the reader of the
//! Flight server, which checks them, Arrow streams and CSV. Few options apply to these: all others
//! are errors.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use arrowsmith::options::InferRecords;
use arrowsmith::{DataFile, Error, Input, JsonReadOptions, Partitions};
use arrowsmith_core::sink::SinkSummary;
use arrowsmith_flight::dataset::{FileAccess, Format, Read, Snapshot};
use arrowsmith_flight::ipc::{Bounds, CONTINUATION, StreamReader};
use arrowsmith_source::{Content, OpenOptions, SharedBytes};

use super::csv::{Csv, Inference};
use super::target::Target;
use super::{print, summary_text};
use crate::args::ConvertArgs;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Other};
use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// Options of reading that apply to each.
const ARROW_OPTIONS: [&str; 6] = ["format", "columns", "filter", "limit", "skip", "threads"];
const CSV_OPTIONS: [&str; 11] = [
    "format",
    "compression",
    "schema",
    "partitions",
    "columns",
    "limit",
    "skip",
    "threads",
    "infer_records",
    "record_bytes_max",
    "fields_max",
];

/// What some programs write before UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Bytes of text that a schema of CSV is inferred from, unless all of it is.
const HEAD_BYTES_MAX: usize = 64 << 20;

/// What is read.
struct Table {
    schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Outcome<RecordBatch>>>,
    /// Size of the inputs, in bytes: known from the start, or counted.
    bytes: Arc<AtomicU64>,
}

pub fn run(
    args: &ConvertArgs,
    other: Other,
    target: Option<Target>,
    interrupt: &Interrupt,
    started: Instant,
) -> Outcome {
    if args.rejects.is_some() {
        return Err(Failure::Usage("--rejects is for JSON input only".to_owned()));
    }
    let (name, known) = match other {
        Other::Arrow => ("Arrow", &ARROW_OPTIONS[..]),
        Other::Csv { .. } => ("CSV", &CSV_OPTIONS[..]),
    };
    args.read.refuse_except(name, known)?;
    let options = args.read.json()?;
    let table = match other {
        Other::Arrow => arrow(args, &options, interrupt)?,
        Other::Csv { delimiter } => text(args, &options, delimiter)?,
    };
    let Some(target) = target.filter(|_| !args.explain) else {
        let schema = arrowsmith::plan::text::format_schema(&table.schema);
        return print(&format!("{name}, read on one thread\n{schema}"));
    };
    let bytes = Arc::clone(&table.bytes);
    let summary = write(table, &options, &target.with_threads(options.threads), args, interrupt)?;
    if !args.quiet {
        eprintln!("{}", summary_text(summary, bytes.load(Ordering::Relaxed), started.elapsed()));
    }
    Ok(())
}

fn write(
    table: Table,
    options: &JsonReadOptions,
    target: &Target,
    args: &ConvertArgs,
    interrupt: &Interrupt,
) -> Outcome<SinkSummary> {
    let mut sink = target.open(&table.schema, interrupt)?;
    let mut progress = Progress::new(args.progress_when(), None);
    let mut skip = options.skip;
    let mut left = options.limit.unwrap_or(u64::MAX);
    for batch in table.batches {
        if interrupt.stop().load(Ordering::Relaxed) {
            return Err(Failure::Work(Error::Cancelled));
        }
        let batch = batch?;
        let rows = batch.num_rows() as u64;
        let skipped = skip.min(rows);
        skip -= skipped;
        let taken = left.min(rows - skipped);
        left -= taken;
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        sink.write(&batch.slice(number(skipped), number(taken))).map_err(Failure::output)?;
        progress.set(0);
        if left == 0 {
            break;
        }
    }
    sink.finish().map_err(Failure::output)
}

/// Arrow IPC: files, or the stream on standard input.
fn arrow(args: &ConvertArgs, options: &JsonReadOptions, interrupt: &Interrupt) -> Outcome<Table> {
    let inputs = &args.input.inputs;
    if let [one] = inputs.as_slice()
        && let Some(stream) = stream(one)?
    {
        let given =
            [("--where", options.filter.is_some()), ("--columns", options.columns.is_some())];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            let message = format!("{flag} is for Arrow files, not for Arrow streams");
            return Err(Failure::Usage(message));
        }
        return Ok(Table {
            schema: stream.schema(),
            bytes: stream.bytes_read(),
            batches: Box::new(stream.map(|batch| Ok(batch?))),
        });
    }
    if let Some(name) = inputs.iter().find(|name| name.as_str() == "-" || input::is_url(name)) {
        let message = match input::is_url(name) {
            true => "Arrow is read from local files and standard input, not from URLs",
            false => "an Arrow stream (-) is read alone, without other inputs",
        };
        return Err(Failure::Usage(message.to_owned()));
    }
    let paths: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    let snapshot = Snapshot::open(&paths, Format::Ipc, None, FileAccess::Read);
    let snapshot = snapshot.map_err(|error| match error {
        // The files are not what they should be.
        Error::Config(reason) => Error::from(io::Error::new(io::ErrorKind::InvalidData, reason)),
        error => error,
    })?;
    let read = Read {
        columns: options.columns.clone(),
        filter: options.filter.clone(),
        limit: options.limit.map(|limit| limit.saturating_add(options.skip)),
        cancel: Arc::clone(interrupt.stop()),
        ..Read::default()
    };
    Ok(Table {
        schema: snapshot.schema_of(options.columns.as_deref())?,
        batches: Box::new(snapshot.read(&read)?.map(|batch| Ok(batch?))),
        bytes: Arc::new(snapshot.bytes.unwrap_or(0).into()),
    })
}

/// The stream on standard input or of a file; `None` if the file is not one.
fn stream(name: &str) -> Outcome<Option<StreamReader>> {
    let reader: Box<dyn io::Read> = if name == "-" {
        Box::new(BufReader::new(io::stdin()))
    } else {
        if !Path::new(name).is_file() {
            return Ok(None);
        }
        let failed = |error| Error::io(name, error);
        let mut file = File::open(name).map_err(failed)?;
        let mut start = Vec::new();
        let read = file.by_ref().take(CONTINUATION.len() as u64).read_to_end(&mut start);
        read.map_err(failed)?;
        if start != CONTINUATION {
            return Ok(None);
        }
        Box::new(BufReader::with_capacity(1 << 20, Cursor::new(start).chain(file)))
    };
    Ok(Some(StreamReader::new(name, reader, Bounds::default())?))
}

/// A text, and the values of its folders.
struct Text {
    name: Option<Arc<str>>,
    values: Vec<ArrayRef>,
    source: Source,
}

enum Source {
    Closed(Input),
    /// An input that cannot be opened again, of which the start was read and put back.
    Begun(Box<dyn BufRead>),
}

/// CSV with a header. The schema is given, or inferred from the first records of all inputs.
fn text(args: &ConvertArgs, options: &JsonReadOptions, delimiter: u8) -> Outcome<Table> {
    let files = input::files(&args.input, input::CSV_EXTENSIONS)?;
    let bytes: u64 = files.iter().filter_map(|file| file.input.stored_bytes()).sum();
    let declared = options.partitions.as_ref().map_or(&[][..], |types| types.fields());
    let partitions = Partitions::new(&files, declared)?;
    let text = |file: DataFile| {
        let (name, values) = (file.input.name(), partitions.values(&file)?);
        Ok(Text { name, values, source: Source::Closed(file.input) })
    };
    let mut texts = files.into_iter().map(text).collect::<Result<Vec<_>, Error>>()?;
    let schema = match &options.schema {
        Some(schema) => Arc::clone(schema),
        None => Arc::new(inferred(&mut texts, options, delimiter)?),
    };
    let all = partitions.schema(&schema);
    let kept = match &options.columns {
        Some(names) => places(&all, names)?,
        None => (0..all.fields().len()).collect(),
    };
    // What of it is in the text.
    let of_folder = |name: &str| partitions.fields().iter().any(|field| field.name() == name);
    let names = || kept.iter().map(|at| all.field(*at).name().as_str());
    let own = names().filter(|name| !of_folder(name)).map(|name| schema.index_of(name));
    let own = own.collect::<Result<Vec<_>, _>>().map_err(Error::from)?;
    let limits = (options.record_bytes_max, options.fields_max);
    let options = options.clone();
    let mut opened = texts.into_iter().map(move |text| {
        let reader = text.source.open(&options)?;
        let csv = Csv::new(text.name, reader, &schema, Some(&own), delimiter, limits)?;
        Ok((csv, text.values))
    });
    let (first, values) = opened.next().ok_or_else(|| Failure::Usage("no input".to_owned()))??;
    let extended = partitions.schema(&first.schema());
    let order = names().map(|name| extended.index_of(name)).collect::<Result<Vec<_>, _>>();
    let order = order.map_err(Error::from)?;
    let output = Arc::new(extended.project(&order).map_err(Error::from)?);
    let mut current = Some((first, values));
    let batches = std::iter::from_fn(move || {
        loop {
            let (csv, values) = current.as_mut()?;
            match csv.next() {
                Some(batch) => {
                    let batch = batch.and_then(|batch| partitions.extend(&batch, values));
                    let batch = batch.and_then(|batch| Ok(batch.project(&order)?));
                    return Some(batch.map_err(Failure::Work));
                }
                None => match opened.next()? {
                    Ok(next) => current = Some(next),
                    Err(error) => {
                        current = None;
                        return Some(Err(error));
                    }
                },
            }
        }
    });
    Ok(Table { schema: output, batches: Box::new(batches), bytes: Arc::new(bytes.into()) })
}

impl Source {
    fn open(self, options: &JsonReadOptions) -> Outcome<Box<dyn BufRead>> {
        match self {
            Self::Closed(input) => opened(input, options),
            Self::Begun(reader) => Ok(reader),
        }
    }
}

/// The schema of the first records of the texts.
fn inferred(texts: &mut [Text], options: &JsonReadOptions, delimiter: u8) -> Outcome<Schema> {
    let (records, most) = match options.infer_records {
        InferRecords::All => (None, usize::MAX),
        InferRecords::First(records) => (usize::try_from(records).ok(), HEAD_BYTES_MAX),
    };
    let mut inference = Inference::new(delimiter, records, most, options.fields_max);
    for text in texts {
        if inference.is_done() {
            break;
        }
        let Source::Closed(input) =
            mem::replace(&mut text.source, Source::Begun(Box::new(io::empty())))
        else {
            continue;
        };
        let again = again(&input);
        let mut reader = opened(input, options)?;
        let read = inference.add(&mut reader, text.name.as_deref(), again.is_none())?;
        text.source = match again {
            Some(input) => Source::Closed(input),
            None => Source::Begun(Box::new(Cursor::new(read).chain(reader))),
        };
    }
    Ok(inference.schema())
}

/// The same input, if it can be opened twice.
fn again(input: &Input) -> Option<Input> {
    match input {
        Input::Path(path) if path.is_file() => Some(Input::Path(path.clone())),
        Input::Bytes { name, bytes } => {
            Some(Input::Bytes { name: name.clone(), bytes: Arc::clone(bytes) })
        }
        Input::Ranged { name, ranged } => {
            Some(Input::Ranged { name: name.clone(), ranged: Arc::clone(ranged) })
        }
        _ => None,
    }
}

/// A reader of the decompressed text.
fn opened(input: Input, options: &JsonReadOptions) -> Outcome<Box<dyn BufRead>> {
    let open = OpenOptions { compression: options.compression, ..OpenOptions::default() };
    let name = input.name();
    let mut reader: Box<dyn BufRead> = match input.open(&open)?.content {
        Content::Whole(bytes) => Box::new(Cursor::new(Shared(bytes))),
        Content::Stream(stream) => Box::new(BufReader::with_capacity(1 << 20, stream)),
    };
    // The decoder skips a byte order mark only if it gets it in one piece.
    let mut start = Vec::new();
    let read = reader.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start);
    read.map_err(|error| Error::io(name.as_deref().unwrap_or_default(), error))?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    Ok(Box::new(Cursor::new(start).chain(reader)))
}

struct Shared(SharedBytes);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// The positions of columns, by name.
fn places(schema: &Schema, names: &[String]) -> Outcome<Vec<usize>> {
    let mut seen = BTreeSet::new();
    let place = |name: &String| {
        if !seen.insert(name.clone()) {
            return Err(Failure::Usage(format!("column {name:?} is named twice")));
        }
        let found = schema.fields().iter().position(|field: &Arc<Field>| field.name() == name);
        found.ok_or_else(|| Failure::Usage(format!("there is no column {name:?}")))
    };
    names.iter().map(place).collect()
}
