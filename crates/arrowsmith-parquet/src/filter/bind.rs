// SPDX-License-Identifier: Apache-2.0
//! A literal and a column's type → the test. Literals outside of the type's range are resolved
//! here.

use arrow_buffer::i256;
use arrow_schema::DataType;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrowsmith_core::{Error, Result};

use super::number::{Exact, Range, float};
use super::{Key, Target, Test, time};
use crate::predicate::{Comparison, Literal};

/// The type of a column's values, without the dictionary around them.
pub(crate) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The test of a comparison.
pub(super) fn test(
    column: &str,
    target: &Target,
    comparison: Comparison,
    literal: &Literal,
) -> Result<Test> {
    let refused = |what: &str| {
        Error::Config(format!("condition: column {column} is {what}, which {literal} is not"))
    };
    let Some(leaf) = &target.leaf else {
        return Err(Error::Config(format!(
            "condition: column {column} has columns inside and can only be null or not"
        )));
    };
    let kind = value_type(leaf.field.data_type());
    let key = match (kind, literal) {
        // There is no value that it could be true of.
        (DataType::Null, _) => return Ok(Test::Never),
        (DataType::Boolean, Literal::Boolean(value)) => Key::Boolean(*value),
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Literal::Text(text)) => {
            Key::Bytes(text.clone().into_bytes())
        }
        (
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_),
            Literal::Bytes(bytes),
        ) => Key::Bytes(bytes.clone()),
        (DataType::FixedSizeBinary(16), Literal::Text(text))
            if leaf.field.metadata().get(EXTENSION_TYPE_NAME_KEY).map(String::as_str)
                == Some("arrow.uuid") =>
        {
            Key::Bytes(uuid(text).ok_or_else(|| refused("a UUID"))?)
        }
        (
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_),
            Literal::Text(text),
        ) => Key::Bytes(text.clone().into_bytes()),
        (DataType::Float64, Literal::Number(text)) => {
            let nearest = text.parse().map_err(|_| refused("float64"))?;
            return Ok(float(text, nearest, comparison));
        }
        // The nearest number of the type, so that `x = 0.1` matches what was written as 0.1.
        (DataType::Float32, Literal::Number(text)) => {
            let nearest: f32 = text.parse().map_err(|_| refused("float32"))?;
            return Ok(float(text, nearest.into(), comparison));
        }
        (DataType::Float16, Literal::Number(text)) => {
            let nearest = text.parse().map_err(|_| refused("float16"))?;
            return Ok(float(text, half::f16::from_f64(nearest).to_f64(), comparison));
        }
        (
            DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Timestamp(..),
            Literal::Text(text),
        ) => {
            let test = time::test(text, kind, comparison);
            return test.ok_or_else(|| refused(&kind.to_string()));
        }
        (_, Literal::Number(text)) => {
            let Some((scale, range)) = integers(kind) else {
                return Err(refused(&kind.to_string()));
            };
            let number = Exact::parse(text).ok_or_else(|| refused("a number"))?;
            return Ok(number.test(comparison, scale, range));
        }
        _ => return Err(refused(&kind.to_string())),
    };
    Ok(Test::Compare(comparison, key))
}

/// Scale and range of the types that are compared as integers: of decimals the range of what is
/// stored, which may be more than their digits say.
fn integers(kind: &DataType) -> Option<(i32, Range)> {
    let range = |low: i128, high: i128| (i256::from_i128(low), i256::from_i128(high));
    let (scale, low, high) = match kind {
        DataType::Int8 => (0, i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (0, i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (0, i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 | DataType::Duration(_) => (0, i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, 0, u8::MAX.into()),
        DataType::UInt16 => (0, 0, u16::MAX.into()),
        DataType::UInt32 => (0, 0, u32::MAX.into()),
        DataType::UInt64 => (0, 0, u64::MAX.into()),
        DataType::Decimal32(_, scale) => (i32::from(*scale), i32::MIN.into(), i32::MAX.into()),
        DataType::Decimal64(_, scale) => (i32::from(*scale), i64::MIN.into(), i64::MAX.into()),
        DataType::Decimal128(_, scale) => (i32::from(*scale), i128::MIN, i128::MAX),
        DataType::Decimal256(_, scale) => {
            return Some((i32::from(*scale), (i256::MIN, i256::MAX)));
        }
        _ => return None,
    };
    Some((scale, range(low, high)))
}

fn uuid(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<char> = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 {
        return None;
    }
    let pair = |pair: &[char]| {
        let value = pair.iter().try_fold(0, |value, digit| Some(value * 16 + digit.to_digit(16)?));
        u8::try_from(value?).ok()
    };
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read() {
        let bytes = uuid("00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!(bytes[..3], [0x00, 0x11, 0x22]);
        assert!(uuid("00112233").is_none());
    }
}
