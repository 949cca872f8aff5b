// SPDX-License-Identifier: Apache-2.0
//! The suite from end to end, small, without peers: the parquet crate and engines made for the
//! test.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::Row;
use crate::engine::{Prepared, Sink};

fn options(folder: &Path, workloads: &[&str], engines: &[&str]) -> Options {
    Options {
        size_bytes: Some(100_000),
        rounds: Some(2),
        workloads: workloads.iter().map(|&name| name.to_owned()).collect(),
        engines: engines.iter().map(|&name| name.to_owned()).collect(),
        threads: vec![NonZeroUsize::MIN],
        files_dir: Some(folder.to_owned()),
        ..Options::default()
    }
}

/// The parquet crate under our name; it drops half of the rows if told to be wrong.
struct Ours {
    wrong: bool,
    released: Rc<Cell<usize>>,
}

impl Ours {
    fn boxed(wrong: bool) -> (Box<dyn InProcess>, Rc<Cell<usize>>) {
        let released = Rc::new(Cell::new(0));
        (Box::new(Self { wrong, released: Rc::clone(&released) }), released)
    }
}

struct Running<'a> {
    inner: Box<dyn Prepared + 'a>,
    wrong: bool,
}

const INNER: ParquetRs = ParquetRs { name: "inner", batch_rows: 1_000 };

impl InProcess for Ours {
    fn name(&self) -> &str {
        "arrowsmith-cpu"
    }

    fn version(&self) -> String {
        "0.0 test".into()
    }

    fn prepare<'a>(
        &'a self,
        source: Source<'a>,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Prepared + 'a>, String> {
        Ok(Box::new(Running { inner: INNER.prepare(source, threads)?, wrong: self.wrong }))
    }

    fn release_memory(&self) {
        self.released.set(self.released.get() + 1);
    }
}

impl Prepared for Running<'_> {
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
        let wrong = self.wrong;
        self.inner.run(&mut |batch| {
            let rows = if wrong { batch.num_rows() / 2 } else { batch.num_rows() };
            sink(batch.slice(0, rows))
        })
    }
}

#[test]
fn every_workload_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = options(folder.path(), &[], &["parquet-rs", "parquet-rs-view"]);
    asked.threads = vec![NonZeroUsize::MIN, NonZeroUsize::new(2).unwrap()];
    let report = run(&asked, Vec::new(), &mut |_| ()).unwrap();
    assert_eq!(report.not_measured, []);
    for row in &report.rows {
        assert!(row.valid() && row.count("records") > 0, "{row:?}");
        assert!((10_000..140_000).contains(&row.count("bytes")), "{row:?}");
    }
    let of = |engine: &str| report.rows.iter().filter(|row| row.engine() == engine).count();
    let definition = Definition::parquet().unwrap();
    let points = definition.figures.iter().map(|f| points(&definition, f, 100_000).len());
    assert_eq!(of("parquet-rs"), 2 * definition.workloads.len() + points.sum::<usize>());
    let strings = definition.workloads.iter().filter(|w| w.data.is_strings()).count();
    assert_eq!(of("parquet-rs-view"), 2 * strings);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are removed");
}

#[test]
fn a_wrong_result_is_marked_and_memory_is_released_where_it_is_to_be_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let engines = ["arrowsmith-cpu", "arrowsmith-cpu-fresh", "parquet-rs"];
    for wrong in [false, true] {
        let (ours, released) = Ours::boxed(wrong);
        let asked = options(folder.path(), &["int64-delta"], &engines);
        let report = run(&asked, vec![ours], &mut |_| ()).unwrap();
        let valid: Vec<bool> = report.rows.iter().map(Row::valid).collect();
        assert_eq!(valid, [!wrong, !wrong, true]);
        // Once before the first, and before each of the rounds of a small file.
        assert_eq!(released.get(), 1 + 2 * 5);
        assert_eq!(report.rows[0].text("vs_fastest_peer.engine"), "parquet-rs");
    }
}

#[test]
fn strings_are_compared_with_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let engines = ["parquet-rs", "parquet-rs-view", "parquet-rs-dictionary"];
    let asked = options(folder.path(), &["string-dictionary"], &engines);
    let report = run(&asked, Vec::new(), &mut |_| ()).unwrap();
    for row in &report.rows {
        assert!(row.valid(), "{row:?}");
        assert_eq!(row.text("vs_fastest_peer.engine"), row.engine());
    }
}

#[test]
fn files_are_kept_with_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = options(folder.path(), &["int64-plain"], &["parquet-rs"]);
    asked.keep_files = true;
    run(&asked, Vec::new(), &mut |_| ()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn unknown_names_are_refused_and_missing_engines_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run(&options(folder.path(), &["int65"], &[]), Vec::new(), &mut |_| ()).is_err());
    assert!(run(&options(folder.path(), &[], &["pandas"]), Vec::new(), &mut |_| ()).is_err());
    let asked = options(folder.path(), &["int64-plain"], &["arrowsmith-cpu"]);
    let report = run(&asked, Vec::new(), &mut |_| ()).unwrap();
    assert_eq!(report.not_measured[0].reason, "is not part of this command");
}
