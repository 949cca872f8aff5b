// SPDX-License-Identifier: Apache-2.0
//! A queue of messages on disk, bounded and checksummed: what waits while a sink is away.
//!
//! Segments `NUMBER.spool` hold entries one after another; the file `place` holds the place up to
//! which all is published. Messages are appended and then committed, all of them or none: what is
//! not committed is in no segment any more. A disk that fails to sync has dropped what it was to
//! write, and need not report that again; so the segment is not written to any more, and what was
//! not synced in it is written to another one. An entry may then be in two segments; it is
//! recognized by its number and counts once. An entry that a killed process left torn at the end of
//! a segment was never settled. Messages whose receipt was not noted before the end are published
//! again, under their old numbers.

mod entry;
mod place;
mod read;
mod scan;
mod write;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use self::place::Place;
use self::scan::{Known, Scan, scan};
use crate::disk::{OpenFile, SharedDisk, read_all};

/// Size at which a segment ends, in bytes: what is freed at once. Of a small spool it is a part, or
/// what has been published in it would keep it full.
const SEGMENT_BYTES: u64 = 64 << 20;
const SEGMENTS_MIN: u64 = 4;

/// One file of entries.
struct Segment {
    number: u64,
    /// Where its last entry ends.
    len: u64,
    /// What is skipped, in order.
    gaps: Vec<(u64, u64)>,
    /// Whether it contains damage, and is kept for inspection.
    damaged: bool,
}

/// A spool of one sink of one stream.
pub(crate) struct Spool {
    disk: SharedDisk,
    folder: PathBuf,
    bytes_max: u64,
    /// Length at which a segment ends.
    segment_bytes: u64,
    /// The segments that are there.
    segments: VecDeque<Segment>,
    /// Of the last segment, if more may be written to it.
    writer: Option<OpenFile>,
    /// Number of the next segment: no name is tried twice.
    next_number: u64,
    /// Lengths of the last segment that are committed and synced.
    committed: u64,
    synced: u64,
    /// Rows that are not committed.
    open_rows: u64,
    /// A sync of the last segment has failed.
    suspect: bool,
    reader: Option<(u64, OpenFile)>,
    /// Of the next entry to read.
    read: Place,
    /// All before it is published.
    done: Place,
    /// What an earlier process left ends here.
    left: Place,
    /// What was written again: up to which place it stays, and in which segment the rest is now.
    moved: Vec<(Place, u64)>,
    /// Rows from `done` on.
    rows: u64,
    /// Bytes of damage.
    damaged_bytes: u64,
    /// Highest number of an entry at the start.
    last_sequence: u64,
    _lock: Box<dyn Send>,
}

impl Spool {
    /// Opens the spool in a folder, with what an earlier process left in it.
    pub(crate) fn open(disk: SharedDisk, folder: &Path, bytes_max: u64) -> io::Result<Self> {
        disk.make_folder(folder)?;
        let Some(lock) = disk.lock(&folder.join("lock"))? else {
            return Err(io::Error::other(format!("{}: another process uses it", folder.display())));
        };
        let number = |name: &String| name.split_once('.').and_then(|(n, _)| n.parse::<u64>().ok());
        let names = disk.list(folder)?;
        let highest = names.iter().filter_map(number).max().unwrap_or(0);
        let mut numbers: Vec<u64> =
            names.iter().filter(|name| name.ends_with(".spool")).filter_map(number).collect();
        numbers.sort_unstable();
        let place = read_all(&*disk, &folder.join("place")).unwrap_or_default();
        let done = str::from_utf8(&place).ok().and_then(Place::parse).unwrap_or_default();
        let mut this = Self {
            disk,
            folder: folder.to_owned(),
            bytes_max,
            segment_bytes: SEGMENT_BYTES.min(bytes_max / SEGMENTS_MIN).max(1),
            segments: VecDeque::new(),
            writer: None,
            next_number: highest.max(done.segment).saturating_add(1),
            committed: 0,
            synced: 0,
            open_rows: 0,
            suspect: false,
            reader: None,
            read: done,
            done,
            left: done,
            moved: Vec::new(),
            rows: 0,
            damaged_bytes: 0,
            last_sequence: 0,
            _lock: lock,
        };
        this.recover(&numbers)?;
        if this.is_empty() {
            // What has been published or is damaged will not be read again: it would only take up
            // room.
            this.finish_all()?;
        }
        Ok(this)
    }

    /// With segments of this length.
    #[cfg(test)]
    pub(crate) fn with_segments(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    fn recover(&mut self, numbers: &[u64]) -> io::Result<()> {
        let mut known = Known::default();
        for &number in numbers {
            let path = self.path(number);
            if number < self.done.segment {
                self.disk.remove(&path)?;
                continue;
            }
            let from = if number == self.done.segment { self.done.offset } else { 0 };
            let found = scan(self.disk.read(&path)?, from, &mut known)?;
            self.settle(&path, &found)?;
            if found.damaged > 0 {
                let bytes = found.damaged;
                tracing::error!(path = %path.display(), bytes, "a segment is damaged; kept as .damaged");
            }
            if number == self.done.segment {
                self.done.offset = found.from.min(found.len);
            }
            self.damaged_bytes += found.damaged;
            self.last_sequence = self.last_sequence.max(found.last);
            self.rows += found.rows;
            self.left = Place { segment: number, offset: found.len };
            let damaged = found.damaged > 0;
            self.segments.push_back(Segment { number, len: found.len, gaps: found.gaps, damaged });
        }
        if let Some(first) = self.segments.front()
            && self.done.segment < first.number
        {
            self.done = Place { segment: first.number, offset: 0 };
        }
        self.read = self.done;
        // An old segment is not written to again.
        let len = self.segments.back().map_or(0, |last| last.len);
        (self.committed, self.synced) = (len, len);
        Ok(())
    }

    /// Makes what was found in a segment what the disk has. What a failed sync left there, and an
    /// earlier process truncated, could come back with a loss of power, under the number of a
    /// message that has been acknowledged since.
    fn settle(&self, path: &Path, found: &Scan) -> io::Result<()> {
        let file = self.disk.append(path)?;
        if found.damaged == 0 && file.size()? > found.len {
            file.cut(found.len)?;
        }
        file.sync()
    }

    fn path(&self, segment: u64) -> PathBuf {
        self.folder.join(format!("{segment:012}.spool"))
    }

    /// Rows that wait.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len).sum()
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it takes no more.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes() >= self.bytes_max
    }

    /// Bytes of damage found since the start; torn ends do not count.
    pub(crate) fn damaged_bytes(&self) -> u64 {
        self.damaged_bytes
    }

    /// Highest number of a message that an earlier process left.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Whether an entry that ends here was left by an earlier process.
    pub(crate) fn was_left(&self, place: Place) -> bool {
        place <= self.left
    }
}

#[cfg(test)]
mod tests;
