// SPDX-License-Identifier: Apache-2.0
//! `PLAIN` values of a fixed size, and conversions of numbers.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use arrow_buffer::{ArrowNativeType, i256};

use super::read::{Decode, DecodeBytes, Scratch, bytes_mut};
use super::{CHUNK, ColumnError, Result};
use crate::Buf;
use crate::isa::Isa;

/// A decoder of little-endian numbers: a [`Decode`] of any number type.
#[derive(Debug, Clone)]
pub struct Plain<'a> {
    data: &'a [u8],
}

impl<'a> Plain<'a> {
    /// A decoder of the values of a page.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data }
    }
}

/// Splits the first `len` bytes off `data`.
#[inline(always)]
fn take<'a>(data: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (head, rest) = data.split_at_checked(len).ok_or(ColumnError::Truncated)?;
    *data = rest;
    Ok(head)
}

// SAFETY: all bytes of `out` are written, and every bit pattern is a valid number.
unsafe impl<T: ArrowNativeType> Decode<T> for Plain<'_> {
    const STREAMS: bool = true;

    #[inline(always)]
    fn decode<I: Isa>(&mut self, _isa: I, out: &mut [MaybeUninit<T>]) -> Result<()> {
        let out = bytes_mut(out);
        out.write_copy_of_slice(take(&mut self.data, out.len())?);
        Ok(())
    }

    #[inline(always)]
    fn as_plain(&mut self, count: usize) -> Option<Result<&[u8]>> {
        let data = self.data;
        Some(take(&mut self.data, count.saturating_mul(size_of::<T>())).map(|_| data))
    }
}

/// A decoder of byte strings of one size.
#[derive(Debug, Clone)]
pub struct PlainBytes<'a> {
    data: &'a [u8],
    width: usize,
}

impl<'a> PlainBytes<'a> {
    /// A decoder of the values of a page, `width` bytes each.
    pub fn new(data: &'a [u8], width: usize) -> Self {
        Self { data, width }
    }
}

// SAFETY: all bytes of `out` are written.
unsafe impl DecodeBytes for PlainBytes<'_> {
    fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn decode<I: Isa>(&mut self, _isa: I, out: &mut [MaybeUninit<u8>]) -> Result<()> {
        out.write_copy_of_slice(take(&mut self.data, out.len())?);
        Ok(())
    }
}

/// A conversion between numbers that truncates or sign-extends.
pub trait CastFrom<S> {
    /// Converts.
    fn cast_from(value: S) -> Self;
}

macro_rules! casts {
    ($($from:ty => $($to:ty),+;)+) => {$($(
        impl CastFrom<$from> for $to {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "only some of the casts do")]
            fn cast_from(value: $from) -> Self {
                value as $to
            }
        }
    )+)+};
}

casts! {
    i32 => i8, i16, u8, u16, u32, i64, i128;
    i64 => i32, u64, i128;
}

impl CastFrom<i32> for i256 {
    #[inline(always)]
    fn cast_from(value: i32) -> Self {
        Self::from_i128(i128::from(value))
    }
}

impl CastFrom<i64> for i256 {
    #[inline(always)]
    fn cast_from(value: i64) -> Self {
        Self::from_i128(i128::from(value))
    }
}

/// Reads `S` and yields another type: a [`Decode`] of each that is [`CastFrom`] `S`.
#[derive(Debug, Clone)]
pub struct Cast<S, D> {
    decoder: D,
    from: PhantomData<S>,
}

impl<S, D> Cast<S, D> {
    /// Converts the values of a decoder of `S`.
    pub fn new(decoder: D) -> Self {
        Self { decoder, from: PhantomData }
    }

    /// The decoder.
    pub fn into_inner(self) -> D {
        self.decoder
    }
}

// SAFETY: the inner decoder writes all of the scratch, and each of these is written to `out`.
unsafe impl<S: ArrowNativeType, T: CastFrom<S>, D: Decode<S>> Decode<T> for Cast<S, D> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<T>]) -> Result<()> {
        let mut scratch = Scratch::<S, { CHUNK + 1 }>::new();
        for out in out.chunks_mut(CHUNK + 1) {
            self.decoder.decode(isa, scratch.room(out.len()))?;
            // SAFETY: just written.
            let values = unsafe { scratch.filled(out.len()) };
            for (value, out) in values.iter().zip(out) {
                out.write(T::cast_from(*value));
            }
        }
        Ok(())
    }
}

/// Reads big-endian two's complement numbers of any width as decimals: turns a decoder of byte
/// strings into a [`Decode`] of `i32`, `i64`, `i128` and `i256`.
#[derive(Debug, Clone)]
pub struct BigEndian<D> {
    decoder: D,
    /// A chunk of strings, and 16 bytes of padding that may be loaded with the last one.
    buffer: Vec<MaybeUninit<u8>>,
}

/// Maximum width of a number, in bytes.
const NUMBER_BYTES_MAX: usize = 4096;

impl<D: DecodeBytes> BigEndian<D> {
    /// Converts byte strings of one size.
    pub fn new(decoder: D) -> Self {
        Self { decoder, buffer: Vec::new() }
    }

    /// The decoder.
    pub fn into_inner(self) -> D {
        self.decoder
    }
}

/// An integer type that represents decimals.
pub trait Decimal: Sized + Default {
    /// From big-endian two's complement of any length; `None` if it does not fit.
    fn from_big_endian(bytes: &[u8]) -> Option<Self>;

    /// From a number of 128 bits; `None` if it does not fit.
    fn from_i128(value: i128) -> Option<Self>;
}

/// Sign-extends or truncates to `N` bytes.
#[inline(always)]
fn extend<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xFF } else { 0 };
    let mut out = [sign; N];
    if bytes.len() <= N {
        out[N - bytes.len()..].copy_from_slice(bytes);
        return Some(out);
    }
    let (top, low) = bytes.split_at(bytes.len() - N);
    let fits = top.iter().all(|byte| *byte == sign) && (low[0] ^ sign) < 0x80;
    out.copy_from_slice(low);
    fits.then_some(out)
}

macro_rules! narrow {
    (i256, $value:expr) => {
        Some(i256::from_i128($value))
    };
    ($to:ty, $value:expr) => {
        <$to>::try_from($value).ok()
    };
}

macro_rules! decimals {
    ($($to:tt),+) => {$(
        impl Decimal for $to {
            #[inline(always)]
            fn from_big_endian(bytes: &[u8]) -> Option<Self> {
                extend(bytes).map(Self::from_be_bytes)
            }

            #[inline(always)]
            fn from_i128(value: i128) -> Option<Self> {
                narrow!($to, value)
            }
        }
    )+};
}

decimals!(i32, i64, i128, i256);

// SAFETY: a number is written for every string that the decoder wrote.
unsafe impl<T: Decimal, D: DecodeBytes> Decode<T> for BigEndian<D> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<T>]) -> Result<()> {
        let width = self.decoder.width();
        if width == 0 || width > NUMBER_BYTES_MAX {
            return Err(ColumnError::Length);
        }
        if self.buffer.is_empty() {
            // Bounded: by the width, which was looked at.
            self.buffer.resize(CHUNK * width + 16, MaybeUninit::new(0));
        }
        for out in out.chunks_mut(CHUNK) {
            let len = out.len() * width;
            self.decoder.decode(isa, &mut self.buffer[..len])?;
            // SAFETY: the buffer was initialised with zeros, and decoders only write to it.
            let strings = unsafe {
                let ptr = self.buffer.as_ptr().cast::<u8>();
                std::slice::from_raw_parts(ptr, self.buffer.len())
            };
            if width <= 16 {
                short::<T>(strings, width, out)?;
            } else {
                for (bytes, out) in strings.chunks_exact(width).zip(out) {
                    out.write(T::from_big_endian(bytes).ok_or(ColumnError::Range)?);
                }
            }
        }
        Ok(())
    }
}

/// Converts numbers of up to 16 bytes: each is loaded with the bytes after it, which are shifted
/// out. `strings` has 16 more bytes at its end.
#[inline(always)]
fn short<T: Decimal>(strings: &[u8], width: usize, out: &mut [MaybeUninit<T>]) -> Result<()> {
    let mut fits = true;
    for (i, out) in out.iter_mut().enumerate() {
        let Some(bytes) = strings.get(i * width..).and_then(<[u8]>::first_chunk::<16>) else {
            return Err(ColumnError::Truncated);
        };
        let value = T::from_i128(i128::from_be_bytes(*bytes) >> (128 - 8 * width));
        fits &= value.is_some();
        out.write(value.unwrap_or_default());
    }
    if fits { Ok(()) } else { Err(ColumnError::Range) }
}

/// Reads strings of any length, given by their offsets, as big-endian decimals, and appends them.
///
/// # Errors
/// [`ColumnError::Range`] if one does not fit, [`ColumnError::Length`] if the offsets are not
/// ascending or not within `bytes`.
pub fn decimals<T: ArrowNativeType + Decimal>(
    bytes: &[u8],
    offsets: &[i32],
    out: &mut Buf<T>,
) -> Result<()> {
    out.reserve(offsets.len().saturating_sub(1));
    for ends in offsets.windows(2) {
        let (Ok(start), Ok(end)) = (usize::try_from(ends[0]), usize::try_from(ends[1])) else {
            return Err(ColumnError::Length);
        };
        let bytes = bytes.get(start..end).ok_or(ColumnError::Length)?;
        out.push(T::from_big_endian(bytes).ok_or(ColumnError::Range)?);
    }
    Ok(())
}

/// The unit of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// 1 s.
    Second,
    /// 1 ms.
    Millisecond,
    /// 1 µs.
    Microsecond,
    /// 1 ns.
    Nanosecond,
}

/// A decoder of the deprecated `INT96` timestamps, nanoseconds of a day and a Julian day: a
/// [`Decode`] of `i64`, with values out of range wrapped around.
#[derive(Debug, Clone)]
pub struct Int96<'a> {
    data: &'a [u8],
    unit: TimeUnit,
}

impl<'a> Int96<'a> {
    /// A decoder of the values of a page, to timestamps in `unit` since 1970-01-01.
    pub fn new(data: &'a [u8], unit: TimeUnit) -> Self {
        Self { data, unit }
    }
}

/// 1970-01-01.
const UNIX_JULIAN_DAY: i64 = 2_440_588;

// SAFETY: one number is written for each of the `out.len()` times twelve bytes.
unsafe impl Decode<i64> for Int96<'_> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, _isa: I, out: &mut [MaybeUninit<i64>]) -> Result<()> {
        let data = take(&mut self.data, out.len().saturating_mul(12))?.as_chunks().0;
        match self.unit {
            TimeUnit::Second => instants::<1_000_000_000>(data, out),
            TimeUnit::Millisecond => instants::<1_000_000>(data, out),
            TimeUnit::Microsecond => instants::<1_000>(data, out),
            TimeUnit::Nanosecond => instants::<1>(data, out),
        }
        Ok(())
    }
}

/// Timestamps in units of `NANOS` nanoseconds.
#[inline(always)]
fn instants<const NANOS: i64>(data: &[[u8; 12]], out: &mut [MaybeUninit<i64>]) {
    for (bytes, out) in data.iter().zip(out) {
        let [n0, n1, n2, n3, n4, n5, n6, n7, d0, d1, d2, d3] = *bytes;
        let nanos = i64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let day = i64::from(i32::from_le_bytes([d0, d1, d2, d3])) - UNIX_JULIAN_DAY;
        let start = day.wrapping_mul(86_400_000_000_000 / NANOS);
        out.write(start.wrapping_add(nanos / NANOS));
    }
}
