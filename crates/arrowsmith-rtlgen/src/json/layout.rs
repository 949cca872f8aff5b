// SPDX-License-Identifier: Apache-2.0
//! A plan as the circuit sees it: numbered nodes, the buffers that each writes, and the predicted
//! texts.
//!
//! Nodes are numbered depth first, the record is 0, so that a subtree is a range. Buffers are
//! numbered within their kind (data, offsets, validity of values, validity of lists and objects,
//! flags): there is one packer per kind.

use std::collections::BTreeSet;

use arrow_schema::DataType;
use arrowsmith_core::{Error, Result};
use arrowsmith_plan::Plan;
use arrowsmith_plan::plan::{Node, Op};

use super::Shape;
use super::kind::{Kind, is_outer};

/// Maximum number of nodes of a circuit: node numbers are bytes.
const NODES_MAX: usize = 250;
/// Longest predicted text, in bytes.
pub(super) const SLOT_BYTES_MAX: usize = 200;

/// One decoder of the plan.
#[derive(Debug, Clone)]
pub struct Row {
    /// Dotted path, `[]` for items; empty for the record.
    pub path: String,
    /// The key, for a field.
    pub key: Option<String>,
    /// The kind of value it takes.
    pub kind: Kind,
    /// Its Arrow type.
    pub data_type: DataType,
    /// Whether `null` is allowed.
    pub nullable: bool,
    /// A list of integers, or an item of one: several are taken per cycle.
    pub bulk: bool,
    /// The parent node.
    pub parent: usize,
    /// The last node of its subtree.
    pub last: usize,
    /// The number of enclosing lists.
    pub level: usize,
    /// Children: fields of an object, the item of a list.
    pub children: Vec<usize>,
    /// Number of its data buffer: elements, or bytes of strings.
    pub data: Option<usize>,
    /// Number of its offsets buffer, and of the counter for it.
    pub offsets: Option<usize>,
    /// Number of its validity buffer: among those of values, or of lists and objects.
    pub validity: Option<usize>,
    /// Number of its buffer of booleans.
    pub flags: Option<usize>,
    /// The prediction after its values.
    pub slot: Option<usize>,
}

/// A predicted text.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    /// From the end of a value to the start of the next.
    pub text: Vec<u8>,
    /// The node of the next value.
    pub next: usize,
    /// Fields of the objects that it closes.
    pub clears: BTreeSet<usize>,
    /// Fields that it enters.
    pub sets: BTreeSet<usize>,
    /// Validity buffer of the object it opens.
    pub outer: Option<usize>,
    /// Whether a record ends in it.
    pub newline: bool,
}

/// The plan, laid out.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Nodes by number.
    pub rows: Vec<Row>,
    /// Predicted texts by number; the first is that of a record's start, if there is one.
    pub slots: Vec<Slot>,
    /// The prediction at the start of a record.
    pub first_slot: Option<usize>,
    /// Texts of keys, without duplicates.
    pub keys: Vec<String>,
    /// The number of buffers: data, offsets, validity of values, of lists and objects, flags.
    pub counts: [usize; 5],
}

impl Layout {
    /// Lays a plan out.
    ///
    /// # Errors
    /// [`Error::Schema`] names the first field that the circuit cannot decode.
    pub fn new(plan: &Plan) -> Result<Self> {
        if plan.has_coercions() {
            return Err(Error::schema("", "the circuit has no coercions"));
        }
        if plan.is_value_root() {
            return Err(Error::schema("", "the circuit takes records that are objects"));
        }
        let mut layout = Self {
            rows: Vec::new(),
            slots: Vec::new(),
            first_slot: None,
            keys: Vec::new(),
            counts: [0; 5],
        };
        layout.add(plan.root(), None, String::new(), 0, 0)?;
        let keys: BTreeSet<&String> = layout.rows.iter().filter_map(|r| r.key.as_ref()).collect();
        let keys = keys.into_iter().filter(|key| is_plain(key)).cloned().collect();
        layout.keys = keys;
        Predict::run(&mut layout);
        Ok(layout)
    }

    /// Keys that the circuit does not find, because JSON writes them with escapes or they are too
    /// long: a record that has one is left to software.
    pub fn keys_for_software(&self) -> BTreeSet<&str> {
        let keys = self.rows.iter().filter_map(|row| row.key.as_deref());
        keys.filter(|key| !is_plain(key)).collect()
    }

    /// Lists around the deepest node.
    pub fn levels(&self) -> usize {
        self.rows.iter().map(|row| row.level).max().unwrap_or(0) + 1
    }

    /// Buffers of a circuit. A circuit without columns still has a buffer at each port: the table
    /// cannot be empty.
    pub fn buffers(&self, shape: Shape) -> usize {
        (self.counts.iter().sum::<usize>() * shape.parsers).max(shape.ports)
    }

    /// 1 if a column is of such a kind, else 0.
    pub(super) fn has(&self, kind: impl Fn(Kind) -> bool) -> usize {
        usize::from(self.rows.iter().any(|row| kind(row.kind)))
    }

    fn add(
        &mut self,
        node: &Node,
        key: Option<String>,
        path: String,
        parent: usize,
        level: usize,
    ) -> Result<usize> {
        let index = self.rows.len();
        if index >= NODES_MAX {
            return Err(Error::schema(path, format!("more than {NODES_MAX} fields")));
        }
        let kind = Kind::of(node, &path)?;
        self.rows.push(Row {
            path: path.clone(),
            key,
            kind,
            data_type: node.data_type.clone(),
            nullable: node.nullable,
            bulk: false,
            parent,
            last: index,
            level,
            children: Vec::new(),
            data: None,
            offsets: None,
            validity: None,
            flags: None,
            slot: None,
        });
        let mut children = Vec::new();
        match &node.op {
            Op::Struct(fields) => {
                for field in fields {
                    let below = if path.is_empty() {
                        field.key.clone()
                    } else {
                        format!("{path}.{}", field.key)
                    };
                    children.push(self.add(
                        &field.node,
                        Some(field.key.clone()),
                        below,
                        index,
                        level,
                    )?);
                }
            }
            Op::List(item) | Op::FixedSizeList(item, _) => {
                children.push(self.add(item, None, format!("{path}[]"), index, level + 1)?);
                if matches!(item.op, Op::Int(_)) {
                    self.rows[index].bulk = true;
                    self.rows[index + 1].bulk = true;
                }
            }
            _ => {}
        }
        let mut take = |class: usize| {
            self.counts[class] += 1;
            Some(self.counts[class] - 1)
        };
        let (mut data, mut offsets, mut flags, mut validity) = (None, None, None, None);
        match kind {
            _ if kind.element_bytes().is_some() => data = take(0),
            Kind::Text => (data, offsets) = (take(0), take(1)),
            Kind::List => offsets = take(1),
            Kind::Bool => flags = take(4),
            _ => {}
        }
        if node.nullable && kind != Kind::Null {
            validity = take(if is_outer(kind) { 3 } else { 2 });
        }
        let last = self.rows.len() - 1;
        let row = &mut self.rows[index];
        (row.data, row.offsets, row.flags, row.validity) = (data, offsets, flags, validity);
        (row.children, row.last) = (children, last);
        Ok(index)
    }
}

/// Whether a key needs no escapes in JSON.
pub(super) fn is_plain(key: &str) -> bool {
    key.len() < SLOT_BYTES_MAX && !key.bytes().any(|b| b == b'"' || b == b'\\' || b < 0x20)
}

/// Walks the plan in the order of a record written without white space, and records the text
/// between values.
struct Predict<'a> {
    layout: &'a mut Layout,
    slot: Slot,
    /// Text that cannot be predicted is in the way, or more values open than a step can encode.
    broken: bool,
    /// The value that precedes the text.
    previous: Option<usize>,
}

impl<'a> Predict<'a> {
    fn run(layout: &'a mut Layout) {
        let mut this = Self { layout, slot: Slot::default(), broken: false, previous: None };
        this.object(0);
        this.slot.text.push(b'\n');
        this.slot.newline = true;
        // The next record begins after the last value.
        let first = this.layout.first_slot.map(|slot| this.layout.slots[slot].clone());
        let (Some(first), Some(previous), false) = (first, this.previous, this.broken) else {
            return;
        };
        this.slot.text.extend(&first.text);
        this.slot.sets.extend(&first.sets);
        if this.slot.outer.is_none() {
            this.slot.outer = first.outer;
            this.slot.next = first.next;
            let slot = std::mem::take(&mut this.slot);
            this.keep(slot, Some(previous));
        }
    }

    fn object(&mut self, node: usize) {
        self.slot.text.push(b'{');
        for (number, child) in self.layout.rows[node].children.clone().into_iter().enumerate() {
            if number > 0 {
                self.slot.text.push(b',');
            }
            let key = self.layout.rows[child].key.clone().unwrap_or_default();
            self.broken |= !is_plain(&key);
            self.slot.text.extend(format!("\"{key}\":").as_bytes());
            self.slot.sets.insert(child);
            self.value(child);
        }
        self.slot.text.push(b'}');
        let fields = self.layout.rows[node].children.clone();
        self.slot.clears.extend(fields);
    }

    fn value(&mut self, node: usize) {
        let row = &self.layout.rows[node];
        let (kind, bulk, item) = (row.kind, row.bulk, row.children.first().copied());
        if is_outer(kind)
            && let Some(buffer) = row.validity
        {
            self.broken |= self.slot.outer.replace(buffer).is_some();
        }
        match kind {
            Kind::Int(..) | Kind::Float(_) | Kind::Decimal(..) | Kind::Bool => {
                self.end_of_value(node, b"")
            }
            Kind::Text | Kind::Time(_) => {
                self.slot.text.push(b'"');
                self.end_of_value(node, b"\"");
            }
            Kind::List | Kind::Fixed(_) if bulk => {
                self.slot.text.push(b'[');
                self.end_of_value(node, b"]");
            }
            Kind::Struct => self.object(node),
            Kind::List | Kind::Fixed(_) | Kind::Null => {
                // Items are walked token by token; in an item that is an object, fields are
                // predicted.
                self.broken = true;
                if let Some(item) = item {
                    self.value(item);
                }
                self.broken = true;
            }
        }
    }

    /// A value is here; the text after it begins with `close`.
    fn end_of_value(&mut self, node: usize, close: &[u8]) {
        let next = Slot { text: close.to_vec(), ..Slot::default() };
        let mut slot = std::mem::replace(&mut self.slot, next);
        slot.next = node;
        if !self.broken {
            self.keep(slot, self.previous);
        }
        self.broken = false;
        self.previous = Some(node);
    }

    fn keep(&mut self, slot: Slot, previous: Option<usize>) {
        if slot.text.len() > SLOT_BYTES_MAX {
            return;
        }
        let number = self.layout.slots.len();
        self.layout.slots.push(slot);
        match previous {
            Some(node) => self.layout.rows[node].slot = Some(number),
            None => self.layout.first_slot = Some(number),
        }
    }
}
