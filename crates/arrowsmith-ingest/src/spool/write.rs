// SPDX-License-Identifier: Apache-2.0
//! Appending to a spool: entries, commits, and syncs that fail.

use std::io::{self, Read, Seek, SeekFrom, Write};

use arrowsmith_publish::Message;

use super::{Place, Segment, Spool, entry};
use crate::disk::OpenFile;

/// Maximum number of names that are tried for a segment.
const NAME_TRIES_MAX: u32 = 1000;

impl Spool {
    /// Appends a message. It counts when it is committed.
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

    /// Commits what was appended; with `durable` it is synced to disk. After an error nothing of it
    /// is in the spool, and it has to be appended again.
    pub(crate) fn commit(&mut self, durable: bool) -> io::Result<()> {
        let Some(last) = self.segments.back_mut() else { return Ok(()) };
        let sync = durable && last.len > self.synced;
        let stored = match &self.writer {
            Some(file) if !sync => file.check_name(),
            Some(file) if !self.suspect => file.sync().and_then(|()| file.check_name()),
            Some(_) => Err(io::Error::other("an earlier sync of the segment failed")),
            None if !sync => Ok(()),
            // What was appended last has failed, and the file may be longer than it is to be.
            None => self
                .disk
                .append(&self.folder.join(format!("{:012}.spool", last.number)))
                .and_then(|file| file.sync()),
        };
        if let Err(error) = stored {
            // It is unknown which of the pages are on the disk, or the file is gone: they are
            // written again, to another file.
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
        if sync {
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
    pub(super) fn now_at(&self, mut place: Place) -> Place {
        for (from, segment) in &self.moved {
            if place.segment == from.segment && place.offset > from.offset {
                place = Place { segment: *segment, offset: place.offset - from.offset };
            }
        }
        place
    }

    /// Ensures that there is a segment to write to. What is committed together stays in one.
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
}
