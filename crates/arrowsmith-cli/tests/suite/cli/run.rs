// SPDX-License-Identifier: Apache-2.0
//! Runs the binary in a folder of its own, and compares text with snapshots.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A folder for inputs and outputs, where the command runs.
pub struct Folder(tempfile::TempDir);

/// The output of a run.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Sorted names of the files in the folder: no temporary file may stay.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_arrowsmith"));
        command.args(args).current_dir(self.0.path()).env_remove("COLUMNS").env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// As [`Folder::run`], with these bytes on standard input.
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The command may stop reading early.
            scope.spawn(move || drop(pipe.write_all(stdin)));
            finish(child)
        })
    }
}

pub fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        // A process killed by a signal has no exit status.
        status: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// The run as a snapshot shows it.
    pub fn text(&self) -> String {
        let stdout = String::from_utf8_lossy(&self.stdout);
        format!("status: {}\nstdout:\n{stdout}stderr:\n{}", self.status, self.stderr)
    }

    #[track_caller]
    pub fn assert_status(&self, status: i32) -> &Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// Compares with `tests/snapshots/NAME`, or writes it with
/// `ARROWSMITH_UPDATE_SNAPSHOTS=1`.
#[track_caller]
pub fn snapshot(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let path = folder.join(name);
    if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} has:\n{kept}\nbut now it is:\n{text}", path.display());
}
