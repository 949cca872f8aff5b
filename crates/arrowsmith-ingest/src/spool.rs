// SPDX-License-Identifier: Apache-2.0
//! A queue of messages on disk, bounded and checksummed: what waits while a sink is away.
//!
//! Segments `NUMBER.spool` hold entries one after another; the file `place` says up to where all is
//! published. Messages are appended and then committed, all of them or none: what is not committed
//! is in no segment any more. A disk that fails to sync has dropped what it was to write, and need
//! not say so again; so the segment is not written to any more, and what was not synced in it is
//! written to another one. An entry may then stand in two segments; it is known by its number and
//! counts once. An entry that a killed process left torn at the end of a segment was never settled.
//! Messages whose receipt was not noted before the end are published again, under their old
//! numbers.

mod entry;
mod scan;

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use arrowsmith_publish::Message;

use self::scan::{Known, scan};
use crate::disk::{OpenFile, SharedDisk, read_all};

/// Size at which a segment ends, in bytes: what is freed at once. Of a small spool it is a part, or
/// what has been published in it would keep it full.
const SEGMENT_BYTES: u64 = 64 << 20;
const SEGMENTS_MIN: u64 = 4;

/// Names that are tried for a segment.
const NAME_TRIES_MAX: u32 = 1000;

/// A place in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    segment: u64,
    offset: u64,
}

impl Place {
    /// What the file of the place says; the sum tells one that was torn, and older ones have none.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let (segment, offset) = (words.next()?, words.next()?);
        if let Some(sum) = words.next()
            && u32::from_str_radix(sum, 16).ok()? != Self::sum(&format!("{segment} {offset}"))
        {
            return None;
        }
        Some(Self { segment: segment.parse().ok()?, offset: offset.parse().ok()? })
    }

    fn text(self) -> String {
        let place = format!("{} {}", self.segment, self.offset);
        let sum = Self::sum(&place);
        format!("{place} {sum:08x}\n")
    }

    fn sum(place: &str) -> u32 {
        crc32c::crc32c(place.as_bytes())
    }
}

/// One file of entries.
struct Segment {
    number: u64,
    /// Where its last entry ends.
    len: u64,
    /// What is passed over, in order.
    gaps: Vec<(u64, u64)>,
    /// Whether something in it is kept for a person.
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
    /// Of the next segment: no name is tried twice.
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
    /// Bytes that were met and are no entry.
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
            // Nobody will read what has been published, or is no entry: it would only take room.
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

    /// Bytes met since the start that are no entry: damage, not torn ends.
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

    /// Adds a message behind those before it. It counts when it is committed.
    pub(crate) fn append(&mut self, message: &Message) -> io::Result<()> {
        let bytes = entry::write(message)?;
        self.begin_if_full()?;
        let (Some(file), Some(last)) = (&mut self.writer, self.segments.back_mut()) else {
            return Ok(());
        };
        if let Err(error) = file.write_all(&bytes) {
            // The next entry follows the last whole one.
            if file.cut(last.len).is_err() {
                self.writer = None;
            }
            return Err(error);
        }
        last.len += bytes.len() as u64;
        self.rows += message.rows() as u64;
        self.open_rows += message.rows() as u64;
        Ok(())
    }

    /// Makes what was appended count; with `durable` the disk has it afterwards. After an error
    /// nothing of it is in the spool, and it has to be appended again.
    pub(crate) fn commit(&mut self, durable: bool) -> io::Result<()> {
        let Some(last) = self.segments.back_mut() else { return Ok(()) };
        if durable && last.len > self.synced {
            // Without a writer, what was appended last has failed, and the file may be longer than
            // it is to be.
            let synced = match &self.writer {
                Some(file) if !self.suspect => file.sync(),
                Some(_) => Err(io::Error::other("an earlier sync of the segment failed")),
                None => self
                    .disk
                    .append(&self.folder.join(format!("{:012}.spool", last.number)))
                    .and_then(|file| file.sync()),
            };
            if let Err(error) = synced {
                // Nobody knows which of the pages are on the disk: they are written again, to
                // another file.
                if let Some(file) = self.writer.take() {
                    drop(file.cut(self.committed));
                }
                last.len = self.committed;
                self.rows -= self.open_rows;
                self.open_rows = 0;
                // What was synced before is not in doubt.
                self.suspect = self.synced < self.committed;
                return Err(error);
            }
            self.synced = last.len;
        }
        self.committed = last.len;
        self.open_rows = 0;
        Ok(())
    }

    /// Has the disk write what is committed. Where that fails, it is written to another segment.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let Some(last) = self.segments.back() else { return Ok(()) };
        if self.synced >= self.committed {
            return Ok(());
        }
        let number = last.number;
        if !self.suspect {
            let synced = match &self.writer {
                Some(file) => file.sync(),
                None => self.disk.append(&self.path(number)).and_then(|file| file.sync()),
            };
            match synced {
                Ok(()) => {
                    self.synced = self.committed;
                    return Ok(());
                }
                Err(error) => {
                    tracing::error!(%error, segment = number, "a sync failed; writing to another segment");
                    self.suspect = true;
                    self.writer = None;
                }
            }
        }
        self.write_again(number)
    }

    /// Writes what was not synced of the last segment to a new one.
    fn write_again(&mut self, number: u64) -> io::Result<()> {
        let (from, to) = (self.synced, self.committed);
        let mut file = self.disk.read(&self.path(number))?;
        file.seek(SeekFrom::Start(from))?;
        let mut again = Vec::new();
        file.take(to - from).read_to_end(&mut again)?;
        let (new, mut writer) = self.create()?;
        if let Err(error) = writer.write_all(&again).and_then(|()| writer.sync()) {
            drop(self.disk.remove(&self.path(new)));
            return Err(error);
        }
        let moved = |at: u64| at.saturating_sub(from);
        let Some(old) = self.segments.back_mut() else { return Ok(()) };
        let split = old.gaps.iter().position(|gap| gap.0 >= from).unwrap_or(old.gaps.len());
        let gaps = old.gaps.split_off(split);
        let gaps = gaps.into_iter().map(|gap| (moved(gap.0), moved(gap.1))).collect();
        let damaged = old.damaged;
        old.len = from;
        let len = again.len() as u64;
        self.moved.push((Place { segment: number, offset: from }, new));
        self.read = self.now_at(self.read);
        self.done = self.now_at(self.done);
        self.segments.push_back(Segment { number: new, len, gaps, damaged });
        self.writer = Some(writer);
        (self.committed, self.synced, self.suspect) = (len, len, false);
        Ok(())
    }

    /// Where a place is now, after what was written again.
    fn now_at(&self, mut place: Place) -> Place {
        for (from, segment) in &self.moved {
            if place.segment == from.segment && place.offset > from.offset {
                place = Place { segment: *segment, offset: place.offset - from.offset };
            }
        }
        place
    }

    /// Sees to it that there is a segment to write to. What is committed together stays in one.
    fn begin_if_full(&mut self) -> io::Result<()> {
        let (full, between) = self.segments.back().map_or((true, true), |last| {
            (last.len >= self.segment_bytes, last.len == self.committed)
        });
        if self.writer.is_some() && !(full && between) && !self.suspect {
            return Ok(());
        }
        if !between {
            // What was appended before is committed or gone first.
            return Err(io::Error::other("the segment cannot be written to any more"));
        }
        self.sync()?;
        if self.segments.back().is_some_and(|last| last.len < self.segment_bytes)
            && self.writer.is_some()
        {
            return Ok(());
        }
        let (number, file) = self.create()?;
        self.writer = Some(file);
        self.segments.push_back(Segment { number, len: 0, gaps: Vec::new(), damaged: false });
        (self.committed, self.synced, self.suspect) = (0, 0, false);
        Ok(())
    }

    /// A new file, whose name outlives a loss of power.
    fn create(&mut self) -> io::Result<(u64, OpenFile)> {
        for _ in 0..NAME_TRIES_MAX {
            let number = self.next_number;
            // After an error the name may be taken: the next try has another.
            self.next_number = self.next_number.saturating_add(1);
            match self.disk.create_new(&self.path(number)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    if let Err(error) = self.disk.sync_folder(&self.folder) {
                        drop(self.disk.remove(&self.path(number)));
                        return Err(error);
                    }
                    return Ok((number, file));
                }
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// The next message, and the place behind it, for [`Spool::finish`].
    pub(crate) fn next(&mut self) -> io::Result<Option<(Message, Place)>> {
        loop {
            let Some(at) =
                self.segments.iter().position(|segment| segment.number >= self.read.segment)
            else {
                return Ok(None);
            };
            let segment = &self.segments[at];
            if segment.number > self.read.segment {
                self.read = Place { segment: segment.number, offset: 0 };
            }
            let last = at + 1 == self.segments.len();
            let len = if last { self.committed } else { segment.len };
            if self.read.offset >= len {
                if last {
                    return Ok(None);
                }
                self.read = Place { segment: segment.number.saturating_add(1), offset: 0 };
                continue;
            }
            let offset = self.read.offset;
            if let Some(gap) = segment.gaps.iter().find(|gap| gap.0 <= offset && offset < gap.1) {
                self.read.offset = gap.1;
                continue;
            }
            let number = segment.number;
            match self.read_entry(number) {
                Ok((message, bytes)) => {
                    self.read.offset += bytes;
                    return Ok(Some((message, self.read)));
                }
                Err(error) if is_damage(&error) => self.pass_over(at, len)?,
                Err(error) => return Err(error),
            }
        }
    }

    fn read_entry(&mut self, number: u64) -> io::Result<(Message, u64)> {
        if self.reader.as_ref().is_none_or(|(open, _)| *open != number) {
            self.reader = Some((number, self.disk.read(&self.path(number))?));
        }
        let Some((_, file)) = &mut self.reader else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        file.seek(SeekFrom::Start(self.read.offset))?;
        entry::read(file)
    }

    /// Passes over what is no entry any more, up to the next one.
    fn pass_over(&mut self, at: usize, len: u64) -> io::Result<()> {
        self.reader = None;
        let Some(segment) = self.segments.get_mut(at) else { return Ok(()) };
        let path = self.folder.join(format!("{:012}.spool", segment.number));
        let start = self.read.offset;
        let found = scan::after(self.disk.read(&path)?, start, len)?;
        let bytes = found - start;
        tracing::error!(path = %path.display(), start, bytes, "an entry of the spool is damaged");
        segment.gaps.push((start, found));
        segment.gaps.sort_unstable();
        segment.damaged = true;
        self.damaged_bytes += bytes;
        self.read.offset = found;
        Ok(())
    }

    /// Reads again from what was not finished.
    pub(crate) fn rewind(&mut self) {
        self.read = self.done;
    }

    /// Everything up to `place` is published; `rows` of it were not known to be.
    pub(crate) fn finish(&mut self, place: Place, rows: u64) -> io::Result<()> {
        let place = self.now_at(place);
        self.done = place;
        self.rows = self.rows.saturating_sub(rows);
        self.moved.retain(|(from, _)| from.segment >= place.segment);
        self.note(place)?;
        while let Some(first) = self.segments.front() {
            let (number, len) = (first.number, first.len);
            let read = number < place.segment || (number == place.segment && place.offset >= len);
            let only = self.segments.len() == 1;
            let written = only && self.writer.is_some() && len < self.segment_bytes;
            if !read || written || (only && len > self.committed) {
                break;
            }
            if first.damaged {
                self.disk
                    .rename(&self.path(number), &self.path(number).with_extension("damaged"))?;
            } else {
                self.disk.remove(&self.path(number))?;
            }
            self.segments.pop_front();
            if self.segments.is_empty() {
                self.writer = None;
                (self.committed, self.synced, self.suspect) = (0, 0, false);
            }
        }
        Ok(())
    }

    /// What was passed over at the end counts as read.
    pub(crate) fn finish_all(&mut self) -> io::Result<()> {
        if self.rows > self.open_rows {
            let rows = self.rows - self.open_rows;
            tracing::error!(folder = %self.folder.display(), rows, "records of the spool are damaged");
        }
        self.rows = self.open_rows;
        let end = self.segments.back().map(|last| (last.number, self.committed));
        let Some((segment, offset)) = end else { return Ok(()) };
        self.finish(Place { segment, offset }, 0)
    }

    fn note(&self, place: Place) -> io::Result<()> {
        let temporary = self.folder.join("place.tmp");
        crate::disk::remove_if_there(&*self.disk, &temporary)?;
        self.disk.create_new(&temporary)?.write_all(place.text().as_bytes())?;
        self.disk.rename(&temporary, &self.folder.join("place"))
    }
}

/// Whether an error says that an entry is none, rather than that the disk does not answer.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::Other
    ) && error.raw_os_error().is_none()
}

#[cfg(test)]
mod tests;
