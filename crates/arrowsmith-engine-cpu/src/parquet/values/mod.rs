// SPDX-License-Identifier: Apache-2.0
//! The values decoder: the encoded values of pages → the buffers of one leaf's array.
//!
//! There is a module for each form of values in memory. Each has a growing column, the dictionary
//! of the chunk, and its position in the page.

mod booleans;
mod fixed;
mod keys;
mod nulls;
mod numbers;
mod state;
mod strings;
mod views;

use arrow_array::ArrayRef;
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, IntervalUnit};
use arrowsmith_core::Result;
use arrowsmith_parquet::{Conversion, DataPage, DictionaryPage, Leaf, Physical};
use arrowsmith_simd::Level;
use arrowsmith_simd::column::{Rows, TimeUnit};

use numbers::{BigEndian, Cast, Halves, Instants, Numbers, Scale, Scaled, Stored};

/// A growing column of values.
pub(super) trait Values: Send {
    /// Bytes that a slot takes up, for bounds; strings count themselves.
    fn slot_bytes(&self) -> usize;

    /// Announces the total bytes of the strings of `rows` rows, if the file has them.
    fn expect_bytes(&mut self, _bytes: usize, _rows: usize) {}

    /// Bytes of the batch's strings so far; `None` where every slot is of one width.
    fn text_bytes(&self) -> Option<usize> {
        None
    }

    /// Bytes of the longest entry of the dictionary, where strings are copied out of one.
    fn entry_bytes_max(&self) -> usize {
        0
    }

    /// Starts a batch of about `slots` slots and at most about `bytes` bytes.
    fn begin(&mut self, slots: usize, bytes: usize);

    /// Decodes the chunk's dictionary.
    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()>;

    /// Whether plain values without nulls have the array's form, so that they can be read into it
    /// from the file.
    fn reads_stored(&self) -> bool {
        false
    }

    /// Starts a page.
    fn page(&mut self, page: &DataPage<'_>) -> Result<()>;

    /// Appends the next rows of the current page, of which `values` are not null.
    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()>;

    /// Skips the next `values` values of the page.
    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()>;

    /// Takes the column as an array, and starts an empty one.
    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

/// Rows that are decoded at once to be skipped.
const SKIP: usize = 4096;

/// The values of a leaf. `bytes_max` bounds the bytes of its strings in one batch.
///
/// # Errors
/// What is not supported.
pub(super) fn of(leaf: &Leaf, level: Level, bytes_max: usize) -> Result<Box<dyn Values>, String> {
    of_type(leaf, leaf.field.data_type(), level, bytes_max)
}

fn of_type(
    leaf: &Leaf,
    target: &DataType,
    level: Level,
    bytes_max: usize,
) -> Result<Box<dyn Values>, String> {
    use DataType as D;
    use Physical as P;

    if let D::Dictionary(_, values) = target {
        let values = of_type(leaf, values, level, bytes_max)?;
        return Ok(Box::new(keys::Keys::new(target.clone(), values, level)));
    }
    let physical = leaf.physical;
    let unsupported = || Err(format!("{physical} as {target} ({:?})", leaf.conversion));
    macro_rules! numbers {
        ($form:expr) => {
            Box::new(Numbers::new($form, physical, target.clone(), level))
        };
    }
    Ok(match (leaf.conversion, physical, target) {
        (Conversion::Null, ..) => Box::new(nulls::Nulls::default()),
        (Conversion::AsStored, P::BOOLEAN, D::Boolean) => Box::new(booleans::Booleans::new(level)),
        (Conversion::AsStored, P::INT32 | P::FLOAT, _) => numbers!(Stored::<i32>::default()),
        (Conversion::AsStored, P::INT64 | P::DOUBLE, _) => numbers!(Stored::<i64>::default()),
        (Conversion::AsStored, P::FIXED_LEN_BYTE_ARRAY, D::Float16) => numbers!(Halves),
        (Conversion::AsStored, P::FIXED_LEN_BYTE_ARRAY, D::FixedSizeBinary(_))
            if leaf.type_bytes > 0 =>
        {
            Box::new(fixed::FixedBytes::new(leaf.type_bytes, target.clone(), level))
        }
        (
            Conversion::Interval,
            P::FIXED_LEN_BYTE_ARRAY,
            D::Interval(IntervalUnit::DayTime | IntervalUnit::YearMonth),
        ) if leaf.type_bytes == 12 => {
            Box::new(fixed::FixedBytes::new(leaf.type_bytes, target.clone(), level))
        }
        (Conversion::AsStored, P::BYTE_ARRAY, D::Utf8 | D::Binary) => {
            Box::new(strings::StringColumn::<i32>::new(target.clone(), level, bytes_max))
        }
        (Conversion::AsStored, P::BYTE_ARRAY, D::LargeUtf8 | D::LargeBinary) => {
            Box::new(strings::StringColumn::<i64>::new(target.clone(), level, bytes_max))
        }
        (Conversion::AsStored, P::BYTE_ARRAY, D::Utf8View | D::BinaryView) => {
            Box::new(views::ViewColumn::new(target.clone(), level, bytes_max))
        }
        (Conversion::Narrow, P::INT32, D::Int8) => numbers!(Cast::<i32, i8>::default()),
        (Conversion::Narrow, P::INT32, D::Int16) => numbers!(Cast::<i32, i16>::default()),
        (Conversion::Narrow, P::INT32, D::UInt8) => numbers!(Cast::<i32, u8>::default()),
        (Conversion::Narrow, P::INT32, D::UInt16) => numbers!(Cast::<i32, u16>::default()),
        (Conversion::Multiply(by), P::INT32, _) => {
            numbers!(Scaled::new(Cast::<i32, i64>::default(), Scale::Multiply(by)))
        }
        (Conversion::Multiply(by), P::INT64, _) => {
            numbers!(Scaled::new(Stored::<i64>::default(), Scale::Multiply(by)))
        }
        (Conversion::Divide(by), P::INT64, _) => {
            numbers!(Scaled::new(Stored::<i64>::default(), Scale::Divide(by)))
        }
        (Conversion::IntegerToDecimal, P::INT32, D::Decimal64(..)) => {
            numbers!(Cast::<i32, i64>::default())
        }
        (Conversion::IntegerToDecimal, P::INT32, D::Decimal128(..)) => {
            numbers!(Cast::<i32, i128>::default())
        }
        (Conversion::IntegerToDecimal, P::INT32, D::Decimal256(..)) => {
            numbers!(Cast::<i32, i256>::default())
        }
        (Conversion::IntegerToDecimal, P::INT64, D::Decimal128(..)) => {
            numbers!(Cast::<i64, i128>::default())
        }
        (Conversion::IntegerToDecimal, P::INT64, D::Decimal256(..)) => {
            numbers!(Cast::<i64, i256>::default())
        }
        (Conversion::BytesToDecimal, P::FIXED_LEN_BYTE_ARRAY, _) if leaf.type_bytes > 0 => {
            match target {
                D::Decimal32(..) => numbers!(BigEndian::<i32>::new(leaf.type_bytes)),
                D::Decimal64(..) => numbers!(BigEndian::<i64>::new(leaf.type_bytes)),
                D::Decimal128(..) => numbers!(BigEndian::<i128>::new(leaf.type_bytes)),
                D::Decimal256(..) => numbers!(BigEndian::<i256>::new(leaf.type_bytes)),
                _ => return unsupported(),
            }
        }
        (Conversion::BytesToDecimal, P::BYTE_ARRAY, _) => match target {
            D::Decimal32(..) => decimals::<i32>(target, level, bytes_max),
            D::Decimal64(..) => decimals::<i64>(target, level, bytes_max),
            D::Decimal128(..) => decimals::<i128>(target, level, bytes_max),
            D::Decimal256(..) => decimals::<i256>(target, level, bytes_max),
            _ => return unsupported(),
        },
        (Conversion::Int96(unit), P::INT96, _) => numbers!(Instants::new(match unit {
            arrow_schema::TimeUnit::Second => TimeUnit::Second,
            arrow_schema::TimeUnit::Millisecond => TimeUnit::Millisecond,
            arrow_schema::TimeUnit::Microsecond => TimeUnit::Microsecond,
            arrow_schema::TimeUnit::Nanosecond => TimeUnit::Nanosecond,
        })),
        _ => return unsupported(),
    })
}

fn decimals<T>(target: &DataType, level: Level, bytes_max: usize) -> Box<dyn Values>
where
    T: arrow_buffer::ArrowNativeType + arrowsmith_simd::column::Decimal,
{
    Box::new(strings::Decimals::<T>::new(target.clone(), level, bytes_max))
}
