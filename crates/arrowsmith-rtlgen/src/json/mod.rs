// SPDX-License-Identifier: Apache-2.0
//! The JSON parser: a plan → a circuit for its records, one a line.
//!
//! The library's modules are the parser; what is generated is what the plan knows: the texts that are predicted and the keys
//! (`matcher`), a table of nodes (`map`), and the wires of parser and top.

mod kind;
mod layout;
mod map;
mod matcher;
mod project;
mod wires;

use arrowsmith_core::{Error, Result};
use arrowsmith_plan::Plan;

pub use kind::{Kind, TimeForm, is_outer};
pub use layout::{Layout, Row, Slot};
pub use project::project;

/// What a circuit is made like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes a cycle that a parser takes: 8, 16, 32 or 64.
    pub width: usize,
    /// Parsers that share the way to memory.
    pub parsers: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { width: 8, parsers: 1 }
    }
}

impl Shape {
    /// Bytes of a beat of memory.
    pub fn beat_bytes(&self) -> usize {
        self.width * 2
    }

    /// Integers of a list that a step takes, at most.
    pub fn lanes(&self) -> usize {
        (self.width / 4).max(2)
    }
}

/// A generated circuit.
#[derive(Debug, Clone)]
pub struct Design {
    /// The top module.
    pub top: String,
    /// Generated files: name and text, users behind what they use.
    pub files: Vec<(String, String)>,
    /// What the circuit decodes and where it puts it.
    pub layout: Layout,
    /// Its width and number of parsers.
    pub shape: Shape,
    /// The number that the circuit answers with when it is asked what it is.
    pub hash: u64,
}

/// Bytes of text before the end of a scalar that the converters see.
pub const WINDOW_BYTES: usize = 32;

/// Generates the circuit of a plan.
///
/// # Errors
/// [`Error::Schema`] names the first field that the circuit cannot decode, [`Error::Config`] a width or number of parsers
/// that there is not.
pub fn generate(plan: &Plan, name: &str, shape: Shape) -> Result<Design> {
    if ![8, 16, 32, 64].contains(&shape.width) {
        return Err(Error::Config(format!("width {}: there are 8, 16, 32 and 64", shape.width)));
    }
    let layout = Layout::new(plan)?;
    let buffers = layout.counts.iter().sum::<usize>() * shape.parsers;
    if shape.parsers == 0 || shape.parsers > 64 || buffers > 256 {
        return Err(Error::Config(format!(
            "{} parsers: there can be 1 to 64, and 256 buffers in all, not {buffers}",
            shape.parsers
        )));
    }
    let name = identifier(name);
    let files = vec![
        (format!("{name}_match.sv"), matcher::text(&layout, &name, shape)),
        (format!("{name}_map.sv"), map::text(&layout, &name)),
        (format!("{name}_parser.sv"), wires::parser(&layout, &name, shape)),
        (format!("{name}_top.sv"), wires::top(&layout, &name, shape, plan.hash())),
    ];
    Ok(Design { top: format!("{name}_top"), files, layout, shape, hash: plan.hash() })
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
