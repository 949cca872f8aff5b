// SPDX-License-Identifier: Apache-2.0
//! The generated circuit: cycles by simulation, resources by synthesis.
//!
//! The circuit itself counts the cycles; times at the paper's 125 MHz are derived from them.
//! Resources are those after technology mapping for the paper's FPGA family; the design is not
//! placed or routed here.

use arrowsmith_engine_rtl::graph::Request;
use arrowsmith_engine_rtl::{MemoryProfile, Verilator};
use arrowsmith_graph::Layout;
use arrowsmith_rtlgen::graph::{Design, Options as Widths, generate};
use arrowsmith_rtlgen::library::with_library;
use serde::{Deserialize, Serialize};

use super::{Options, Report};
use crate::rtl::synthesis::{Sources, Tools};
use crate::stats::float;

/// The paper's classes in the paper's word size.
const LAYOUT: &str = include_str!("../../embedded/expression/layout-i386.json");

/// The circuit at one size of the tree.
#[derive(Debug, Clone, Serialize)]
pub struct Cycles {
    /// Operations of the tree.
    pub operations: u32,
    /// Bytes of the message.
    pub message_bytes: u32,
    /// Bytes of the objects.
    pub object_bytes: u32,
    /// Cycles of one message, from accepting it to the response of the last write, its bytes
    /// already fetched.
    pub cycles: u32,
    /// Cycles per message of many submitted back to back, including register accesses.
    pub cycles_back_to_back: f64,
}

/// The resources of the circuit on an FPGA.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resources {
    /// Yosys's name of the family: `xc5v` is the paper's Virtex-5.
    pub family: String,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Look-up tables used as logic.
    pub luts: u64,
    /// Primitives of look-up tables used as memory.
    pub lutram: u64,
    /// Block RAMs, of 18 or 36 Kbit.
    pub block_ram: u64,
    /// Multipliers.
    pub dsp: u64,
}

/// Simulates and synthesizes the circuit, if the tools are installed.
pub(super) fn measure(options: &Options, report: &mut Report, progress: &mut dyn FnMut(&str)) {
    let design = Layout::from_json(LAYOUT).map_err(|error| error.to_string()).and_then(|layout| {
        let design = generate(&layout, &Widths::default()).map_err(|error| error.to_string())?;
        Ok((layout, design))
    });
    let (layout, design) = match design {
        Ok(both) => both,
        Err(reason) => return report.missing("circuit", "", reason),
    };
    progress("simulating the circuit");
    match simulate(options, &layout, &design) {
        Ok(cycles) => report.extra.cycles = cycles,
        Err(reason) => report.missing("circuit, cycles", "", reason),
    }
    progress("synthesizing the circuit");
    match synthesize(&design) {
        Ok(resources) => report.extra.resources = resources,
        Err(reason) => report.missing("circuit, resources", "", reason),
    }
}

/// The message of the tree of Fig. 18, as `message` in codec.hpp makes it.
pub(super) fn message(operations: u32) -> Vec<u8> {
    let mut bytes = (2 * operations + 1).to_le_bytes().to_vec();
    for object in 0..=2 * operations {
        let is_operation = object % 2 == 0 && object < 2 * operations;
        bytes.extend(u32::from(is_operation).to_le_bytes());
    }
    for operation in 0..operations {
        bytes.extend((2 * operation + 1).to_le_bytes());
        bytes.extend((2 * operation + 2).to_le_bytes());
        bytes.push(u8::from(operation % 2 == 1));
        bytes.extend((operation * 7 + 1).to_le_bytes());
    }
    bytes.extend((operations * 7 + 1).to_le_bytes());
    bytes
}

fn simulate(options: &Options, layout: &Layout, design: &Design) -> Result<Vec<Cycles>, String> {
    /// Messages submitted back to back.
    const BACK_TO_BACK: u32 = 64;
    let say = |error: arrowsmith_engine_rtl::RtlError| error.to_string();
    let circuit = Verilator::find().and_then(|found| found.circuit(design, layout)).map_err(say)?;
    let vtables: Vec<u64> = (1..=layout.slots() as u64).map(|slot| slot * 0x1000).collect();
    let mut session = circuit.start(&vtables, &MemoryProfile::IDEAL).map_err(say)?;
    options
        .operations
        .iter()
        .map(|&operations| {
            let message = message(operations);
            let object_bytes = 16 * (2 * operations + 1);
            let requests: Vec<Request<'_>> = (0..u64::from(BACK_TO_BACK))
                .map(|index| Request {
                    message: &message,
                    header: false,
                    misalignment: 0,
                    region: 0x1000_0000 + index * 0x10_0000,
                    capacity: object_bytes,
                })
                .collect();
            let run = session.run(&requests).map_err(say)?;
            let answers = &run.answers;
            if let Some(error) = answers.iter().find_map(|answer| answer.region.as_ref().err()) {
                return Err(format!("the circuit refuses the tree of {operations}: {error}"));
            }
            Ok(Cycles {
                operations,
                message_bytes: u32::try_from(message.len()).unwrap_or(u32::MAX),
                object_bytes,
                cycles: answers.last().map_or(0, |answer| answer.cycles),
                cycles_back_to_back: float(run.cycles) / f64::from(BACK_TO_BACK),
            })
        })
        .collect()
}

fn synthesize(design: &Design) -> Result<Vec<Resources>, String> {
    /// A timeout: ten times the usual duration.
    const LIMIT_S: u64 = 600;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let tools = Tools { limit_s: LIMIT_S, cache: folder.path().to_owned() };
    let sources = Sources { top: design.top.clone(), files: with_library(&design.files) };
    ["xc5v", "xc7"].iter().map(|family| tools.resources(&sources, family)).collect()
}
