// SPDX-License-Identifier: Apache-2.0
//! Deletion vectors, read: which rows of a file have been deleted, as tables of Delta and Iceberg
//! store it.
//!
//! A magic number and a 64-bit Roaring bitmap in its
//! [portable form](https://github.com/RoaringBitmap/RoaringFormatSpec), by the
//! [protocol of Delta](https://github.com/delta-io/delta/blob/master/PROTOCOL.md). Written by
//! others: every count is compared with the bytes that are there.

use std::ops::Range;
use std::sync::Arc;

/// Rows of a file, counted from 0: ascending ranges with gaps between them.
pub type Rows = Arc<[Range<u64>]>;

/// The first bytes of a vector.
const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];

/// Of a bitmap without runs, whose number of containers follows.
const COOKIE_NO_RUNS: u32 = 12_346;

/// Of a bitmap with runs, in the lower half.
const COOKIE: u32 = 12_347;

/// From this number of containers on, a bitmap with runs has their offsets.
const OFFSETS_FROM: usize = 4;

/// Up to this number of values, a container lists them.
const LISTED_MAX: u32 = 4_096;

/// Bytes of a container of bits.
const BITS_BYTES: usize = 8_192;

/// Maximum number of ranges: 256 MiB of memory.
const RANGES_MAX: usize = 16 << 20;

/// The rows of a vector.
///
/// # Errors
/// What is wrong with the bytes.
pub fn parse(bytes: &[u8]) -> Result<Rows, String> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or("no deletion vector: another magic number")?;
    let mut input = Input { rest };
    let mut found = Found::default();
    let bitmaps = u64::from_le_bytes(input.array()?);
    let mut last = None;
    for _ in 0..bitmaps {
        let high = input.u32()?;
        if last.replace(high).is_some_and(|last| last >= high) {
            return Err("keys of bitmaps that do not ascend".to_owned());
        }
        bitmap(&mut input, u64::from(high) << 32, &mut found)?;
    }
    match input.rest {
        [] => Ok(found.ranges.into()),
        rest => Err(format!("{} bytes after the bitmaps", rest.len())),
    }
}

/// The rows of a vector in a file, and its size: there it is between its size and its CRC-32.
///
/// # Errors
/// As [`parse`], and another checksum.
pub fn parse_stored(bytes: &[u8]) -> Result<(usize, Rows), String> {
    let mut input = Input { rest: bytes };
    let size = u32::from_be_bytes(input.array()?) as usize;
    let vector = input.take(size)?;
    let mut crc = flate2::Crc::new();
    crc.update(vector);
    match crc.sum() == u32::from_be_bytes(input.array()?) {
        true => Ok((size, parse(vector)?)),
        false => Err("a deletion vector with another checksum than is stored".to_owned()),
    }
}

/// The number of rows.
#[must_use]
pub fn count(rows: &[Range<u64>]) -> u64 {
    rows.iter().map(|range| range.end - range.start).sum()
}

/// A 32-bit bitmap, whose values begin at `base`.
fn bitmap(input: &mut Input<'_>, base: u64, found: &mut Found) -> Result<(), String> {
    let cookie = input.u32()?;
    let (containers, runs) = match (cookie, cookie & 0xffff) {
        (COOKIE_NO_RUNS, _) => (input.u32()? as usize, None),
        (_, COOKIE) => {
            let containers = (cookie >> 16) as usize + 1;
            (containers, Some(input.take(containers.div_ceil(8))?))
        }
        _ => return Err(format!("no bitmap: it begins with {cookie:#x}")),
    };
    let header = input.take(containers.checked_mul(4).ok_or("too many containers")?)?;
    if runs.is_none() || containers >= OFFSETS_FROM {
        // Containers are one after another.
        input.take(containers * 4)?;
    }
    let mut last = None;
    for (index, entry) in header.chunks_exact(4).enumerate() {
        let key = u16::from_le_bytes([entry[0], entry[1]]);
        let values = u32::from(u16::from_le_bytes([entry[2], entry[3]])) + 1;
        if last.replace(key).is_some_and(|last| last >= key) {
            return Err("keys of containers that do not ascend".to_owned());
        }
        let base = base + (u64::from(key) << 16);
        let is_run = runs.is_some_and(|runs| runs[index / 8] >> (index % 8) & 1 == 1);
        let before = found.rows;
        if is_run {
            let count = usize::from(input.u16()?);
            for run in input.take(count * 4)?.chunks_exact(4) {
                let start = u64::from(u16::from_le_bytes([run[0], run[1]]));
                let end = start + u64::from(u16::from_le_bytes([run[2], run[3]])) + 1;
                if end > 1 << 16 {
                    return Err("a run beyond its container".to_owned());
                }
                found.push(base + start..base + end)?;
            }
        } else if values <= LISTED_MAX {
            for value in input.take(values as usize * 2)?.chunks_exact(2) {
                let at = base + u64::from(u16::from_le_bytes([value[0], value[1]]));
                found.push(at..at + 1)?;
            }
        } else {
            bits(input.take(BITS_BYTES)?, base, found)?;
        }
        if found.rows - before != u64::from(values) {
            return Err("a container with another number of values than is stored".to_owned());
        }
    }
    Ok(())
}

/// A container of bits.
fn bits(bytes: &[u8], base: u64, found: &mut Found) -> Result<(), String> {
    for (word, bytes) in (0_u64..).zip(bytes.as_chunks().0) {
        let mut left = u64::from_le_bytes(*bytes);
        while left != 0 {
            let start = left.trailing_zeros();
            let ones = (!(left >> start)).trailing_zeros().min(64 - start);
            let at = base + word * 64 + u64::from(start);
            found.push(at..at + u64::from(ones))?;
            left &= u64::MAX.checked_shl(start + ones).unwrap_or(0);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Found {
    ranges: Vec<Range<u64>>,
    /// Their rows.
    rows: u64,
}

impl Found {
    fn push(&mut self, range: Range<u64>) -> Result<(), String> {
        self.rows += range.end - range.start;
        let is_full = self.ranges.len() >= RANGES_MAX;
        match self.ranges.last_mut() {
            Some(last) if last.end > range.start => Err("values that do not ascend".to_owned()),
            Some(last) if last.end == range.start => {
                last.end = range.end;
                Ok(())
            }
            _ if is_full => Err(format!("more than {RANGES_MAX} ranges of deleted rows")),
            _ => {
                self.ranges.push(range);
                Ok(())
            }
        }
    }
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or("it ends early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or("it ends early")?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u16(&mut self) -> Result<u16, String> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(hex: &str) -> Vec<u8> {
        let digit = |index: usize| u8::from_str_radix(&hex[index..index + 2], 16).unwrap();
        let bytes = (0..hex.len()).step_by(2).map(digit);
        MAGIC.into_iter().chain(bytes).collect()
    }

    /// Bitmaps of CRoaring (pyroaring 1.2.0), and what is in them. Containers of bits are in the
    /// tables of `testdata/delta`.
    const KNOWN: [(&str, &[Range<u64>]); 3] = [
        ("0000000000000000", &[]),
        // Lists, of three containers and two bitmaps.
        (
            "0200000000000000000000003a3000000200000000000300010000001800000020000000000002000300\
             04007011020000003a3000000100000000000000100000000000",
            &[0..1, 2..5, 70_000..70_001, 8_589_934_592..8_589_934_593],
        ),
        // Runs, the second of which goes on in the next container.
        (
            "0200000000000000000000003b3001000300002c0101000300020005002601faff050001000000030001\
             0000003a3000000100000000000000100000000000",
            &[5..300, 65_530..65_540, 4_294_967_296..4_294_967_297],
        ),
    ];

    #[test]
    fn vectors_are_those_of_croaring() {
        for (hex, rows) in KNOWN {
            let found = parse(&vector(hex)).unwrap();
            assert_eq!(*found, *rows);
            assert_eq!(
                count(&found),
                rows.iter().map(|range| range.end - range.start).sum::<u64>()
            );
        }
    }

    #[test]
    fn any_bytes_are_answered() {
        for (hex, _) in KNOWN {
            let sound = vector(hex);
            for at in 0..sound.len() {
                assert!(parse(&sound[..at]).is_err());
                for bit in 0..8 {
                    let mut broken = sound.clone();
                    broken[at] ^= 1 << bit;
                    if let Ok(found) = parse(&broken) {
                        assert!(found.iter().all(|range| range.start < range.end));
                        assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start));
                    }
                }
            }
            let more = [&sound[..], b"x"].concat();
            assert_eq!(parse(&more).unwrap_err(), "1 bytes after the bitmaps");
            let size = u32::try_from(sound.len()).unwrap().to_be_bytes();
            let mut crc = flate2::Crc::new();
            crc.update(&sound);
            let mut stored = [&size[..], &sound, &crc.sum().to_be_bytes(), b"the next"].concat();
            assert_eq!(parse_stored(&stored).unwrap().0, sound.len());
            stored[size.len() + sound.len()] ^= 1;
            assert!(parse_stored(&stored).unwrap_err().contains("checksum"));
            parse_stored(&stored[..sound.len()]).unwrap_err();
        }
    }

    #[test]
    fn bits_are_ranges() {
        let mut bytes = vec![0; BITS_BYTES];
        for row in (0..5_000).chain([5_001]).chain(65_472..65_536) {
            bytes[row / 8] |= 1 << (row % 8);
        }
        let mut found = Found::default();
        bits(&bytes, 1 << 16, &mut found).unwrap();
        let base = 1 << 16;
        let expected = [0..5_000, 5_001..5_002, 65_472..65_536];
        let expected = expected.map(|range: Range<u64>| base + range.start..base + range.end);
        assert_eq!((&found.ranges[..], found.rows), (&expected[..], 5_065));
        bits(&bytes, 0, &mut found).unwrap_err();
    }
}
