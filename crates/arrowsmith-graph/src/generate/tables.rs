// SPDX-License-Identifier: Apache-2.0
//! The tables of a layout as C++ initialisers, for `arrowsmith::graph::Reader` and `Writer`.

use std::fmt::Write;

use crate::layout::{
    Bits, Element, Form, Integer, Kind, Layout, Member, Reference, wire_bytes_min,
};

/// The vtables by their symbols, and the values of vtable pointers; opens the unnamed namespace.
pub fn symbols(text: &mut String, layout: &Layout) {
    let pointers = || layout.classes.iter().flat_map(|class| &class.vptrs);
    let mut known: Vec<&str> = pointers().map(|pointer| pointer.symbol.as_str()).collect();
    known.dedup();
    for (index, symbol) in known.iter().enumerate() {
        let _ = writeln!(text, "extern const char vtable_{index}[] __asm__(\"{symbol}\");");
    }
    text.push_str(
        "\nnamespace {\n\nconst std::uint64_t *vtable_pointers() {\n    static const std::uint64_t slots[] = {\n",
    );
    for pointer in pointers() {
        let index = known.iter().position(|symbol| *symbol == pointer.symbol).unwrap_or_default();
        let _ = writeln!(
            text,
            "        reinterpret_cast<std::uintptr_t>(vtable_{index}) + {},",
            pointer.address_point
        );
    }
    text.push_str("        0,\n    };\n    return slots;\n}\n\n");
}

/// All other tables: targets, elements and members before the tables that refer to them.
pub fn tables(text: &mut String, layout: &Layout) {
    let mut tables = Tables { text, layout, references: Vec::new(), next: 0 };
    let root = tables.reference(&layout.root);
    let mut classes = String::new();
    for class in &layout.classes {
        let members = tables.members(&class.members);
        let vptrs = if class.vptrs.is_empty() {
            "nullptr".to_owned()
        } else {
            let name = format!("vptrs_{}", class.type_id);
            let list: Vec<String> =
                class.vptrs.iter().map(|v| format!("{{{}, {}}}", v.offset, v.slot)).collect();
            let _ = writeln!(
                tables.text,
                "constexpr ::arrowsmith::graph::VtablePointer {name}[] = {{{}}};",
                list.join(", ")
            );
            name
        };
        let wire = class.wire_bytes_fixed().unwrap_or(u32::MAX);
        let _ = writeln!(
            classes,
            "    {{{}, {}, {wire}U, {}, {}, {vptrs}, {members}}},  // {}",
            class.size,
            class.align,
            class.vptrs.len(),
            class.members.len(),
            class.name
        );
    }
    let _ = write!(
        tables.text,
        "constexpr ::arrowsmith::graph::Class class_table[] = {{\n{classes}}};\n\n[[maybe_unused]] constexpr const ::arrowsmith::graph::Reference &root_reference = {root};\n\n"
    );
}

/// The last fields of an element's row where there are no keys.
const VECTOR: &str = "::arrowsmith::graph::Form::vector, false, false, false, 0, nullptr";

struct Tables<'a> {
    text: &'a mut String,
    layout: &'a Layout,
    /// Named tables of references; many pointers share one.
    references: Vec<(Reference, String)>,
    next: usize,
}

impl Tables<'_> {
    fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}_{}", self.next)
    }

    fn reference(&mut self, reference: &Reference) -> String {
        if let Some((_, name)) = self.references.iter().find(|(known, _)| known == reference) {
            return name.clone();
        }
        let name = format!("reference_{}", self.references.len());
        let mut targets = Vec::new();
        let mut adjusts = vec!["-1".to_owned(); self.layout.classes.len()];
        for target in &reference.targets {
            let index = target.type_id as usize;
            let class = &self.layout.classes[index];
            adjusts[index] = target.adjust.to_string();
            let slot = class.vptrs.iter().find(|vptr| vptr.offset == target.adjust);
            let slot = slot.map_or("-1".to_owned(), |vptr| vptr.slot.to_string());
            targets.push(format!("{{{}, {}, {slot}}}", target.type_id, target.adjust));
        }
        let _ = write!(
            self.text,
            "// {}\nconstexpr ::arrowsmith::graph::Target targets_of_{name}[] = {{{}}};\nconstexpr std::int64_t adjusts_of_{name}[] = {{{}}};\n\
             constexpr ::arrowsmith::graph::Reference {name} = {{targets_of_{name}, {}, {}, adjusts_of_{name}}};\n",
            reference.to,
            targets.join(", "),
            adjusts.join(", "),
            reference.targets.len(),
            reference.nullable
        );
        self.references.push((reference.clone(), name.clone()));
        name
    }

    /// The last fields of an element's row: its container.
    fn form(&mut self, element: &Element) -> String {
        let Some(keys) = element.form.keys() else {
            return VECTOR.replace("vector", element.form.name());
        };
        let cached = matches!(element.form, Form::Hash { cached: true, .. });
        let list: Vec<String> = keys.members.iter().map(u32::to_string).collect();
        let mut name = "nullptr".to_owned();
        if !list.is_empty() {
            name = self.name("keys");
            let list = list.join(", ");
            let _ = writeln!(self.text, "constexpr std::uint32_t {name}[] = {{{list}}};");
        }
        format!(
            "::arrowsmith::graph::Form::{}, {}, {}, {cached}, {}, {name}",
            element.form.name(),
            keys.unique,
            keys.descending,
            list.len()
        )
    }

    /// The name of a table of members.
    fn members(&mut self, members: &[Member]) -> String {
        if members.is_empty() {
            return "nullptr".into();
        }
        let mut rows = String::new();
        for member in members {
            let mut row = Row {
                kind: "integer",
                wire_bytes: member.kind.wire_bytes(),
                bytes: member.kind.bytes(self.layout.target.pointer_bytes).unwrap_or(0),
                ..Row::default()
            };
            let (mut reference, mut element) = ("nullptr".to_owned(), "nullptr".to_owned());
            match &member.kind {
                Kind::Integer(Integer { signed, range, .. }) => {
                    row.signed = *signed;
                    row.range = *range;
                }
                Kind::Bits(bits) => row.bits(bits),
                Kind::Float { .. } => row.kind = "real",
                Kind::Pointer(to) => {
                    row.kind = "pointer";
                    reference = format!("&{}", self.reference(to));
                }
                Kind::String => row.kind = "string",
                Kind::View => row.kind = "view",
                Kind::Choice(of) => {
                    row.kind = "choice";
                    row.bytes = 0;
                    let count = i64::try_from(of.alternatives.len()).unwrap_or(0);
                    row.place = Some([i64::from(of.tag_offset), count]);
                    let mut rows = String::new();
                    for alternative in &of.alternatives {
                        let inner = self.members(&alternative.members);
                        let list = &alternative.members;
                        let least = wire_bytes_min(list);
                        let _ = writeln!(
                            rows,
                            "    {{0, 1, {least}, {}, {inner}, {VECTOR}}},",
                            list.len()
                        );
                    }
                    let name = self.name("alternatives");
                    let _ = write!(
                        self.text,
                        "constexpr ::arrowsmith::graph::Element {name}[] = {{\n{rows}}};\n"
                    );
                    element = name;
                }
                Kind::Vector(of) => {
                    row.kind = "vector";
                    let inner = self.members(&of.members);
                    let form = self.form(of);
                    let name = self.name("element");
                    let _ = writeln!(
                        self.text,
                        "constexpr ::arrowsmith::graph::Element {name} = {{{}, {}, {}, {}, {inner}, {form}}};",
                        of.size,
                        of.align,
                        wire_bytes_min(&of.members),
                        of.members.len()
                    );
                    element = format!("&{name}");
                }
            }
            let [low, high] = row.place.or(row.range).unwrap_or([0, 0]);
            let _ = writeln!(
                rows,
                "    {{::arrowsmith::graph::Kind::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {reference}, {element}}},  // {}",
                row.kind,
                row.bytes,
                row.wire_bytes,
                row.signed,
                row.range.is_some(),
                row.bit_offset,
                row.bit_size,
                member.offset,
                member.count,
                number(low),
                number(high),
                member.name
            );
        }
        let name = self.name("members");
        let _ =
            write!(self.text, "constexpr ::arrowsmith::graph::Member {name}[] = {{\n{rows}}};\n");
        name
    }
}

#[derive(Default)]
struct Row {
    kind: &'static str,
    bytes: u32,
    wire_bytes: u32,
    signed: bool,
    range: Option<[i64; 2]>,
    /// Of a choice: the byte with its alternative, and their number.
    place: Option<[i64; 2]>,
    bit_offset: u32,
    bit_size: u32,
}

impl Row {
    fn bits(&mut self, bits: &Bits) {
        self.kind = "bits";
        self.signed = bits.signed;
        self.bit_offset = bits.bit_offset;
        self.bit_size = bits.bit_size;
        self.range = bits.values();
    }
}

/// A number as a C++ literal: the minimum has no literal of its own.
pub fn number(value: i64) -> String {
    if value == i64::MIN { "INT64_MIN".into() } else { format!("{value}LL") }
}
