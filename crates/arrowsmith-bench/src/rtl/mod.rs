// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith rtl report`: the FPGA resources and the speed of generated circuits, next to the
//! papers' tables.
//!
//! Measured here: cycles, by simulation in which every value is compared with the engine `cpu`, on
//! an ideal memory and behind models of the papers' interfaces; cells, by synthesis; optionally a
//! clock, by place and route on an FPGA that open tools support. All other figures are derived from
//! those by [`model`] and marked so. Tests never run it with the tools: they take minutes.

mod circuits;
pub mod model;
mod page;
pub(crate) mod synthesis;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::Schema;
use arrowsmith_engine_rtl::{Interface, MemoryProfile};
use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::{Shape, Writers};
use arrowsmith_workload::Workload;
use serde::Serialize;

use crate::result;
use circuits::{ColumnCase, json_sources, run_json};
use synthesis::{Sources, Tools};

pub use model::Run;
pub use page::html;
pub use synthesis::{Harness, LongestPath, Module, Placed, PlacedPath, Resources};

/// The clocks of the papers, in MHz: JSON, Parquet.
pub const CLOCKS: [u32; 2] = [200, 250];

/// Options of the report.
#[derive(Debug, Clone)]
pub struct Options {
    /// Schemas of JSON, by name; one with a workload's name is simulated with its records.
    pub schemas: Vec<(String, Arc<Schema>)>,
    /// Bytes per cycle of the JSON parsers.
    pub widths: Vec<usize>,
    /// Whether Parquet's converters are included.
    pub parquet: bool,
    /// Whether circuits are run behind interfaces.
    pub end_to_end: bool,
    /// Whether circuits are placed and routed.
    pub place: bool,
    /// Bytes of JSON of a run.
    pub bytes: usize,
    /// Timeout of one run of a tool, in seconds.
    pub limit_s: u64,
    /// The folder of tool results.
    pub cache: PathBuf,
}

impl Options {
    /// The papers' schemas in all widths, and everything else.
    #[must_use]
    pub fn new(cache: PathBuf) -> Self {
        let workloads = [Workload::Battery, Workload::BatteryU64, Workload::Trip];
        let named = |workload: Workload| (workload.name().to_owned(), Arc::new(workload.schema()));
        Self {
            schemas: workloads.map(named).into(),
            widths: vec![8, 16, 32, 64],
            parquet: true,
            end_to_end: true,
            place: false,
            bytes: 400 << 10,
            limit_s: 900,
            cache,
        }
    }
}

/// The results of a run; it has no rows of times.
pub type Report = result::Report<Extra>;

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extra {
    /// Every circuit.
    pub circuits: Vec<Circuit>,
    /// Circuits behind interfaces.
    pub end_to_end: Vec<EndToEnd>,
}

/// A circuit, and its measurements.
#[derive(Debug, Clone, Serialize)]
pub struct Circuit {
    /// Its schema, or its column.
    pub name: String,
    /// `json` or `parquet`.
    pub format: &'static str,
    /// Maximum bytes that it takes per cycle.
    pub width: usize,
    /// A run on an ideal memory.
    pub run: Option<Run>,
    /// The synthesized parts.
    pub parts: Vec<Part>,
    /// The resources of its modules, each separately, UltraScale+.
    pub modules: Vec<Module>,
    /// Placed and routed: for JSON the parser, for Parquet the device.
    pub placed: Option<Placed>,
}

/// A part of a circuit on a family of FPGAs.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// `parser`: one parser, up to its writers; `device`: all of it, with writers, memory and
    /// registers.
    pub part: &'static str,
    /// Yosys's name of the family.
    pub family: &'static str,
    /// Its resources.
    #[serde(flatten)]
    pub resources: Resources,
}

/// Several parsers of one circuit behind an interface, simulated as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct EndToEnd {
    /// The workload.
    pub name: String,
    /// Bytes per cycle of a parser.
    pub width: usize,
    /// Parsers that share the memory interface.
    pub parsers: usize,
    /// Memory ports, which the parsers share evenly.
    pub ports: usize,
    /// Read latency in cycles that the parsers' queues cover.
    pub read_ahead: usize,
    /// The interface.
    pub interface: &'static str,
    /// The clock in MHz.
    pub megahertz: u32,
    /// The run.
    pub run: Run,
    /// GB of JSON per second, from the run's cycles at that clock.
    pub gb_per_s: f64,
    /// GB per second of the interface, each way.
    pub limit_gb_per_s: f64,
}

impl Circuit {
    fn new(name: &str, format: &'static str, width: usize) -> Self {
        let (run, parts, modules, placed) = (None, Vec::new(), Vec::new(), None);
        Self { name: name.to_owned(), format, width, run, parts, modules, placed }
    }

    /// A part on a family.
    #[must_use]
    pub fn part(&self, part: &str, family: &str) -> Option<&Resources> {
        let found = self.parts.iter().find(|found| found.part == part && found.family == family);
        found.map(|found| &found.resources)
    }

    /// GB per second at a clock: of JSON read, of Arrow written.
    #[must_use]
    pub fn gb_per_s(&self, megahertz: u32) -> Option<f64> {
        let per_cycle = match self.format {
            "json" => self.run?.input_per_cycle(),
            _ => self.run?.output_per_cycle(),
        };
        Some(per_cycle * f64::from(megahertz) / 1e3)
    }
}

/// The JSON workload that is run behind interfaces.
const END_TO_END: [Workload; 3] = [Workload::BatteryU64, Workload::Battery, Workload::Trip];
/// The circuit that is run behind them: parsers that close the papers' clock, as many as fit half
/// of a VU37P, with read-ahead for the slowest of the interfaces.
const INTERFACE_SHAPE: Shape =
    Shape { width: 8, parsers: 56, ports: 28, read_ahead: 160, writers: Writers::Auto };

/// Makes the report; `progress` gets the step in progress.
#[must_use]
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Report {
    let mut report: Report = result::Report::start("rtl", None, Extra::default());
    let mut maker = Maker {
        tools: Tools { limit_s: options.limit_s, cache: options.cache.clone() },
        report: &mut report,
        progress,
    };
    let mut cases = Vec::new();
    for &width in &options.widths {
        cases.extend(
            options.schemas.iter().filter_map(|(name, schema)| maker.json(name, schema, width)),
        );
    }
    if options.parquet {
        cases.extend(ColumnCase::ALL.into_iter().filter_map(|case| maker.parquet(case)));
    }
    // The most informative steps come first, for readers of an unfinished report.
    cases.iter_mut().for_each(|case| maker.cycles(case, options.bytes));
    cases.iter_mut().for_each(|case| maker.part(case, "device", "xcup"));
    cases.iter_mut().for_each(|case| maker.modules(case));
    cases.iter_mut().for_each(|case| maker.part(case, "parser", "xcup"));
    cases.iter_mut().for_each(|case| maker.part(case, "device", "xc7"));
    if options.place {
        cases.iter_mut().for_each(|case| maker.place(case));
    }
    maker.report.extra.circuits = cases.into_iter().map(|case| case.circuit).collect();
    if options.end_to_end {
        for workload in END_TO_END {
            let named = options.schemas.iter().any(|(name, _)| name == workload.name());
            if named && options.widths.contains(&INTERFACE_SHAPE.width) {
                maker.end_to_end(workload, options.bytes * INTERFACE_SHAPE.parsers);
            }
        }
    }
    report.missing("resources", "Arria 10 GX", "no open tool synthesizes for it");
    let clock = "clock after placing and routing on";
    let (theirs, other) =
        (format!("{clock} the papers' families"), format!("{clock} another family"));
    report.missing(&theirs, "every circuit", "no open tool places on them");
    if !options.place {
        report.missing(&other, "every circuit", "takes long; --place enables it");
    }
    report
}

/// A circuit with its sources.
struct Case {
    of: String,
    circuit: Circuit,
    column: Option<ColumnCase>,
    parser: Option<Sources>,
    device: Sources,
}

struct Maker<'a> {
    tools: Tools,
    report: &'a mut Report,
    progress: &'a mut dyn FnMut(&str),
}

impl Maker<'_> {
    /// The result of a step; its error goes to the report.
    fn note<T>(
        &mut self,
        of: &str,
        what: &str,
        step: impl FnOnce(&Tools) -> Result<T, String>,
    ) -> Option<T> {
        (self.progress)(&format!("{of}: {what}"));
        step(&self.tools).map_err(|reason| self.report.missing(what, of, reason)).ok()
    }

    fn json(&mut self, name: &str, schema: &Arc<Schema>, width: usize) -> Option<Case> {
        let of = format!("{name}, {width} bytes");
        let sources = self.note(&of, "circuit", |_| {
            let plan = Plan::new(Arc::clone(schema)).map_err(|error| error.to_string())?;
            json_sources(&plan, Shape { width, ..Shape::default() })
        });
        let [parser, device] = sources?;
        let circuit = Circuit::new(name, "json", width);
        Some(Case { of, circuit, column: None, parser: Some(parser), device })
    }

    fn parquet(&mut self, column: ColumnCase) -> Option<Case> {
        let device = self.note(column.name(), "circuit", |_| column.sources())?;
        let circuit = Circuit::new(column.name(), "parquet", 64);
        let of = column.name().to_owned();
        Some(Case { of, circuit, column: Some(column), parser: None, device })
    }

    fn cycles(&mut self, case: &mut Case, bytes: usize) {
        /// Long enough that the start and the end of a run are a small part of it.
        const ROWS: usize = 200_000;
        let Circuit { name, width, .. } = &case.circuit;
        case.circuit.run = self.note(&case.of, "cycles", |_| match case.column {
            Some(column) => column.run(&MemoryProfile::IDEAL, ROWS),
            None => {
                let workload: Workload =
                    name.parse().map_err(|_| "no records are generated for it")?;
                let shape = Shape { width: *width, ..Shape::default() };
                run_json(workload, shape, MemoryProfile::IDEAL, bytes)
            }
        });
    }

    fn part(&mut self, case: &mut Case, part: &'static str, family: &'static str) {
        let sources = if part == "device" { Some(&case.device) } else { case.parser.as_ref() };
        let Some(sources) = sources else { return };
        let what = format!("{part} on {family}");
        let found = self.note(&case.of, &what, |tools| tools.resources(sources, family));
        case.circuit.parts.extend(found.map(|resources| Part { part, family, resources }));
    }

    fn modules(&mut self, case: &mut Case) {
        let found = self.note(&case.of, "modules", |tools| tools.modules(&case.device, "xcup"));
        case.circuit.modules = found.unwrap_or_default();
    }

    /// The part that every format has without its memory interface.
    fn place(&mut self, case: &mut Case) {
        let sources = case.parser.as_ref().unwrap_or(&case.device);
        case.circuit.placed = self.note(&case.of, "place and route", |tools| tools.placed(sources));
    }

    fn end_to_end(&mut self, workload: Workload, bytes: usize) {
        let Shape { width, parsers, ports, read_ahead, .. } = INTERFACE_SHAPE;
        let of = format!("{workload}, {parsers} parsers of {width} bytes on {ports} ports");
        for interface in Interface::ALL {
            let megahertz = CLOCKS[0];
            let run = self.note(&of, &format!("behind {}", interface.name), |_| {
                run_json(workload, INTERFACE_SHAPE, interface.at(megahertz), bytes)
            });
            self.report.extra.end_to_end.extend(run.map(|run| EndToEnd {
                name: workload.name().to_owned(),
                width,
                parsers,
                ports,
                read_ahead,
                interface: interface.name,
                megahertz,
                run,
                gb_per_s: run.gb_per_s(1.0, megahertz),
                limit_gb_per_s: run.limit_gb_per_s(&interface),
            }));
        }
    }
}
