// SPDX-License-Identifier: Apache-2.0
//! Schema inference: a schema that matches every sampled record, for any valid JSON.
//!
//! It runs before the plan is compiled. The values seen are summarised as a tree of kinds
//! (`lattice`), in which a new value can only widen a kind: integer → number, missing → nullable,
//! and, if no other kind holds both values, `json`, which keeps any text unchanged. So the order of
//! the records affects only the order of the columns, no value is lost, and inference never fails
//! on valid records. Memory is bounded by the number of distinct keys, which [`Limits::fields_max`]
//! bounds, not by the number of records. `docs/guide/schema.md` has the rules.

mod lattice;
mod reader;
mod watch;

use std::sync::Arc;

use arrow_schema::Schema;
use arrowsmith_core::{
    Chunk, DataError, Dialect, Error, ErrorKind, Framing, Limits, Position, Result, foreign,
};
use arrowsmith_plan::split_path;

use lattice::{Node, Place, Room};
use reader::{Fault, Reader, Rules};
pub use watch::{Watch, has_long_integer, is_data};

use crate::record::record_end;

/// How kinds of values become types, and how many records are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InferOptions {
    /// Maximum number of records to sample; `None` samples all. Default `None`.
    pub records_max: Option<u64>,
    /// Infer dates and timestamps for columns whose strings are all ISO 8601. Default `false`:
    /// strings stay strings.
    pub timestamps: bool,
    /// Infer `not null` for fields that had a value in every record. Default `false`, because a
    /// sample proves nothing about later records.
    pub strict_nulls: bool,
    /// Maximum number of distinct keys of an object below the record itself; an object with more
    /// becomes a map. Default 1000.
    pub object_keys_max: usize,
    /// Skip records that are not JSON instead of failing, and those that are not objects where
    /// others are. Default `false`.
    pub skip_malformed: bool,
    /// Accept `NaN`, `Infinity` and `-Infinity` as numbers. Default `false`.
    pub allow_nan: bool,
    /// Strings that count as `null`. Default: none.
    pub nulls: Vec<String>,
    /// Paths whose types are given whatever is inferred: a field around one is an object, where no
    /// value says otherwise. Default: none.
    pub typed: Vec<String>,
    /// The dialect of decoders of the schema. Types do not depend on it, what is left to
    /// [`Inferrer::watch`] does. Default: ISO 8601.
    pub dialect: Dialect,
    /// Limits on sizes that the input determines; the depth and the number of fields apply here.
    pub limits: Limits,
}

impl Default for InferOptions {
    fn default() -> Self {
        Self {
            records_max: None,
            timestamps: false,
            strict_nulls: false,
            object_keys_max: 1000,
            skip_malformed: false,
            allow_nan: false,
            nulls: Vec::new(),
            typed: Vec::new(),
            dialect: Dialect::Iso,
            limits: Limits::default(),
        }
    }
}

/// The result of sampling one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Number of records sampled.
    pub records: u64,
    /// Whether these were all records of the chunk.
    pub complete: bool,
}

/// Infers a schema from sampled records.
#[derive(Debug, Clone)]
pub struct Inferrer {
    options: Arc<InferOptions>,
    root: Node,
    /// Records that are not objects, if malformed ones are skipped: if any is an object, these are
    /// malformed.
    others: Node,
    records: u64,
    /// Number of records before the current chunk.
    records_before: u64,
    /// Number of new keys still accepted, including those of objects that become maps.
    fields_left: usize,
    /// Number of the source of the records, in the order of the inputs.
    source: u32,
}

/// Maximum number of keys kept per field that a schema may have: an object that becomes a map has
/// many keys, and all are kept until then.
const KEYS_PER_FIELD: usize = 16;

impl Inferrer {
    /// An inferrer without any records.
    pub fn new(options: InferOptions) -> Self {
        let fields_left = options.limits.fields_max.saturating_mul(KEYS_PER_FIELD);
        let (root, others, options) = (Node::default(), Node::default(), Arc::new(options));
        Self { options, root, others, records: 0, records_before: 0, fields_left, source: 0 }
    }

    /// Sets the number of the source of the next chunks. Together with the positions of the chunks
    /// it defines which keys come first, whatever the order of the calls.
    pub fn set_source(&mut self, number: u32) {
        self.source = number;
    }

    /// Adds the records that another inferrer with the same options sampled.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for more keys than one inferrer accepts.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let keys_max = self.options.object_keys_max;
        let mut room = Room { keys_max, fields_left: self.fields_left };
        let fields_max = self.options.limits.fields_max;
        let fits = self.root.absorb(other.root, fields_max, &mut room)
            & self.others.absorb(other.others, fields_max, &mut room);
        self.fields_left = room.fields_left;
        self.records += other.records;
        if fits {
            return Ok(());
        }
        Err(Error::from(DataError {
            kind: ErrorKind::Limit,
            position: Position::default(),
            path: String::new(),
            expected: reader::FEWER_KEYS.to_owned(),
            found: "one more".to_owned(),
            hint: None,
        }))
    }

    /// What a decoder with the schema of all sampled records accepts although it would change that
    /// schema.
    pub fn watch(&self) -> Option<Watch> {
        if self.has_objects() {
            return self.root.watch(true, &self.options);
        }
        // An object makes all others malformed, even where the column takes any value.
        let any = self.others.is_json().then_some(Watch::Null);
        any.or_else(|| self.others.watch(true, &self.options))
    }

    /// Number of records sampled so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Samples the records of a chunk, up to `records_max` in all.
    ///
    /// # Errors
    /// [`Error::Data`] for a record that is not JSON, unless `skip_malformed` is set.
    pub fn observe(&mut self, chunk: &Chunk<'_>) -> Result<Observed> {
        let before = self.records;
        self.records_before = before;
        let data = chunk.data();
        let marked = chunk.position.offset == 0 && data.starts_with(b"\xEF\xBB\xBF");
        let at = if marked { 3 } else { 0 };
        let complete = match chunk.framing {
            Framing::Lines => self.lines(chunk, data, at),
            Framing::Concatenated | Framing::Array => self.values(chunk, data, at),
        }?;
        Ok(Observed { records: self.records - before, complete })
    }

    /// The schema that matches all sampled records.
    ///
    /// # Errors
    /// [`Error::Schema`] if there was no record.
    pub fn finish(self) -> Result<Schema> {
        if self.records == 0 {
            return Err(Error::schema("", "there are no records to infer a schema from"));
        }
        let mut root = if self.has_objects() { self.root } else { self.others };
        for typed in &self.options.typed {
            // A name may have dots.
            let path = if root.has_key(typed) { Vec::new() } else { split_path(typed) };
            if let [around @ .., _] = &*path
                && !around.is_empty()
            {
                root.open(around);
            }
        }
        Ok(root.into_schema(&self.options))
    }

    /// Whether `root` has the kinds of all records that are not malformed.
    fn has_objects(&self) -> bool {
        !self.options.skip_malformed || self.root.has_values()
    }

    /// The options.
    pub fn options(&self) -> &InferOptions {
        &self.options
    }

    fn is_full(&self) -> bool {
        self.options.records_max.is_some_and(|most| self.records >= most)
    }

    /// Samples one record per line; returns whether these were all.
    fn lines(&mut self, chunk: &Chunk<'_>, data: &[u8], mut at: usize) -> Result<bool> {
        let options = Arc::clone(&self.options);
        let rules = Rules::new(&options, (self.source, chunk.position.offset));
        while at < data.len() {
            let end = memchr::memchr(b'\n', &data[at..]).map_or(data.len(), |len| at + len);
            let mut reader = Reader::new(&data[..end], at, rules);
            reader.space();
            if reader.at < end {
                if self.is_full() {
                    return Ok(false);
                }
                let whole = |reader: &mut Reader<'_>| {
                    reader.space();
                    let rest = (reader.at < end).then_some(reader.at);
                    rest.map_or(Ok(()), |at| {
                        Err(Fault { kind: ErrorKind::TrailingData, at, expected: "end of line" })
                    })
                };
                self.record(&mut reader, whole).or_else(|fault| self.malformed(chunk, &fault))?;
            }
            at = end + 1;
        }
        Ok(true)
    }

    /// Samples concatenated values, or the elements of an array.
    fn values(&mut self, chunk: &Chunk<'_>, data: &[u8], mut at: usize) -> Result<bool> {
        let options = Arc::clone(&self.options);
        let rules = Rules::new(&options, (self.source, chunk.position.offset));
        let in_array = chunk.framing == Framing::Array;
        let mut first = true;
        loop {
            let mut reader = Reader::new(data, at, rules);
            reader.space();
            if reader.at == data.len() {
                return Ok(true);
            }
            if self.is_full() {
                return Ok(false);
            }
            let comma = if in_array && !first { reader.comma() } else { Ok(()) };
            let start = reader.at;
            let read = comma.and_then(|()| self.record(&mut reader, |_| Ok(())));
            (at, first) = (reader.at, false);
            if let Err(fault) = read {
                self.malformed(chunk, &fault)?;
                at = record_end(data, chunk.framing, start);
            }
        }
    }

    /// Samples one record, then calls `after`.
    fn record<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        after: impl Fn(&mut Reader<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.options.skip_malformed {
            // A skipped record must have no effect.
            let start = reader.at;
            reader.value(None, 0)?;
            after(reader)?;
            reader.at = start;
        }
        reader.fields_left = self.fields_left;
        let is_other = self.options.skip_malformed && !reader.is_object();
        let root = if is_other { &mut self.others } else { &mut self.root };
        reader.value(Some(root), 0)?;
        self.fields_left = reader.fields_left;
        after(reader)?;
        self.records += 1;
        Ok(())
    }

    /// Handles a record that is not JSON: an error, unless `skip_malformed` is set.
    fn malformed(&self, chunk: &Chunk<'_>, fault: &Fault) -> Result<()> {
        if self.options.skip_malformed && fault.kind != ErrorKind::Limit {
            return Ok(());
        }
        let data = chunk.data();
        let line = memchr::memchr_iter(b'\n', &data[..fault.at]).count() as u64;
        let position = Position {
            source: chunk.position.source.clone(),
            record: chunk.position.record + self.records - self.records_before,
            line: chunk.position.line + line,
            offset: chunk.position.offset + fault.at as u64,
        };
        let found = match data.get(fault.at) {
            None => "end of input".to_owned(),
            Some(b'\n') => "end of line".to_owned(),
            Some(byte) => format!("'{}'", byte.escape_ascii()),
        };
        let hint = if position.offset == 0 { foreign::guess(data) } else { None };
        Err(Error::from(DataError {
            kind: fault.kind,
            position,
            path: String::new(),
            expected: fault.expected.to_owned(),
            found,
            hint,
        }))
    }
}

/// Whether a text is one JSON value.
pub(crate) fn is_json(text: &[u8]) -> bool {
    let options = InferOptions::default();
    let rules = Rules::new(&options, Place::default());
    let mut reader = Reader::new(text, 0, rules);
    reader.space();
    let valid = reader.value(None, 0).is_ok();
    reader.space();
    valid && reader.at == text.len()
}

#[cfg(test)]
mod tests;
