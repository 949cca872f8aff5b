// SPDX-License-Identifier: Apache-2.0
//! What the cursor returns: a page's encoded levels and values, as slices of the file or of the
//! cursor's buffer.

use std::fmt;

use arrow_buffer::ArrowNativeType;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_simd::{Buf, ReadAt};
use bytes::Bytes;

use crate::file::File;
use crate::header::{Encoding, LevelEncoding};

/// The encoded levels of one kind of a data page.
#[derive(Debug, Clone, Copy)]
pub struct Levels<'a> {
    /// The runs, without their length prefix. Empty where `max` is 0: there are no levels then.
    pub bytes: &'a [u8],
    /// `bytes` and the readable bytes after it, whose values do not matter.
    pub readable: &'a [u8],
    /// How they are encoded.
    pub encoding: LevelEncoding,
    /// The highest level that the schema allows.
    pub max: u16,
}

impl Levels<'_> {
    /// No levels: all are 0.
    pub fn none() -> Self {
        Self { bytes: &[], readable: &[], encoding: LevelEncoding::Rle, max: 0 }
    }

    /// Bits of a level.
    pub fn bit_width(&self) -> u8 {
        bit_width(self.max)
    }
}

pub(super) fn bit_width(max: u16) -> u8 {
    // At most 16, so that nothing is lost.
    (u16::BITS - max.leading_zeros()).to_le_bytes()[0]
}

/// A data page.
#[derive(Debug, Clone, Copy)]
pub struct DataPage<'a> {
    /// Values, nulls included: the number of levels.
    pub count: usize,
    /// Nulls, where the page says so: what is null here or has no value because a parent has none.
    pub nulls: Option<usize>,
    /// Rows that begin in the page, where that is known without its levels.
    pub rows: Option<usize>,
    /// How `values` is encoded.
    pub encoding: Encoding,
    /// Repetition levels.
    pub rep: Levels<'a>,
    /// Definition levels.
    pub def: Levels<'a>,
    /// The encoded values.
    pub values: &'a [u8],
    /// `values` and the readable bytes after it (128 if the file has them), whose values do not
    /// matter.
    pub readable: &'a [u8],
    /// The file's bytes, of which `values` is a part: for decoding without a copy
    /// (`shared.slice_ref(values)`). None where the values were decompressed.
    pub shared: Option<&'a Bytes>,
    /// Where the values are, if they were left in the file
    /// ([`Pages::leave_values`](super::Pages::leave_values)); `values` is empty then.
    pub stored: Option<Stored<'a>>,
}

/// Values that were left in the file.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    pub(super) file: &'a File,
    pub(super) source: &'a dyn ReadAt,
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

impl Stored<'_> {
    /// Appends `count` numbers, stored as they are in memory, from byte `at` of the values on.
    ///
    /// # Errors
    /// Fewer values than that, or an I/O error.
    pub fn read<T: ArrowNativeType>(
        &self,
        at: usize,
        count: usize,
        out: &mut Buf<T>,
    ) -> Result<()> {
        let end = count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(at));
        if end.is_none_or(|end| end > self.bytes) {
            return Err(Error::file(
                FileErrorKind::Truncated,
                "the page ends before its values do",
            ));
        }
        let read = out.append_at(self.source, self.offset + at as u64, count);
        read.map_err(|error| self.file.io_error(error))
    }
}

impl fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("offset", &self.offset).field("bytes", &self.bytes).finish()
    }
}

/// A dictionary page.
#[derive(Debug, Clone, Copy)]
pub struct DictionaryPage<'a> {
    /// Entries.
    pub count: usize,
    /// The entries, always PLAIN.
    pub values: &'a [u8],
    /// `values` and the readable bytes after it, whose values do not matter.
    pub readable: &'a [u8],
    /// As in [`DataPage::shared`].
    pub shared: Option<&'a Bytes>,
}

/// A page of a column chunk.
#[derive(Debug, Clone, Copy)]
pub enum Page<'a> {
    /// The dictionary: the first page, if there is one.
    Dictionary(DictionaryPage<'a>),
    /// A data page.
    Data(DataPage<'a>),
}

/// What a page's header says, before the page is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageInfo {
    /// Whether it is the dictionary.
    pub dictionary: bool,
    /// Values, nulls included; entries of a dictionary.
    pub count: usize,
    /// Rows that begin in the page, where that is known without its levels.
    pub rows: Option<usize>,
    /// Bytes after decompression, levels included.
    pub uncompressed_bytes: usize,
    /// Bytes in the file, without the header.
    pub compressed_bytes: usize,
    /// How the values are encoded.
    pub encoding: Encoding,
    /// Offset of the header in the file, in bytes.
    pub offset: u64,
}
