// SPDX-License-Identifier: Apache-2.0
//! The files that accompany a circuit: file lists and project files of tools, drivers, a README
//! with a diagram of this schema.

use std::fmt::Write as _;

use arrowsmith_core::{Error, Result};
use arrowsmith_plan::Plan;

use super::kind::{Kind, is_outer};
use super::layout::{Layout, Row, SLOT_BYTES_MAX};
use super::{Design, WINDOW_BYTES, bench};
use crate::library::with_library;
use crate::project::{Project, escape, memory_ports};
use crate::shell::{self, Circuit, Shell, Simulation};

/// Reasons to stop at a record.
pub(super) const FAULTS: [(u8, &str); 12] = [
    (16, "a byte that the grammar does not allow"),
    (17, "a value of a type that the field does not take"),
    (18, "a number that does not fit its field"),
    (19, "a field that is not nullable is null or missing"),
    (20, "a duplicate key"),
    (21, "a key that is not in the schema, if unknown keys are refused"),
    (22, "a fixed-size list of another length"),
    (23, "bytes in a string that JSON or UTF-8 does not allow; escapes in keys"),
    (24, "nested too deep"),
    (25, "a record that is too long"),
    (26, "a form of value that is left to the host"),
    (27, "a scalar longer than the text window"),
];

/// All files of a design: path below its folder, and text.
pub fn project(design: &Design, plan: &Plan) -> Vec<(String, String)> {
    files(design, plan, with_library(&design.files))
}

/// All files of a design for a board's shell: those of [`project`], with the wrapper, and those of
/// the shell.
///
/// # Errors
/// [`Error::Config`]: a name that the shell's tools do not take, more buffers than its runtime
/// passes, or a schema whose sample no circuit takes.
pub fn project_for(design: &Design, plan: &Plan, shell: Shell) -> Result<Vec<(String, String)>> {
    let sources = shell_sources(design, shell)?;
    let paths: Vec<String> = sources.iter().map(|(path, _)| path.clone()).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut out = files(design, plan, sources.clone());
    if !out.iter().any(|(path, _)| path == "bench/expected.txt") {
        return Err(Error::Config(
            "the schema has a field that the circuit never takes, so that there is no sample to try a board with"
                .to_owned(),
        ));
    }
    out.extend(shell::files(shell, &circuit(design), &paths)?);
    Ok(out)
}

/// The design in a shell, to be simulated.
///
/// # Errors
/// As [`project_for`].
pub fn simulation(design: &Design, shell: Shell) -> Result<Simulation> {
    shell::simulation(shell, &circuit(design), shell_sources(design, shell)?)
}

/// The sources of a design in a shell, dependencies first; the wrapper is the last one.
fn shell_sources(design: &Design, shell: Shell) -> Result<Vec<(String, String)>> {
    let mut generated = design.files.clone();
    generated.push(shell::wrapper(shell, &circuit(design))?);
    Ok(with_library(&generated))
}

/// The design as a shell sees it.
fn circuit(design: &Design) -> Circuit<'_> {
    Circuit {
        name: design.top.trim_end_matches("_top"),
        top: &design.top,
        driver: "json",
        registers: &design.registers,
        beat_bytes: design.shape.beat_bytes(),
        memory_ports: design.shape.ports,
        hash: design.hash,
        overrun_bytes: design.shape.overrun_bytes(),
        buffers_of_inputs: vec![
            design.layout.buffers(design.shape) / design.shape.parsers;
            design.shape.parsers
        ],
    }
}

fn files(design: &Design, plan: &Plan, sources: Vec<(String, String)>) -> Vec<(String, String)> {
    let name = design.top.trim_end_matches("_top");
    let described = Project {
        top: &design.top,
        name,
        format: "json",
        description: &format!("JSON records of {name} to Arrow buffers"),
        memory: &memory_ports(design.shape.beat_bytes() as u64),
        memory_ports: design.shape.ports,
        paths: sources.iter().map(|(path, _)| path.as_str()).collect(),
    };
    let bench = bench::files(design);
    let mut out = vec![
        ("README.md".to_owned(), readme(design, plan, name, !bench.is_empty())),
        ("diagram.svg".to_owned(), diagram(design, name)),
        ("registers.md".to_owned(), design.registers.markdown()),
        (format!("driver/{name}_registers.h"), design.registers.c_header()),
        (format!("driver/{name}_registers.rs"), design.registers.rust()),
        (
            "driver/as_json_driver.hpp".to_owned(),
            include_str!("../../cpp/as_json_driver.hpp").to_owned(),
        ),
        (
            "driver/as_json_registers.hpp".to_owned(),
            include_str!("../../cpp/as_json_registers.hpp").to_owned(),
        ),
    ];
    out.extend(described.files());
    out.extend(bench);
    out.extend(sources);
    out
}

/// Buffers of one parser, by number: the content of each.
pub(super) fn buffers(layout: &Layout) -> Vec<String> {
    let mut named = vec![String::new(); layout.counts.iter().sum()];
    let before = |class: usize| layout.counts[..class].iter().sum::<usize>();
    for row in &layout.rows {
        let path = if row.path.is_empty() { "the record" } else { &row.path };
        let outer = if is_outer(row.kind) { 3 } else { 2 };
        let text = row.kind == Kind::Text;
        for (class, number, what) in [
            (0, row.data, if text { "bytes" } else { "values" }),
            (1, row.offsets, "offsets, 32 bits, the first is 0"),
            (outer, row.validity, "validity, one bit each"),
            (4, row.flags, "values, one bit each"),
        ] {
            if let Some(number) = number {
                named[before(class) + number] = format!("`{path}`: {what}");
            }
        }
    }
    named
}

fn readme(design: &Design, plan: &Plan, name: &str, bench: bool) -> String {
    let shape = design.shape;
    let mut out = format!(
        "# {name}: JSON records to Arrow buffers\n\n\
         Generated by `arrowsmith rtl generate`; `{name}_top` is the top module. {} of {} bytes per cycle; {}memory beats of {} bytes; texts are read {} cycles ahead.\n\n\
         ![block diagram](diagram.svg)\n\n## The plan\n\n```\n{plan}```\n\n\
         Input is one record per line. Keys may come in any order, white space anywhere; keys that are not in the schema are skipped, and checked. \
         Records as a compact writer writes them, keys in the schema's order, are parsed by prediction, one step per value or per up to {} integers of a \
         list; others are parsed one token per cycle. Scalars of more than {WINDOW_BYTES} bytes are left to the host.\n\n",
        if shape.parsers == 1 {
            "One parser".to_owned()
        } else {
            format!("{} parsers", shape.parsers)
        },
        shape.width,
        match shape.ports {
            1 => String::new(),
            ports => format!("{ports} ports to memory, {} parsers each; ", shape.parsers / ports),
        },
        shape.beat_bytes(),
        shape.read_ahead,
        shape.lanes(),
    );
    if let Some(said) = design.choice.describe(shape) {
        let _ = write!(out, "{said}\n\n");
    }
    let keys = design.layout.keys_for_software();
    if !keys.is_empty() {
        let keys: Vec<String> =
            keys.iter().map(|key| format!("`{}`", key.escape_debug())).collect();
        let _ = write!(
            out,
            "The circuit does not find keys with escapes or of {SLOT_BYTES_MAX} bytes and more, so that records \
             with these are left to the host: {}.\n\n",
            keys.join(", ")
        );
    }
    let _ = write!(
        out,
        "## Use\n\n1. Check `identity`, `version` and `schema_hash`.\n2. Write `refuse_unknown`, `record_bytes_max` and `depth_max`, address and length of a text for each parser (whole records, the last one ended by a line \
         feed) and address and capacity of each buffer, at multiples of a beat. A buffer for the bytes of strings needs {} bytes more than the text has: this many may be written for \
         data past a truncated record, before that is detected.\n3. Write 1 to `control`, wait for bit 1 of `status`.\n4. A parser whose \
         fault code is 0 took all its records. Any other stopped at record number `rows` (from 0, blank lines not counted): the rows before are complete; \
         read that record with software, and start again after it.\n5. The number of rows gives the valid length of a buffer; the last offset gives the number of items or bytes.\n\n",
        shape.overrun_bytes()
    );
    out.push_str("## Registers\n\n[registers.md](registers.md) has all of them.\n");
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
        let _ = writeln!(out, "\nThe buffers of the next parser follow, from {per_parser}.");
    }
    let _ = write!(
        out,
        "\n## Predicted texts\n\n| after | text | leads to |\n|---|---|---|\n{}",
        predictions(&design.layout)
    );
    out.push_str("\n## Files\n\n`files.f` for Verilator and others, a FuseSoC core file, `vivado.tcl`, `quartus.tcl`; `driver/`: registers for C and Rust, a driver in C++. \
         `shell/` has a starting point for an OPAE unit, to be completed for a board; `arrowsmith rtl generate --shell` adds complete ones for XRT, PCIe and Zynq.");
    if bench {
        out.push_str(" `make -C bench` runs the self-checking bench: it compiles the circuit with Verilator, sends records of this schema through it and compares every \
             buffer, with and without stalls.");
    }
    out.push_str(" `arrowsmith rtl simulate` runs a file of yours through the circuit, and compares with software.\n");
    out
}

fn predictions(layout: &Layout) -> String {
    let mut out = String::new();
    let after = layout.rows.iter().filter_map(|row| row.slot.map(|slot| (row.path.as_str(), slot)));
    for (path, slot) in layout.first_slot.map(|slot| ("the start", slot)).into_iter().chain(after) {
        let slot = &layout.slots[slot];
        let text = String::from_utf8_lossy(&slot.text).replace('\n', "\\n").replace('|', "\\|");
        let _ = writeln!(out, "| {path} | `{text}` | {} |", layout.rows[slot.next].path);
    }
    out
}

/// The stages from left to right, the route's nodes below them, and the buffers on the right, one
/// per line.
fn diagram(design: &Design, name: &str) -> String {
    let rows = &design.layout.rows;
    let shape = design.shape;
    let buffers = buffers(&design.layout);
    let height = 190 + 18 * rows.len().max(buffers.len());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <!-- SPDX-License-Identifier: Apache-2.0 -->\n<rect width=\"1000\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"20\" y=\"24\" font-size=\"16\">{name}: {} × {} bytes per cycle</text>\n",
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
        Kind::List if row.bulk => "list, several items per cycle".to_owned(),
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
