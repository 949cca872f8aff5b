// SPDX-License-Identifier: Apache-2.0
//! Everyday commands of the repository: `cargo xtask setup`, `test`, `release`, `tidy` and
//! `fuzz`.

#![forbid(unsafe_code)]

mod architecture;
mod cargo;
mod fuzz;
mod inputs;
mod measured;
mod prose;
mod release;
mod run;
mod setup;
mod shell;
mod sizes;
mod steps;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  setup [AREA...]           install what the tests (of some areas) need, and say what is installed
  test [AREA...] [OPTIONS]  what must hold for a change to land, or only what belongs to some areas
  test full                 the same at full scale: hours
  release [PART...]         make, check and list what users install without a compiler
  tidy                      the house rules
  fuzz [--minutes N] [--seed N] [TARGET...]
                            the fuzz targets, in turn

areas: lint json parquet ingest flight objects jvm hdl gpu python
options of test:
  --dry-run   print the commands
  --again     run also what has passed with the same inputs
  --jobs N    how many of the checks run at a time, after everything is compiled [default: 2]";

fn main() -> ExitCode {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments = all.iter().map(String::as_str);
    let command = arguments.next();
    let rest: Vec<&str> = arguments.collect();
    match command {
        Some("setup") => setup::setup(&rest),
        Some("test") => test::test(&rest),
        Some("release") => release::main(&all[1..]),
        Some("tidy") => tidy::tidy(),
        Some("fuzz") => fuzz::fuzz(&rest),
        // Used by `test full`.
        Some("measured") => measured::measured(&rest),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => usage(),
    }
}

/// Prints the usage.
fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
