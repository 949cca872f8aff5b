// SPDX-License-Identifier: Apache-2.0
//! Class layout → circuit: the deserializer of MSR-TR-2009-126, Sect. 5.3, generated as its Sect. 7
//! outlines.
//!
//! `plan` cuts every class into steps, the unit of work of `as_graph_fill`; `map` writes them as
//! the *map*, a combinational module, and the top that wires it to `as_graph_device`.
//! docs/design/0004-object-graphs.md defines what the circuit accepts, makes and refuses. Strings
//! and containers are refused here, by name.

mod map;
mod plan;
mod top;

#[cfg(test)]
mod tests;

use arrowsmith_graph::Layout;

use crate::without_implicit_nets;

pub use plan::{Check, Class, Piece, Plan, Read};

/// The width and the capacity of a circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Prefix of the generated modules, a SystemVerilog identifier.
    pub name: String,
    /// Bytes of a memory beat, and maximum bytes of a step: 16, 32 or 64. If absent, as many as
    /// make the largest class a single step, so that one object per cycle is made.
    pub beat_bytes: Option<u32>,
    /// Maximum number of objects in a message: a power of two from 64 to 65,536. Their table is in
    /// block RAM.
    pub objects_max: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { name: "objects".into(), beat_bytes: None, objects_max: 1024 }
    }
}

/// A class or an option that the hardware does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Refusal {
    /// `Class::member`, a class, or the option.
    pub path: String,
    /// The reason, in one sentence.
    pub reason: String,
}

impl Refusal {
    fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }
}

/// A generated circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// The top module; its ports are those of `as_graph_device` without the map.
    pub top: String,
    /// The decisions of the plan: widths, steps.
    pub plan: Plan,
    /// Name and text of the generated files, dependencies first. [`crate::library::with_library`]
    /// adds what they use.
    pub files: Vec<(String, String)>,
}

/// Generates the circuit for a layout.
///
/// # Errors
///
/// Strings, containers, and members whose order in memory differs from the wire order by more than a
/// step; options out of range.
pub fn generate(layout: &Layout, options: &Options) -> Result<Design, Refusal> {
    let plan = Plan::new(layout, options)?;
    let top = format!("{}_top", options.name);
    let files = [
        (format!("{}_map.sv", options.name), map::text(&plan, layout, &options.name)),
        (format!("{top}.sv"), top::text(&plan, layout, &options.name)),
    ];
    let files = files.map(|(path, text)| (path, without_implicit_nets(&text))).into();
    Ok(Design { top, plan, files })
}
