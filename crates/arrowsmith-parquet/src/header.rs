// SPDX-License-Identifier: Apache-2.0
//! The metadata interpreter: a page's header, from Thrift bytes to plain numbers.
//!
//! Files with small pages have as many headers as kilobytes, so that one costs nothing but its varints:
//! no allocation, and statistics are passed over. Sizes and counts come out checked for their sign;
//! whether they fit the file is for the page cursor to say.

use arrowsmith_core::{Error, FileErrorKind, Result};

use crate::thrift::{I32, Reader, STRUCT, TRUE, ThriftError};

/// How the values of a page are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One value after another.
    Plain,
    /// Indices into the dictionary page: RLE and bit-packed runs after a byte with their width. The old
    /// name PLAIN_DICTIONARY of data pages means the same.
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
    /// The encodings of the levels; none where the code is none that levels have. A column without
    /// levels does not care, and some writers put anything there.
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
    /// An index page or a kind that later versions of the format may add: passed over.
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

/// The numbers of a header's inner structure, as they come.
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
    /// The error as everybody's.
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

impl PageHeader {
    /// Reads the header at the start of `bytes`.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, HeaderError> {
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
                let level = |code| match code {
                    Some(3) => Some(LevelEncoding::Rle),
                    Some(4) => Some(LevelEncoding::BitPacked),
                    _ => None,
                };
                let definition = level(inner.numbers[3]);
                let repetition = level(inner.numbers[4]);
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

fn data_encoding(code: Option<i32>) -> Result<Encoding, HeaderError> {
    let code = code.ok_or(HeaderError::Missing("encoding"))?;
    Encoding::of_data_page(code).ok_or(HeaderError::Encoding(code))
}

/// The integers of `DataPageHeader`, `DictionaryPageHeader` or `DataPageHeaderV2` by field number. They
/// share their layout but for the one Boolean that matters, field 7 of the last.
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
