// SPDX-License-Identifier: Apache-2.0
//! Bounds of the values of a chunk or page, and what a test can be for values within them.
//!
//! A bound is used only if its order is certain. The old `min` and `max` use signed order, which is
//! wrong for strings and unsigned numbers; bounds of an unknown column order are ignored; NaN is no
//! bound. A truncated bound is still a bound.

use arrow_schema::DataType;
use half::f16;
use parquet::basic::ColumnOrder;
use parquet::file::statistics::Statistics;

use crate::filter::bind::value_type;
use crate::filter::{Key, Test};
use crate::plan::{Conversion, Leaf, Physical};
use crate::predicate::Comparison;

/// Whether a test may be true of some value, and whether it may be false of some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) yes: bool,
    pub(super) no: bool,
}

impl Verdict {
    pub(super) const UNKNOWN: Self = Self { yes: true, no: true };
}

/// What is known of some values of a column.
#[derive(Debug, PartialEq)]
pub(super) struct Bounds {
    low: Option<Key>,
    high: Option<Key>,
    nulls: Option<usize>,
    count: usize,
}

impl Bounds {
    /// The bounds of a chunk of `count` rows.
    pub(super) fn of_chunk(
        leaf: &Leaf,
        statistics: Option<&Statistics>,
        order: ColumnOrder,
        count: usize,
    ) -> Self {
        let Some(statistics) = statistics else {
            return Self { low: None, high: None, nulls: None, count };
        };
        let trusted = !statistics.is_min_max_deprecated() || signed_order(leaf);
        let bytes = (
            statistics.min_bytes_opt().filter(|_| trusted),
            statistics.max_bytes_opt().filter(|_| trusted),
        );
        let nulls = statistics.null_count_opt().and_then(|nulls| usize::try_from(nulls).ok());
        Self::new(leaf, bytes, order, nulls, count)
    }

    /// The bounds of a page, as a column index has them.
    pub(super) fn of_page(
        leaf: &Leaf,
        (min, max): (&[u8], &[u8]),
        order: ColumnOrder,
        nulls: Option<usize>,
        count: usize,
    ) -> Self {
        Self::new(leaf, (Some(min), Some(max)), order, nulls, count)
    }

    fn new(
        leaf: &Leaf,
        (min, max): (Option<&[u8]>, Option<&[u8]>),
        order: ColumnOrder,
        nulls: Option<usize>,
        count: usize,
    ) -> Self {
        if order == ColumnOrder::UNKNOWN {
            return Self { low: None, high: None, nulls, count };
        }
        let low = min.and_then(|bytes| key(leaf, bytes));
        let high = max.and_then(|bytes| key(leaf, bytes));
        // Swapped bounds come from a writer with another order.
        match (&low, &high) {
            (Some(a), Some(b)) if a > b => Self { low: None, high: None, nulls, count },
            _ => Self { low, high, nulls, count },
        }
    }

    /// The verdict of the bounds on a test.
    pub(super) fn verdict(&self, test: &Test) -> Verdict {
        let some_values = self.nulls.is_none_or(|nulls| nulls < self.count);
        let (comparison, value) = match test {
            Test::IsNull => {
                return Verdict { yes: self.nulls.is_none_or(|nulls| nulls > 0), no: some_values };
            }
            Test::Always => return Verdict { yes: some_values, no: false },
            Test::Never => return Verdict { yes: false, no: some_values },
            Test::Compare(..) if !some_values => return Verdict { yes: false, no: false },
            Test::Compare(comparison, value) => (*comparison, value),
        };
        // Bounds do not include NaN, for which every comparison but this one is false.
        let float = matches!(value, Key::Float(_));
        let nan = matches!(value, Key::Float(value) if value.is_nan());
        // Bounds are never that wide.
        if nan || matches!(value, Key::Wide(_)) {
            return Verdict::UNKNOWN;
        }
        let low =
            |test: fn(&Key, &Key) -> bool| self.low.as_ref().is_none_or(|low| test(low, value));
        let high =
            |test: fn(&Key, &Key) -> bool| self.high.as_ref().is_none_or(|high| test(high, value));
        let only = self.low.as_ref() == Some(value) && self.high.as_ref() == Some(value);
        let inside = low(|low, value| low <= value) && high(|high, value| high >= value);
        match comparison {
            Comparison::Equal => Verdict { yes: inside, no: float || !only },
            Comparison::NotEqual => Verdict { yes: float || !only, no: inside },
            Comparison::Less => Verdict {
                yes: low(|low, value| low < value),
                no: float || high(|high, value| high >= value),
            },
            Comparison::LessOrEqual => Verdict {
                yes: low(|low, value| low <= value),
                no: float || high(|high, value| high > value),
            },
            Comparison::Greater => Verdict {
                yes: high(|high, value| high > value),
                no: float || low(|low, value| low <= value),
            },
            Comparison::GreaterOrEqual => Verdict {
                yes: high(|high, value| high >= value),
                no: float || low(|low, value| low < value),
            },
        }
    }
}

/// Whether signed order, that of the old statistics, is the column's order.
fn signed_order(leaf: &Leaf) -> bool {
    use DataType as D;
    let kind = value_type(leaf.field.data_type());
    match leaf.physical {
        Physical::INT32 | Physical::INT64 => {
            !matches!(kind, D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64)
        }
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => true,
        Physical::INT96 | Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => false,
    }
}

/// A bound in the domain in which the column is compared; `None` if the bytes are not a usable
/// bound.
fn key(leaf: &Leaf, bytes: &[u8]) -> Option<Key> {
    use DataType as D;
    let kind = value_type(leaf.field.data_type());
    let stored = match leaf.physical {
        Physical::BOOLEAN => return Some(Key::Boolean(*bytes.first()? != 0)),
        Physical::FLOAT => {
            let value = f32::from_le_bytes(bytes.try_into().ok()?);
            return (!value.is_nan()).then(|| Key::Float(value.into()));
        }
        Physical::DOUBLE => {
            let value = f64::from_le_bytes(bytes.try_into().ok()?);
            return (!value.is_nan()).then_some(Key::Float(value));
        }
        Physical::INT32 => {
            let value = i32::from_le_bytes(bytes.try_into().ok()?);
            if matches!(kind, D::UInt8 | D::UInt16 | D::UInt32) {
                i128::from(value.cast_unsigned())
            } else {
                i128::from(value)
            }
        }
        Physical::INT64 => {
            let value = i64::from_le_bytes(bytes.try_into().ok()?);
            if *kind == D::UInt64 { value.cast_unsigned().into() } else { value.into() }
        }
        Physical::BYTE_ARRAY => {
            return (leaf.conversion == Conversion::AsStored).then(|| Key::Bytes(bytes.to_vec()));
        }
        Physical::FIXED_LEN_BYTE_ARRAY => match (leaf.conversion, kind) {
            (Conversion::AsStored, D::Float16) => {
                let value = f16::from_le_bytes(bytes.try_into().ok()?).to_f64();
                return (!value.is_nan()).then_some(Key::Float(value));
            }
            (Conversion::AsStored, _) => return Some(Key::Bytes(bytes.to_vec())),
            // Truncated, it would be another number.
            (Conversion::BytesToDecimal, _) if bytes.len() == leaf.type_bytes => big_endian(bytes)?,
            _ => return None,
        },
        Physical::INT96 => return None,
    };
    let value = match leaf.conversion {
        Conversion::AsStored | Conversion::IntegerToDecimal | Conversion::BytesToDecimal => stored,
        Conversion::Multiply(factor) => stored.checked_mul(factor.into())?,
        Conversion::Divide(divisor) => stored.div_euclid(divisor.into()),
        Conversion::Narrow if fits(kind, stored) => stored,
        // Values that wrap around are not ordered.
        Conversion::Narrow | Conversion::Int96(_) | Conversion::Interval | Conversion::Null => {
            return None;
        }
    };
    Some(Key::Integer(value))
}

fn fits(kind: &DataType, value: i128) -> bool {
    match kind {
        DataType::Int8 => i8::try_from(value).is_ok(),
        DataType::Int16 => i16::try_from(value).is_ok(),
        DataType::UInt8 => u8::try_from(value).is_ok(),
        DataType::UInt16 => u16::try_from(value).is_ok(),
        _ => false,
    }
}

/// Two's complement of up to 16 bytes, highest first.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 16 {
        return None;
    }
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xff };
    let mut wide = [sign; 16];
    wide[16 - bytes.len()..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}
