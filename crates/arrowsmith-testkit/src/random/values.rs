// SPDX-License-Identifier: Apache-2.0
//! Random values: for every type common ones, and those at its limits.

use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use arrowsmith_plan::{FloatWidth, IntWidth, Node, Op, Plan};

use super::Rng;
use super::spell;
use crate::oracle::Cell;

/// Seconds of 0002-01-01 and of 9998-12-31: with any offset, still a year of four digits.
const SECONDS: (i128, i128) = (-62_104_060_800, 253_370_678_400);

/// A random record of a plan.
pub(super) fn record(rng: &mut Rng, plan: &Plan) -> Cell {
    value(rng, plan.root())
}

fn value(rng: &mut Rng, node: &Node) -> Cell {
    if node.nullable && rng.one_in(6) {
        return Cell::Null;
    }
    match &node.op {
        Op::Null => Cell::Null,
        Op::Bool => Cell::Bool(rng.one_in(2)),
        Op::Int(width) => Cell::Int(int(rng, *width)),
        Op::Float(width) => Cell::Float(float(rng, *width)),
        Op::Decimal128 { precision, .. } | Op::Decimal256 { precision, .. } => {
            Cell::Decimal(unscaled(rng, *precision))
        }
        Op::Utf8 => Cell::Text(text(rng)),
        Op::Json => json(rng, node.nullable),
        Op::Binary(_) => {
            let len = match inner(&node.data_type) {
                DataType::FixedSizeBinary(len) => usize::try_from(*len).unwrap_or(0),
                _ => rng.below(20),
            };
            Cell::Bytes((0..len).map(|_| byte(rng)).collect())
        }
        Op::Date32 => {
            if rng.one_in(8) {
                Cell::Int(edge(rng, i32::MIN.into(), i32::MAX.into()))
            } else {
                Cell::Int(rng.range(SECONDS.0 / 86_400, SECONDS.1 / 86_400))
            }
        }
        Op::Date64 => Cell::Int(instant(rng, TimeUnit::Millisecond)),
        Op::Time(unit) => Cell::Int(edge(rng, 0, 86_400 * spell::per_second(*unit) - 1)),
        Op::Timestamp { unit, .. } => Cell::Int(instant(rng, *unit)),
        Op::Duration(unit) => {
            if rng.one_in(4) {
                Cell::Int(edge(rng, i64::MIN.into(), i64::MAX.into()))
            } else {
                let units = spell::per_second(*unit);
                Cell::Int(rng.range(-1_000_000, 1_000_000) * units + rng.range(0, units - 1))
            }
        }
        Op::List(item) => {
            let count = if rng.one_in(10) { 70 } else { rng.below(5) };
            Cell::List((0..count).map(|_| value(rng, item)).collect())
        }
        Op::FixedSizeList(item, len) => Cell::List((0..*len).map(|_| value(rng, item)).collect()),
        Op::Struct(fields) => {
            Cell::Struct(fields.iter().map(|field| value(rng, &field.node)).collect())
        }
        Op::Map { value: item, .. } => {
            let entry = |rng: &mut Rng| (Cell::Text(text(rng)), value(rng, item));
            let count = rng.below(4);
            Cell::Map((0..count).map(|_| entry(rng)).collect())
        }
        _ => Cell::Null,
    }
}

fn inner(data_type: &DataType) -> &DataType {
    if let DataType::Dictionary(_, values) = data_type { values } else { data_type }
}

fn byte(rng: &mut Rng) -> u8 {
    rng.bits().to_le_bytes()[0]
}

/// A number of a range: sometimes its limits, and often a small one.
fn edge(rng: &mut Rng, first: i128, last: i128) -> i128 {
    match rng.below(8) {
        0 => first,
        1 => last,
        2 | 3 => rng.range(first.max(-20), last.min(20)),
        4 => {
            // Any number of digits.
            let limit = 10_i128.pow(u32::try_from(rng.below(20)).unwrap_or(0));
            rng.range(first.max(-limit), last.min(limit))
        }
        _ => rng.range(first, last),
    }
}

fn int(rng: &mut Rng, width: IntWidth) -> i128 {
    match width {
        IntWidth::I8 => edge(rng, i8::MIN.into(), i8::MAX.into()),
        IntWidth::I16 => edge(rng, i16::MIN.into(), i16::MAX.into()),
        IntWidth::I32 => edge(rng, i32::MIN.into(), i32::MAX.into()),
        IntWidth::I64 => edge(rng, i64::MIN.into(), i64::MAX.into()),
        IntWidth::U8 => edge(rng, 0, u8::MAX.into()),
        IntWidth::U16 => edge(rng, 0, u16::MAX.into()),
        IntWidth::U32 => edge(rng, 0, u32::MAX.into()),
        IntWidth::U64 => edge(rng, 0, u64::MAX.into()),
    }
}

/// Bits of a finite number.
fn float(rng: &mut Rng, width: FloatWidth) -> u64 {
    let small = rng.range(-1000, 1000);
    let plain = rng.one_in(2);
    // At most 1000, so that it fits every width.
    let small = f64::from(i16::try_from(small).unwrap_or(0)) / 4.0;
    loop {
        let any = rng.bits();
        match width {
            FloatWidth::F64 if plain => return small.to_bits(),
            FloatWidth::F16 if plain => return half::f16::from_f64(small).to_bits().into(),
            FloatWidth::F32 if plain => {
                return half::f16::from_f64(small).to_f32().to_bits().into();
            }
            FloatWidth::F64 if f64::from_bits(any).is_finite() => return any,
            FloatWidth::F32 => {
                let bits = u32::try_from(any >> 32).unwrap_or(0);
                if f32::from_bits(bits).is_finite() {
                    return bits.into();
                }
            }
            FloatWidth::F16 => {
                let bits = u16::try_from(any >> 48).unwrap_or(0);
                if half::f16::from_bits(bits).is_finite() {
                    return bits.into();
                }
            }
            FloatWidth::F64 => {}
        }
    }
}

fn unscaled(rng: &mut Rng, precision: u8) -> i256 {
    let digits = rng.below(usize::from(precision) + 1);
    let mut value = i256::ZERO;
    for _ in 0..digits {
        let digit = if rng.one_in(4) { 0 } else { rng.range(0, 9) };
        value = value.wrapping_mul(i256::from_i128(10)).wrapping_add(i256::from_i128(digit));
    }
    if rng.one_in(2) { value.wrapping_neg() } else { value }
}

fn instant(rng: &mut Rng, unit: TimeUnit) -> i128 {
    if rng.one_in(10) {
        return edge(rng, i64::MIN.into(), i64::MAX.into());
    }
    let units = spell::per_second(unit);
    let seconds = rng.range(SECONDS.0, SECONDS.1);
    let value = seconds * units + rng.range(0, units - 1);
    // Nanoseconds have a smaller range.
    if i64::try_from(value).is_ok() { value } else { value % i128::from(i64::MAX) }
}

/// A string: mostly short and plain, sometimes long, sometimes of odd characters.
pub(super) fn text(rng: &mut Rng) -> String {
    let odd = [
        '"',
        '\\',
        '/',
        '\n',
        '\r',
        '\t',
        '\u{0}',
        '\u{8}',
        '\u{c}',
        '\u{1f}',
        '\u{7f}',
        '\u{80}',
        'é',
        'ß',
        '€',
        '日',
        '\u{2028}',
        '\u{fffd}',
        '\u{ffff}',
        '\u{d7ff}',
        '\u{e000}',
        '😀',
        '\u{10000}',
        '\u{10ffff}',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        ' ',
    ];
    let len = if rng.one_in(10) { rng.below(200) } else { rng.below(12) };
    let strange = rng.one_in(3);
    (0..len)
        .map(|_| match (strange, rng.below(4)) {
            (true, 0..=1) => *rng.pick(&odd),
            (true, 2) => {
                char::from_u32(u32::try_from(rng.below(0x11_0000)).unwrap_or(0)).unwrap_or('x')
            }
            _ => char::from(*rng.pick(b"abcdefghijklmnopqrstuvwxyz0123456789-_ ")),
        })
        .collect()
}

/// JSON text without line feeds.
fn json(rng: &mut Rng, nullable: bool) -> Cell {
    let mut out = Vec::new();
    spell::any(rng, &mut out, 3, false);
    let text = String::from_utf8_lossy(&out).into_owned();
    // A bare `null` is a null if the column is nullable.
    if nullable && text == "null" { Cell::Null } else { Cell::Text(text) }
}
