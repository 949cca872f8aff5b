// SPDX-License-Identifier: Apache-2.0
//! `BYTE_STREAM_SPLIT`: the first byte of every value, then the second of every value, and so on.

use std::mem::MaybeUninit;

use arrow_buffer::ArrowNativeType;

use super::read::{Decode, DecodeBytes, bytes_mut};
use super::{ColumnError, Result};
use crate::isa::Isa;

/// A decoder of split numbers: a [`Decode`] of any type of 1, 2, 4, 8 or 16 bytes.
#[derive(Debug, Clone)]
pub struct Split<'a> {
    data: &'a [u8],
    at: usize,
    past_cache: bool,
}

impl<'a> Split<'a> {
    /// A decoder of the streams of a page: one stream per byte of the type that is read, each with
    /// one byte per value.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0, past_cache: false }
    }

    /// Starts at value `at`.
    #[must_use]
    pub fn from(self, at: usize) -> Self {
        Self { at, ..self }
    }
}

// SAFETY: `join` writes all of `out`.
unsafe impl<T: ArrowNativeType> Decode<T> for Split<'_> {
    const STREAMS: bool = true;

    #[inline(always)]
    fn past_cache(&mut self, past: bool) {
        self.past_cache = past;
    }

    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<T>]) -> Result<()> {
        let (stride, at) = (self.data.len() / size_of::<T>(), self.at);
        if out.len() > stride - at.min(stride) {
            return Err(ColumnError::Truncated);
        }
        self.at += out.len();
        let (out, past) = (bytes_mut(out), self.past_cache);
        match size_of::<T>() {
            1 => isa.join::<1>(self.data, stride, at, out, past),
            2 => isa.join::<2>(self.data, stride, at, out, past),
            4 => isa.join::<4>(self.data, stride, at, out, past),
            8 => isa.join::<8>(self.data, stride, at, out, past),
            16 => isa.join::<16>(self.data, stride, at, out, past),
            _ => return Err(ColumnError::Width),
        }
        Ok(())
    }
}

/// A decoder of split byte strings of one size.
#[derive(Debug, Clone)]
pub struct SplitBytes<'a> {
    data: &'a [u8],
    width: usize,
    at: usize,
}

impl<'a> SplitBytes<'a> {
    /// A decoder of `width` streams.
    ///
    /// # Errors
    /// [`ColumnError::Length`] if the width is 0.
    pub fn new(data: &'a [u8], width: usize) -> Result<Self> {
        if width == 0 {
            return Err(ColumnError::Length);
        }
        Ok(Self { data, width, at: 0 })
    }

    /// Starts at value `at`.
    #[must_use]
    pub fn from(self, at: usize) -> Self {
        Self { at, ..self }
    }
}

// SAFETY: every byte of every value is written.
unsafe impl DecodeBytes for SplitBytes<'_> {
    fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<u8>]) -> Result<()> {
        let (stride, at) = (self.data.len() / self.width, self.at);
        let count = out.len() / self.width;
        if count > stride - at.min(stride) {
            return Err(ColumnError::Truncated);
        }
        if count == 0 {
            return Ok(());
        }
        self.at += count;
        match self.width {
            2 => isa.join::<2>(self.data, stride, at, out, false),
            4 => isa.join::<4>(self.data, stride, at, out, false),
            8 => isa.join::<8>(self.data, stride, at, out, false),
            16 => isa.join::<16>(self.data, stride, at, out, false),
            width => {
                for (k, stream) in self.data.chunks_exact(stride).take(width).enumerate() {
                    let stream = &stream[at..at + count];
                    for (byte, value) in stream.iter().zip(out.chunks_exact_mut(width)) {
                        value[k].write(*byte);
                    }
                }
            }
        }
        Ok(())
    }
}
