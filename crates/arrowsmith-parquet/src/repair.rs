// SPDX-License-Identifier: Apache-2.0
//! Footers that the `parquet` crate refuses for things that do not matter: a converted type beyond those that the
//! format defines (old writers marked columns of nulls by one), and fields whose number was somebody's own
//! before the format gave it to something else. All other readers pass over both.
//!
//! It writes the metadata anew, without them, and copies everything else.

use crate::thrift::{I32, I64, LIST, Reader, STRUCT, ThriftError};

/// What of a structure is looked at: the numbers of fields, the types that they have in the format, and what
/// they hold. Fields of other numbers are copied, those of another type left out.
type Shape = &'static [(i16, u8, Inside)];

/// What a field holds.
#[derive(Clone, Copy)]
enum Inside {
    /// Nothing that is looked at.
    Anything,
    /// A structure, or a list of them.
    Shape(Shape),
    /// A list of `SchemaElement`.
    Schema,
}

const FILE_METADATA: Shape = &[(2, LIST, Inside::Schema), (4, LIST, Inside::Shape(ROW_GROUP))];
const ROW_GROUP: Shape = &[(1, LIST, Inside::Shape(COLUMN_CHUNK))];
const COLUMN_CHUNK: Shape = &[(3, STRUCT, Inside::Shape(COLUMN_METADATA))];
/// Where a bloom filter is, its length, and the statistics of sizes: the fields that came last.
const COLUMN_METADATA: Shape =
    &[(14, I64, Inside::Anything), (15, I32, Inside::Anything), (16, STRUCT, Inside::Anything)];

/// Fields of `SchemaElement`.
const CONVERTED_TYPE: i16 = 6;
const LOGICAL_TYPE: i16 = 10;

/// The last converted type of the format.
const CONVERTED_TYPE_MAX: i32 = 21;

/// What `pyarrow` and its kin wrote for columns of nulls.
const NULL: i32 = 24;

/// `LogicalType`: the alternative UNKNOWN, which has no fields.
const UNKNOWN: [u8; 3] = [11 << 4 | STRUCT, 0, 0];

/// `FileMetaData` without what the crate stumbles over; none if there is nothing to repair, or it is not one.
pub(crate) fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let found = structure(bytes, &mut Reader::new(bytes), FILE_METADATA, &mut out);
    found.ok().filter(|found| *found)?;
    Some(out)
}

/// Copies a structure; says whether something was left out. It goes no deeper than the shapes do.
fn structure(
    bytes: &[u8],
    reader: &mut Reader<'_>,
    shape: Shape,
    out: &mut Vec<u8>,
) -> Result<bool, ThriftError> {
    let (mut last, mut written, mut found) = (0, 0, false);
    while let Some((number, kind)) = reader.field(&mut last)? {
        let start = reader.at();
        let known = shape.iter().find(|field| field.0 == number);
        if known.is_some_and(|field| field.1 != kind) {
            reader.skip(kind)?;
            found = true;
            continue;
        }
        field(number, kind, &mut written, out)?;
        match known.map_or(Inside::Anything, |field| field.2) {
            Inside::Anything => {
                reader.skip(kind)?;
                out.extend(&bytes[start..reader.at()]);
            }
            Inside::Shape(shape) if kind == STRUCT => {
                found |= structure(bytes, reader, shape, out)?;
            }
            inside => {
                let (kind, count) = reader.list()?;
                if kind != STRUCT {
                    return Err(ThriftError::Malformed);
                }
                out.extend(&bytes[start..reader.at()]);
                for _ in 0..count {
                    found |= match inside {
                        Inside::Shape(shape) => structure(bytes, reader, shape, out)?,
                        _ => element(bytes, reader, out)?,
                    };
                }
            }
        }
    }
    out.push(0);
    Ok(found)
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
        // No field of these structures is so far from the one before.
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

    #[test]
    fn fields_of_another_type_than_the_formats_are_left_out() {
        // FileMetaData {4: [{1: [{2: i64 4, 3: {1: i32 1, 15: VALUE}}], 3: i64 7}]}
        let footer = |value: &[u8]| {
            let column = [&[0x26, 8, 0x1c, 0x15, 2][..], value, &[0, 0]].concat();
            let group = [&[0x19, 0x1c][..], &column, &[0x26, 14, 0]].concat();
            [&[0x49, 0x1c][..], &group, &[0]].concat()
        };
        let list = footer(&[0xe9, 0x25, 2, 4]);
        assert_eq!(repaired(&list), Some(footer(&[])));
        assert_eq!(repaired(&footer(&[0xe5, 2])), None);
        for cut in 0..list.len() {
            let _ = repaired(&list[..cut]);
        }
    }
}
