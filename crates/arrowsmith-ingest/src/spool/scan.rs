// SPDX-License-Identifier: Apache-2.0
//! Scans a segment: its entries, and the damage between them.
//!
//! A torn end is what a killed process leaves, and nothing of it was settled. Damage before whole
//! entries is another matter: it is skipped up to the next entry with a valid checksum, counted,
//! and kept for inspection.

use std::collections::HashSet;
use std::io::{self, BufReader, Read, Seek};

use super::entry::{HEADER_BYTES, Header, MARK_BYTES, Sum};
use crate::disk::OpenFile;

/// Bytes of an entry that contain its number.
const NUMBER_BYTES_MAX: usize = 4 << 10;

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 64 << 10;

/// Maximum bytes hashed in search of an entry, for each byte of a segment: a bound for damage that
/// looks like entries everywhere.
const SEARCH_COST_MAX: u64 = 8;

/// Maximum number of entries of earlier segments that are remembered, to detect duplicates.
const KNOWN_MAX: usize = 1 << 20;

/// What is in a segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Where its last entry ends.
    pub(super) len: u64,
    /// Rows of the entries that end after the given place.
    pub(super) rows: u64,
    /// What is skipped between entries: damage, and entries that an earlier segment has, too.
    pub(super) gaps: Vec<(u64, u64)>,
    /// Bytes of damage among them, and after the last entry if that does not look like a torn end.
    pub(super) damaged: u64,
    /// The start of the entry that contains the place, or the place.
    pub(super) from: u64,
    /// Highest number of an entry.
    pub(super) last: u64,
}

/// Numbers of the entries so far, so that one that was written again is recognized.
#[derive(Debug, Default)]
pub(super) struct Known(HashSet<u64>);

impl Known {
    /// Whether an entry of this number is new.
    fn add(&mut self, sequence: u64) -> bool {
        if self.0.len() >= KNOWN_MAX {
            // Only neighbours hold the same entry: it is written again at once.
            self.0.clear();
        }
        self.0.insert(sequence)
    }
}

struct Entry {
    end: u64,
    rows: u64,
    sequence: u64,
}

/// Looks through a segment; `from` is the place up to which all is published.
pub(super) fn scan(file: OpenFile, from: u64, known: &mut Known) -> io::Result<Scan> {
    let bytes = file.size()?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut found = Scan { from, ..Scan::default() };
    let mut at = 0;
    while let Some((start, entry)) = next(&mut file, at, bytes)? {
        if start > at {
            found.damaged += start - at;
            found.gap(at, start);
        }
        at = entry.end;
        found.last = found.last.max(entry.sequence);
        if !known.add(entry.sequence) {
            found.gap(start, at);
        } else if at > from {
            found.rows += entry.rows;
        }
        if start < from && from < at {
            found.from = start;
        }
        found.len = at;
    }
    if bytes > at && !is_torn(&mut file, at, bytes)? {
        found.damaged += bytes - at;
    }
    Ok(found)
}

impl Scan {
    fn gap(&mut self, start: u64, end: u64) {
        match self.gaps.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.gaps.push((start, end)),
        }
    }
}

/// The next entry from `at` on.
fn next(file: &mut BufReader<OpenFile>, at: u64, bytes: u64) -> io::Result<Option<(u64, Entry)>> {
    let mut cost = 0;
    let mut from = at;
    while let Some(start) = mark(file, from, bytes)? {
        if let Some(entry) = entry(file, start, bytes, &mut cost)? {
            return Ok(Some((start, entry)));
        }
        if cost > bytes.saturating_mul(SEARCH_COST_MAX) {
            break;
        }
        from = start + 1;
    }
    Ok(None)
}

/// Where the next mark of an entry is.
fn mark(file: &mut BufReader<OpenFile>, from: u64, bytes: u64) -> io::Result<Option<u64>> {
    let mut at = from;
    let mut block = vec![0; BLOCK_BYTES];
    // At the place itself as a rule: no block is read then.
    let mut want = MARK_BYTES.len();
    while at + HEADER_BYTES as u64 <= bytes {
        go(file, at)?;
        let len = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(want);
        file.read_exact(&mut block[..len])?;
        if let Some(found) = memchr::memmem::find(&block[..len], &MARK_BYTES) {
            let start = at + found as u64;
            return Ok((start + HEADER_BYTES as u64 <= bytes).then_some(start));
        }
        at += (len + 1 - MARK_BYTES.len().min(len)) as u64;
        want = BLOCK_BYTES;
    }
    Ok(None)
}

fn go(file: &mut BufReader<OpenFile>, at: u64) -> io::Result<()> {
    let now = file.stream_position()?;
    file.seek_relative(at.cast_signed().wrapping_sub(now.cast_signed()))
}

/// The entry at a place, if its checksum fits.
fn entry(
    file: &mut BufReader<OpenFile>,
    start: u64,
    bytes: u64,
    cost: &mut u64,
) -> io::Result<Option<Entry>> {
    go(file, start)?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let Some(header) = Header::parse(&header) else { return Ok(None) };
    let content = start + HEADER_BYTES as u64;
    let Some(end) = content.checked_add(header.len).filter(|&end| end <= bytes) else {
        return Ok(None);
    };
    *cost += header.len;
    let mut sum = Sum::begin(header.rows);
    let mut block = vec![0; BLOCK_BYTES];
    let (mut left, mut sequence) = (header.len, None);
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES);
        file.read_exact(&mut block[..len])?;
        sum.add(&block[..len]);
        if left == header.len {
            sequence = number(&block[..len.min(NUMBER_BYTES_MAX)]);
        }
        left -= len as u64;
    }
    Ok(match sequence {
        Some(sequence) if sum.fits(&header) => Some(Entry { end, rows: header.rows, sequence }),
        _ => None,
    })
}

/// The number in what is known of a message.
fn number(content: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"sequence\":";
    let start = memchr::memmem::find(content, KEY)? + KEY.len();
    let digits = content[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&content[start..start + digits]).ok()?.parse().ok()
}

/// Whether the bytes after the last entry are one that was not written to its end.
fn is_torn(file: &mut BufReader<OpenFile>, at: u64, bytes: u64) -> io::Result<bool> {
    if bytes - at < HEADER_BYTES as u64 {
        return Ok(true);
    }
    go(file, at)?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let end = Header::parse(&header).map(|known| at + HEADER_BYTES as u64 + known.len);
    Ok(end.is_some_and(|end| end > bytes))
}

/// Where the next entry after `start` begins, or `len`.
pub(super) fn after(file: OpenFile, start: u64, len: u64) -> io::Result<u64> {
    let bytes = file.size()?.min(len);
    let mut file = BufReader::with_capacity(1 << 20, file);
    let found = next(&mut file, start + 1, bytes)?;
    Ok(found.map_or(len, |(start, _)| start))
}
