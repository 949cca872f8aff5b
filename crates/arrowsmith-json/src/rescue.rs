// SPDX-License-Identifier: Apache-2.0
//! What records contain beyond a plan: keys that it does not have, with their values as they stand,
//! as the text of one JSON object for each record.

use std::collections::HashMap;

use arrowsmith_core::Framing;
use arrowsmith_plan::{FieldPlan, Node, Op, Plan};

use crate::cursor::Cursor;
use crate::infer::is_json;
use crate::key::unescaped;
use crate::record::Records;

/// Finds what the records of a text contain beyond a plan.
#[derive(Debug, Clone)]
pub struct Rescuer(Known);

/// What a plan knows of a value.
#[derive(Debug, Clone)]
enum Known {
    /// All of it.
    Whole,
    /// Some keys of an object.
    Keys(HashMap<String, Known>),
    /// Some keys in the values of a map.
    Entries(Box<Known>),
    /// Some keys in the elements of a list.
    Items(Box<Known>),
}

impl Known {
    fn of(node: &Node) -> Self {
        match &node.op {
            Op::Struct(fields) => {
                let known = |field: &FieldPlan| Self::of(&field.node);
                Self::Keys(fields.iter().map(|field| (field.key.clone(), known(field))).collect())
            }
            Op::Map { value, .. } => Self::within(Self::Entries, value),
            Op::List(item) | Op::FixedSizeList(item, _) => Self::within(Self::Items, item),
            _ => Self::Whole,
        }
    }

    fn within(kind: impl Fn(Box<Self>) -> Self, node: &Node) -> Self {
        match Self::of(node) {
            Self::Whole => Self::Whole,
            known => kind(Box::new(known)),
        }
    }
}

impl Rescuer {
    /// What is not in `plan`.
    pub fn new(plan: &Plan) -> Self {
        Self(Known::of(plan.root()))
    }

    /// For each of the records with these numbers, in ascending order and counted from 0, what it
    /// contains beyond the plan; `None` if that is nothing. The records in `doubtful`, in ascending
    /// order, may be no JSON, and then contain nothing; the others are JSON.
    pub fn records<'a>(
        &'a self,
        text: &'a [u8],
        framing: Framing,
        numbers: impl Iterator<Item = u64> + 'a,
        doubtful: &'a [u64],
    ) -> impl Iterator<Item = Option<String>> + 'a {
        let mut records = Records::new(text, framing);
        let mut next = 0;
        numbers.map(move |number| {
            let skipped = usize::try_from(number - next).ok()?;
            next = number + 1;
            let record = &text[records.nth(skipped)?];
            let found = self.record(record)?;
            (doubtful.binary_search(&number).is_err() || is_json(record)).then_some(found)
        })
    }

    /// What a record contains beyond the plan. What is not UTF-8 in it becomes U+FFFD.
    fn record(&self, text: &[u8]) -> Option<String> {
        let mut search = Search { cursor: Cursor { text, at: 0 }, found: Vec::new() };
        search.value(&self.0)?.then(|| String::from_utf8_lossy(&search.found).into_owned())
    }
}

/// A position in a record, and what was found before it. Recursion is as deep as the plan.
struct Search<'a> {
    cursor: Cursor<'a>,
    found: Vec<u8>,
}

impl Search<'_> {
    /// Adds what is not known of the next value; returns whether that is anything, or `None` if
    /// this is not JSON.
    fn value(&mut self, known: &Known) -> Option<bool> {
        match (known, self.cursor.peek()?) {
            (Known::Keys(_) | Known::Entries(_), b'{') => self.object(known),
            (Known::Items(item), b'[') => self.list(item),
            _ => self.cursor.skip().map(|_| false),
        }
    }

    fn object(&mut self, known: &Known) -> Option<bool> {
        let start = self.found.len();
        let mut any = false;
        self.open(b'{');
        while self.cursor.more(b'}')? {
            let before = self.found.len();
            let key = self.cursor.skip()?;
            self.cursor.expect(b':')?;
            self.found.extend_from_slice(if any { b"," } else { b"" });
            self.found.extend_from_slice(key);
            self.found.push(b':');
            let inner = match known {
                Known::Keys(keys) => {
                    let text = key.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
                    unescaped(text).and_then(|key| keys.get(key.as_ref()))
                }
                Known::Entries(value) => Some(&**value),
                Known::Items(_) | Known::Whole => None,
            };
            let found = match inner {
                Some(inner) => self.value(inner)?,
                None => {
                    let value = self.cursor.skip()?;
                    self.found.extend_from_slice(value);
                    true
                }
            };
            if !found {
                self.found.truncate(before);
            }
            any |= found;
        }
        self.close(b'}', start, any);
        Some(any)
    }

    /// Elements of which everything is known are null, so that the others keep their places.
    fn list(&mut self, item: &Known) -> Option<bool> {
        let start = self.found.len();
        let mut any = false;
        self.open(b'[');
        while self.cursor.more(b']')? {
            if self.found.len() > start + 1 {
                self.found.push(b',');
            }
            if self.value(item)? {
                any = true;
            } else {
                self.found.extend_from_slice(b"null");
            }
        }
        self.close(b']', start, any);
        Some(any)
    }

    fn open(&mut self, bracket: u8) {
        self.cursor.at += 1;
        self.found.push(bracket);
    }

    /// Ends what was opened at `start`, or removes it if there is nothing in it.
    fn close(&mut self, bracket: u8, start: usize, any: bool) {
        if any {
            self.found.push(bracket);
        } else {
            self.found.truncate(start);
        }
    }
}
