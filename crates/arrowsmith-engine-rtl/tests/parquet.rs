// SPDX-License-Identifier: Apache-2.0
//! Row groups through circuits: the batches of engine `cpu` and of the `parquet` crate, and its refusals.

mod parquet_support;

use std::path::PathBuf;

use arrowsmith_engine_rtl::converter::MemoryProfile;
use parquet_support::{Case, check, verilator};

/// Files that a variable names: all that a circuit has a decoder for, against the oracles.
#[test]
fn files_that_are_named() {
    let Some(folder) = std::env::var_os("ARROWSMITH_RTL_FILES") else { return };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let verilator = verilator();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "parquet")) {
        let case = Case::open(std::fs::read(path).unwrap().into());
        for memory in [MemoryProfile::IDEAL, MemoryProfile::stalling(30, 7)] {
            match case
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|case| check(&verilator, case, &memory))
            {
                Ok(took) => println!("{}: {took}", path.display()),
                Err(why) => println!("{}: FAILED {why}", path.display()),
            }
        }
    }
}
