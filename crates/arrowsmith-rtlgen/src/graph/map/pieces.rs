// SPDX-License-Identifier: Apache-2.0
//! The pieces of a map: for each step, which bits of the object come from where.

use std::fmt::Write as _;

use arrowsmith_graph::Layout;
use arrowsmith_graph::layout::{Bits, Integer, Kind, Reference};

use super::super::plan::{Piece, Plan, Read};
use super::{Widths, adjusts, all_steps, set_of};

/// Writes the case of each step.
pub(super) fn pieces(
    out: &mut String,
    plan: &Plan,
    layout: &Layout,
    w: &Widths,
    sets: &[&Reference],
) {
    let pointer = w.pointer_bits;
    out.push_str("  // The pieces. All other bytes are zero.\n");
    let _ = writeln!(out, "  logic [{}:0] pointer;\n", plan.refs * pointer - 1);
    out.push_str(
        "  always_comb begin\n    pointer = '0;\n    piece_o = '0;\n    unique case (step_i)\n",
    );
    for (number, class, piece, _) in all_steps(plan, layout) {
        let _ = writeln!(
            out,
            "      {}'d{number}: begin  // {}, bytes {} to {}",
            w.step_bits, class.name, piece.begin, piece.end
        );
        if let Some((slot, at)) = piece.vptr {
            let comment = format!("vtable pointer {slot}");
            place(out, piece, at * 8, pointer, "vptr_i", 0, &comment);
        }
        for read in &piece.reads {
            place_read(out, piece, read, w, sets);
        }
        out.push_str("      end\n");
    }
    out.push_str("      default: ;\n    endcase\n  end\n\n");
}

fn place_read(out: &mut String, piece: &Piece, read: &Read, w: &Widths, sets: &[&Reference]) {
    let wire = read.wire_at * 8;
    match &read.kind {
        Kind::Pointer(reference) => {
            let index = read.reference.unwrap_or(0);
            let p = w.pointer_bits;
            if read.at + p / 8 <= piece.begin || read.at >= piece.end {
                return;
            }
            let mut address = format!("address_i[{}+:{p}]", index * p);
            if adjusts(reference) {
                let target = format!("target_i[{}+:{}]", index * w.type_bits, w.type_bits);
                let _ = write!(address, " + adjust_{}({target})", set_of(sets, reference));
            }
            let _ = writeln!(
                out,
                "        pointer[{}+:{p}] = null_i[{index}] ? '0 : {address};",
                index * p
            );
            place(out, piece, read.at * 8, p, "pointer", index * p, &read.name);
        }
        Kind::Integer(Integer { bytes, wire_bytes, signed, .. }) => {
            place(out, piece, read.at * 8, wire_bytes * 8, "window_i", wire, &read.name);
            if bytes > wire_bytes && *signed {
                let fill = (read.at + wire_bytes) * 8;
                sign(
                    out,
                    piece,
                    fill,
                    (bytes - wire_bytes) * 8,
                    wire + wire_bytes * 8 - 1,
                    &read.name,
                );
            }
        }
        Kind::Float { bytes } => {
            place(out, piece, read.at * 8, bytes * 8, "window_i", wire, &read.name);
        }
        Kind::Bits(Bits { bit_offset, bit_size, wire_bytes, signed, .. }) => {
            let at = read.at * 8 + bit_offset;
            let sent = (*bit_size).min(wire_bytes * 8);
            place(out, piece, at, sent, "window_i", wire, &read.name);
            if *bit_size > sent && *signed {
                sign(out, piece, at + sent, bit_size - sent, wire + sent - 1, &read.name);
            }
        }
        // The plan refuses such layouts.
        Kind::String | Kind::View | Kind::Choice(_) | Kind::Vector(_) => {}
    }
}

/// The part of the object's bits `at` to `at + width` that is in the piece: its bit in the piece,
/// its bit in the source, its width.
fn overlap(piece: &Piece, at: u32, width: u32) -> Option<(u32, u32, u32)> {
    let begin = at.max(piece.begin * 8);
    let end = (at + width).min(piece.end * 8);
    (begin < end).then(|| (begin - piece.begin * 8, begin - at, end - begin))
}

fn place(out: &mut String, piece: &Piece, at: u32, width: u32, from: &str, bit: u32, name: &str) {
    if let Some((to, offset, width)) = overlap(piece, at, width) {
        let _ = writeln!(
            out,
            "        piece_o[{to}+:{width}] = {from}[{}+:{width}];  // {name}",
            bit + offset
        );
    }
}

fn sign(out: &mut String, piece: &Piece, at: u32, width: u32, bit: u32, name: &str) {
    if let Some((to, _, width)) = overlap(piece, at, width) {
        let _ = writeln!(
            out,
            "        piece_o[{to}+:{width}] = {{{width}{{window_i[{bit}]}}}};  // {name}, its sign"
        );
    }
}
