// SPDX-License-Identifier: Apache-2.0
//! How far a file was read, and how the file is recognized.
//!
//! An inode number is reused when its file is gone, and a file may be rewritten from its start. So
//! a place also keeps when the file was created, and hashes of its first bytes and of those before
//! the place: if any of these differ, the file has other content and is read from its start.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arrowsmith_core::hash::fnv1a;
use arrowsmith_core::whole;
use serde::{Deserialize, Serialize};

/// Bytes at the start, and before the place, by which a file is recognized.
const WINDOW_BYTES: u64 = 1 << 10;

/// Maximum size of the file of places, in bytes: millions of followed files.
const STATE_BYTES_MAX: u64 = 1 << 30;

/// The places of files, by their numbers in the file system.
#[derive(Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Places(pub(crate) HashMap<String, Place>);

/// How far a file was read.
#[derive(Debug, Default, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) line: u64,
    /// The name that it had last.
    pub(crate) path: Option<PathBuf>,
    /// When it was created, in nanoseconds since 1970, if the file system reports it.
    created_ns: Option<u64>,
    head: Option<Mark>,
    tail: Option<Mark>,
}

/// What some bytes were.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
struct Mark {
    bytes: u64,
    hash: u64,
}

impl Mark {
    fn of(text: &[u8]) -> Self {
        Self { bytes: text.len() as u64, hash: fnv1a(text.iter().copied()) }
    }
}

/// What was read of a file at its start, and last.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    head: Vec<u8>,
    tail: Vec<u8>,
    offset: u64,
}

fn read_at(file: &mut (impl Read + Seek), offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok(text)
}

impl Known {
    /// Recognizes a file by its place; `None` if the content is another.
    pub(crate) fn by(place: &Place, file: &mut (impl Read + Seek)) -> io::Result<Option<Self>> {
        let window = place.offset.min(WINDOW_BYTES);
        let end = file.seek(SeekFrom::End(0))?;
        if place.offset > end {
            return Ok(None);
        }
        let head = read_at(file, 0, window)?;
        let tail = read_at(file, place.offset - window, window)?;
        // Places of an earlier version have no marks.
        let is = |mark: Option<Mark>, text: &[u8]| mark.is_none_or(|mark| mark == Mark::of(text));
        let whole = tail.len() as u64 == window;
        let same = whole && is(place.head, &head) && is(place.tail, &tail);
        Ok(same.then_some(Self { head, tail, offset: place.offset }))
    }

    /// Whether the file still has what was read of it.
    pub(crate) fn is_in(&self, file: &mut (impl Read + Seek)) -> io::Result<bool> {
        let tail_at = self.offset - self.tail.len() as u64;
        Ok(read_at(file, 0, self.head.len() as u64)? == self.head
            && read_at(file, tail_at, self.tail.len() as u64)? == self.tail)
    }

    /// Notes what was read next.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let window = usize::try_from(WINDOW_BYTES).unwrap_or(usize::MAX);
        let more = text.len().min(window - self.head.len().min(window));
        self.head.extend_from_slice(&text[..more]);
        let last = &text[text.len() - text.len().min(window)..];
        self.tail.extend_from_slice(last);
        self.tail.drain(..self.tail.len() - self.tail.len().min(window));
        self.offset += text.len() as u64;
    }

    /// The place after what was read.
    pub(crate) fn place(&self, line: u64, path: &Path, meta: &Metadata) -> Place {
        Place {
            offset: self.offset,
            line,
            path: Some(path.to_owned()),
            created_ns: created_ns(meta),
            head: Some(Mark::of(&self.head)),
            tail: Some(Mark::of(&self.tail)),
        }
    }
}

fn created_ns(meta: &Metadata) -> Option<u64> {
    let since = meta.created().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

impl Place {
    /// Whether it may be that of a file with this creation time.
    pub(crate) fn may_be_of(&self, meta: &Metadata) -> bool {
        let born = (self.created_ns, created_ns(meta));
        self.offset <= meta.len() && !matches!(born, (Some(then), Some(now)) if then != now)
    }

    /// The line of the next byte, from 1: never more than there can be.
    pub(crate) fn next_line(&self) -> u64 {
        self.line.clamp(1, self.offset.saturating_add(1))
    }

    /// Whether its file is gone for good: another one has its name, or there is none in the folder.
    /// A folder that is missing may come back.
    pub(crate) fn is_gone(&self, key: &str) -> bool {
        let Some(path) = &self.path else { return true };
        match fs::metadata(path) {
            Ok(meta) => crate::files::identity(path, &meta).is_ok_and(|found| found != key),
            Err(error) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                error.kind() == io::ErrorKind::NotFound
                    && folder.is_none_or(|folder| folder.is_dir())
            }
        }
    }
}

impl Places {
    /// Those of a file; none where it is none of ours.
    pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    pub(crate) fn load(state: &Path) -> Self {
        match whole::read(state, STATE_BYTES_MAX) {
            Ok(text) => Self::parse(&text).unwrap_or_else(|error| {
                tracing::error!(path = %state.display(), %error, "places are lost; reading from the start");
                Self::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                tracing::error!(path = %state.display(), %error, "places are lost; reading from the start");
                Self::default()
            }
        }
    }

    pub(crate) fn store(&self, state: &Path) {
        let temporary = state.with_extension("tmp");
        let written = serde_json::to_vec(self)
            .map_err(io::Error::other)
            .and_then(|text| fs::write(&temporary, text))
            .and_then(|()| fs::rename(&temporary, state));
        if let Err(error) = written {
            tracing::error!(path = %state.display(), %error, "places cannot be kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn known(text: &[u8]) -> Known {
        let mut known = Known::default();
        for part in text.chunks(700) {
            known.add(part);
        }
        known
    }

    fn place(known: &Known) -> Place {
        let meta = fs::metadata(".").unwrap();
        known.place(1, Path::new("x"), &meta)
    }

    #[test]
    fn a_text_is_known_again_and_no_other_one_is() {
        for len in [0, 1, 10, 1023, 1024, 1025, 5000] {
            let text: Vec<u8> =
                (0..len).map(|n: u32| n.to_le_bytes()[usize::from(n.is_multiple_of(3))]).collect();
            let known = known(&text);
            let place = place(&known);
            let mut longer = [&text[..], b"more"].concat();
            assert!(known.is_in(&mut Cursor::new(&longer)).unwrap());
            assert_eq!(Known::by(&place, &mut Cursor::new(&longer)).unwrap(), Some(known.clone()));
            for at in [0, len / 2, len.saturating_sub(1)] {
                // What is neither at the start nor before the place is not looked at.
                let at = at as usize;
                if text.is_empty() || (at >= 1024 && at + 1024 < text.len()) {
                    continue;
                }
                longer[at] ^= 1;
                assert!(!known.is_in(&mut Cursor::new(&longer)).unwrap(), "{len} {at}");
                assert_eq!(Known::by(&place, &mut Cursor::new(&longer)).unwrap(), None);
                longer[at] ^= 1;
            }
            if len > 0 {
                let shorter = &text[..text.len() - 1];
                assert!(!known.is_in(&mut Cursor::new(shorter)).unwrap());
                assert_eq!(Known::by(&place, &mut Cursor::new(shorter)).unwrap(), None);
            }
        }
    }

    #[test]
    fn places_of_an_earlier_version_are_read() {
        let places = Places::parse(br#"{"1:2":{"offset":4,"line":3}}"#).unwrap();
        let place = &places.0["1:2"];
        assert_eq!((place.offset, place.next_line()), (4, 3));
        assert!(Known::by(place, &mut Cursor::new(b"a\nb\n")).unwrap().is_some());
        assert!(Known::by(place, &mut Cursor::new(b"a\nb")).unwrap().is_none());
        assert!(Places::parse(b"[]").is_err() && Places::parse(b"{\"a\":1}").is_err());
    }
}
