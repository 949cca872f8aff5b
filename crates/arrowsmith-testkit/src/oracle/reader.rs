// SPDX-License-Identifier: Apache-2.0
//! The oracle's recursive descent over one record: values, containers, keys, nulls, and the
//! position of every error. Scalars are in [`super::convert`].

use arrowsmith_core::{DecodeOptions, Dialect, DuplicateKeys, ErrorKind, OnError, UnknownKeys};
use arrowsmith_plan::{FieldPlan, Node, Op};

use super::cell::Cell;
use super::skip::Check;

/// White space of rule 1.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// An error, its position in the chunk, and its field.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) offset: usize,
    pub(super) path: String,
}

impl Fault {
    /// Whether rule 21 allows to replace the value by a null.
    pub(super) fn is_of_value(&self) -> bool {
        self.kind.is_value_error() || self.kind == ErrorKind::MissingField
    }
}

/// One step of a path.
#[derive(Debug, Clone)]
pub(super) enum Segment {
    Key(String),
    Index(usize),
}

/// A cursor over one record.
pub(super) struct Reader<'a> {
    /// The chunk.
    pub(super) data: &'a [u8],
    /// The end of the record, or of the available input.
    pub(super) end: usize,
    /// The cursor.
    pub(super) at: usize,
    pub(super) options: &'a DecodeOptions,
    /// The first error that was replaced by a null.
    pub(super) replaced: Option<Fault>,
    path: Vec<Segment>,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        data: &'a [u8],
        start: usize,
        end: usize,
        options: &'a DecodeOptions,
    ) -> Self {
        Self { data, end, at: start, options, replaced: None, path: Vec::new(), depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.data[..self.end].get(self.at).copied()
    }

    pub(super) fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    pub(super) fn fault(&self, kind: ErrorKind, offset: usize) -> Fault {
        let mut path = String::new();
        for segment in &self.path {
            match segment {
                Segment::Key(key) if path.is_empty() => path.push_str(key),
                Segment::Key(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                Segment::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        Fault { kind, offset, path }
    }

    pub(super) fn truncated(&self) -> Fault {
        self.fault(ErrorKind::Truncated, self.end)
    }

    /// The error for an unexpected byte at the cursor.
    fn unexpected(&self) -> Fault {
        if self.at < self.end { self.fault(ErrorKind::Syntax, self.at) } else { self.truncated() }
    }

    /// Runs `read` one step further down the path.
    pub(super) fn within<T>(
        &mut self,
        segment: Segment,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.path.push(segment);
        let result = read(self);
        self.path.pop();
        result
    }

    /// Runs `read` inside the container whose bracket is at `start`.
    pub(super) fn nested<T>(
        &mut self,
        start: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.depth == self.options.limits.depth_max {
            return Err(self.fault(ErrorKind::DepthExceeded, start));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads the value of a node; replaces it by a null on an error, if options and schema allow
    /// it.
    pub(super) fn value(&mut self, node: &Node) -> Result<Cell, Fault> {
        let start = self.at;
        match self.exact_value(node, node.nullable) {
            Err(fault)
                if self.options.on_error == OnError::Null
                    && node.nullable
                    && fault.is_of_value() =>
            {
                self.replaced.get_or_insert(fault);
                self.at = start;
                self.skip(Check::Skipped)?;
                Ok(Cell::Null)
            }
            result => result,
        }
    }

    fn exact_value(&mut self, node: &Node, nullable: bool) -> Result<Cell, Fault> {
        let start = self.at;
        let first = self.peek().ok_or_else(|| self.truncated())?;
        if let Some(coercion) = &node.coercion
            && let Some(cell) = self.coerced(node, coercion, first, nullable)?
        {
            return Ok(cell);
        }
        if node.op == Op::Json {
            self.skip(Check::Text)?;
            let text = String::from_utf8_lossy(&self.data[start..self.at]).into_owned();
            return Ok(if nullable && text == "null" { Cell::Null } else { Cell::Text(text) });
        }
        if first == b'n' {
            self.literal("null")?;
            return if nullable {
                Ok(Cell::Null)
            } else {
                Err(self.fault(ErrorKind::MissingField, start))
            };
        }
        if node.op == Op::Utf8 && first != b'"' && self.options.dialect == Dialect::Spark {
            self.skip(Check::Text)?;
            let text = String::from_utf8_lossy(&self.data[start..self.at]).into_owned();
            return Ok(Cell::Text(text));
        }
        match (first, &node.op) {
            (b'{', Op::Struct(fields)) => {
                self.nested(start, |reader| reader.object(fields, &node.unselected))
            }
            (b'{', Op::Map { key, value }) => self.nested(start, |reader| reader.map(key, value)),
            (b'[', Op::List(item)) => self.nested(start, |reader| reader.list(item)),
            (b'[', Op::FixedSizeList(item, len)) => {
                let list = self.nested(start, |reader| reader.list(item))?;
                let right =
                    matches!(&list, Cell::List(cells) if i128::from(*len) == cells.len() as i128);
                if right { Ok(list) } else { Err(self.fault(ErrorKind::LengthMismatch, start)) }
            }
            (b'{' | b'[', _) => Err(self.fault(ErrorKind::WrongType, start)),
            _ => self.scalar(node, first),
        }
    }

    fn list(&mut self, item: &Node) -> Result<Cell, Fault> {
        let mut cells = Vec::new();
        self.elements(|reader| {
            cells.push(reader.value(item)?);
            Ok(())
        })?;
        Ok(Cell::List(cells))
    }

    /// Reads the array whose bracket is at the cursor; `read` reads each element.
    pub(super) fn elements(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        for index in 0.. {
            self.space();
            self.within(Segment::Index(index), &mut read)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected()),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn object(&mut self, fields: &[FieldPlan], unselected: &[String]) -> Result<Cell, Fault> {
        let mut cells: Vec<Option<Cell>> = vec![None; fields.len()];
        let close = self.entries(|reader, key_at| {
            let key = reader.string(false)?;
            reader.colon()?;
            let is_key = |field: &FieldPlan| !key.lone && field.key.as_bytes() == key.bytes;
            let name = String::from_utf8_lossy(&key.bytes).into_owned();
            match fields.iter().position(is_key) {
                Some(index) => {
                    let error = reader.options.duplicate_keys == DuplicateKeys::Error;
                    if cells[index].is_some() && error {
                        return Err(reader.fault(ErrorKind::DuplicateKey, key_at));
                    }
                    let node = &fields[index].node;
                    let cell = reader.within(Segment::Key(name), |reader| reader.value(node))?;
                    cells[index] = Some(cell);
                }
                None if reader.options.unknown_keys == UnknownKeys::Error
                    && (key.lone || !unselected.iter().any(|one| one.as_bytes() == key.bytes)) =>
                {
                    return Err(reader.fault(ErrorKind::UnknownKey, key_at));
                }
                None => {
                    reader.within(Segment::Key(name), |reader| reader.skip(Check::Skipped))?;
                }
            }
            Ok(())
        })?;
        for (cell, field) in cells.iter_mut().zip(fields) {
            if cell.is_none() && !field.node.nullable {
                return self.within(Segment::Key(field.key.clone()), |reader| {
                    Err(reader.fault(ErrorKind::MissingField, close))
                });
            }
        }
        Ok(Cell::Struct(cells.into_iter().map(|cell| cell.unwrap_or(Cell::Null)).collect()))
    }

    fn map(&mut self, key: &Node, value: &Node) -> Result<Cell, Fault> {
        let mut entries = Vec::new();
        self.entries(|reader, _| {
            // A key is never null, whatever the schema.
            let key = reader.exact_value(key, false)?;
            reader.colon()?;
            let name = match &key {
                Cell::Text(text) => text.clone(),
                _ => String::new(),
            };
            let value = reader.within(Segment::Key(name), |reader| reader.value(value))?;
            entries.push((key, value));
            Ok(())
        })?;
        Ok(Cell::Map(entries))
    }

    /// Reads the object whose bracket is at the cursor; `read` reads each key, colon and value,
    /// from the quote of the key on. Returns the offset of the closing bracket.
    pub(super) fn entries(
        &mut self,
        mut read: impl FnMut(&mut Self, usize) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        self.at += 1;
        self.space();
        if self.peek() != Some(b'}') {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return Err(self.unexpected());
                }
                let key_at = self.at;
                read(self, key_at)?;
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break,
                    _ => return Err(self.unexpected()),
                }
            }
        }
        self.at += 1;
        Ok(self.at - 1)
    }

    /// Skips the colon, and the white space around it.
    pub(super) fn colon(&mut self) -> Result<(), Fault> {
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Skips a literal that starts at the cursor.
    pub(super) fn literal(&mut self, word: &str) -> Result<(), Fault> {
        let rest = &self.data[self.at..self.end];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else if word.as_bytes().starts_with(rest) {
            Err(self.truncated())
        } else {
            Err(self.fault(ErrorKind::Syntax, self.at))
        }
    }
}
