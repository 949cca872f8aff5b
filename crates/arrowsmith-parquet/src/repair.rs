// SPDX-License-Identifier: Apache-2.0
//! Footers that the `parquet` crate refuses for one thing that does not matter: a converted type beyond those
//! that the format defines. Old writers marked columns of nulls by one; all other readers pass over it.
//!
//! It writes the schema anew, without it, and copies everything else.

use crate::thrift::{I32, LIST, Reader, STRUCT, ThriftError};

/// Fields of `SchemaElement`.
const CONVERTED_TYPE: i16 = 6;
const LOGICAL_TYPE: i16 = 10;

/// The last converted type of the format.
const CONVERTED_TYPE_MAX: i32 = 21;

/// What `pyarrow` and its kin wrote for columns of nulls.
const NULL: i32 = 24;

/// `LogicalType`: the alternative UNKNOWN, which has no fields.
const UNKNOWN: [u8; 3] = [11 << 4 | STRUCT, 0, 0];

/// `FileMetaData` without unknown converted types; none if there is nothing to repair, or it is not one.
pub(crate) fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    repair(bytes, &mut out).ok().filter(|found| *found)?;
    Some(out)
}

/// Says whether something was left out.
fn repair(bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, ThriftError> {
    let mut reader = Reader::new(bytes);
    let mut last = 0;
    let mut found = false;
    while let Some((number, kind)) = reader.field(&mut last)? {
        if (number, kind) != (2, LIST) {
            reader.skip(kind)?;
            continue;
        }
        let (kind, count) = reader.list()?;
        if kind != STRUCT {
            return Err(ThriftError::Malformed);
        }
        out.extend(&bytes[..reader.at()]);
        for _ in 0..count {
            found |= element(bytes, &mut reader, out)?;
        }
        out.extend(&bytes[reader.at()..]);
        return Ok(found);
    }
    Ok(false)
}

/// Copies a `SchemaElement`; says whether something was left out.
fn element(bytes: &[u8], reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<bool, ThriftError> {
    let (mut last, mut written) = (0, 0);
    let (mut unknown, mut logical) = (None, false);
    while let Some((number, kind)) = reader.field(&mut last)? {
        let start = reader.at();
        if (number, kind) == (CONVERTED_TYPE, I32) {
            let code = reader.i32()?;
            if !(0..=CONVERTED_TYPE_MAX).contains(&code) {
                unknown = Some(code);
                continue;
            }
        } else {
            reader.skip(kind)?;
        }
        logical |= number == LOGICAL_TYPE;
        field(number, kind, &mut written, out)?;
        out.extend(&bytes[start..reader.at()]);
    }
    if unknown == Some(NULL) && !logical && written < LOGICAL_TYPE {
        field(LOGICAL_TYPE, STRUCT, &mut written, out)?;
        out.extend(UNKNOWN);
    }
    out.push(0);
    Ok(unknown.is_some())
}

/// The head of a field behind field `last`.
fn field(number: i16, kind: u8, last: &mut i16, out: &mut Vec<u8>) -> Result<(), ThriftError> {
    match u8::try_from(number.saturating_sub(*last)) {
        Ok(step @ 1..=15) => out.push(step << 4 | kind),
        // No field of a schema element is so far from the one before.
        _ => return Err(ThriftError::Malformed),
    }
    *last = number;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_converted_types_are_left_out() {
        // FileMetaData {1: i32 1, 2: [{4: "a", 5: 1}, {1: 1, 3: 1, 4: "b", 6: 24}], 3: i64 7}
        let element = [0x15, 2, 0x25, 2, 0x18, 1, b'b', 0x25, 48, 0];
        let root = [0x48, 1, b'a', 0x15, 2, 0];
        let footer = [&[0x15, 2, 0x19, 0x2c][..], &root, &element, &[0x16, 14, 0]].concat();
        let mended = [0x15, 2, 0x25, 2, 0x18, 1, b'b', 0x6c, 0xbc, 0, 0, 0];
        let expected = [&[0x15, 2, 0x19, 0x2c][..], &root, &mended, &[0x16, 14, 0]].concat();
        assert_eq!(repaired(&footer), Some(expected.clone()));
        assert_eq!(repaired(&expected), None);
        for cut in 0..footer.len() {
            let _ = repaired(&footer[..cut]);
        }
    }
}
