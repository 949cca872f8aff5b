// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask fuzz`: runs every fuzz target in turn for some time, and reports runs and crashes.
//!
//! libFuzzer searches for inputs that take new branches. Our crates are compiled for that by
//! `tools/fuzz-rustc`, on the compiler of the repository, and checked by AddressSanitizer;
//! dependencies are those of the tests.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{cargo, shell};

/// Default minutes for all targets together.
const MINUTES: f64 = 10.0;

/// The parsed command line.
struct Request {
    minutes: f64,
    seed: u64,
    targets: Vec<String>,
}

/// The result of one target.
struct Outcome {
    runs: u64,
    crashes: u64,
}

/// Runs all targets, or the named ones.
pub fn fuzz(arguments: &[&str]) -> ExitCode {
    let Some(request) = read(arguments) else { return crate::usage() };
    let known = targets();
    if let Some(other) = request.targets.iter().find(|name| !known.contains(name)) {
        eprintln!("there is no fuzz target {other}");
        return ExitCode::from(2);
    }
    let targets = if request.targets.is_empty() { known } else { request.targets.clone() };
    if !build() {
        return ExitCode::FAILURE;
    }
    let folder = shell::target().join("fuzz-findings");
    if std::fs::create_dir_all(&folder).is_err() {
        eprintln!("cannot create {}", folder.display());
        return ExitCode::FAILURE;
    }
    let count = f64::from(u32::try_from(targets.len()).unwrap_or(u32::MAX));
    let each = request.minutes * 60.0 / count;
    let mut crashes = 0;
    for target in &targets {
        let Outcome { runs, crashes: found } = run(target, each, request.seed, &folder);
        println!("{target}: {runs} runs, {found} crashes");
        crashes += found;
    }
    if crashes == 0 {
        return ExitCode::SUCCESS;
    }
    println!("the inputs that crashed are in {}", folder.display());
    ExitCode::FAILURE
}

fn read(arguments: &[&str]) -> Option<Request> {
    let mut request = Request { minutes: MINUTES, seed: 0, targets: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => request.minutes = words.next()?.parse().ok()?,
            "--seed" => request.seed = words.next()?.parse().ok()?,
            option if option.starts_with('-') => return None,
            target => request.targets.push(target.to_owned()),
        }
    }
    Some(request)
}

/// The names of all targets: the first text of each row of the table.
fn targets() -> Vec<String> {
    let listed = std::fs::read_to_string(shell::root().join("fuzz/src/lib.rs"));
    let listed = listed.unwrap_or_default();
    let rows = listed.split_once("TARGETS: &[").and_then(|(_, rest)| rest.split_once("];"));
    let names = rows.into_iter().flat_map(|(rows, _)| rows.lines()).filter_map(|row| {
        let (name, _) = row.trim().strip_prefix("(\"")?.split_once('"')?;
        Some(name.to_owned())
    });
    names.collect()
}

/// Builds the program of all targets, with the features of the tests.
fn build() -> bool {
    let mut command = Command::new("cargo");
    command.arg("build").args(cargo::selection(&["arrowsmith-fuzz".to_owned()]));
    command.args(["--features", "arrowsmith-fuzz/libfuzzer", "--bin", "fuzz_guided"]);
    command.env("RUSTC_WORKSPACE_WRAPPER", shell::root().join("tools/fuzz-rustc"));
    command.current_dir(shell::root());
    shell::without_cargo_run(&mut command);
    command.status().is_ok_and(|status| status.success())
}

/// One process for each target: an abort of one does not end the others.
fn run(target: &str, seconds: f64, seed: u64, folder: &Path) -> Outcome {
    let root = shell::root();
    let corpus = root.join("fuzz/corpus").join(target);
    let _ = std::fs::create_dir_all(&corpus);
    let mut command = Command::new(shell::target().join("debug/fuzz_guided"));
    command.arg(&corpus);
    // Targets of the GPU engine read what those of the CPU engine do.
    let seeds = match target {
        "gpu_json" => "json_engines",
        "gpu_pages" => "parquet_pages",
        other => other,
    };
    let given = [root.join("fuzz/seeds").join(seeds), root.join("fuzz/regressions").join(target)];
    command.args(given.iter().filter(|folder| folder.is_dir()));
    let artifacts = format!("-artifact_prefix={}/{target}-", folder.display());
    command.args([&format!("-max_total_time={seconds:.0}"), &format!("-seed={seed}"), &artifacts]);
    command.args(["-timeout=120", "-rss_limit_mb=4096", "-print_final_stats=1"]);
    // A panic prints its message; thousands of backtraces are of no use. Pools and statics live as
    // long as the process; an allocation that fails is an answer (`fuzz/src/budget.rs`).
    command.env("FUZZ_TARGET", target).env("RUST_BACKTRACE", "0");
    command.env("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1");
    let Ok(done) = command.output() else { return Outcome { runs: 0, crashes: 1 } };
    let said = String::from_utf8_lossy(&done.stderr);
    let runs = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0);
    if !done.status.success() {
        eprintln!("{said}");
    }
    Outcome { runs, crashes: u64::from(!done.status.success()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_found_and_has_seeds() {
        let all = targets();
        assert!(all.len() > 25, "{all:?}");
        for target in all.iter().filter(|name| !name.starts_with("gpu_")) {
            assert!(shell::root().join("fuzz/seeds").join(target).is_dir(), "{target}");
        }
    }

    #[test]
    fn minutes_and_targets_are_read() {
        let request = read(&["--minutes", "1.5", "number", "--seed", "7"]);
        let request = request.map(|request| (request.minutes, request.seed, request.targets));
        assert_eq!(request, Some((1.5, 7, vec!["number".to_owned()])));
        assert!(read(&["--minutes"]).is_none());
        assert!(read(&["--for", "1"]).is_none());
    }
}
