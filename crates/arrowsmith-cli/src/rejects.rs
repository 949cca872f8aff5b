// SPDX-License-Identifier: Apache-2.0
//! Rejected records (skipped or changed): in full to `--rejects FILE`, or the first few reasons to
//! standard error.
//!
//! The file is written in place, line by line, and is flushed however the command ends: rejects
//! from before a failure or Ctrl-C are not lost. If nothing was rejected, the file is empty.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith_core::{Error, Reject, Result};
use arrowsmith_ingest::RejectLine;

/// Maximum number of reasons shown on standard error when there is no file for them.
const REASONS_MAX: usize = 5;

/// The destination of rejects: without a file they are only counted. Clones share it.
#[derive(Clone, Default)]
pub struct Rejects(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// `None` without `--rejects`.
    file: Option<RejectsFile>,
    rejected: u64,
    nulled: u64,
    /// The first few reasons, when there is no file for them.
    reasons: Vec<String>,
    /// The first error of writing the file; later rejects are only counted.
    failed: Option<Error>,
}

struct RejectsFile {
    writer: BufWriter<Box<dyn Write + Send>>,
    path: PathBuf,
}

impl Rejects {
    /// Writes rejects to a file, which is created or truncated; `-` is standard output.
    pub fn write_to(&self, path: &Path) -> Result<()> {
        let file = RejectsFile::create(path)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).file = Some(file);
        Ok(())
    }

    /// Adds one reject.
    pub fn add(&self, reject: &Reject) {
        let state = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reject.kept_as_null {
            state.nulled += 1;
        } else {
            state.rejected += 1;
        }
        match &mut state.file {
            Some(_) if state.failed.is_some() => {}
            Some(file) => {
                if let Err(error) = file.write(reject) {
                    state.failed = Some(Error::io(&file.path, error));
                }
            }
            None if state.reasons.len() < REASONS_MAX => {
                let what = if reject.kept_as_null { "nulled" } else { "rejected" };
                state.reasons.push(format!("{what}: {}", reject.error));
            }
            None => {}
        }
    }

    /// Numbers of skipped records, and of records with nulls in place of values that did not match.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.rejected, state.nulled)
    }

    /// Flushes the buffer; fails if any reject could not be written.
    pub fn flush(&self) -> Result<()> {
        let state = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        match &mut state.file {
            Some(file) => file.writer.flush().map_err(|error| Error::io(&file.path, error)),
            None => Ok(()),
        }
    }

    /// Flushes the buffer and accepts no more rejects: work that continues until the process exits
    /// would leave half a line.
    pub fn close(&self) -> Result<()> {
        let flushed = self.flush();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).file = None;
        flushed
    }

    /// Prints a summary of the rejects to standard error if they are not written to a file.
    pub fn report(&self) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for reason in &state.reasons {
            eprintln!("{reason}");
        }
        let more = state.rejected + state.nulled - state.reasons.len() as u64;
        if state.file.is_none() && more > 0 {
            eprintln!(
                "and {more} more records; --rejects FILE writes all of them, with the reasons"
            );
        }
    }
}

impl RejectsFile {
    fn create(path: &Path) -> Result<Self> {
        let writer: Box<dyn Write + Send> = if path == Path::new("-") {
            Box::new(io::stdout())
        } else {
            Box::new(File::create(path).map_err(|error| Error::io(path, error))?)
        };
        Ok(Self { writer: BufWriter::new(writer), path: path.to_owned() })
    }

    fn write(&mut self, reject: &Reject) -> io::Result<()> {
        serde_json::to_writer(&mut self.writer, &RejectLine::new(reject, true))?;
        self.writer.write_all(b"\n")
    }
}
