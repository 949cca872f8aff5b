// SPDX-License-Identifier: Apache-2.0
//! The grammar of what is around records, byte by byte, and the keys in it that matter.

use arrowsmith_core::ErrorKind;

use super::super::documents::{Node, Role};
use super::number::Number;
use super::{Envelope, State, Wrong};
use crate::key::unescaped;

impl Envelope {
    /// Takes one byte, which is at `offset`.
    pub(super) fn byte(&mut self, byte: u8, offset: u64) -> Result<(), Wrong> {
        let syntax = |expected| Err((ErrorKind::Syntax, offset, expected));
        match (self.state, byte) {
            (State::Mark(0), b'\xEF') => self.state = State::Mark(1),
            (State::Mark(1), b'\xBB') => self.state = State::Mark(2),
            (State::Mark(2), b'\xBF') => self.state = State::Value,
            (State::Mark(0), _) => {
                self.state = State::Value;
                return self.byte(byte, offset);
            }
            (State::Mark(_), _) => return syntax("a byte order mark"),

            (State::String, b'"') if self.in_key => self.end_key()?,
            (State::String, b'"') => self.end_value(),
            (State::String, b'\\') => (self.state, self.escape) = (State::Escape, offset),
            (State::String, ..b' ') => {
                return Err((ErrorKind::ControlCharacter, offset, "an escape"));
            }
            (State::String, _) => {}
            (State::Escape, b'u') => self.state = State::Hex(4),
            (State::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.state = State::String;
            }
            (State::Hex(1), _) if byte.is_ascii_hexdigit() => self.state = State::String,
            (State::Hex(left), _) if byte.is_ascii_hexdigit() => self.state = State::Hex(left - 1),
            (State::Escape | State::Hex(_), _) => {
                return Err((ErrorKind::InvalidEscape, self.escape, "an escape of JSON"));
            }

            (State::Literal([last]), _) if byte == *last => self.end_value(),
            (State::Literal([next, rest @ ..]), _) if byte == *next => {
                self.state = State::Literal(rest);
            }
            (State::Literal(_), _) => return Err((ErrorKind::Syntax, self.start, "a value")),
            (State::Number(number), _) => match number.next(byte) {
                Some(number) => self.state = State::Number(number),
                None if number == Number::Minus && byte == b'I' && self.allow_nan => {
                    self.state = State::Literal(b"nfinity");
                }
                None if !number.is_whole()
                    || matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') =>
                {
                    return Err((ErrorKind::Syntax, self.start, "a number"));
                }
                None => {
                    self.end_value();
                    return self.byte(byte, offset);
                }
            },

            (_, b' ' | b'\t' | b'\r' | b'\n') => {}

            (State::FirstValue, b']') | (State::FirstKey, b'}') => self.close(offset)?,
            (State::FirstDocument | State::NextDocument, b']') => {
                self.in_list = false;
                self.state = State::Value;
            }
            (State::NextDocument, b',') => self.state = State::Document,
            (State::Value | State::FirstValue | State::Document | State::FirstDocument, _) => {
                return self.value(byte, offset);
            }
            (State::Key | State::FirstKey, b'"') => {
                (self.state, self.start) = (State::String, offset);
                (self.in_key, self.key) = (true, Vec::new());
            }
            (State::Key, _) => return syntax("a key"),
            (State::FirstKey, _) => return syntax("a key or '}'"),
            (State::Colon, b':') => self.state = State::Value,
            (State::Colon, _) => return syntax("':'"),
            (State::Next, b',') => {
                let in_object = self.open.last() == Some(&true);
                self.state = if in_object { State::Key } else { State::Value };
            }
            (State::Next, b'}') if self.open.last() == Some(&true) => self.close(offset)?,
            (State::Next, b']') if self.open.last() == Some(&false) => self.close(offset)?,
            (State::Next, _) if self.open.last() == Some(&true) => return syntax("',' or '}'"),

            (State::FirstRecord | State::NextRecord, b']') => self.end_value(),
            (State::NextRecord, b',') => self.state = State::Record,
            (State::Next | State::NextRecord | State::NextDocument, _) => {
                return syntax("',' or ']'");
            }
            (State::FirstRecord | State::Record, _) => return syntax("a record"),
            // Records are read elsewhere.
            (State::Inside(..), _) => {}
        }
        Ok(())
    }

    /// The first byte of a value.
    fn value(&mut self, byte: u8, offset: u64) -> Result<(), Wrong> {
        self.start = offset;
        let role = self.next.and_then(|next| Some(self.documents.node(next)?.role));
        let on_way = matches!(role, Some(Role::Way | Role::Records));
        let expected = match role {
            Some(Role::Records) => "an array of records",
            Some(Role::Way) => "an object",
            _ => "a value",
        };
        let is_null = byte == b'n';
        if let Some(next) = self.next.filter(|_| on_way && is_null) {
            self.found |= self.documents.node(next).is_some_and(|node| node.has_records);
            if let Some(parent_fields) = &mut self.parent_fields {
                parent_fields.close(&self.documents, next);
            }
        }
        if let (Some(Role::Field(field)), Some(parent_fields)) = (role, &mut self.parent_fields)
            && !parent_fields.begin(field, self.open.len(), (offset, byte), &self.documents)
        {
            let expected = "this field before the records, or less far (see --record-bytes-max)";
            return Err((ErrorKind::Limit, offset, expected));
        }
        self.state = match byte {
            b'[' if role == Some(Role::Records) => {
                self.found = true;
                State::FirstRecord
            }
            // Where a document is due: an array of documents.
            b'[' if self.state == State::Value && self.open.is_empty() => {
                self.in_list = true;
                self.state = State::FirstDocument;
                return Ok(());
            }
            b'{' if role == Some(Role::Way) => {
                self.enter(true, offset)?;
                let entered = self.next.and_then(|next| self.documents.node(next));
                for child in entered.map_or(&[][..], |node| &node.children) {
                    if let Some(seen) = self.seen.get_mut(*child) {
                        *seen = false;
                    }
                }
                self.way.extend(self.next);
                State::FirstKey
            }
            b'n' => State::Literal(b"ull"),
            b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' if on_way => {
                return Err((ErrorKind::WrongType, offset, expected));
            }
            b'{' => {
                self.enter(true, offset)?;
                State::FirstKey
            }
            b'[' => {
                self.enter(false, offset)?;
                State::FirstValue
            }
            b'"' => State::String,
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'N' if self.allow_nan && !on_way => State::Literal(b"aN"),
            b'I' if self.allow_nan && !on_way => State::Literal(b"nfinity"),
            _ => return Err((ErrorKind::Syntax, offset, expected)),
        };
        // What is wrong with a null on the way is on the way.
        self.next = self.next.filter(|_| on_way && is_null);
        Ok(())
    }

    fn enter(&mut self, object: bool, offset: u64) -> Result<(), Wrong> {
        if self.open.len() >= self.depth_max {
            return Err((ErrorKind::DepthExceeded, offset, "less nesting (see --depth-max)"));
        }
        self.open.push(object);
        Ok(())
    }

    /// The end of the innermost container.
    fn close(&mut self, offset: u64) -> Result<(), Wrong> {
        if self.open.len() == self.way.len()
            && let Some(closed) = self.way.last().copied()
        {
            let children = self.documents.node(closed).map_or(&[][..], |node| &node.children);
            let is_missing = |child: &usize| {
                let has_records = self.documents.node(*child).is_some_and(|node| node.has_records);
                has_records && self.seen.get(*child) == Some(&false)
            };
            if let Some(missing) = children.iter().copied().find(is_missing) {
                self.next = Some(missing);
                return Err((ErrorKind::MissingField, offset, "the records"));
            }
            self.way.pop();
            if let Some(parent_fields) = &mut self.parent_fields {
                parent_fields.close(&self.documents, closed);
            }
        }
        self.open.pop();
        self.end_value();
        Ok(())
    }

    fn end_value(&mut self) {
        if let Some(parent_fields) = &mut self.parent_fields {
            if parent_fields.is_last(self.open.len()) {
                parent_fields.end(&self.documents);
            }
            if self.open.is_empty() {
                parent_fields.end_document(&self.documents);
            }
        }
        self.next = self.open.is_empty().then_some(0);
        self.state = match (self.open.is_empty(), self.in_list) {
            (false, _) => State::Next,
            (true, false) => State::Value,
            (true, true) => State::NextDocument,
        };
    }

    /// The end of a key.
    fn end_key(&mut self) -> Result<(), Wrong> {
        self.in_key = false;
        self.state = State::Colon;
        // The closing quote was kept, too.
        let Some(key) = self.key.strip_suffix(b"\"").and_then(unescaped) else { return Ok(()) };
        let due = self.due().find(|(_, due)| *due == key).map(|(node, _)| node);
        if let Some(node) = due
            && let Some(seen) = self.seen.get_mut(node)
        {
            if std::mem::replace(seen, true) {
                return Err((ErrorKind::DuplicateKey, self.start, "this key once"));
            }
            self.next = Some(node);
        }
        Ok(())
    }

    /// What matters inside of the innermost object, and its keys.
    fn due(&self) -> impl Iterator<Item = (usize, &str)> {
        let children = self.innermost().map_or(&[][..], |node| &node.children).iter();
        children.filter_map(|child| Some((*child, &*self.documents.node(*child)?.key)))
    }

    /// The innermost open object, if something in it matters.
    pub(super) fn innermost(&self) -> Option<&Node> {
        let innermost = self.way.last().filter(|_| self.open.len() == self.way.len());
        innermost.and_then(|node| self.documents.node(*node))
    }
}
