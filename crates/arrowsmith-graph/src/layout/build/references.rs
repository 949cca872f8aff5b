// SPDX-License-Identifier: Apache-2.0
//! Type ids, and the possible targets of each pointer, once all classes are known.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Kind, LayoutError, Member, Reference, Subobject};
use super::{Builder, Result, narrow};

impl Builder<'_> {
    /// The classes in the order of their type ids: annotated ids first, the others by name in the
    /// remaining ids.
    pub(super) fn type_ids(&mut self) -> Result<Vec<String>> {
        let mut fixed: BTreeMap<u32, &String> = BTreeMap::new();
        let mut faults = Vec::new();
        // Without the classes that are refused, their number is not known.
        let complete = self.refusals.is_empty();
        for (name, (_, note)) in &self.made {
            let Some(id) = note.type_id else { continue };
            let count = self.made.len();
            if complete && usize::try_from(id).is_ok_and(|id| id >= count) {
                let message =
                    format!("has type id {id}; ids must be below {count}, the number of classes");
                faults.push(LayoutError::new(name.as_str(), message));
            }
            if let Some(other) = fixed.insert(id, name) {
                let message = format!("has type id {id}, and so has {other}");
                faults.push(LayoutError::new(name.as_str(), message));
            }
        }
        let mut others = self.made.iter().filter(|(_, (_, note))| note.type_id.is_none());
        let mut order = Vec::new();
        for id in (0_u32..).take(self.made.len()) {
            let next = || others.next().map(|(name, _)| name);
            order.extend(fixed.get(&id).copied().or_else(next).cloned());
        }
        for fault in faults {
            self.refuse::<()>(fault)?;
        }
        Ok(order)
    }

    pub(super) fn resolve(
        &mut self,
        class: &str,
        members: &mut [Member],
        order: &[String],
    ) -> Result<()> {
        for member in members {
            let path = format!("{class}::{}", member.name);
            match &mut member.kind {
                Kind::Pointer(reference) => self.targets(&path, reference, order)?,
                Kind::Vector(element) => self.resolve(&path, &mut element.members, order)?,
                Kind::Choice(choice) => {
                    for alternative in &mut choice.alternatives {
                        self.resolve(&path, &mut alternative.members, order)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn targets(
        &mut self,
        path: &str,
        reference: &mut Reference,
        order: &[String],
    ) -> Result<()> {
        let candidates = self.candidates(&reference.to).or_else(|error| self.refuse(error))?;
        let candidates: BTreeSet<String> = candidates.into_iter().collect();
        // A class that is refused is not known.
        let complete = self.refusals.is_empty();
        for (type_id, name) in (0_u32..).zip(order) {
            if !candidates.contains(name) {
                continue;
            }
            let parts = self.subobjects(name)?;
            if parts.is_empty() {
                continue;
            }
            let mut at = parts.iter().filter(|part| part.name == reference.to);
            match (at.next(), at.next()) {
                (Some(part), None) => {
                    let adjust = narrow(path, part.offset)?;
                    reference.targets.push(Subobject { type_id, adjust });
                }
                _ => {
                    let message =
                        format!("may point to a {name}, which has several bases {}", reference.to);
                    self.refuse::<()>(LayoutError::new(path, message))?;
                }
            }
        }
        if complete && reference.targets.is_empty() {
            let message =
                format!("points to {}, of which no class with objects is known", reference.to);
            self.refuse::<()>(LayoutError::new(path, message))?;
        }
        Ok(())
    }
}
