// SPDX-License-Identifier: Apache-2.0
//! A directory of Arrow or Parquet files, rolled by size and time: the sink that needs no server.
//!
//! Messages go to a file `.NAME.part` in Arrow's IPC format as they come, so that they outlive the
//! process from then on. When it is large or old enough it is completed, made Parquet if that is
//! asked for, and given its name in one step. A part that a killed process left is completed at the
//! next start: what was torn in it was never acknowledged.

mod part;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith_message::{BoxFuture, Message, Publish, PublishError, Receipt, done};
use serde::Deserialize;

use self::part::Part;
use crate::config::{CompressionConfig, Fsync, Seconds, Size};

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
    /// When the disk is told to write: `always` with every message, `second` when a file is completed
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
        self.codec.parse::<arrowsmith_sink_parquet::Codec>().map_err(|e| e.to_string())?;
        Ok(())
    }
}

/// Digits of the number in a name: that of the first message.
const DIGITS: usize = 20;

/// Writes the files of one stream.
pub(crate) struct Directory {
    options: DirectoryOptions,
    stream: String,
    part: Option<Part>,
    /// Takes parts that are full, so that nobody waits while the disk writes them.
    completer: Option<Completer>,
    /// Parts that could not be completed, for want of room on the disk.
    left: Arc<Mutex<Vec<PathBuf>>>,
    /// Held as long as this lives, so that no other process takes its parts for left ones.
    _lock: File,
}

impl Directory {
    pub(crate) fn open(
        options: DirectoryOptions,
        stream: &str,
        _schema: SchemaRef,
    ) -> Result<Self, PublishError> {
        let failed = |error: io::Error| retry(&options.path, &error);
        fs::create_dir_all(&options.path).map_err(failed)?;
        let lock = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(options.path.join(format!(".{stream}.lock")))
            .map_err(failed)?;
        if lock.try_lock().is_err() {
            let message = "another process writes this stream there";
            return Err(retry(&options.path, &io::Error::other(message)));
        }
        let left = Arc::default();
        let completer = Completer::start(options.clone(), &left).map_err(failed)?;
        let this = Self {
            stream: stream.to_owned(),
            part: None,
            completer: Some(completer),
            left,
            options,
            _lock: lock,
        };
        this.recover().map_err(|error| retry(&this.options.path, &error))?;
        Ok(this)
    }

    /// Completes what a killed process left.
    fn recover(&self) -> io::Result<()> {
        let prefix = format!(".{}-", self.stream);
        let mut left = Vec::new();
        for entry in fs::read_dir(&self.options.path)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some((number, kind)) = name.strip_prefix(&prefix).and_then(|n| n.split_once('.'))
            else {
                continue;
            };
            // Another stream may be called as this one and a number.
            if number.len() == DIGITS && number.bytes().all(|c| c.is_ascii_digit()) {
                match kind {
                    "part" => left.push(path),
                    // The part that it was made from is still there.
                    "tmp" => fs::remove_file(&path)?,
                    _ => {}
                }
            }
        }
        left.sort();
        for path in left {
            let rows = part::recover(&path, &self.options)?;
            tracing::info!(path = %path.display(), rows, "completed a file that was left");
        }
        Ok(())
    }

    fn write(&mut self, message: &Message) -> Result<Receipt, PublishError> {
        let other_schema = |part: &mut Part| *part.schema != *message.schema;
        if self.part.as_mut().is_some_and(other_schema) {
            self.roll();
        }
        if self.part.is_none() {
            let name = format!(".{}-{:0DIGITS$}.part", self.stream, message.sequence);
            let path = self.options.path.join(name);
            let part = Part::create(path, &message.schema, &self.options);
            self.part = Some(part.map_err(|error| failed(&self.options.path, error))?);
        }
        if let Some(part) = &mut self.part
            && let Err(error) = part.write(&message.batch, self.options.fsync == Fsync::Always)
        {
            // The file may be torn at its end. What is whole in it is completed, and another begun.
            let error = failed(&part.path, error);
            let left = self.part.take().map(Part::abandon).transpose();
            let left = left.map_err(|error| retry(&self.options.path, &error))?.flatten();
            self.left.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
            return Err(error);
        }
        if self.part.as_ref().is_some_and(|part| part.bytes() >= self.options.roll_bytes.0 as u64) {
            self.roll();
        }
        Ok(done())
    }

    /// Has the file completed.
    fn roll(&mut self) {
        if let (Some(part), Some(completer)) = (self.part.take(), &self.completer) {
            completer.complete(part);
        }
    }

    /// Tries again to complete what could not be.
    fn complete_left(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|path| match part::recover(path, &self.options) {
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a file is not completed yet");
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
            self.complete_left();
            Ok(())
        })
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
    fn start(options: DirectoryOptions, left: &Arc<Mutex<Vec<PathBuf>>>) -> io::Result<Self> {
        let (parts, full) = sync_channel::<Part>(COMPLETE_MAX);
        let left = Arc::clone(left);
        let thread = thread::Builder::new().name("complete".to_owned()).spawn(move || {
            for part in full {
                let path = part.path.clone();
                if let Err(error) = part.complete(&options) {
                    // Everything in it is stored; it is completed later or at the next start.
                    tracing::warn!(path = %path.display(), %error, "a file is not completed yet");
                    left.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                }
            }
        })?;
        Ok(Self { parts: Some(parts), thread: Some(thread) })
    }

    fn complete(&self, part: Part) {
        if let Some(parts) = &self.parts
            && let Err(gone) = parts.send(part)
        {
            tracing::error!(path = %gone.0.path.display(), "a part is left for the next start");
        }
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

/// Trying again may help against everything that a disk says.
fn retry(path: &Path, error: &io::Error) -> PublishError {
    PublishError::retry(format!("{}: {error}", path.display()))
}

fn failed(path: &Path, error: ArrowError) -> PublishError {
    match error {
        ArrowError::IoError(_, source) => retry(path, &source),
        other => PublishError::Refused(format!("{}: {other}", path.display()).into()),
    }
}

/// A writer that counts.
pub(super) struct Counted {
    file: File,
    bytes: u64,
    /// Set when nothing is to be written any more.
    closed: bool,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
