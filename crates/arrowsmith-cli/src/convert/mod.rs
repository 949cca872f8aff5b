// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert`: a reader in front of a sink. Here that of JSON; `parquet` has that of
//! Parquet and of tables of such files (`table_format`), `tables` those of other libraries.

pub mod csv;
mod ordered;
mod parquet;
pub mod table_format;
pub mod tables;
mod target;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrowsmith::json::{self, GrowingReader, ReaderBuilder, Step};
use arrowsmith::options::LateKeys;
use arrowsmith::{Chain, DataFile, Engine, Input, JsonReadOptions, OnError};
use arrowsmith_core::sink::SinkSummary;

use self::tables::Tables;
pub use self::target::Target;
use crate::args::{ConvertArgs, open_engine};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Kind};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, When};
use crate::rejects::Rejects;
use crate::size::{counted, display, grouped, per_second};

pub fn run(args: &ConvertArgs, interrupt: &Interrupt) -> Outcome {
    let started = Instant::now();
    let target = args.output.as_deref().map(|path| Target::new(path, &args.out)).transpose()?;
    if let (Some(output), Some(rejects)) = (&args.output, &args.rejects)
        && place(output) == place(rejects)
    {
        return Err(Failure::Usage("the output and the rejects need different files".to_owned()));
    }
    match input::kind(&args.input, args.read.format)? {
        Kind::Json => {}
        Kind::Parquet | Kind::Delta | Kind::Iceberg => {
            return parquet::run(args, target, interrupt, started);
        }
        Kind::Arrow => return tables::run(args, Tables::Arrow, target, interrupt, started),
        Kind::Csv { delimiter } => {
            return tables::run(args, Tables::Csv { delimiter }, target, interrupt, started);
        }
    }
    if let Err(refused) = args.read.refuse_for_json() {
        return input::are_there(&args.input).and(Err(refused));
    }
    let rejects = Rejects::default();
    let only_explain = args.explain || target.is_none();
    let options = args.read.json()?;
    let target = target.map(|target| target.with_threads(options.threads));
    if args.rejects.is_some() && options.on_error == OnError::Fail {
        let message = "--rejects needs --on-error skip or --on-error null";
        return Err(Failure::Usage(message.to_owned()));
    }
    let engine = open_engine(&options.engine, options.gpu_memory_bytes_max, only_explain)?;
    let drops_keys =
        options.schema.is_none() && options.columns.is_none() && options.rescued_column.is_none();
    // With a limit the count would be that of the text that was looked at.
    let counts_filtered = options.filter.is_some() && options.limit.is_none();
    let adds = options.late_keys == LateKeys::Add;
    let builder = builder(options, engine.clone(), interrupt, &rejects);
    let inputs = input::files(&args.input, json::EXTENSIONS)?;
    if let Some(rejects) = &args.rejects {
        not_an_input(rejects, &inputs)?;
    }
    let Some(target) = target.filter(|_| !only_explain) else {
        return print(&builder.explain(inputs)?.to_string());
    };
    let grows = adds && !target.is_stream();
    let reader = match grows {
        true => builder.growing(inputs)?,
        false => builder.open(inputs)?.into(),
    };
    if let Some(path) = &args.rejects {
        rejects.write_to(path)?;
    }
    let on_interrupt = rejects.clone();
    // The process ends: a failure cannot be reported any more.
    interrupt.at_exit(move || drop(on_interrupt.close()));

    let progress_when = args.progress_when();
    let mut work = Work { reader, rejects, progress_when, counts_filtered };
    let written = work.run(target, interrupt);
    // Whatever became of the work: what was rejected is kept.
    let kept = work.rejects.flush().map_err(Failure::output);
    let summary = written?;
    kept?;
    if !args.quiet {
        work.rejects.report();
        work.report(summary, started);
        if drops_keys {
            work.report_skipped_values();
        }
        if let Some(counted) = engine.summary() {
            eprintln!("{counted}");
        }
    }
    Ok(())
}

/// Where a path leads, whether there is a file or not: equal for equal files.
fn place(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        }
    })
}

/// Refuses to write rejects over an input, which is not read yet.
fn not_an_input(rejects: &Path, inputs: &[DataFile]) -> Outcome {
    let rejects = place(rejects);
    let same =
        |file: &&DataFile| matches!(&file.input, Input::Path(path) if place(path) == rejects);
    match inputs.iter().find(same) {
        Some(file) => {
            let name = file.input.name().unwrap_or_default();
            Err(Failure::Usage(format!("--rejects would replace the input {name}")))
        }
        None => Ok(()),
    }
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
    options: JsonReadOptions,
    engine: Chain,
    interrupt: &Interrupt,
    rejects: &Rejects,
) -> ReaderBuilder {
    let takes_rejects = options.on_error != OnError::Fail;
    let builder =
        ReaderBuilder::new().options(options).engine(engine).cancel(Arc::clone(interrupt.stop()));
    if !takes_rejects {
        return builder;
    }
    let rejects = rejects.clone();
    builder.on_reject(move |reject| rejects.add(&reject))
}

impl ConvertArgs {
    fn progress_when(&self) -> When {
        if self.quiet { When::Never } else { self.progress }
    }
}

/// The conversion itself.
struct Work {
    reader: GrowingReader,
    rejects: Rejects,
    progress_when: When,
    /// Whether the summary has the number of rows for which the condition is not true.
    counts_filtered: bool,
}

impl Work {
    fn run(&mut self, target: Target, interrupt: &Interrupt) -> Outcome<SinkSummary> {
        loop {
            if let Some(summary) = self.pass(&target, interrupt)? {
                return Ok(summary);
            }
            self.reader.restart().map_err(Failure::Work)?;
        }
    }

    /// Writes everything, unless the schema grows meanwhile.
    fn pass(&mut self, target: &Target, interrupt: &Interrupt) -> Outcome<Option<SinkSummary>> {
        let mut sink = target.open(&self.reader.schema(), interrupt)?;
        let counters = Arc::clone(self.reader.progress());
        let mut progress = Progress::new(self.progress_when, counters.bytes_total());
        loop {
            match self.reader.step().map_err(Failure::Work)? {
                Step::Batch(batch) => sink.write(&batch).map_err(Failure::output)?,
                Step::Grown => {
                    let adopt = |schema: &_| sink.widen(schema).map_err(Failure::output);
                    if !self.reader.widen(adopt)? {
                        return Ok(None);
                    }
                }
                Step::End => break,
            }
            progress.set(counters.bytes());
        }
        progress.set(counters.bytes());
        // Before the output is complete: what is in neither would be lost.
        self.rejects.flush().map_err(Failure::output)?;
        sink.finish().map(Some).map_err(Failure::output)
    }

    /// Warns of values that were skipped, because the inferred schema has no column for them.
    fn report_skipped_values(&self) {
        if let (values @ 1.., Some(key)) = self.reader.progress().left_out() {
            let (values, what) = (grouped(values), if values == 1 { "value" } else { "values" });
            eprintln!(
                "warning: {values} {what} skipped: key {key:?}, and every other key that first \
                 appears after the records that the schema was inferred from; --infer-records all \
                 infers it from all of them"
            );
        }
    }

    /// One line: what was done, and how fast.
    fn report(&self, summary: SinkSummary, started: Instant) {
        let text = summary_text(summary, self.reader.progress().bytes(), started.elapsed());
        let (rejected, nulled) = self.rejects.counts();
        let filtered = match self.counts_filtered {
            true => format!(", {} did not match", grouped(self.reader.progress().filtered())),
            false => String::new(),
        };
        eprintln!("{text}; {} rejected, {} nulled{filtered}", grouped(rejected), grouped(nulled));
    }
}
