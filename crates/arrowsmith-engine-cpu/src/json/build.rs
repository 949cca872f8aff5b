// SPDX-License-Identifier: Apache-2.0
//! Build: columns that grow value by value, can be truncated to the start of a record, and become
//! Arrow arrays.
//!
//! A null costs one entry in a list of positions; a value costs nothing. The validity bitmap is
//! built at the end, only if there were nulls.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray,
    FixedSizeBinaryArray, FixedSizeListArray, LargeListArray, ListArray, MapArray, NullArray,
    PrimitiveArray, StructArray,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrowsmith_core::memory::Refused;
use arrowsmith_core::{Error, Result};
use arrowsmith_plan::{FloatWidth, IntWidth};
use arrowsmith_simd::{BitBuffer, Buf, Isa, TextBuf};

use super::program::{Code, Fast, Id, Program, base_type};

/// The storage of a column's values.
#[derive(Debug)]
pub(crate) enum Values {
    /// Only a count: nulls, structs, fixed-size lists.
    Count(usize),
    Bits(BitBuffer),
    W8(Buf<u8>),
    W16(Buf<u16>),
    W32(Buf<u32>),
    W64(Buf<u64>),
    W128(Buf<i128>),
    W256(Buf<i256>),
    Text(TextBuf),
    /// Bytes, and the end of each value.
    Bytes(Buf<u8>, Buf<i32>),
    /// Bytes of values of one width.
    Fixed(Buf<u8>, usize),
    /// The end of each list in its child column; starts with 0.
    Ends(Buf<i32>),
}

/// One column, by the index of its node.
#[derive(Debug)]
pub(crate) struct Column {
    pub values: Values,
    /// Indices of the nulls, ascending.
    nulls: Buf<u32>,
}

impl Column {
    fn new(code: Code) -> Self {
        let ends = || {
            let mut ends = Buf::default();
            ends.push(0);
            ends
        };
        let values = match code {
            Code::Null | Code::Struct(_) | Code::FixedList(..) => Values::Count(0),
            Code::Bool => Values::Bits(BitBuffer::default()),
            Code::Int(IntWidth::I8 | IntWidth::U8) => Values::W8(Buf::default()),
            Code::Int(IntWidth::I16 | IntWidth::U16) | Code::Float(FloatWidth::F16) => {
                Values::W16(Buf::default())
            }
            Code::Int(IntWidth::I32 | IntWidth::U32)
            | Code::Float(FloatWidth::F32)
            | Code::Date32
            | Code::Time(
                arrowsmith_number::TimeUnit::Second | arrowsmith_number::TimeUnit::Millisecond,
            ) => Values::W32(Buf::default()),
            Code::Int(IntWidth::I64 | IntWidth::U64)
            | Code::Float(FloatWidth::F64)
            | Code::Date64
            | Code::Time(_)
            | Code::Timestamp(..)
            | Code::Duration(_) => Values::W64(Buf::default()),
            Code::Decimal128 { .. } => Values::W128(Buf::default()),
            Code::Decimal256 { .. } => Values::W256(Buf::default()),
            Code::Utf8 | Code::Json => Values::Text(TextBuf::default()),
            Code::Binary(_) => Values::Bytes(Buf::default(), ends()),
            Code::FixedBinary(_, width) => Values::Fixed(Buf::default(), width),
            Code::List(_) | Code::Map(..) => Values::Ends(ends()),
        };
        Self { values, nulls: Buf::default() }
    }

    /// Marks these of the eight values from `first` on as null.
    #[inline(always)]
    pub fn null_lanes<I: Isa>(&mut self, isa: I, first: usize, lanes: u8) {
        isa.index_lanes(&mut self.nulls, index(first), lanes);
    }

    /// Takes the nulls among the values from `first` on, at most 64, out of the list of nulls.
    pub fn take_nulls(&mut self, first: usize) -> u64 {
        let mut nulls = 0;
        while let Some(at) = self.nulls.last().and_then(|at| (at as usize).checked_sub(first)) {
            nulls |= 1 << (at & 63);
            self.nulls.truncate(self.nulls.len() - 1);
        }
        nulls
    }

    /// Whether [`Column::expand`] moves values that this function reads.
    #[inline(always)]
    pub fn expands(&self, fast: Fast) -> bool {
        matches!(
            (fast, &self.values),
            (Fast::I64 | Fast::U64 | Fast::F64, Values::W64(_))
                | (Fast::I32 | Fast::Date32, Values::W32(_))
                | (Fast::Utf8, Values::Text(_))
                | (Fast::Bool, Values::Bits(_))
                | (Fast::Ints, Values::Ends(_))
        )
    }

    /// Moves the values from `first` on, one for each bit of `rows`, to the rows from `first` on
    /// whose bits are set, of `count` rows, and puts a placeholder into the others.
    #[inline(always)]
    pub fn expand<I: Isa>(&mut self, isa: I, first: usize, rows: u64, count: usize) {
        match &mut self.values {
            Values::W64(buf) => buf.expand(first, rows, count),
            Values::W32(buf) => buf.expand(first, rows, count),
            Values::Text(text) => text.expand(first, rows, count),
            Values::Bits(bits) => {
                let values = bits.word(first);
                bits.truncate(first);
                bits.push_bits(isa.scatter_bits(values, rows), count);
            }
            Values::Ends(ends) => ends.expand_ends(first, rows, count),
            other => wrong_column(other),
        }
    }

    /// Number of complete values.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Count(count) => *count,
            Values::Bits(bits) => bits.len(),
            Values::W8(buf) => buf.len(),
            Values::W16(buf) => buf.len(),
            Values::W32(buf) => buf.len(),
            Values::W64(buf) => buf.len(),
            Values::W128(buf) => buf.len(),
            Values::W256(buf) => buf.len(),
            Values::Text(text) => text.len(),
            Values::Bytes(_, ends) | Values::Ends(ends) => ends.len() - 1,
            Values::Fixed(bytes, width) => bytes.len().checked_div(*width).unwrap_or(0),
        }
    }

    /// The largest 32-bit offset that this column needs.
    fn offset_max(&self) -> usize {
        match &self.values {
            Values::Text(text) => text.bytes_len(),
            Values::Bytes(bytes, _) => bytes.len(),
            Values::Ends(ends) => ends.last().map_or(0, ArrowNativeType::as_usize),
            _ => 0,
        }
    }
}

/// All columns of a plan.
#[derive(Debug)]
pub(crate) struct Columns {
    pub columns: Vec<Column>,
}

impl Columns {
    pub fn new(program: &Program) -> Self {
        Self { columns: program.steps.iter().map(|step| Column::new(step.code)).collect() }
    }

    #[inline(always)]
    pub fn len(&self, id: Id) -> usize {
        self.columns[id].len()
    }

    /// The largest 32-bit offset that any column needs so far.
    pub fn offset_max(&self) -> usize {
        self.columns.iter().map(Column::offset_max).max().unwrap_or(0)
    }

    /// Appends a null to a column and its children. A child that is not nullable gets a value that
    /// the null hides.
    pub fn push_null(&mut self, program: &Program, id: Id) {
        self.null(program, id);
    }

    #[inline(always)]
    fn null(&mut self, program: &Program, id: Id) {
        let step = &program.steps[id];
        let column = &mut self.columns[id];
        let mut nested = false;
        let at = match &mut column.values {
            Values::W64(buf) => push_at(buf, 0),
            Values::W32(buf) => push_at(buf, 0),
            Values::W16(buf) => push_at(buf, 0),
            Values::W8(buf) => push_at(buf, 0),
            Values::W128(buf) => push_at(buf, 0),
            Values::W256(buf) => push_at(buf, i256::ZERO),
            Values::Text(text) => {
                text.push_empty();
                text.len() - 1
            }
            Values::Bits(bits) => {
                bits.push(false);
                bits.len() - 1
            }
            Values::Bytes(_, ends) | Values::Ends(ends) => {
                let last = ends.last().unwrap_or(0);
                push_at(ends, last) - 1
            }
            Values::Fixed(bytes, width) => {
                let at = bytes.len().checked_div(*width).unwrap_or(0);
                bytes.push_n(0, *width);
                at
            }
            Values::Count(count) => {
                nested = true;
                *count += 1;
                *count - 1
            }
        };
        if step.nullable {
            column.nulls.push(index(at));
        }
        if nested {
            self.push_nulls_below(program, step.code, 1);
        }
    }

    /// As [`Columns::push_null`] for each of the columns `first + i` whose bit `i` is set.
    #[inline(always)]
    pub fn push_nulls_to(&mut self, program: &Program, first: Id, mut columns: u64) {
        while columns != 0 {
            self.null(program, first + columns.trailing_zeros() as usize);
            columns &= columns - 1;
        }
    }

    /// As [`Columns::push_null`], `count` times.
    pub fn push_nulls(&mut self, program: &Program, id: Id, count: usize) {
        let step = &program.steps[id];
        let column = &mut self.columns[id];
        let from = column.len();
        match &mut column.values {
            Values::W64(buf) => buf.push_n(0, count),
            Values::W32(buf) => buf.push_n(0, count),
            Values::W16(buf) => buf.push_n(0, count),
            Values::W8(buf) => buf.push_n(0, count),
            Values::W128(buf) => buf.push_n(0, count),
            Values::W256(buf) => buf.push_n(i256::ZERO, count),
            Values::Text(text) => text.push_empties(count),
            Values::Bits(bits) => bits.push_run(false, count),
            Values::Bytes(_, ends) | Values::Ends(ends) => {
                ends.push_n(ends.last().unwrap_or(0), count);
            }
            Values::Fixed(bytes, width) => bytes.push_n(0, count.saturating_mul(*width)),
            Values::Count(all) => *all += count,
        }
        if step.nullable {
            // Bounded: the buffer accounts its growth.
            column.nulls.reserve(count);
            (index(from)..index(from + count)).for_each(|at| column.nulls.push(at));
        }
        self.push_nulls_below(program, step.code, count);
    }

    /// Appends `count` nulls to the children, where the parent is null.
    #[inline(never)]
    fn push_nulls_below(&mut self, program: &Program, code: Code, count: usize) {
        match code {
            Code::Struct(object) => {
                let object = &program.objects[object];
                for child in object.first..object.first + object.keys.len() {
                    match count {
                        1 => self.push_null(program, child),
                        _ => self.push_nulls(program, child, count),
                    }
                }
            }
            Code::FixedList(item, len) => {
                self.push_nulls(program, item, len.saturating_mul(count));
            }
            // Leaves have no children, and null lists and maps are empty.
            _ => {}
        }
    }

    /// Truncates a column and its children to the first `len` values.
    pub fn truncate(&mut self, program: &Program, id: Id, len: usize) {
        let column = &mut self.columns[id];
        while column.nulls.last().is_some_and(|at| at as usize >= len) {
            column.nulls.truncate(column.nulls.len() - 1);
        }
        let mut below = len;
        match &mut column.values {
            Values::Count(count) => *count = (*count).min(len),
            Values::Bits(bits) => bits.truncate(len),
            Values::W8(buf) => buf.truncate(len),
            Values::W16(buf) => buf.truncate(len),
            Values::W32(buf) => buf.truncate(len),
            Values::W64(buf) => buf.truncate(len),
            Values::W128(buf) => buf.truncate(len),
            Values::W256(buf) => buf.truncate(len),
            Values::Text(text) => text.truncate(len),
            Values::Bytes(bytes, ends) => {
                ends.truncate(len + 1);
                bytes.truncate(ends.last().map_or(0, ArrowNativeType::as_usize));
            }
            Values::Fixed(bytes, width) => bytes.truncate(len.saturating_mul(*width)),
            Values::Ends(ends) => {
                ends.truncate(len + 1);
                below = ends.last().map_or(0, ArrowNativeType::as_usize);
            }
        }
        match program.steps[id].code {
            Code::Struct(object) => {
                let object = &program.objects[object];
                for child in object.first..object.first + object.keys.len() {
                    self.truncate(program, child, len);
                }
            }
            Code::List(item) => self.truncate(program, item, below),
            Code::FixedList(item, size) => {
                self.truncate(program, item, len.saturating_mul(size));
            }
            Code::Map(key, value) => {
                self.truncate(program, key, below);
                self.truncate(program, value, below);
            }
            // Leaves have no children.
            _ => {}
        }
    }

    /// Whether every string so far is UTF-8.
    pub fn validate_text(&mut self) -> bool {
        self.columns.iter_mut().all(|column| match &mut column.values {
            Values::Text(text) => text.validate(),
            _ => true,
        })
    }

    /// Takes a column out as an array of its type.
    pub fn take(&mut self, program: &Program, id: Id) -> Result<ArrayRef> {
        let len = self.len(id);
        let nulls = take_nulls(&mut self.columns[id].nulls, len);
        let step = &program.steps[id];
        let data_type = &step.data_type;
        let array: ArrayRef = match step.code {
            Code::Null => Arc::new(self.count(id).map(NullArray::new)?),
            Code::Struct(object) => {
                let object = &program.objects[object];
                let DataType::Struct(fields) = data_type else { return Err(mismatch(data_type)) };
                let mut children = Vec::with_capacity(fields.len());
                for child in object.first..object.first + object.keys.len() {
                    children.push(self.take(program, child)?);
                }
                let len = self.count(id)?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, len)?)
            }
            Code::FixedList(item, size) => {
                let child = self.take(program, item)?;
                let len = self.count(id)?;
                let DataType::FixedSizeList(field, _) = data_type else {
                    return Err(mismatch(data_type));
                };
                let size = i32::try_from(size).unwrap_or(0);
                let field = Arc::clone(field);
                Arc::new(FixedSizeListArray::try_new_with_length(field, size, child, nulls, len)?)
            }
            Code::List(item) => {
                let child = self.take(program, item)?;
                let ends = self.take_ends(id)?;
                match data_type {
                    DataType::List(field) => {
                        Arc::new(ListArray::try_new(Arc::clone(field), ends, child, nulls)?)
                    }
                    DataType::LargeList(field) => {
                        let ends = ends.iter().map(|&end| i64::from(end)).collect();
                        let ends = OffsetBuffer::new(ends);
                        Arc::new(LargeListArray::try_new(Arc::clone(field), ends, child, nulls)?)
                    }
                    other => return Err(mismatch(other)),
                }
            }
            Code::Map(key, value) => {
                let children = vec![self.take(program, key)?, self.take(program, value)?];
                let ends = self.take_ends(id)?;
                let DataType::Map(entries, sorted) = data_type else {
                    return Err(mismatch(data_type));
                };
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err(mismatch(data_type));
                };
                let children = StructArray::try_new(fields.clone(), children, None)?;
                Arc::new(MapArray::try_new(Arc::clone(entries), ends, children, nulls, *sorted)?)
            }
            _ => self.take_leaf(id, nulls, base_type(data_type))?,
        };
        if array.data_type() == data_type {
            return Ok(array);
        }
        // Large, view and dictionary types are cast from the plain one.
        match data_type {
            DataType::Dictionary(key, _) if step.code == Code::Bool => bool_dictionary(&array, key),
            _ => Ok(arrow_cast::cast(&array, data_type)?),
        }
    }

    fn count(&mut self, id: Id) -> Result<usize> {
        match &mut self.columns[id].values {
            Values::Count(count) => Ok(std::mem::take(count)),
            other => Err(internal(format!("a column of {other:?} is not counted"))),
        }
    }

    fn take_ends(&mut self, id: Id) -> Result<OffsetBuffer<i32>> {
        match &mut self.columns[id].values {
            Values::Ends(ends) => Ok(take_offsets(ends)),
            other => Err(internal(format!("a column of {other:?} has no offsets"))),
        }
    }

    fn take_leaf(
        &mut self,
        id: Id,
        nulls: Option<NullBuffer>,
        data_type: &DataType,
    ) -> Result<ArrayRef> {
        use DataType as T;
        Ok(match &mut self.columns[id].values {
            Values::Bits(bits) => Arc::new(BooleanArray::new(bits.take(), nulls)),
            Values::Text(text) => {
                let array = text.take(nulls);
                Arc::new(array.ok_or_else(|| internal("a text column is not UTF-8".to_owned()))?)
            }
            Values::Bytes(bytes, ends) => {
                let ends = take_offsets(ends);
                Arc::new(BinaryArray::try_new(ends, bytes.take().into_inner(), nulls)?)
            }
            Values::Fixed(bytes, width) => {
                let width = i32::try_from(*width).unwrap_or(0);
                let bytes = bytes.take().into_inner();
                Arc::new(FixedSizeBinaryArray::try_new(width, bytes, nulls)?)
            }
            Values::W8(buf) => {
                let bytes = buf.take().into_inner();
                match data_type {
                    T::Int8 => primitive::<Int8Type>(bytes, nulls, data_type)?,
                    _ => primitive::<UInt8Type>(bytes, nulls, data_type)?,
                }
            }
            Values::W16(buf) => {
                let bytes = buf.take().into_inner();
                match data_type {
                    T::Int16 => primitive::<Int16Type>(bytes, nulls, data_type)?,
                    T::Float16 => primitive::<Float16Type>(bytes, nulls, data_type)?,
                    _ => primitive::<UInt16Type>(bytes, nulls, data_type)?,
                }
            }
            Values::W32(buf) => {
                let bytes = buf.take().into_inner();
                match data_type {
                    T::Int32 => primitive::<Int32Type>(bytes, nulls, data_type)?,
                    T::Float32 => primitive::<Float32Type>(bytes, nulls, data_type)?,
                    T::Date32 => primitive::<Date32Type>(bytes, nulls, data_type)?,
                    T::Time32(TimeUnit::Second) => {
                        primitive::<Time32SecondType>(bytes, nulls, data_type)?
                    }
                    T::Time32(_) => primitive::<Time32MillisecondType>(bytes, nulls, data_type)?,
                    _ => primitive::<UInt32Type>(bytes, nulls, data_type)?,
                }
            }
            Values::W64(buf) => take_64(buf.take().into_inner(), nulls, data_type)?,
            Values::W128(buf) => {
                primitive::<Decimal128Type>(buf.take().into_inner(), nulls, data_type)?
            }
            Values::W256(buf) => {
                primitive::<Decimal256Type>(buf.take().into_inner(), nulls, data_type)?
            }
            Values::Count(_) | Values::Ends(_) => return Err(mismatch(data_type)),
        })
    }
}

fn take_64(bytes: Buffer, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    use TimeUnit as U;
    match data_type {
        T::Int64 => primitive::<Int64Type>(bytes, nulls, data_type),
        T::Float64 => primitive::<Float64Type>(bytes, nulls, data_type),
        T::Date64 => primitive::<Date64Type>(bytes, nulls, data_type),
        T::Time64(U::Microsecond) => primitive::<Time64MicrosecondType>(bytes, nulls, data_type),
        T::Time64(_) => primitive::<Time64NanosecondType>(bytes, nulls, data_type),
        T::Timestamp(U::Second, _) => primitive::<TimestampSecondType>(bytes, nulls, data_type),
        T::Timestamp(U::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(bytes, nulls, data_type)
        }
        T::Timestamp(U::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(bytes, nulls, data_type)
        }
        T::Timestamp(U::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(bytes, nulls, data_type)
        }
        T::Duration(U::Second) => primitive::<DurationSecondType>(bytes, nulls, data_type),
        T::Duration(U::Millisecond) => {
            primitive::<DurationMillisecondType>(bytes, nulls, data_type)
        }
        T::Duration(U::Microsecond) => {
            primitive::<DurationMicrosecondType>(bytes, nulls, data_type)
        }
        T::Duration(U::Nanosecond) => primitive::<DurationNanosecondType>(bytes, nulls, data_type),
        _ => primitive::<UInt64Type>(bytes, nulls, data_type),
    }
}

fn primitive<T: ArrowPrimitiveType>(
    bytes: Buffer,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let len = bytes.len() / size_of::<T::Native>();
    let values = ScalarBuffer::<T::Native>::new(bytes, 0, len);
    let array = PrimitiveArray::<T>::try_new(values, nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

/// The index of a value. A batch of 2^32 values is refused like one that exceeds the memory limit.
#[inline(always)]
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or_else(|_| too_many(at))
}

#[cold]
fn too_many(at: usize) -> ! {
    let limit_bytes = u32::MAX as usize;
    let limit = "the number of values that a column can count";
    Refused { limit, limit_bytes, held_bytes: at, asked_bytes: 1 }.unwind()
}

/// Appends a value; returns its index.
#[inline(always)]
fn push_at<T: ArrowNativeType>(buf: &mut Buf<T>, value: T) -> usize {
    buf.push(value);
    buf.len() - 1
}

fn take_offsets(ends: &mut Buf<i32>) -> OffsetBuffer<i32> {
    let offsets = OffsetBuffer::new(ends.take());
    ends.push(0);
    offsets
}

fn take_nulls(nulls: &mut Buf<u32>, len: usize) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(len);
    bits.append_n(len, true);
    for &at in nulls.as_slice() {
        bits.set_bit(at as usize, false);
    }
    nulls.truncate(0);
    let bits: BooleanBuffer = bits.finish();
    Some(NullBuffer::new(bits))
}

/// A dictionary of `false` and `true`, which Arrow's cast does not make.
fn bool_dictionary(array: &ArrayRef, key: &DataType) -> Result<ArrayRef> {
    fn pack<K: ArrowDictionaryKeyType>(keys: &ArrayRef) -> Result<ArrayRef> {
        let values: ArrayRef = Arc::new(BooleanArray::from(vec![false, true]));
        let keys = keys.as_primitive::<K>().clone();
        Ok(Arc::new(DictionaryArray::<K>::try_new(keys, values)?))
    }
    let keys = arrow_cast::cast(array, key)?;
    match key {
        DataType::Int8 => pack::<Int8Type>(&keys),
        DataType::Int16 => pack::<Int16Type>(&keys),
        DataType::Int32 => pack::<Int32Type>(&keys),
        DataType::Int64 => pack::<Int64Type>(&keys),
        DataType::UInt8 => pack::<UInt8Type>(&keys),
        DataType::UInt16 => pack::<UInt16Type>(&keys),
        DataType::UInt32 => pack::<UInt32Type>(&keys),
        DataType::UInt64 => pack::<UInt64Type>(&keys),
        other => Err(mismatch(other)),
    }
}

fn mismatch(data_type: &DataType) -> Error {
    internal(format!("a column does not fit its type {data_type}"))
}

/// A length as a 32-bit offset. The decoder refuses chunks with which a length could exceed
/// `i32::MAX` before it decodes them.
#[inline(always)]
pub(crate) fn offset(len: usize) -> i32 {
    debug_assert!(i32::try_from(len).is_ok(), "the decoder has not refused {len} elements");
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// An operation on a column of another kind, which would be a bug of this crate: it fails in debug
/// builds, which fuzzing runs, and does nothing in release builds.
#[cold]
pub(crate) fn wrong_column(values: &Values) {
    debug_assert!(false, "an operation on another kind of column: {values:?}");
}

/// A bug of this crate, reported instead of a panic.
fn internal(message: String) -> Error {
    Error::Arrow(ArrowError::ComputeError(format!("engine cpu: {message}")))
}
