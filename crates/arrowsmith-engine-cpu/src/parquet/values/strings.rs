// SPDX-License-Identifier: Apache-2.0
//! Strings and byte strings of any length with offsets, and decimals that are stored as such.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::{DataPage, DictionaryPage, Physical};
use arrowsmith_simd::column::{
    self, ColumnError, Decimal, DictionaryStrings, Indices, Offset, PlainStrings, Rows,
    StringDictionary, Strings, skip,
};
use arrowsmith_simd::{Buf, Level};

use super::super::{corrupt, fault};
use super::state::{State, indices, plausible};
use super::{SKIP, Values};

/// Bytes by which copies of whole chunks may overrun the strings.
const COPY_ROOM: usize = 64 << 10;

/// The expected bytes of strings.
#[derive(Debug, Clone, Copy, Default)]
struct Expected {
    bytes: usize,
    rows: usize,
}

/// A column of strings.
#[derive(Debug)]
pub(super) struct StringColumn<O: Offset> {
    utf8: bool,
    level: Level,
    bytes_max: usize,
    state: State,
    dictionary: Option<StringDictionary>,
    /// Bytes of an entry of the dictionary, on average.
    entry_bytes: usize,
    strings: Strings<O>,
    slots: usize,
    /// Maximum bytes to reserve before there are strings to fill them.
    room: usize,
    expected: Option<Expected>,
}

impl<O: Offset> StringColumn<O> {
    pub(super) fn new(data_type: DataType, level: Level, bytes_max: usize) -> Self {
        let utf8 = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8);
        Self {
            utf8,
            level,
            bytes_max,
            state: State::Idle,
            dictionary: None,
            entry_bytes: 0,
            strings: Strings::new(utf8, 0, 0, bytes_max),
            slots: 0,
            room: 0,
            expected: None,
        }
    }

    /// Approximate bytes of the batch's strings, by its first page.
    fn bytes_of_batch(&self, page: &DataPage<'_>) -> usize {
        let slots = self.slots;
        let bytes = match (&self.state, self.expected) {
            (_, Some(Expected { bytes, rows })) if rows > 0 => share(bytes, slots, rows),
            (State::Indices(_), _) => self.entry_bytes.saturating_mul(slots),
            (State::Plain(_), _) => {
                let lengths = page.count.saturating_mul(4);
                share(page.values.len().saturating_sub(lengths), slots, page.count)
            }
            _ => share(page.values.len(), slots, page.count),
        };
        let copied = if matches!(self.state, State::Indices(_)) { COPY_ROOM } else { 64 };
        bytes.saturating_add(bytes / 32).min(self.room).saturating_add(copied)
    }

    fn append(&mut self, page: &DataPage<'_>, rows: Rows<'_>) -> Result<()> {
        let (level, strings) = (self.level, &mut self.strings);
        let bytes_max = self.bytes_max;
        let fault = |error| too_many::<O>(error, bytes_max);
        match &mut self.state {
            State::Plain(at) => {
                let rest = page.values.get(*at..).unwrap_or_default();
                let mut decoder = PlainStrings::new(rest);
                strings.read(level, &mut decoder, rows).map_err(fault)?;
                *at += rest.len() - decoder.rest().len();
            }
            State::DeltaLength(state) => {
                let mut decoder = state.over(page.values);
                strings.read(level, &mut decoder, rows).map_err(fault)?;
                *state = decoder.over(&[]);
            }
            State::DeltaStrings(_) => {
                let State::DeltaStrings(state) = std::mem::take(&mut self.state) else {
                    return Err(self.state.unexpected());
                };
                let mut decoder = state.over(page.values);
                strings.read(level, &mut decoder, rows).map_err(fault)?;
                self.state = State::DeltaStrings(decoder.over(&[]));
            }
            State::Indices(hybrid) => {
                let Some(dictionary) = &self.dictionary else {
                    // A chunk that has nulls only.
                    if rows.values() > 0 {
                        return Err(corrupt("indices without a dictionary"));
                    }
                    strings.push_nulls(rows.len());
                    return Ok(());
                };
                let mut decoder = DictionaryStrings::new(hybrid.over(indices(page)), dictionary);
                strings.read(level, &mut decoder, rows).map_err(fault)?;
                *hybrid = decoder.into_hybrid().over(&[]);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

/// The error of encoded strings; too many bytes exceed a limit, or what offsets can count.
fn too_many<O: Offset>(error: ColumnError, bytes_max: usize) -> Error {
    if error != ColumnError::Offset || bytes_max >= O::MAX {
        return fault(error);
    }
    let message = format!(
        "strings of more than {bytes_max} bytes at once, which is what page_bytes_max and \
         memory_bytes_max allow"
    );
    Error::file(FileErrorKind::Limit, message)
}

/// `of` times `part` / `whole`.
fn share(of: usize, part: usize, whole: usize) -> usize {
    let product = of as u128 * part as u128 / whole.max(1) as u128;
    usize::try_from(product).unwrap_or(usize::MAX)
}

impl<O: Offset> Values for StringColumn<O> {
    fn slot_bytes(&self) -> usize {
        size_of::<O>()
    }

    fn expect_bytes(&mut self, bytes: usize, rows: usize) {
        self.expected = Some(Expected { bytes, rows });
    }

    fn text_bytes(&self) -> Option<usize> {
        Some(self.strings.bytes().len())
    }

    fn entry_bytes_max(&self) -> usize {
        self.dictionary.as_ref().map_or(0, StringDictionary::longest)
    }

    fn begin(&mut self, slots: usize, bytes: usize) {
        self.slots = slots;
        self.room = bytes;
    }

    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()> {
        let count = plausible(page, 4)?;
        let mut strings = Strings::<i64>::new(self.utf8, count, page.values.len(), usize::MAX);
        let mut decoder = PlainStrings::new(page.values);
        strings.read(self.level, &mut decoder, Rows::All(count)).map_err(fault)?;
        self.entry_bytes = strings.bytes().len() / count.max(1) + 1;
        self.dictionary = Some(StringDictionary::new(&strings).map_err(fault)?);
        Ok(())
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.state = State::open(Physical::BYTE_ARRAY, page)?;
        Ok(())
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, _: usize) -> Result<()> {
        if self.strings.is_empty() {
            let bytes = self.bytes_of_batch(page);
            // Bounded: by what `begin` reserves, which the bytes of the batch and of the chunk
            // limit.
            self.strings.reserve(self.slots, bytes);
        }
        self.append(page, rows)
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        if let (State::Indices(hybrid), Some(dictionary)) = (&mut self.state, &self.dictionary) {
            // Without copies of skipped values.
            let mut indices = Indices::new(hybrid.over(indices(page)), dictionary.len());
            skip::<u32, _>(self.level, &mut indices, values).map_err(fault)?;
            *hybrid = indices.into_hybrid().over(&[]);
            return Ok(());
        }
        if let State::Plain(at) = &mut self.state {
            let mut decoder = PlainStrings::new(page.values.get(*at..).unwrap_or_default());
            decoder.skip(values).map_err(fault)?;
            *at = page.values.len() - decoder.rest().len();
            return Ok(());
        }
        let scratch = Strings::new(self.utf8, 0, 0, self.bytes_max);
        let kept = std::mem::replace(&mut self.strings, scratch);
        let mut left = values;
        while left > 0 {
            let some = left.min(SKIP);
            self.strings = Strings::new(self.utf8, some, 0, self.bytes_max);
            self.append(page, Rows::All(some))?;
            left -= some;
        }
        self.strings = kept;
        Ok(())
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        if self.utf8 {
            Ok(Arc::new(self.strings.take_strings(nulls).map_err(fault)?))
        } else {
            Ok(Arc::new(self.strings.take_binary(nulls).map_err(fault)?))
        }
    }
}

/// Decimals that are stored as big-endian byte strings of any length.
#[derive(Debug)]
pub(super) struct Decimals<T> {
    data_type: DataType,
    strings: StringColumn<i32>,
    to: PhantomData<T>,
}

impl<T> Decimals<T> {
    pub(super) fn new(data_type: DataType, level: Level, bytes_max: usize) -> Self {
        let strings = StringColumn::new(DataType::Binary, level, bytes_max);
        Self { data_type, strings, to: PhantomData }
    }
}

impl<T: ArrowNativeType + Decimal> Values for Decimals<T> {
    fn slot_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn text_bytes(&self) -> Option<usize> {
        self.strings.text_bytes()
    }

    fn entry_bytes_max(&self) -> usize {
        self.strings.entry_bytes_max()
    }

    fn begin(&mut self, slots: usize, bytes: usize) {
        self.strings.begin(slots, bytes);
    }

    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()> {
        self.strings.dictionary(page)
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.strings.page(page)
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        self.strings.read(page, rows, values)
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        self.strings.skip(page, values)
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let strings = self.strings.strings.take_binary(None).map_err(fault)?;
        let mut numbers = Buf::<T>::with_capacity(strings.offsets().len());
        column::decimals(strings.values(), strings.offsets(), &mut numbers).map_err(fault)?;
        let len = numbers.len();
        let buffer = numbers.take().into_inner();
        let data = ArrayData::builder(self.data_type.clone()).len(len).add_buffer(buffer);
        let data = data.nulls(nulls).build().map_err(|error| corrupt(error.to_string()))?;
        Ok(make_array(data))
    }
}
