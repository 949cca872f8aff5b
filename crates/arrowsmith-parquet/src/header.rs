// SPDX-License-Identifier: Apache-2.0
//! The metadata interpreter: a page's header, from Thrift bytes to plain numbers.
//!
//! Files with small pages have a header per kilobyte, so reading one costs no more than its
//! varints: no allocation, and statistics are skipped. Sizes and counts are checked for their sign
//! here; the page cursor checks them against the file.

use arrowsmith_core::{Error, FileErrorKind, Result};

use crate::thrift::{I32, Reader, STRUCT, TRUE, ThriftError};

/// How the values of a page are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One value after another.
    Plain,
    /// Indices into the dictionary page: RLE and bit-packed runs after a byte with their width. The
    /// old name PLAIN_DICTIONARY of data pages means the same.
    Dictionary,
    /// RLE and bit-packed runs after a length of four bytes: Booleans.
    Rle,
    /// Blocks of bit-packed differences: integers.
    DeltaBinaryPacked,
    /// All lengths, then all bytes: byte arrays.
    DeltaLengthByteArray,
    /// Lengths of shared prefixes, then the rest as `DeltaLengthByteArray`.
    DeltaByteArray,
    /// The first bytes of all values, then the second bytes, …
    ByteStreamSplit,
}

impl Encoding {
    fn of_data_page(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Plain,
            2 | 8 => Self::Dictionary,
            3 => Self::Rle,
            5 => Self::DeltaBinaryPacked,
            6 => Self::DeltaLengthByteArray,
            7 => Self::DeltaByteArray,
            9 => Self::ByteStreamSplit,
            _ => return None,
        })
    }

    /// The encoding's name in the format's specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Dictionary => "RLE_DICTIONARY",
            Self::Rle => "RLE",
            Self::DeltaBinaryPacked => "DELTA_BINARY_PACKED",
            Self::DeltaLengthByteArray => "DELTA_LENGTH_BYTE_ARRAY",
            Self::DeltaByteArray => "DELTA_BYTE_ARRAY",
            Self::ByteStreamSplit => "BYTE_STREAM_SPLIT",
        }
    }
}

/// How levels are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LevelEncoding {
    /// RLE and bit-packed runs, lowest bit first.
    Rle,
    /// The deprecated BIT_PACKED: highest bit first, no runs.
    BitPacked,
}

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    Dictionary,
    /// The encodings of the levels; `None` for a code that levels do not have. It does not matter
    /// to a column without levels, and some writers store anything there.
    DataV1 {
        definition: Option<LevelEncoding>,
        repetition: Option<LevelEncoding>,
    },
    DataV2 {
        nulls: usize,
        rows: usize,
        definition_bytes: usize,
        repetition_bytes: usize,
        /// Whether the values are compressed; the levels never are.
        compressed: bool,
    },
    /// An index page or a kind that later versions of the format may add: skipped.
    Other,
}

/// A page's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    /// Bytes of the page after decompression, levels included.
    pub(crate) uncompressed_bytes: usize,
    /// Bytes of the page in the file, without this header.
    pub(crate) compressed_bytes: usize,
    /// CRC-32 of the page as it is in the file.
    pub(crate) crc: Option<u32>,
    /// Values of the page, nulls included; entries of a dictionary.
    pub(crate) count: usize,
    pub(crate) encoding: Encoding,
    /// Bytes of this header in the file.
    pub(crate) header_bytes: usize,
}

/// The numbers of a header's inner structure, unchecked.
#[derive(Default)]
struct Inner {
    numbers: [Option<i32>; 8],
    compressed: Option<bool>,
}

/// Why a header cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Thrift(ThriftError),
    /// A required field is missing, or a size or count is negative.
    Missing(&'static str),
    /// An encoding that the format does not have, by its code.
    Encoding(i32),
}

impl From<ThriftError> for HeaderError {
    fn from(error: ThriftError) -> Self {
        Self::Thrift(error)
    }
}

impl HeaderError {
    /// As the common error type.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Thrift(ThriftError::Truncated) => Error::file(
                FileErrorKind::Truncated,
                "the column chunk ends inside a page's header",
            ),
            Self::Thrift(error) => Error::file(
                FileErrorKind::Corrupt,
                format!("the page's header {}", error.message()),
            ),
            Self::Missing(name) => Error::file(
                FileErrorKind::Corrupt,
                format!("the page's header has no {name}, or a negative one"),
            ),
            Self::Encoding(code) => {
                Error::file(FileErrorKind::Unsupported, format!("unknown encoding {code}"))
            }
        }
    }
}

/// A header as nearly all writers write it: all fields, in order. Reading a header the general way
/// takes longer than decoding a small page.
struct Usual<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Usual<'_> {
    #[inline(always)]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The value of the next field, a non-negative integer.
    #[inline(always)]
    fn size(&mut self) -> Option<usize> {
        if self.byte()? != 1 << 4 | I32 {
            return None;
        }
        let (mut value, mut shift) = (0_u64, 0);
        while shift < 35 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let even = value & 1 == 0 && value <= u64::from(u32::MAX);
                return if even { usize::try_from(value >> 1).ok() } else { None };
            }
            shift += 7;
        }
        None
    }

    /// Skips statistics, if there are any, and the ends of both structures.
    #[inline(always)]
    fn end(&mut self) -> Option<()> {
        let mut byte = self.byte()?;
        if byte == 1 << 4 | STRUCT {
            let mut reader = Reader::new(self.bytes.get(self.at..)?);
            reader.skip(STRUCT).ok()?;
            self.at += reader.at();
            byte = self.byte()?;
        }
        (byte == 0 && self.byte()? == 0).then_some(())
    }

    #[inline(always)]
    fn read(bytes: &[u8]) -> Option<PageHeader> {
        let mut usual = Usual { bytes, at: 0 };
        let code = usual.size()?;
        let uncompressed_bytes = usual.size()?;
        let compressed_bytes = usual.size()?;
        // Fields 5 and 8, there being no checksum.
        let v2 = match (code, usual.byte()?) {
            (0, 0x2c) => false,
            (3, 0x5c) => true,
            _ => return None,
        };
        let count = usual.size()?;
        let encoding;
        let kind = if v2 {
            let (nulls, rows) = (usual.size()?, usual.size()?);
            encoding = usual.size()?;
            let (definition_bytes, repetition_bytes) = (usual.size()?, usual.size()?);
            let compressed = match usual.byte()? {
                0x11 => true,
                0x12 => false,
                _ => return None,
            };
            PageKind::DataV2 { nulls, rows, definition_bytes, repetition_bytes, compressed }
        } else {
            encoding = usual.size()?;
            let level = |code: usize| level_encoding(i32::try_from(code).ok());
            let definition = level(usual.size()?);
            let repetition = level(usual.size()?);
            PageKind::DataV1 { definition, repetition }
        };
        usual.end()?;
        Some(PageHeader {
            kind,
            uncompressed_bytes,
            compressed_bytes,
            crc: None,
            count,
            encoding: Encoding::of_data_page(i32::try_from(encoding).ok()?)?,
            header_bytes: usual.at,
        })
    }
}

impl PageHeader {
    /// Reads the header at the start of `bytes`.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, HeaderError> {
        match Usual::read(bytes) {
            Some(header) => Ok(header),
            None => Self::read_any(bytes),
        }
    }

    /// As [`PageHeader::read`], whatever the order of the fields.
    fn read_any(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut reader = Reader::new(bytes);
        let (mut code, mut uncompressed, mut compressed, mut crc) = (None, None, None, None);
        let mut inner = None;
        let mut last = 0;
        while let Some((number, kind)) = reader.field(&mut last)? {
            match (number, kind) {
                (1, I32) => code = Some(reader.i32()?),
                (2, I32) => uncompressed = Some(reader.i32()?),
                (3, I32) => compressed = Some(reader.i32()?),
                (4, I32) => crc = Some(reader.i32()?.cast_unsigned()),
                (5 | 7 | 8, STRUCT) => inner = Some((number, read_inner(&mut reader)?)),
                _ => reader.skip(kind)?,
            }
        }
        let size = |value: Option<i32>, name| {
            value.and_then(|value| usize::try_from(value).ok()).ok_or(HeaderError::Missing(name))
        };
        let mut header = Self {
            kind: PageKind::Other,
            uncompressed_bytes: size(uncompressed, "uncompressed size")?,
            compressed_bytes: size(compressed, "compressed size")?,
            crc,
            count: 0,
            encoding: Encoding::Plain,
            header_bytes: reader.at(),
        };
        let code = code.ok_or(HeaderError::Missing("type"))?;
        let (field, inner) = match (code, inner) {
            (0, Some((5, inner))) => (5, inner),
            (2, Some((7, inner))) => (7, inner),
            (3, Some((8, inner))) => (8, inner),
            (0 | 2 | 3, _) => return Err(HeaderError::Missing("structure of its type")),
            _ => return Ok(header),
        };
        header.count = size(inner.numbers[1], "number of values")?;
        match field {
            5 => {
                let definition = level_encoding(inner.numbers[3]);
                let repetition = level_encoding(inner.numbers[4]);
                header.kind = PageKind::DataV1 { definition, repetition };
                header.encoding = data_encoding(inner.numbers[2])?;
            }
            8 => {
                header.encoding = data_encoding(inner.numbers[4])?;
                header.kind = PageKind::DataV2 {
                    nulls: size(inner.numbers[2], "number of nulls")?,
                    rows: size(inner.numbers[3], "number of rows")?,
                    definition_bytes: size(inner.numbers[5], "length of definition levels")?,
                    repetition_bytes: size(inner.numbers[6], "length of repetition levels")?,
                    compressed: inner.compressed.unwrap_or(true),
                };
            }
            _ => {
                header.kind = PageKind::Dictionary;
                header.encoding = match inner.numbers[2] {
                    // PLAIN_DICTIONARY of a dictionary page means plain values.
                    Some(0 | 2) => Encoding::Plain,
                    Some(code) => return Err(HeaderError::Encoding(code)),
                    None => return Err(HeaderError::Missing("encoding")),
                };
            }
        }
        Ok(header)
    }
}

fn level_encoding(code: Option<i32>) -> Option<LevelEncoding> {
    match code {
        Some(3) => Some(LevelEncoding::Rle),
        Some(4) => Some(LevelEncoding::BitPacked),
        _ => None,
    }
}

fn data_encoding(code: Option<i32>) -> Result<Encoding, HeaderError> {
    let code = code.ok_or(HeaderError::Missing("encoding"))?;
    Encoding::of_data_page(code).ok_or(HeaderError::Encoding(code))
}

/// The integers of `DataPageHeader`, `DictionaryPageHeader` or `DataPageHeaderV2` by field number.
/// They share their layout but for the one Boolean that matters, field 7 of the last.
fn read_inner(reader: &mut Reader<'_>) -> Result<Inner, HeaderError> {
    let mut inner = Inner::default();
    let mut last = 0;
    while let Some((number, kind)) = reader.field(&mut last)? {
        match (number, kind) {
            (1..=6, I32) => inner.numbers[usize::from(number.unsigned_abs())] = Some(reader.i32()?),
            (7, 1 | 2) => inner.compressed = Some(kind == TRUE),
            _ => reader.skip(kind)?,
        }
    }
    Ok(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of these fields: kind and value of the integers, then what follows.
    fn header(code: u8, inner_field: u8, inner: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, code << 1, 0x15, 0x80, 0x10, 0x15, 0x84, 0x10];
        bytes.extend([(inner_field - 3) << 4 | STRUCT]);
        bytes.extend(inner);
        bytes.push(0);
        bytes
    }

    #[test]
    fn the_usual_way_reads_what_the_general_way_reads() {
        let v2 = [0x15, 200, 2, 0x15, 4, 0x15, 6, 0x15, 0, 0x15, 10, 0x15, 12, 0x12];
        let v1 = [0x15, 8, 0x15, 16, 0x15, 6, 0x15, 8];
        let statistics = [0x1c, 0x18, 2, 1, 2, 0x16, 4, 0];
        for (code, field, inner) in [(3, 8, &v2[..]), (0, 5, &v1[..])] {
            for statistics in [&[][..], &statistics] {
                let bytes = header(code, field, &[inner, statistics, &[0]].concat());
                let usual = Usual::read(&bytes);
                assert!(usual.is_some(), "{bytes:?}");
                assert_eq!(usual.ok_or(HeaderError::Missing("way")), PageHeader::read_any(&bytes));
                for cut in 0..bytes.len() {
                    assert_eq!(Usual::read(&bytes[..cut]), None);
                }
                // What it accepts, it reads as the general way does.
                for at in 0..bytes.len() {
                    for value in 0..=255 {
                        let mut bytes = bytes.clone();
                        bytes[at] = value;
                        if let Some(header) = Usual::read(&bytes) {
                            assert_eq!(Ok(header), PageHeader::read_any(&bytes), "{bytes:?}");
                        }
                    }
                }
            }
        }
    }
}
