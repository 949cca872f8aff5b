// SPDX-License-Identifier: Apache-2.0
//! Consumes the files that a service writes: counts their rows and removes them.
//!
//! It reads only the row counts, so that it costs little of the measured time. It never reads
//! values.

use std::fs::{self, File};
use std::io::{self, Error, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{root_as_footer, root_as_message};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Bytes at the end of an Arrow file: the length of the footer, and the magic number.
const TRAILER_BYTES: i64 = 10;
/// Bytes before the text of a message: continuation and length.
const PREFIX_BYTES: usize = 8;
/// Polling interval.
const INTERVAL: Duration = Duration::from_millis(10);

/// Kind of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Arrow IPC, each renamed when it is complete: removed as they appear.
    Arrow,
    /// Parquet, readable only after the writer has ended.
    Parquet,
}

/// A thread that consumes a folder; dropping it ends it.
pub(super) struct Consumer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl Consumer {
    pub(super) fn start(folder: PathBuf, format: Format) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let work = move || {
            let mut rows = 0;
            loop {
                // Checked before listing: the last listing sees all files.
                let last = told.load(Ordering::Acquire);
                if last || format == Format::Arrow {
                    rows += consume(&folder, format)?;
                }
                if last {
                    return Ok(rows);
                }
                thread::sleep(INTERVAL);
            }
        };
        Self { stop, thread: Some(thread::spawn(work)) }
    }

    /// Consumes the rest after the writer has ended; returns the rows of all files.
    pub(super) fn end(&mut self) -> io::Result<u64> {
        self.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return Ok(0) };
        thread.join().unwrap_or_else(|_| Err(Error::other("the consumer of the files failed")))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

fn consume(folder: &Path, format: Format) -> io::Result<u64> {
    let mut rows = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let named = |end: &str| path.extension().is_some_and(|found| found == end);
        rows += match format {
            Format::Arrow if named("arrow") => arrow_rows(&path)?,
            Format::Parquet if named("parquet") => parquet_rows(&path)?,
            _ => continue,
        };
        fs::remove_file(&path)?;
    }
    Ok(rows)
}

fn wrong(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::other(format!("{}: {error}", path.display()))
}

/// Rows of an Arrow file, from its footer and the headers of its messages.
fn arrow_rows(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut trailer = [0; 10];
    file.seek(SeekFrom::End(-TRAILER_BYTES))?;
    file.read_exact(&mut trailer)?;
    let length = read_footer_length(trailer).map_err(|error| wrong(path, error))?;
    let back = i64::try_from(length).map_err(Error::other)?.saturating_add(TRAILER_BYTES);
    file.seek(SeekFrom::End(-back))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    let footer = root_as_footer(&bytes).map_err(|error| wrong(path, error))?;
    let mut rows = 0;
    for block in footer.recordBatches().iter().flatten() {
        let mut head = vec![0; usize::try_from(block.metaDataLength()).map_err(Error::other)?];
        file.seek(SeekFrom::Start(block.offset().try_into().map_err(Error::other)?))?;
        file.read_exact(&mut head)?;
        let message = head.get(PREFIX_BYTES..).unwrap_or_default();
        let message = root_as_message(message).map_err(|error| wrong(path, error))?;
        let batch = message.header_as_record_batch();
        let length = batch.ok_or_else(|| wrong(path, "a block is not a batch"))?.length();
        rows += u64::try_from(length).map_err(Error::other)?;
    }
    Ok(rows)
}

/// Rows of a Parquet file, from its footer.
fn parquet_rows(path: &Path) -> io::Result<u64> {
    let reader =
        SerializedFileReader::new(File::open(path)?).map_err(|error| wrong(path, error))?;
    u64::try_from(reader.metadata().file_metadata().num_rows()).map_err(Error::other)
}
