// SPDX-License-Identifier: Apache-2.0
//! Runs checks and records their times. The output of a check goes to a file, and to the terminal
//! if it fails.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::inputs::{forget, passed, store};
use crate::shell;
use crate::steps::{Check, Command};

/// The result of a check.
struct Done {
    name: String,
    right: bool,
    /// It was not run, because it has passed with the same inputs.
    unchanged: bool,
    clock_s: f64,
    processor_s: f64,
    /// Number of passed tests, if the check reports it.
    tests: u64,
}

/// Runs checks, from one or several threads.
pub struct Runner {
    /// Environment variables of all commands.
    env: Mutex<Vec<(String, String)>>,
    /// Also run checks that have passed with the same inputs.
    pub again: bool,
    done: Mutex<Vec<Done>>,
}

impl Runner {
    /// A runner that has run nothing yet.
    pub fn new(env: Vec<(String, String)>, again: bool) -> Self {
        Self { env: Mutex::new(env), again, done: Mutex::default() }
    }

    /// Adds an environment variable for the commands from now on.
    pub fn set(&self, name: &str, value: String) {
        self.env.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), value));
    }

    /// Notes that something has failed that is not a check.
    pub fn failed(&self, name: &str) {
        self.add(name, false, false, (0.0, 0.0, 0));
    }

    /// Runs a check, unless it has passed with the same inputs; returns whether it passed.
    pub fn check(&self, check: &Check) -> bool {
        let name = &check.name;
        if let Some(key) = check.inputs {
            if !self.again && passed(name, key) {
                println!("unchanged  {name}");
                let none = (0.0, 0.0, 0);
                return self.add(name, true, true, none);
            }
            forget(name, key);
        }
        let log = folder("test-logs").join(file_name(name) + ".log");
        let begin = Instant::now();
        let mut processor_s = 0.0;
        let mut right = File::create(&log).is_ok();
        for command in &check.commands {
            let Some(process) = self.process(command, name, &log).filter(|_| right) else { break };
            right = ended_well(process);
            processor_s += times(name);
        }
        let clock_s = begin.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
        let tests = counted(&said);
        let none = right && check.counts && tests == 0;
        right &= !none;
        let (word, clock) = (if right { "passed   " } else { "FAILED   " }, clock_s.round());
        if right {
            println!("{word}  {name}  {clock} s");
        } else {
            // Printed at once, whatever runs in parallel.
            let why = if none { "no test ran\n" } else { "" };
            println!("{word}  {name}  {clock} s\n{said}{why}FAILED  {name}, see {}", log.display());
        }
        if let Some(key) = check.inputs.filter(|_| right) {
            store(name, key);
        }
        self.add(name, right, false, (clock_s, processor_s, tests))
    }

    /// Runs commands and shows their standard error; returns the standard output of the last one.
    pub fn build(&self, commands: &[Command]) -> Option<String> {
        println!("building");
        let (begin, mut processor_s, mut output) = (Instant::now(), 0.0, None);
        for command in commands {
            let mut process = self.wrapped(command, "build");
            let done = process.stderr(Stdio::inherit()).output().ok();
            processor_s += times("build");
            output = done.filter(|done| done.status.success());
            if output.is_none() {
                break;
            }
        }
        let clock_s = begin.elapsed().as_secs_f64();
        self.add("build", output.is_some(), false, (clock_s, processor_s, 0));
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts the command, with its output appended to a file.
    fn process(&self, command: &Command, name: &str, log: &Path) -> Option<Process> {
        let log = File::options().append(true).open(log).ok()?;
        let mut process = self.wrapped(command, name);
        process.stderr(log.try_clone().ok()?).stdout(log);
        Some(process)
    }

    /// The command in a shell that records its CPU time, child processes included.
    fn wrapped(&self, command: &Command, name: &str) -> Process {
        // Each end of a connection is a file descriptor, and `full` opens many.
        let script = r#"[ -z "${ARROWSMITH_FULL:-}" ] || ulimit -n "$(ulimit -Hn)"
            "$@"; code=$?; times >"$0"; exit $code"#;
        let mut process = Process::new("bash");
        process.args(["-c", script]).arg(times_file(name)).args(&command.words);
        process.current_dir(command.folder.as_deref().unwrap_or(shell::root()));
        // `cargo run` adds the target folder to it, where programs would find other libraries
        // first.
        process.env_remove("LD_LIBRARY_PATH");
        shell::without_cargo_run(&mut process);
        let env = self.env.lock().unwrap_or_else(PoisonError::into_inner);
        let all = env.iter().chain(&command.env);
        process.envs(all.map(|(name, value)| (name, value))).stdin(Stdio::null());
        process
    }

    fn add(&self, name: &str, right: bool, unchanged: bool, took: (f64, f64, u64)) -> bool {
        let (clock_s, processor_s, tests) = took;
        let name = name.to_owned();
        let done = Done { name, right, unchanged, clock_s, processor_s, tests };
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        right
    }

    /// Prints the time of each check, and writes it to a file of this name in the target folder;
    /// returns whether all passed.
    pub fn report(self, title: &str, file: &str, clock_s: f64) -> bool {
        let done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut text =
            format!("{:<44} {:>8} {:>10} {:>6}\n", title, "clock s", "processor s", "tests");
        for one in &done {
            let note = match (one.right, one.unchanged) {
                (false, _) => "  FAILED",
                (true, true) => "  unchanged",
                (true, false) => "",
            };
            let tests = if one.tests == 0 { String::new() } else { one.tests.to_string() };
            let Done { name, clock_s, processor_s, .. } = one;
            let _ =
                writeln!(text, "{name:<44} {clock_s:>8.1} {processor_s:>11.1} {tests:>6}{note}");
        }
        let processor_s: f64 = done.iter().map(|one| one.processor_s).sum();
        let tests: u64 = done.iter().map(|one| one.tests).sum();
        let _ = writeln!(text, "{:<44} {clock_s:>8.1} {processor_s:>11.1} {tests:>6}", "total");
        print!("\n{text}");
        let _ = fs::write(shell::target().join(file), &text);
        let failed: Vec<&str> = done.iter().filter(|d| !d.right).map(|d| &*d.name).collect();
        if !failed.is_empty() {
            println!("\nFAILED: {}", failed.join(", "));
        }
        failed.is_empty()
    }
}

fn ended_well(mut process: Process) -> bool {
    process.status().is_ok_and(|status| status.success())
}

/// A folder below cargo's target folder, created if needed.
pub fn folder(name: &str) -> PathBuf {
    let folder = shell::target().join(name);
    let _ = fs::create_dir_all(&folder);
    folder
}

fn file_name(check: &str) -> String {
    check.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn times_file(check: &str) -> PathBuf {
    folder("test-logs").join(file_name(check) + ".times")
}

/// CPU time of the last command of a check, in seconds.
fn times(check: &str) -> f64 {
    let file = times_file(check);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    text.split_whitespace().filter_map(seconds).sum()
}

/// `1m2.5s` → 62.5.
fn seconds(text: &str) -> Option<f64> {
    let (minutes, rest) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + rest.parse::<f64>().ok()?)
}

/// The number of passed tests in the output of test programs.
fn counted(said: &str) -> u64 {
    let passed =
        |line: &str| line.split_once(" passed;")?.0.rsplit(' ').next()?.parse::<u64>().ok();
    said.lines().filter(|line| line.starts_with("test result: ")).filter_map(passed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Command;

    fn check(name: &str, script: &str, inputs: Option<u64>, counts: bool) -> Check {
        let commands = vec![Command::new(&["bash", "-c", script])];
        Check { name: format!("{name} of xtask's tests"), commands, inputs, counts }
    }

    #[test]
    fn tests_and_times_are_read() {
        let said = "running 3 tests\ntest result: ok. 12 passed; 0 failed; 1 ignored\n\n\
                    test result: ok. 3 passed; 0 failed;\n";
        assert_eq!(counted(said), 15);
        assert_eq!(counted("0 passed; nothing\n"), 0);
        assert_eq!(seconds("1m2.5s"), Some(62.5));
        assert_eq!(seconds("real"), None);
    }

    #[test]
    fn a_check_is_as_right_as_its_commands_and_its_tests() {
        let runner = Runner::new(vec![("WORD".to_owned(), "x".to_owned())], false);
        assert!(runner.check(&check("variables", "[ $WORD = x ]", None, false)));
        assert!(!runner.check(&check("failure", "exit 3", None, false)));
        assert!(!runner.check(&check("nothing", "echo running 0 tests", None, true)));
        let one = "echo test result: ok. 1 passed\\; 0 failed";
        assert!(runner.check(&check("one", one, None, true)));
    }

    #[test]
    fn what_has_passed_runs_again_only_with_other_inputs() {
        let fails = |key| check("stamp", "exit 1", Some(key), false);
        let runner = Runner::new(Vec::new(), false);
        assert!(runner.check(&check("stamp", "true", Some(1), false)));
        assert!(runner.check(&fails(1)), "it did not run");
        assert!(!runner.check(&fails(2)), "it ran");
        assert!(runner.check(&fails(1)), "it has passed with these");
        let again = Runner::new(Vec::new(), true);
        assert!(!again.check(&fails(1)), "it must run again on request");
        assert!(!runner.check(&fails(1)), "what failed since has not passed");
    }
}
