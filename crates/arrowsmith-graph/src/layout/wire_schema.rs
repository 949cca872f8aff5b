// SPDX-License-Identifier: Apache-2.0
//! The classes of a layout as text, as they are on the wire: what the hash of a message is of.

use super::{Keys, Kind, Layout, Member, Reference};

impl Layout {
    /// A hash (64-bit FNV-1a) of the classes as they are on the wire, in the text of
    /// [`Self::wire_schema`]; readers and writers of a message must agree on it. It is the same for
    /// memory layouts of different compilers.
    pub fn wire_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.wire_schema().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash
    }

    /// The classes as they are on the wire: one line per class and per member.
    pub fn wire_schema(&self) -> String {
        let mut text = String::from("root ");
        write_reference(&mut text, &self.root);
        text.push('\n');
        for class in &self.classes {
            text.push_str(&format!("class {} {}\n", class.type_id, class.name));
            write_members(&mut text, &class.members, 1);
        }
        text
    }
}

fn write_reference(text: &mut String, reference: &Reference) {
    text.push_str(if reference.nullable { "ref?" } else { "ref" });
    for target in &reference.targets {
        text.push_str(&format!(" {}", target.type_id));
    }
}

/// The order that a reader demands, which is that of a tree as of a hash table.
fn write_keys(text: &mut String, keys: &Keys) {
    if keys.members.is_empty() {
        return;
    }
    text.push_str(if keys.descending { " descending" } else { " ascending" });
    for member in &keys.members {
        text.push_str(&format!(" {member}"));
    }
    if keys.unique {
        text.push_str(" unique");
    }
}

fn write_members(text: &mut String, members: &[Member], depth: usize) {
    for member in members {
        text.push_str(&format!("{}{} {} ", " ".repeat(depth), member.name, member.count));
        match &member.kind {
            Kind::Integer(integer) => {
                let sign = if integer.signed { "int" } else { "uint" };
                text.push_str(&format!("{sign}{}", integer.wire_bytes * 8));
                if let Some([low, high]) = integer.range {
                    text.push_str(&format!(" {low}..{high}"));
                }
            }
            Kind::Bits(bits) => {
                let sign = if bits.signed { "int" } else { "uint" };
                text.push_str(&format!("{sign}{} {} bits", bits.wire_bytes * 8, bits.bit_size));
                if let Some([low, high]) = bits.range {
                    text.push_str(&format!(" {low}..{high}"));
                }
            }
            Kind::Float { bytes } => text.push_str(&format!("float{}", bytes * 8)),
            Kind::Pointer(reference) => write_reference(text, reference),
            Kind::String | Kind::View => text.push_str("string"),
            Kind::Choice(_) => text.push_str("choice"),
            Kind::Vector(element) => {
                text.push_str("vector");
                if let Some(keys) = element.form.keys() {
                    write_keys(text, keys);
                }
            }
        }
        text.push('\n');
        match &member.kind {
            Kind::Vector(element) => write_members(text, &element.members, depth + 1),
            Kind::Choice(choice) => {
                for alternative in &choice.alternatives {
                    text.push_str(&format!("{}or {}\n", " ".repeat(depth), alternative.name));
                    write_members(text, &alternative.members, depth + 1);
                }
            }
            _ => {}
        }
    }
}
