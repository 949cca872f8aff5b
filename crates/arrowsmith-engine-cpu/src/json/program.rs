// SPDX-License-Identifier: Apache-2.0
//! The plan, laid out for the walker: nodes in one array, with the children of a node adjacent, so
//! that an operation is found by index and is cheap to copy.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use arrowsmith_core::{Dialect, Error, Result};
use arrowsmith_number::TimeUnit as Unit;
use arrowsmith_plan::{BinaryEncoding, Coercion, FloatWidth, IntWidth, Node, Op, Plan};

use super::coerce::Coerced;
use super::keys::KeyTable;

/// Index of a node, and of its column.
pub(crate) type Id = usize;

/// [`Op`] in the form that the walker branches on: small and `Copy`, with children by index.
/// [`Fast`] groups these codes by the function that reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Null,
    Bool,
    Int(IntWidth),
    Float(FloatWidth),
    Decimal128 {
        precision: u8,
        scale: i8,
    },
    Decimal256 {
        precision: u8,
        scale: i8,
    },
    Utf8,
    Json,
    Binary(BinaryEncoding),
    FixedBinary(BinaryEncoding, usize),
    Date32,
    Date64,
    Time(Unit),
    /// With the UTC offset to subtract from a text without offset, in the unit; `None` if it is
    /// unknown.
    Timestamp(Unit, Option<i64>),
    /// A timestamp of Spark's dialect.
    SparkTimestamp(Unit, Zone),
    Duration(Unit),
    List(Id),
    FixedList(Id, usize),
    /// Index of its [`Object`].
    Struct(usize),
    /// A scalar that takes more than the values of its type: index of its [`Coerced`].
    Coerced(usize),
    Map(Id, Id),
}

/// The zone of a column of timestamps in Spark's dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// None: a local time, whose text has no zone.
    Local,
    /// A zone that is this many microseconds ahead of UTC.
    Fixed(i64),
    /// Another one: each text has to have a zone.
    Named,
}

/// The functions of the walker: frequent operations have one each, leaves are inlined, and all
/// others share [`Fast::Other`]. Stored with each predicted field, so that the hot loop branches on
/// a few cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fast {
    Utf8,
    I64,
    U64,
    I32,
    F64,
    Bool,
    Date32,
    /// A list or fixed-size list of 64-bit integers.
    Ints,
    /// A list of 64-bit floating-point numbers.
    Floats,
    Object,
    /// A list of objects.
    Objects,
    List,
    Timestamp,
    /// All other operations, which share one function.
    Other,
}

impl Program {
    /// How the walker reads this node.
    pub fn fast(&self, id: Id) -> Fast {
        match self.steps[id].code {
            Code::List(item) | Code::FixedList(item, _)
                if matches!(self.steps[item].code, Code::Int(IntWidth::I64 | IntWidth::U64)) =>
            {
                Fast::Ints
            }
            Code::List(item) if self.steps[item].code == Code::Float(FloatWidth::F64) => {
                Fast::Floats
            }
            Code::List(item) if matches!(self.steps[item].code, Code::Struct(_)) => Fast::Objects,
            code => code.fast(),
        }
    }
}

impl Code {
    fn fast(self) -> Fast {
        match self {
            Self::Utf8 => Fast::Utf8,
            Self::Int(IntWidth::I64) => Fast::I64,
            Self::Int(IntWidth::U64) => Fast::U64,
            Self::Int(IntWidth::I32) => Fast::I32,
            Self::Date32 => Fast::Date32,
            Self::Float(FloatWidth::F64) => Fast::F64,
            Self::Bool => Fast::Bool,
            Self::Struct(_) => Fast::Object,
            Self::List(_) => Fast::List,
            Self::Timestamp(..) => Fast::Timestamp,
            _ => Fast::Other,
        }
    }
}

/// One node of the plan.
#[derive(Debug)]
pub(crate) struct Step {
    pub code: Code,
    pub nullable: bool,
    /// What it takes beyond the values of its type.
    pub coercion: Option<Arc<Coercion>>,
    pub data_type: DataType,
    /// Number of open containers inside this value if it is a container, else around it.
    pub depth: usize,
}

/// The keys of one struct.
#[derive(Debug)]
pub(crate) struct Object {
    /// Node of the first field; the others follow it.
    pub first: Id,
    pub keys: Vec<Arc<str>>,
    pub index: HashMap<Arc<str>, usize>,
    /// Keys of the schema that no column needs.
    pub unselected: HashSet<Arc<str>>,
    /// The keys by their hash.
    pub table: KeyTable,
    /// The fields, 64 at a time.
    pub fields: Vec<FieldSets>,
}

/// Up to 64 fields, one bit each.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FieldSets {
    pub all: u64,
    /// Those that are not nullable.
    pub required: u64,
    /// Those whose columns are of 64-bit values, of strings, of bits, of lists.
    pub words: u64,
    pub texts: u64,
    pub bits: u64,
    pub lists: u64,
}

impl FieldSets {
    fn add(&mut self, step: &Step, bit: u64) {
        self.all |= bit;
        if !step.nullable {
            self.required |= bit;
        }
        match step.code {
            Code::Int(IntWidth::I64 | IntWidth::U64)
            | Code::Float(FloatWidth::F64)
            | Code::Timestamp(..)
            | Code::SparkTimestamp(..) => self.words |= bit,
            Code::Utf8 => self.texts |= bit,
            Code::Bool => self.bits |= bit,
            Code::List(_) => self.lists |= bit,
            _ => {}
        }
    }
}

/// A plan laid out.
#[derive(Debug)]
pub(crate) struct Program {
    pub steps: Vec<Step>,
    pub objects: Vec<Object>,
    pub coerced: Vec<Coerced>,
    pub dialect: Dialect,
}

/// Node of the record.
pub(crate) const ROOT: Id = 0;

/// Its object, if it is one.
pub(crate) const ROOT_OBJECT: usize = 0;

impl Program {
    pub fn new(plan: &Plan, dialect: Dialect) -> Result<Self> {
        let (steps, objects, coerced) = (Vec::new(), Vec::new(), Vec::new());
        let mut program = Self { steps, objects, coerced, dialect };
        program.reserve(1);
        program.lay(ROOT, plan.root(), 0)?;
        for object in 0..program.objects.len() {
            let Object { first, keys, .. } = &program.objects[object];
            let named = keys.iter().enumerate();
            let named = named.map(|(field, key)| (&**key, program.fast(first + field)));
            let table = KeyTable::new(named);
            let mut fields = vec![FieldSets::default(); keys.len().div_ceil(64)];
            for (field, step) in program.steps[*first..].iter().take(keys.len()).enumerate() {
                fields[field / 64].add(step, 1 << (field % 64));
            }
            let object = &mut program.objects[object];
            (object.table, object.fields) = (table, fields);
        }
        Ok(program)
    }

    /// Appends `count` empty nodes and returns the index of the first.
    fn reserve(&mut self, count: usize) -> Id {
        let first = self.steps.len();
        self.steps.extend((0..count).map(|_| Step {
            code: Code::Null,
            nullable: true,
            coercion: None,
            data_type: DataType::Null,
            depth: 0,
        }));
        first
    }

    fn lay(&mut self, id: Id, node: &Node, outside: usize) -> Result<()> {
        let mut depth = outside;
        let mut child = |program: &mut Self, node: &Node| {
            depth = outside + 1;
            let id = program.reserve(1);
            program.lay(id, node, depth).map(|()| id)
        };
        let code = match &node.op {
            Op::Null => Code::Null,
            Op::Bool => Code::Bool,
            Op::Int(width) => Code::Int(*width),
            Op::Float(width) => Code::Float(*width),
            Op::Decimal128 { precision, scale } => {
                Code::Decimal128 { precision: *precision, scale: *scale }
            }
            Op::Decimal256 { precision, scale } => {
                Code::Decimal256 { precision: *precision, scale: *scale }
            }
            Op::Utf8 => Code::Utf8,
            Op::Json => Code::Json,
            Op::Binary(encoding) => match base_type(&node.data_type) {
                DataType::FixedSizeBinary(width) => {
                    Code::FixedBinary(*encoding, usize::try_from(*width).unwrap_or(0))
                }
                _ => Code::Binary(*encoding),
            },
            Op::Date32 => Code::Date32,
            Op::Date64 => Code::Date64,
            Op::Time(unit) => Code::Time(convert_unit(*unit)),
            Op::Timestamp { unit, zone } if self.dialect == Dialect::Spark => {
                let ahead = zone_offset(zone.as_deref(), Unit::Microsecond);
                let zone = match (zone, ahead) {
                    (None, _) => Zone::Local,
                    (Some(_), Some(ahead)) => Zone::Fixed(ahead),
                    (Some(_), None) => Zone::Named,
                };
                Code::SparkTimestamp(convert_unit(*unit), zone)
            }
            Op::Timestamp { unit, zone } => {
                let unit = convert_unit(*unit);
                Code::Timestamp(unit, zone_offset(zone.as_deref(), unit))
            }
            Op::Duration(unit) => Code::Duration(convert_unit(*unit)),
            Op::List(item) => Code::List(child(self, item)?),
            Op::FixedSizeList(item, len) => {
                let len = usize::try_from(*len).unwrap_or(0);
                Code::FixedList(child(self, item)?, len)
            }
            Op::Map { key, value } => Code::Map(child(self, key)?, child(self, value)?),
            Op::Struct(fields) => {
                depth = outside + 1;
                let first = self.reserve(fields.len());
                let keys: Vec<Arc<str>> = fields.iter().map(|f| Arc::from(&*f.key)).collect();
                let index = keys.iter().cloned().enumerate().map(|(i, key)| (key, i)).collect();
                let unselected = node.unselected.iter().map(|key| Arc::from(&**key)).collect();
                let object = self.objects.len();
                let (table, sets) = (KeyTable::default(), Vec::new());
                let object_of = Object { first, keys, index, unselected, table, fields: sets };
                self.objects.push(object_of);
                for (i, field) in fields.iter().enumerate() {
                    self.lay(first + i, &field.node, depth)?;
                }
                Code::Struct(object)
            }
            other => {
                return Err(Error::schema("", format!("engine cpu cannot decode {other:?}")));
            }
        };
        let (nullable, data_type) = (node.nullable, node.data_type.clone());
        let coercion = node.coercion.clone();
        let code = match (&coercion, code) {
            // These have only null words, in place of an error.
            (None, code) | (_, code @ (Code::Null | Code::Struct(_))) => code,
            (_, code @ (Code::List(_) | Code::FixedList(..) | Code::Map(..))) => code,
            (Some(coercion), code) => {
                self.coerced.push(Coerced { code, coercion: coercion.clone() });
                Code::Coerced(self.coerced.len() - 1)
            }
        };
        self.steps[id] = Step { code, nullable, coercion, data_type, depth };
        Ok(())
    }

    /// The operation of a node's type.
    pub fn code(&self, id: Id) -> Code {
        match self.steps[id].code {
            Code::Coerced(index) => self.coerced[index].code,
            code => code,
        }
    }
}

/// The type in which a leaf's values are stored.
pub(crate) fn base_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => base_type(values),
        other => other,
    }
}

pub(super) fn convert_unit(unit: TimeUnit) -> Unit {
    match unit {
        TimeUnit::Second => Unit::Second,
        TimeUnit::Millisecond => Unit::Millisecond,
        TimeUnit::Microsecond => Unit::Microsecond,
        TimeUnit::Nanosecond => Unit::Nanosecond,
    }
}

/// The UTC offset of this zone, in units; `None` for a zone without a fixed offset.
fn zone_offset(zone: Option<&str>, unit: Unit) -> Option<i64> {
    let zone = match zone {
        None => return Some(0),
        Some(zone) => zone,
    };
    if ["UTC", "Etc/UTC", "GMT", "Z", "z"].contains(&zone) {
        return Some(0);
    }
    let bytes = zone.as_bytes();
    let sign = match bytes.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: Vec<i64> = bytes[1..]
        .iter()
        .filter(|b| **b != b':')
        .map(|b| char::from(*b).to_digit(10).map(i64::from))
        .collect::<Option<_>>()?;
    let minutes = match digits[..] {
        [a, b] => (a * 10 + b) * 60,
        [a, b, c, d] => (a * 10 + b) * 60 + c * 10 + d,
        _ => return None,
    };
    let per_second = match unit {
        Unit::Second => 1,
        Unit::Millisecond => 1_000,
        Unit::Microsecond => 1_000_000,
        Unit::Nanosecond => 1_000_000_000,
    };
    Some(sign * minutes * 60 * per_second)
}
