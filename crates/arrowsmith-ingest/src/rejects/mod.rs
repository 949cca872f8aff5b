// SPDX-License-Identifier: Apache-2.0
//! Rejected records, as lines of JSON: whole, with reason and position.
//!
//! A new file is started at a size, and when the disk failed to sync the old one; none is ever
//! removed. What cannot be written is kept and retried: nothing is settled before. Half of a line,
//! which a killed process leaves, belongs to records that were not settled: it is cut off at the
//! next start.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use arrowsmith_core::Reject;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::disk::{OpenFile, SharedDisk};

/// Size at which a file ends, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

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
    file: Option<OpenFile>,
    bytes: u64,
    /// A torn line at the end could not be truncated yet.
    torn: bool,
}

impl Rejects {
    pub(crate) fn new(disk: SharedDisk, folder: PathBuf, stream: &str, durable: bool) -> Self {
        let stream = stream.to_owned();
        Self { disk, folder, stream, durable, file: None, bytes: 0, torn: false }
    }

    /// Where the rejects are.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.rejects.jsonl", self.stream))
    }

    /// Adds rejects, all or none.
    pub(crate) fn add(&mut self, rejects: &[Reject]) -> io::Result<()> {
        let mut text = Vec::new();
        for reject in rejects {
            serde_json::to_writer(&mut text, &RejectLine::new(reject, true))?;
            text.push(b'\n');
        }
        if self.bytes >= FILE_BYTES_MAX && !self.torn {
            self.roll()?;
        }
        if self.file.is_none() {
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
        if let Err(error) = file.write_all(&text) {
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
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        for number in 1_u64.. {
            let to = self.folder.join(format!("{}.rejects-{number}.jsonl", self.stream));
            if !self.disk.exists(&to) {
                self.disk.rename(&self.path(), &to)?;
                break;
            }
        }
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
