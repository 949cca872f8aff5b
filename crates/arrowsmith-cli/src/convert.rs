// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert`: a JSON reader in front of a sink.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatchReader;
use arrowsmith::json::{JsonReader, ReaderBuilder};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{DecodeOptions, DuplicateKeys, OnError, UnknownKeys};
use arrowsmith_sink_ipc::{Format, IpcOptions, IpcSink};
use arrowsmith_sink_parquet::{ParquetOptions, ParquetSink};

use crate::args::{
    BufferCompression, ConvertArgs, Duplicates, Engine, OnBad, OutputArgs, To, Unknown,
};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, When};
use crate::rejects::Rejects;
use crate::schema;
use crate::size::{display, grouped};

pub fn run(args: &ConvertArgs, interrupt: &Interrupt) -> Outcome {
    let started = Instant::now();
    let target = args.output.as_deref().map(|path| Target::new(path, &args.out)).transpose()?;
    if args.output.is_some() && args.output == args.bad.rejects {
        return Err(Failure::Usage("the output and the rejects need different files".to_owned()));
    }
    let rejects = Rejects::default();
    let reader = open(args, interrupt, &rejects)?;
    let Some(target) = target.filter(|_| !args.explain) else {
        let mut stdout = io::stdout().lock();
        let text = reader.plan().to_string();
        return stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(Failure::stdout);
    };
    if let Some(path) = &args.bad.rejects {
        rejects.write_to(path)?;
    }
    let on_interrupt = rejects.clone();
    // Nobody is left to tell of a failure.
    interrupt.at_exit(move || drop(on_interrupt.flush()));

    let mut work = Work { reader, rejects, progress_when: args.progress_when() };
    let written = work.run(target, interrupt);
    // Whatever became of the work: what was rejected is kept.
    let kept = work.rejects.flush().map_err(Failure::output);
    let summary = written?;
    kept?;
    if !args.quiet {
        work.rejects.report();
        work.report(summary, started);
    }
    Ok(())
}

fn open(args: &ConvertArgs, interrupt: &Interrupt, rejects: &Rejects) -> Outcome<JsonReader> {
    let mut builder = ReaderBuilder::new()
        .options(decode_options(args))
        .framing(input::framing(args.input.format))
        .compression(input::compression(args.input.compression_in))
        .engine(arrowsmith::engine(match args.engine.engine {
            Engine::Cpu => "cpu",
            Engine::Reference => "reference",
        })?)
        .threads(args.engine.threads.map_or(0, usize::from))
        .batch_rows(args.out.batch_rows.and_then(|rows| usize::try_from(rows).ok()))
        .batch_bytes(args.out.batch_bytes)
        .cancel(Arc::clone(interrupt.stop()));
    if !args.columns.is_empty() {
        builder = builder.columns(args.columns.iter().map(String::as_str));
    }
    if args.bad.on_error != OnBad::Fail {
        let rejects = rejects.clone();
        builder = builder.on_reject(move |reject| rejects.add(&reject));
    }
    builder = match &args.schema {
        Some(text) => builder.schema(schema::load(text)?),
        None => {
            let mut sampling = input::sampling(&args.input, &args.infer, interrupt);
            // Bad records of the sample are met again, and reported, when they are decoded.
            sampling.infer.skip_malformed = args.bad.on_error != OnBad::Fail;
            builder.infer(sampling)
        }
    };
    Ok(builder.open(arrowsmith::expand_all(&args.input.inputs)?)?)
}

fn decode_options(args: &ConvertArgs) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.on_error = match args.bad.on_error {
        OnBad::Fail => OnError::Fail,
        OnBad::Null => OnError::Null,
        OnBad::Skip => OnError::Skip,
    };
    options.duplicate_keys = match args.bad.duplicate_keys {
        Duplicates::Last => DuplicateKeys::Last,
        Duplicates::Error => DuplicateKeys::Error,
    };
    options.unknown_keys = match args.bad.unknown_keys {
        Unknown::Skip => UnknownKeys::Skip,
        Unknown::Error => UnknownKeys::Error,
    };
    options.allow_nan = args.input.allow_nan;
    options.trust = args.engine.trust;
    options.limits = input::limits(&args.input).with_memory_bytes_max(args.engine.memory);
    options
}

impl ConvertArgs {
    fn progress_when(&self) -> When {
        if self.quiet { When::Never } else { self.progress }
    }
}

/// What is to be written, and where.
struct Target<'a> {
    path: &'a Path,
    fsync: bool,
    format: TargetFormat,
}

enum TargetFormat {
    Ipc(IpcOptions),
    Parquet(ParquetOptions),
}

impl<'a> Target<'a> {
    /// From the path and the options, which have to go together.
    fn new(path: &'a Path, args: &OutputArgs) -> Outcome<Self> {
        let to = match args.to {
            Some(to) => to,
            None if path == Path::new("-") => To::Arrows,
            None => by_extension(path)?,
        };
        let parquet_only = [
            ("--codec", args.codec.is_some()),
            ("--row-group-rows", args.row_group_rows.is_some()),
            ("--no-dictionary", args.no_dictionary),
        ];
        let arrow_only = [("--buffer-compression", args.buffer_compression.is_some())];
        let wrong: &[(&str, bool)] = if to == To::Parquet { &arrow_only } else { &parquet_only };
        if let Some((name, _)) = wrong.iter().find(|(_, given)| *given) {
            let format = if to == To::Parquet { "Parquet" } else { "Arrow" };
            return Err(Failure::Usage(format!("{name} is not for {format} output")));
        }
        let format = match to {
            To::Arrow => TargetFormat::Ipc(ipc_options(Format::File, args)),
            To::Arrows => TargetFormat::Ipc(ipc_options(Format::Stream, args)),
            To::Parquet => TargetFormat::Parquet(parquet_options(args)),
        };
        Ok(Self { path, fsync: args.fsync, format })
    }

    fn open(&self, reader: &JsonReader, interrupt: &Interrupt) -> Outcome<Box<dyn Sink>> {
        let output = Output::create(self.path).map_err(Failure::output)?.with_fsync(self.fsync);
        interrupt.remove_at_exit(output.temporary_path());
        let schema = reader.schema();
        Ok(match &self.format {
            TargetFormat::Ipc(options) => {
                Box::new(IpcSink::new(output, &schema, options).map_err(Failure::output)?)
            }
            TargetFormat::Parquet(options) => {
                Box::new(ParquetSink::new(output, &schema, options).map_err(Failure::output)?)
            }
        })
    }
}

fn by_extension(path: &Path) -> Outcome<To> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "arrow" | "feather" | "ipc" => Ok(To::Arrow),
        "arrows" => Ok(To::Arrows),
        "parquet" => Ok(To::Parquet),
        _ => Err(Failure::Usage(format!(
            "the name {:?} does not say what to write: end it in .arrow, .arrows or .parquet, or give --to",
            path.display().to_string()
        ))),
    }
}

fn ipc_options(format: Format, args: &OutputArgs) -> IpcOptions {
    let compression = match args.buffer_compression {
        None | Some(BufferCompression::None) => arrowsmith_sink_ipc::BufferCompression::None,
        Some(BufferCompression::Lz4) => arrowsmith_sink_ipc::BufferCompression::Lz4,
        Some(BufferCompression::Zstd) => arrowsmith_sink_ipc::BufferCompression::Zstd,
    };
    IpcOptions { format, compression }
}

fn parquet_options(args: &OutputArgs) -> ParquetOptions {
    let default = ParquetOptions::default();
    ParquetOptions {
        codec: args.codec.unwrap_or(default.codec),
        row_group_rows: args
            .row_group_rows
            .and_then(|rows| usize::try_from(rows).ok())
            .unwrap_or(default.row_group_rows),
        dictionary: !args.no_dictionary,
        ..default
    }
}

/// The conversion itself.
struct Work {
    reader: JsonReader,
    rejects: Rejects,
    progress_when: When,
}

impl Work {
    fn run(&mut self, target: Target<'_>, interrupt: &Interrupt) -> Outcome<SinkSummary> {
        let mut sink = target.open(&self.reader, interrupt)?;
        let counters = Arc::clone(self.reader.progress());
        let mut progress = Progress::new(self.progress_when, counters.bytes_total());
        while let Some(batch) = self.reader.next_batch().map_err(Failure::Work)? {
            sink.write(&batch).map_err(Failure::output)?;
            progress.set(counters.bytes());
        }
        progress.set(counters.bytes());
        sink.finish().map_err(Failure::output)
    }

    /// One line: what was done, and how fast.
    fn report(&self, summary: SinkSummary, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        let bytes_in = self.reader.progress().bytes();
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let rate = bytes_in as f64 / seconds.max(f64::MIN_POSITIVE) / 1e9;
        let (rejected, nulled) = self.rejects.counts();
        eprintln!(
            "{} rows; {} in, {} out; {seconds:.3} s, {rate:.2} GB/s; {} rejected, {} nulled",
            grouped(summary.rows),
            display(bytes_in),
            display(summary.bytes),
            grouped(rejected),
            grouped(nulled),
        );
    }
}
