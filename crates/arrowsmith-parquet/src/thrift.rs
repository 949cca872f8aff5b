// SPDX-License-Identifier: Apache-2.0
//! A reader of Thrift's compact protocol over a slice: it allocates nothing and copies nothing.
//!
//! It knows fields, integers, strings, lists and how to skip unused fields; `header`, `footer` and
//! `index` know what the fields mean. Every length is checked against the bytes that are left.

/// What is wrong with Thrift bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThriftError {
    /// The bytes end inside a value.
    Truncated,
    /// The bytes are not the compact protocol, or a value is outside of its type.
    Malformed,
    /// Nested more deeply than any writer does.
    Depth,
}

impl ThriftError {
    /// The error in words.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Truncated => "ends inside a Thrift structure",
            Self::Malformed => "is not a Thrift structure in the compact protocol",
            Self::Depth => "nests Thrift structures too deeply",
        }
    }
}

/// Types of the compact protocol, by their code in field headers.
pub(crate) const TRUE: u8 = 1;
pub(crate) const FALSE: u8 = 2;
const BYTE: u8 = 3;
pub(crate) const I16: u8 = 4;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
const DOUBLE: u8 = 7;
pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(crate) const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Maximum nesting that [`Reader::skip`] follows. Parquet's own structures nest less than ten deep.
const DEPTH_MAX: u32 = 32;

type Result<T> = std::result::Result<T, ThriftError>;

/// Writes an integer, as [`Reader::i64`] reads it.
pub(crate) fn zigzag(value: i64, out: &mut Vec<u8>) {
    let mut rest = (value << 1 ^ value >> 63).cast_unsigned();
    while rest >= 0x80 {
        out.push((rest & 0x7f).to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

/// A cursor over Thrift bytes.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(ThriftError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(ThriftError::Malformed);
            }
        }
    }

    /// An integer of any width.
    #[inline]
    pub(crate) fn i64(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// An integer of up to 32 bits.
    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32> {
        i32::try_from(self.i64()?).map_err(|_| ThriftError::Malformed)
    }

    /// A string or binary value.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.varint()?).map_err(|_| ThriftError::Truncated)?;
        if len > self.left() {
            return Err(ThriftError::Truncated);
        }
        let value = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(value)
    }

    /// The next field of a structure: its number and type; `None` at the structure's end. `last` is
    /// the number of the field before, 0 at the start.
    #[inline]
    pub(crate) fn field(&mut self, last: &mut i16) -> Result<Option<(i16, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        let delta = i16::from(byte >> 4);
        let number = if delta == 0 {
            i16::try_from(self.i64()?).map_err(|_| ThriftError::Malformed)?
        } else {
            last.checked_add(delta).ok_or(ThriftError::Malformed)?
        };
        *last = number;
        Ok(Some((number, byte & 0x0f)))
    }

    /// The header of a list: type and number of its elements. An element takes at least one byte,
    /// so a count beyond the remaining bytes is rejected here.
    pub(crate) fn list(&mut self) -> Result<(u8, usize)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => usize::try_from(self.varint()?).map_err(|_| ThriftError::Truncated)?,
            short => usize::from(short),
        };
        if count > self.left() {
            return Err(ThriftError::Truncated);
        }
        Ok((byte & 0x0f, count))
    }

    /// A Boolean that is an element of a list.
    pub(crate) fn element_bool(&mut self) -> Result<bool> {
        Ok(self.byte()? == TRUE)
    }

    /// Skips the value of a field.
    pub(crate) fn skip(&mut self, kind: u8) -> Result<()> {
        self.skip_nested(kind, 0)
    }

    fn skip_bytes(&mut self, count: usize) -> Result<()> {
        if count > self.left() {
            return Err(ThriftError::Truncated);
        }
        self.at += count;
        Ok(())
    }

    fn skip_nested(&mut self, kind: u8, depth: u32) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(ThriftError::Depth);
        }
        match kind {
            // Inside a field header the type is the value.
            TRUE | FALSE => Ok(()),
            BYTE => self.skip_bytes(1),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.skip_bytes(8),
            BINARY => self.binary().map(drop),
            UUID => self.skip_bytes(16),
            LIST | SET => {
                let (element, count) = self.list()?;
                for _ in 0..count {
                    self.skip_element(element, depth + 1)?;
                }
                Ok(())
            }
            MAP => {
                let count = usize::try_from(self.varint()?).map_err(|_| ThriftError::Truncated)?;
                if count == 0 {
                    return Ok(());
                }
                if count > self.left() {
                    return Err(ThriftError::Truncated);
                }
                let kinds = self.byte()?;
                for _ in 0..count {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 0x0f, depth + 1)?;
                }
                Ok(())
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_nested(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(ThriftError::Malformed),
        }
    }

    /// An element of a container: as a field's value, but a Boolean takes a byte.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Result<()> {
        match kind {
            TRUE | FALSE => self.skip_bytes(1),
            _ => self.skip_nested(kind, depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_fields_are_read() {
        // {1: i32 -3, 2: true, 40: "ab"}
        let mut reader = Reader::new(&[0x15, 5, 0x11, 0x08, 80, 2, b'a', b'b', 0]);
        let mut last = 0;
        assert_eq!(reader.field(&mut last), Ok(Some((1, I32))));
        assert_eq!(reader.i32(), Ok(-3));
        assert_eq!(reader.field(&mut last), Ok(Some((2, TRUE))));
        assert_eq!(reader.field(&mut last), Ok(Some((40, BINARY))));
        assert_eq!(reader.binary(), Ok(&b"ab"[..]));
        assert_eq!(reader.field(&mut last), Ok(None));
        assert_eq!(reader.at(), 9);
    }

    #[test]
    fn extremes_of_integers_are_read() {
        let max = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&max).i64(), Ok(i64::MAX));
        let min = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&min).i64(), Ok(i64::MIN));
        assert_eq!(Reader::new(&min).i32(), Err(ThriftError::Malformed));
        assert_eq!(Reader::new(&[0x80; 11]).i64(), Err(ThriftError::Malformed));
        assert_eq!(Reader::new(&[0x80]).i64(), Err(ThriftError::Truncated));
    }

    #[test]
    fn lengths_are_checked_against_what_is_left() {
        assert_eq!(Reader::new(&[5, 1, 2]).binary(), Err(ThriftError::Truncated));
        assert_eq!(Reader::new(&[0xf5, 0xff, 0xff, 0x7f]).list(), Err(ThriftError::Truncated));
        assert_eq!(Reader::new(&[0xff, 0xff, 0x7f, 0x55]).skip(MAP), Err(ThriftError::Truncated));
    }

    #[test]
    fn skipping_stops_at_a_depth() {
        // A list of one list of one list …
        let deep = [0x19; 100];
        assert_eq!(Reader::new(&deep).skip(LIST), Err(ThriftError::Depth));
        assert_eq!(Reader::new(&[0x1c; 100]).skip(STRUCT), Err(ThriftError::Depth));
    }
}
