// SPDX-License-Identifier: Apache-2.0
//! Scripts: the predicted texts and fields of a record, in the order of their appearance.

use arrowsmith_core::UnknownKeys;
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::Literal;

use super::{DEPTH_MAX, STEPS_MAX};
use crate::json::predict::Follows;
use crate::json::program::{Code, Fast, Id};
use crate::json::walk::Walker;

/// The action after a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Read the value of a field.
    Value(Fast),
    /// Enter the object that is the value of a field.
    Open,
    /// Leave the object.
    Close,
    /// Skip a value that no column needs, inside this many containers.
    Skip(usize),
    /// Append nulls for a nullable field that was never seen; it has no text.
    Absent,
}

#[derive(Debug)]
#[repr(C)]
pub(super) struct Step {
    pub(super) literal: Literal,
    pub(super) action: Action,
    pub(super) id: Id,
    pub(super) nullable: bool,
    /// Whether some lanes did not have the text last time.
    pub(super) partial: bool,
}

impl Step {
    fn new(literal: Literal, action: Action, id: Id, nullable: bool) -> Self {
        Self { literal, action, id, nullable, partial: false }
    }
}

/// The expected form of a record.
#[derive(Debug)]
pub(crate) struct Script {
    pub(super) steps: Vec<Step>,
    /// The text of each step in objects of which it is the first member.
    pub(super) openings: Vec<Literal>,
}

impl Script {
    fn push(&mut self, step: Step, opening: Literal) {
        self.steps.push(step);
        self.openings.push(opening);
    }
}

impl<I: Isa> Walker<'_, I> {
    /// Compiles the state of the predictors to a script; `None` if there is no single order of
    /// fields.
    #[cold]
    #[inline(never)]
    pub(super) fn learn_script(&self, object: usize, id: Id) -> Option<Script> {
        let mut script = Script { steps: Vec::new(), openings: Vec::new() };
        self.learn_object(id, object, 0, &mut script)?;
        Some(script)
    }

    fn learn_object(&self, id: Id, object: usize, depth: usize, script: &mut Script) -> Option<()> {
        let outside = self.program.steps[id].depth;
        if outside > self.options.limits.depth_max || depth >= DEPTH_MAX {
            return None;
        }
        let layout = &self.program.objects[object];
        let (first, members) = self.predictors[object].slots.split_first()?;
        if !first.literal.text().starts_with(b"{") {
            return None;
        }
        let head = before_quote(first.literal.text());
        let mut seen = vec![false; layout.keys.len()];
        for (at, slot) in members.iter().enumerate() {
            let literal = slot.literal.clone();
            let last = at + 1 == members.len();
            if last != (slot.follows == Follows::End) || script.steps.len() > STEPS_MAX {
                return None;
            }
            let text = literal.text();
            let tail = text.get(before_quote(text).len()..).unwrap_or_default();
            let opening = match slot.follows {
                Follows::End => Literal::new(b"{}")?,
                // An opening text that is too long matches nothing.
                _ => Literal::new(&[head, tail].concat()).or(Literal::new(b"\0"))?,
            };
            match slot.follows {
                Follows::Field(fast) => {
                    let field = slot.field as usize;
                    if std::mem::replace(seen.get_mut(field)?, true) {
                        return None;
                    }
                    let id = layout.first + field;
                    let nullable = self.program.steps[id].nullable;
                    match self.program.steps[id].code {
                        Code::Struct(inner) => {
                            script.push(Step::new(literal, Action::Open, id, nullable), opening);
                            self.learn_object(id, inner, depth + 1, script)?;
                        }
                        _ => {
                            let action = Action::Value(fast);
                            script.push(Step::new(literal, action, id, nullable), opening);
                        }
                    }
                }
                Follows::Unknown => {
                    let refuses = self.options.unknown_keys == UnknownKeys::Error;
                    if refuses
                        && !plain_key(tail).is_some_and(|key| layout.unselected.contains(key))
                    {
                        return None;
                    }
                    let action = Action::Skip(outside);
                    script.push(Step::new(literal, action, id, false), opening);
                }
                Follows::End => {
                    for field in (0..seen.len()).filter(|&field| !seen[field]) {
                        let id = layout.first + field;
                        if !self.program.steps[id].nullable {
                            return None;
                        }
                        let step = Step::new(Literal::EMPTY, Action::Absent, id, true);
                        script.push(step, Literal::EMPTY);
                    }
                    script.push(Step::new(literal, Action::Close, id, false), opening);
                }
            }
        }
        (!members.is_empty()).then_some(())
    }
}

/// The key that this text starts with, if it has no escapes.
fn plain_key(text: &[u8]) -> Option<&str> {
    let mut parts = text.strip_prefix(b"\"")?.splitn(2, |b| *b == b'"');
    let (key, _after) = (parts.next()?, parts.next()?);
    (!key.contains(&b'\\')).then(|| std::str::from_utf8(key).ok()).flatten()
}

/// The text before the quote of a key.
fn before_quote(text: &[u8]) -> &[u8] {
    text.split(|b| *b == b'"').next().unwrap_or_default()
}
