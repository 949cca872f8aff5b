// SPDX-License-Identifier: Apache-2.0
//! Annotations of classes and members, in a file or in comments of the sources, and how they change
//! a kind.

use std::collections::BTreeSet;

use super::super::annotate::{ClassNote, MemberNote, items};
use super::super::dwarf::Entry;
use super::super::{Kind, LayoutError};
use super::{Builder, Place, Result};

impl<'a> Builder<'a> {
    pub(super) fn class_note(&mut self, name: &str) -> Result<ClassNote> {
        let annotated = self.annotated_as(name);
        let mut note = annotated.map(|(_, note)| note.clone()).unwrap_or_default();
        if let Some((key, _)) = annotated {
            self.used.insert((key.to_owned(), None));
        }
        let said = note.type_id;
        let entry = self.classes.entry(name)?;
        for text in self.comments(entry) {
            for item in items(&text) {
                note.add(name, item).or_else(|error| self.refuse(error))?;
            }
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
            for item in items(&text) {
                let added = note.add(&format!("{class}::{name}"), item);
                added.or_else(|error| self.refuse(error))?;
            }
        }
        let Some((key, of)) = self.annotated_as(class) else { return Ok(note) };
        let Some(file) = of.members.get(name) else { return Ok(note) };
        self.used.insert((key.to_owned(), Some(name.to_owned())));
        Ok(file.clone())
    }

    /// The annotation of a class in the file, and its name there: of a template's classes it may be
    /// that of the template.
    fn annotated_as(&self, class: &str) -> Option<(&'a str, &'a ClassNote)> {
        let classes = &self.options.annotations.classes;
        let template = class.split_once('<').map(|(template, _)| template);
        let found = classes.get_key_value(class);
        let found = found.or_else(|| classes.get_key_value(template?));
        found.map(|(key, note)| (key.as_str(), note))
    }

    /// Refuses annotations of the file that changed nothing.
    pub(super) fn unused_annotations(&mut self) -> Result<()> {
        // What is only reachable through what is refused is not told from what is not reachable.
        let complete = self.refusals.is_empty();
        let key = |class| Some(self.annotated_as(class)?.0);
        let known: BTreeSet<&str> = self.classes.by_name.keys().filter_map(|of| key(of)).collect();
        let walked: BTreeSet<&str> = self.walked.iter().filter_map(|of| key(of)).collect();
        let mut faults = Vec::new();
        for (class, note) in &self.options.annotations.classes {
            if !known.contains(class.as_str()) {
                let message = "is annotated, but is not a class that the debug information defines";
                faults.push(LayoutError::new(class.as_str(), message));
            } else if complete && !self.used.contains(&(class.clone(), None)) {
                let message = "is annotated, but is not a class reachable from the root";
                faults.push(LayoutError::new(class.as_str(), message));
            }
            for member in note.members.keys().filter(|_| walked.contains(class.as_str())) {
                if !self.used.contains(&(class.clone(), Some(member.clone()))) {
                    let path = format!("{class}::{member}");
                    faults.push(LayoutError::new(path, "is annotated, but is not a member"));
                }
            }
        }
        for fault in faults {
            self.refuse::<()>(fault)?;
        }
        Ok(())
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
            let (bytes, wire) = (integer.bytes, integer.wire_bytes);
            if !matches!(wire, 1 | 2 | 4 | 8) || wire > bytes {
                return Err(place.error("", format!("{bytes} bytes cannot be sent as {wire}")));
            }
            if note.range.is_some_and(|[low, high]| low > high) {
                return Err(place.error("", "has a range without values"));
            }
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
        // The order of such a map or set is that of the message.
        Kind::Vector(element) if note.wire.is_none() && note.range.is_none() && !note.not_null => {
            let unknown = element.form.keys().is_some_and(|keys| keys.members.is_empty());
            match note.unchecked && !unknown {
                true => Err(place.error("", "has an annotation that does not apply to its type")),
                false => Ok(Kind::Vector(element)),
            }
        }
        other if !numeric && !note.not_null => Ok(other),
        _ => Err(place.error("", "has an annotation that does not apply to its type")),
    }
}
