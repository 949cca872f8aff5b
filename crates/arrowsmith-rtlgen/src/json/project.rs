// SPDX-License-Identifier: Apache-2.0
//! What a user finds beside the circuit: file lists and project files of tools, drivers, a README with a drawing for this very schema.

use std::fmt::Write as _;

use arrowsmith_plan::Plan;

use super::kind::{Kind, is_outer};
use super::layout::{Layout, Row};
use super::{Design, WINDOW_BYTES};
use crate::LIBRARY_JSON;

/// Registers: address, name, how the host uses it, what it is.
const REGISTERS: [(u32, &str, &str, &str); 17] = [
    (0x000, "IDENTITY", "r", "`ARSM`, 0x4d535241"),
    (0x004, "VERSION", "r", "1"),
    (0x008, "SCHEMA_HASH", "r", "64 bits: hash of plan and schema"),
    (0x010, "SHAPE", "r", "bits 7:0 parsers, 15:8 bytes of a memory beat, 23:16 format (1: JSON)"),
    (0x014, "COUNTS", "r", "bits 15:0 inputs, 31:16 buffers"),
    (0x018, "CONTROL", "w", "bit 0: start"),
    (0x01c, "STATUS", "r", "bit 0 busy, 1 done, 2 error"),
    (0x020, "ERROR_CODE", "r", "0 none, 1 memory refused an access, 2 a buffer is full"),
    (0x048, "CYCLES", "r", "64 bits: from start to done"),
    (0x050, "STARVED", "r", "64 bits: cycles in which a parser had no input"),
    (0x058, "BLOCKED", "r", "64 bits: cycles in which a parser had no room for values"),
    (0x060, "REFUSE_UNKNOWN", "w", "bit 0: a key that the schema does not have is a fault"),
    (0x064, "RECORD_BYTES_MAX", "w", "longest record"),
    (0x068, "DEPTH_MAX", "w", "deepest nesting inside values that are skipped, to 63"),
    (0x1000, "INPUT", "w", "0x20 a parser: address (64), length (32)"),
    (0x100c, "ANSWER", "r", "0x20 a parser: fault code (32), position (64), rows (32)"),
    (0x2000, "BUFFER", "w", "0x20 a buffer: address (64), capacity in bytes (32)"),
];

/// Reasons to stop at a record.
const FAULTS: [(u8, &str); 12] = [
    (16, "a byte that the grammar does not allow"),
    (17, "a value of a type that the field does not take"),
    (18, "a number that does not fit its field"),
    (19, "a field that is not nullable is null or missing"),
    (20, "a key that comes twice"),
    (21, "a key that the schema does not have, where that is refused"),
    (22, "a fixed-size list of another length"),
    (23, "bytes in a string that JSON or UTF-8 do not allow; escapes in keys"),
    (24, "nested too deep"),
    (25, "a record that is too long"),
    (26, "a form of value that is left to the host"),
    (27, "a scalar longer than the text window"),
];

/// All files of a design: path below its folder, and text.
pub fn project(design: &Design, plan: &Plan) -> Vec<(String, String)> {
    let name = design.top.trim_end_matches("_top");
    let sources: Vec<(String, String)> = LIBRARY_JSON
        .iter()
        .map(|(path, text)| (format!("rtl/{path}"), (*text).to_owned()))
        .chain(design.files.iter().map(|(path, text)| (format!("rtl/{path}"), text.clone())))
        .collect();
    let paths: Vec<&str> = sources.iter().map(|(path, _)| path.as_str()).collect();
    let mut out = vec![
        ("README.md".to_owned(), readme(design, plan, name)),
        ("diagram.svg".to_owned(), diagram(design, name)),
        ("files.f".to_owned(), lines(&paths, "", "")),
        (format!("{name}.core"), fusesoc(design, name, &paths)),
        ("vivado.tcl".to_owned(), vivado(design, &paths)),
        ("quartus.tcl".to_owned(), quartus(design, &paths)),
        (format!("driver/{name}_registers.h"), c_header(design, name)),
        (format!("driver/{name}_registers.rs"), rust_constants(design, name)),
        (
            "driver/as_json_driver.hpp".to_owned(),
            include_str!("../../../arrowsmith-engine-rtl/cpp/as_json_driver.hpp").to_owned(),
        ),
        (format!("shell/{name}_xrt.sv"), shell(design, name, "XRT", "s_axi_control", "m_axi_gmem")),
        (format!("shell/{name}_opae.sv"), shell(design, name, "OPAE", "mmio", "host_mem")),
    ];
    out.extend(sources);
    out
}

fn lines(paths: &[&str], before: &str, after: &str) -> String {
    paths.iter().map(|path| format!("{before}{path}{after}\n")).collect()
}

/// Buffers of one parser, by number: what each is.
fn buffers(layout: &Layout) -> Vec<String> {
    let mut named = vec![String::new(); layout.counts.iter().sum()];
    let before = |class: usize| layout.counts[..class].iter().sum::<usize>();
    for row in &layout.rows {
        let path = if row.path.is_empty() { "the record" } else { &row.path };
        let outer = if is_outer(row.kind) { 3 } else { 2 };
        let text = row.kind == Kind::Text;
        for (class, number, what) in [
            (0, row.data, if text { "bytes" } else { "values" }),
            (1, row.offsets, "offsets, 32 bits, the first is 0"),
            (outer, row.validity, "validity, a bit each"),
            (4, row.flags, "values, a bit each"),
        ] {
            if let Some(number) = number {
                named[before(class) + number] = format!("`{path}`: {what}");
            }
        }
    }
    named
}

fn readme(design: &Design, plan: &Plan, name: &str) -> String {
    let shape = design.shape;
    let mut out = format!(
        "# {name}: JSON records to Arrow buffers\n\n\
         Generated by `arrowsmith rtl generate`; `{name}_top` is the top module. {} of {} bytes a cycle; memory beats of {} bytes.\n\n\
         ![what it is made of](diagram.svg)\n\n## The plan\n\n```\n{plan}```\n\n\
         Records stand one a line. Keys may come in any order, white space anywhere; keys that the schema does not have are skipped, and checked. \
         Records as a compact writer writes them, keys in the schema's order, are followed by prediction, a step a value or up to {} integers of a \
         list; what differs is walked, a token a cycle. Scalars of more than {WINDOW_BYTES} bytes are left to the host.\n\n",
        if shape.parsers == 1 {
            "One parser".to_owned()
        } else {
            format!("{} parsers", shape.parsers)
        },
        shape.width,
        shape.beat_bytes(),
        shape.lanes(),
    );
    out.push_str("## Use\n\n1. Check `IDENTITY` and `SCHEMA_HASH`.\n2. Write address and length of a text for each parser (whole records, the last one ended by a line \
         feed) and address and capacity of each buffer, at multiples of a beat.\n3. Write 1 to `CONTROL`, wait for bit 1 of `STATUS`.\n4. A parser whose \
         fault code is 0 took all its records. Another one stopped at record number `rows` (from 0, blank lines not counted): the rows before are complete; \
         read that record with software, and start again behind it.\n5. Rows say how much of a buffer counts; the last offset, how many items or bytes.\n\n");
    out.push_str("## Registers\n\n| address | name | | |\n|---|---|---|---|\n");
    for (address, register, way, what) in REGISTERS {
        let _ = writeln!(out, "| 0x{address:03x} | {register} | {way} | {what} |");
    }
    out.push_str("\n| fault | |\n|---|---|\n");
    for (code, what) in FAULTS {
        let _ = writeln!(out, "| {code} | {what} |");
    }
    out.push_str("\n## Buffers\n\n| number | |\n|---|---|\n");
    for (number, what) in buffers(&design.layout).iter().enumerate() {
        let _ = writeln!(out, "| {number} | {what} |");
    }
    let per_parser = design.layout.counts.iter().sum::<usize>();
    if shape.parsers > 1 {
        let _ = writeln!(out, "\nThose of the next parser follow, from {per_parser} on.");
    }
    let _ = write!(
        out,
        "\n## Predicted texts\n\n| behind | text | leads to |\n|---|---|---|\n{}",
        predictions(&design.layout)
    );
    out.push_str("\n## Files\n\n`files.f` for Verilator and others, a FuseSoC core file, `vivado.tcl`, `quartus.tcl`; `driver/`: registers for C and Rust, a driver in C++. \
         `shell/` has starting points for an XRT kernel and an OPAE unit: ports and names as these shells want them, to be finished for a board. \
         The self-checking bench is `arrowsmith rtl simulate`: it compiles this very circuit, runs a file through it and compares with software.\n");
    out
}

fn predictions(layout: &Layout) -> String {
    let mut out = String::new();
    let behind =
        layout.rows.iter().filter_map(|row| row.slot.map(|slot| (row.path.as_str(), slot)));
    for (path, slot) in layout.first_slot.map(|slot| ("the begin", slot)).into_iter().chain(behind)
    {
        let slot = &layout.slots[slot];
        let text = String::from_utf8_lossy(&slot.text).replace('\n', "\\n").replace('|', "\\|");
        let _ = writeln!(out, "| {path} | `{text}` | {} |", layout.rows[slot.next].path);
    }
    out
}

fn fusesoc(design: &Design, name: &str, paths: &[&str]) -> String {
    format!(
        "CAPI=2:\n# SPDX-License-Identifier: Apache-2.0\nname: arrowsmith:json:{name}:0.1.0\ndescription: JSON records of {name} to Arrow buffers\n\n\
         filesets:\n  rtl:\n    file_type: systemVerilogSource\n    files:\n{}\ntargets:\n  default: &default\n    filesets: [rtl]\n    toplevel: {}\n  \
         lint:\n    <<: *default\n    default_tool: verilator\n    tools:\n      verilator:\n        mode: lint-only\n",
        lines(paths, "      - ", ""),
        design.top
    )
}

fn vivado(design: &Design, paths: &[&str]) -> String {
    format!(
        "# SPDX-License-Identifier: Apache-2.0\n# vivado -mode batch -source vivado.tcl -tclargs PART: synthesis out of context at 200 MHz.\n\
         set part [expr {{$argc > 0 ? [lindex $argv 0] : \"xcvu37p-fsvh2892-2L-e\"}}]\n{}\
         synth_design -top {} -part $part -mode out_of_context\ncreate_clock -period 5.0 [get_ports clk_i]\n\
         report_utilization -file utilization.txt\nreport_timing_summary -file timing.txt\n",
        lines(paths, "read_verilog -sv ", ""),
        design.top
    )
}

fn quartus(design: &Design, paths: &[&str]) -> String {
    format!(
        "# SPDX-License-Identifier: Apache-2.0\n# quartus_sh -t quartus.tcl: a project for an Arria 10; then quartus_map.\n\
         project_new {top} -overwrite\nset_global_assignment -name DEVICE 10AX115N2F40E2LG\nset_global_assignment -name TOP_LEVEL_ENTITY {top}\n{}project_close\n",
        lines(paths, "set_global_assignment -name SYSTEMVERILOG_FILE ", ""),
        top = design.top
    )
}

fn c_header(design: &Design, name: &str) -> String {
    let upper = name.to_uppercase();
    let mut out = format!(
        "/* SPDX-License-Identifier: Apache-2.0\n * Generated by arrowsmith; changes are lost. Registers of {}, by byte address. */\n\
         #ifndef {upper}_REGISTERS_H\n#define {upper}_REGISTERS_H\n\n#define {upper}_HASH 0x{:016x}ull\n",
        design.top, design.hash
    );
    for (address, register, _, what) in REGISTERS {
        let _ = writeln!(out, "#define {upper}_{register} 0x{address:04x} /* {what} */");
    }
    out.push_str("\n#endif\n");
    out
}

fn rust_constants(design: &Design, name: &str) -> String {
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0\n//! Generated by arrowsmith; changes are lost. Registers of `{name}`, by byte address.\n\n\
         /// What `SCHEMA_HASH` holds.\npub const HASH: u64 = 0x{:016x};\n",
        design.hash
    );
    for (address, register, _, what) in REGISTERS {
        let _ = writeln!(out, "/// {what}.\npub const {register}: u32 = 0x{address:04x};");
    }
    out
}

/// A wrapper with the names of a shell, to be finished for a board.
fn shell(design: &Design, name: &str, shell: &str, control: &str, memory: &str) -> String {
    let lower = shell.to_lowercase();
    let bits = design.shape.beat_bytes() * 8;
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0\n// Generated by arrowsmith as a starting point for {shell}: the circuit under the names of that shell.\n\
         // To be done for a board: clock and reset of the shell, its AXI sidebands (ids, cache, protection: constants), width of its memory port.\n\
         module {name}_{lower} (\n    input logic ap_clk,\n    input logic ap_rst_n"
    );
    let mut wires = String::new();
    for (prefix, theirs, ports) in [
        (
            "ctl",
            control,
            "aw_valid:i:1 aw_ready:o:1 aw_addr:i:16 w_valid:i:1 w_ready:o:1 w_data:i:32 b_valid:o:1 b_ready:i:1 b_resp:o:2 \
             ar_valid:i:1 ar_ready:o:1 ar_addr:i:16 r_valid:o:1 r_ready:i:1 r_data:o:32 r_resp:o:2",
        ),
        (
            "mem",
            memory,
            "ar_valid:o:1 ar_ready:i:1 ar_addr:o:64 ar_len:o:8 r_valid:i:1 r_ready:o:1 r_data:i:D r_resp:i:2 aw_valid:o:1 aw_ready:i:1 \
             aw_addr:o:64 aw_len:o:8 w_valid:o:1 w_ready:i:1 w_data:o:D w_strb:o:S w_last:o:1 b_valid:i:1 b_ready:o:1 b_resp:i:2",
        ),
    ] {
        for port in ports.split_whitespace() {
            let mut parts = port.split(':');
            let (ours, way, width) = (
                parts.next().unwrap_or(""),
                parts.next().unwrap_or(""),
                parts.next().unwrap_or(""),
            );
            let bits = match width {
                "D" => bits,
                "S" => bits / 8,
                number => number.parse().unwrap_or(1),
            };
            let direction = if way == "i" { "input" } else { "output" };
            let range = if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
            let shown = format!("{theirs}_{}", ours.replace('_', ""));
            let _ = write!(out, ",\n    {direction:<6} logic {range}{shown}");
            let _ = write!(wires, ",\n      .{prefix}_{ours}_{way}({shown})");
        }
    }
    let _ = write!(
        out,
        "\n);\n\n  {} i_circuit (\n      .clk_i(ap_clk),\n      .rst_ni(ap_rst_n){wires}\n  );\n\nendmodule\n",
        design.top
    );
    out
}

/// The stages from left to right, below them what the route knows of the schema, on the right a line a buffer.
fn diagram(design: &Design, name: &str) -> String {
    let rows = &design.layout.rows;
    let shape = design.shape;
    let buffers = buffers(&design.layout);
    let height = 190 + 18 * rows.len().max(buffers.len());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <!-- SPDX-License-Identifier: Apache-2.0 -->\n<rect width=\"1000\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"20\" y=\"24\" font-size=\"16\">{name}: {} × {} bytes a cycle</text>\n",
        shape.parsers, shape.width
    );
    let stages = [
        ("fetch", format!("{} B beats", shape.beat_bytes())),
        ("scan", format!("{} bytes", shape.width)),
        ("match", format!("{} texts", design.layout.slots.len() + design.layout.keys.len())),
        ("route", format!("{} nodes", rows.len())),
        ("convert", format!("{} lanes", shape.lanes())),
        ("pack", format!("{} buffers", buffers.len())),
        ("store", "AXI4".to_owned()),
    ];
    for (number, (stage, what)) in stages.iter().enumerate() {
        let x = 20 + 140 * number;
        let _ = write!(
            out,
            "<rect x=\"{x}\" y=\"50\" width=\"110\" height=\"50\" rx=\"6\" fill=\"#e8eef8\" stroke=\"#456\"/>\n\
             <text x=\"{}\" y=\"72\" text-anchor=\"middle\" font-weight=\"bold\">{stage}</text>\n\
             <text x=\"{}\" y=\"90\" text-anchor=\"middle\">{what}</text>\n",
            x + 55,
            x + 55
        );
        if number + 1 < stages.len() {
            let _ = writeln!(
                out,
                "<path d=\"M{} 75 h22 m-6 -5 l6 5 l-6 5\" stroke=\"#456\" fill=\"none\"/>",
                x + 112
            );
        }
    }
    out.push_str("<text x=\"20\" y=\"140\" font-weight=\"bold\">the plan</text>\n<text x=\"560\" y=\"140\" font-weight=\"bold\">buffers</text>\n");
    for (number, row) in rows.iter().enumerate() {
        let shown = if row.path.is_empty() { "record" } else { &row.path };
        let text =
            format!("{shown}: {}{}", row_kind(row), if row.nullable { ", nullable" } else { "" });
        let x = 20 + 16 * depth(rows, number);
        let _ =
            writeln!(out, "<text x=\"{x}\" y=\"{}\">{}</text>", 162 + 18 * number, escape(&text));
    }
    for (number, what) in buffers.iter().enumerate() {
        let text = format!("{number}  {}", what.replace('`', ""));
        let _ =
            writeln!(out, "<text x=\"560\" y=\"{}\">{}</text>", 162 + 18 * number, escape(&text));
    }
    out.push_str("</svg>\n");
    out
}

fn depth(rows: &[Row], mut node: usize) -> usize {
    let mut depth = 0;
    while node != 0 {
        node = rows[node].parent;
        depth += 1;
    }
    depth
}

fn row_kind(row: &Row) -> String {
    match row.kind {
        Kind::Struct => "object".to_owned(),
        Kind::List if row.bulk => "list, several items a cycle".to_owned(),
        Kind::List => "list".to_owned(),
        Kind::Fixed(len) => format!("list of {len}"),
        Kind::Int(signed, bits) => format!("{}int{bits}", if signed { "" } else { "u" }),
        Kind::Float(bits) => format!("float{bits}"),
        Kind::Decimal(..) | Kind::Time(_) => row.data_type.to_string(),
        Kind::Bool => "boolean".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::Null => "null".to_owned(),
    }
}

fn escape(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { '.' } else { c }).collect::<String>();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
