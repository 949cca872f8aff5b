// SPDX-License-Identifier: Apache-2.0
//! Spread: the memory for the parts of a group, laid out for a plan.

use arrowsmith_simd::lanes::LANES;

use super::{KEYS_MAX, OPAQUE, PENALTY_MAX, RECORDS_MAX};
use crate::json::program::{Code, Fast, Id, Program, ROOT};

/// A key, by the distances of its quotes from the start of the group, and the number of objects
/// around it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Key {
    pub(super) open: u16,
    pub(super) close: u16,
    pub(super) depth: u16,
}

/// A member: the node that it is, the distances of the text before its key and of its value, and
/// the number of objects around it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Member {
    pub(super) id: Id,
    pub(super) before: u16,
    pub(super) value: u16,
    pub(super) depth: u16,
}

/// A value, by the distances of its first byte and of the byte after it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Item {
    pub(super) from: u16,
    pub(super) to: u16,
}

/// A column, and the columns around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) id: Id,
    /// The object that its value is in.
    pub(super) parent: Id,
    pub(super) fast: Fast,
    pub(super) nullable: bool,
    /// The next column that is not inside it.
    pub(super) next: usize,
}

/// Memory for the parts of one group.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(super) keys: Vec<Key>,
    /// Start of each record, and of the one after the last.
    pub(super) starts: [u16; 2 * RECORDS_MAX],
    pub(super) ends: [u16; 2 * RECORDS_MAX],
    /// Number of keys of each record.
    pub(super) key_counts: [u16; 2 * RECORDS_MAX],
    pub(super) members: Vec<Member>,
    /// The columns of a record, objects before what is in them.
    pub(super) visits: Vec<Visit>,
    /// The nodes of those that are objects, and which ones.
    pub(super) structs: Vec<(Id, usize)>,
    /// The object of each node that is one. The last two are for keys inside values that are read
    /// as a whole, and for keys that no field has.
    pub(super) objects: Vec<usize>,
    /// The records in which each node was found, a bit each, and their number.
    pub(super) found: Vec<u64>,
    pub(super) counts: Vec<usize>,
    /// The records in which each object is not null.
    pub(super) there: Vec<u64>,
    /// The values of each node, [`RECORDS_MAX`] each, up to [`KEYS_MAX`] of the last, and one that
    /// is not used.
    pub(super) items: Vec<Item>,
    /// The members whose keys are unknown.
    pub(super) unknown: Vec<u16>,
    /// The deepest object, in open containers.
    pub(super) depth: usize,
    /// Whether a key that is found in no table is not a field.
    pub(super) complete: bool,
    /// Maximum number of records of the next group.
    pub(super) limit: usize,
    /// Number of tries to skip.
    pub(super) wait: usize,
    pub(super) penalty: usize,
}

impl Spread {
    pub fn new(program: &Program) -> Self {
        let mut objects: Vec<usize> = program.steps.iter().map(|_| OPAQUE).collect();
        objects.extend([OPAQUE; 2]);
        let mut spread = Self {
            keys: Vec::new(),
            starts: [0; 2 * RECORDS_MAX],
            ends: [0; 2 * RECORDS_MAX],
            key_counts: [0; 2 * RECORDS_MAX],
            members: Vec::new(),
            visits: Vec::new(),
            structs: Vec::new(),
            objects,
            found: Vec::new(),
            counts: Vec::new(),
            there: Vec::new(),
            items: Vec::new(),
            unknown: Vec::new(),
            depth: 0,
            complete: true,
            limit: RECORDS_MAX,
            wait: 0,
            penalty: 0,
        };
        spread.lay(program, ROOT);
        spread
    }

    /// Lists the columns inside an object.
    fn lay(&mut self, program: &Program, parent: Id) {
        let Code::Struct(object) = program.steps[parent].code else { return };
        self.objects[parent] = object;
        self.structs.push((parent, object));
        self.depth = self.depth.max(program.steps[parent].depth);
        let layout = &program.objects[object];
        self.complete &= layout.table.is_complete();
        for id in layout.first..layout.first + layout.keys.len() {
            let at = self.visits.len();
            let (fast, nullable) = (program.fast(id), program.steps[id].nullable);
            self.visits.push(Visit { id, parent, fast, nullable, next: 0 });
            self.lay(program, id);
            self.visits[at].next = self.visits.len();
        }
    }

    /// Makes room for the parts of a group.
    #[cold]
    pub(super) fn allocate(&mut self) {
        let nodes = self.objects.len();
        self.keys = vec![Key::default(); KEYS_MAX];
        self.unknown = vec![0; KEYS_MAX];
        self.members = vec![Member::default(); KEYS_MAX];
        // Bounded: in proportion to the fields of the plan.
        self.found = vec![0; nodes];
        // Bounded: in proportion to the fields of the plan.
        self.counts = vec![0; nodes];
        // Bounded: in proportion to the fields of the plan.
        self.there = vec![0; nodes];
        // Bounded: in proportion to the fields of the plan.
        self.items = vec![Item::default(); nodes * RECORDS_MAX + KEYS_MAX + 1];
    }

    /// After a failure, smaller groups are tried, and then fewer of them.
    pub(super) fn failed(&mut self) {
        if self.limit > LANES {
            self.limit /= 4;
        } else {
            self.penalty = (self.penalty * 2).clamp(1, PENALTY_MAX);
            self.wait = self.limit * self.penalty;
        }
    }

    pub(super) fn succeeded(&mut self) {
        self.limit = (2 * self.limit).min(RECORDS_MAX);
        self.penalty = 0;
    }
}
