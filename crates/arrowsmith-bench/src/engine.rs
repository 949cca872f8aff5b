// SPDX-License-Identifier: Apache-2.0
//! The interface of an engine in this process, and the timing of its turn.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::check::{Check, Checker};
use crate::contest::Runner;
use crate::definition::Strings;
use crate::machine;

/// Receives each batch of an engine, in the order of the records.
pub type Sink<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<(), String>;

/// What an engine converts.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// One JSON record per line, each with its line feed.
    Json {
        /// Its schema; `None` if the engine has to infer it from every record.
        schema: Option<&'a SchemaRef>,
        /// The lines.
        text: &'a [u8],
    },
    /// A Parquet file. Opening it belongs to each conversion, unless it is to be in memory
    /// beforehand.
    Parquet {
        /// Its path.
        file: &'a Path,
        /// The Arrow type of strings.
        strings: Strings,
        /// Whether it is to be in memory.
        memory: bool,
    },
}

/// The reason of an engine that has no reader for a format.
pub(crate) const OTHER_FORMAT: &str = "does not read this format";

/// An engine that runs in this process.
pub trait InProcess {
    /// Its name in the definitions and results.
    fn name(&self) -> &str;

    /// Version, instruction set and other properties that determine its speed, for the report.
    fn version(&self) -> String;

    /// Untimed preparation for an input: compiling a plan, starting threads.
    ///
    /// # Errors
    /// A message, which the report shows as the reason for a missing measurement.
    fn prepare<'a>(
        &'a self,
        source: Source<'a>,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Prepared + 'a>, String>;

    /// Returns all memory kept for later conversions to the system.
    fn release_memory(&self) {}
}

/// An engine with its schema and input, ready to convert repeatedly.
pub trait Prepared {
    /// Converts the full input once and passes every batch to the sink: the timed part.
    ///
    /// # Errors
    /// The engine's message, or the sink's.
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String>;
}

/// What the consumer does with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Counts it and drops it, as a streaming consumer does: buffers can be reused.
    Nothing,
    /// Keeps all batches until the end, as the peers keep their tables.
    Everything,
}

/// The result of one turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    pub(crate) seconds: f64,
    pub(crate) rows: u64,
    /// Present if the result was summed.
    pub(crate) check: Option<Check>,
    /// Highest resident memory so far or in this turn, in 10^6 bytes, including the input.
    pub(crate) peak_rss_mb: f64,
    /// Processor time, of user and system, if it is known.
    pub(crate) cpu_seconds: Option<f64>,
    /// Size of the file that the result is.
    pub(crate) file_bytes: Option<u64>,
}

/// An engine of this process that is ready.
pub(crate) struct Here<'a> {
    pub(crate) engine: Box<dyn Prepared + 'a>,
    pub(crate) keep: Keep,
    /// Untimed preparation before each turn.
    pub(crate) before: Option<Box<dyn Fn() + 'a>>,
}

impl Runner for Here<'_> {
    fn turn(&mut self) -> Result<Turn, String> {
        if let Some(before) = &self.before {
            before();
        }
        turn(self.engine.as_mut(), self.keep)
    }

    fn check(&mut self) -> Result<Check, String> {
        check(self.engine.as_mut())
    }
}

/// One timed turn. Freeing kept batches is not timed; neither is it for the peers.
pub(crate) fn turn(engine: &mut dyn Prepared, keep: Keep) -> Result<Turn, String> {
    machine::reset_peak_rss();
    let mut rows = 0;
    let mut kept = Vec::new();
    let start = Instant::now();
    engine.run(&mut |batch| {
        rows += batch.num_rows() as u64;
        if keep == Keep::Everything {
            kept.push(batch);
        }
        Ok(())
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let peak_rss_mb = machine::peak_rss_mb();
    Ok(Turn { seconds, rows, peak_rss_mb, ..Turn::default() })
}

/// An untimed turn whose result is summed.
pub(crate) fn check(engine: &mut dyn Prepared) -> Result<Check, String> {
    let mut checker = Checker::default();
    engine.run(&mut |batch| checker.add(&batch))?;
    Ok(checker.finish())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Weak;

    use arrow_array::{ArrayRef, UInt64Array};

    use super::*;

    /// Emits three batches and checks whether the sink has dropped the previous one.
    struct Watch {
        dropped: Vec<bool>,
    }

    impl Prepared for Watch {
        fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
            let mut last: Option<Weak<dyn arrow_array::Array>> = None;
            for value in 0..3 {
                if let Some(last) = last {
                    self.dropped.push(last.strong_count() == 0);
                }
                let array: ArrayRef = Arc::new(UInt64Array::from(vec![value]));
                last = Some(Arc::downgrade(&array));
                sink(RecordBatch::try_from_iter([("x", array)]).unwrap())?;
            }
            Ok(())
        }
    }

    #[test]
    fn a_streaming_consumer_drops_each_batch_and_a_collecting_one_keeps_all() {
        for (keep, dropped) in [(Keep::Nothing, true), (Keep::Everything, false)] {
            let mut watch = Watch { dropped: Vec::new() };
            let turn = turn(&mut watch, keep).unwrap();
            assert_eq!((turn.rows, &watch.dropped[..]), (3, &[dropped, dropped][..]));
            assert!(turn.seconds >= 0.0);
        }
    }

    #[test]
    fn a_check_adds_up_what_the_sink_gets() {
        let check = check(&mut Watch { dropped: Vec::new() }).unwrap();
        assert_eq!(check.rows, 3);
        assert_eq!(check.columns["x"].sum.as_deref(), Some("3"));
    }
}
