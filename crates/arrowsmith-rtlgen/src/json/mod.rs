// SPDX-License-Identifier: Apache-2.0
//! The JSON parser: a plan → a circuit for its records, one per line.
//!
//! The parser is modules of the library; generated are the parts that depend on the plan: the
//! predicted texts and the keys (`matcher`), a table of nodes (`map`), and the wires of parser and
//! top.

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
use crate::without_implicit_nets;

pub use kind::{Kind, TimeForm, is_outer};
pub use layout::{Layout, Row, Slot};
use project::buffers as buffers_of_parser;
pub use project::{project, project_for, simulation};
use writers::Choice;
pub use writers::Writers;

/// The parameters of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes per cycle that a parser takes: 8, 16, 32 or 64.
    pub width: usize,
    /// Parsers side by side.
    pub parsers: usize,
    /// AXI4 ports to memory, which the parsers share evenly.
    pub ports: usize,
    /// Read latency of memory, in cycles, that the parsers' queues cover: latency times bandwidth
    /// is their size.
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

    /// Beats in a parser's text queue: those that arrive during a read's latency, plus a segment
    /// that waits for room before and after it (16 beats, as in `as_json_fetch`).
    pub fn queue_beats(&self) -> usize {
        let flight = (self.read_ahead * self.width).div_ceil(self.beat_bytes());
        (flight + 2 * SEGMENT_BEATS).next_power_of_two()
    }

    /// Parsers that share a port.
    fn parsers_at_port(&self) -> usize {
        self.parsers / self.ports
    }

    /// Bytes of strings that a parser may make from data past the end of its text, before the last
    /// record is found to be invalid: buffers of strings need room for them.
    pub fn overrun_bytes(&self) -> usize {
        self.width * OVERRUN_CYCLES
    }

    /// Maximum integers of a list that a step takes.
    pub fn lanes(&self) -> usize {
        (self.width / 4).max(2)
    }
}

/// More steps than `as_json_convert` and the queue after it hold.
const OVERRUN_CYCLES: usize = 32;
/// Beats that `as_json_fetch` requests at once.
const SEGMENT_BEATS: usize = 16;
/// Maximum number of memory ports: as many as in-package memory of an FPGA has (HBM of
/// UltraScale+).
const PORTS_MAX: usize = 32;
/// Maximum number of parsers.
const PARSERS_MAX: usize = 64;
/// Maximum cycles of read-ahead: beyond this the queues are not worth their area.
const READ_AHEAD_MAX: usize = 4096;

/// A generated circuit.
#[derive(Debug, Clone)]
pub struct Design {
    /// The top module.
    pub top: String,
    /// The module of a parser.
    pub parser: String,
    /// Generated files: name and text, dependencies first.
    pub files: Vec<(String, String)>,
    /// The fields it decodes and the buffers they go to.
    pub layout: Layout,
    /// Its width and number of parsers.
    pub shape: Shape,
    /// Which parsers share writers, and why.
    choice: Choice,
    /// Its registers.
    pub registers: RegisterMap,
    /// The value of the circuit's `schema_hash` register.
    pub hash: u64,
}

/// Bytes of text before the end of a scalar that the converters see.
pub const WINDOW_BYTES: usize = 32;

/// Generates the circuit of a plan.
///
/// # Errors
/// [`Error::Schema`] names the first field that the circuit cannot decode, [`Error::Config`] an
/// unsupported width, number of parsers or number of ports.
pub fn generate(plan: &Plan, name: &str, shape: Shape) -> Result<Design> {
    if ![8, 16, 32, 64].contains(&shape.width) {
        return Err(Error::Config(format!("width {}: there are 8, 16, 32 and 64", shape.width)));
    }
    let layout = Layout::new(plan)?;
    let (parsers, ports) = (shape.parsers, shape.ports);
    if ports == 0 || ports > PORTS_MAX || parsers % ports != 0 {
        return Err(Error::Config(format!(
            "{ports} ports of {parsers} parsers: there can be 1 to {PORTS_MAX}, each with as many parsers"
        )));
    }
    if parsers == 0 || parsers > PARSERS_MAX {
        return Err(Error::Config(format!("{parsers} parsers: there can be 1 to {PARSERS_MAX}")));
    }
    let buffers = layout.buffers(shape);
    if buffers / ports > 256 || buffers > BUFFERS_MAX {
        return Err(Error::Config(format!(
            "{parsers} parsers have {buffers} buffers: there can be {BUFFERS_MAX}, 256 at a port"
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
    let files = [
        (format!("{name}_match.sv"), matcher::text(&layout, &name, shape)),
        (format!("{name}_map.sv"), map::text(&layout, &name)),
        (format!("{name}_parser.sv"), wires::parser(&layout, &name, shape)),
        (format!("{name}_regs.sv"), registers.systemverilog()),
        (format!("{name}_top.sv"), wires::top(&layout, &name, shape, choice, &registers)),
    ];
    let files = files.map(|(path, text)| (path, without_implicit_nets(&text))).into();
    let (top, parser) = (format!("{name}_top"), format!("{name}_parser"));
    Ok(Design { top, parser, files, layout, shape, choice, registers, hash: plan.hash() })
}

/// The content of each buffer of a circuit, parser by parser. A circuit without columns has one
/// unused buffer.
fn buffer_names(layout: &Layout, shape: Shape) -> Vec<String> {
    let of_one = buffers_of_parser(layout);
    let named = (0..shape.parsers)
        .flat_map(|parser| of_one.iter().map(move |what| format!("parser {parser}, {what}")));
    let mut named: Vec<String> = named.collect();
    named.resize(layout.buffers(shape), "nothing".to_owned());
    named
}

/// A valid SystemVerilog identifier.
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

/// A text made safe for a line comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '.' } else { c }).collect()
}

#[cfg(test)]
mod tests;
