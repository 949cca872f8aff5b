// SPDX-License-Identifier: Apache-2.0
//! The level decoders: a page's definition and repetition levels, read piece by piece, and the
//! lists and structures around a leaf that are built from them.

use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrowsmith_core::Result;
use arrowsmith_parquet::nest::Ancestor as AncestorShape;
use arrowsmith_parquet::{LevelEncoding, Levels as Encoded};
use arrowsmith_simd::column::levels::{Levels, ListShape, Slots, list_starts, validity};
use arrowsmith_simd::column::{Hybrid, packed_levels};
use arrowsmith_simd::{BitBuffer, Buf, Level};

use super::fault;

/// The levels of one kind of a page, those that have not been read yet.
#[derive(Debug, Default)]
pub(super) enum PageLevels {
    /// There are none: all are 0.
    #[default]
    None,
    /// Runs, without the bytes that contain them.
    Runs(Hybrid<'static>),
    /// All of them, decoded: the deprecated encoding, which cannot be read in pieces.
    Decoded { levels: Buf<u8>, at: usize },
}

impl PageLevels {
    /// The levels of a page of `count` entries.
    pub(super) fn open(encoded: &Encoded<'_>, count: usize) -> Result<Self> {
        let Ok(max @ 1..) = u8::try_from(encoded.max) else { return Ok(Self::None) };
        let width = u32::from(encoded.bit_width());
        Ok(match encoded.encoding {
            LevelEncoding::Rle => {
                Self::Runs(Hybrid::new(encoded.bytes, width).map_err(fault)?.over(&[]))
            }
            LevelEncoding::BitPacked => {
                let mut levels = Buf::default();
                packed_levels(encoded.bytes, width, count, max, &mut levels).map_err(fault)?;
                Self::Decoded { levels, at: 0 }
            }
        })
    }

    /// Appends the next `count` levels.
    pub(super) fn read(
        &mut self,
        level: Level,
        encoded: &Encoded<'_>,
        count: usize,
        out: &mut Buf<u8>,
    ) -> Result<()> {
        match self {
            Self::None => out.push_n(0, count),
            Self::Runs(runs) => {
                let max = u8::try_from(encoded.max).unwrap_or(u8::MAX);
                let mut hybrid = runs.over(encoded.bytes);
                hybrid.levels(level, count, max, out).map_err(fault)?;
                *runs = hybrid.over(&[]);
            }
            Self::Decoded { levels, at } => {
                let end = at.saturating_add(count).min(levels.len());
                out.extend(&levels.as_slice()[*at..end]);
                *at = end;
            }
        }
        Ok(())
    }

    /// Skips the next `count` levels, of which the highest is 1; returns how many are 1.
    pub(super) fn skip_bits(&mut self, encoded: &Encoded<'_>, count: usize) -> Result<usize> {
        match self {
            Self::None => Ok(count),
            Self::Runs(runs) => {
                let mut hybrid = runs.over(encoded.bytes);
                let ones = hybrid.ones(count).map_err(fault)?;
                *runs = hybrid.over(&[]);
                Ok(ones)
            }
            Self::Decoded { levels, at } => {
                let end = at.saturating_add(count).min(levels.len());
                let skipped = &levels.as_slice()[*at..end];
                *at = end;
                Ok(skipped.iter().filter(|level| **level > 0).count())
            }
        }
    }

    /// Appends the next `count` levels, of which the highest is 1, as bits; returns how many are
    /// set.
    pub(super) fn read_bits(
        &mut self,
        level: Level,
        encoded: &Encoded<'_>,
        count: usize,
        out: &mut BitBuffer,
    ) -> Result<usize> {
        match self {
            Self::None => {
                out.push_run(true, count);
                Ok(count)
            }
            Self::Runs(runs) => {
                let mut hybrid = runs.over(encoded.bytes);
                let ones = hybrid.bits(level, count, out).map_err(fault)?;
                *runs = hybrid.over(&[]);
                Ok(ones)
            }
            Self::Decoded { levels, at } => {
                let end = at.saturating_add(count).min(levels.len());
                let mut ones = 0;
                for &level in &levels.as_slice()[*at..end] {
                    out.push(level > 0);
                    ones += usize::from(level);
                }
                *at = end;
                Ok(ones)
            }
        }
    }
}

/// A validity bitmap that grows.
#[derive(Debug, Default)]
pub(super) struct Validity {
    pub(super) bits: BitBuffer,
    nulls: usize,
}

impl Validity {
    /// Counts slots that were just appended to the bits.
    pub(super) fn count(&mut self, slots: usize, valid: usize) {
        self.nulls += slots - valid;
    }

    /// Takes the bitmap as Arrow's; `None` if nothing is null.
    pub(super) fn take(&mut self) -> Option<NullBuffer> {
        let bits = self.bits.take();
        let nulls = std::mem::take(&mut self.nulls);
        (nulls > 0).then(|| NullBuffer::new(bits))
    }
}

/// A list or structure around a leaf, built from that leaf's levels.
#[derive(Debug)]
pub(super) struct Ancestor {
    slots: Slots,
    /// Definition level from which it is not null.
    valid: u8,
    /// Validity, if it can be null.
    validity: Option<Validity>,
    list: Option<List>,
}

#[derive(Debug)]
struct List {
    elements: Slots,
    starts: Buf<i32>,
    /// Elements so far.
    count: usize,
}

impl Ancestor {
    /// A node.
    pub(super) fn new(ancestor: &AncestorShape) -> Self {
        let AncestorShape { slots, valid, elements } = *ancestor;
        let validity = (valid > slots.definition).then(Validity::default);
        let list = elements.map(|elements| List { elements, starts: Buf::default(), count: 0 });
        Self { slots, valid, validity, list }
    }

    /// Appends some entries.
    pub(super) fn push(&mut self, level: Level, levels: Levels<'_>, entries: usize) -> Result<()> {
        if let Some(Validity { bits, nulls }) = &mut self.validity {
            let (slots, valid) =
                validity(level, levels, entries, self.slots, self.valid, bits).map_err(fault)?;
            *nulls += slots - valid;
        }
        if let Some(List { elements, starts, count }) = &mut self.list {
            let shape = ListShape { slots: self.slots, elements: *elements };
            list_starts(level, levels, entries, shape, count, starts).map_err(fault)?;
        }
        Ok(())
    }

    /// Bytes of the appended entries.
    pub(super) fn bytes(&self) -> usize {
        let starts = self.list.as_ref().map_or(0, |list| list.starts.len() * size_of::<i32>());
        starts + self.validity.as_ref().map_or(0, |validity| validity.bits.len() / 8)
    }

    /// The nulls of the appended entries.
    pub(super) fn take_nulls(&mut self) -> Option<NullBuffer> {
        self.validity.as_mut().and_then(Validity::take)
    }

    /// The offsets of the appended entries, the last end included.
    pub(super) fn take_offsets(&mut self) -> ScalarBuffer<i32> {
        let Some(list) = &mut self.list else { return ScalarBuffer::from(vec![0]) };
        // `list_starts` ensured that they can be counted.
        debug_assert!(i32::try_from(list.count).is_ok(), "{} elements", list.count);
        list.starts.push(i32::try_from(std::mem::take(&mut list.count)).unwrap_or(i32::MAX));
        list.starts.take()
    }
}
