// SPDX-License-Identifier: Apache-2.0
//! Rows to text: keys in any order, nulls written or omitted, duplicate keys, unknown keys.

use arrow_schema::TimeUnit;
use arrowsmith_core::Framing;
use arrowsmith_plan::{BinaryEncoding, FieldPlan, FloatWidth, Node, Op};
use half::f16;

use super::spell::{self, space};
use super::{Profile, RandomCase, Rng, values};
use crate::oracle::Cell;

/// Writes the rows of `case`, in its framing.
pub(super) fn records(rng: &mut Rng, profile: Profile, case: &mut RandomCase) {
    let lines = case.framing == Framing::Lines;
    let similar = matches!(profile, Profile::Alike | Profile::Mixed);
    let plan = std::sync::Arc::clone(&case.plan);
    let order = match profile {
        Profile::Mixed => *rng.pick(&[Order::Schema, Order::Random, Order::Kinds, Order::Kinds]),
        _ => Order::Schema,
    };
    let mut writer = Writer { rng, profile, order, out: Vec::new(), feeds: !lines };
    for (index, row) in case.rows.iter().enumerate() {
        if case.framing == Framing::Array && index > 0 {
            writer.out.push(b',');
        }
        writer.space();
        writer.value(plan.root(), row);
        writer.space();
        match case.framing {
            Framing::Lines => {
                let last = index + 1 == case.rows.len();
                let ends: &[&[u8]] = match last {
                    true => &[b"\n", b""],
                    false if similar && !writer.rng.one_in(100) => &[b"\n"],
                    false => &[b"\n", b"\r\n", b"\n \n"],
                };
                let end = *writer.rng.pick(ends);
                writer.out.extend_from_slice(end);
                case.cuts.push(writer.out.len());
            }
            // Without it two numbers would be read as one.
            Framing::Concatenated => writer.out.push(b' '),
            Framing::Array => {}
        }
    }
    case.text = writer.out;
}

/// The usual order of the keys of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Schema,
    Random,
    /// One of four orders, at random.
    Kinds,
}

struct Writer<'a> {
    rng: &'a mut Rng,
    profile: Profile,
    order: Order,
    out: Vec<u8>,
    /// Whether line feeds are white space.
    feeds: bool,
}

impl Writer<'_> {
    /// True once in `times`, and much more rarely if there are many records.
    fn surprise(&mut self, times: usize) -> bool {
        let rarer = match self.profile {
            Profile::Alike => 100,
            Profile::Mixed => 10,
            _ => 1,
        };
        self.rng.one_in(rarer * times)
    }

    fn space(&mut self) {
        if matches!(self.profile, Profile::Alike | Profile::Mixed) && !self.rng.one_in(2000) {
            return;
        }
        space(self.rng, &mut self.out, self.feeds);
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        spell::string(self.rng, &mut self.out, text, self.profile.is_full());
    }

    fn value(&mut self, node: &Node, cell: &Cell) {
        match (cell, &node.op) {
            (Cell::Null, _) => self.raw("null"),
            (Cell::Bool(value), _) => self.raw(if *value { "true" } else { "false" }),
            (Cell::Int(value), op) => self.int(op, *value),
            (Cell::Float(bits), Op::Float(width)) => self.float(*width, *bits),
            (Cell::Decimal(value), Op::Decimal128 { scale, .. } | Op::Decimal256 { scale, .. }) => {
                let text = spell::decimal(self.rng, self.profile, &value.to_string(), *scale);
                if self.rng.one_in(2) { self.string(&text) } else { self.raw(&text) }
            }
            (Cell::Text(text), Op::Json) => self.raw(text),
            (Cell::Text(text), _) => self.string(text),
            (Cell::Bytes(bytes), op) => {
                let hex = *op == Op::Binary(BinaryEncoding::Hex);
                let text = spell::binary(self.rng, bytes, hex);
                self.string(&text);
            }
            (Cell::List(cells), Op::List(item) | Op::FixedSizeList(item, _)) => {
                self.raw("[");
                self.space();
                for (index, cell) in cells.iter().enumerate() {
                    if index > 0 {
                        self.raw(",");
                        self.space();
                    }
                    self.value(item, cell);
                    self.space();
                }
                self.raw("]");
            }
            (Cell::Struct(cells), Op::Struct(fields)) => self.object(fields, cells),
            (Cell::Map(entries), Op::Map { value, .. }) => {
                self.raw("{");
                self.space();
                for (index, (key, cell)) in entries.iter().enumerate() {
                    if let Cell::Text(key) = key {
                        self.key(index == 0, key);
                    }
                    self.value(value, cell);
                    self.space();
                }
                self.raw("}");
            }
            _ => self.raw("null"),
        }
    }

    /// Writes the comma, a key, and its colon.
    fn key(&mut self, first: bool, key: &str) {
        if !first {
            self.raw(",");
            self.space();
        }
        let same = self.profile == Profile::Mixed && !self.rng.one_in(50);
        if same || self.profile == Profile::Alike {
            spell::string(&mut Rng::new(0), &mut self.out, key, true);
        } else {
            self.string(key);
        }
        self.space();
        self.raw(":");
        self.space();
    }

    fn object(&mut self, fields: &[FieldPlan], cells: &[Cell]) {
        let order = self.order_of(fields.len());
        self.raw("{");
        self.space();
        let mut first = true;
        for index in order {
            if self.surprise(8) {
                self.unknown(fields, first);
                first = false;
            }
            if cells[index].is_null() && self.rng.one_in(2) {
                continue;
            }
            let again = self.surprise(20);
            for _ in 0..=usize::from(again) {
                self.key(first, &fields[index].key);
                self.value(&fields[index].node, &cells[index]);
                self.space();
                first = false;
            }
        }
        if self.surprise(8) {
            self.unknown(fields, first);
        }
        self.raw("}");
    }

    /// The order of this many keys.
    fn order_of(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        let kind = Rng::new(self.rng.below(4) as u64);
        let mut own = match self.order {
            Order::Kinds => kind,
            _ => Rng::new(self.rng.bits()),
        };
        if self.order != Order::Schema || self.surprise(3) {
            for index in (1..count).rev() {
                order.swap(index, own.below(index + 1));
            }
        }
        order
    }

    /// Writes an entry that the schema does not have.
    fn unknown(&mut self, fields: &[FieldPlan], first: bool) {
        let mut key = values::text(self.rng);
        while fields.iter().any(|field| field.key == key) {
            key.push('_');
        }
        self.key(first, &key);
        spell::any(self.rng, &mut self.out, 3, self.feeds);
        self.space();
    }

    fn int(&mut self, op: &Op, value: i128) {
        let full = self.profile.is_full();
        let text = match op {
            _ if self.rng.one_in(3) => None,
            Op::Date32 => spell::date(value * 86_400),
            Op::Date64 if full => self.timestamp(value, TimeUnit::Millisecond, None),
            Op::Time(unit) if full => Some(spell::clock(self.rng, value, *unit)),
            Op::Timestamp { unit, zone } => self.timestamp(value, *unit, zone.as_deref()),
            Op::Duration(unit) if full && i64::try_from(-value).is_ok() => {
                Some(spell::duration(self.rng, value, *unit))
            }
            _ => None,
        };
        match text {
            Some(text) => self.string(&text),
            None if value == 0 && signed(op) && self.rng.one_in(4) => self.raw("-0"),
            None => self.raw(&value.to_string()),
        }
    }

    fn timestamp(&mut self, value: i128, unit: TimeUnit, zone: Option<&str>) -> Option<String> {
        if self.profile == Profile::ArrowJson {
            return arrow_json_timestamp(value, unit);
        }
        let ahead = match zone {
            None | Some("UTC") => Some(0),
            Some("+02:00") => Some(7_200),
            Some("-0530") => Some(-19_800),
            // A zone without a fixed offset needs one in the text.
            Some(_) => None,
        };
        if let Some(ahead) = ahead.filter(|_| self.rng.one_in(2)) {
            return spell::timestamp(self.rng, value, unit, None, ahead);
        }
        let minutes = *self.rng.pick(&[0, 0, 60, -90, 23 * 60 + 59, -23 * 60 - 59]);
        spell::timestamp(self.rng, value, unit, Some(minutes), 0)
    }

    fn float(&mut self, width: FloatWidth, bits: u64) {
        let narrow = u32::try_from(bits).unwrap_or(0);
        let spellings = match width {
            FloatWidth::F64 => {
                let value = f64::from_bits(bits);
                [
                    format!("{value:?}"),
                    format!("{value}"),
                    format!("{value:e}"),
                    format!("{value:.30e}"),
                ]
            }
            FloatWidth::F32 => {
                let value = f32::from_bits(narrow);
                [
                    format!("{value:?}"),
                    format!("{value}"),
                    format!("{value:e}"),
                    format!("{value:.20e}"),
                ]
            }
            FloatWidth::F16 => {
                let value = f16::from_bits(u16::try_from(bits).unwrap_or(0)).to_f32();
                [
                    format!("{value:?}"),
                    format!("{value}"),
                    format!("{value:e}"),
                    format!("{value:.20e}"),
                ]
            }
        };
        let text = if self.profile == Profile::ArrowJson && width == FloatWidth::F16 {
            spellings[0].clone()
        } else {
            spell::float(self.rng, spellings)
        };
        self.raw(&text);
    }
}

fn signed(op: &Op) -> bool {
    if let Op::Int(width) = op { width.is_signed() } else { true }
}

/// The form that both arrow-json and the contract support.
fn arrow_json_timestamp(value: i128, unit: TimeUnit) -> Option<String> {
    let units = spell::per_second(unit);
    let seconds = value.div_euclid(units);
    let places = units.ilog10() as usize;
    let day = spell::date(seconds)?;
    let clock = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let fraction = value.rem_euclid(units);
    let fraction = if places == 0 { String::new() } else { format!(".{fraction:0places$}") };
    Some(format!("{day}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}
