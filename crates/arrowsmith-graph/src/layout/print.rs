// SPDX-License-Identifier: Apache-2.0
//! A layout as a table for people.

use std::fmt::{self, Write};

use super::{Integer, Kind, Layout, Member, Reference};

/// Prints a layout, one class after another, by offset in memory and with the wire widths.
pub struct Table<'a>(pub &'a Layout);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(layout) = self;
        writeln!(
            f,
            "{} ({}-byte pointers), {}; wire hash {:016x}",
            layout.target.arch,
            layout.target.pointer_bytes,
            layout.target.compiler,
            layout.wire_hash()
        )?;
        writeln!(f, "root: {}", reference(layout, &layout.root))?;
        for class in &layout.classes {
            let wire = match class.wire_bytes_fixed() {
                Some(bytes) => bytes.to_string(),
                None => format!("{} or more", super::wire_bytes_min(&class.members)),
            };
            writeln!(
                f,
                "\nclass {} {}: {} bytes, alignment {}; on the wire {wire}",
                class.type_id, class.name, class.size, class.align
            )?;
            for base in &class.bases {
                writeln!(f, "  {:>6}  base {}", base.offset, base.name)?;
            }
            for vptr in &class.vptrs {
                writeln!(
                    f,
                    "  {:>6}  vtable pointer {}: {} + {}",
                    vptr.offset, vptr.slot, vptr.symbol, vptr.address_point
                )?;
            }
            members(f, layout, &class.members, 0)?;
        }
        Ok(())
    }
}

fn members(
    f: &mut fmt::Formatter<'_>,
    layout: &Layout,
    list: &[Member],
    depth: usize,
) -> fmt::Result {
    for member in list {
        let name = if member.name.is_empty() { "each" } else { &member.name };
        let mut what = describe(layout, &member.kind);
        if member.count > 1 {
            write!(what, " × {}", member.count)?;
        }
        let bit = match &member.kind {
            Kind::Bits(bits) => format!(".{}", bits.bit_offset),
            _ => String::new(),
        };
        let place = format!("{}{bit}", member.offset);
        writeln!(f, "  {:>6}  {}{name}: {what}", place, "  ".repeat(depth))?;
        match &member.kind {
            Kind::Vector(element) => members(f, layout, &element.members, depth + 1)?,
            Kind::Choice(choice) => {
                for (index, of) in choice.alternatives.iter().enumerate() {
                    writeln!(f, "  {:>6}  {}{index}: {}", "", "  ".repeat(depth + 1), of.name)?;
                    members(f, layout, &of.members, depth + 2)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn describe(layout: &Layout, kind: &Kind) -> String {
    let sign = |signed: bool| if signed { "int" } else { "uint" };
    let values = |range: &Option<[i64; 2]>| match range {
        Some([low, high]) => format!(", {low} to {high}"),
        None => String::new(),
    };
    match kind {
        Kind::Integer(Integer { bytes, wire_bytes, signed, range, .. }) => {
            let wire = if wire_bytes == bytes {
                String::new()
            } else {
                format!(", sent as {}", wire_bytes * 8)
            };
            format!("{}{}{wire}{}", sign(*signed), bytes * 8, values(range))
        }
        Kind::Bits(bits) => format!(
            "{} of {} bits, sent as {}{}",
            sign(bits.signed),
            bits.bit_size,
            bits.wire_bytes * 8,
            values(&bits.range)
        ),
        Kind::Float { bytes } => format!("float{}", bytes * 8),
        Kind::Pointer(to) => format!("pointer to {}", reference(layout, to)),
        Kind::String => "string".into(),
        Kind::View => "view of a string".into(),
        Kind::Choice(choice) => format!("one of {}", choice.alternatives.len()),
        Kind::Vector(element) => {
            format!("{}, {} bytes an element", element.form.name(), element.size)
        }
    }
}

fn reference(layout: &Layout, reference: &Reference) -> String {
    let target = |target: &super::Subobject| {
        let class = layout.classes.get(target.type_id as usize).map_or("?", |class| &class.name);
        match target.adjust {
            0 => class.to_owned(),
            adjust => format!("{class} + {adjust}"),
        }
    };
    let targets: Vec<String> = reference.targets.iter().map(target).collect();
    let null = if reference.nullable { " or null" } else { "" };
    format!("{} = {}{null}", reference.to, targets.join(" | "))
}
