// SPDX-License-Identifier: Apache-2.0
//! Reads rows from a decoder: chunk by chunk, with nulls inserted, directly or with non-temporal
//! stores.

use std::mem::MaybeUninit;

use arrow_buffer::ArrowNativeType;

use super::{CHUNK, ColumnError, Result};
use crate::isa::{Isa, Kernel, Level};
use crate::prefetch::prefetch;
use crate::{BitBuffer, Buf};

/// Bytes that are copied at a time, while the next ones are prefetched.
const COPY_BYTES: usize = 4096;

/// A source of values of one type.
///
/// # Safety
/// When [`Decode::decode`] returns `Ok`, it has written all of `out`.
pub unsafe trait Decode<T> {
    /// Whether decoding is fast enough for large buffers to be written from a scratch buffer with
    /// non-temporal stores. Slower decoders are better off with plain stores, which the CPU
    /// overlaps with decoding.
    const STREAMS: bool = false;

    /// Writes the next values.
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<T>]) -> Result<()>;

    /// Sets whether the next values go to a buffer larger than the cache.
    #[inline(always)]
    fn past_cache(&mut self, _past: bool) {}

    /// The bytes of the next `count` values, and perhaps more, if they are stored without encoding.
    #[inline(always)]
    fn as_plain(&mut self, _count: usize) -> Option<Result<&[u8]>> {
        None
    }
}

/// The rows that are read.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// This many rows, none of them null.
    All(usize),
    /// One row per bit in `from..to`; a set bit means a value, an unset one null.
    Valid {
        /// The validity bits.
        bits: &'a BitBuffer,
        /// The first bit.
        from: usize,
        /// The bit after the last; not beyond the end of `bits`.
        to: usize,
    },
}

impl Rows<'_> {
    /// Rows, nulls included.
    pub fn len(self) -> usize {
        match self {
            Self::All(rows) => rows,
            Self::Valid { bits, from, to } => to.min(bits.len()).saturating_sub(from),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Rows that are not null.
    pub fn values(self) -> usize {
        match self {
            Self::All(rows) => rows,
            Self::Valid { bits, from, to } => bits.count_ones(from, to),
        }
    }
}

/// Values on the stack, aligned as vectors are.
#[repr(C, align(64))]
pub(super) struct Scratch<T, const N: usize>([MaybeUninit<T>; N]);

impl<T, const N: usize> Scratch<T, N> {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; N])
    }

    /// Room for the first `len` values; `len` is at most `N`.
    #[inline(always)]
    pub(super) fn room(&mut self, len: usize) -> &mut [MaybeUninit<T>] {
        &mut self.0[..len]
    }

    #[inline(always)]
    pub(super) fn as_ptr(&self) -> *const T {
        self.0.as_ptr().cast()
    }

    /// The first `len` values.
    ///
    /// # Safety
    /// The first `len` values have been written.
    #[inline(always)]
    pub(super) unsafe fn filled(&self, len: usize) -> &[T] {
        let filled = &self.0[..len];
        // SAFETY: the first `len` elements are written, by contract.
        unsafe { std::slice::from_raw_parts(filled.as_ptr().cast(), len) }
    }
}

/// The bytes of a slice that may be uninitialised.
#[inline(always)]
pub(super) fn bytes_mut<T>(slice: &mut [MaybeUninit<T>]) -> &mut [MaybeUninit<u8>] {
    let len = size_of_val(slice);
    // SAFETY: the same memory; uninitialised bytes are allowed in both.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), len) }
}

/// The bytes of numbers.
#[inline(always)]
pub(super) fn bytes<T: ArrowNativeType>(slice: &[T]) -> &[u8] {
    // SAFETY: the same memory; Arrow's native types have no padding.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// Appends the next rows of a decoder to `out`; null rows become zero. For speed, reserve room for
/// all rows beforehand. After an error, `decoder` must not be used.
///
/// # Errors
/// Errors of the decoder, or [`ColumnError::Count`] if it has fewer values.
pub fn read<T: ArrowNativeType, D: Decode<T>>(
    level: Level,
    decoder: &mut D,
    rows: Rows<'_>,
    out: &mut Buf<T>,
) -> Result<()> {
    level.dispatch(Read { decoder, rows, out })
}

/// Skips the next `count` values of a decoder.
///
/// # Errors
/// As [`read`].
pub fn skip<T: ArrowNativeType, D: Decode<T>>(
    level: Level,
    decoder: &mut D,
    count: usize,
) -> Result<()> {
    level.dispatch(Skip { decoder, count, of: std::marker::PhantomData::<T> })
}

struct Read<'a, 'r, T, D> {
    decoder: &'a mut D,
    rows: Rows<'r>,
    out: &'a mut Buf<T>,
}

impl<T: ArrowNativeType, D: Decode<T>> Kernel for Read<'_, '_, T, D> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<()> {
        let Self { decoder, rows, out } = self;
        let total = rows.len();
        // Bounded: by the rows, which the caller has a budget for; growth passes the gate.
        out.reserve(total);
        let streams = out.streams();
        let dense = matches!(rows, Rows::All(_));
        decoder.past_cache(streams && dense);
        if dense && let Some(plain) = decoder.as_plain(total) {
            let room = bytes_mut(out.room(total));
            let all = plain?;
            let plain = all.get(..room.len()).ok_or(ColumnError::Truncated)?;
            let mut done = 0;
            for (plain, room) in plain.chunks(COPY_BYTES).zip(room.chunks_mut(COPY_BYTES)) {
                done += COPY_BYTES;
                prefetch(all, done, COPY_BYTES);
                if streams {
                    isa.stream(plain, room);
                } else {
                    room.write_copy_of_slice(plain);
                }
            }
            if streams {
                isa.fence();
            }
            // SAFETY: `plain` is as long as the room.
            unsafe { out.advance(total) };
            return Ok(());
        }
        // For values without nulls the kernel itself uses non-temporal stores, if it has them.
        let staged = streams && D::STREAMS && !(dense && I::STORES_PAST_CACHE);
        let mut at = 0;
        while at < total {
            let count = if dense && !staged {
                total
            } else {
                // One more in the first chunk: delta encodings store the first value separately,
                // so that all later chunks start at a multiple of a miniblock.
                (CHUNK + usize::from(at == 0 && !staged)).min(total - at)
            };
            let mut stage = Scratch::<T, { CHUNK + 1 }>::new();
            let room = if staged { stage.room(count) } else { out.room(count) };
            chunk(isa, decoder, rows, at, room)?;
            if staged {
                // SAFETY: `chunk` has written `count` values.
                let filled = unsafe { stage.filled(count) };
                isa.stream(bytes(filled), bytes_mut(out.room(count)));
            }
            // SAFETY: `count` values were written to the room.
            unsafe { out.advance(count) };
            at += count;
        }
        if streams {
            isa.fence();
        }
        Ok(())
    }
}

/// Writes the rows from row `at` on; fills `out`.
///
/// `decode` is called in one place only, since each call is inlined, per type and instruction set.
#[inline(always)]
fn chunk<I: Isa, T: ArrowNativeType, D: Decode<T>>(
    isa: I,
    decoder: &mut D,
    rows: Rows<'_>,
    at: usize,
    out: &mut [MaybeUninit<T>],
) -> Result<()> {
    // The bits, if there are both values and nulls.
    let mut nulls = None;
    let mut valid = out.len();
    if let Rows::Valid { bits, from, .. } = rows {
        let first = from + at;
        valid = bits.count_ones(first, first + out.len());
        if valid == 0 {
            out.fill(MaybeUninit::new(T::default()));
            return Ok(());
        }
        nulls = (valid < out.len()).then_some((bits, first));
    }
    // 64 more, so that a whole group can be loaded from any position.
    let mut dense = Scratch::<T, { CHUNK + 1 + 64 }>::new();
    let to = if nulls.is_some() { dense.room(valid) } else { &mut *out };
    if nulls.is_some()
        && let Some(plain) = decoder.as_plain(valid)
    {
        let plain = plain?;
        prefetch(plain, valid * size_of::<T>(), CHUNK * size_of::<T>());
        if let Some((bits, first)) = nulls
            && plain.len() >= (valid + 64) * size_of::<T>()
        {
            spread(isa, plain.as_ptr().cast(), bits, first, out);
            return Ok(());
        }
        let plain = plain.get(..valid * size_of::<T>()).ok_or(ColumnError::Truncated)?;
        bytes_mut(to).write_copy_of_slice(plain);
    } else {
        decoder.decode(isa, to)?;
    }
    if let Some((bits, first)) = nulls {
        // One element after the last value is read, and discarded.
        dense.room(valid + 1)[valid].write(T::default());
        spread(isa, dense.as_ptr(), bits, first, out);
    }
    Ok(())
}

/// Spreads the values at `dense` over the bits from bit `first` on. There is a value for each set
/// bit, and 64 more can be read.
#[inline(always)]
fn spread<I: Isa, T: ArrowNativeType>(
    isa: I,
    mut dense: *const T,
    bits: &BitBuffer,
    first: usize,
    out: &mut [MaybeUninit<T>],
) {
    let (mut at, len) = (0, out.len());
    while at < len {
        let rest = len - at;
        let mask = bits.word(first + at);
        let mask = if rest < 64 { mask & ((1 << rest) - 1) } else { mask };
        // SAFETY: `dense` has advanced by one value per set bit; the rest and 64 more can be read.
        // Whole groups are written only where there is room, others through the stack.
        unsafe {
            if rest >= 64 {
                isa.spread(dense, mask, out.as_mut_ptr().add(at).cast());
            } else {
                let mut group = Scratch::<T, 64>::new();
                isa.spread(dense, mask, group.0.as_mut_ptr().cast::<T>());
                out[at..].copy_from_slice(group.room(rest));
            }
            // `dense` need not be aligned, as a plain page has any alignment.
            dense = dense.wrapping_byte_add(mask.count_ones() as usize * size_of::<T>());
        }
        at += 64;
    }
}

struct Skip<'a, T, D> {
    decoder: &'a mut D,
    count: usize,
    of: std::marker::PhantomData<T>,
}

impl<T: ArrowNativeType, D: Decode<T>> Kernel for Skip<'_, T, D> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<I: Isa>(mut self, isa: I) -> Result<()> {
        let mut chunk = CHUNK + 1;
        while self.count > 0 {
            let count = chunk.min(self.count);
            self.decoder.decode(isa, Scratch::<T, { CHUNK + 1 }>::new().room(count))?;
            self.count -= count;
            chunk = CHUNK;
        }
        Ok(())
    }
}

/// Appends the next rows of fixed-size byte strings, `width` bytes each; null rows become zero
/// bytes.
///
/// # Errors
/// Errors of the decoder, or [`ColumnError::Count`] if it has fewer values.
pub fn read_bytes<D: DecodeBytes>(
    level: Level,
    decoder: &mut D,
    rows: Rows<'_>,
    out: &mut Buf<u8>,
) -> Result<()> {
    level.dispatch(ReadBytes { decoder, rows, out })
}

/// A source of byte strings of one size.
///
/// # Safety
/// When [`DecodeBytes::decode`] returns `Ok`, it has written all of `out`.
pub unsafe trait DecodeBytes {
    /// The size of each, in bytes.
    fn width(&self) -> usize;

    /// Writes the next values; the length of `out` is a multiple of the width.
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<u8>]) -> Result<()>;
}

struct ReadBytes<'a, 'r, D> {
    decoder: &'a mut D,
    rows: Rows<'r>,
    out: &'a mut Buf<u8>,
}

impl<D: DecodeBytes> Kernel for ReadBytes<'_, '_, D> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<()> {
        let (total, width) = (self.rows.len(), self.decoder.width());
        let room = total.checked_mul(width).ok_or(ColumnError::Offset)?;
        // Bounded: by the rows, which the caller has a budget for; growth passes the gate.
        self.out.reserve(room);
        let mut at = 0;
        while at < total {
            // A run of rows that have values, then a run of those that have none.
            let (mut valid, mut null) = ((total - at).min(CHUNK), 0);
            if let Rows::Valid { bits, from, .. } = self.rows {
                let rest = (total - at).min(64);
                let word = bits.word(from + at);
                valid = (word.trailing_ones() as usize).min(rest);
                if valid < rest {
                    null = ((word >> valid).trailing_zeros() as usize).min(rest - valid);
                }
            }
            let (values, zeros) = (valid * width, null * width);
            let room = self.out.room(values + zeros);
            self.decoder.decode(isa, &mut room[..values])?;
            room[values..].fill(MaybeUninit::new(0));
            // SAFETY: all of the room was written.
            unsafe { self.out.advance(values + zeros) };
            at += valid + null;
        }
        Ok(())
    }
}

/// Appends booleans that are stored as one bit each, from value `at` on.
///
/// # Errors
/// [`ColumnError::Truncated`].
pub fn plain_bits(
    level: Level,
    data: &[u8],
    at: usize,
    rows: Rows<'_>,
    out: &mut BitBuffer,
) -> Result<()> {
    let end = at.checked_add(rows.values()).ok_or(ColumnError::Truncated)?;
    if end.div_ceil(8) > data.len() {
        return Err(ColumnError::Truncated);
    }
    level.dispatch(Bits { source: Packed { data, at }, rows, out });
    Ok(())
}

/// Appends the bits from bit `at` of `dense` on, one for each row that has a value; null rows
/// become `false`.
pub fn spread_bits(
    level: Level,
    dense: &BitBuffer,
    at: usize,
    rows: Rows<'_>,
    out: &mut BitBuffer,
) {
    level.dispatch(Bits { source: Dense { bits: dense, at }, rows, out });
}

/// A source of bits.
trait BitSource {
    /// The next 64 bits, of which `count` are consumed.
    fn next(&mut self, count: usize) -> u64;
}

struct Packed<'a> {
    data: &'a [u8],
    at: usize,
}

impl BitSource for Packed<'_> {
    #[inline(always)]
    fn next(&mut self, count: usize) -> u64 {
        let at = self.at;
        self.at += count;
        super::isa::bits_at(self.data, at, 64)
    }
}

struct Dense<'a> {
    bits: &'a BitBuffer,
    at: usize,
}

impl BitSource for Dense<'_> {
    #[inline(always)]
    fn next(&mut self, count: usize) -> u64 {
        let at = self.at;
        self.at += count;
        self.bits.word(at)
    }
}

struct Bits<'a, 'r, S> {
    source: S,
    rows: Rows<'r>,
    out: &'a mut BitBuffer,
}

impl<S: BitSource> Kernel for Bits<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self, isa: I) {
        let total = self.rows.len();
        // Bounded: by a bit for each row, which the caller has a budget for.
        self.out.reserve(total);
        let mut at = 0;
        while at < total {
            let count = (total - at).min(64);
            let bits = match self.rows {
                Rows::All(_) => self.source.next(count),
                Rows::Valid { bits, from, .. } => {
                    let mask = bits.word(from + at) & (u64::MAX >> (64 - count));
                    isa.pdep(self.source.next(mask.count_ones() as usize), mask)
                }
            };
            self.out.push_bits(bits, count);
            at += count;
        }
    }
}
