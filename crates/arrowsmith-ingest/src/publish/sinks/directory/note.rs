// SPDX-License-Identifier: Apache-2.0
//! The note of a part: for each whole message its number, where it ends, and a checksum.
//!
//! A line of a note is written when its message is, so that after the end of the process, or of the
//! power, a message counts exactly if it could be settled: not when the disk has some of its pages
//! only, nor when its number is that of one that a spool has too.

use std::io::{self, BufReader, Read};

use crate::disk::OpenFile;

/// Length of a line: end, number, checksum of the bytes up to the end, checksum of the line; little
/// endian.
pub(super) const LINE_BYTES: usize = 24;

/// A message in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it ends in the part.
    pub(super) end: u64,
    pub(super) sequence: u64,
    /// Of the bytes from the end of the message before it.
    pub(super) sum: u32,
}

impl Line {
    pub(super) fn write(&self) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        line[..8].copy_from_slice(&self.end.to_le_bytes());
        line[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        line[16..20].copy_from_slice(&self.sum.to_le_bytes());
        let sum = crc32c::crc32c(&line[..20]);
        line[20..].copy_from_slice(&sum.to_le_bytes());
        line
    }

    fn read(line: &[u8; LINE_BYTES]) -> Option<Self> {
        let (end, rest) = line.split_first_chunk::<8>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let fits = u32::from_le_bytes(*rest.first_chunk::<4>()?) == crc32c::crc32c(&line[..20]);
        fits.then_some(Self {
            end: u64::from_le_bytes(*end),
            sequence: u64::from_le_bytes(*sequence),
            sum: u32::from_le_bytes(*sum),
        })
    }
}

/// The lines of a note up to the first that is torn, or whose message is not in the part as noted.
pub(super) fn verified(note: OpenFile, part: OpenFile) -> io::Result<Vec<Line>> {
    let bytes = part.size()?;
    let mut note = BufReader::new(note);
    let mut part = BufReader::with_capacity(1 << 20, part);
    let mut lines = Vec::new();
    let (mut at, mut block) = (0, vec![0; 64 << 10]);
    loop {
        let mut line = [0; LINE_BYTES];
        match note.read_exact(&mut line) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(lines),
            result => result?,
        }
        let Some(line) = Line::read(&line).filter(|line| at <= line.end && line.end <= bytes)
        else {
            return Ok(lines);
        };
        let mut sum = 0;
        while at < line.end {
            let len = usize::try_from(line.end - at).unwrap_or(usize::MAX).min(block.len());
            part.read_exact(&mut block[..len])?;
            sum = crc32c::crc32c_append(sum, &block[..len]);
            at += len as u64;
        }
        if sum != line.sum {
            return Ok(lines);
        }
        lines.push(line);
    }
}
