// SPDX-License-Identifier: Apache-2.0
//! Writes the parser (kernel, matchers, map) and the top (device, parsers, writers): wiring only.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::kind::Kind;
use super::layout::Layout;
use super::writers::Choice;
use super::{Shape, WINDOW_BYTES, matcher};
use crate::project::{DONE_PORT, Port, memory_ports};
use crate::registers::RegisterMap;
use crate::registers::systemverilog::{CTL_PORTS, ports};

/// The width of a signal.
#[derive(Clone, Copy)]
enum Width {
    Bits(usize),
    /// A number of bits for each parser.
    PerParser(usize),
    /// The bytes that a parser gets at once.
    Transfer,
    /// The values of a step: 64 bits for each lane.
    Values,
    /// A number of beats of memory.
    Beats(usize),
    /// One bit per node of the schema.
    Nodes,
    /// A type of `as_json_pkg`, and the bits of one in an array of bits, or 1 in an array of its
    /// type.
    Type(&'static str, usize),
}

const FAULT: Width = Width::Type("fault_e", 8);
const OP: Width = Width::Type("op_t", 1);
const ROW: Width = Width::Type("row_t", 1);
const SLOT: Width = Width::Type("slot_t", 1);

impl Width {
    fn bits(self, layout: &Layout, shape: Shape) -> usize {
        match self {
            Self::Bits(bits) | Self::Type(_, bits) => bits,
            Self::PerParser(bits) => shape.parsers * bits,
            Self::Transfer => shape.width * 8,
            Self::Values => shape.lanes() * 64,
            Self::Beats(beats) => shape.beat_bytes() * 8 * beats,
            Self::Nodes => layout.rows.len(),
        }
    }

    /// The type in a declaration of one signal.
    fn declared(self, layout: &Layout, shape: Shape) -> String {
        match self {
            Self::Type(name, _) => name.to_owned(),
            // A vector of one bit per node is a vector even for one node.
            Self::Nodes => format!("logic [{}:0]", layout.rows.len() - 1),
            other => format!("logic {}", range(other.bits(layout, shape))).trim_end().to_owned(),
        }
    }
}

/// Wires between kernel and map: width, kernel's port, map's port, whether the kernel drives it.
const MAP_WIRES: [(Width, &str, &str, bool); 15] = [
    (Width::Bits(1), "map_known", "known", false),
    (Width::Bits(8), "map_node", "node", false),
    (Width::Bits(8), "map_row_node", "row_node", true),
    (ROW, "map_row", "row", false),
    (Width::Bits(8), "map_row_context", "row_context", true),
    (ROW, "map_row_context", "row_context", false),
    (Width::Nodes, "map_fields", "fields", false),
    (Width::Nodes, "map_nullable", "nullable", false),
    (Width::Bits(8), "map_missing", "missing", true),
    (Width::Bits(8), "map_missing_last", "missing_last", false),
    (Width::Bits(1), "map_begin", "begin", true),
    (Width::Bits(8), "map_after", "after", true),
    (SLOT, "map_slot", "slot", false),
    (Width::Nodes, "map_slot_clears", "slot_clears", false),
    (Width::Nodes, "map_slot_sets", "slot_sets", false),
];

/// Ports of a parser; each parser has a slice of their wires: direction, width, name.
const PARSER_PORTS: [(&str, Width, &str); 11] = [
    ("input", Width::Bits(1), "feed_valid_i"),
    ("input", Width::Bits(1), "feed_ended_i"),
    ("output", Width::Bits(1), "feed_advance_o"),
    ("input", Width::Transfer, "feed_data_i"),
    ("output", Width::Bits(1), "done_o"),
    ("output", Width::Bits(1), "starved_o"),
    ("output", Width::Bits(1), "blocked_o"),
    ("output", Width::Bits(1), "fault_o"),
    ("output", FAULT, "fault_code_o"),
    ("output", Width::Bits(64), "fault_position_o"),
    ("output", Width::Bits(32), "rows_o"),
];

/// Of these, the outputs that only the host reads: name, and the register.
const ANSWERS: [(&str, &str); 3] = [
    ("fault_code_o", "input_fault"),
    ("fault_position_o", "input_position"),
    ("rows_o", "input_rows"),
];

/// Between registers and device: width, wire, port of the registers, port of the
/// device.
const REGISTER_WIRES: [(Width, &str, &str, &str); 13] = [
    (Width::Bits(1), "start", "start_o", "start_i"),
    (Width::PerParser(64), "address", "input_address_o", "address_i"),
    (Width::PerParser(32), "length", "input_length_o", "length_i"),
    (Width::Bits(1), "set", "buffer_set_o", "set_i"),
    (Width::Bits(11), "set_index", "buffer_index_o", "set_index_i"),
    (Width::Bits(3), "set_word", "buffer_word_o", "set_word_i"),
    (Width::Bits(32), "set_value", "buffer_value_o", "set_value_i"),
    (Width::Bits(1), "busy", "busy_i", "busy_o"),
    (Width::Bits(1), "ended", "done_i", "ended_o"),
    (Width::Bits(1), "error", "error_i", "error_o"),
    (Width::Bits(8), "error_code", "error_code_i", "error_code_o"),
    (Width::Bits(1), "no_input", "starved_i", "no_input_o"),
    (Width::Bits(1), "no_room", "blocked_i", "no_room_o"),
];

/// From a parser to its writers.
const OP_PORTS: [(&str, Width, &str); 4] = [
    ("output", Width::Bits(1), "op_valid_o"),
    ("input", Width::Bits(1), "op_ready_i"),
    ("output", OP, "op_o"),
    ("output", Width::Values, "op_data_o"),
];

/// From a set of writers to the device.
const WRITER_PORTS: [(&str, Width, &str); 6] = [
    ("output", Width::Bits(1), "flushed_o"),
    ("output", Width::Bits(5), "beat_valid_o"),
    ("input", Width::Bits(5), "beat_ready_i"),
    ("output", Width::Bits(40), "beat_buffer_o"),
    ("output", Width::Bits(160), "beat_number_o"),
    ("output", Width::Beats(5), "beat_data_o"),
];

/// Inputs shared by all parsers; after the first, the ones that the host sets, with the register.
const SHARED: [(Width, &str); 4] = [
    (Width::Bits(1), "clr"),
    (Width::Bits(1), "unknown_refused"),
    (Width::Bits(32), "record_bytes_max"),
    (Width::Bits(16), "depth_max"),
];
const SETTINGS: [&str; 3] = ["refuse_unknown", "record_bytes_max", "depth_max"];

fn range(bits: usize) -> String {
    if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) }
}

/// A name without its direction.
fn wire(port: &str) -> &str {
    port.trim_end_matches(['i', 'o']).trim_end_matches('_')
}

/// The module `NAME_parser`.
pub(super) fn parser(layout: &Layout, name: &str, shape: Shape) -> String {
    let (w, nodes) = (shape.width, layout.rows.len());
    let (slots, keys) = (layout.slots.len().max(1), layout.keys.len().max(1));
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0\n\
         // Generated by arrowsmith; do not edit. One parser for records of `{name}`: the kernel, and the parts for this schema.\n\
         // Wiring only.\n\
         module {name}_parser\n  import as_json_pkg::*;\n(\n    input  logic clk_i,\n    input  logic rst_ni"
    );
    for (width, port) in SHARED {
        let _ = write!(out, ",\n    input  logic {}{port}_i", range(width.bits(layout, shape)));
    }
    for (way, width, port) in PARSER_PORTS.into_iter().chain(OP_PORTS) {
        let _ = write!(out, ",\n    {way:<6} {} {port}", width.declared(layout, shape));
    }
    let _ = write!(
        out,
        "\n);\n\n  logic match_advance;\n  logic [{}:0] match_data;\n  logic [{}:0] match_slot;\n  logic [{}:0] key_end;\n  \
         logic [{}:0] key;\n  logic [7:0] map_context;\n  logic [{}:0] map_lane;\n",
        w * 8 - 1,
        slots * w - 1,
        keys * w - 1,
        keys - 1,
        w - 1
    );
    for (width, wire, _, driven) in MAP_WIRES {
        let kind = width.declared(layout, shape);
        let _ = writeln!(out, "  {kind} {wire}_{};", if driven { "asked" } else { "said" });
    }
    let _ = write!(
        out,
        "\n  // The keys that end at the route's lane.\n  for (genvar k = 0; k < {keys}; k++) begin : gen_key\n    \
         assign key[k] = |(key_end[k*{w}+:{w}] & map_lane);\n  end\n\n  as_json_kernel #(\n"
    );
    for (parameter, value) in [
        ("W", w),
        ("L", shape.lanes()),
        ("Nodes", nodes),
        ("Slots", slots),
        ("Levels", layout.levels()),
        ("Window", WINDOW_BYTES),
        ("Ahead", matcher::lookahead(layout, shape)),
        ("Floats", layout.has(|kind| matches!(kind, Kind::Float(_)))),
        ("Times", layout.has(|kind| matches!(kind, Kind::Time(_)))),
    ] {
        let _ = writeln!(out, "      .{parameter}({value}),");
    }
    let decimals = layout.has(|kind| matches!(kind, Kind::Decimal(..)));
    let _ =
        writeln!(out, "      .Decimals({decimals})\n  ) i_kernel (\n      .clk_i,\n      .rst_ni,");
    for (_, port) in SHARED {
        let _ = writeln!(out, "      .{port}_i,");
    }
    for (_, _, port) in PARSER_PORTS.into_iter().chain(OP_PORTS) {
        let _ = writeln!(out, "      .{port},");
    }
    out.push_str(
        "      .match_advance_o(match_advance),\n      .match_data_o(match_data),\n      .match_slot_i(match_slot),\n      \
         .map_context_o(map_context),\n      .map_lane_o(map_lane)",
    );
    for (_, wire, _, driven) in MAP_WIRES {
        let (way, end) = if driven { ("o", "asked") } else { ("i", "said") };
        let _ = write!(out, ",\n      .{wire}_{way}({wire}_{end})");
    }
    let _ = write!(
        out,
        "\n  );\n\n  {name}_match i_match (\n      .clk_i,\n      .advance_i(match_advance),\n      .data_i(match_data),\n      \
         .slot_start_o(match_slot),\n      .key_end_o(key_end)\n  );\n\n  {name}_map i_map (\n      .context_i(map_context),\n      \
         .key_i(key)"
    );
    for (_, wire, port, driven) in MAP_WIRES {
        let (way, end) = if driven { ("i", "asked") } else { ("o", "said") };
        let _ = write!(out, ",\n      .{port}_{way}({wire}_{end})");
    }
    out.push_str("\n  );\n\nendmodule\n");
    out
}

/// Ports to the host and to memory: direction, bits, name.
fn outside(shape: Shape) -> Vec<(&'static str, usize, &'static str)> {
    let control = CTL_PORTS.iter().map(|&(way, bits, name)| (way, bits as usize, name));
    let memory = memory_ports(shape.beat_bytes() as u64);
    let wide = |(way, bits, name): Port| {
        let bits = usize::try_from(bits).unwrap_or(usize::MAX);
        (way, bits.saturating_mul(shape.ports), name)
    };
    control.chain(memory.into_iter().map(wide)).collect()
}

/// The module `NAME_top`.
pub(super) fn top(
    layout: &Layout,
    name: &str,
    shape: Shape,
    choice: Choice,
    registers: &RegisterMap,
) -> String {
    let Shape { parsers, ports, .. } = shape;
    let shown = if ports == 1 { String::new() } else { format!("{ports} times ") };
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0\n\
         // Generated by arrowsmith; do not edit. JSON records of `{name}` to Arrow buffers: {parsers} parsers of {} bytes per cycle.\n\
         // {shown}AXI4 with {} bytes per beat to memory (mem_), AXI4-Lite to the host (ctl_); registers: see {name}_regs.\n\
         // Wiring only.\n\
         module {name}_top (\n    input  logic clk_i,\n    input  logic rst_ni",
        shape.width,
        shape.beat_bytes()
    );
    let outside = outside(shape);
    for (way, bits, port) in &outside {
        let _ = write!(out, ",\n    {way:<6} logic {}{port}", range(*bits));
    }
    let _ = write!(out, ",\n    output logic {DONE_PORT}\n);\n\n");
    for (width, wire) in SHARED {
        let _ = writeln!(out, "  logic {}{wire};", range(width.bits(layout, shape)));
    }
    out.push_str("  logic flush;\n");
    for (width, wire, _, _) in REGISTER_WIRES {
        let _ = writeln!(out, "  logic {}{wire};", range(width.bits(layout, shape)));
    }
    let sets = choice.sets(shape);
    let of_parsers = PARSER_PORTS.into_iter().chain(OP_PORTS).map(|port| (port, parsers));
    for ((_, width, port), many) in of_parsers.chain(WRITER_PORTS.map(|port| (port, sets))) {
        let (wire, last) = (wire(port), width.bits(layout, shape) * many - 1);
        let _ = match width {
            Width::Type("op_t", _) => writeln!(out, "  as_json_pkg::op_t [{last}:0] {wire};"),
            _ => writeln!(out, "  logic [{last}:0] {wire};"),
        };
    }
    let _ = writeln!(out, "\n  assign {DONE_PORT} = ended;");
    regs(name, registers, &mut out);
    device(layout, shape, sets, &outside, &mut out);
    let _ = write!(
        out,
        "\n  );\n\n  for (genvar p = 0; p < {parsers}; p++) begin : gen_parser\n    as_json_pkg::fault_e code;\n    \
         assign fault_code[p*8+:8] = code;\n    {name}_parser i_parser (\n        .clk_i,\n        .rst_ni"
    );
    for (_, wire) in SHARED {
        let _ = write!(out, ",\n        .{wire}_i({wire})");
    }
    for (_, width, port) in PARSER_PORTS.into_iter().chain(OP_PORTS) {
        let _ = match width {
            Width::Type("fault_e", _) => write!(out, ",\n        .{port}(code)"),
            Width::Type("op_t", _) => write!(out, ",\n        .{port}(op[p])"),
            _ => write!(out, ",\n        {}", slice(port, "p", width.bits(layout, shape))),
        };
    }
    out.push_str("\n    );\n  end\n\n");
    writers(layout, shape, sets, &mut out);
    out.push_str("endmodule\n");
    out
}

/// A port on its slice of a wire.
fn slice(port: &str, index: &str, bits: usize) -> String {
    format!(".{port}({}[{index}*{bits}+:{bits}])", wire(port))
}

fn regs(name: &str, registers: &RegisterMap, out: &mut String) {
    let _ = write!(out, "\n  {name}_regs i_regs (\n      .clk_i,\n      .rst_ni");
    for (_, _, port) in CTL_PORTS {
        let _ = write!(out, ",\n      .{port}");
    }
    let shared = SHARED.iter().skip(1).map(|(_, wire)| *wire);
    let pins: BTreeMap<String, &str> = (REGISTER_WIRES
        .map(|(_, wire, port, _)| (port.to_owned(), wire)))
    .into_iter()
    .chain(ANSWERS.map(|(port, register)| (format!("{register}_i"), wire(port))))
    .chain(SETTINGS.map(|register| format!("{register}_o")).into_iter().zip(shared))
    .chain([("cycles_i".to_owned(), "busy")])
    .collect();
    for (_, _, port) in ports(registers) {
        let _ = write!(out, ",\n      .{port}({})", pins.get(&port).unwrap_or(&""));
    }
    out.push_str("\n  );\n");
}

/// The device, up to the end of its ports.
fn device(
    layout: &Layout,
    shape: Shape,
    sets: usize,
    outside: &[(&'static str, usize, &'static str)],
    out: &mut String,
) {
    let _ = write!(
        out,
        "\n  as_json_device #(\n      .W({}),\n      .Bytes({}),\n      .Parsers({}),\n      .Ports({}),\n      .Sets({sets}),\n      \
         .QueueBeats({}),\n      .Buffers({})\n  ) i_device (\n      .clk_i,\n      .rst_ni",
        shape.width,
        shape.beat_bytes(),
        shape.parsers,
        shape.ports,
        shape.queue_beats(),
        layout.buffers(shape),
    );
    for (_, wire, _, port) in REGISTER_WIRES {
        let _ = write!(out, ",\n      .{port}({wire})");
    }
    for (_, _, port) in outside.iter().filter(|(_, _, port)| port.starts_with("mem_")) {
        let _ = write!(out, ",\n      .{port}");
    }
    out.push_str(",\n      .clr_o(clr),\n      .flush_o(flush)");
    let of_parsers = PARSER_PORTS
        .into_iter()
        .filter(|(_, _, port)| ANSWERS.iter().all(|answer| answer.0 != *port));
    for (way, _, port) in of_parsers.chain(WRITER_PORTS) {
        let (wire, end) = (wire(port), if way == "input" { "o" } else { "i" });
        let _ = write!(out, ",\n      .{wire}_{end}({wire})");
    }
}

/// The sets of writers.
fn writers(layout: &Layout, shape: Shape, sets: usize, out: &mut String) {
    let at_port = shape.parsers_at_port();
    let each = shape.parsers / sets;
    let mut first = Vec::new();
    let per_parser: usize = layout.counts.iter().sum();
    for parser in 0..at_port {
        let mut next = parser * per_parser;
        for count in layout.counts {
            first.push(format!("8'd{next}"));
            next += count;
        }
    }
    first.reverse();
    let [data, offsets, valid, lists, flags] = layout.counts;
    let of_set = if each == at_port {
        "First".to_owned()
    } else {
        format!("First[s%{at_port}*{}+:{}]", each * 40, each * 40)
    };
    let _ = write!(
        out,
        "  // Buffers are numbered parser by parser, and in each: data, offsets, validity of values, of lists and objects, flags. The first\n  \
         // buffers of a port's parsers, from the last parser to the first:\n  localparam logic [{}:0] First = {{{}}};\n  \
         for (genvar s = 0; s < {sets}; s++) begin : gen_writers\n    as_json_writers #(\n        .L({}),\n        .Bytes({}),\n        \
         .Parsers({each}),\n        .DataBuffers({data}),\n        .Counters({offsets}),\n        .ValidBuffers({valid}),\n        \
         .OuterBuffers({lists}),\n        .FlagBuffers({flags}),\n        .First({of_set})\n    ) i_writers (\n        .clk_i,\n        \
         .rst_ni,\n        .clr_i(clr),\n        .flush_i(flush)",
        at_port * 40 - 1,
        first.join(", "),
        shape.lanes(),
        shape.beat_bytes(),
    );
    for (way, width, port) in OP_PORTS {
        let port = format!("{}_{}", wire(port), if way == "input" { "o" } else { "i" });
        let _ = match width {
            Width::Type("op_t", _) => write!(out, ",\n        .{port}(op[s*{each}+:{each}])"),
            _ => write!(out, ",\n        {}", slice(&port, "s", width.bits(layout, shape) * each)),
        };
    }
    for (_, width, port) in WRITER_PORTS {
        let _ = write!(out, ",\n        {}", slice(port, "s", width.bits(layout, shape)));
    }
    out.push_str("\n    );\n  end\n\n");
}
