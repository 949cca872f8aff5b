// SPDX-License-Identifier: Apache-2.0
//! Schemas from records: a schema that every record looked at fits, whatever valid JSON it is.
//!
//! It stands before the plan. What was seen is kept as a tree of kinds (`lattice`), in which a new
//! value can only make a kind wider: integer → number, missing → nullable, and, where nothing else
//! holds both values, `json`, which keeps any text as it stands. So the order of the records
//! matters only for the order of the columns, nothing is lost, and no valid record makes inference
//! fail. Memory is bounded by the number of distinct keys, which [`Limits::fields_max`] bounds, not
//! by the number of records. `docs/guide/schema.md` has the rules.

mod lattice;
mod reader;

use arrow_schema::Schema;
use arrowsmith_core::{
    Chunk, DataError, Error, ErrorKind, Framing, Limits, Position, Result, foreign,
};

use lattice::Node;
use reader::{Fault, Reader, Rules};

/// What is made of values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InferOptions {
    /// Records to look at, at most; `None` looks at all. Default `None`.
    pub records_max: Option<u64>,
    /// Make dates and timestamps of columns whose strings are all ISO 8601. Default `false`:
    /// strings stay strings.
    pub timestamps: bool,
    /// Make fields not nullable that had a value in every record. Default `false`: a sample proves
    /// nothing about the records after it.
    pub strict_nulls: bool,
    /// Distinct keys at one place below the record itself, beyond which an object is taken for a
    /// map. Default 1000.
    pub object_keys_max: usize,
    /// Pass over records that are not JSON, instead of failing. Default `false`.
    pub skip_malformed: bool,
    /// Take `NaN`, `Infinity` and `-Infinity` for numbers. Default `false`.
    pub allow_nan: bool,
    /// Bounds on what input may ask for; the depth and the number of fields count here.
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
            limits: Limits::default(),
        }
    }
}

/// What became of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Records that were looked at.
    pub records: u64,
    /// Whether those were all of the chunk.
    pub complete: bool,
}

/// Looks at records and remembers what they were.
#[derive(Debug)]
pub struct Inferrer {
    options: InferOptions,
    root: Node,
    records: u64,
    /// Records before the chunk that is being looked at.
    records_before: u64,
    /// Fields that may still be made of keys that are new, those of maps to be counted too.
    fields_left: usize,
}

/// Keys that are looked at for each field that a schema may have: keys of objects that turn out to
/// be maps are many, and all of them are held until then.
const KEYS_PER_FIELD: usize = 16;

impl Inferrer {
    /// An inferrer that has seen nothing.
    pub fn new(options: InferOptions) -> Self {
        let fields_left = options.limits.fields_max.saturating_mul(KEYS_PER_FIELD);
        Self { options, root: Node::default(), records: 0, records_before: 0, fields_left }
    }

    /// Records that were looked at so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Looks at the records of a chunk, until there have been `records_max` in all.
    ///
    /// # Errors
    /// [`Error::Data`] where a record is not JSON, unless those are passed over.
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

    /// The schema that all of these records fit.
    ///
    /// # Errors
    /// [`Error::Schema`] when there was no record.
    pub fn finish(self) -> Result<Schema> {
        if self.records == 0 {
            return Err(Error::schema("", "there are no records to infer it from"));
        }
        Ok(self.root.into_schema(&self.options))
    }

    fn is_full(&self) -> bool {
        self.options.records_max.is_some_and(|most| self.records >= most)
    }

    /// Looks at a record a line; gives whether those were all.
    fn lines(&mut self, chunk: &Chunk<'_>, data: &[u8], mut at: usize) -> Result<bool> {
        while at < data.len() {
            let end = memchr::memchr(b'\n', &data[at..]).map_or(data.len(), |len| at + len);
            let mut reader = Reader::new(&data[..end], at, Rules::from(&self.options));
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

    /// Looks at values behind one another, or at the elements of an array.
    fn values(&mut self, chunk: &Chunk<'_>, data: &[u8], mut at: usize) -> Result<bool> {
        let in_array = chunk.framing == Framing::Array;
        let mut first = true;
        loop {
            let mut reader = Reader::new(data, at, Rules::from(&self.options));
            reader.space();
            if reader.at == data.len() {
                return Ok(true);
            }
            if self.is_full() {
                return Ok(false);
            }
            let comma = if in_array && !first { reader.comma() } else { Ok(()) };
            let read = comma.and_then(|()| self.record(&mut reader, |_| Ok(())));
            if let Err(fault) = read {
                // Nobody can say where a record ends that is not JSON.
                self.malformed(chunk, &fault)?;
                return Ok(false);
            }
            (at, first) = (reader.at, false);
        }
    }

    /// Looks at one record, and at `after` it.
    fn record<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        after: impl Fn(&mut Reader<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.options.skip_malformed {
            // A record that is passed over must leave no trace.
            let start = reader.at;
            reader.value(None, 0)?;
            after(reader)?;
            reader.at = start;
        }
        reader.fields_left = self.fields_left;
        reader.value(Some(&mut self.root), 0)?;
        self.fields_left = reader.fields_left;
        after(reader)?;
        self.records += 1;
        Ok(())
    }

    /// A record that is not JSON, which is an error unless it is passed over.
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

#[cfg(test)]
mod tests;
