// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask fuzz`: runs every fuzz target in turn for some time, and reports runs and crashes.
//!
//! With cargo-fuzz and a nightly compiler libFuzzer searches for inputs; without them, the same
//! bodies run on random mutations of their seeds, which finds less but needs no tools.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

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
    let coverage = shell::succeeds("cargo +nightly fuzz --version");
    if !coverage {
        println!(
            "cargo-fuzz or a nightly compiler is missing: using random mutations of the seeds"
        );
        if !build() {
            return ExitCode::FAILURE;
        }
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
        let outcome = match coverage {
            true => with_coverage(target, each, &folder),
            false => at_random(target, each, request.seed, &folder),
        };
        let Outcome { runs, crashes: found } = outcome;
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

/// The names of all targets.
fn targets() -> Vec<String> {
    let entries = std::fs::read_dir(shell::root().join("fuzz/fuzz_targets"));
    let mut all: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    all.sort();
    all
}

/// Builds the programs that run the bodies without libFuzzer, with the features of the tests.
fn build() -> bool {
    let mut command = Command::new("cargo");
    command.arg("build").args(cargo::selection(&["arrowsmith-fuzz".to_owned()]));
    command.args(["--bin", "fuzz_random"]).current_dir(shell::root());
    shell::without_cargo_run(&mut command);
    command.status().is_ok_and(|status| status.success())
}

/// One process for each target: an abort of one does not end the others.
fn at_random(target: &str, seconds: f64, seed: u64, folder: &Path) -> Outcome {
    let mut command = Command::new(shell::target().join("debug/fuzz_random"));
    command.args([target, &seconds.to_string(), &seed.to_string()]).arg(folder);
    // A panic prints its message; thousands of backtraces are of no use.
    command.env("RUST_BACKTRACE", "0").stderr(Stdio::inherit());
    let Ok(done) = command.output() else { return Outcome { runs: 0, crashes: 1 } };
    let said = String::from_utf8_lossy(&done.stdout);
    let runs = said.trim().parse().unwrap_or(0);
    let crashes = if done.status.success() { 0 } else { 1 };
    if done.status.code().is_none() {
        println!("{target}: the process ended on {}.current", folder.join(target).display());
    }
    Outcome { runs, crashes }
}

fn with_coverage(target: &str, seconds: f64, folder: &Path) -> Outcome {
    let corpus = format!("fuzz/corpus/{target}");
    let seeds = format!("fuzz/seeds/{target}");
    let root = shell::root();
    let _ = std::fs::create_dir_all(root.join(&corpus));
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz", "run", "--features", "libfuzzer", target, &corpus]);
    if root.join(&seeds).is_dir() {
        command.arg(&seeds);
    }
    let artifacts = format!("-artifact_prefix={}/{target}-", folder.display());
    command.args(["--", &format!("-max_total_time={seconds:.0}"), "-timeout=60", &artifacts]);
    command.args(["-rss_limit_mb=4096", "-print_final_stats=1"]).current_dir(root);
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
    fn every_target_has_a_body_that_the_tests_run() {
        let all = targets();
        assert!(all.len() > 15, "{all:?}");
        let listed = std::fs::read_to_string(shell::root().join("fuzz/src/lib.rs"));
        let listed = listed.unwrap_or_default();
        for target in all {
            assert!(listed.contains(&format!("(\"{target}\", ")), "{target}");
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
