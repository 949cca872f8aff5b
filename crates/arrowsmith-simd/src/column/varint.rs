// SPDX-License-Identifier: Apache-2.0
//! Variable-length integers (ULEB128, zigzag): seven bits per byte, lowest first.

use super::{ColumnError, Result};

/// Reads an unsigned integer at `*pos` and advances it.
#[inline(always)]
pub(super) fn unsigned(data: &[u8], pos: &mut usize) -> Result<u64> {
    let Some(&first) = data.get(*pos) else { return Err(ColumnError::Truncated) };
    *pos += 1;
    if first < 0x80 { Ok(u64::from(first)) } else { long(data, pos, first) }
}

fn long(data: &[u8], pos: &mut usize, first: u8) -> Result<u64> {
    let mut value = u64::from(first & 0x7F);
    for shift in (7..70).step_by(7) {
        let Some(&byte) = data.get(*pos) else { return Err(ColumnError::Truncated) };
        *pos += 1;
        if shift == 63 && byte > 1 {
            return Err(ColumnError::Varint);
        }
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ColumnError::Varint)
}

/// Reads a zigzag-encoded signed integer at `*pos` and advances it.
#[inline(always)]
pub(super) fn signed(data: &[u8], pos: &mut usize) -> Result<i64> {
    let value = unsigned(data, pos)?;
    Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}
