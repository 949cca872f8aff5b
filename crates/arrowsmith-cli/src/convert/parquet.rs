// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` of Parquet files: the reader's options, and what is said at the end.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatchReader;
use arrowsmith::Engine;
use arrowsmith::parquet::{EXTENSIONS, ParquetReader, ReaderBuilder};
use arrowsmith_core::sink::SinkSummary;

use super::target::Target;
use super::{print, summary_text, table_format};
use crate::args::{ConvertArgs, open_engine};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::progress::Progress;

pub fn run(
    args: &ConvertArgs,
    target: Option<Target>,
    interrupt: &Interrupt,
    started: Instant,
) -> Outcome {
    args.read.refuse_for_parquet()?;
    if args.rejects.is_some() {
        return Err(Failure::Usage("--rejects is for JSON input only".to_owned()));
    }
    let only_explain = args.explain || target.is_none();
    let mut options = args.read.parquet()?;
    let table = table_format::open(args.read.format, &args.input, &mut options)?;
    let target = target.map(|target| target.with_threads(options.threads));
    let engine = open_engine(&options.engine, options.gpu_memory_bytes_max, only_explain)?;
    let builder = ReaderBuilder::new()
        .options(options)
        .engine(engine.clone())
        .cancel(Arc::clone(interrupt.stop()));
    let mut reader = match table {
        Some(table) => table.reader(builder)?,
        None => builder.open(input::files(&args.input, EXTENSIONS)?)?,
    };
    let Some(target) = target.filter(|_| !only_explain) else {
        return print(&reader.explanation().to_string());
    };
    let summary = write(&mut reader, &target, args, interrupt)?;
    if !args.quiet {
        let text = summary_text(summary, reader.progress().bytes(), started.elapsed());
        match reader.explanation().fall_backs() {
            0 => eprintln!("{text}"),
            count => {
                let columns = reader.explanation().columns.len();
                let by = "another engine (--explain says why)";
                eprintln!("{text}; {count} of {columns} columns by {by}");
            }
        }
        if let Some(counted) = engine.summary() {
            eprintln!("{counted}");
        }
    }
    Ok(())
}

fn write(
    reader: &mut ParquetReader,
    target: &Target,
    args: &ConvertArgs,
    interrupt: &Interrupt,
) -> Outcome<SinkSummary> {
    let mut sink = target.open(&reader.schema(), interrupt)?;
    let counters = Arc::clone(reader.progress());
    let mut progress = Progress::new(args.progress_when(), counters.bytes_total());
    while let Some(batch) = reader.next_batch().map_err(Failure::Work)? {
        sink.write(&batch).map_err(Failure::output)?;
        progress.set(counters.bytes());
    }
    progress.set(counters.bytes());
    sink.finish().map_err(Failure::output)
}
