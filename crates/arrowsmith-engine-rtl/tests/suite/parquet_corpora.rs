// SPDX-License-Identifier: Apache-2.0
//! Columns of the public corpora through circuits: the arrays of engine `cpu`, and termination on
//! every broken file.
//!
//! One circuit per column; columns that are stored alike share one. By default only columns of
//! 64-bit numbers in PLAIN that are neither nullable nor compressed are read, for one circuit takes
//! half a minute to compile; `ARROWSMITH_FULL=1` and `ARROWSMITH_RTL_CORPORA=all` read every column
//! that a circuit takes. Needs a Verilator (`tools/hdl verilator` prints one for
//! `ARROWSMITH_VERILATOR`), and the corpora, which are not part of the repository.

use std::collections::BTreeMap;

use arrowsmith_engine_rtl::MemoryProfile;
use arrowsmith_engine_rtl::parquet::{Circuits, ParquetError, column};
use arrowsmith_rtlgen::parquet::{Column, Kind, Options};
use arrowsmith_testkit::{corpus, full, tools};

use crate::parquet_support::Case;
use crate::support::{there, verilator};

/// Maximum rows of a row group: simulating a cycle takes ten microseconds. If not all columns are
/// read, a part of it.
const ROWS_MAX: usize = 1_000_000;

#[test]
fn columns_of_the_corpora_are_those_of_engine_cpu() {
    if !there() {
        return;
    }
    let Some(folder) = tools::corpora() else { return };
    let all = full() || std::env::var("ARROWSMITH_RTL_CORPORA").is_ok_and(|what| what == "all");
    let rows_max = if all { ROWS_MAX } else { ROWS_MAX / 20 };
    let few = Column { dictionary: false, delta: false, ..Column::new("", Kind::Bits64, false) };
    let engine =
        Circuits::new(Options::default(), MemoryProfile::IDEAL).with_verilator(verilator());
    // Chunks that agree, by kind.
    let mut same: BTreeMap<String, usize> = BTreeMap::new();
    let (mut files, mut both_refuse) = (0, 0);
    // Columns that no circuit takes, by reason.
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut given_back: BTreeMap<String, usize> = BTreeMap::new();
    let mut differ = Vec::new();
    for listed in corpus::listed(&folder).unwrap() {
        let path = folder.join(&listed.path);
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if !bytes.starts_with(b"PAR1") {
            continue;
        }
        let Ok(case) = Case::open(bytes.into()) else { continue };
        let mut any = false;
        for field in &case.plan.fields {
            let what = match column(&case.file, field) {
                Ok(what) => what,
                Err(refusal) => {
                    println!("{} {}: no circuit, {}", listed.path, refusal.path, refusal.reason);
                    *refused.entry(refusal.reason).or_default() += 1;
                    continue;
                }
            };
            let what = Column { path: String::new(), ..what };
            if !all && what != few {
                continue;
            }
            for row_group in 0..case.file.row_groups() {
                if !case.file.row_group_rows(row_group).is_ok_and(|rows| rows <= rows_max) {
                    continue;
                }
                any = true;
                let place = format!("{} {} {row_group}", listed.path, field.field().name());
                let found = engine.measured(&case.file, row_group, field);
                match (found, case.expected_field(row_group, field)) {
                    (Ok((found, _)), Ok(expected)) if found.as_ref() == expected.as_ref() => {
                        *same.entry(what.to_string()).or_default() += 1;
                    }
                    (Ok(_), Ok(_)) => differ.push(format!("{place}: differs")),
                    // Irrelevant to the values: a checksum, unused bytes.
                    (Ok(_), Err(why)) => println!("{place}: read, and engine cpu reports: {why}"),
                    (Err(ParquetError::Rtl(error)), _) => differ.push(format!("{place}: {error}")),
                    (Err(_), Err(_)) => both_refuse += 1,
                    (Err(error), Ok(_)) => {
                        println!("{place}: {error}");
                        *given_back.entry(error.to_string()).or_default() += 1;
                    }
                }
            }
        }
        files += usize::from(any);
    }
    let chunks: usize = same.values().sum();
    println!("{files} files: {chunks} column chunks agree, {both_refuse} are refused by both");
    for (what, chunks) in &same {
        println!("{chunks:6} {what}");
    }
    println!("columns that no circuit takes: {refused:#?}");
    println!("left to software: {given_back:#?}");
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(chunks > 0, "nothing was read");
    let limits = ["do not fit", "does not fit", "needs buffers"];
    let known = |why: &String| limits.iter().any(|limit| why.contains(limit));
    let unknown: Vec<_> = given_back.keys().filter(|why| !known(why)).collect();
    assert!(unknown.is_empty(), "refused, and engine cpu reads it: {unknown:#?}");
}
