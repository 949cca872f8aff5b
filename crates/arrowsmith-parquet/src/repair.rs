// SPDX-License-Identifier: Apache-2.0
//! Repairs footers that the `parquet` crate rejects for details that do not matter, and that all
//! other readers read:
//!
//! - a converted type beyond those that the format defines (old writers marked columns of nulls by
//!   one);
//! - fields of private extensions whose number the format later assigned to something else;
//! - a column or group, the root too, without a repetition type: it is read as required;
//! - a converted type beside a logical type without meaning, as intervals have it, which have no
//!   logical type of their own.
//!
//! It rewrites the metadata without them, and copies everything else.

use crate::thrift::{I32, I64, LIST, Reader, STRUCT, ThriftError, zigzag};

/// The fields of a structure that are examined: their number, their type in the format, and what
/// they hold. Fields of other numbers are copied, those of another type omitted.
type Shape = &'static [(i16, u8, Inside)];

/// What a field holds.
#[derive(Clone, Copy)]
enum Inside {
    /// Not examined.
    Anything,
    /// A structure, or a list of them.
    Shape(Shape),
    /// A list of `SchemaElement`.
    Schema,
}

const FILE_METADATA: Shape = &[(2, LIST, Inside::Schema), (4, LIST, Inside::Shape(ROW_GROUP))];
const ROW_GROUP: Shape = &[(1, LIST, Inside::Shape(COLUMN_CHUNK))];
const COLUMN_CHUNK: Shape = &[(3, STRUCT, Inside::Shape(COLUMN_METADATA))];
/// The offset and length of a bloom filter, and the size statistics: the newest fields.
const COLUMN_METADATA: Shape =
    &[(14, I64, Inside::Anything), (15, I32, Inside::Anything), (16, STRUCT, Inside::Anything)];

/// Fields of `SchemaElement`.
const REPETITION_TYPE: i16 = 3;
const CONVERTED_TYPE: i16 = 6;
const LOGICAL_TYPE: i16 = 10;

/// The last converted type of the format.
const CONVERTED_TYPE_MAX: i32 = 21;

/// What `pyarrow` and its kin wrote for columns of nulls.
const NULL: i32 = 24;

/// `LogicalType`: the alternative UNKNOWN, which has no fields.
const UNKNOWN: [u8; 3] = [11 << 4 | STRUCT, 0, 0];

/// REQUIRED, the first of the repetition types.
const REQUIRED: u8 = 0;

/// Whether an alternative of `LogicalType` has a meaning: 9 was reserved for intervals and never
/// assigned, 11 is UNKNOWN.
fn says_something(alternative: i16) -> bool {
    matches!(alternative, 1..=8 | 10 | 12..=18)
}

/// `FileMetaData` without what the crate rejects; `None` if there is nothing to repair, or it is
/// malformed.
pub(crate) fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let found = structure(bytes, &mut Reader::new(bytes), FILE_METADATA, &mut out);
    found.ok().filter(|found| *found)?;
    Some(out)
}

/// Copies a structure; returns whether something was omitted. It goes no deeper than the shapes do.
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

/// Copies a `SchemaElement`; returns whether something was omitted.
fn element(bytes: &[u8], reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<bool, ThriftError> {
    let (mut last, mut written) = (0, 0);
    let (mut unknown, mut logical, mut found) = (None, false, false);
    let (mut repetition, mut converted) = (false, false);
    while let Some((number, kind)) = reader.field(&mut last)? {
        let start = reader.at();
        repetition |= number == REPETITION_TYPE;
        if !repetition && number > REPETITION_TYPE && written < REPETITION_TYPE {
            field(REPETITION_TYPE, I32, &mut written, out)?;
            out.push(REQUIRED);
            (repetition, found) = (true, true);
        }
        if (number, kind) == (CONVERTED_TYPE, I32) {
            let code = reader.i32()?;
            if !(0..=CONVERTED_TYPE_MAX).contains(&code) {
                unknown = Some(code);
                continue;
            }
            converted = true;
        } else if (number, kind) == (LOGICAL_TYPE, STRUCT) {
            let first = reader.clone().field(&mut 0)?;
            reader.skip(kind)?;
            if converted && first.is_none_or(|(alternative, _)| !says_something(alternative)) {
                found = true;
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
    if !repetition && written < REPETITION_TYPE {
        field(REPETITION_TYPE, I32, &mut written, out)?;
        out.push(REQUIRED);
        found = true;
    }
    out.push(0);
    Ok(found || unknown.is_some())
}

/// The header of a field that follows field `last`.
fn field(number: i16, kind: u8, last: &mut i16, out: &mut Vec<u8>) -> Result<(), ThriftError> {
    match u8::try_from(number.saturating_sub(*last)) {
        Ok(step @ 1..=15) => out.push(step << 4 | kind),
        // A private extension, far from the previous number.
        _ => {
            out.push(kind);
            zigzag(number.into(), out);
        }
    }
    *last = number;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_converted_types_are_left_out() {
        // FileMetaData {1: i32 1, 2: [{3: 0, 4: "a", 5: 1}, {1: 1, 3: 1, 4: "b", 6: 24}], 3: i64 7}
        let element = [0x15, 2, 0x25, 2, 0x18, 1, b'b', 0x25, 48, 0];
        let root = [0x35, 0, 0x18, 1, b'a', 0x15, 2, 0];
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
    fn what_does_not_say_how_it_repeats_is_there_once() {
        // FileMetaData {1: i32 1, 2: [{4: "a", 5: 1}, {1: 1, 4: "b", 1000: i32 1}], 3: i64 7}
        let own = [0x05, 0xd0, 0x0f, 2, 0];
        let element = [&[0x15, 2, 0x38, 1, b'b'][..], &own].concat();
        let root = [0x48, 1, b'a', 0x15, 2, 0];
        let footer = [&[0x15, 2, 0x19, 0x2c][..], &root, &element, &[0x16, 14, 0]].concat();
        let mended = [&[0x15, 2, 0x25, 0, 0x18, 1, b'b'][..], &own].concat();
        let root = [0x35, 0, 0x18, 1, b'a', 0x15, 2, 0];
        let expected = [&[0x15, 2, 0x19, 0x2c][..], &root, &mended, &[0x16, 14, 0]].concat();
        assert_eq!(repaired(&footer), Some(expected.clone()));
        assert_eq!(repaired(&expected), None);
    }

    #[test]
    fn a_converted_type_counts_where_the_logical_one_says_nothing() {
        // {1: 7, 2: 12, 3: 0, 4: "b", 6: 21, 10: {alternative: {}}}
        let footer = |alternative: u8| {
            let element = [0x15, 14, 0x15, 24, 0x15, 0, 0x18, 1, b'b', 0x25, 42];
            let logical = [0x4c, alternative << 4 | 0x0c, 0, 0];
            [&[0x29, 0x1c][..], &element, &logical, &[0, 0]].concat()
        };
        let without =
            [&[0x29, 0x1c][..], &[0x15, 14, 0x15, 24, 0x15, 0, 0x18, 1, b'b', 0x25, 42, 0, 0]]
                .concat();
        assert_eq!(repaired(&footer(9)), Some(without.clone()));
        assert_eq!(repaired(&footer(11)), Some(without));
        assert_eq!(repaired(&footer(10)), None);
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
