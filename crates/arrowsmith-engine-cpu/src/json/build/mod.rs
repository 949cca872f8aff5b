// SPDX-License-Identifier: Apache-2.0
//! Build: columns that grow value by value, can be truncated to the start of a record, and become
//! Arrow arrays.
//!
//! A null costs one entry in a list of positions; a value costs nothing. The validity bitmap is
//! built at the end, only if there were nulls.

mod take;

use arrow_buffer::{ArrowNativeType, i256};
use arrowsmith_core::memory::Refused;
use arrowsmith_plan::{FloatWidth, IntWidth};
use arrowsmith_simd::{BitBuffer, Buf, Isa, TextBuf};

use super::program::{Code, Fast, Id, Program};

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
            | Code::SparkTimestamp(..)
            | Code::Duration(_) => Values::W64(Buf::default()),
            Code::Decimal128 { .. } => Values::W128(Buf::default()),
            Code::Decimal256 { .. } => Values::W256(Buf::default()),
            Code::Utf8 | Code::Json => Values::Text(TextBuf::default()),
            Code::Binary(_) => Values::Bytes(Buf::default(), ends()),
            Code::FixedBinary(_, width) => Values::Fixed(Buf::default(), width),
            Code::List(_) | Code::Map(..) => Values::Ends(ends()),
            // `Program::code` returns the code of the type.
            Code::Coerced(_) => Values::Count(0),
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
        Self { columns: (0..program.steps.len()).map(|id| Column::new(program.code(id))).collect() }
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
