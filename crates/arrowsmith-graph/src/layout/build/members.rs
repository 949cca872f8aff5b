// SPDX-License-Identifier: Apache-2.0
//! The members of a class: its values one after another, those of embedded structs and arrays among
//! them, each with its path, offset and kind.

use gimli::constants as dw;

use super::super::annotate::MemberNote;
use super::super::classes::{NESTING_MAX, qualified, strip};
use super::super::dwarf::Entry;
use super::super::{Kind, MEMBERS_MAX, Member};
use super::notes::annotated;
use super::{Builder, Parts, Place, Result, STEPS_MAX, narrow};

impl<'a> Builder<'a> {
    pub(super) fn member_or_refusal(
        &mut self,
        class: &str,
        entry: &Entry,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let outcome = self.member(class, entry, place, parts);
        self.go_on(outcome, place)
    }

    /// Keeps a refusal and goes on.
    pub(super) fn go_on(&mut self, outcome: Result<()>, place: &Place) -> Result<()> {
        // Beyond these limits the walk itself ends.
        if place.depth > NESTING_MAX || self.steps > STEPS_MAX {
            return outcome;
        }
        outcome.or_else(|error| self.refuse(error))
    }

    pub(super) fn step(&mut self, place: &Place) -> Result<()> {
        self.steps += 1;
        if place.depth > NESTING_MAX || self.steps > STEPS_MAX {
            return Err(place.error("", "has too many types in types"));
        }
        Ok(())
    }

    fn member(
        &mut self,
        class: &str,
        entry: &Entry,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let name = entry.name.clone().unwrap_or_default();
        let path = path_of(class, &name, place);
        let note = self.member_note(class, &name, entry)?;
        let Some(ty) = entry.ty.and_then(|ty| strip(self.debug, ty)) else {
            return Err(place.error(&name, "has no type"));
        };
        let mut transient = note.transient;
        // An unnamed union is known by its members.
        let union = name.is_empty() && self.debug.entries[ty].tag == dw::DW_TAG_union_type;
        let alternatives = if union { self.alternatives(ty) } else { Vec::new() };
        if union {
            transient |= self.member_note(class, "", &self.debug.entries[ty])?.transient;
        }
        for (alternative, entry) in &alternatives {
            transient |= self.member_note(class, alternative, entry)?.transient;
        }
        let paths = alternatives.iter().map(|(name, _)| format!("{}{name}", place.prefix));
        for path in std::iter::once(path.clone()).chain(paths) {
            if let Some(met) = parts.transient.get_mut(&path) {
                *met = true;
                transient = true;
            }
        }
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        if transient {
            parts.align = parts.align.max(self.natural_align(ty, place.depth));
            return Ok(());
        }
        if union {
            let message = "is a union, whose active member is unknown; make one of these names \
                           transient, which is for all of it";
            let names: Vec<&str> = alternatives.iter().map(|(name, _)| name.as_str()).collect();
            return Err(place.error(&format!("({})", names.join(", ")), message));
        }
        if let Some(bit_size) = entry.bit_size {
            return self.bit_field(entry, ty, bit_size, &note, place, parts);
        }
        let Some(offset) = entry.member_offset else {
            return Err(place.error(&name, "has no offset"));
        };
        let offset = place.offset.saturating_add(offset);
        let unnamed = name.is_empty();
        let inner =
            Place { class: place.class.clone(), prefix: path, offset, depth: place.depth + 1 };
        self.value(ty, &note, &inner, unnamed, parts)
    }

    /// Collects a value of a type at an offset; the place's prefix is its path.
    pub(super) fn value(
        &mut self,
        ty: usize,
        note: &MemberNote,
        place: &Place,
        unnamed: bool,
        parts: &mut Parts,
    ) -> Result<()> {
        self.step(place)?;
        let entry = &self.debug.entries[ty];
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        match entry.tag {
            dw::DW_TAG_array_type => self.array(ty, note, place, parts),
            dw::DW_TAG_class_type | dw::DW_TAG_structure_type => {
                let class = qualified(self.debug, ty);
                if let Some(kind) = self.library(&class, ty, note, place)? {
                    parts.align = parts.align.max(self.natural_align(ty, place.depth));
                    return add(parts, place, 1, annotated(kind, note, place)?);
                }
                if *note != MemberNote::default() {
                    return Err(place.error("", "is a class; annotate its members"));
                }
                let mut inner = place.clone();
                if !unnamed {
                    inner.prefix.push('.');
                }
                if entry.name.is_none() {
                    return self.unnamed_struct(entry, &inner, parts);
                }
                self.complete_object(&class, &inner, parts)
            }
            _ => {
                let kind = self.scalar(ty, place)?;
                parts.align = parts.align.max(self.natural_align(ty, place.depth));
                add(parts, place, 1, annotated(kind, note, place)?)
            }
        }
    }

    fn unnamed_struct(&mut self, entry: &Entry, place: &Place, parts: &mut Parts) -> Result<()> {
        for &child in &entry.children {
            let child = &self.debug.entries[child];
            if child.tag == dw::DW_TAG_member && !child.is_static {
                self.member_or_refusal("(unnamed)", child, place, parts)?;
            }
        }
        Ok(())
    }

    /// The members of an unnamed union, with their names.
    fn alternatives(&self, ty: usize) -> Vec<(String, &'a Entry)> {
        let debug = self.debug;
        let members = debug.entries[ty].children.iter().map(|&child| &debug.entries[child]);
        members
            .filter(|child| child.tag == dw::DW_TAG_member)
            .filter_map(|child| Some((child.name.clone()?, child)))
            .collect()
    }

    fn array(
        &mut self,
        ty: usize,
        note: &MemberNote,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let entry = &self.debug.entries[ty];
        let mut dimensions = Vec::new();
        for &child in &entry.children {
            let child = &self.debug.entries[child];
            if child.tag == dw::DW_TAG_subrange_type {
                dimensions.push(child.count.ok_or_else(|| {
                    place.error("", "is an array without a length; make it transient")
                })?);
            }
        }
        let Some(element) = entry.ty.and_then(|ty| strip(self.debug, ty)) else {
            return Err(place.error("", "is an array of length zero"));
        };
        let count = dimensions.iter().try_fold(1_u64, |product, n| product.checked_mul(*n));
        let Some(count) = count.and_then(|count| u32::try_from(count).ok()) else {
            return Err(place.error("", "is an array of too many elements"));
        };
        if count == 0 {
            return Ok(());
        }
        let inner = &self.debug.entries[element];
        let is_class = matches!(inner.tag, dw::DW_TAG_class_type | dw::DW_TAG_structure_type);
        if !is_class && inner.tag != dw::DW_TAG_array_type {
            let kind = self.scalar(element, place)?;
            parts.align = parts.align.max(self.natural_align(element, place.depth));
            return add(parts, place, count, annotated(kind, note, place)?);
        }
        let Some(stride) = inner.byte_size.filter(|_| (count as usize) <= MEMBERS_MAX) else {
            return Err(place.error("", "is an array of too many objects"));
        };
        for index in 0..u64::from(count) {
            let mut at = place.clone();
            at.offset = place.offset.saturating_add(index.saturating_mul(stride));
            at.prefix.push_str(&subscript(index, &dimensions));
            self.value(element, note, &at, false, parts)?;
        }
        Ok(())
    }
}

/// The path of a member. The only member of a class of the standard library has the path of the
/// class, an element of a tuple its number.
fn path_of(class: &str, name: &str, place: &Place) -> String {
    let outer = place.prefix.strip_suffix('.').unwrap_or(&place.prefix);
    let element = class.strip_prefix("std::_Head_base<").and_then(|rest| rest.split_once(','));
    match (element, name) {
        // Clang writes `2UL`.
        (Some((number, _)), "_M_head_impl") => {
            format!("{outer}.{}", number.trim_end_matches(['U', 'L']))
        }
        (_, "_M_elems" | "_M_i" | "_M_base" | "_M_value" | "__r" | "__d")
            if class.starts_with("std::") =>
        {
            outer.to_owned()
        }
        _ => format!("{}{name}", place.prefix),
    }
}

pub(super) fn add(parts: &mut Parts, place: &Place, count: u32, kind: Kind) -> Result<()> {
    if parts.members.len() >= MEMBERS_MAX {
        return Err(place.error("", "is one member too many"));
    }
    let offset = narrow(&place.class, place.offset)?;
    parts.members.push(Member { name: place.prefix.clone(), offset, count, kind });
    Ok(())
}

fn subscript(mut index: u64, dimensions: &[u64]) -> String {
    let mut parts = Vec::new();
    for dimension in dimensions.iter().rev() {
        parts.push(format!("[{}]", index % dimension.max(&1)));
        index /= dimension.max(&1);
    }
    parts.reverse();
    parts.concat()
}
