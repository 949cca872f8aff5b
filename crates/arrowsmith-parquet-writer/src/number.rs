// SPDX-License-Identifier: Apache-2.0
//! Conversions of integers whose range is known.

/// The lowest byte.
#[inline]
pub(crate) fn byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

/// The lowest 32 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
pub(crate) fn low32(value: u64) -> u32 {
    value as u32
}

/// The lowest 64 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
pub(crate) fn low64(value: u128) -> u64 {
    value as u64
}

/// A count or size within a page, which has fewer than 2^31.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "pages are limited to 2^31 values and bytes")]
pub(crate) fn in_page(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok());
    value as u32
}

/// An index or size of 32 bits as one of memory.
#[inline]
pub(crate) fn index(value: u32) -> usize {
    value as usize
}

/// A count or size as the signed integer that Thrift has.
#[inline]
pub(crate) fn signed(value: usize) -> i64 {
    (value as u64).cast_signed()
}

/// Bits of the largest of values.
#[inline]
pub(crate) fn bits(max: u64) -> u32 {
    64 - max.leading_zeros()
}

/// The length of the value behind a view, in bytes: its low 32 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
pub(crate) fn view_len(view: u128) -> u32 {
    view as u32
}
