// SPDX-License-Identifier: Apache-2.0
//! The fields beside the records of a document, as they come, and the records that wait for them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::documents::{Documents, Role};

/// Text of the fields that all records of a document are to have, in bytes, with white space in
/// them: each record is as much longer.
const FIELDS_BYTES_MAX: usize = 64 << 10;

/// Records of one document, and the text that each is to have after its opening brace: keys and
/// values.
#[derive(Debug)]
struct Group {
    /// Offset of the first record.
    first: u64,
    fields: Arc<[u8]>,
}

/// The fields beside the records of one document after the other.
#[derive(Debug)]
pub(super) struct ParentFields {
    /// For each field of this document, once it is decided, its value.
    fields: Vec<Option<Value>>,
    /// Number of fields that may still come, and text of those that came.
    left: usize,
    bytes: usize,
    reading: Option<Reading>,
    /// Maximum bytes from a record to a field that it waits for.
    wait_max: u64,
    /// The fields, once no record waits for more.
    settled: Option<Arc<[u8]>>,
    /// Whether records were let go without fields that were still to come.
    left_early: bool,
    /// Offsets of the records that did not leave yet.
    starts: VecDeque<u64>,
    /// The first record that waits for fields: those of this document do.
    waiting: Option<u64>,
    /// The fields of the others, in order, and whether those of this document are among them.
    groups: VecDeque<Group>,
    is_grouped: bool,
}

/// The text of a field's value, without white space around or inside of it; a field that is absent
/// has none.
type Value = Vec<u8>;

/// The field whose value is being read.
#[derive(Debug)]
struct Reading {
    field: usize,
    /// Number of containers around the value.
    depth: usize,
    text: Value,
}

impl ParentFields {
    /// None if there are no fields.
    pub(super) fn new(documents: &Documents, wait_max: usize) -> Option<Self> {
        let fields = documents.names().len();
        let parent_fields = Self {
            fields: documents.names().iter().map(|_| None).collect(),
            left: fields,
            bytes: 0,
            reading: None,
            wait_max: wait_max as u64,
            settled: None,
            left_early: false,
            starts: VecDeque::new(),
            waiting: None,
            groups: VecDeque::new(),
            is_grouped: false,
        };
        (fields > 0).then_some(parent_fields)
    }

    /// The value of a field starts with `byte` at `offset`, inside of `depth` containers; returns
    /// whether it is not too late for it.
    pub(super) fn begin(
        &mut self,
        field: usize,
        depth: usize,
        (offset, byte): (u64, u8),
        documents: &Documents,
    ) -> bool {
        self.passed(documents, offset);
        self.bytes += 1;
        self.reading = Some(Reading { field, depth, text: vec![byte] });
        !self.left_early || byte == b'n'
    }

    /// Whether the value of a field is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Adds to the value of a field, unless it is white space; returns whether it is not too long.
    pub(super) fn add(&mut self, text: &[u8], is_text: bool) -> bool {
        let Some(reading) = &mut self.reading else { return true };
        self.bytes += text.len();
        let fits = self.bytes <= FIELDS_BYTES_MAX;
        if fits && is_text {
            reading.text.extend_from_slice(text);
        }
        fits
    }

    /// Whether a value that ends inside of `depth` containers is that of a field.
    pub(super) fn is_last(&self, depth: usize) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.depth == depth)
    }

    /// The value of a field is complete.
    pub(super) fn end(&mut self, documents: &Documents) {
        if let Some(Reading { field, text, .. }) = self.reading.take() {
            self.decide(field, text, documents);
        }
    }

    /// Whatever is to come of the fields at and inside of a node is absent.
    pub(super) fn close(&mut self, documents: &Documents, node: usize) {
        let Some(node) = documents.node(node) else { return };
        match node.role {
            Role::Field(field) => self.decide(field, Value::new(), documents),
            _ => node.children.iter().for_each(|child| self.close(documents, *child)),
        }
    }

    fn decide(&mut self, field: usize, text: Value, documents: &Documents) {
        if let Some(value @ None) = self.fields.get_mut(field) {
            *value = Some(text);
            self.left -= 1;
            if self.left == 0 {
                self.settle(documents);
            }
        }
    }

    /// Lets the records go with the fields that came.
    fn settle(&mut self, documents: &Documents) {
        if self.settled.is_some() {
            return;
        }
        let mut all = Vec::new();
        for (name, value) in documents.names().iter().zip(&self.fields) {
            let Some(value) = value.as_ref().filter(|value| !value.is_empty()) else { continue };
            if !all.is_empty() {
                all.push(b',');
            }
            all.extend_from_slice(name.quoted.as_bytes());
            all.push(b':');
            all.extend_from_slice(value);
        }
        let all: Arc<[u8]> = all.into();
        if let Some(first) = self.waiting.take() {
            self.groups.push_back(Group { first, fields: Arc::clone(&all) });
            self.is_grouped = true;
        }
        self.settled = Some(all);
    }

    /// A record starts.
    pub(super) fn record(&mut self, start: u64) {
        self.starts.push_back(start);
        match &self.settled {
            None => drop(self.waiting.get_or_insert(start)),
            Some(fields) if !self.is_grouped => {
                self.groups.push_back(Group { first: start, fields: Arc::clone(fields) });
                self.is_grouped = true;
            }
            Some(_) => {}
        }
    }

    /// Text up to `offset` was read: records that have waited for too much of it go on without the
    /// fields that are still to come.
    pub(super) fn passed(&mut self, documents: &Documents, offset: u64) {
        let waits = |first: u64| offset - first > self.wait_max;
        // A field that has begun is waited for: it is short.
        if self.waiting.is_some_and(waits) && self.reading.is_none() {
            self.left_early = true;
            self.settle(documents);
        }
    }

    /// A document ended.
    pub(super) fn end_document(&mut self, documents: &Documents) {
        self.settle(documents);
        (self.settled, self.left_early, self.is_grouped) = (None, false, false);
        self.fields.fill(None);
        (self.left, self.bytes) = (self.fields.len(), 0);
    }

    /// The first record that waits for fields.
    pub(super) fn first_waiting(&self) -> Option<u64> {
        self.waiting
    }

    /// Number of records that wait for fields.
    pub(super) fn waiting(&self) -> usize {
        let before = self.waiting.map(|first| self.starts.partition_point(|start| *start < first));
        before.map_or(0, |before| self.starts.len() - before)
    }

    /// Records that have all of their fields, in order, and how many bytes these are.
    pub(super) fn ready(&self) -> impl Iterator<Item = (u64, usize)> {
        let waiting = self.waiting.unwrap_or(u64::MAX);
        let ready = self.starts.iter().copied().take_while(move |start| *start < waiting);
        let mut groups = self.groups.iter().peekable();
        let mut len = 0;
        ready.map(move |start| {
            while let Some(group) = groups.next_if(|group| group.first <= start) {
                len = group.fields.len();
            }
            (start, len)
        })
    }

    /// Removes the first record, if it is ready and starts before `end`; its offset and fields.
    pub(super) fn pop(&mut self, end: u64) -> Option<(u64, &[u8])> {
        let before = self.waiting.map_or(end, |waiting| waiting.min(end));
        let start = self.starts.pop_front_if(|start| *start < before)?;
        while self.groups.get(1).is_some_and(|group| group.first <= start) {
            self.groups.pop_front();
        }
        Some((start, &self.groups.front()?.fields))
    }
}
