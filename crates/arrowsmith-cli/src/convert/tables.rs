// SPDX-License-Identifier: Apache-2.0
//! Inputs of `arrowsmith convert` and `infer` that other libraries read: Arrow IPC files, by the
//! reader of the Flight server, which checks them, Arrow streams and CSV. Few options apply to
//! these: all others are errors.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::mem;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::options::InferRecords;
use arrowsmith::plan::with_types;
use arrowsmith::{DataFile, Error, Input, JsonReadOptions, Partitions, Result};
use arrowsmith_core::sink::SinkSummary;
use arrowsmith_flight::dataset::{FileAccess, Format, Read, Snapshot};
use arrowsmith_flight::ipc::{Bounds, CONTINUATION, StreamReader};
use arrowsmith_flight::select::{Selected, project};
use arrowsmith_source::{Content, OpenOptions, SharedBytes};

use super::csv::{Csv, CsvOptions, Guess, Inference};
use super::ordered::Ordered;
use super::target::Target;
use super::{print, summary_text};
use crate::args::{ConvertArgs, InputArgs, ReadArgs, Uses};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::schema::inferred_from;

/// What some programs write before UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Bytes of text that a schema of CSV is inferred from, unless all of it is.
const HEAD_BYTES_MAX: usize = 64 << 20;

/// Bytes of CSV that a thread decodes at once: many for their headers' sake, few to keep all cores
/// busy.
const CSV_BLOCK_BYTES: RangeInclusive<usize> = 64 << 10..=4 << 20;

/// What is between the values of files that are named CSV, beside commas.
const DELIMITERS: [char; 4] = [';', '\t', '|', ','];

/// How many times their text what is decoded may take, for most texts.
const CSV_EXPANSION: usize = 16;

/// The number of threads that decode CSV.
fn threads(options: &JsonReadOptions) -> usize {
    let all = || thread::available_parallelism().map_or(1, NonZero::get);
    options.threads.unwrap_or_else(all)
}

/// Bytes of CSV that are decoded at once, by the memory that there is for those in flight.
fn block_bytes(options: &JsonReadOptions) -> usize {
    let in_flight = Ordered::<()>::in_flight(threads(options));
    let fair = options.memory_bytes_max / in_flight / CSV_EXPANSION;
    fair.clamp(*CSV_BLOCK_BYTES.start(), *CSV_BLOCK_BYTES.end())
}

/// Maximum number of texts whose headers are read at a time.
const HEADERS_AT_A_TIME: usize = 16;

/// A format that another library reads.
#[derive(Debug, Clone, Copy)]
pub enum Tables {
    /// Arrow IPC.
    Arrow,
    /// Values between delimiters, with a header.
    Csv { delimiter: u8 },
}

/// What is read.
struct Table {
    schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Result<RecordBatch>>>,
    /// Size of the inputs, in bytes: known from the start, or counted.
    bytes: Arc<AtomicU64>,
    /// Whether the schema is that of the first records only.
    is_sampled: bool,
    /// What the types of CSV are a guess for.
    guess: Arc<Guess>,
    /// Whether the inputs can be read again.
    is_again: bool,
}

impl Tables {
    fn name(self) -> &'static str {
        match self {
            Self::Arrow => "Arrow",
            Self::Csv { .. } => "CSV",
        }
    }

    /// How it is read.
    fn threads(self, options: &JsonReadOptions) -> String {
        match (self, threads(options)) {
            (Self::Arrow, _) | (_, 1) => "read on one thread".to_owned(),
            (Self::Csv { .. }, threads) => format!("decoded on {threads} threads"),
        }
    }

    /// The schema of the inputs.
    pub fn schema<U: Uses>(
        self,
        input: &InputArgs,
        read: &ReadArgs<U>,
        interrupt: &Interrupt,
    ) -> Outcome<SchemaRef> {
        let options = self.options(read)?;
        let table = self.open(input, &options, interrupt)?;
        if let (true, InferRecords::First(records)) = (table.is_sampled, options.infer_records) {
            eprintln!("{}", inferred_from(records));
        }
        if let Some(note) = self.unlikely(input, &options, &table.schema) {
            eprintln!("{note}");
        }
        Ok(table.schema)
    }

    /// What to say of CSV of one column whose name looks like several.
    fn unlikely(
        self,
        input: &InputArgs,
        options: &JsonReadOptions,
        schema: &Schema,
    ) -> Option<String> {
        let [field] = &schema.fields()[..] else { return None };
        if input.delimiter.is_some() || options.schema.is_some() || matches!(self, Self::Arrow) {
            return None;
        }
        let (name, at) = (field.name(), field.name().find(DELIMITERS)?);
        let delimiter = match name.as_bytes()[at] {
            b'\t' => "\\t".to_owned(),
            byte => char::from(byte).to_string(),
        };
        Some(format!(
            "note: one column, {name:?}: if '{delimiter}' is between values, \
             give --delimiter '{delimiter}'"
        ))
    }

    fn options<U: Uses>(self, read: &ReadArgs<U>) -> Outcome<JsonReadOptions> {
        read.refuse_except(self.name(), |option| match self {
            Self::Arrow => option.arrow,
            Self::Csv { .. } => option.csv,
        })?;
        read.json()
    }

    fn open(
        self,
        input: &InputArgs,
        options: &JsonReadOptions,
        interrupt: &Interrupt,
    ) -> Outcome<Table> {
        match self {
            Self::Arrow => arrow(input, options, interrupt),
            Self::Csv { delimiter } => text(input, options, delimiter),
        }
    }
}

pub fn run(
    args: &ConvertArgs,
    tables: Tables,
    target: Option<Target>,
    interrupt: &Interrupt,
    started: Instant,
) -> Outcome {
    if args.rejects.is_some() {
        return Err(Failure::Usage("--rejects is for JSON input only".to_owned()));
    }
    let mut options = tables.options(&args.read)?;
    let mut table = tables.open(&args.input, &options, interrupt)?;
    let Some(target) = target.filter(|_| !args.explain) else {
        let schema = arrowsmith::plan::text::format_schema(&table.schema);
        return print(&format!("{}, {}\n{schema}", tables.name(), tables.threads(&options)));
    };
    let target = target.with_threads(options.threads);
    let bytes = Arc::clone(&table.bytes);
    let note = tables.unlikely(&args.input, &options, &table.schema);
    let summary = loop {
        let guess = Arc::clone(&table.guess);
        let is_again = table.is_again && !target.is_stream();
        match write(table, &options, &target, args, interrupt) {
            // The types of all records then are not a guess.
            Err(_) if is_again && guess.was_wrong() => options.infer_records = InferRecords::All,
            done => break done?,
        }
        table = tables.open(&args.input, &options, interrupt)?;
    };
    if !args.quiet {
        if let Some(note) = note {
            eprintln!("{note}");
        }
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

/// Arrow IPC: files, or a stream.
fn arrow(input: &InputArgs, options: &JsonReadOptions, interrupt: &Interrupt) -> Outcome<Table> {
    let inputs = &input.inputs;
    if let [one] = inputs.as_slice()
        && let Some(stream) = stream(one)?
    {
        let (from, bytes) = (stream.schema(), stream.bytes_read());
        let schema = project(&from, options.columns.as_deref())?;
        let filter = options.filter.clone();
        let batches = Box::new(Selected::new(stream, &from, Arc::clone(&schema), filter)?);
        let guess = Arc::default();
        return Ok(Table { schema, batches, bytes, is_sampled: false, guess, is_again: false });
    }
    if let Some(name) = inputs.iter().find(|name| name.as_str() == "-" || input::is_url(name)) {
        let message = match input::is_url(name) {
            true => "Arrow is read from local files and standard input, not from URLs",
            false => "an Arrow stream (-) is read alone, without other inputs",
        };
        return Err(Failure::Usage(message.to_owned()));
    }
    let paths: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    let snapshot = Snapshot::open(&paths, Format::Ipc, options, FileAccess::Read);
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
        batches: snapshot.read(&read)?,
        bytes: Arc::new(snapshot.bytes.unwrap_or(0).into()),
        is_sampled: false,
        guess: Arc::default(),
        is_again: true,
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
    Begun(Box<dyn BufRead + Send>),
}

/// CSV with a header. The schema is given, or inferred from the first records of all inputs.
fn text(input: &InputArgs, options: &JsonReadOptions, delimiter: u8) -> Outcome<Table> {
    let files = input::files(input, input::Kind::Csv { delimiter }.extensions())?;
    let delimiter = input.delimiter.unwrap_or(delimiter);
    let bytes: u64 = files.iter().filter_map(|file| file.input.stored_bytes()).sum();
    let declared = options.partitions.as_ref().map_or(&[][..], |types| types.fields());
    let partitions = Partitions::new(&files, declared)?;
    let text = |file: DataFile| {
        let (name, values) = (file.input.name(), partitions.values(&file)?);
        Ok(Text { name, values, source: Source::Closed(file.input) })
    };
    let mut texts = files.into_iter().map(text).collect::<Result<Vec<_>>>()?;
    let (schema, is_sampled) = match &options.schema {
        Some(schema) => (Arc::clone(schema), false),
        None => {
            let (schema, is_sampled) = inferred(&mut texts, options, delimiter)?;
            (Arc::new(schema), is_sampled)
        }
    };
    let schema = match &options.types {
        Some(types) => Arc::new(typed(&schema, types)?),
        None => schema,
    };
    let is_given = |name: &str| {
        options.types.as_ref().is_some_and(|types| types.column_with_name(name).is_some())
    };
    let names = schema.fields().iter().map(|field| field.name().clone());
    let names = names.filter(|name| options.schema.is_none() && !is_given(name));
    let guess = Arc::new(Guess::new(names, is_sampled));
    let is_again = texts.iter().all(|text| match &text.source {
        Source::Closed(input) => input.again().is_some(),
        Source::Begun(_) => false,
    });
    let all = partitions.schema(&schema);
    let output = project(&all, options.columns.as_deref())?;
    // What of it is in the text, and needed.
    let is_needed = |name: &String| options.filter.is_some() || output.index_of(name).is_ok();
    let fields = schema.fields().iter().enumerate();
    let own: Vec<usize> =
        fields.filter(|(_, field)| is_needed(field.name())).map(|(at, _)| at).collect();
    let csv_options = CsvOptions {
        delimiter,
        record_bytes_max: options.record_bytes_max,
        fields_max: options.fields_max,
        may_lack: options.schema.is_none(),
        threads: threads(options),
        block_bytes: block_bytes(options),
    };
    let open_options = options.clone();
    let values: Vec<Vec<ArrayRef>> =
        texts.iter_mut().map(|text| mem::take(&mut text.values)).collect();
    let opened = texts.into_iter().map(move |text| {
        let reader = text.source.open(&open_options)?;
        Ok((text.name, reader))
    });
    let csv = Csv::new(opened, &schema, Some(own), csv_options, Arc::clone(&guess))?;
    let batches = csv.map(move |batch| {
        let (number, batch) = batch?;
        let values = values.get(number).map(Vec::as_slice).unwrap_or_default();
        partitions.extend(&batch, values)
    });
    let filter = options.filter.clone();
    let batches = Box::new(Selected::new(batches, &all, Arc::clone(&output), filter)?);
    let bytes = Arc::new(bytes.into());
    Ok(Table { schema: output, batches, bytes, is_sampled, guess, is_again })
}

/// The schema with other types for some of its columns.
fn typed(schema: &Schema, types: &Schema) -> Result<Schema> {
    let typed = with_types(schema, types)?;
    match typed.fields().get(schema.fields().len()) {
        Some(added) => {
            Err(Error::Config(format!("--types: there is no column {:?}", added.name())))
        }
        None => Ok(typed),
    }
}

impl Text {
    /// Looks at the start of the text, which stays in it: `look` gets the reader, the text's name,
    /// and whether what was read has to be returned beside the result.
    fn start<T>(
        &mut self,
        options: &JsonReadOptions,
        look: impl FnOnce(&mut dyn io::Read, Option<&str>, bool) -> Result<(T, Vec<u8>)>,
    ) -> Result<T> {
        let source = mem::replace(&mut self.source, Source::Begun(Box::new(io::empty())));
        let (again, mut reader) = match source {
            Source::Closed(input) => (input.again(), opened(input, options)?),
            Source::Begun(reader) => (None, reader),
        };
        let (seen, read) = look(&mut reader, self.name.as_deref(), again.is_none())?;
        self.source = match again {
            Some(input) => Source::Closed(input),
            None => Source::Begun(Box::new(Cursor::new(read).chain(reader))),
        };
        Ok(seen)
    }
}

impl Source {
    fn open(self, options: &JsonReadOptions) -> Result<Box<dyn BufRead + Send>> {
        match self {
            Self::Closed(input) => opened(input, options),
            Self::Begun(reader) => Ok(reader),
        }
    }
}

/// The columns of all texts, with the types of the first records, and whether there may be more
/// records.
fn inferred(
    texts: &mut [Text],
    options: &JsonReadOptions,
    delimiter: u8,
) -> Result<(Schema, bool)> {
    let (records, most) = match options.infer_records {
        InferRecords::All => (None, usize::MAX),
        InferRecords::First(records) => (usize::try_from(records).ok(), HEAD_BYTES_MAX),
    };
    let mut inference = Inference::new(delimiter, records, most, options.fields_max);
    let mut texts = texts.iter_mut();
    while !inference.is_sampled()
        && let Some(text) = texts.next()
    {
        text.start(options, |reader, name, keep| Ok(((), inference.add(reader, name, keep)?)))?;
    }
    // Those in stores take a while.
    for texts in texts.into_slice().chunks_mut(HEADERS_AT_A_TIME) {
        let headers = thread::scope(|scope| {
            let header = |text: &mut Text| {
                text.start(options, |reader, name, keep| inference.header(reader, name, keep))
            };
            let read = |text| {
                let reading = thread::Builder::new().spawn_scoped(scope, move || header(text));
                reading.map_err(|error| Error::io("", error))
            };
            let reading = texts.iter_mut().map(read).collect::<Result<Vec<_>>>()?;
            let join = |one: thread::ScopedJoinHandle<'_, _>| match one.join() {
                Ok(header) => header,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            reading.into_iter().map(join).collect::<Result<Vec<_>>>()
        })?;
        for (header, text) in headers.iter().zip(texts) {
            inference.add_header(header, text.name.as_deref())?;
        }
    }
    let is_sampled = inference.is_sampled();
    Ok((inference.schema(), is_sampled))
}

/// A reader of the decompressed text.
fn opened(input: Input, options: &JsonReadOptions) -> Result<Box<dyn BufRead + Send>> {
    let open = OpenOptions { compression: options.compression, ..OpenOptions::default() };
    let name = input.name();
    let mut reader: Box<dyn BufRead + Send> = match input.open(&open)?.content {
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
