// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert`: a reader in front of a sink. Here that of JSON; `parquet` has the other
//! one.

mod parquet;
mod target;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatchReader;
use arrowsmith::json::{JsonReader, ReaderBuilder};
use arrowsmith::{Chain, Engine};
use arrowsmith_core::sink::SinkSummary;
use arrowsmith_core::{DecodeOptions, DuplicateKeys, OnError, UnknownKeys};

pub use self::target::Target;
use crate::args::{ConvertArgs, Duplicates, OnBad, Unknown};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, When};
use crate::rejects::Rejects;
use crate::schema;
use crate::size::{counted, display, grouped, per_second};

pub fn run(args: &ConvertArgs, interrupt: &Interrupt) -> Outcome {
    let started = Instant::now();
    let target = args.output.as_deref().map(|path| Target::new(path, &args.out)).transpose()?;
    if args.output.is_some() && args.output == args.bad.rejects {
        return Err(Failure::Usage("the output and the rejects need different files".to_owned()));
    }
    if input::is_parquet(&args.input)? {
        return parquet::run(args, target, interrupt, started);
    }
    if let Err(refused) = parquet::refuse_options(&args.parquet) {
        return input::are_there(&args.input).and(Err(refused));
    }
    let rejects = Rejects::default();
    let only_explain = args.explain || target.is_none();
    let engine = args.engine.open(only_explain)?;
    let builder = builder(args, engine.clone(), interrupt, &rejects)?;
    let inputs = input::inputs(&args.input)?;
    let Some(target) = target.filter(|_| !only_explain) else {
        return print(&builder.explain(inputs)?.to_string());
    };
    let reader = builder.open(inputs)?;
    if let Some(path) = &args.bad.rejects {
        rejects.write_to(path)?;
    }
    let on_interrupt = rejects.clone();
    // Nobody is left to tell of a failure.
    interrupt.at_exit(move || drop(on_interrupt.close()));

    let mut work = Work { reader, rejects, progress_when: args.progress_when() };
    let written = work.run(target, interrupt);
    // Whatever became of the work: what was rejected is kept.
    let kept = work.rejects.flush().map_err(Failure::output);
    let summary = written?;
    kept?;
    if !args.quiet {
        work.rejects.report();
        work.report(summary, started);
        if args.schema.is_none() && args.columns.is_empty() {
            work.report_left_out();
        }
        if let Some(counted) = engine.summary() {
            eprintln!("{counted}");
        }
    }
    Ok(())
}

/// Writes to standard output.
fn print(text: &str) -> Outcome {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

/// What every summary begins with: what was done, and how fast.
fn summary_text(summary: SinkSummary, bytes_in: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let rate = bytes_in as f64 / seconds.max(f64::MIN_POSITIVE);
    format!(
        "{}; {} in, {} out; {seconds:.3} s, {}",
        counted(summary.rows, "row"),
        display(bytes_in),
        display(summary.bytes),
        per_second(rate),
    )
}

fn builder(
    args: &ConvertArgs,
    engine: Chain,
    interrupt: &Interrupt,
    rejects: &Rejects,
) -> Outcome<ReaderBuilder> {
    let mut builder = ReaderBuilder::new()
        .options(decode_options(args))
        .framing(input::framing(args.input.format))
        .compression(input::compression(args.input.compression_in))
        .engine(engine)
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
    Ok(builder)
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

/// The conversion itself.
struct Work {
    reader: JsonReader,
    rejects: Rejects,
    progress_when: When,
}

impl Work {
    fn run(&mut self, target: Target<'_>, interrupt: &Interrupt) -> Outcome<SinkSummary> {
        let mut sink = target.open(&self.reader.schema(), interrupt)?;
        let counters = Arc::clone(self.reader.progress());
        let mut progress = Progress::new(self.progress_when, counters.bytes_total());
        while let Some(batch) = self.reader.next_batch().map_err(Failure::Work)? {
            sink.write(&batch).map_err(Failure::output)?;
            progress.set(counters.bytes());
        }
        progress.set(counters.bytes());
        sink.finish().map_err(Failure::output)
    }

    /// Says what the inferred schema has no column for, because it came after the sample.
    fn report_left_out(&self) {
        if let (values @ 1.., Some(key)) = self.reader.progress().left_out() {
            let (values, what) = (grouped(values), if values == 1 { "value" } else { "values" });
            eprintln!(
                "warning: {values} {what} left out: key {key:?}, and whatever else came after the \
                 records that the schema was inferred from; --infer-records all looks at all of \
                 them, --unknown-keys error stops there"
            );
        }
    }

    /// One line: what was done, and how fast.
    fn report(&self, summary: SinkSummary, started: Instant) {
        let text = summary_text(summary, self.reader.progress().bytes(), started.elapsed());
        let (rejected, nulled) = self.rejects.counts();
        eprintln!("{text}; {} rejected, {} nulled", grouped(rejected), grouped(nulled));
    }
}
