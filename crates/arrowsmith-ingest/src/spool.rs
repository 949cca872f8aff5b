// SPDX-License-Identifier: Apache-2.0
//! A queue of messages on disk, bounded and checksummed: what waits while a sink is away.
//!
//! Segments `NUMBER.spool` hold entries one after another; the file `place` says up to where all is
//! published. An entry that a killed process left torn at the end of a segment was never acknowledged
//! and is passed over. Messages whose receipt was not noted before the end are published again, under
//! their old numbers.

mod entry;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use arrowsmith_core::sink::sync_folder;
use arrowsmith_message::Message;

use self::entry::{HEADER_BYTES, Header};
use crate::files::cut;

/// Size at which a segment ends, in bytes: what is freed at once.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Length that an entry can have; more is no entry.
const ENTRY_BYTES_MAX: u64 = 4 << 30;

/// A place in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    segment: u64,
    offset: u64,
}

/// A spool of one sink of one stream.
pub(crate) struct Spool {
    folder: PathBuf,
    bytes_max: u64,
    /// The segments that are there, with their lengths.
    segments: VecDeque<(u64, u64)>,
    writer: Option<File>,
    reader: Option<(u64, File)>,
    /// Of the next entry to read.
    read: Place,
    /// All before it is published.
    done: Place,
    /// Rows from `done` on.
    rows: u64,
    dirty: bool,
    _lock: File,
}

impl Spool {
    /// Opens the spool in a folder, with what an earlier process left in it.
    pub(crate) fn open(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let lock =
            File::options().create(true).write(true).truncate(false).open(folder.join("lock"))?;
        if lock.try_lock().is_err() {
            return Err(io::Error::other(format!("{}: another process uses it", folder.display())));
        }
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".spool"));
            numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        let mut done = Place::default();
        if let Ok(text) = fs::read_to_string(folder.join("place"))
            && let Some((segment, offset)) = text.trim().split_once(' ')
            && let (Ok(segment), Ok(offset)) = (segment.parse(), offset.parse())
        {
            done = Place { segment, offset };
        }
        let mut this = Self {
            folder: folder.to_owned(),
            bytes_max,
            segments: VecDeque::new(),
            writer: None,
            reader: None,
            read: done,
            done,
            rows: 0,
            dirty: false,
            _lock: lock,
        };
        for number in numbers {
            let path = this.path(number);
            if number < done.segment {
                fs::remove_file(path)?;
                continue;
            }
            let from = if number == done.segment { done.offset } else { 0 };
            let (whole, rows) = scan(&path, from)?;
            let len = fs::metadata(&path)?.len();
            if len > whole {
                // As a rule the end is torn. In case that something in the middle was damaged, what is
                // behind it is kept for a person.
                tracing::warn!(path = %path.display(), whole, len, "the end of a segment is no entry");
                fs::copy(&path, path.with_extension("damaged"))?;
                File::options().write(true).open(&path)?.set_len(whole)?;
            }
            this.rows += rows;
            this.segments.push_back((number, whole));
        }
        if let Some(&(first, _)) = this.segments.front()
            && this.done.segment < first
        {
            this.done = Place { segment: first, offset: 0 };
        }
        this.read = this.done;
        Ok(this)
    }

    fn path(&self, segment: u64) -> PathBuf {
        path_of(&self.folder, segment)
    }

    /// Rows that wait.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it takes no more.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes() >= self.bytes_max
    }

    /// Adds a message at the end; the system has it afterwards.
    pub(crate) fn append(&mut self, message: &Message) -> io::Result<()> {
        let bytes = entry::write(message)?;
        let room = self.segments.back().is_some_and(|(_, len)| *len < SEGMENT_BYTES);
        if !room || self.writer.is_none() {
            // Also after a start: an old segment is not written to again.
            let last = self.segments.back().map_or(self.done.segment, |(number, _)| *number);
            let number = last + 1;
            self.sync()?;
            let file = File::options().create_new(true).append(true).open(self.path(number))?;
            sync_folder(&self.folder)?;
            self.writer = Some(file);
            self.segments.push_back((number, 0));
        }
        let (Some(file), Some((number, len))) = (&mut self.writer, self.segments.back_mut()) else {
            return Ok(());
        };
        if let Err(error) = file.write_all(&bytes) {
            // The next entry follows the last whole one.
            if cut(file, &path_of(&self.folder, *number), *len).is_err() {
                self.writer = None;
            }
            return Err(error);
        }
        *len += bytes.len() as u64;
        self.rows += message.rows() as u64;
        self.dirty = true;
        Ok(())
    }

    /// Has the disk write.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.dirty
            && let Some(file) = &self.writer
        {
            file.sync_data()?;
        }
        self.dirty = false;
        Ok(())
    }

    /// The next message, and the place behind it, for [`Spool::finish`].
    pub(crate) fn next(&mut self) -> io::Result<Option<(Message, Place)>> {
        loop {
            let Some(&(number, len)) =
                self.segments.iter().find(|(number, _)| *number >= self.read.segment)
            else {
                return Ok(None);
            };
            if number > self.read.segment {
                self.read = Place { segment: number, offset: 0 };
            }
            if self.read.offset >= len {
                if self.segments.back().is_some_and(|(last, _)| *last == number) {
                    return Ok(None);
                }
                self.read = Place { segment: number + 1, offset: 0 };
                continue;
            }
            if self.reader.as_ref().is_none_or(|(open, _)| *open != number) {
                self.reader = Some((number, File::open(self.path(number))?));
            }
            let Some((_, file)) = &mut self.reader else { return Ok(None) };
            file.seek(SeekFrom::Start(self.read.offset))?;
            let (message, bytes) = entry::read(file)?;
            self.read.offset += bytes;
            return Ok(Some((message, self.read)));
        }
    }

    /// Reads again from what was not finished.
    pub(crate) fn rewind(&mut self) {
        self.read = self.done;
    }

    /// Everything up to `place` is published; `rows` of it were not known to be.
    pub(crate) fn finish(&mut self, place: Place, rows: u64) -> io::Result<()> {
        self.done = place;
        self.rows = self.rows.saturating_sub(rows);
        let text = format!("{} {}\n", place.segment, place.offset);
        let temporary = self.folder.join("place.tmp");
        fs::write(&temporary, text)?;
        fs::rename(&temporary, self.folder.join("place"))?;
        while let Some(&(number, len)) = self.segments.front() {
            let read = number < place.segment || (number == place.segment && place.offset >= len);
            let written = self.segments.len() == 1 && self.writer.is_some() && len < SEGMENT_BYTES;
            if !read || written {
                break;
            }
            fs::remove_file(self.path(number))?;
            self.segments.pop_front();
            if self.segments.is_empty() {
                self.writer = None;
            }
        }
        Ok(())
    }
}

fn path_of(folder: &Path, segment: u64) -> PathBuf {
    folder.join(format!("{segment:012}.spool"))
}

/// Length up to the end of the last whole entry, and the rows of the entries from `from` on.
fn scan(path: &Path, from: u64) -> io::Result<(u64, u64)> {
    let mut file = io::BufReader::with_capacity(1 << 20, File::open(path)?);
    let (mut at, mut rows) = (0, 0);
    let mut payload = Vec::new();
    loop {
        let mut header = [0; HEADER_BYTES];
        if file.read_exact(&mut header).is_err() {
            return Ok((at, rows));
        }
        let Some(header) = Header::parse(&header) else { return Ok((at, rows)) };
        payload.clear();
        if (&mut file).take(header.len).read_to_end(&mut payload)? as u64 != header.len
            || !header.fits(&payload)
        {
            return Ok((at, rows));
        }
        if at >= from {
            rows += header.rows;
        }
        at += HEADER_BYTES as u64 + header.len;
    }
}

#[cfg(test)]
mod tests;
