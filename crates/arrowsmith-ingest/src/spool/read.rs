// SPDX-License-Identifier: Apache-2.0
//! Reading a spool from where all is published, and noting what is.

use std::io::{self, Seek, SeekFrom, Write};

use arrowsmith_publish::Message;

use super::{Place, Spool, entry, scan};
use crate::disk::remove_if_there;

impl Spool {
    /// The next message, and the place after it, for [`Spool::finish`].
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

    /// Skips a damaged entry, up to the next one.
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

    /// Damage at the end counts as read.
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
        remove_if_there(&*self.disk, &temporary)?;
        self.disk.create_new(&temporary)?.write_all(place.text().as_bytes())?;
        self.disk.rename(&temporary, &self.folder.join("place"))
    }
}

/// Whether an error means that an entry is damaged, not that the disk failed.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::Other
    ) && error.raw_os_error().is_none()
}
