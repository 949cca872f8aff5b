// SPDX-License-Identifier: Apache-2.0
//! The suite `write`: encoding alone, from Arrow in memory to a Parquet file in memory: our writer
//! with one and two threads, beside the writer of the `parquet` crate, all in this process.
//!
//! Each file is read back by the `parquet` crate and compared with the rows, value by value.

use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrowsmith_parquet_writer::{Codec, Options as WriteOptions, ParquetWriter};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::BenchError;
use crate::check::{self, Check, Checker};
use crate::contest::{self, Contestant, Entry, Runner};
use crate::definition::chosen;
use crate::engine::Turn;
use crate::goal::{self, Goal, Goals};
use crate::machine;
use crate::parquet::data::{Data, Rows};
use crate::report::{self, Words};
use crate::result::{self, Row};
use crate::stats::{Spread, float};

const SEED: u64 = 42;
/// Rows of a batch.
const BATCH_ROWS: u64 = 65_536;

/// What is written.
struct Workload {
    name: &'static str,
    data: Data,
    /// How many times as fast as the `parquet` crate ours has to be, with one thread.
    wanted: Option<f64>,
    codecs: &'static [Codec],
}

/// One column, not compressed.
const fn column(name: &'static str, data: Data, wanted: Option<f64>) -> Workload {
    Workload { name, data, wanted, codecs: &[Codec::None] }
}

/// A table, with each codec.
const fn table(name: &'static str, data: Data) -> Workload {
    let codecs = &[Codec::None, Codec::Snappy, Codec::Zstd(1), Codec::Zstd(3)];
    Workload { name, data, wanted: None, codecs }
}

const THRICE: Option<f64> = Some(3.0);

const WORKLOADS: [Workload; 20] = [
    column("int64-random", Data::Int64, THRICE),
    column("int64-varied", Data::Int64Varied, THRICE),
    column("int64-small", Data::Int64Small, THRICE),
    column("int64-sorted", Data::Int64Sorted, THRICE),
    column("int64-distant", Data::Int64Distant, THRICE),
    column("int64-nullable", Data::Int64Nullable, THRICE),
    column("float64-random", Data::Float64, None),
    column("float64-prices", Data::Float64Prices, None),
    column("timestamps", Data::Timestamps, None),
    column("booleans", Data::Booleans, None),
    column("strings-few", Data::StringsFew, THRICE),
    column("strings-many", Data::StringsMany, THRICE),
    column("strings-unique", Data::Strings, THRICE),
    column("strings-sorted", Data::Urls, THRICE),
    column("lists", Data::Lists, THRICE),
    column("structs", Data::Structs, None),
    table("logs", Data::Logs),
    table("lineitem", Data::Lineitem),
    table("trip", Data::Trip),
    table("taxi", Data::Taxi),
];

struct Writer {
    name: &'static str,
    about: &'static str,
    /// Threads of ours; `None` for the `parquet` crate.
    threads: Option<usize>,
}

const OURS: &str = "arrowsmith";
const OURS_TWICE: &str = "arrowsmith-2-threads";

const WRITERS: [Writer; 3] = [
    Writer { name: OURS, about: "ParquetWriter, defaults", threads: Some(1) },
    Writer { name: OURS_TWICE, about: "the same with two threads", threads: Some(2) },
    Writer { name: "parquet-rs", about: "ArrowWriter, defaults", threads: None },
];

/// The options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// Approximate bytes of the Arrow arrays of each workload.
    pub size_bytes: u64,
    /// Timed rounds of each writer.
    pub rounds: u32,
    /// `int64-random`, `logs`, …; empty for all.
    pub workloads: Vec<String>,
    /// `arrowsmith`, `arrowsmith-2-threads`, `parquet-rs`; empty for all.
    pub engines: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { size_bytes: 64 << 20, rounds: 7, workloads: Vec::new(), engines: Vec::new() }
    }
}

/// The result of the suite. Rows have, besides the usual facts, `codec`, `file_bytes` and, of
/// writers with one thread, `cpu_seconds`; `bytes` and speeds are of the Arrow arrays.
pub type Report = result::Report<Goals>;

/// Runs the suite. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or rows that cannot be made. A writer that fails, or whose file has other rows,
/// is listed in [`result::Report::not_measured`].
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let names = WORKLOADS.map(|workload| workload.name);
    let workloads = chosen("workload", &options.workloads, &names)?;
    let engines = chosen("engine", &options.engines, &WRITERS.map(|engine| engine.name))?;
    let mut report = Report::start("write", Some(SEED), Goals::default());
    for workload in WORKLOADS.iter().filter(|workload| workloads.contains(&workload.name)) {
        progress(&format!("{}: making the rows", workload.name));
        let made = Made::new(workload.data, options.size_bytes)
            .map_err(|message| BenchError::Definition(format!("{}: {message}", workload.name)))?;
        for &codec in workload.codecs {
            let name = match workload.codecs {
                [_] => workload.name.to_owned(),
                _ => format!("{}-{codec}", workload.name),
            };
            let (bytes, records) = (made.bytes, made.totals.rows);
            let entry = Entry { workload: &name, threads: 1, bytes, records };
            let engines = WRITERS.iter().filter(|engine| engines.contains(&engine.name));
            let start = |engine| Ok(contestant(engine, &made.batches, codec));
            let (rows, failures) = contest::run(
                engines.map(|engine| (engine.name, engine)),
                start,
                &made.totals,
                &entry,
                options.rounds,
                progress,
            );
            report.rows.extend(rows.into_iter().map(|row| row.with("codec", codec.to_string())));
            for (engine, reason) in failures {
                report.missing(&engine, &name, reason);
            }
        }
    }
    result::compare(&mut report.rows);
    report.extra.goals = goals(&report.rows);
    for row in report.rows.iter_mut().filter(|row| row.engine() == OURS_TWICE) {
        row.set("threads", 2);
    }
    Ok(report)
}

/// The rows of a workload.
struct Made {
    batches: Vec<RecordBatch>,
    bytes: u64,
    totals: Check,
}

impl Made {
    fn new(data: Data, size_bytes: u64) -> Result<Self, String> {
        let rows = (size_bytes / data.row_bytes()).max(1);
        let mut source = Rows::new(data, SEED, rows);
        let (mut batches, mut bytes, mut checker) = (Vec::new(), 0, Checker::default());
        let mut left = rows;
        while left > 0 {
            let count = left.min(BATCH_ROWS);
            let batch = source.batch(usize::try_from(count).map_err(|e| e.to_string())?)?;
            bytes += check::arrow_bytes(&batch)?;
            checker.add(&batch)?;
            batches.push(batch);
            left -= count;
        }
        Ok(Self { batches, bytes, totals: checker.finish() })
    }
}

fn contestant<'a>(engine: &Writer, batches: &'a [RecordBatch], codec: Codec) -> Contestant<'a> {
    let (kind, version) = match engine.threads {
        Some(_) => ("ours", concat!("arrowsmith ", env!("CARGO_PKG_VERSION"))),
        None => ("library", "parquet 59"),
    };
    let runner = Writing { batches, codec, threads: engine.threads, file: Bytes::new() };
    Contestant::new(engine.name, kind, engine.about, version.to_owned(), runner)
}

/// A writer with its rows, and the last file.
struct Writing<'a> {
    batches: &'a [RecordBatch],
    codec: Codec,
    /// Of ours; `None` for the `parquet` crate.
    threads: Option<usize>,
    file: Bytes,
}

impl Runner for Writing<'_> {
    fn turn(&mut self) -> Result<Turn, String> {
        self.file = Bytes::new();
        machine::reset_peak_rss();
        let (start, before) = (Instant::now(), machine::thread_cpu_s());
        let file = match self.threads {
            Some(threads) => ours(self.batches, self.codec, threads),
            None => reference(self.batches, self.codec),
        }?;
        let (seconds, after) = (start.elapsed().as_secs_f64(), machine::thread_cpu_s());
        self.file = file.into();
        Ok(Turn {
            seconds,
            rows: self.batches.iter().map(|batch| batch.num_rows() as u64).sum(),
            check: None,
            peak_rss_mb: machine::peak_rss_mb(),
            // One thread is the calling one.
            cpu_seconds: before
                .zip(after)
                .map(|(before, after)| after - before)
                .filter(|_| self.threads != Some(2)),
            file_bytes: Some(self.file.len() as u64),
        })
    }

    /// Compares every value of the last file.
    fn check(&mut self) -> Result<Check, String> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(self.file.clone());
        let builder = builder.map_err(text)?.with_batch_size(self.batches[0].num_rows());
        let (mut found, mut checker) = (builder.build().map_err(text)?, Checker::default());
        for (number, expected) in self.batches.iter().enumerate() {
            let batch = found.next().ok_or("the file has too few rows")?.map_err(text)?;
            // The crate returns lists with the names of the file, which are not those of Arrow.
            let columns = batch.columns().iter().zip(expected.columns());
            for (column, expected) in columns {
                let column = cast(column, expected.data_type()).map_err(text)?;
                if column.as_ref() != expected.as_ref() {
                    return Err(format!("the file has other rows in batch {number}"));
                }
            }
            checker.add(&batch)?;
        }
        match found.next() {
            None => Ok(checker.finish()),
            Some(_) => Err("the file has too many rows".to_owned()),
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn ours(batches: &[RecordBatch], codec: Codec, threads: usize) -> Result<Vec<u8>, String> {
    let options = WriteOptions { codec, threads, ..WriteOptions::default() };
    let schema = batches[0].schema();
    let mut writer = ParquetWriter::try_new(Vec::new(), schema, options).map_err(text)?;
    batches.iter().try_for_each(|batch| writer.write(batch)).map_err(text)?;
    Ok(writer.close().map_err(text)?.1)
}

fn reference(batches: &[RecordBatch], codec: Codec) -> Result<Vec<u8>, String> {
    let compression = match codec {
        Codec::None => Compression::UNCOMPRESSED,
        Codec::Snappy => Compression::SNAPPY,
        Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).map_err(text)?),
        other => return Err(format!("{other} is not measured")),
    };
    let properties = WriterProperties::builder().set_compression(compression).build();
    let schema = batches[0].schema();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).map_err(text)?;
    batches.iter().try_for_each(|batch| writer.write(batch)).map_err(text)?;
    writer.into_inner().map_err(text)
}

/// Columns of integers, strings and lists three times as fast as the `parquet` crate, files at most
/// 3 % larger, tables 1.8 times as fast with two threads.
fn goals(rows: &[Row]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for ours in rows.iter().filter(|row| row.engine() == OURS && row.valid()) {
        let other = |is: &dyn Fn(&Row) -> bool| {
            let mut rows = rows.iter().filter(|row| row.workload() == ours.workload());
            rows.find(|row| row.valid() && is(row))
        };
        let workload = WORKLOADS.iter().find(|workload| workload.name == ours.workload());
        let wanted = workload.and_then(|workload| workload.wanted);
        if let Some((wanted, found)) = wanted.zip(ours.number("vs_fastest_peer.median")) {
            let goal = "times as fast as the parquet crate";
            goals.push(Goal::at_least(ours, goal, found, wanted));
        }
        if let Some(peer) = other(&|row| row.text("kind") != "ours") {
            let found = float(ours.count("file_bytes")) / float(peer.count("file_bytes").max(1));
            goals.push(Goal::at_most(ours, "size over that of the parquet crate", found, 1.03));
        }
        let twice = other(&|row| row.engine() == OURS_TWICE && workload.is_none());
        let spread = twice.and_then(|twice| {
            Spread::of_ratios(&ours.numbers("seconds"), &twice.numbers("seconds"))
        });
        if let Some(spread) = spread {
            let goal = "times as fast with two threads as with one";
            goals.push(Goal::at_least(ours, goal, spread.median, 1.8));
        }
    }
    goals
}

const WORDS: Words = Words {
    title: "Arrow to Parquet",
    subtitle: "Encoding alone: record batches in memory to a file in memory",
    unit: "GB/s of Arrow arrays",
    input: "arrays",
    method: "All write batches of 65,536 rows with their defaults but for the codec; columns are \
             not compressed. Each file is read back by the parquet crate and compared with the \
             rows, value by value. Speeds are bytes of the Arrow arrays (values, offsets, \
             validity) over the median time. Processor time is that of the calling thread, which \
             encodes alone unless there are two. Peak memory is that of the whole process with the \
             arrays.",
};

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    // All took turns in one contest: they belong side by side.
    let mut report = report.clone();
    report.rows.iter_mut().for_each(|row| row.set("threads", 1));
    report::page(&report, &WORDS, &goal::section(&report.extra.goals))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(workloads: &[&str]) -> Options {
        let workloads = workloads.iter().map(|&name| name.to_owned()).collect();
        Options { size_bytes: 200_000, rounds: 2, workloads, engines: Vec::new() }
    }

    #[test]
    fn every_workload_is_written_and_read_back() {
        let report = run(&options(&[]), &mut |_| {}).unwrap();
        assert_eq!(report.not_measured, []);
        let files: usize = WORKLOADS.iter().map(|workload| workload.codecs.len()).sum();
        assert_eq!(report.rows.len(), 3 * files);
        for row in &report.rows {
            assert!(row.valid() && row.count("file_bytes") > 0, "{row:?}");
            assert_eq!(row.threads(), if row.engine() == OURS_TWICE { 2 } else { 1 });
        }
        // The number of threads does not change a file.
        let size = |engine| {
            let rows = report.rows.iter().filter(move |row| row.engine() == engine);
            rows.map(|row| row.count("file_bytes")).collect::<Vec<_>>()
        };
        assert_eq!(size(OURS), size(OURS_TWICE));
        let of = |words: &str| report.extra.goals.iter().filter(|g| g.goal.contains(words)).count();
        assert_eq!((of("crate, at most"), of("two threads")), (files, 16));
        let page = html(&report);
        for shown in ["Goals", "Size of the files", "structs", "lineitem-zstd:1", "parquet-rs"] {
            assert!(page.contains(shown), "{shown}");
        }
    }

    #[test]
    fn a_file_with_other_rows_is_refused() {
        let batches = |seed| vec![Rows::new(Data::Int64, seed, 10).batch(10).unwrap()];
        let (some, others) = (batches(1), batches(2));
        let mut writing =
            Writing { batches: &some, codec: Codec::None, threads: Some(1), file: Bytes::new() };
        writing.turn().unwrap();
        writing.check().unwrap();
        for (batches, reason) in [
            (others, "the file has other rows in batch 0"),
            ([some.clone(), some.clone()].concat(), "the file has too few rows"),
            (vec![some[0].slice(0, 5)], "the file has too many rows"),
        ] {
            let file = writing.file.clone();
            let mut wrong = Writing { batches: &batches, codec: Codec::None, threads: None, file };
            assert_eq!(wrong.check().unwrap_err(), reason);
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        let error = run(&options(&["int65"]), &mut |_| {}).unwrap_err().to_string();
        assert!(
            error.starts_with("unknown workload \"int65\"; there are int64-random,"),
            "{error}"
        );
    }
}
