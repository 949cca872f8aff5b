// SPDX-License-Identifier: Apache-2.0
//! A directory of Arrow or Parquet files, rolled by size and time: the sink that needs no server.
//!
//! Messages go to a file `.NAME.part` in Arrow's IPC format as they come, so that they outlive the
//! process from then on; what of it is whole is noted in `.NAME.note`, with checksums. When it is
//! large or old enough it is completed, converted to Parquet if configured, and renamed in one
//! step. A part that a killed process left is completed at the next start: what was torn in it was
//! never acknowledged.
//!
//! Dictionaries grow from batch to batch in a part. The file has each of them whole, before its
//! first batch, because not every reader of Arrow files takes dictionaries in pieces; where keys
//! can number no more values, a file ends.

mod batches;
mod complete;
mod note;
mod part;

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_schema::ArrowError;
use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt, done};
use serde::Deserialize;

use self::complete::{Files, recover_all};
use self::part::{Part, WriteError};
use crate::disk::{OpenFile, SharedDisk};
use crate::panics;
use crate::units::{CompressionConfig, Fsync, Seconds, Size};

/// Options of a directory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryOptions {
    /// The directory; made if it is not there.
    pub path: PathBuf,
    /// What the files are.
    #[serde(default)]
    pub format: FileFormat,
    /// Size at which a file ends, in bytes of Arrow data. Default 256 MiB.
    #[serde(default = "roll_bytes")]
    pub roll_bytes: Size,
    /// Age at which a file ends. Default 60 s.
    #[serde(default = "roll_seconds")]
    pub roll_seconds: Seconds,
    /// Compression of the buffers of Arrow files.
    #[serde(default)]
    pub compression: CompressionConfig,
    /// Codec of Parquet files: none, snappy, lz4, zstd:3, … Default zstd.
    #[serde(default = "codec")]
    pub codec: String,
    /// When data is synced to disk: `always` with every message, `second` when a file is completed
    /// (the default), `never`.
    #[serde(default = "fsync")]
    pub fsync: Fsync,
}

fn roll_bytes() -> Size {
    Size(256 << 20)
}

fn roll_seconds() -> Seconds {
    Seconds(60.0)
}

fn codec() -> String {
    "zstd".to_owned()
}

fn fsync() -> Fsync {
    Fsync::Second
}

/// What the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// Arrow IPC files.
    #[default]
    Arrow,
    /// Parquet files.
    Parquet,
}

impl FileFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
        }
    }
}

impl DirectoryOptions {
    /// The defaults, in a directory of this path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: FileFormat::Arrow,
            roll_bytes: roll_bytes(),
            roll_seconds: roll_seconds(),
            compression: CompressionConfig::None,
            codec: codec(),
            fsync: fsync(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.roll_bytes.0 == 0 {
            return Err("roll_bytes has to be above 0".to_owned());
        }
        self.codec.parse::<arrowsmith_sink::parquet::Codec>().map_err(|e| e.to_string())?;
        Ok(())
    }
}

/// Writes the files of one stream.
pub(crate) struct Directory {
    options: DirectoryOptions,
    files: Files,
    part: Option<Part>,
    /// A part that failed, and that could not be truncated yet.
    failed: Option<Part>,
    /// Completes full parts, so that no message waits while the disk writes them.
    completer: Option<Completer>,
    /// Parts that could not be completed, for want of room on the disk.
    left: Arc<Mutex<Vec<String>>>,
    /// Highest number of a message that an earlier process stored.
    stored: Option<u64>,
    /// Held as long as this lives, so that no other process takes its parts for left ones.
    _lock: Box<dyn Send>,
}

impl Directory {
    pub(crate) fn open(
        disk: SharedDisk,
        options: DirectoryOptions,
        stream: &str,
    ) -> Result<Self, PublishError> {
        let failed = |error: io::Error| retry(&options.path, &error);
        disk.make_folder(&options.path).map_err(failed)?;
        let lock = disk.lock(&options.path.join(format!(".{stream}.lock"))).map_err(failed)?;
        let Some(lock) = lock else {
            let message = "another process writes this stream there";
            return Err(retry(&options.path, &io::Error::other(message)));
        };
        let left = Arc::default();
        let files = Files { disk, options: options.clone(), stream: stream.to_owned() };
        let stored = recover_all(&files).map_err(failed)?;
        let completer = Completer::start(files.clone(), &left).map_err(failed)?;
        Ok(Self { part: None, failed: None, completer, left, stored, files, options, _lock: lock })
    }

    fn write(&mut self, message: &Message) -> Result<Receipt, PublishError> {
        self.take_back()?;
        if self.options.format == FileFormat::Parquet {
            // Files are made of what is stored already, which must not fail for a value.
            arrowsmith_sink::parquet::check_values(&message.batch).map_err(|error| {
                let path = self.options.path.display();
                PublishError::Refused(format!("{path}: {error}").into())
            })?;
        }
        let other_schema = |part: &mut Part| *part.schema != *message.schema;
        if self.part.as_mut().is_some_and(other_schema) {
            self.roll();
        }
        let was_empty = self.part.is_none();
        match self.write_to_part(message) {
            Err(WriteError::Full) if !was_empty => {
                // Its dictionaries have no keys left; those of a new file do.
                self.roll();
                self.write_to_part(message)
            }
            result => result,
        }
        .map_err(|error| self.abandon(error))?;
        if self.part.as_ref().is_some_and(|part| part.bytes() >= self.options.roll_bytes.0 as u64) {
            self.roll();
        }
        Ok(done())
    }

    fn write_to_part(&mut self, message: &Message) -> Result<(), WriteError> {
        let part = match &mut self.part {
            Some(part) => part,
            empty => empty.insert(Part::create(&self.files, message.sequence, &message.schema)?),
        };
        part.write(&message.batch, message.sequence)
    }

    /// Gives up a part after an error: the file may be torn at its end. What is whole in it is
    /// completed, and another begun.
    fn abandon(&mut self, error: WriteError) -> PublishError {
        let path = &self.options.path;
        let error = match error {
            WriteError::Arrow(ArrowError::IoError(_, source)) | WriteError::Io(source) => {
                retry(path, &source)
            }
            WriteError::Arrow(other) => {
                PublishError::Refused(format!("{}: {other}", path.display()).into())
            }
            WriteError::Full => {
                let why = "more distinct values than the keys of a dictionary can number";
                PublishError::Refused(format!("{}: {why}", path.display()).into())
            }
        };
        self.failed = self.part.take();
        if let Err(error) = self.take_back() {
            // It is tried again before anything else is written: the message must not be in two
            // parts.
            tracing::warn!(%error, "the end of a part is not taken back yet");
        }
        error
    }

    fn take_back(&mut self) -> Result<(), PublishError> {
        let Some(part) = &mut self.failed else { return Ok(()) };
        let left = part.take_back().map_err(|error| retry(&self.options.path, &error))?;
        self.left.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        self.failed = None;
        Ok(())
    }

    /// Has the file completed.
    fn roll(&mut self) {
        let Some(part) = self.part.take() else { return };
        match &self.completer {
            Some(completer) => completer.complete(part),
            None => complete(part, &self.files, &self.left),
        }
    }

    /// Tries again to complete what could not be.
    fn complete_left(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|name| match complete::recover(&self.files, name) {
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(name, %error, "a file is not completed yet");
                true
            }
        });
    }
}

impl Publish for Directory {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        Box::pin(async { self.write(message) })
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<(), PublishError>> {
        Box::pin(async {
            self.complete_left();
            let age: Option<Duration> = self.part.as_ref().map(|part| part.started.elapsed());
            if age.is_some_and(|age| age >= self.options.roll_seconds.duration()) {
                self.roll();
            }
            Ok(())
        })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::pin(async move {
            self.roll();
            drop(self.completer.take());
            let taken_back = self.take_back();
            self.complete_left();
            taken_back
        })
    }

    fn stored(&self) -> Option<u64> {
        self.stored
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn in_flight_max(&self) -> usize {
        // A message is stored when it is taken.
        1
    }
}

/// Full parts that wait for their end, at most: then a disk that is too slow is felt.
const COMPLETE_MAX: usize = 2;

/// The thread that completes files. Dropping it waits until it has.
struct Completer {
    parts: Option<SyncSender<Part>>,
    thread: Option<JoinHandle<()>>,
}

impl Completer {
    /// `None` where everything is to have one order.
    fn start(files: Files, left: &Arc<Mutex<Vec<String>>>) -> io::Result<Option<Self>> {
        if !files.disk.has_threads() {
            return Ok(None);
        }
        let (parts, full) = sync_channel::<Part>(COMPLETE_MAX);
        let left = Arc::clone(left);
        let thread = thread::Builder::new().name("complete".to_owned()).spawn(move || {
            for part in full {
                let name = part.name.clone();
                let completed = AssertUnwindSafe(|| complete(part, &files, &left));
                if let Err(panic) = catch_unwind(completed) {
                    let why = panics::why(panic);
                    tracing::error!(name, why, "a file is not completed; it will be tried again");
                    left.lock().unwrap_or_else(PoisonError::into_inner).push(name);
                }
            }
        })?;
        Ok(Some(Self { parts: Some(parts), thread: Some(thread) }))
    }

    fn complete(&self, part: Part) {
        if let Some(parts) = &self.parts
            && let Err(gone) = parts.send(part)
        {
            tracing::error!(name = gone.0.name, "a part is left for the next start");
        }
    }
}

fn complete(part: Part, files: &Files, left: &Mutex<Vec<String>>) {
    let name = part.name.clone();
    if let Err(error) = part.complete() {
        // Everything in it is stored; it is completed later or at the next start.
        let folder = files.options.path.display();
        tracing::warn!(%folder, name, %error, "a file is not completed yet");
        left.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        drop(self.parts.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("completing files failed; parts are left for the next start");
        }
    }
}

/// Any error of a disk may be temporary.
fn retry(path: &Path, error: &io::Error) -> PublishError {
    PublishError::retry(format!("{}: {error}", path.display()))
}

/// A writer that counts and sums up.
pub(super) struct CountingWriter {
    file: OpenFile,
    bytes: u64,
    /// Of what was written since it was taken.
    sum: u32,
    /// Set when nothing is to be written any more.
    closed: bool,
}

impl CountingWriter {
    fn new(file: OpenFile) -> Self {
        Self { file, bytes: 0, sum: 0, closed: false }
    }
}

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        self.sum = crc32c::crc32c_append(self.sum, &bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
