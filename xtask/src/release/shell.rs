// SPDX-License-Identifier: Apache-2.0
//! Runs programs and handles files; errors name the program or file.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// The result of a step of a release: an error is a message for the user.
pub type Outcome<T = ()> = Result<T, String>;

pub fn fail<T>(message: impl Into<String>) -> Outcome<T> {
    Err(message.into())
}

/// A step that prints its start and its duration.
pub struct Step(Instant);

impl Step {
    pub fn start(what: &str) -> Self {
        println!("\n== {what}");
        Self(Instant::now())
    }

    pub fn done(self) {
        println!("   {:.0} s", self.0.elapsed().as_secs_f64());
    }
}

/// Runs a program whose output the user sees.
pub fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| describe(command, &error))?;
    if status.success() { Ok(()) } else { fail(format!("{}: {status}", name(command))) }
}

/// Runs a program and returns its standard output; prints its output if it fails.
pub fn output(command: &mut Command) -> Outcome<String> {
    let output = capture(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    fail(format!("{}: {}\n{}", name(command), output.status, both(&output)))
}

/// Runs a program and returns both outputs, and whether it succeeded.
pub fn capture(command: &mut Command) -> Outcome<Output> {
    command.output().map_err(|error| describe(command, &error))
}

pub fn both(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

fn name(command: &Command) -> String {
    let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    format!("{} {}", command.get_program().to_string_lossy(), arguments.join(" "))
}

fn describe(command: &Command, error: &std::io::Error) -> String {
    format!("{}: {error}", command.get_program().to_string_lossy())
}

/// Whether a program is installed, tested with `--version`.
pub fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

pub fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Outcome {
    parent(path)?;
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies a file, and creates the folder for it.
pub fn copy(from: &Path, to: &Path) -> Outcome {
    parent(to)?;
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

/// Creates the parent folder of a file.
pub fn parent(path: &Path) -> Outcome {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Creates an empty folder, and removes an existing one.
pub fn fresh(folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The sorted entries of a folder; empty if it does not exist.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The last part of a path.
pub fn leaf(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
