// SPDX-License-Identifier: Apache-2.0
//! The tables with which generated C++ takes messages of other layouts: their members, and where
//! those of the program's layout are among them.

use std::fmt::Write;

use super::tables;
use crate::layout::{Kind, Layout, Member};
use crate::wire::{Moves, Translation};

/// Writes `translations`, one for each, after the tables of the program's layout.
pub fn translations(text: &mut String, to: &Layout, all: &[Translation]) {
    let mut rows = String::new();
    for (number, translation) in all.iter().enumerate() {
        let from = translation.from_layout();
        let space = format!("from_{number}");
        let _ = writeln!(text, "namespace {space} {{\n");
        tables::tables(text, from);
        let _ = writeln!(text, "}}  // namespace {space}\n");
        let mut classes = String::new();
        for (old, moves) in from.classes.iter().zip(translation.classes()) {
            let new = moves.to.and_then(|id| to.classes.get(usize::try_from(id).ok()?));
            let theirs = format!("{space}::class_table[{}].members", old.type_id);
            let ours =
                new.map(|new| (format!("class_table[{}].members", new.type_id), &new.members));
            let mut writer = Writer { text, space: &space, next: old.type_id << 16 };
            let row = writer.moves(
                moves,
                &theirs,
                &old.members,
                ours.as_ref().map(|(name, of)| (name.as_str(), of.as_slice())),
            );
            let _ = writeln!(classes, "    {row},  // {}", old.name);
        }
        let _ = write!(
            text,
            "constexpr ::arrowsmith::graph::Moves {space}_classes[] = {{\n{classes}}};\n\n"
        );
        let _ = writeln!(
            rows,
            "    {{0x{:016x}U, {}, {space}_classes}},",
            from.wire_hash(),
            from.classes.len()
        );
    }
    let _ = write!(
        text,
        "constexpr ::arrowsmith::graph::Translation translations[] = {{\n{rows}}};\n\n"
    );
}

struct Writer<'a> {
    text: &'a mut String,
    space: &'a str,
    next: u32,
}

impl Writer<'_> {
    /// The row of a list of members, after the tables that it refers to.
    fn moves(
        &mut self,
        moves: &Moves,
        theirs: &str,
        from: &[Member],
        ours: Option<(&str, &[Member])>,
    ) -> String {
        let (Some(number), Some((ours, to))) = (moves.to, ours) else {
            return "{-1, 0, 0, nullptr, nullptr, nullptr}".into();
        };
        let mut rows = Vec::new();
        for (index, (of, member)) in moves.members.iter().zip(to).enumerate() {
            let source = of.from.and_then(|at| Some((at, from.get(at)?)));
            let Some((at, source)) = source else {
                rows.push("{-1, nullptr}".to_owned());
                continue;
            };
            let [theirs, ours] =
                [(theirs, at), (ours, index)].map(|(of, at)| format!("{of}[{at}].element"));
            let inner = self.inner(&of.inner, source, &theirs, member, &ours);
            rows.push(format!("{{{at}, {inner}}}"));
        }
        let list = match rows.is_empty() {
            true => "nullptr".to_owned(),
            false => {
                let name = self.name("moves");
                let rows = rows.join(", ");
                let _ = writeln!(
                    self.text,
                    "constexpr ::arrowsmith::graph::Move {name}[] = {{{rows}}};"
                );
                name
            }
        };
        let members = |name: &str, count: usize| match count {
            0 => "nullptr".to_owned(),
            _ => name.to_owned(),
        };
        format!(
            "{{{number}, {}, {}, {}, {}, {list}}}",
            from.len(),
            to.len(),
            members(theirs, from.len()),
            members(ours, to.len())
        )
    }

    /// The table of an element's or of all alternatives' members, if there is one.
    fn inner(
        &mut self,
        inner: &[Moves],
        from: &Member,
        theirs: &str,
        to: &Member,
        ours: &str,
    ) -> String {
        let rows: Vec<String> = match (&from.kind, &to.kind) {
            (Kind::Vector(old), Kind::Vector(new)) => {
                let [theirs, ours] = [theirs, ours].map(|of| format!("{of}->members"));
                let row =
                    |of: &Moves| self.moves(of, &theirs, &old.members, Some((&ours, &new.members)));
                inner.iter().map(row).collect()
            }
            (Kind::Choice(old), Kind::Choice(new)) => {
                let mut rows = Vec::new();
                for (index, (of, old)) in inner.iter().zip(&old.alternatives).enumerate() {
                    let theirs = format!("{theirs}[{index}].members");
                    let number = of.to.and_then(|to| usize::try_from(to).ok());
                    let new = number.and_then(|at| Some((at, new.alternatives.get(at)?)));
                    let ours = new.map(|(at, new)| (format!("{ours}[{at}].members"), &new.members));
                    let ours = ours.as_ref().map(|(name, of)| (name.as_str(), of.as_slice()));
                    rows.push(self.moves(of, &theirs, &old.members, ours));
                }
                rows
            }
            _ => return "nullptr".into(),
        };
        let (name, rows) = (self.name("inner"), rows.join(", "));
        let _ = writeln!(self.text, "constexpr ::arrowsmith::graph::Moves {name}[] = {{{rows}}};");
        name
    }

    fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{}_{stem}_{}", self.space, self.next)
    }
}
