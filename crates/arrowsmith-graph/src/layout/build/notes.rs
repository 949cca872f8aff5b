// SPDX-License-Identifier: Apache-2.0
//! Annotations of classes and members, in a file or in comments of the sources, and how they change
//! a kind.

use super::super::Kind;
use super::super::annotate::{ClassNote, MemberNote};
use super::super::dwarf::Entry;
use super::{Builder, Place, Result};

impl Builder<'_> {
    pub(super) fn class_note(&mut self, name: &str) -> Result<ClassNote> {
        let mut note = ClassNote::default();
        let template = name.split_once('<').map(|(template, _)| template);
        let mut keys = vec![name];
        keys.extend(template);
        if let Some(key) =
            keys.iter().find(|key| self.options.annotations.classes.contains_key(**key))
        {
            self.used.insert((*key).to_owned());
            note = self.options.annotations.classes[*key].clone();
        }
        let said = note.type_id;
        let entry = self.classes.entry(name)?;
        for text in self.comments(entry) {
            note.add(name, &text)?;
        }
        note.type_id = said.or(note.type_id);
        Ok(note)
    }

    pub(super) fn member_note(
        &mut self,
        class: &str,
        name: &str,
        entry: &Entry,
    ) -> Result<MemberNote> {
        let mut note = MemberNote::default();
        for text in self.comments(entry) {
            note.add(&format!("{class}::{name}"), &text)?;
        }
        let file = self.options.annotations.classes.get(class).and_then(|c| c.members.get(name));
        Ok(file.cloned().unwrap_or(note))
    }

    fn comments(&mut self, entry: &Entry) -> Vec<String> {
        if self.options.no_comments {
            return Vec::new();
        }
        let Some((unit, number, line)) = entry.place else { return Vec::new() };
        match self.debug.files.get(unit).and_then(|files| files.get(&number)) {
            Some(file) => self.sources.at(file, line),
            None => Vec::new(),
        }
    }
}

/// A kind with its annotations applied.
pub(super) fn annotated(kind: Kind, note: &MemberNote, place: &Place) -> Result<Kind> {
    let numeric = note.wire.is_some() || note.range.is_some() || note.unchecked;
    match kind {
        Kind::Integer(mut integer) if !note.not_null => {
            integer.wire_bytes = note.wire.unwrap_or(integer.wire_bytes);
            integer.range = if note.unchecked { None } else { note.range.or(integer.range) };
            // If every value of the width is in the range, no check is needed.
            let bits = integer.wire_bytes.saturating_mul(8).min(64);
            let full = if integer.signed {
                [-(1_i128 << (bits.max(1) - 1)), (1_i128 << (bits.max(1) - 1)) - 1]
            } else {
                [0, (1_i128 << bits) - 1]
            };
            integer.range = integer
                .range
                .filter(|[low, high]| i128::from(*low) > full[0] || i128::from(*high) < full[1]);
            Ok(Kind::Integer(integer))
        }
        Kind::Pointer(mut reference) if !numeric => {
            reference.nullable = !note.not_null;
            Ok(Kind::Pointer(reference))
        }
        other if !numeric && !note.not_null => Ok(other),
        _ => Err(place.error("", "has an annotation that does not apply to its type")),
    }
}
