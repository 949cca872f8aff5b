// SPDX-License-Identifier: Apache-2.0
//! The JSON parser: a plan → a circuit for its records, one a line.
//!
//! The library's modules are the parser; what is generated is what the plan knows: the texts that are predicted and the keys
//! (`matcher`), a table of nodes (`map`), and the wires of parser and top.

mod bench;
mod kind;
mod layout;
mod map;
mod matcher;
mod project;
mod wires;
mod writers;

use arrowsmith_core::{Error, Result};
use arrowsmith_plan::Plan;

use crate::registers::{self, BUFFERS_MAX, RegisterMap};

pub use kind::{Kind, TimeForm, is_outer};
pub use layout::{Layout, Row, Slot};
use project::buffers as buffers_of_parser;
pub use project::project;
use writers::Choice;
pub use writers::Writers;

/// What a circuit is made like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes a cycle that a parser takes: 8, 16, 32 or 64.
    pub width: usize,
    /// Parsers side by side.
    pub parsers: usize,
    /// AXI4 ports to memory, which the parsers share evenly.
    pub ports: usize,
    /// Cycles of a read from memory that parsers read ahead for: latency times bandwidth is what their queues hold.
    pub read_ahead: usize,
    /// Whether the parsers of a port share a set of writers.
    pub writers: Writers,
}

impl Default for Shape {
    fn default() -> Self {
        Self { width: 8, parsers: 1, ports: 1, read_ahead: 64, writers: Writers::Auto }
    }
}

impl Shape {
    /// Bytes of a beat of memory.
    pub fn beat_bytes(&self) -> usize {
        self.width * 2
    }

    /// Beats that a parser's queue of text holds: what comes in while a read is on its way, and a segment that waits for room
    /// before and behind it (16 beats, as `as_json_fetch` has it).
    pub fn queue_beats(&self) -> usize {
        let flight = (self.read_ahead * self.width).div_ceil(self.beat_bytes());
        (flight + 2 * SEGMENT_BEATS).next_power_of_two()
    }

    /// Parsers that share a port.
    fn parsers_at_port(&self) -> usize {
        self.parsers / self.ports
    }

    /// Bytes that a parser may make of what lies behind the end of its text, before it is known that the last record is bad: buffers of strings need room for them.
    pub fn overrun_bytes(&self) -> usize {
        self.width * OVERRUN_CYCLES
    }

    /// Integers of a list that a step takes, at most.
    pub fn lanes(&self) -> usize {
        (self.width / 4).max(2)
    }
}

/// More than a step of `as_json_convert` takes, and the queue behind it.
const OVERRUN_CYCLES: usize = 32;
/// Beats that `as_json_fetch` asks for at once.
const SEGMENT_BEATS: usize = 16;
/// Ports to memory, at most: as many as memory in an FPGA's package has (HBM of UltraScale+).
const PORTS_MAX: usize = 32;
/// Cycles that can be read ahead, at most: as far as the queues are worth their area.
const READ_AHEAD_MAX: usize = 4096;

/// A generated circuit.
#[derive(Debug, Clone)]
pub struct Design {
    /// The top module.
    pub top: String,
    /// The module of a parser.
    pub parser: String,
    /// Generated files: name and text, users behind what they use.
    pub files: Vec<(String, String)>,
    /// What the circuit decodes and where it puts it.
    pub layout: Layout,
    /// Its width and number of parsers.
    pub shape: Shape,
    /// Who shares writers, and why.
    choice: Choice,
    /// Its registers.
    pub registers: RegisterMap,
    /// The number that the circuit answers with when it is asked what it is.
    pub hash: u64,
}

/// Bytes of text before the end of a scalar that the converters see.
pub const WINDOW_BYTES: usize = 32;

/// Generates the circuit of a plan.
///
/// # Errors
/// [`Error::Schema`] names the first field that the circuit cannot decode, [`Error::Config`] a width or number of parsers or ports
/// that there is not.
pub fn generate(plan: &Plan, name: &str, shape: Shape) -> Result<Design> {
    if ![8, 16, 32, 64].contains(&shape.width) {
        return Err(Error::Config(format!("width {}: there are 8, 16, 32 and 64", shape.width)));
    }
    let layout = Layout::new(plan)?;
    let buffers = layout.buffers(shape);
    let (parsers, ports) = (shape.parsers, shape.ports);
    if ports == 0 || ports > PORTS_MAX || parsers % ports != 0 {
        return Err(Error::Config(format!(
            "{ports} ports of {parsers} parsers: there can be 1 to {PORTS_MAX}, each with as many parsers"
        )));
    }
    if parsers == 0 || parsers > 64 || buffers / ports > 256 || buffers > BUFFERS_MAX {
        return Err(Error::Config(format!(
            "{parsers} parsers: there can be 1 to 64, and {BUFFERS_MAX} buffers in all, 256 at a port, not {buffers}"
        )));
    }
    if shape.read_ahead > READ_AHEAD_MAX {
        return Err(Error::Config(format!(
            "{} cycles to read ahead: at most {READ_AHEAD_MAX}",
            shape.read_ahead
        )));
    }
    let name = identifier(name);
    let choice = Choice::new(&layout, shape);
    let registers = RegisterMap::json(&registers::Shape {
        name: name.clone(),
        schema_hash: plan.hash(),
        units: u8::try_from(parsers).unwrap_or(u8::MAX),
        beat_bytes: u8::try_from(shape.beat_bytes()).unwrap_or(u8::MAX),
        format: 1,
        inputs: (0..parsers).map(|parser| format!("text of parser {parser}")).collect(),
        buffers: buffer_names(&layout, shape),
    });
    let files = vec![
        (format!("{name}_match.sv"), matcher::text(&layout, &name, shape)),
        (format!("{name}_map.sv"), map::text(&layout, &name)),
        (format!("{name}_parser.sv"), wires::parser(&layout, &name, shape)),
        (format!("{name}_regs.sv"), registers.systemverilog()),
        (format!("{name}_top.sv"), wires::top(&layout, &name, shape, choice, &registers)),
    ];
    let (top, parser) = (format!("{name}_top"), format!("{name}_parser"));
    Ok(Design { top, parser, files, layout, shape, choice, registers, hash: plan.hash() })
}

/// What each buffer of a circuit is, parser by parser. Of no columns there is one all the same, for nothing.
fn buffer_names(layout: &Layout, shape: Shape) -> Vec<String> {
    let of_one = buffers_of_parser(layout);
    let named = (0..shape.parsers)
        .flat_map(|parser| of_one.iter().map(move |what| format!("parser {parser}, {what}")));
    let mut named: Vec<String> = named.collect();
    named.resize(layout.buffers(shape), "nothing".to_owned());
    named
}

/// A name that SystemVerilog takes.
fn identifier(name: &str) -> String {
    let mut out: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert_str(0, "s_");
    }
    out
}

/// A text as a comment may hold it.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '.' } else { c }).collect()
}

#[cfg(test)]
mod tests;
