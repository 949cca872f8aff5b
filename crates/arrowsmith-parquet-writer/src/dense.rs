// SPDX-License-Identifier: Apache-2.0
//! [`Dense`]: the values of a page without nulls, in Parquet's physical types.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, downcast_dictionary_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, IntervalDayTime, i256};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use arrowsmith_core::{Error, Result};
use parquet::basic::Type as Physical;

use crate::encoding::Strings;
use crate::levels::Selection;
use crate::number::{in_page, index, view_len};
use crate::schema::Leaf;

/// Maximum bytes of a page's values: a header has 31 bits for its size.
pub(crate) const BYTES_MAX: usize = 1 << 30;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Values of a page. Only the vectors of the column's physical type are used.
#[derive(Debug, Default)]
pub(crate) struct Dense {
    /// Number of values.
    pub(crate) count: usize,
    /// BOOLEAN: 0 or 1.
    pub(crate) bools: Vec<u8>,
    /// INT32 and FLOAT, as bits.
    pub(crate) words: Vec<u32>,
    /// INT64 and DOUBLE, as bits.
    pub(crate) longs: Vec<u64>,
    /// BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY.
    pub(crate) bytes: Vec<u8>,
    /// BYTE_ARRAY: ends of the values after a leading 0.
    pub(crate) offsets: Vec<u32>,
}

/// Why values were not appended.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The page would become larger than a page can be: it has to be of fewer rows.
    TooLarge,
    /// They have no form in Parquet.
    Error(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Dense {
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.bools.clear();
        self.words.clear();
        self.longs.clear();
        self.bytes.clear();
        self.offsets.clear();
        self.offsets.push(0);
    }

    /// Bytes of the values in PLAIN encoding, nearly.
    pub(crate) fn plain_bytes(&self) -> usize {
        self.bools.len() / 8
            + 4 * self.words.len()
            + 8 * self.longs.len()
            + self.bytes.len()
            + 4 * (self.offsets.len() - 1)
    }

    /// The values of BYTE_ARRAY.
    pub(crate) fn strings(&self) -> Strings<'_> {
        Strings { bytes: &self.bytes, offsets: &self.offsets }
    }

    /// Appends the selected values of an array.
    pub(crate) fn append(
        &mut self,
        leaf: &Leaf,
        array: &ArrayRef,
        selection: &Selection,
    ) -> std::result::Result<(), Refused> {
        use DataType as T;
        let count = selection.len();
        if count == 0 {
            return Ok(());
        }
        if self.plain_bytes().saturating_add(count * leaf.width.max(4)) > BYTES_MAX {
            return Err(Refused::TooLarge);
        }
        self.count += count;
        let other = || Error::schema(leaf.path.clone(), "the batch has another type");
        match (array.data_type(), leaf.physical) {
            (T::Boolean, Physical::BOOLEAN) => {
                let bits = array.as_boolean().values();
                each(selection, |i| self.bools.push(u8::from(bits.value(i))));
            }
            (T::Int8, Physical::INT32) => {
                gather(array, selection, &mut self.words, |v: i8| i32::from(v).cast_unsigned());
            }
            (T::UInt8, Physical::INT32) => {
                gather(array, selection, &mut self.words, |v: u8| u32::from(v));
            }
            (T::Int16, Physical::INT32) => {
                gather(array, selection, &mut self.words, |v: i16| i32::from(v).cast_unsigned());
            }
            (T::UInt16, Physical::INT32) => {
                gather(array, selection, &mut self.words, |v: u16| u32::from(v));
            }
            (
                T::Timestamp(TimeUnit::Second, _) | T::Time32(TimeUnit::Second) | T::Date64,
                Physical::INT32 | Physical::INT64,
            ) => self.times(leaf, array, selection)?,
            (
                T::Int32 | T::UInt32 | T::Float32 | T::Date32 | T::Time32(_) | T::Decimal32(..),
                Physical::INT32 | Physical::FLOAT,
            ) => gather(array, selection, &mut self.words, |v: u32| v),
            (
                T::Int64
                | T::UInt64
                | T::Float64
                | T::Time64(_)
                | T::Timestamp(..)
                | T::Duration(_)
                | T::Decimal64(..),
                Physical::INT64 | Physical::DOUBLE,
            ) => gather(array, selection, &mut self.longs, |v: u64| v),
            (T::Decimal32(..), Physical::INT64) => {
                gather(array, selection, &mut self.longs, |v: i32| i64::from(v).cast_unsigned());
            }
            (T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..), _) => {
                self.decimals(leaf, array, selection)?;
            }
            (T::Float16, Physical::FIXED_LEN_BYTE_ARRAY) => {
                let data = array.to_data();
                let values = data.buffer::<u16>(0);
                each(selection, |i| self.bytes.extend_from_slice(&values[i].to_le_bytes()));
            }
            (T::FixedSizeBinary(width), Physical::FIXED_LEN_BYTE_ARRAY)
                if usize::try_from(*width) == Ok(leaf.width) =>
            {
                let array = array.as_fixed_size_binary();
                match selection {
                    Selection::Range(range) => {
                        let width = leaf.width;
                        let values = array.value_data();
                        let values = &values[range.start * width..range.end * width];
                        self.bytes.extend_from_slice(values);
                    }
                    some => each(some, |i| self.bytes.extend_from_slice(array.value(i))),
                }
            }
            (
                T::Interval(unit @ (IntervalUnit::YearMonth | IntervalUnit::DayTime)),
                Physical::FIXED_LEN_BYTE_ARRAY,
            ) => self.intervals(array, *unit, selection),
            (T::Utf8, Physical::BYTE_ARRAY) => {
                let array = array.as_string::<i32>();
                self.slices(array.offsets(), array.values(), selection)?;
            }
            (T::LargeUtf8, Physical::BYTE_ARRAY) => {
                let array = array.as_string::<i64>();
                self.slices(array.offsets(), array.values(), selection)?;
            }
            (T::Binary, Physical::BYTE_ARRAY) => {
                let array = array.as_binary::<i32>();
                self.slices(array.offsets(), array.values(), selection)?;
            }
            (T::LargeBinary, Physical::BYTE_ARRAY) => {
                let array = array.as_binary::<i64>();
                self.slices(array.offsets(), array.values(), selection)?;
            }
            (T::Utf8View, Physical::BYTE_ARRAY) => {
                let array = array.as_string_view();
                self.views(array.views(), |i| array.value(i).as_bytes(), selection)?;
            }
            (T::BinaryView, Physical::BYTE_ARRAY) => {
                let array = array.as_binary_view();
                self.views(array.views(), |i| array.value(i), selection)?;
            }
            (T::Dictionary(..), _) => {
                self.count -= count;
                self.dictionary(leaf, array, selection)?;
            }
            _ => return Err(Refused::Error(other())),
        }
        Ok(())
    }

    /// The values that the keys of a dictionary name.
    fn dictionary(
        &mut self,
        leaf: &Leaf,
        array: &ArrayRef,
        selection: &Selection,
    ) -> std::result::Result<(), Refused> {
        let mut keys = Vec::with_capacity(selection.len());
        let values = dictionary_keys(array, selection, &mut keys);
        let values = values.ok_or_else(|| Error::schema(leaf.path.clone(), "no dictionary"))?;
        // Strings may become much longer than the dictionary: their lengths are checked first.
        let selection = Selection::Index(keys.iter().map(|key| index(*key)).collect());
        self.append(leaf, &values, &selection)
    }

    /// Strings of an array with offsets.
    fn slices<O: Copy + TryInto<usize>>(
        &mut self,
        offsets: &[O],
        values: &[u8],
        selection: &Selection,
    ) -> std::result::Result<(), Refused> {
        let at = |i: usize| offsets[i].try_into().unwrap_or_default();
        let mut total = 0;
        each(selection, |i| total += at(i + 1) - at(i));
        if self.bytes.len().saturating_add(total) > BYTES_MAX {
            return Err(Refused::TooLarge);
        }
        let mut end = self.offsets.last().copied().unwrap_or_default();
        self.offsets.reserve(selection.len());
        each(selection, |i| {
            end += in_page(at(i + 1) - at(i));
            self.offsets.push(end);
        });
        match selection {
            Selection::Range(range) | Selection::Valid(range, _)
                if at(range.end) - at(range.start) == total =>
            {
                // Nulls have no bytes: those of all others follow each other.
                self.bytes.extend_from_slice(&values[at(range.start)..at(range.end)]);
            }
            some => {
                // Bounded: by BYTES_MAX, checked above.
                self.bytes.reserve(total);
                each(some, |i| self.bytes.extend_from_slice(&values[at(i)..at(i + 1)]));
            }
        }
        Ok(())
    }

    fn views<'a>(
        &mut self,
        views: &[u128],
        value: impl Fn(usize) -> &'a [u8],
        selection: &Selection,
    ) -> std::result::Result<(), Refused> {
        let mut total = 0_usize;
        each(selection, |i| {
            total = total.saturating_add(index(view_len(views[i])));
        });
        if self.bytes.len().saturating_add(total) > BYTES_MAX {
            return Err(Refused::TooLarge);
        }
        // Bounded: by BYTES_MAX, checked above.
        self.bytes.reserve(total);
        self.offsets.reserve(selection.len());
        each(selection, |i| {
            self.bytes.extend_from_slice(value(i));
            self.offsets.push(in_page(self.bytes.len()));
        });
        Ok(())
    }

    /// Decimals of any width, in the integer or the bytes that their precision needs.
    fn decimals(&mut self, leaf: &Leaf, array: &ArrayRef, selection: &Selection) -> Result<()> {
        let value = |i: usize| -> i256 {
            match array.data_type() {
                DataType::Decimal128(..) => {
                    i256::from_i128(array.as_primitive::<Decimal128Type>().value(i))
                }
                _ => array.as_primitive::<Decimal256Type>().value(i),
            }
        };
        let too_long = || {
            Error::schema(leaf.path.clone(), "a decimal of more digits than the column's precision")
        };
        let mut fits = true;
        match (leaf.physical, array.data_type()) {
            (Physical::INT32, DataType::Decimal64(..)) => {
                let data = array.to_data();
                let values = data.buffer::<i64>(0);
                each(selection, |i| {
                    let narrow = i32::try_from(values[i]);
                    fits &= narrow.is_ok();
                    self.words.push(narrow.unwrap_or_default().cast_unsigned());
                });
            }
            (Physical::INT32, _) => each(selection, |i| {
                let narrow = value(i).to_i128().and_then(|value| i32::try_from(value).ok());
                fits &= narrow.is_some();
                self.words.push(narrow.unwrap_or_default().cast_unsigned());
            }),
            (Physical::INT64, _) => each(selection, |i| {
                let narrow = value(i).to_i128().and_then(|value| i64::try_from(value).ok());
                fits &= narrow.is_some();
                self.longs.push(narrow.unwrap_or_default().cast_unsigned());
            }),
            (Physical::FIXED_LEN_BYTE_ARRAY, DataType::Decimal128(..)) if leaf.width <= 16 => {
                let values = array.as_primitive::<Decimal128Type>().values();
                let cut = 16 - leaf.width;
                let shift = in_page(cut * 8);
                each(selection, |i| {
                    fits &= values[i] << shift >> shift == values[i];
                    self.bytes.extend_from_slice(&values[i].to_be_bytes()[cut..]);
                });
            }
            (Physical::FIXED_LEN_BYTE_ARRAY, _) if leaf.width <= 32 => each(selection, |i| {
                let bytes = value(i).to_be_bytes();
                let (cut, kept) = bytes.split_at(32 - leaf.width);
                let sign =
                    if kept.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
                fits &= cut.iter().all(|byte| *byte == sign);
                self.bytes.extend_from_slice(kept);
            }),
            _ => fits = false,
        }
        if fits { Ok(()) } else { Err(too_long()) }
    }

    /// Times in units that Parquet does not have, in milliseconds or days: see
    /// [`crate::schema::stored`].
    fn times(&mut self, leaf: &Leaf, array: &ArrayRef, selection: &Selection) -> Result<()> {
        let refuse = |message: &str| Err(Error::schema(leaf.path.clone(), message));
        let mut fits = true;
        match (array.data_type(), leaf.physical) {
            (DataType::Date64, Physical::INT32) => {
                gather(array, selection, &mut self.words, |ms: i64| {
                    let days = i32::try_from(ms / DAY_MS).ok().filter(|_| ms % DAY_MS == 0);
                    fits &= days.is_some();
                    days.unwrap_or_default().cast_unsigned()
                });
                if !fits {
                    return refuse(
                        "a date64 that is not a whole day has no form in Parquet: make the column \
                         timestamp(ms), or cast it to date32",
                    );
                }
            }
            (DataType::Time32(_), Physical::INT32) => {
                gather(array, selection, &mut self.words, |s: i32| {
                    let (ms, over) = s.overflowing_mul(1_000);
                    fits &= !over;
                    ms.cast_unsigned()
                });
                if !fits {
                    return refuse("a time beyond 24 hours has no form in Parquet");
                }
            }
            (DataType::Timestamp(..), Physical::INT64) => {
                gather(array, selection, &mut self.longs, |s: i64| {
                    let (ms, over) = s.overflowing_mul(1_000);
                    fits &= !over;
                    ms.cast_unsigned()
                });
                if !fits {
                    return refuse(
                        "Parquet has no seconds, and this timestamp(s) is beyond what 64 bits \
                         state in milliseconds: cast the column to int64",
                    );
                }
            }
            _ => return refuse("the batch has another type"),
        }
        Ok(())
    }

    /// Intervals: months, days and milliseconds, of 32 bits each.
    fn intervals(&mut self, array: &ArrayRef, unit: IntervalUnit, selection: &Selection) {
        let data = array.to_data();
        if unit == IntervalUnit::YearMonth {
            let values = data.buffer::<i32>(0);
            each(selection, |i| {
                self.bytes.extend_from_slice(&values[i].to_le_bytes());
                self.bytes.extend_from_slice(&[0; 8]);
            });
        } else {
            let values = data.buffer::<IntervalDayTime>(0);
            each(selection, |i| {
                self.bytes.extend_from_slice(&[0; 4]);
                self.bytes.extend_from_slice(&values[i].days.to_le_bytes());
                self.bytes.extend_from_slice(&values[i].milliseconds.to_le_bytes());
            });
        }
    }
}

/// Calls a function with each selected index.
#[inline]
pub(crate) fn each(selection: &Selection, mut function: impl FnMut(usize)) {
    match selection {
        Selection::Range(range) => range.clone().for_each(function),
        Selection::Valid(range, nulls) => {
            nulls.valid_indices().for_each(|i| function(range.start + i));
        }
        Selection::Index(index) => index.iter().for_each(|i| function(*i)),
    }
}

/// Appends values of a native type, converted.
fn gather<T: ArrowNativeType, U>(
    array: &ArrayRef,
    selection: &Selection,
    out: &mut Vec<U>,
    mut convert: impl FnMut(T) -> U,
) {
    let data = array.to_data();
    let values = data.buffer::<T>(0);
    match selection {
        Selection::Range(range) => out.extend(values[range.clone()].iter().map(|v| convert(*v))),
        Selection::Valid(range, nulls) => {
            // Bounded: by what is in memory already.
            out.reserve(range.len() - nulls.null_count());
            by_words(range, nulls.inner(), |part, word| match word {
                u64::MAX => out.extend(values[part].iter().map(|v| convert(*v))),
                mut word => {
                    while word != 0 {
                        out.push(convert(values[part.start + word.trailing_zeros() as usize]));
                        word &= word - 1;
                    }
                }
            });
        }
        Selection::Index(index) => out.extend(index.iter().map(|i| convert(values[*i]))),
    }
}

/// Calls a function for every 64 values of a range and their bits.
fn by_words(
    range: &Range<usize>,
    bits: &BooleanBuffer,
    mut function: impl FnMut(Range<usize>, u64),
) {
    let chunks = bits.bit_chunks();
    let mut start = range.start;
    for word in chunks.iter() {
        function(start..start + 64, word);
        start += 64;
    }
    if chunks.remainder_len() > 0 {
        function(start..range.end, chunks.remainder_bits());
    }
}

/// The keys of the selected values of a dictionary array, and its values; `None` for another array.
pub(crate) fn dictionary_keys(
    array: &ArrayRef,
    selection: &Selection,
    keys: &mut Vec<u32>,
) -> Option<ArrayRef> {
    let array: &dyn Array = array;
    downcast_dictionary_array!(
        array => {
            let native = array.keys().values();
            each(selection, |i| keys.push(in_page(native[i].as_usize())));
            Some(std::sync::Arc::clone(array.values()))
        },
        _ => None
    )
}
