// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` of Parquet files: the reader's options, and what is said at the end.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatchReader;
use arrow_schema::{FieldRef, TimeUnit};
use arrowsmith::parquet::{
    Columns, ParquetReader, Predicate, ReadOptions, ReaderBuilder, StringForm,
};
use arrowsmith::{Chain, Engine};
use arrowsmith_core::sink::SinkSummary;

use super::target::Target;
use super::{print, summary_text};
use crate::args::{ConvertArgs, OnBad, ParquetArgs, Strings, TimestampUnit};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::{input, schema};

pub fn run(
    args: &ConvertArgs,
    target: Option<Target<'_>>,
    interrupt: &Interrupt,
    started: Instant,
) -> Outcome {
    refuse_json_options(args)?;
    let only_explain = args.explain || target.is_none();
    let engine = args.engine.open(only_explain)?;
    let mut reader = open(args, engine.clone(), interrupt)?;
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
    target: &Target<'_>,
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

fn open(args: &ConvertArgs, engine: Chain, interrupt: &Interrupt) -> Outcome<ParquetReader> {
    let parquet = &args.parquet;
    let condition = parquet.condition.as_deref().map(Predicate::parse).transpose()?;
    let row_groups = (!parquet.row_groups.is_empty()).then(|| parquet.row_groups.clone());
    let reader = ReaderBuilder::new()
        .options(read_options(args))
        .filter(condition)
        .row_groups(row_groups)
        .partition_types(partition_types(parquet)?)
        .limit(parquet.limit)
        .threads(args.engine.threads.map_or(0, usize::from))
        .batch_rows(args.out.batch_rows.and_then(|rows| usize::try_from(rows).ok()))
        .engine(engine)
        .limits(input::limits(&args.input).with_memory_bytes_max(args.engine.memory))
        .cancel(Arc::clone(interrupt.stop()));
    Ok(reader.open(input::datasets(&args.input)?)?)
}

fn read_options(args: &ConvertArgs) -> ReadOptions {
    let parquet = &args.parquet;
    let mut options = ReadOptions::default()
        .with_arrow_schema(!parquet.ignore_arrow_schema)
        .with_verify_checksums(parquet.verify_checksums);
    if !args.columns.is_empty() {
        options = options.with_columns(args.columns.iter().map(String::as_str));
    }
    if parquet.dictionary_columns.iter().any(|path| path == "*") {
        options = options.with_dictionary(Columns::All);
    } else if !parquet.dictionary_columns.is_empty() {
        options = options.with_dictionary(Columns::Paths(parquet.dictionary_columns.clone()));
    }
    if let Some(form) = parquet.strings {
        options = options.with_strings(match form {
            Strings::Small => StringForm::Small,
            Strings::Large => StringForm::Large,
            Strings::View => StringForm::View,
        });
    }
    if let Some(unit) = parquet.timestamp_unit {
        options = options.with_timestamp_unit(match unit {
            TimestampUnit::S => TimeUnit::Second,
            TimestampUnit::Ms => TimeUnit::Millisecond,
            TimestampUnit::Us => TimeUnit::Microsecond,
            TimestampUnit::Ns => TimeUnit::Nanosecond,
        });
    }
    options
}

fn partition_types(args: &ParquetArgs) -> Outcome<Vec<FieldRef>> {
    match &args.partition_types {
        Some(text) => Ok(schema::load(text)?.fields().iter().cloned().collect()),
        None => Ok(Vec::new()),
    }
}

/// Options that mean nothing for JSON.
pub fn refuse_options(args: &ParquetArgs) -> Outcome {
    refuse(
        "Parquet",
        &[
            ("--where", args.condition.is_some()),
            ("--limit", args.limit.is_some()),
            ("--row-groups", !args.row_groups.is_empty()),
            ("--dictionary-columns", !args.dictionary_columns.is_empty()),
            ("--strings", args.strings.is_some()),
            ("--timestamp-unit", args.timestamp_unit.is_some()),
            ("--ignore-arrow-schema", args.ignore_arrow_schema),
            ("--verify-checksums", args.verify_checksums),
            ("--partition-types", args.partition_types.is_some()),
        ],
    )
}

/// Options that mean nothing for Parquet.
fn refuse_json_options(args: &ConvertArgs) -> Outcome {
    refuse(
        "JSON",
        &[
            ("--schema", args.schema.is_some()),
            ("--on-error", args.bad.on_error != OnBad::Fail),
            ("--rejects", args.bad.rejects.is_some()),
            ("--allow-nan", args.input.allow_nan),
            ("--trust", args.engine.trust),
            ("--infer-timestamps", args.infer.infer_timestamps),
            ("--batch-bytes", args.out.batch_bytes.is_some()),
        ],
    )
}

fn refuse(format: &str, given: &[(&str, bool)]) -> Outcome {
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Failure::Usage(format!("{name} is for {format} input only"))),
        None => Ok(()),
    }
}
