// SPDX-License-Identifier: Apache-2.0
//! One straight-line C++ function per class: the tables, compiled. Members that are adjacent in
//! memory as on the wire become one copy; each run of members of known width is checked against the
//! message's end once.

use std::fmt::Write;

use super::tables::number;
use crate::layout::{Choice, Form, Integer, Kind, Layout, Member, Reference, wire_bytes_min};

/// Writes `struct Classes`, with which `fast::State` makes the objects of each class.
pub fn classes(text: &mut String, layout: &Layout) {
    text.push_str(
        "// A function per class: reads the members at `in`, makes the object at `out`. False: the message is not good.\n\
         struct Classes {\n",
    );
    for class in &layout.classes {
        let _ = writeln!(
            text,
            "    // {}\n    static bool make_{}(::arrowsmith::graph::fast::State &s, std::uint8_t *const out) {{",
            class.name, class.type_id
        );
        let _ = writeln!(text, "        std::memset(out, 0, {});", class.size);
        for vptr in &class.vptrs {
            let _ = writeln!(
                text,
                "        s.store_word<{}>(out + {}, s.slots[{}]);",
                layout.target.pointer_bytes, vptr.offset, vptr.slot
            );
        }
        let mut code = Code { text, layout, depth: 2 };
        let table = format!("class_table[{}].members", class.type_id);
        code.members(&class.members, "out", &table);
        text.push_str("        return true;\n    }\n");
    }
    text.push_str(
        "\n    static bool make(std::uint32_t type, ::arrowsmith::graph::fast::State &s, std::uint8_t *out) {\n        switch (type) {\n",
    );
    for class in &layout.classes {
        let _ = writeln!(text, "        case {0}: return make_{0}(s, out);", class.type_id);
    }
    text.push_str("        default: return false;\n        }\n    }\n};\n\n");
}

struct Code<'a> {
    text: &'a mut String,
    layout: &'a Layout,
    /// Nesting depth, for indentation and the variable names of nested loops.
    depth: usize,
}

impl Code<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(self.depth));
    }

    /// Reads members, whose table is `table` in C++.
    fn members(&mut self, all: &[Member], out: &str, table: &str) {
        let mut members = all;
        while let Some(first) = members.first() {
            let index = all.len() - members.len();
            let run = members.iter().take_while(|member| !member.kind.is_variable()).count();
            if run > 0 {
                self.run(&members[..run], out);
                members = &members[run..];
                continue;
            }
            match &first.kind {
                Kind::Vector(element) if element.form != Form::Vector => {
                    let inner = format!("e{}", self.depth);
                    let of = format!("{table}[{index}].element");
                    self.line(&format!(
                        "if (!s.container<{}>({out} + {}, *{of}, [](::arrowsmith::graph::fast::State &s, std::uint8_t *const {inner}) {{",
                        self.layout.target.pointer_bytes, first.offset
                    ));
                    self.depth += 1;
                    self.members(&element.members, &inner, &format!("{of}->members"));
                    self.line("return true;");
                    self.depth -= 1;
                    self.line("})) return false;");
                }
                Kind::Vector(element) => {
                    let inner = format!("e{}", self.depth);
                    let begin = format!(
                        "if (!s.vector<{}, {}, {}, {}>({out} + {}, [](::arrowsmith::graph::fast::State &s, std::uint8_t *const {inner}) {{",
                        self.layout.target.pointer_bytes,
                        element.size,
                        element.align,
                        wire_bytes_min(&element.members),
                        first.offset
                    );
                    self.line(&begin);
                    self.depth += 1;
                    let table = format!("{table}[{index}].element->members");
                    self.members(&element.members, &inner, &table);
                    self.line("return true;");
                    self.depth -= 1;
                    self.line("})) return false;");
                }
                Kind::Choice(choice) => {
                    let table = format!("{table}[{index}].element");
                    self.choice(choice, first.offset, out, &table);
                }
                kind => {
                    let word = self.layout.target.pointer_bytes;
                    let text = if *kind == Kind::View { "view" } else { "string" };
                    self.line(&format!(
                        "if (!s.{text}<{word}>({out} + {})) return false;",
                        first.offset
                    ));
                }
            }
            members = &members[1..];
        }
    }

    /// The byte with the number of the alternative, then its members.
    fn choice(&mut self, choice: &Choice, offset: u32, out: &str, table: &str) {
        let inner = format!("c{}", self.depth);
        self.line("if (s.left() < 1) return false;");
        self.line("{");
        self.depth += 1;
        self.line(&format!("std::uint8_t *const {inner} = {out} + {offset};"));
        self.line(&format!("{inner}[{}] = *s.in;", choice.tag_offset));
        self.line("switch (*s.in++) {");
        for (index, alternative) in choice.alternatives.iter().enumerate() {
            self.line(&format!("case {index}: {{"));
            self.depth += 1;
            let members = format!("{table}[{index}].members");
            self.members(&alternative.members, &inner, &members);
            self.line("break;");
            self.depth -= 1;
            self.line("}");
        }
        self.line("default: return false;");
        self.line("}");
        self.depth -= 1;
        self.line("}");
    }

    /// Members of known width: one check, then each at its offset.
    fn run(&mut self, members: &[Member], out: &str) {
        let bytes = wire_bytes_min(members);
        self.line(&format!("if (s.left() < {bytes}) return false;"));
        self.line("{");
        self.depth += 1;
        self.line("const std::uint8_t *const in = s.in;");
        let mut at = 0;
        let mut copy: Option<(u32, u32, u32)> = None;
        for member in members {
            let plain = match &member.kind {
                Kind::Float { bytes } => Some(*bytes),
                Kind::Integer(Integer { bytes, wire_bytes, range: None, .. })
                    if bytes == wire_bytes =>
                {
                    Some(*bytes)
                }
                _ => None,
            };
            match (plain.map(|bytes| bytes * member.count), copy) {
                (Some(bytes), Some((to, from, length)))
                    if to + length == member.offset && from + length == at =>
                {
                    copy = Some((to, from, length + bytes));
                }
                (plain, before) => {
                    self.copy(before, out);
                    copy = plain.map(|bytes| (member.offset, at, bytes));
                    if plain.is_none() {
                        self.one(member, at, out);
                    }
                }
            }
            at += member.wire_bytes();
        }
        self.copy(copy, out);
        self.line(&format!("s.in = in + {bytes};"));
        self.depth -= 1;
        self.line("}");
    }

    fn copy(&mut self, copy: Option<(u32, u32, u32)>, out: &str) {
        if let Some((to, from, length)) = copy {
            self.line(&format!("std::memcpy({out} + {to}, in + {from}, {length});"));
        }
    }

    fn one(&mut self, member: &Member, at: u32, out: &str) {
        let (stride, wire) = (
            member.kind.bytes(self.layout.target.pointer_bytes).unwrap_or(0),
            member.kind.wire_bytes(),
        );
        let many = member.count > 1;
        if many {
            self.line(&format!("for (unsigned i = 0; i < {}; ++i) {{", member.count));
            self.depth += 1;
        }
        let step = |start: u32, by: u32| match many {
            true => format!("{start} + i * {by}"),
            false => start.to_string(),
        };
        let to = format!("{out} + {}", step(member.offset, stride));
        let from = format!("in + {}", step(at, wire));
        match &member.kind {
            Kind::Integer(integer) => {
                let (low, high) = bounds(integer.range);
                self.line(&format!(
                    "if (!s.integer<{}, {}, {}, {}, {low}, {high}>({from}, {to})) return false;",
                    integer.bytes,
                    integer.wire_bytes,
                    integer.signed,
                    integer.range.is_some()
                ));
            }
            Kind::Bits(bits) => {
                let range = bits.values();
                let (low, high) = bounds(range);
                self.line(&format!(
                    "if (!s.bits<{}, {}, {}, {}, {}, {low}, {high}>({from}, {to})) return false;",
                    bits.bit_offset,
                    bits.bit_size,
                    bits.wire_bytes,
                    bits.signed,
                    range.is_some()
                ));
            }
            Kind::Pointer(reference) => self.pointer(reference, &from, &to),
            // Not of known width.
            Kind::Float { .. } | Kind::String | Kind::View | Kind::Choice(_) | Kind::Vector(_) => {}
        }
        if many {
            self.depth -= 1;
            self.line("}");
        }
    }

    fn pointer(&mut self, reference: &Reference, from: &str, to: &str) {
        let word = self.layout.target.pointer_bytes;
        let Reference { nullable, targets, .. } = reference;
        let all = targets.len() == self.layout.classes.len();
        let adjust = targets.first().map_or(0, |target| target.adjust);
        let same = targets.iter().all(|target| target.adjust == adjust);
        // The allowed types, as bits, if they fit a word.
        let few = self.layout.classes.len() <= 64;
        let mask = targets.iter().filter(|_| few).fold(0_u64, |mask, t| mask | (1 << t.type_id));
        if all && same {
            self.line(&format!(
                "if (!s.pointer<{word}, {nullable}, {adjust}>({from}, {to})) return false;"
            ));
        } else if few && same {
            self.line(&format!(
                "if (!s.pointer_of<{word}, {nullable}, {adjust}, 0x{mask:x}U>({from}, {to})) return false;"
            ));
        } else {
            let list: Vec<String> = targets
                .iter()
                .map(|target| format!("type == {} ? {} : ", target.type_id, target.adjust))
                .collect();
            self.line(&format!(
                "if (!s.pointer_by<{word}, {nullable}>({from}, {to}, [](std::uint32_t type) -> std::int64_t {{ return {}-1; }})) return false;",
                list.concat()
            ));
        }
    }
}

fn bounds(range: Option<[i64; 2]>) -> (String, String) {
    let [low, high] = range.unwrap_or([0, 0]);
    (number(low), number(high))
}
