// SPDX-License-Identifier: Apache-2.0
//! The metadata and the value of a VARIANT → one JSON text, as [`super::encode`] makes them or any
//! other writer does, but for shredded ones.
//!
//! Keys are in the order of their values, as a text had them. What JSON does not have is written as
//! in other columns: times and dates are ISO 8601, binary is base64, NaN and infinities are null.

use std::fmt::Debug;
use std::io::Write;

use arrow_array::temporal_conversions::{
    date32_to_datetime, time64us_to_time, timestamp_ns_to_datetime, timestamp_us_to_datetime,
};
use arrow_cast::base64::{BASE64_STANDARD, Engine};
use serde::Serialize;

use super::encode::DEPTH_MAX;

/// Maximum text of the VARIANT values of a batch.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 30;

/// Why there is no more.
pub(super) const TOO_LONG: &str = "more than 1 GiB of JSON text in one batch: make batches smaller";

/// Why bytes are not VARIANT.
const SHORT: &str = "a VARIANT is shorter than it says";

/// The keys of the objects in a value.
pub(super) struct Names<'a> {
    /// The offsets of the names.
    offsets: &'a [u8],
    width: usize,
    bytes: &'a [u8],
}

/// A number of `width` bytes, the `index`th of several.
fn number(bytes: &[u8], index: usize, width: usize) -> Result<usize, &'static str> {
    let bytes = index.checked_mul(width).and_then(|start| bytes.get(start..)?.get(..width));
    let number =
        bytes.ok_or(SHORT)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    usize::try_from(number).map_err(|_| SHORT)
}

/// The first `count` numbers of `width` bytes, and what comes after them.
fn split(bytes: &[u8], count: usize, width: usize) -> Result<(&[u8], &[u8]), &'static str> {
    count.checked_mul(width).and_then(|len| bytes.split_at_checked(len)).ok_or(SHORT)
}

/// The first bytes of a value.
fn take<const N: usize>(bytes: &[u8]) -> Result<[u8; N], &'static str> {
    bytes.first_chunk().copied().ok_or(SHORT)
}

fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    json(std::str::from_utf8(bytes).map_err(|_| "a string of a VARIANT is not UTF-8")?, out)
}

/// A string or a number; one that is not finite is null.
pub(super) fn json(
    value: &(impl Serialize + ?Sized),
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    serde_json::to_writer(out, value).map_err(|_| "a value of a VARIANT has no form in JSON")
}

/// A time or date in the form of ISO 8601, which chrono's is for people who debug.
fn time(time: Option<impl Debug>, zone: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let time = time.ok_or("a time of a VARIANT is beyond the calendar")?;
    write!(out, "\"{time:?}{zone}\"").map_err(|_| SHORT)
}

pub(super) fn decimal(unscaled: i128, scale: i8, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let scale = usize::try_from(scale).ok().filter(|scale| *scale <= 38);
    let scale = scale.ok_or("a decimal of a VARIANT has more than 38 digits")?;
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    write!(out, "{sign}{whole}{point}{fraction}").map_err(|_| SHORT)
}

/// Days since 1970.
pub(super) fn date(days: i32, out: &mut Vec<u8>) -> Result<(), &'static str> {
    time(date32_to_datetime(days).map(|days| days.date()), "", out)
}

/// Microseconds since midnight.
pub(super) fn time_of_day(count: i64, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let is_day = (0..86_400_000_000).contains(&count);
    time(is_day.then(|| time64us_to_time(count)).flatten(), "", out)
}

/// Microseconds since 1970.
pub(super) fn microseconds(count: i64, zone: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    time(timestamp_us_to_datetime(count), zone, out)
}

/// Nanoseconds since 1970.
pub(super) fn nanoseconds(count: i64, zone: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    time(timestamp_ns_to_datetime(count), zone, out)
}

pub(super) fn uuid(id: [u8; 16], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let hex = format!("{:032x}", u128::from_be_bytes(id));
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    json(&parts.join("-"), out)
}

pub(super) fn base64(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    json(&BASE64_STANDARD.encode(bytes), out)
}

impl<'a> Names<'a> {
    /// Of the metadata of a VARIANT.
    pub(super) fn new(metadata: &'a [u8]) -> Result<Self, &'static str> {
        let (header, rest) = metadata.split_first().ok_or(SHORT)?;
        if header & 0x0f != 1 {
            return Err("a VARIANT of another version than 1");
        }
        let width = usize::from(header >> 6) + 1;
        let count = number(rest, 0, width)?;
        let (_, rest) = split(rest, 1, width)?;
        let (offsets, bytes) = split(rest, count.checked_add(1).ok_or(SHORT)?, width)?;
        Ok(Self { offsets, width, bytes })
    }

    fn name(&self, id: usize) -> Result<&'a [u8], &'static str> {
        let start = number(self.offsets, id, self.width)?;
        let end = number(self.offsets, id.checked_add(1).ok_or(SHORT)?, self.width)?;
        self.bytes.get(start..end).ok_or(SHORT)
    }

    /// Appends the value that bytes start with; its length.
    ///
    /// # Errors
    /// Why the bytes are not VARIANT.
    pub(super) fn value(
        &self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<usize, &'static str> {
        if depth > DEPTH_MAX {
            return Err("nested more than 1000 times");
        }
        let (first, rest) = bytes.split_first().ok_or(SHORT)?;
        let header = first >> 2;
        let len = match first & 3 {
            0 => Self::primitive(header, rest, out)?,
            1 => {
                text(rest.get(..usize::from(header)).ok_or(SHORT)?, out)?;
                usize::from(header)
            }
            2 => {
                out.push(b'{');
                let (_, len) = self.object(header, rest, &|_| false, out, depth)?;
                out.push(b'}');
                len
            }
            _ => self.array(header, rest, out, depth)?,
        };
        Ok(1 + len)
    }

    fn primitive(kind: u8, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, &'static str> {
        match kind {
            0 => json(&(), out).map(|()| 0),
            1 => json(&true, out).map(|()| 0),
            2 => json(&false, out).map(|()| 0),
            3 => json(&i8::from_le_bytes(take(rest)?), out).map(|()| 1),
            4 => json(&i16::from_le_bytes(take(rest)?), out).map(|()| 2),
            5 => json(&i32::from_le_bytes(take(rest)?), out).map(|()| 4),
            6 => json(&i64::from_le_bytes(take(rest)?), out).map(|()| 8),
            7 => json(&f64::from_le_bytes(take(rest)?), out).map(|()| 8),
            8..=10 => {
                let (scale, unscaled) = rest.split_first().ok_or(SHORT)?;
                let (unscaled, len) = match kind {
                    8 => (i32::from_le_bytes(take(unscaled)?).into(), 4),
                    9 => (i64::from_le_bytes(take(unscaled)?).into(), 8),
                    _ => (i128::from_le_bytes(take(unscaled)?), 16),
                };
                let scale = i8::try_from(*scale).unwrap_or(i8::MAX);
                decimal(unscaled, scale, out).map(|()| 1 + len)
            }
            11 => date(i32::from_le_bytes(take(rest)?), out).map(|()| 4),
            12 => microseconds(i64::from_le_bytes(take(rest)?), "Z", out).map(|()| 8),
            13 => microseconds(i64::from_le_bytes(take(rest)?), "", out).map(|()| 8),
            18 => nanoseconds(i64::from_le_bytes(take(rest)?), "Z", out).map(|()| 8),
            19 => nanoseconds(i64::from_le_bytes(take(rest)?), "", out).map(|()| 8),
            14 => json(&f32::from_le_bytes(take(rest)?), out).map(|()| 4),
            15 | 16 => {
                let len = number(rest, 0, 4)?;
                let bytes = rest.get(4..).and_then(|rest| rest.get(..len)).ok_or(SHORT)?;
                match kind {
                    15 => base64(bytes, out)?,
                    _ => text(bytes, out)?,
                }
                Ok(4 + len)
            }
            17 => time_of_day(i64::from_le_bytes(take(rest)?), out).map(|()| 8),
            20 => uuid(take(rest)?, out).map(|()| 16),
            _ => Err("a VARIANT has a type that is not known"),
        }
    }

    /// Appends the fields of an object, without its brackets, and returns their number; one whose
    /// key is taken is an error.
    pub(super) fn fields(
        &self,
        bytes: &[u8],
        is_taken: impl Fn(&[u8]) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<usize, &'static str> {
        match bytes.split_first() {
            Some((first, rest)) if first & 3 == 2 => {
                Ok(self.object(first >> 2, rest, &is_taken, out, 0)?.0)
            }
            _ => Err("a shredded VARIANT has two values"),
        }
    }

    /// The number of fields, and of bytes after the first.
    fn object(
        &self,
        header: u8,
        rest: &[u8],
        is_taken: &dyn Fn(&[u8]) -> bool,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(usize, usize), &'static str> {
        let (offset_width, id_width) =
            (usize::from(header & 3) + 1, usize::from(header >> 2 & 3) + 1);
        let count_width = if header >> 4 & 1 == 1 { 4 } else { 1 };
        let count = number(rest, 0, count_width)?;
        let (_, after) = split(rest, 1, count_width)?;
        let (ids, after) = split(after, count, id_width)?;
        let (offsets, values) = split(after, count + 1, offset_width)?;
        let len = number(offsets, count, offset_width)?;
        // Bounded: by the bytes of the ids.
        let mut fields = Vec::with_capacity(count);
        for field in 0..count {
            let name = self.name(number(ids, field, id_width)?)?;
            fields.push((number(offsets, field, offset_width)?, name));
        }
        let is_in_order = fields.windows(2).all(|pair| pair[0].1 < pair[1].1);
        if !is_in_order || fields.iter().any(|(_, name)| is_taken(name)) {
            return Err("the keys of a VARIANT are not in order, or one is there twice");
        }
        fields.sort_unstable();
        let starts = fields.iter().map(|(start, _)| *start);
        self.values(starts, len, values, out, depth, |field, out| {
            if let Some((_, name)) = fields.get(field) {
                text(name, out)?;
                out.push(b':');
            }
            Ok(())
        })?;
        Ok((count, rest.len() - values.len() + len))
    }

    fn array(
        &self,
        header: u8,
        rest: &[u8],
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<usize, &'static str> {
        let width = usize::from(header & 3) + 1;
        let count_width = if header >> 2 & 1 == 1 { 4 } else { 1 };
        let count = number(rest, 0, count_width)?;
        let (_, after) = split(rest, 1, count_width)?;
        let (offsets, values) = split(after, count.checked_add(1).ok_or(SHORT)?, width)?;
        let len = number(offsets, count, width)?;
        // The number is there: its bytes have been split off.
        let starts = (0..count).map(|item| number(offsets, item, width).unwrap_or(usize::MAX));
        out.push(b'[');
        self.values(starts, len, values, out, depth, |_, _| Ok(()))?;
        out.push(b']');
        Ok(rest.len() - values.len() + len)
    }

    /// Appends values that start at ascending offsets and do not overlap: else a few bytes could
    /// become any number of values.
    fn values(
        &self,
        starts: impl Iterator<Item = usize>,
        len: usize,
        values: &[u8],
        out: &mut Vec<u8>,
        depth: usize,
        before: impl Fn(usize, &mut Vec<u8>) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let values = values.get(..len).ok_or(SHORT)?;
        let mut free = 0;
        for (number, start) in starts.enumerate() {
            if start < free {
                return Err("the values of a VARIANT overlap");
            }
            // A long key is there once, and may be the key of many objects.
            if out.len() > TEXT_BYTES_MAX {
                return Err(TOO_LONG);
            }
            if number > 0 {
                out.push(b',');
            }
            before(number, out)?;
            free = start + self.value(values.get(start..).ok_or(SHORT)?, out, depth + 1)?;
        }
        Ok(())
    }
}
