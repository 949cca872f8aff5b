// SPDX-License-Identifier: Apache-2.0
//! Inserts the fields beside records into these, as if they had been written there: whatever reads
//! records reads them, too.

use arrowsmith_core::ErrorKind;
use memchr::memmem;

use super::super::documents::{Documents, Name};
use super::super::skip_space;
use super::{Envelope, EnvelopeError};
use crate::cursor::Cursor;
use crate::key::unescaped;

/// Where a text was before something was inserted into it.
#[derive(Debug, Clone, Default)]
pub struct Places(Vec<(u64, u64)>);

impl Places {
    /// The offset that was that of a byte. What was inserted is at the brace before it.
    #[must_use]
    pub fn origin(&self, offset: u64) -> u64 {
        let Self(after) = self;
        let next = after.partition_point(|(now, _)| *now <= offset);
        let moved = match next.checked_sub(1).and_then(|last| after.get(last)) {
            Some((now, before)) => before + (offset - now),
            None => offset,
        };
        after.get(next).map_or(moved, |(_, before)| moved.min(before.saturating_sub(1)))
    }

    /// Memory that is used, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u64, u64)>()
    }
}

/// Text with fields that were inserted.
#[derive(Debug)]
pub struct Inserted {
    /// Its length.
    pub len: usize,
    /// Bytes of the text before, less than all of them if there is an error.
    pub read: usize,
    /// Where what is in it was.
    pub places: Places,
    /// The first record that has a key of the name of a field; it is not in the text.
    pub error: Option<EnvelopeError>,
}

impl Envelope {
    /// Bytes of text, from `start` on, that fit into `most` with what is to be inserted; of the
    /// first record all, and more where there is nothing to insert.
    #[must_use]
    pub fn fitting(&self, start: u64, most: usize) -> usize {
        let Some(parent_fields) = &self.parent_fields else { return usize::MAX };
        let mut inserted = 0;
        for (record, len) in parent_fields.ready() {
            let read = usize::try_from(record.saturating_sub(start)).unwrap_or(usize::MAX);
            if inserted > 0 && read.saturating_add(inserted) > most {
                return read;
            }
            if read > most {
                break;
            }
            inserted += len + 1;
        }
        usize::MAX
    }

    /// Bytes that are inserted at most into records before `end`.
    #[must_use]
    pub fn inserts(&self, end: u64) -> usize {
        let ready = self.parent_fields.iter().flat_map(|parent_fields| parent_fields.ready());
        ready.take_while(|(start, _)| *start < end).map(|(_, len)| len + 1).sum()
    }

    /// Copies masked text, which starts at `offset`, and inserts into its records the fields that
    /// they are to have. It may be as much longer as [`Envelope::inserts`] says.
    pub fn insert(&mut self, text: &[u8], offset: u64, into: &mut [u8]) -> Inserted {
        let end = offset + text.len() as u64;
        let names = self.documents.names();
        let has_name = names.iter().any(|name| may_have(text, name));
        let mut out = Out { into, len: 0 };
        let (mut read, mut places, mut error) = (0, Vec::new(), None);
        while let Some((start, fields)) =
            self.parent_fields.as_mut().and_then(|parent_fields| parent_fields.pop(end))
        {
            let at = usize::try_from(start.saturating_sub(offset)).unwrap_or(usize::MAX);
            let Some(rest) = text.get(at..) else { continue };
            if let Some((key, name)) = has_name.then(|| doubled(rest, names)).flatten() {
                error = Some(doubled_error(&self.documents, start + key as u64, &name.text));
                out.push(&text[read..at]);
                read = at;
                break;
            }
            out.push(&text[read..=at]);
            read = at + 1;
            out.push(fields);
            let is_empty = text.get(skip_space(text, read)) == Some(&b'}');
            if !is_empty && !fields.is_empty() {
                out.push(b",");
            }
            places.push((offset + out.len as u64, start + 1));
        }
        if error.is_none() {
            out.push(&text[read..]);
            read = text.len();
        }
        Inserted { len: out.len, read, places: Places(places), error }
    }
}

fn doubled_error(documents: &Documents, offset: u64, name: &str) -> EnvelopeError {
    let records = documents.records().map(|records| &*records.path).unwrap_or_default();
    EnvelopeError {
        kind: ErrorKind::DuplicateKey,
        masked: 0,
        offset,
        path: format!("{records}.{name}"),
        expected: "a name of its own for the field beside the records (NAME=PATH)".to_owned(),
        found: "a record with a key of this name".to_owned(),
    }
}

/// Whether a text may have this key: its text is found, unless it is written with escapes.
fn may_have(text: &[u8], name: &Name) -> bool {
    let has_short = name.text.contains(|c: char| c.is_ascii_control() || "\"\\/".contains(c));
    let escape: &[u8] = if has_short { b"\\" } else { b"\\u" };
    [escape, name.quoted.as_bytes()].iter().any(|part| memmem::find(text, part).is_some())
}

/// Text that is copied to memory that has enough of it.
struct Out<'a> {
    into: &'a mut [u8],
    len: usize,
}

impl Out<'_> {
    fn push(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        if let Some(into) = self.into.get_mut(self.len..end) {
            into.copy_from_slice(text);
            self.len = end;
        }
    }
}

/// A key of the record at the start of a text that is one of the names, and where it is; none if
/// the record is not JSON.
fn doubled<'a>(text: &[u8], names: &'a [Name]) -> Option<(usize, &'a Name)> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.expect(b'{')?;
    while cursor.more(b'}')? {
        cursor.peek()?;
        let at = cursor.at;
        let key = cursor.skip()?;
        let inside = key.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let is_key = |name: &&Name| match inside.contains(&b'\\') {
            true => unescaped(inside).is_some_and(|key| *key == name.text),
            false => key == name.quoted.as_bytes(),
        };
        if let Some(name) = names.iter().find(is_key) {
            return Some((at, name));
        }
        cursor.expect(b':')?;
        cursor.skip()?;
    }
    None
}
