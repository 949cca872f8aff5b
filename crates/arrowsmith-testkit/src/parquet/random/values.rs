// SPDX-License-Identifier: Apache-2.0
//! Random columns of any type in the random schemas: distributions on which encodings differ
//! (constant, few values, steps, runs, full range), and nulls of any density.

use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, Int32Type, Int64Type, UInt16Type};
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeListArray, GenericListArray, MapArray, NullArray,
    OffsetSizeTrait, PrimitiveArray, StructArray, make_array,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

use crate::random::Rng;

/// A column of `len` rows.
pub(super) fn array(rng: &mut Rng, field: &Field, len: usize) -> ArrayRef {
    let nulls = if field.is_nullable() { nulls(rng, len) } else { None };
    match field.data_type() {
        DataType::Null => Arc::new(NullArray::new(len)),
        DataType::List(item) => list::<i32>(rng, item, len, nulls),
        DataType::LargeList(item) => list::<i64>(rng, item, len, nulls),
        DataType::FixedSizeList(item, size) => {
            let items = array(rng, item, len * usize::try_from(*size).unwrap_or(0));
            Arc::new(FixedSizeListArray::new(Arc::clone(item), *size, items, nulls))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| array(rng, field, len)).collect();
            Arc::new(StructArray::new(fields.clone(), columns, nulls))
        }
        DataType::Map(entries, ordered) => {
            let offsets = offsets::<i32>(rng, len, nulls.as_ref());
            let DataType::Struct(fields) = entries.data_type() else { unreachable!("a map") };
            let count = offsets.last().map_or(0, |last| last.as_usize());
            let columns = fields.iter().map(|field| array(rng, field, count)).collect();
            let structs = StructArray::new(fields.clone(), columns, None);
            Arc::new(MapArray::new(Arc::clone(entries), offsets, structs, nulls, *ordered))
        }
        DataType::Dictionary(key, value) => match key.as_ref() {
            DataType::Int32 => dictionary::<Int32Type>(rng, value, len, nulls),
            DataType::UInt16 => dictionary::<UInt16Type>(rng, value, len, nulls),
            _ => dictionary::<Int64Type>(rng, value, len, nulls),
        },
        leaf => leaf_array(rng, leaf, len, nulls),
    }
}

/// Validity with a random density, or `None`.
fn nulls(rng: &mut Rng, len: usize) -> Option<NullBuffer> {
    let valid: BooleanBuffer = match rng.below(6) {
        0 => return None,
        1 => (0..len).map(|_| !rng.one_in(10)).collect(),
        2 => (0..len).map(|_| rng.one_in(2)).collect(),
        3 => (0..len).map(|_| rng.one_in(50)).collect(),
        4 => BooleanBuffer::new_unset(len),
        _ => runs(rng, len, 40).into_iter().map(|run| run % 2 == 0).collect(),
    };
    Some(NullBuffer::new(valid))
}

/// The index of each row's run.
fn runs(rng: &mut Rng, len: usize, longest: usize) -> Vec<usize> {
    let mut run = 0;
    let mut result = Vec::with_capacity(len);
    while result.len() < len {
        let end = (result.len() + 1 + rng.below(longest)).min(len);
        result.resize(end, run);
        run += 1;
    }
    result
}

fn list<O: OffsetSizeTrait>(
    rng: &mut Rng,
    item: &FieldRef,
    len: usize,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let offsets = offsets::<O>(rng, len, nulls.as_ref());
    let items = array(rng, item, offsets.last().map_or(0, |last| last.as_usize()));
    Arc::new(GenericListArray::<O>::new(Arc::clone(item), offsets, items, nulls))
}

/// Lists that are empty, short or, rarely, long. A null list may have items, which are ignored.
fn offsets<O: OffsetSizeTrait>(
    rng: &mut Rng,
    len: usize,
    nulls: Option<&NullBuffer>,
) -> OffsetBuffer<O> {
    let longest = *rng.pick(&[1, 2, 4, 9]);
    let hidden = rng.one_in(3);
    let lengths: Vec<usize> = (0..len)
        .map(|row| match nulls.is_some_and(|nulls| nulls.is_null(row)) && !hidden {
            true => 0,
            false if rng.one_in(100) => rng.below(60),
            false => rng.below(longest),
        })
        .collect();
    OffsetBuffer::from_lengths(lengths)
}

fn dictionary<K: ArrowDictionaryKeyType>(
    rng: &mut Rng,
    value: &DataType,
    len: usize,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let count = 1 + rng.below(200);
    let values = leaf_array(rng, value, count, None);
    let keys: ScalarBuffer<K::Native> =
        (0..len).map(|_| K::Native::usize_as(rng.below(count))).collect();
    Arc::new(DictionaryArray::new(PrimitiveArray::<K>::new(keys, nulls), values))
}

fn leaf_array(rng: &mut Rng, kind: &DataType, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    use DataType as T;
    if let T::Utf8View | T::BinaryView | T::LargeUtf8 | T::LargeBinary = kind {
        let plain = if matches!(kind, T::Utf8View | T::LargeUtf8) { T::Utf8 } else { T::Binary };
        let plain = leaf_array(rng, &plain, len, nulls);
        // Every string has a view and a large form.
        return arrow_cast::cast(&plain, kind).expect("a string");
    }
    let mut data = ArrayData::builder(kind.clone()).len(len).nulls(nulls);
    match kind {
        T::Boolean => {
            let values = integers(rng, len);
            let bits: BooleanBuffer = values.iter().map(|value| value & 1 == 1).collect();
            data = data.add_buffer(bits.into_inner());
        }
        T::Utf8 | T::Binary => {
            let (offsets, bytes) = strings(rng, len, kind == &T::Utf8);
            data = data.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from_vec(bytes));
        }
        T::FixedSizeBinary(width) => {
            let width = usize::try_from(*width).unwrap_or(0);
            let values = integers(rng, len);
            let bytes = values.iter().flat_map(|value| {
                let value = value.to_be_bytes();
                (0..width)
                    .map(move |at| value[at % 8].wrapping_add(u8::try_from(at / 8).unwrap_or(0)))
            });
            data = data.add_buffer(bytes.collect());
        }
        T::Decimal32(digits, _) => data = data.add_buffer(decimals(rng, len, *digits, 4)),
        T::Decimal64(digits, _) => data = data.add_buffer(decimals(rng, len, *digits, 8)),
        T::Decimal128(digits, _) => data = data.add_buffer(decimals(rng, len, *digits, 16)),
        T::Decimal256(digits, _) => data = data.add_buffer(decimals(rng, len, *digits, 32)),
        T::Float16 | T::Float32 | T::Float64 if rng.one_in(2) => {
            data = data.add_buffer(floats(rng, kind, len));
        }
        other => {
            let width = other.primitive_width().expect("a fixed width");
            let mut values = integers(rng, len);
            values.iter_mut().for_each(|value| *value = within(other, *value));
            data = data.add_buffer(
                values
                    .iter()
                    .flat_map(|value| {
                        let value = value.to_le_bytes();
                        (0..width).map(move |at| value[at % 8])
                    })
                    .collect(),
            );
        }
    }
    // Text is UTF-8, offsets rise, and widths are those of the type.
    make_array(data.align_buffers(true).build().expect("a sound column"))
}

/// A value of the type near an integer: Parquet has neither seconds nor milliseconds of dates, and
/// writers hold what they convert.
fn within(kind: &DataType, value: i64) -> i64 {
    const DAY_MS: i64 = 86_400_000;
    match kind {
        DataType::Timestamp(TimeUnit::Second, _) => value / 1_000,
        DataType::Time32(TimeUnit::Second) => value % 86_400,
        DataType::Date64 => value % (1 << 31) * DAY_MS,
        _ => value,
    }
}

/// Typical floats: integers, with cents, of any size; zeros of both signs, and NaN.
fn floats(rng: &mut Rng, kind: &DataType, len: usize) -> Buffer {
    let special =
        [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, f64::MAX, f64::MIN_POSITIVE];
    let values = integers(rng, len);
    let values = values.iter().map(|value| match rng.below(12) {
        0 => *rng.pick(&special),
        _ => f64::from(u32::try_from(value & 0xFFFF_FFFF).unwrap_or(0)) / 100.0,
    });
    match kind {
        DataType::Float16 => {
            values.flat_map(|value| half::f16::from_f64(value).to_le_bytes()).collect()
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
        DataType::Float32 => values.flat_map(|value| (value as f32).to_le_bytes()).collect(),
        _ => values.flat_map(f64::to_le_bytes).collect(),
    }
}

/// Integers with one of the distributions on which encodings differ.
pub(super) fn integers(rng: &mut Rng, len: usize) -> Vec<i64> {
    let base = rng.bits().cast_signed() >> rng.below(60);
    match rng.below(8) {
        0 => vec![base; len],
        1 => {
            let step = i64::try_from(rng.below(9)).unwrap_or(0) - 4;
            (0..).take(len).map(|at: i64| base.wrapping_add(at.wrapping_mul(step))).collect()
        }
        2 => {
            let mut last = base;
            let most = 1 + rng.below(1000);
            let mut next = || {
                last = last.wrapping_add(i64::try_from(rng.below(most)).unwrap_or(0));
                last
            };
            (0..len).map(|_| next()).collect()
        }
        3 => {
            let few: Vec<i64> = (0..=rng.below(20)).map(|_| rng.bits().cast_signed()).collect();
            (0..len).map(|_| *rng.pick(&few)).collect()
        }
        4 => {
            let few: Vec<i64> = (0..7).map(|_| rng.bits().cast_signed() >> 40).collect();
            runs(rng, len, 30).into_iter().map(|run| few[run % 7]).collect()
        }
        // The width changes from block to block, as in the data of the paper.
        5 => {
            let mut shift = 0;
            let mut next = |at: usize| {
                if at.is_multiple_of(64) {
                    shift = rng.below(64);
                }
                (rng.bits() >> shift).cast_signed()
            };
            (0..len).map(&mut next).collect()
        }
        6 => {
            let shift = rng.below(64);
            (0..len).map(|_| rng.bits().cast_signed() >> shift).collect()
        }
        _ => {
            let edges = [i64::MIN, i64::MAX, 0, -1, 1, i64::from(i32::MIN), i64::from(i32::MAX)];
            (0..len).map(|_| *rng.pick(&edges)).collect()
        }
    }
}

/// Unscaled values of at most `digits` digits, little-endian.
fn decimals(rng: &mut Rng, len: usize, digits: u8, width: usize) -> Buffer {
    // 10^38 is the largest power of ten in 128 bits; wider values get high bytes of their own.
    let most = 10_i128.pow(u32::from(digits.min(38))) - 1;
    let shift = rng.below(127);
    let mut value = || {
        let low = match rng.below(9) {
            0 => most,
            1 => -most,
            _ => rng.range(-most, most) >> shift.min(usize::from(digits) * 3),
        };
        let fill = if low < 0 { 0xFF } else { 0 };
        let mut bytes = [fill; 32];
        bytes[..16].copy_from_slice(&low.to_le_bytes());
        // 2^189 is below 10^57.
        if digits >= 57 && rng.one_in(2) {
            let high = (rng.bits() >> 4).cast_signed() * if rng.one_in(2) { 1 } else { -1 };
            bytes[16..24].copy_from_slice(&high.to_le_bytes());
            bytes[24..].fill(if high < 0 { 0xFF } else { 0 });
        }
        bytes
    };
    (0..len).map(|_| value()).flat_map(|bytes| bytes.into_iter().take(width)).collect()
}

/// Offsets and bytes of strings with common prefixes, few or many distinct values, short and long.
fn strings(rng: &mut Rng, len: usize, text: bool) -> (Vec<i32>, Vec<u8>) {
    let longest = *rng.pick(&[1, 5, 12, 13, 40, 300]);
    let prefix = rng.below(2) * rng.below(20);
    let distinct = *rng.pick(&[1, 2, 10, 300, usize::MAX]);
    let pieces: &[&[u8]] = if text {
        &[b"a", b"b", b"7", b" ", "é".as_bytes(), "漢".as_bytes(), "🦀".as_bytes(), b"\0"]
    } else {
        &[b"a", b"\xFF", b"\0", b"\x80\x80", b"7"]
    };
    let make = |rng: &mut Rng| {
        let mut string = b"a-common-start-of-20"[..prefix].to_vec();
        for _ in 0..rng.below(longest + 1) {
            string.extend_from_slice(if rng.one_in(3) { rng.pick::<&[u8]>(pieces) } else { b"x" });
        }
        string
    };
    let some: Vec<Vec<u8>> = (0..distinct.min(300)).map(|_| make(rng)).collect();
    let mut offsets = vec![0];
    let mut bytes = Vec::new();
    for _ in 0..len {
        if distinct == usize::MAX {
            bytes.extend(make(rng));
        } else {
            bytes.extend_from_slice(rng.pick::<Vec<u8>>(&some));
        }
        offsets.push(i32::try_from(bytes.len()).expect("a few megabytes"));
    }
    (offsets, bytes)
}
