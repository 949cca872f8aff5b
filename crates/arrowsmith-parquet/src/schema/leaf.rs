// SPDX-License-Identifier: Apache-2.0
//! A Parquet primitive type → the Arrow type, and the conversion from what is stored.
//!
//! Without other information the result is that of the `parquet` crate. A hint, from the Arrow
//! schema in the file, is followed as that crate follows it: if it matches what is stored.

use arrow_schema::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, IntervalUnit, TimeUnit,
};
use arrowsmith_core::{Error, FileErrorKind, Result};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit as ParquetUnit, Type as Physical};
use parquet::schema::types::Type;

use crate::options::{ReadOptions, StringForm};
use crate::plan::Conversion;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The parts of a primitive type.
pub(super) struct Primitive<'a> {
    pub(super) physical: Physical,
    pub(super) type_bytes: i32,
    logical: Option<&'a LogicalType>,
    converted: ConvertedType,
    precision: i32,
    scale: i32,
}

impl<'a> Primitive<'a> {
    /// `None` for a group.
    pub(super) fn of(kind: &'a Type) -> Option<Self> {
        let Type::PrimitiveType { basic_info, physical_type, type_length, scale, precision } = kind
        else {
            return None;
        };
        Some(Self {
            physical: *physical_type,
            type_bytes: *type_length,
            logical: basic_info.logical_type_ref(),
            converted: basic_info.converted_type(),
            precision: *precision,
            scale: *scale,
        })
    }

    /// The Arrow type and the conversion, given a hint and the reader's options.
    pub(super) fn target(
        &self,
        hint: Option<&DataType>,
        options: &ReadOptions,
        dictionary: bool,
    ) -> Result<(DataType, Conversion)> {
        let plain = self.plain()?;
        let hinted = hint.map_or_else(|| plain.clone(), |hint| follow(&plain, hint));
        let wished = wish(hinted, options, dictionary);
        // A hint to which the stored type cannot be converted is ignored.
        let tries = [wished, wish(plain.clone(), options, dictionary), plain];
        for target in tries {
            if let Some(conversion) = self.conversion(&target) {
                return Ok((target, conversion));
            }
        }
        Err(self.unknown())
    }

    /// The Arrow type of what is stored, without a hint.
    fn plain(&self) -> Result<DataType> {
        if matches!(self.logical, Some(LogicalType::Unknown)) {
            return Ok(DataType::Null);
        }
        match self.physical {
            Physical::BOOLEAN => Ok(DataType::Boolean),
            Physical::INT32 => self.int32(),
            Physical::INT64 => self.int64(),
            Physical::INT96 => Ok(DataType::Timestamp(TimeUnit::Nanosecond, None)),
            Physical::FLOAT => Ok(DataType::Float32),
            Physical::DOUBLE => Ok(DataType::Float64),
            Physical::BYTE_ARRAY => self.byte_array(),
            Physical::FIXED_LEN_BYTE_ARRAY => self.fixed(),
        }
    }

    fn int32(&self) -> Result<DataType> {
        Ok(match (self.logical, self.converted) {
            (None, ConvertedType::NONE | ConvertedType::INT_32) => DataType::Int32,
            (Some(LogicalType::Integer(int)), _) => match (int.bit_width, int.is_signed) {
                (8, true) => DataType::Int8,
                (16, true) => DataType::Int16,
                (32, true) => DataType::Int32,
                (8, false) => DataType::UInt8,
                (16, false) => DataType::UInt16,
                (32, false) => DataType::UInt32,
                _ => return Err(self.unknown()),
            },
            (Some(LogicalType::Decimal(decimal)), _) => {
                return self.decimal(decimal.precision, decimal.scale, false);
            }
            (None, ConvertedType::DECIMAL) => {
                return self.decimal(self.precision, self.scale, false);
            }
            (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => DataType::Date32,
            (Some(LogicalType::Time(time)), _) if time.unit == ParquetUnit::MILLIS => {
                DataType::Time32(TimeUnit::Millisecond)
            }
            (None, ConvertedType::TIME_MILLIS) => DataType::Time32(TimeUnit::Millisecond),
            (None, ConvertedType::INT_8) => DataType::Int8,
            (None, ConvertedType::INT_16) => DataType::Int16,
            (None, ConvertedType::UINT_8) => DataType::UInt8,
            (None, ConvertedType::UINT_16) => DataType::UInt16,
            (None, ConvertedType::UINT_32) => DataType::UInt32,
            (Some(LogicalType::_Unknown { .. }), _) => DataType::Int32,
            _ => return Err(self.unknown()),
        })
    }

    fn int64(&self) -> Result<DataType> {
        let utc = || Some("UTC".into());
        Ok(match (self.logical, self.converted) {
            (None, ConvertedType::NONE | ConvertedType::INT_64) => DataType::Int64,
            (Some(LogicalType::Integer(int)), _) => match (int.bit_width, int.is_signed) {
                (64, true) => DataType::Int64,
                (64, false) => DataType::UInt64,
                _ => return Err(self.unknown()),
            },
            (None, ConvertedType::UINT_64) => DataType::UInt64,
            (Some(LogicalType::Time(time)), _) => match time.unit {
                ParquetUnit::MICROS => DataType::Time64(TimeUnit::Microsecond),
                ParquetUnit::NANOS => DataType::Time64(TimeUnit::Nanosecond),
                ParquetUnit::MILLIS => return Err(self.unknown()),
            },
            (None, ConvertedType::TIME_MICROS) => DataType::Time64(TimeUnit::Microsecond),
            (Some(LogicalType::Timestamp(timestamp)), _) => {
                let unit = match timestamp.unit {
                    ParquetUnit::MILLIS => TimeUnit::Millisecond,
                    ParquetUnit::MICROS => TimeUnit::Microsecond,
                    ParquetUnit::NANOS => TimeUnit::Nanosecond,
                };
                DataType::Timestamp(unit, utc().filter(|_| timestamp.is_adjusted_to_u_t_c))
            }
            (None, ConvertedType::TIMESTAMP_MILLIS) => {
                DataType::Timestamp(TimeUnit::Millisecond, utc())
            }
            (None, ConvertedType::TIMESTAMP_MICROS) => {
                DataType::Timestamp(TimeUnit::Microsecond, utc())
            }
            (Some(LogicalType::Decimal(decimal)), _) => {
                return self.decimal(decimal.precision, decimal.scale, false);
            }
            (None, ConvertedType::DECIMAL) => {
                return self.decimal(self.precision, self.scale, false);
            }
            (Some(LogicalType::_Unknown { .. }), _) => DataType::Int64,
            _ => return Err(self.unknown()),
        })
    }

    fn byte_array(&self) -> Result<DataType> {
        Ok(match (self.logical, self.converted) {
            (Some(LogicalType::String | LogicalType::Json), _)
            | (None, ConvertedType::UTF8 | ConvertedType::JSON) => DataType::Utf8,
            (
                Some(
                    LogicalType::Bson
                    | LogicalType::Enum
                    | LogicalType::Geometry { .. }
                    | LogicalType::Geography { .. }
                    | LogicalType::_Unknown { .. },
                ),
                _,
            )
            | (None, ConvertedType::NONE | ConvertedType::BSON | ConvertedType::ENUM) => {
                DataType::Binary
            }
            (Some(LogicalType::Decimal(decimal)), _) => {
                return self.decimal(decimal.precision, decimal.scale, false);
            }
            (None, ConvertedType::DECIMAL) => {
                return self.decimal(self.precision, self.scale, false);
            }
            _ => return Err(self.unknown()),
        })
    }

    fn fixed(&self) -> Result<DataType> {
        // Lengths up to 16 make decimals of 128 bits, longer ones of 256.
        let wide = self.type_bytes > 16;
        match (self.logical, self.converted) {
            // Values that take no byte: nothing but a count would say that they are there.
            _ if self.type_bytes < 1 => Err(self.unknown()),
            (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL)
                if !(1..=32).contains(&self.type_bytes) =>
            {
                Err(self.unknown())
            }
            (Some(LogicalType::Decimal(decimal)), _) => {
                self.decimal(decimal.precision, decimal.scale, wide)
            }
            (None, ConvertedType::DECIMAL) => self.decimal(self.precision, self.scale, wide),
            (None, ConvertedType::INTERVAL) if self.type_bytes == 12 => {
                Ok(DataType::Interval(IntervalUnit::DayTime))
            }
            (None, ConvertedType::INTERVAL) => Err(self.unknown()),
            (Some(LogicalType::Float16), _) if self.type_bytes == 2 => Ok(DataType::Float16),
            (Some(LogicalType::Float16), _) => Err(self.unknown()),
            _ => Ok(DataType::FixedSizeBinary(self.type_bytes)),
        }
    }

    fn decimal(&self, precision: i32, scale: i32, wide: bool) -> Result<DataType> {
        let (Ok(digits), Ok(places)) = (u8::try_from(precision), i8::try_from(scale)) else {
            return Err(self.unknown());
        };
        match digits {
            1..=DECIMAL128_MAX_PRECISION if !wide => Ok(DataType::Decimal128(digits, places)),
            1..=DECIMAL256_MAX_PRECISION => Ok(DataType::Decimal256(digits, places)),
            _ => Err(self.unknown()),
        }
    }

    fn unknown(&self) -> Error {
        let logical = match self.logical {
            Some(logical) => format!("{logical:?}"),
            None => self.converted.to_string(),
        };
        let bytes = match self.physical {
            Physical::FIXED_LEN_BYTE_ARRAY => format!("({})", self.type_bytes),
            _ => String::new(),
        };
        Error::file(
            FileErrorKind::Unsupported,
            format!("{}{bytes} with the logical type {logical} has no Arrow type", self.physical),
        )
    }

    /// How what is stored becomes `target`; `None` if it cannot.
    fn conversion(&self, target: &DataType) -> Option<Conversion> {
        use Conversion::{AsStored, Divide, IntegerToDecimal, Multiply, Narrow};
        use DataType as D;

        if let D::Dictionary(keys, values) = target {
            // A dictionary's entries are whole values. Of Booleans arrow-cast makes none.
            let none = matches!(**values, D::Dictionary(..) | D::Null | D::Boolean);
            let flat = !values.is_nested() && !none;
            return (keys.is_dictionary_key_type() && flat)
                .then(|| self.conversion(values))
                .flatten();
        }
        if *target == D::Null {
            return Some(Conversion::Null);
        }
        match (self.physical, target) {
            (Physical::BOOLEAN, D::Boolean)
            | (Physical::FLOAT, D::Float32)
            | (Physical::DOUBLE, D::Float64)
            | (Physical::INT32, D::Int32 | D::UInt32 | D::Date32 | D::Time32(_))
            | (Physical::INT32, D::Decimal32(..))
            | (
                Physical::INT64,
                D::Int64 | D::UInt64 | D::Date64 | D::Time64(_) | D::Duration(_) | D::Decimal64(..),
            )
            | (
                Physical::BYTE_ARRAY,
                D::Binary | D::LargeBinary | D::BinaryView | D::Utf8 | D::LargeUtf8 | D::Utf8View,
            ) => Some(AsStored),
            (Physical::INT32, D::Int8 | D::UInt8 | D::Int16 | D::UInt16) => Some(Narrow),
            (Physical::INT32, D::Date64) => Some(Multiply(DAY_MS)),
            (Physical::INT32, D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..))
            | (Physical::INT64, D::Decimal128(..) | D::Decimal256(..)) => Some(IntegerToDecimal),
            (Physical::INT64, D::Timestamp(unit, _)) => {
                let stored = match self.plain() {
                    Ok(D::Timestamp(stored, _)) => ticks(stored),
                    // Integers that a hint makes timestamps are of the hint's unit.
                    _ => return Some(AsStored),
                };
                let wanted = ticks(*unit);
                Some(match wanted.cmp(&stored) {
                    std::cmp::Ordering::Equal => AsStored,
                    std::cmp::Ordering::Greater => Multiply(wanted / stored),
                    std::cmp::Ordering::Less => Divide(stored / wanted),
                })
            }
            (Physical::INT96, D::Timestamp(unit, _)) => Some(Conversion::Int96(*unit)),
            (
                Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY,
                D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..),
            ) => Some(Conversion::BytesToDecimal),
            (Physical::FIXED_LEN_BYTE_ARRAY, D::FixedSizeBinary(bytes)) => {
                (*bytes == self.type_bytes).then_some(AsStored)
            }
            (Physical::FIXED_LEN_BYTE_ARRAY, D::Float16) => {
                (self.type_bytes == 2).then_some(AsStored)
            }
            (Physical::FIXED_LEN_BYTE_ARRAY, D::Interval(_)) => {
                (self.type_bytes == 12).then_some(Conversion::Interval)
            }
            _ => None,
        }
    }
}

/// Ticks of a second.
fn ticks(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The type that a hint makes of a plain type: itself where it is one that the same stored values
/// can have, else the plain type.
fn follow(plain: &DataType, hint: &DataType) -> DataType {
    use DataType as D;
    let fits = match (plain, hint) {
        // Types that Parquet has no name for.
        (D::Int64, D::Timestamp(..) | D::Time64(_) | D::Duration(_) | D::Date64)
        | (D::Int32, D::Time32(_))
        | (D::Date32, D::Date64)
        | (D::Interval(_), D::Interval(_)) => true,
        // Another zone of the same unit; any unit for INT96, which has none.
        (D::Timestamp(stored, _), D::Timestamp(unit, Some(_))) if stored == unit => true,
        (D::Timestamp(TimeUnit::Nanosecond, None), D::Timestamp(unit, _)) => {
            *unit != TimeUnit::Nanosecond
        }
        // Other forms in memory.
        (D::Utf8, D::LargeUtf8 | D::Utf8View)
        | (D::Binary, D::LargeBinary | D::BinaryView | D::Utf8 | D::LargeUtf8 | D::Utf8View) => {
            true
        }
        (
            D::Decimal128(precision, scale),
            D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal256(p, s),
        ) => precision == p && scale == s,
        (_, D::Dictionary(_, values)) => follow(plain, values) == **values,
        _ => false,
    };
    // Parquet has no seconds, and writers may be told to use another unit: an instant is one in any
    // of them, and the zone is the hint's.
    if let (D::Timestamp(unit, Some(_)), D::Timestamp(_, Some(zone))) = (plain, hint) {
        return D::Timestamp(*unit, Some(zone.clone()));
    }
    match hint {
        _ if fits => hint.clone(),
        D::Dictionary(_, values) => follow(plain, values),
        _ => plain.clone(),
    }
}

/// The type that the reader's options choose instead.
fn wish(target: DataType, options: &ReadOptions, dictionary: bool) -> DataType {
    use DataType as D;
    let form = options.strings;
    match target {
        D::Timestamp(unit, zone) => D::Timestamp(options.timestamp_unit.unwrap_or(unit), zone),
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView => {
            let text = matches!(target, D::Utf8 | D::LargeUtf8 | D::Utf8View);
            let value = match (form, text) {
                (StringForm::AsFile, _) => target,
                (StringForm::Small, true) => D::Utf8,
                (StringForm::Small, false) => D::Binary,
                (StringForm::Large, true) => D::LargeUtf8,
                (StringForm::Large, false) => D::LargeBinary,
                (StringForm::View, true) => D::Utf8View,
                (StringForm::View, false) => D::BinaryView,
            };
            if dictionary { D::Dictionary(Box::new(D::Int32), Box::new(value)) } else { value }
        }
        D::Dictionary(keys, values) if !dictionary && form != StringForm::AsFile => {
            // The form applies to dictionaries' values too.
            D::Dictionary(keys, Box::new(wish(*values, options, false)))
        }
        other => other,
    }
}
