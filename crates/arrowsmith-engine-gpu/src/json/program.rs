// SPDX-License-Identifier: Apache-2.0
//! The plan as the kernels read it: tables of numbers (`abi`), and the reasons why
//! the kernels do not support a plan. The kernels are the same for every plan; the plan is data.

use arrow_schema::{DataType, TimeUnit};
use arrowsmith_plan::{BinaryEncoding, FloatWidth, IntWidth, Node, Op, Plan};

use crate::abi::{self, Key, Kind, Under};

/// A missing value, in any table.
pub(crate) const NONE: u32 = u32::MAX;

/// The maximum nesting depth of the walker's stack.
const DEPTH_MAX: usize = 32;

/// Maximum number of values that become null with one value.
const UNDER_MAX: u32 = 4096;

/// Maximum number of nodes of a plan.
const NODES_MAX: usize = 1 << 16;

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub kind: Kind,
    pub nullable: bool,
    /// First child; children are contiguous.
    pub first: usize,
    /// Fields of a struct, items of a fixed-size list.
    pub count: usize,
    /// Counter of a list or map; words of seen fields of a struct.
    pub slot: usize,
    /// The parent node.
    pub parent: Option<usize>,
    /// The output kind of the values.
    pub data_type: DataType,
    /// Bits, or precision (and 256 for the wide ones), or units per second.
    pub width: u64,
    /// Signed, or scale, or whether local time is known; hexadecimal.
    pub option: i64,
    /// The offset of local time from UTC, in units.
    pub local: i64,
    /// Bytes of a value of a fixed-width column.
    pub value_bytes: u64,
    keys: u32,
    table: u32,
    table_mask: u32,
    under: u32,
    unders: u32,
}

/// A plan laid out.
#[derive(Debug)]
pub(crate) struct Program {
    pub steps: Vec<Step>,
    /// Counters of lists and maps.
    pub slots: usize,
    /// Words of a record's seen fields.
    pub seen_words: usize,
    unders: Vec<Under>,
    keys: Vec<Key>,
    key_text: Vec<u8>,
    tables: Vec<u32>,
}

/// The tables as bytes, each for its own address in device memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    pub nodes: Vec<u8>,
    pub unders: Vec<u8>,
    pub keys: Vec<u8>,
    pub key_text: Vec<u8>,
    pub tables: Vec<u8>,
}

impl Program {
    /// Lays a plan out.
    ///
    /// # Errors
    /// The reason why the kernels do not support it, in words.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let mut program = Self {
            steps: Vec::new(),
            slots: 0,
            seen_words: 0,
            unders: Vec::new(),
            keys: Vec::new(),
            key_text: Vec::new(),
            tables: Vec::new(),
        };
        let mut queue = vec![(0, plan.root(), 0)];
        program.steps.push(step(plan.root(), None)?);
        let mut next = 0;
        while let Some(&(id, node, depth)) = queue.get(next) {
            next += 1;
            if program.steps.len() > NODES_MAX {
                return Err(format!("more than {NODES_MAX} fields"));
            }
            if program.steps[id].kind.is_nested() && depth == DEPTH_MAX {
                return Err(format!("nested deeper than {DEPTH_MAX} levels"));
            }
            let children: Vec<&Node> = match &node.op {
                Op::Struct(fields) => fields.iter().map(|field| &field.node).collect(),
                Op::List(item) | Op::FixedSizeList(item, _) => vec![item],
                Op::Map { key, value } => vec![key, value],
                _ => Vec::new(),
            };
            let first = program.steps.len();
            for (number, child) in children.into_iter().enumerate() {
                program.steps.push(step(child, Some(id))?);
                queue.push((first + number, child, depth + 1));
            }
            program.steps[id].first = first;
            match &node.op {
                Op::Struct(fields) => {
                    program.steps[id].count = fields.len();
                    program.steps[id].slot = program.seen_words;
                    program.seen_words += fields.len().div_ceil(64);
                    program.lay_keys(id, fields.iter().map(|field| field.key.as_str()));
                }
                Op::List(_) | Op::Map { .. } => {
                    program.steps[id].slot = program.slots;
                    program.slots += 1;
                }
                _ => {}
            }
        }
        for id in 0..program.steps.len() {
            let from = program.unders.len();
            program.lay_unders(id, 1)?;
            program.steps[id].under = number(from)?;
            program.steps[id].unders = number(program.unders.len() - from)?;
        }
        Ok(program)
    }

    fn lay_keys<'k>(&mut self, id: usize, keys: impl ExactSizeIterator<Item = &'k str>) {
        let size = (keys.len() * 2).next_power_of_two().max(2);
        let base = self.tables.len();
        // Bounded: by the keys of the schema.
        self.tables.resize(base + size, NONE);
        let first = self.keys.len();
        for (field, key) in (0u32..).zip(keys) {
            // A character that JSON must escape never appears in a text literally.
            let plain = !key.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\');
            let (at, len) = (self.key_text.len(), if plain { key.len() } else { 0 });
            self.keys.push(Key {
                at: u32::try_from(at).unwrap_or(NONE),
                len: if plain { u32::try_from(len).unwrap_or(NONE) } else { NONE },
            });
            if !plain {
                continue;
            }
            self.key_text.extend_from_slice(key.as_bytes());
            // The quote after it, and zeros up to a multiple of eight.
            self.key_text.push(b'"');
            // Bounded: by the keys of the schema.
            self.key_text.resize(self.key_text.len().next_multiple_of(8), 0);
            let hash = key
                .bytes()
                .fold(2_166_136_261_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16_777_619));
            let mut place = hash as usize & (size - 1);
            while self.tables[base + place] != NONE {
                place = (place + 1) & (size - 1);
            }
            self.tables[base + place] = field;
        }
        let step = &mut self.steps[id];
        step.keys = u32::try_from(first).unwrap_or(NONE);
        step.table = u32::try_from(base).unwrap_or(NONE);
        step.table_mask = u32::try_from(size - 1).unwrap_or(NONE);
    }

    /// Lists the nodes that become null with a value of a node, itself first.
    fn lay_unders(&mut self, id: usize, times: u32) -> Result<(), String> {
        if times > UNDER_MAX {
            return Err(format!("fixed-size lists of more than {UNDER_MAX} items in all"));
        }
        self.unders.push(Under { node: number(id)?, times });
        if self.unders.len() > NODES_MAX * 4 {
            return Err("structs inside structs of too many fields".to_owned());
        }
        let Step { kind, first, count, .. } = self.steps[id];
        match kind {
            Kind::Struct => {
                for child in first..first + count {
                    self.lay_unders(child, times)?;
                }
            }
            Kind::FixedList if count > 0 => {
                let times = u32::try_from(count).ok().and_then(|count| times.checked_mul(count));
                self.lay_unders(first, times.unwrap_or(NONE))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a record has at most one value of a step: no list or map is around it.
    fn is_once(&self, step: &Step) -> bool {
        let mut around = step.parent;
        while let Some(parent) = around {
            if matches!(self.steps[parent].kind, Kind::List | Kind::FixedList | Kind::Map) {
                return false;
            }
            around = self.steps[parent].parent;
        }
        true
    }

    /// Whether a step is a list whose items the walk does not note one by one.
    pub fn has_scalars(&self, step: &Step) -> bool {
        let item = self.steps.get(step.first).map(|item| item.kind);
        matches!(step.kind, Kind::List | Kind::FixedList)
            && item
                .is_some_and(|item| !item.is_nested() && item != Kind::Json && item != Kind::Null)
    }

    /// The tables for the device.
    pub fn tables(&self) -> Tables {
        let narrow = |value: usize| u32::try_from(value).unwrap_or(NONE);
        let nodes: Vec<abi::Node> = self
            .steps
            .iter()
            .map(|step| abi::Node {
                kind: step.kind as u32,
                nullable: u32::from(step.nullable),
                first: narrow(step.first),
                count: narrow(step.count),
                slot: narrow(step.slot),
                keys: step.keys,
                table: step.table,
                table_mask: step.table_mask,
                under: step.under,
                unders: step.unders,
                once: u32::from(self.is_once(step)),
            })
            .collect();
        Tables {
            nodes: abi::bytes_of(&nodes),
            unders: abi::bytes_of(&self.unders),
            keys: abi::bytes_of(&self.keys),
            key_text: self.key_text.clone(),
            tables: self.tables.iter().flat_map(|word| word.to_le_bytes()).collect(),
        }
    }
}

fn number(value: usize) -> Result<u32, String> {
    u32::try_from(value).map_err(|_| "more fields than can be counted".to_owned())
}

/// The type that a leaf's values have before they become a dictionary.
pub(crate) fn base_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => base_type(values),
        other => other,
    }
}

fn step(node: &Node, parent: Option<usize>) -> Result<Step, String> {
    let (mut width, mut option, mut local, mut value_bytes, mut count) = (0, 0, 0, 0, 0);
    let base = base_type(&node.data_type);
    let kind = match &node.op {
        Op::Null => Kind::Null,
        Op::Bool if matches!(node.data_type, DataType::Dictionary(..)) => {
            return Err("dictionaries of booleans".to_owned());
        }
        Op::Bool => Kind::Bool,
        Op::Int(int) => {
            width = match int {
                IntWidth::I8 | IntWidth::U8 => 8,
                IntWidth::I16 | IntWidth::U16 => 16,
                IntWidth::I32 | IntWidth::U32 => 32,
                IntWidth::I64 | IntWidth::U64 => 64,
            };
            option = i64::from(int.is_signed());
            value_bytes = width / 8;
            Kind::Int
        }
        Op::Float(float) => {
            width = match float {
                FloatWidth::F16 => 16,
                FloatWidth::F32 => 32,
                FloatWidth::F64 => 64,
            };
            value_bytes = width / 8;
            Kind::Float
        }
        Op::Decimal128 { precision, scale } => {
            (width, option, value_bytes) = (u64::from(*precision), i64::from(*scale), 16);
            Kind::Decimal
        }
        Op::Decimal256 { precision, scale } => {
            (width, option, value_bytes) = (u64::from(*precision) | 256, i64::from(*scale), 32);
            Kind::Decimal
        }
        Op::Utf8 => Kind::Utf8,
        Op::Json => Kind::Json,
        Op::Binary(encoding) => {
            option = i64::from(*encoding == BinaryEncoding::Hex);
            match base {
                DataType::FixedSizeBinary(size) => {
                    value_bytes = u64::try_from(*size).unwrap_or(0);
                    Kind::FixedBinary
                }
                _ => Kind::Binary,
            }
        }
        Op::Date32 => {
            (width, value_bytes) = (1, 4);
            Kind::Date32
        }
        Op::Date64 => {
            (width, value_bytes) = (1000, 8);
            Kind::Date64
        }
        Op::Time(unit) => {
            width = per_second(*unit);
            value_bytes = if width <= 1000 { 4 } else { 8 };
            Kind::Time
        }
        Op::Timestamp { unit, zone } => {
            (width, value_bytes) = (per_second(*unit), 8);
            if let Some(ahead) = seconds_ahead(zone.as_deref()) {
                option = 1;
                local = ahead * i64::try_from(width).unwrap_or(0);
            }
            Kind::Timestamp
        }
        Op::Duration(unit) => {
            (width, value_bytes) = (per_second(*unit), 8);
            Kind::Duration
        }
        Op::List(_) => Kind::List,
        Op::FixedSizeList(_, len) => {
            count = usize::try_from(*len).unwrap_or(0);
            Kind::FixedList
        }
        Op::Struct(_) => Kind::Struct,
        Op::Map { .. } => Kind::Map,
        other => return Err(format!("{other:?}")),
    };
    Ok(Step {
        kind,
        nullable: node.nullable,
        first: 0,
        count,
        slot: 0,
        parent,
        data_type: node.data_type.clone(),
        width,
        option,
        local,
        value_bytes,
        keys: 0,
        table: 0,
        table_mask: 0,
        under: 0,
        unders: 0,
    })
}

fn per_second(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The offset of local time from UTC in this zone, in seconds; `None` for a zone with rules of its
/// own.
fn seconds_ahead(zone: Option<&str>) -> Option<i64> {
    let Some(zone) = zone else { return Some(0) };
    if ["UTC", "Etc/UTC", "GMT", "Z", "z"].contains(&zone) {
        return Some(0);
    }
    let (sign, rest) = match zone.as_bytes().split_first()? {
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let digits: Option<Vec<i64>> = rest
        .iter()
        .filter(|byte| **byte != b':')
        .map(|byte| char::from(*byte).to_digit(10).map(i64::from))
        .collect();
    let minutes = match digits?[..] {
        [a, b] => (a * 10 + b) * 60,
        [a, b, c, d] => (a * 10 + b) * 60 + c * 10 + d,
        _ => return None,
    };
    Some(sign * minutes * 60)
}
