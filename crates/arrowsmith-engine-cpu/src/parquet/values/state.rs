// SPDX-License-Identifier: Apache-2.0
//! The position of a decoder in a page: its state between two batches, without the page's bytes.

use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::{DataPage, DictionaryPage, Encoding, Physical};
use arrowsmith_simd::Level;
use arrowsmith_simd::column::{
    ColumnError, Delta, DeltaLengthStrings, DeltaStrings, Hybrid, Indices, Rows, Strings, skip,
};

use super::super::{corrupt, fault};

/// What comes next in a page.
#[derive(Debug, Default)]
pub(super) enum State {
    /// There is no page.
    #[default]
    Idle,
    /// Plain values: bytes consumed, of booleans bits.
    Plain(usize),
    /// Values in byte streams: values consumed.
    Split(usize),
    Delta(Delta<'static>),
    DeltaLength(DeltaLengthStrings<'static>),
    DeltaStrings(DeltaStrings<'static>),
    /// Indices of the dictionary; their bytes begin after the first byte of the page.
    Indices(Hybrid<'static>),
    /// Booleans in runs; their bytes begin after their length.
    Runs(Hybrid<'static>),
}

impl State {
    /// The state at the start of a page.
    pub(super) fn open(physical: Physical, page: &DataPage<'_>) -> Result<Self> {
        use Physical as P;
        let data = page.values;
        Ok(match (page.encoding, physical) {
            (Encoding::Plain, _) => Self::Plain(0),
            (Encoding::Dictionary, kind) if kind != P::BOOLEAN => {
                Self::Indices(Hybrid::indices(data).map_err(fault)?.over(&[]))
            }
            (Encoding::Rle, P::BOOLEAN) => {
                Self::Runs(Hybrid::new(runs(data)?, 1).map_err(fault)?.over(&[]))
            }
            (Encoding::DeltaBinaryPacked, P::INT32 | P::INT64) => {
                Self::Delta(Delta::new(data).map_err(fault)?.over(&[]))
            }
            (Encoding::DeltaLengthByteArray, P::BYTE_ARRAY) => {
                Self::DeltaLength(DeltaLengthStrings::new(data).map_err(fault)?.over(&[]))
            }
            (Encoding::DeltaByteArray, P::BYTE_ARRAY | P::FIXED_LEN_BYTE_ARRAY) => {
                Self::DeltaStrings(DeltaStrings::new(data).map_err(fault)?.over(&[]))
            }
            (
                Encoding::ByteStreamSplit,
                P::INT32 | P::INT64 | P::FLOAT | P::DOUBLE | P::FIXED_LEN_BYTE_ARRAY,
            ) => Self::Split(0),
            (encoding, physical) => {
                let message = format!("values of type {physical} in encoding {}", encoding.name());
                return Err(Error::file(FileErrorKind::Unsupported, message));
            }
        })
    }

    /// As [`State::open`], for byte arrays of one width.
    pub(super) fn open_fixed(page: &DataPage<'_>) -> Result<Self> {
        let state = Self::open(Physical::FIXED_LEN_BYTE_ARRAY, page)?;
        if let Self::DeltaStrings(decoder) = &state
            && decoder.left() > page.count
        {
            let count = decoder.left();
            return Err(corrupt(format!("{count} values in a page of {}", page.count)));
        }
        Ok(state)
    }

    /// The next `values` values of `width` bytes each that share a prefix with the one before: no
    /// more than are needed, since a few bytes may encode any number of them.
    pub(super) fn prefixed(
        &mut self,
        level: Level,
        data: &[u8],
        values: usize,
        width: usize,
    ) -> Result<Strings<i64>> {
        if values > 0 && width > data.len() {
            // Whatever the others share, the first has bytes of its own.
            return Err(fault(ColumnError::Length));
        }
        let Self::DeltaStrings(state) = std::mem::take(self) else { return Err(self.unexpected()) };
        let mut decoder = state.over(data);
        let bytes = values.saturating_mul(width);
        let mut strings = Strings::<i64>::new(false, values, bytes, bytes);
        strings.read(level, &mut decoder, Rows::All(values)).map_err(fault)?;
        *self = Self::DeltaStrings(decoder.over(&[]));
        Ok(strings)
    }

    /// Skips the next values of a page where they have a width, in bytes, or are indices of a
    /// dictionary of some entries; returns whether it could.
    pub(super) fn skip(
        &mut self,
        level: Level,
        page: &DataPage<'_>,
        values: usize,
        (width, entries): (usize, usize),
    ) -> Result<bool> {
        let after = |at: usize, whole: usize| {
            let end = at.checked_add(values).filter(|end| *end <= whole);
            end.ok_or_else(|| fault(ColumnError::Truncated))
        };
        match self {
            // The page's values were not read.
            Self::Plain(at) if page.stored.is_some() => {
                *at = at.saturating_add(values.saturating_mul(width));
            }
            Self::Plain(at) => *at = after(*at / width, page.values.len() / width)? * width,
            Self::Split(at) => *at = after(*at, page.values.len() / width)?,
            Self::Indices(hybrid) => {
                let mut decoder = Indices::new(hybrid.over(indices(page)), entries);
                skip::<u32, _>(level, &mut decoder, values).map_err(fault)?;
                *hybrid = decoder.into_hybrid().over(&[]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The error for an encoding that the decoder does not handle.
    pub(super) fn unexpected(&self) -> Error {
        Error::file(
            FileErrorKind::Unsupported,
            "values in an encoding that their type does not have",
        )
    }
}

/// The bytes of a page of indices after the first one, which is their width.
pub(super) fn indices<'a>(page: &DataPage<'a>) -> &'a [u8] {
    page.values.get(1..).unwrap_or_default()
}

/// The runs of a page of booleans, after the four bytes of their length. A page of nulls may be
/// empty.
pub(super) fn runs(data: &[u8]) -> Result<&[u8]> {
    let Some((length, runs)) = data.split_first_chunk::<4>() else {
        return if data.is_empty() { Ok(data) } else { Err(corrupt("booleans without a length")) };
    };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    runs.get(..length).ok_or_else(|| corrupt("the page ends before its booleans"))
}

/// Checks the number of entries of a dictionary against its bytes: each takes at least `least`.
pub(super) fn plausible(page: &DictionaryPage<'_>, least: usize) -> Result<usize> {
    if page.count.saturating_mul(least) <= page.values.len() {
        return Ok(page.count);
    }
    let message = format!("a dictionary of {} entries in {} bytes", page.count, page.values.len());
    Err(Error::file(FileErrorKind::Truncated, message))
}
