// SPDX-License-Identifier: Apache-2.0
//! Rows of columns, in the binary form of Apache Spark's `UnsafeRow`, byte for byte as Spark's own
//! projection writes them: Spark compares and hashes rows by their bytes.
//!
//! A row is a bit set of nulls, eight bytes for each field, and what does not fit into these, in
//! multiples of eight bytes, in the order of the fields. Nothing here knows the types of a schema:
//! the caller says which kinds of columns there are.

use std::slice;

use arrow_data::ffi::FFI_ArrowArray;
use arrowsmith::{Error, Result};

use crate::error::{ErrorInfo, guarded};

/// Booleans.
pub const COLUMN_BOOLEAN: i64 = 0;
/// Values of 1, 2, 4 or 8 bytes.
pub const COLUMN_1: i64 = 1;
/// See [`COLUMN_1`].
pub const COLUMN_2: i64 = 2;
/// See [`COLUMN_1`].
pub const COLUMN_4: i64 = 3;
/// See [`COLUMN_1`].
pub const COLUMN_8: i64 = 4;
/// Decimals of 128 bits, of at most 18 digits.
pub const COLUMN_SHORT_DECIMAL: i64 = 5;
/// Decimals of 128 bits.
pub const COLUMN_DECIMAL: i64 = 6;
/// Text or bytes, with offsets of 32 bits.
pub const COLUMN_BYTES: i64 = 7;
/// Lists, with offsets of 32 bits: one column follows, of the elements.
pub const COLUMN_LIST: i64 = 8;
/// Maps: two columns follow, of the keys and of the values.
pub const COLUMN_MAP: i64 = 9;
/// Structs: as many columns follow as `members` says.
pub const COLUMN_STRUCT: i64 = 10;

/// A column of rows, or a part of one. All fields are eight bytes.
#[repr(C)]
#[derive(Debug)]
pub struct RowColumn {
    /// One of the `COLUMN_…` constants.
    pub kind: i64,
    /// Of structs, the number of their members.
    pub members: i64,
    /// Its values. Null if all of them are null; then no columns of parts follow.
    pub array: *const FFI_ArrowArray,
}

/// Writes rows of columns as `UnsafeRow`s, one after another, as many as there is room for. Returns
/// their number, which is 0 if there is no room for one; -1 is failure.
///
/// `columns` are those of the rows, each followed by those of its parts. The first row is that of
/// index `first` in the arrays, after their offsets. `ends` receives the position after each row.
///
/// # Safety
/// `columns` points to `column_count` columns, and their arrays are not released and of these
/// kinds; `out` is valid for writing `bytes` bytes, which are initialised, and `ends` for `count`
/// numbers; `error` is null or valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_spark_rows(
    columns: *const RowColumn,
    column_count: u64,
    first: u64,
    count: u64,
    out: *mut u8,
    bytes: u64,
    ends: *mut i32,
    error: *mut *mut ErrorInfo,
) -> i64 {
    let work = || {
        let size = |number| usize::try_from(number).map_err(|_| invalid("a number"));
        let first = size(first)?;
        // SAFETY: as many columns, bytes and numbers as there are, by contract.
        let (given, bytes, ends) = unsafe {
            (
                slice::from_raw_parts(columns, size(column_count)?),
                slice::from_raw_parts_mut(out, size(bytes)?),
                slice::from_raw_parts_mut(ends, size(count)?),
            )
        };
        let mut given = given.iter();
        let mut columns = Vec::new();
        while !given.as_slice().is_empty() {
            // SAFETY: the arrays are valid and of these kinds, by contract.
            // Bounded: by the columns that are given.
            columns.push(unsafe { Column::new(&mut given, first, ends.len()) }?);
        }
        let mut out = Out { bytes, at: 0 };
        for (row, end) in ends.iter_mut().enumerate() {
            if out.row(&columns, row).is_none() {
                return Ok(long(row));
            }
            *end = i32::try_from(out.at).map_err(|_| invalid("a length"))?;
        }
        Ok(long(ends.len()))
    };
    // SAFETY: `error` is null or valid for writing, by contract.
    unsafe { guarded(error, -1, work) }
}

fn invalid(what: &str) -> Error {
    Error::Config(format!("{what} is invalid"))
}

fn long(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The values of a column, from its offset on.
enum Values<'a> {
    /// Nulls, and of what kind.
    None(i64),
    Bits(Bits<'a>),
    One(&'a [u8]),
    Two(&'a [[u8; 2]]),
    Four(&'a [[u8; 4]]),
    Eight(&'a [[u8; 8]]),
    ShortDecimal(&'a [[u8; 16]]),
    Decimal(&'a [[u8; 16]]),
    Bytes(&'a [i32], &'a [u8]),
    List(&'a [i32], Box<Column<'a>>),
    Map(&'a [i32], Box<[Column<'a>; 2]>),
    Struct(Vec<Column<'a>>),
}

/// Bits from one on.
struct Bits<'a> {
    bytes: &'a [u8],
    first: usize,
}

impl Bits<'_> {
    #[inline(always)]
    fn get(&self, index: usize) -> bool {
        let at = self.first + index;
        self.bytes[at / 8] >> (at % 8) & 1 != 0
    }
}

struct Column<'a> {
    /// Which values are not null; none if no value is.
    valid: Option<Bits<'a>>,
    values: Values<'a>,
}

/// # Safety
/// `data` is null or has `len` values, for as long as the result is used.
unsafe fn values<'a, T>(data: *const u8, len: usize, first: usize) -> Result<&'a [T]> {
    if data.is_null() {
        return Ok(&[]);
    }
    // SAFETY: it has `len` values, by contract.
    let all = unsafe { slice::from_raw_parts(data.cast::<T>(), len) };
    all.get(first..).ok_or_else(|| invalid("an offset"))
}

impl<'a> Column<'a> {
    /// A column and its parts, from `first` on, after the array's own offset; `rows` have to be
    /// there.
    ///
    /// # Safety
    /// The arrays are valid and of the kinds that are given, for as long as the result is used.
    unsafe fn new(
        given: &mut slice::Iter<'a, RowColumn>,
        first: usize,
        rows: usize,
    ) -> Result<Self> {
        let column = given.next().ok_or_else(|| invalid("the number of columns"))?;
        if !(COLUMN_BOOLEAN..=COLUMN_STRUCT).contains(&column.kind) {
            return Err(invalid("the kind of a column"));
        }
        // SAFETY: null or an array, by contract.
        let Some(array) = (unsafe { column.array.as_ref() }) else {
            return Ok(Self { valid: None, values: Values::None(column.kind) });
        };
        if first.saturating_add(rows) > array.len() {
            return Err(invalid("the number of rows"));
        }
        let len = array.offset() + array.len();
        let first = array.offset() + first;
        let buffers = array.num_buffers();
        let buffer = |index| if index < buffers { array.buffer(index) } else { std::ptr::null() };
        // SAFETY: the buffers have as many values as arrays of this kind have, by contract.
        unsafe {
            let bits = |index| -> Result<Bits<'a>> {
                Ok(Bits { bytes: values(buffer(index), len.div_ceil(8), 0)?, first })
            };
            let offsets = || values::<i32>(buffer(1), len + 1, first);
            let valid = if array.null_count_opt() == Some(0) || buffer(0).is_null() {
                None
            } else {
                Some(bits(0)?)
            };
            let values = match column.kind {
                COLUMN_BOOLEAN => Values::Bits(bits(1)?),
                COLUMN_1 => Values::One(values(buffer(1), len, first)?),
                COLUMN_2 => Values::Two(values(buffer(1), len, first)?),
                COLUMN_4 => Values::Four(values(buffer(1), len, first)?),
                COLUMN_8 => Values::Eight(values(buffer(1), len, first)?),
                COLUMN_SHORT_DECIMAL => Values::ShortDecimal(values(buffer(1), len, first)?),
                COLUMN_DECIMAL => Values::Decimal(values(buffer(1), len, first)?),
                COLUMN_BYTES => {
                    let offsets = offsets()?;
                    let end = offsets.last().map_or(0, |end| index(*end));
                    Values::Bytes(offsets, values(buffer(2), end, 0)?)
                }
                COLUMN_LIST => Values::List(offsets()?, Box::new(Self::new(given, 0, 0)?)),
                COLUMN_MAP => {
                    let entries = array.child(0).offset();
                    let parts = [Self::new(given, entries, 0)?, Self::new(given, entries, 0)?];
                    Values::Map(offsets()?, Box::new(parts))
                }
                _ => {
                    let members = (0..column.members).map(|_| Self::new(given, first, rows));
                    Values::Struct(members.collect::<Result<_>>()?)
                }
            };
            Ok(Self { valid, values })
        }
    }

    /// Bytes of an element in an array.
    fn width(&self) -> usize {
        match self.values {
            Values::Bits(_) | Values::One(_) | Values::None(COLUMN_BOOLEAN | COLUMN_1) => 1,
            Values::Two(_) | Values::None(COLUMN_2) => 2,
            Values::Four(_) | Values::None(COLUMN_4) => 4,
            _ => 8,
        }
    }

    fn is_wide_decimal(&self) -> bool {
        matches!(self.values, Values::Decimal(_) | Values::None(COLUMN_DECIMAL))
    }

    #[inline(always)]
    fn is_null(&self, index: usize) -> bool {
        match &self.valid {
            Some(valid) => !valid.get(index),
            None => matches!(self.values, Values::None(_)),
        }
    }
}

/// An offset: those of valid arrays are not negative.
fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// A row, struct or array that is being written.
#[derive(Clone, Copy)]
struct Owner {
    /// Where it starts.
    start: usize,
    /// Where its bit set of nulls starts.
    nulls: usize,
    /// Where its values start, and what each takes.
    values: usize,
    width: usize,
    is_array: bool,
}

/// What is written to; a row for which there is no room is `None`.
struct Out<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Out<'_> {
    fn row(&mut self, columns: &[Column<'_>], row: usize) -> Option<()> {
        let start = self.at;
        let done = self.members(columns, row);
        if done.is_none() {
            self.at = start;
        }
        done
    }

    /// Room for some zeros; returns where they start.
    #[inline(always)]
    fn zeros(&mut self, len: usize) -> Option<usize> {
        let start = self.at;
        self.bytes.get_mut(start..start.checked_add(len)?)?.fill(0);
        self.at += len;
        Some(start)
    }

    #[inline(always)]
    fn word(&mut self, at: usize, word: usize) {
        self.bytes[at..at + 8].copy_from_slice(&(word as u64).to_le_bytes());
    }

    /// Notes at `at` that what was written from `from` on belongs there: its place, and its bytes.
    #[inline(always)]
    fn refer(&mut self, owner: Owner, at: usize, from: usize, len: usize) {
        self.word(at, (from - owner.start) << 32 | len);
    }

    fn members(&mut self, columns: &[Column<'_>], row: usize) -> Option<()> {
        let nulls = columns.len().div_ceil(64) * 8;
        let start = self.zeros(nulls + columns.len() * 8)?;
        let values = start + nulls;
        let owner = Owner { start, nulls: start, values, width: 8, is_array: false };
        columns
            .iter()
            .enumerate()
            .try_for_each(|(field, column)| self.value(owner, field, column, row))
    }

    fn array(&mut self, elements: &Column<'_>, from: usize, to: usize) -> Option<()> {
        let (len, width) = (to.checked_sub(from)?, elements.width());
        let head = 8 + len.div_ceil(64) * 8;
        let start = self.zeros(head + (len * width).next_multiple_of(8))?;
        self.word(start, len);
        let values = start + head;
        let owner = Owner { start, nulls: start + 8, values, width, is_array: true };
        (0..len).try_for_each(|element| self.value(owner, element, elements, from + element))
    }

    /// Writes value `index` of a column as field or element `ordinal`.
    #[inline(always)]
    fn value(
        &mut self,
        owner: Owner,
        ordinal: usize,
        column: &Column<'_>,
        row: usize,
    ) -> Option<()> {
        let at = owner.values + ordinal * owner.width;
        if column.is_null(row) {
            self.bytes[owner.nulls + ordinal / 8] |= 1 << (ordinal % 8);
            if column.is_wide_decimal() && !owner.is_array {
                // Spark keeps its place in a row, so that it can be changed.
                let from = self.zeros(16)?;
                self.refer(owner, at, from, 0);
            }
            return Some(());
        }
        match &column.values {
            Values::None(_) => {}
            Values::Bits(bits) => self.bytes[at] = u8::from(bits.get(row)),
            Values::One(values) => self.bytes[at] = values[row],
            Values::Two(values) => self.bytes[at..at + 2].copy_from_slice(&values[row]),
            Values::Four(values) => self.bytes[at..at + 4].copy_from_slice(&values[row]),
            Values::Eight(values) => self.bytes[at..at + 8].copy_from_slice(&values[row]),
            Values::ShortDecimal(values) => {
                self.bytes[at..at + 8].copy_from_slice(&values[row][..8]);
            }
            Values::Bytes(offsets, bytes) => {
                let text = &bytes[index(offsets[row])..index(offsets[row + 1])];
                let from = self.bytes(text, text.len().next_multiple_of(8))?;
                self.refer(owner, at, from, text.len());
            }
            _ => self.other(owner, at, column, row)?,
        }
        Some(())
    }

    /// Room for `len` bytes that begin with these and go on with zeros; returns where they start.
    #[inline(always)]
    fn bytes(&mut self, text: &[u8], len: usize) -> Option<usize> {
        let start = self.at;
        let to = self.bytes.get_mut(start..start.checked_add(len)?)?;
        if let Some(word) = to.last_chunk_mut::<8>() {
            *word = [0; 8];
        }
        to[..text.len()].copy_from_slice(text);
        self.at += len;
        Some(start)
    }

    /// What has parts, or takes more than other values to write.
    #[inline(never)]
    fn other(&mut self, owner: Owner, at: usize, column: &Column<'_>, row: usize) -> Option<()> {
        let from = self.at;
        let len = match &column.values {
            Values::Decimal(values) => {
                let bytes = i128::from_le_bytes(values[row]).to_be_bytes();
                let bytes = shortest(&bytes);
                let len = if owner.is_array { bytes.len().next_multiple_of(8) } else { 16 };
                self.zeros(len)?;
                self.bytes[from..from + bytes.len()].copy_from_slice(bytes);
                bytes.len()
            }
            Values::List(offsets, elements) => {
                self.array(elements, index(offsets[row]), index(offsets[row + 1]))?;
                self.at - from
            }
            Values::Map(offsets, entries) => {
                let (first, last) = (index(offsets[row]), index(offsets[row + 1]));
                let [keys, values] = &**entries;
                self.zeros(8)?;
                self.array(keys, first, last)?;
                self.word(from, self.at - from - 8);
                self.array(values, first, last)?;
                self.at - from
            }
            Values::Struct(members) => {
                self.members(members, row)?;
                self.at - from
            }
            _ => 0,
        };
        self.refer(owner, at, from, len);
        Some(())
    }
}

/// A big-endian number without the bytes that repeat its sign.
fn shortest(bytes: &[u8; 16]) -> &[u8] {
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xff };
    let repeated = |pair: &[u8]| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0;
    let surplus = bytes.windows(2).take_while(|pair| repeated(pair)).count();
    &bytes[surplus..]
}
