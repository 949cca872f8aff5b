// SPDX-License-Identifier: Apache-2.0
//! A directory of Arrow or Parquet files, rolled by size and time: the sink that needs no server.
//!
//! Messages go to a file `.NAME.part` in Arrow's IPC format as they come, so that they outlive the
//! process from then on; what of it is whole is noted in `.NAME.note`, with checksums. When it is
//! large or old enough it is completed, converted to Parquet if configured, and renamed in one
//! step. A part that a killed process left is completed at the next start: what was torn in it was
//! never acknowledged.
//!
//! With folders `name=value`, several files are made of a part; with a path in a store, parts are
//! in a local folder, and what is made of them is uploaded: see `set` and `upload`.
//!
//! Dictionaries grow from batch to batch in a part. The file has each of them whole, before its
//! first batch, because not every reader of Arrow files takes dictionaries in pieces; where keys
//! can number no more values, a file ends.

mod batches;
mod complete;
mod completer;
mod note;
mod options;
mod part;
mod set;
mod upload;

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_schema::ArrowError;
use arrowsmith_core::Error;
use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt, done};
use arrowsmith_sink::folder::Partitioner;

use self::complete::{Files, recover_all};
use self::completer::{Completer, complete};
pub use self::options::{DirectoryOptions, FileFormat};
use self::part::{Part, WriteError};
use self::upload::{Uploader, Uploads};
use crate::disk::{OpenFile, SharedDisk};
use crate::observe::metrics::Waiting;
use crate::store::SharedStores;

/// Bytes of a name that file systems have, and of a path that stores have.
const NAME_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 1024;

/// Bytes of the name of a file besides the stream's: two numbers and the extension.
const FILE_BYTES_MAX: usize = 40;

/// Kept as long as no other process may take the parts for left ones.
type Lock = Arc<Mutex<Box<dyn Send>>>;

/// What is below a directory.
pub(crate) struct Storage {
    pub(crate) disk: SharedDisk,
    pub(crate) stores: SharedStores,
    /// Counts what waits to be uploaded.
    pub(crate) waiting: Waiting,
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
    /// The folders of the rows in `part`, at least.
    folders: Option<Partitioner>,
    uploader: Option<Uploader>,
    /// Highest number of a message that an earlier process stored.
    stored: Option<u64>,
    /// The thread that uploads has it, too.
    _lock: Lock,
}

impl Directory {
    pub(crate) fn open(
        storage: Storage,
        options: DirectoryOptions,
        stream: &str,
    ) -> Result<Self, PublishError> {
        let Storage { disk, stores, waiting } = storage;
        let failed = |error: io::Error| retry(options.folder(), &error);
        disk.make_folder(options.folder()).map_err(failed)?;
        let lock = disk.lock(&options.folder().join(format!(".{stream}.lock"))).map_err(failed)?;
        let Some(lock) = lock else {
            let message = "another process writes this stream there";
            return Err(failed(io::Error::other(message)));
        };
        let lock = Lock::new(Mutex::new(lock));
        let (left, uploads) = (Arc::default(), Arc::new(Uploads::new(waiting)));
        let stream = stream.to_owned();
        let files = Files { disk, stores, options: options.clone(), stream, uploads };
        files.count_waiting().map_err(failed)?;
        let stored = recover_all(&files).map_err(failed)?;
        let completer = Completer::start(files.clone(), &left).map_err(failed)?;
        // What was configured before may have left something for a store.
        let uploader = match options.url().is_some() || files.uploads.waiting.files() > 0 {
            true => Uploader::start(files.clone(), Arc::clone(&lock)).map_err(failed)?,
            false => None,
        };
        Ok(Self {
            options,
            files,
            part: None,
            failed: None,
            completer,
            left,
            folders: None,
            uploader,
            stored,
            _lock: lock,
        })
    }

    fn write(&mut self, message: &Message) -> Result<Receipt, PublishError> {
        self.take_back()?;
        self.has_room()?;
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
        self.admit(message)?;
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

    /// Has messages wait while too much waits to be uploaded.
    fn has_room(&self) -> Result<(), PublishError> {
        let (waiting, most) = (self.files.uploads.waiting.bytes(), self.options.state_bytes.0);
        if waiting < most as u64 {
            return Ok(());
        }
        let (path, state) = (self.options.path.display(), self.options.folder().display());
        let what = format!("{waiting} bytes in {state} wait to be uploaded, state_bytes = {most}");
        Err(PublishError::retry(format!("{path}: {what}")))
    }

    /// Checks that the rows of a message have folders: files are made of what is stored already,
    /// which must not fail for a value. Begins another part where there would be too many.
    fn admit(&mut self, message: &Message) -> Result<(), PublishError> {
        if self.options.partition_by.is_empty() {
            return Ok(());
        }
        let path = self.options.path.display().to_string();
        let refused = |error: Error| PublishError::Refused(format!("{path}: {error}").into());
        loop {
            let is_first = self.part.is_none();
            let known = self.folders.take().filter(|_| !is_first);
            let mut folders = match known {
                Some(known) => known,
                None => self.options.partitioner(&message.schema).map_err(refused)?,
            };
            let before = folders.folders().len();
            let added = folders.add(&message.batch);
            if !is_first && matches!(added, Err(Error::Config(_))) {
                self.roll();
                continue;
            }
            let names = added.and_then(|()| self.check_names(&folders.folders()[before..]));
            self.folders = Some(folders);
            return names.map_err(refused);
        }
    }

    /// Checks that there can be files in new folders.
    fn check_names(&self, folders: &[String]) -> Result<(), Error> {
        let others = self.options.path.as_os_str().len() + self.files.stream.len() + FILE_BYTES_MAX;
        let is_long = |folder: &&String| {
            folder.len() + others > PATH_BYTES_MAX
                || folder.split('/').any(|name| name.len() > NAME_BYTES_MAX)
        };
        match folders.iter().find(is_long) {
            None => Ok(()),
            Some(folder) => {
                let start: String = folder.chars().take(80).collect();
                let most = format!("{NAME_BYTES_MAX} bytes, in paths of {PATH_BYTES_MAX}");
                let what = format!("{start}… is too long for the name of a folder: at most {most}");
                Err(Error::schema("", what))
            }
        }
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
        let path = self.options.folder();
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
        let left = part.take_back().map_err(|error| retry(self.options.folder(), &error))?;
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

    /// Uploads what waits, where no thread does.
    fn upload(&self) -> io::Result<()> {
        if self.files.disk.has_threads() { Ok(()) } else { self.files.upload_all() }
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
            if let Err(error) = self.upload() {
                tracing::warn!(%error, "an upload failed; trying again");
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
            let uploaded = match self.uploader.take() {
                Some(uploader) => uploader.end().await,
                None => self.upload(),
            };
            taken_back?;
            uploaded.map_err(|error| {
                let (waiting, state) = (self.files.uploads.waiting.files(), self.options.folder());
                let state = state.display();
                PublishError::retry(format!("{error}; {waiting} files wait in {state}"))
            })
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
pub(crate) use self::set::Set;

#[cfg(test)]
mod tests;
