// SPDX-License-Identifier: Apache-2.0
//! Numbers of every width, and what is stored as one: dates, times, decimals, half floats.

use std::marker::PhantomData;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, DictionaryPage, Physical};
use arrowsmith_simd::column::{
    self, CastFrom, ColumnError, Decimal, Decode, DecodeBytes, Delta, Gather, Int96, Plain,
    PlainBytes, Rows, Split, SplitBytes, TimeUnit, read,
};
use arrowsmith_simd::{Buf, Level};

use super::super::{corrupt, fault};
use super::state::{State, indices, plausible};
use super::{SKIP, Values};

/// How stored values are converted to those in memory.
pub(super) trait Form: Send {
    /// The number in memory.
    type Number: ArrowNativeType;

    /// Bytes of a stored value, where it is not encoded.
    fn stored_bytes(&self) -> usize;

    /// Whether stored values are those in memory, bit by bit.
    const SAME: bool = false;

    /// Starts a page.
    fn open(&self, physical: Physical, page: &DataPage<'_>) -> Result<State> {
        State::open(physical, page)
    }

    /// Appends the next rows of a page that holds no indices; `data` are its values, of which
    /// `values` are taken.
    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<Self::Number>,
    ) -> Result<()>;
}

/// Values that are in memory as they are stored.
#[derive(Debug, Default)]
pub(super) struct Stored<S>(PhantomData<S>);

/// The values after the first `at` bytes.
fn rest(data: &[u8], at: usize) -> &[u8] {
    data.get(at..).unwrap_or_default()
}

impl<S: ArrowNativeType> Form for Stored<S>
where
    for<'a> Delta<'a>: Decode<S>,
{
    type Number = S;
    const SAME: bool = true;

    fn stored_bytes(&self) -> usize {
        size_of::<S>()
    }

    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<S>,
    ) -> Result<()> {
        match state {
            State::Plain(at) => {
                read(level, &mut Plain::new(rest(data, *at)), rows, out).map_err(fault)?;
                *at += values * size_of::<S>();
            }
            State::Split(at) => {
                read(level, &mut Split::new(data).from(*at), rows, out).map_err(fault)?;
                *at += values;
            }
            State::Delta(delta) => {
                let mut decoder = delta.over(data);
                read(level, &mut decoder, rows, out).map_err(fault)?;
                *delta = decoder.over(&[]);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

/// Values that are in memory as another number: the low bits, or with the sign extended.
#[derive(Debug)]
pub(super) struct Cast<S, T>(PhantomData<(S, T)>);

impl<S, T> Default for Cast<S, T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<S: ArrowNativeType, T: ArrowNativeType + CastFrom<S>> Form for Cast<S, T>
where
    for<'a> Delta<'a>: Decode<S>,
{
    type Number = T;

    fn stored_bytes(&self) -> usize {
        size_of::<S>()
    }

    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<T>,
    ) -> Result<()> {
        match state {
            State::Plain(at) => {
                let mut decoder = column::Cast::<S, _>::new(Plain::new(rest(data, *at)));
                read(level, &mut decoder, rows, out).map_err(fault)?;
                *at += values * size_of::<S>();
            }
            State::Split(at) => {
                let mut decoder = column::Cast::<S, _>::new(Split::new(data).from(*at));
                read(level, &mut decoder, rows, out).map_err(fault)?;
                *at += values;
            }
            State::Delta(delta) => {
                let mut decoder = column::Cast::<S, _>::new(delta.over(data));
                read(level, &mut decoder, rows, out).map_err(fault)?;
                *delta = decoder.into_inner().over(&[]);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

/// A change of unit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scale {
    /// Times this; overflow is an error.
    Multiply(i64),
    /// Divided by this, rounding down.
    Divide(i64),
}

/// Integers in another unit.
#[derive(Debug)]
pub(super) struct Scaled<F> {
    form: F,
    scale: Scale,
}

impl<F> Scaled<F> {
    pub(super) fn new(form: F, scale: Scale) -> Self {
        Self { form, scale }
    }
}

impl<F: Form<Number = i64>> Form for Scaled<F> {
    type Number = i64;

    fn stored_bytes(&self) -> usize {
        self.form.stored_bytes()
    }

    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<i64>,
    ) -> Result<()> {
        let from = out.len();
        self.form.read(level, state, data, rows, values, out)?;
        let new = &mut out.as_mut_slice()[from..];
        match self.scale {
            Scale::Multiply(by) => {
                let mut overflow = false;
                for value in new {
                    let (product, over) = value.overflowing_mul(by);
                    *value = product;
                    overflow |= over;
                }
                if overflow { Err(fault(ColumnError::Range)) } else { Ok(()) }
            }
            Scale::Divide(by) => {
                for value in new {
                    *value = value.div_euclid(by);
                }
                Ok(())
            }
        }
    }
}

/// Half floats, which are stored as two bytes.
#[derive(Debug)]
pub(super) struct Halves;

impl Form for Halves {
    type Number = u16;
    const SAME: bool = true;

    fn stored_bytes(&self) -> usize {
        2
    }

    fn open(&self, _: Physical, page: &DataPage<'_>) -> Result<State> {
        State::open_fixed(page)
    }

    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<u16>,
    ) -> Result<()> {
        match state {
            State::Plain(at) => {
                read(level, &mut Plain::new(rest(data, *at)), rows, out).map_err(fault)?;
                *at += values * 2;
            }
            State::DeltaStrings(_) => {
                let strings = state.prefixed(level, data, values, 2)?;
                let bytes = strings.fixed(2).map_err(fault)?;
                read(level, &mut Plain::new(bytes), rows, out).map_err(fault)?;
            }
            State::Split(at) => {
                read(level, &mut Split::new(data).from(*at), rows, out).map_err(fault)?;
                *at += values;
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

/// Decimals that are stored as big-endian byte arrays of one width.
#[derive(Debug)]
pub(super) struct BigEndian<T> {
    width: usize,
    to: PhantomData<T>,
}

impl<T> BigEndian<T> {
    pub(super) fn new(width: usize) -> Self {
        Self { width, to: PhantomData }
    }
}

impl<T: ArrowNativeType + Decimal> Form for BigEndian<T> {
    type Number = T;

    fn stored_bytes(&self) -> usize {
        self.width
    }

    fn open(&self, _: Physical, page: &DataPage<'_>) -> Result<State> {
        State::open_fixed(page)
    }

    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<T>,
    ) -> Result<()> {
        fn numbers<T: ArrowNativeType + Decimal>(
            level: Level,
            bytes: impl DecodeBytes,
            rows: Rows<'_>,
            out: &mut Buf<T>,
        ) -> Result<()> {
            read(level, &mut column::BigEndian::new(bytes), rows, out).map_err(fault)
        }
        let width = self.width;
        match state {
            State::Plain(at) => {
                numbers(level, PlainBytes::new(rest(data, *at), width), rows, out)?;
                *at += values * width;
            }
            State::DeltaStrings(_) => {
                let strings = state.prefixed(level, data, values, width)?;
                let bytes = strings.fixed(width).map_err(fault)?;
                numbers(level, PlainBytes::new(bytes, width), rows, out)?;
            }
            State::Split(at) => {
                let bytes = SplitBytes::new(data, width).map_err(fault)?.from(*at);
                numbers(level, bytes, rows, out)?;
                *at += values;
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

/// Timestamps that are stored as nanoseconds of a Julian day.
#[derive(Debug)]
pub(super) struct Instants {
    unit: TimeUnit,
}

impl Instants {
    pub(super) fn new(unit: TimeUnit) -> Self {
        Self { unit }
    }
}

impl Form for Instants {
    type Number = i64;

    fn stored_bytes(&self) -> usize {
        12
    }

    fn read(
        &self,
        level: Level,
        state: &mut State,
        data: &[u8],
        rows: Rows<'_>,
        values: usize,
        out: &mut Buf<i64>,
    ) -> Result<()> {
        let State::Plain(at) = state else { return Err(state.unexpected()) };
        let mut decoder = Int96::new(rest(data, *at), self.unit);
        read(level, &mut decoder, rows, out).map_err(fault)?;
        *at += values * 12;
        Ok(())
    }
}

/// A column of numbers.
#[derive(Debug)]
pub(super) struct Numbers<F: Form> {
    form: F,
    physical: Physical,
    data_type: DataType,
    level: Level,
    state: State,
    dictionary: Buf<F::Number>,
    out: Buf<F::Number>,
    /// Values that no row needs, where there is no way around them.
    skipped: Buf<F::Number>,
    /// The whole batch, where a page of the file has it in Arrow's form.
    shared: Option<Buffer>,
    /// Approximate number of slots of the batch.
    slots: usize,
}

impl<F: Form> Numbers<F> {
    pub(super) fn new(form: F, physical: Physical, data_type: DataType, level: Level) -> Self {
        Self {
            form,
            physical,
            data_type,
            level,
            state: State::Idle,
            dictionary: Buf::default(),
            out: Buf::default(),
            skipped: Buf::default(),
            shared: None,
            slots: 0,
        }
    }

    /// Takes all rows of the batch without a copy, if they are in one page, and aligned.
    fn share(&mut self, page: &DataPage<'_>, rows: Rows<'_>) -> bool {
        let (State::Plain(at), Rows::All(rows), Some(file)) = (&mut self.state, rows, page.shared)
        else {
            return false;
        };
        if !F::SAME || rows != self.slots || rows == 0 || !self.out.is_empty() {
            return false;
        }
        let size = size_of::<F::Number>();
        let Some(bytes) = page.values.get(*at..*at + rows * size) else { return false };
        if !bytes.as_ptr().addr().is_multiple_of(align_of::<F::Number>()) {
            return false;
        }
        self.shared = Some(Buffer::from(file.slice_ref(bytes)));
        *at += bytes.len();
        true
    }

    fn append(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        if let (Some(stored), State::Plain(at)) = (&page.stored, &mut self.state) {
            stored.read(*at, values, &mut self.out)?;
            *at += values * size_of::<F::Number>();
            return Ok(());
        }
        if let State::Indices(hybrid) = &mut self.state {
            let mut decoder = Gather::new(hybrid.over(indices(page)), self.dictionary.as_slice());
            read(self.level, &mut decoder, rows, &mut self.out).map_err(fault)?;
            *hybrid = decoder.into_hybrid().over(&[]);
            return Ok(());
        }
        self.form.read(self.level, &mut self.state, page.values, rows, values, &mut self.out)
    }
}

impl<F: Form> Values for Numbers<F> {
    fn slot_bytes(&self) -> usize {
        size_of::<F::Number>()
    }

    fn begin(&mut self, slots: usize, _: usize) {
        self.slots = slots;
    }

    fn reads_stored(&self) -> bool {
        F::SAME
    }

    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()> {
        let count = plausible(page, self.form.stored_bytes())?;
        self.dictionary.truncate(0);
        let (state, rows) = (&mut State::Plain(0), Rows::All(count));
        self.form.read(self.level, state, page.values, rows, count, &mut self.dictionary)
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.state = self.form.open(self.physical, page)?;
        Ok(())
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        if self.out.is_empty() {
            if self.share(page, rows) {
                return Ok(());
            }
            // Bounded: by what `begin` reserves, which the bytes of the batch and of the chunk
            // limit.
            self.out.reserve(self.slots);
        }
        if let Some(shared) = self.shared.take() {
            // More rows than were announced.
            self.out.extend(shared.typed_data());
        }
        self.append(page, rows, values)
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        let sizes = (self.form.stored_bytes(), self.dictionary.len());
        if self.state.skip(self.level, page, values, sizes)? {
            return Ok(());
        }
        std::mem::swap(&mut self.out, &mut self.skipped);
        let mut left = values;
        while left > 0 {
            let some = left.min(SKIP);
            self.out.truncate(0);
            self.append(page, Rows::All(some), some)?;
            left -= some;
        }
        std::mem::swap(&mut self.out, &mut self.skipped);
        Ok(())
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let buffer = self.shared.take().unwrap_or_else(|| self.out.take().into_inner());
        let len = buffer.len() / size_of::<F::Number>();
        let data = ArrayData::builder(self.data_type.clone()).len(len).add_buffer(buffer);
        let data = data.nulls(nulls).build().map_err(|error| corrupt(error.to_string()))?;
        Ok(make_array(data))
    }
}
