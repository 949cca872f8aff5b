// SPDX-License-Identifier: Apache-2.0
//! Rejected records, as lines of JSON: whole, with reason and position.
//!
//! A new file is started at a size, and when the disk failed to sync the old one; none is removed,
//! unless a maximum is set for all. What cannot be written is kept and retried: nothing is settled
//! before. Half of a line, which a killed process leaves, belongs to records that were not settled:
//! it is cut off at the next start.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use arrowsmith_core::Reject;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prometheus::IntCounter;
use serde::Serialize;

use crate::disk::{OpenFile, SharedDisk};

/// Maximum size of a file of several lines, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The part of a maximum of all files that one may take.
const FILES_MIN: u64 = 4;

/// One line, as the service and `arrowsmith convert --rejects` write it.
#[derive(Debug, Serialize)]
pub struct RejectLine<'a> {
    source: Option<&'a str>,
    record: u64,
    line: u64,
    offset: u64,
    path: &'a str,
    kind: &'static str,
    expected: &'a str,
    found: &'a str,
    kept_as_null: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// Of bytes that are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_base64: Option<String>,
}

impl<'a> RejectLine<'a> {
    /// All of a reject, or all but its text.
    #[must_use]
    pub fn new(reject: &'a Reject, with_text: bool) -> Self {
        let error = &reject.error;
        let text = str::from_utf8(&reject.record).ok();
        Self {
            source: error.position.source.as_deref(),
            record: error.position.record,
            line: error.position.line,
            offset: error.position.offset,
            path: &error.path,
            kind: error.kind.name(),
            expected: &error.expected,
            found: &error.found,
            kept_as_null: reject.kept_as_null,
            text: text.filter(|_| with_text),
            text_base64: (with_text && text.is_none())
                .then(|| BASE64_STANDARD.encode(&reject.record)),
        }
    }
}

/// The file of rejects of a stream; made when there is one.
pub(crate) struct Rejects {
    disk: SharedDisk,
    folder: PathBuf,
    stream: String,
    /// Whether a line has to be synced to disk before it counts.
    durable: bool,
    /// Maximum size of all files, in bytes, if there is one, and what counts the bytes removed.
    limit: Option<(u64, IntCounter)>,
    file: Option<OpenFile>,
    bytes: u64,
    /// A torn line at the end could not be truncated yet.
    torn: bool,
    /// How many of the rejects are written whose addition has failed.
    added: usize,
}

impl Rejects {
    pub(crate) fn new(disk: SharedDisk, folder: PathBuf, stream: &str, durable: bool) -> Self {
        let stream = stream.to_owned();
        let limit = None;
        let (file, bytes, torn, added) = (None, 0, false, 0);
        Self { disk, folder, stream, durable, limit, file, bytes, torn, added }
    }

    /// With a maximum size of all files, in bytes: the oldest are removed, and counted.
    pub(crate) fn with_limit(mut self, bytes_max: u64, removed: IntCounter) -> Self {
        self.limit = Some((bytes_max, removed));
        self
    }

    /// Where the rejects are.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.rejects.jsonl", self.stream))
    }

    /// Adds rejects. After an error it has to be called with the same ones again, and adds those
    /// that are missing.
    pub(crate) fn add(&mut self, rejects: &[Reject]) -> io::Result<()> {
        let (mut lines, mut text, mut line) = (0, Vec::new(), Vec::new());
        for reject in rejects.iter().skip(self.added) {
            line.clear();
            serde_json::to_writer(&mut line, &RejectLine::new(reject, true))?;
            line.push(b'\n');
            if lines > 0 && (text.len() + line.len()) as u64 > self.file_bytes_max() {
                self.write(&text)?;
                self.added += lines;
                (lines, text) = (0, Vec::new());
            }
            text.append(&mut line);
            lines += 1;
        }
        if lines > 0 {
            self.write(&text)?;
        }
        self.added = 0;
        Ok(())
    }

    /// Adds lines to one file, all or none.
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.open()?;
        }
        let is_full = self.bytes.saturating_add(text.len() as u64) > self.file_bytes_max();
        if is_full && self.bytes > 0 && !self.torn {
            self.roll()?;
            self.open()?;
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.torn {
            // So that no torn line, and none that is written again, stays before those that follow.
            file.cut(self.bytes)?;
            if self.durable {
                file.sync()?;
            }
            self.torn = false;
        }
        if let Err(error) = file.write_all(text) {
            self.torn = file.cut(self.bytes).is_err();
            return Err(error);
        }
        if self.durable
            && let Err(error) = file.sync()
        {
            // The system may have dropped what it did not write: the lines go to another file.
            self.torn = file.cut(self.bytes).and_then(|()| file.sync()).is_err();
            if !self.torn {
                self.roll()?;
            }
            return Err(error);
        }
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn open(&mut self) -> io::Result<()> {
        self.disk.make_folder(&self.folder)?;
        let path = self.path();
        if self.durable && !self.disk.exists(&path) {
            // A file that was renamed has to keep its new name before another takes the old one.
            self.disk.sync_folder(&self.folder)?;
        }
        let mut file = self.disk.append(&path)?;
        let bytes = file.size()?;
        let whole = whole_lines(&mut file, bytes)?;
        if whole < bytes {
            tracing::warn!(path = %path.display(), bytes = bytes - whole, "half of a line was left");
            file.cut(whole)?;
        }
        if self.durable {
            // What a process left that was killed before it synced: pages that the disk then drops
            // must not become a hole before lines that count.
            if bytes > 0
                && let Err(error) = file.sync()
            {
                self.roll()?;
                return Err(error);
            }
            // Also a name that is there already: whoever made it may have ended before this.
            self.disk.sync_folder(&self.folder)?;
        }
        (self.bytes, self.file) = (whole, Some(file));
        if let Err(error) = self.remove_oldest() {
            let folder = self.folder.display();
            tracing::warn!(%folder, %error, "old rejects cannot be removed");
        }
        Ok(())
    }

    fn file_bytes_max(&self) -> u64 {
        let part = self.limit.as_ref().map(|(bytes_max, _)| bytes_max / FILES_MIN);
        part.unwrap_or(FILE_BYTES_MAX).min(FILE_BYTES_MAX)
    }

    /// The numbers of the files that are complete, from the oldest on.
    fn complete(&self) -> io::Result<Vec<u64>> {
        let number = |name: String| {
            let number = name.strip_prefix(&self.stream)?.strip_prefix(".rejects-")?;
            number.strip_suffix(".jsonl")?.parse().ok()
        };
        let mut numbers: Vec<u64> =
            self.disk.list(&self.folder)?.into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn complete_path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{}.rejects-{number}.jsonl", self.stream))
    }

    /// Removes what the limit leaves no room for beside the newest complete files and the open one.
    fn remove_oldest(&self) -> io::Result<()> {
        let Some((bytes_max, removed)) = &self.limit else { return Ok(()) };
        let complete = self.complete()?;
        let mut old = complete.len();
        let mut total = self.file_bytes_max();
        for number in complete.iter().rev() {
            total = total.saturating_add(self.disk.read(&self.complete_path(*number))?.size()?);
            if total > *bytes_max {
                break;
            }
            old -= 1;
        }
        for number in &complete[..old] {
            let path = self.complete_path(*number);
            let bytes = self.disk.read(&path)?.size()?;
            self.disk.remove(&path)?;
            removed.inc_by(bytes);
            tracing::warn!(path = %path.display(), bytes, "the oldest rejects were removed");
        }
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        let number = self.complete()?.last().map_or(1, |last| last.saturating_add(1));
        self.disk.rename(&self.path(), &self.complete_path(number))?;
        (self.file, self.bytes) = (None, 0);
        if self.durable { self.disk.sync_folder(&self.folder) } else { Ok(()) }
    }

    /// Syncs the file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.sync())
    }
}

/// Length up to the end of the last whole line.
fn whole_lines(file: &mut OpenFile, bytes: u64) -> io::Result<u64> {
    let mut end = bytes;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let len = usize::try_from(end - start).unwrap_or(block.len());
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block[..len])?;
        if let Some(at) = memchr::memrchr(b'\n', &block[..len]) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
