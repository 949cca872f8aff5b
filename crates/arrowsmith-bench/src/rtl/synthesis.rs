// SPDX-License-Identifier: Apache-2.0
//! Yosys and nextpnr, through the scripts of `hdl/syn`: from a design's files to its FPGA
//! resources.
//!
//! Results are cached by a hash of scripts, sources and arguments. A tool that is missing, fails or
//! times out yields a reason, never a figure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrowsmith_core::hash::fnv1a;
use arrowsmith_rtlgen::library::file_list;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::process::last_line;

const SCRIPTS: [(&str, &str); 3] = [
    ("report.py", include_str!("../../embedded/syn/report.py")),
    ("paths.py", include_str!("../../embedded/syn/paths.py")),
    ("place.py", include_str!("../../embedded/syn/place.py")),
];

/// A design for a tool: its top module and its files in order.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    /// The top module.
    pub top: String,
    /// Names and texts, packages first.
    pub files: Vec<(String, String)>,
}

/// A design's FPGA resources after technology mapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Look-up tables, including those used as memory or shift registers.
    pub luts_all: u64,
    /// Of these, those used as memory or shift registers.
    pub luts_as_memory: u64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Block RAMs of 36 Kbit.
    pub block_ram_36: u64,
    /// Multipliers.
    pub dsp: u64,
    /// Latches: must be none.
    pub latches: u64,
    /// The longest path between registers.
    pub path: LongestPath,
}

/// The longest path between registers of a mapped netlist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LongestPath {
    /// Look-up tables in the path with the most.
    pub levels: u32,
    /// Nanoseconds of the slowest path by the model of `paths.py`, registers included.
    pub ns: f64,
    /// The register where the slowest path begins.
    pub from: String,
    /// The register where it ends.
    pub to: String,
    /// Cells in combinational loops: must be none.
    pub in_loops: u64,
}

/// The resources of one module of a design, synthesized separately, without its submodules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// Its name, with parameters if Yosys includes them.
    #[serde(default)]
    pub name: String,
    /// Number of instances.
    pub copies: u64,
    /// Look-up tables of one instance.
    pub luts_all: u64,
    /// Flip-flops of one instance.
    pub flip_flops: u64,
    /// Look-up tables in its path with the most, from and to registers or submodules.
    pub levels: u32,
    /// Nanoseconds of its slowest such path by the model of `paths.py`.
    pub ns: f64,
}

/// A design's resources on an FPGA that open tools place and route, and its clock after routing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// The FPGA.
    pub device: String,
    /// Four-input look-up tables, including those around the ports.
    pub luts: u64,
    /// Flip-flops, likewise.
    pub flip_flops: u64,
    /// Block RAMs of 18 Kbit.
    pub block_ram: u64,
    /// Multipliers of 18 bits.
    pub multipliers: u64,
    /// The logic around the ports in place of pins.
    pub harness: Harness,
    /// Look-up tables of the device.
    pub luts_of_device: u64,
    /// The clock by the timing of the routed design.
    pub megahertz: f64,
    /// The slowest path, which limits that clock.
    pub path: PlacedPath,
}

/// Registers in place of pins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Harness {
    /// Look-up tables.
    pub luts: u64,
    /// Flip-flops.
    pub flip_flops: u64,
}

/// The slowest path between registers of a routed design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedPath {
    /// Nanoseconds, registers included.
    pub ns: f64,
    /// Of these, nanoseconds of wires.
    pub routing_ns: f64,
    /// Cells between the registers.
    pub cells: u32,
    /// The register where it begins.
    pub from: String,
    /// The register where it ends.
    pub to: String,
}

/// The tools, their timeout, and the folder of results.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    pub limit_s: u64,
    pub cache: PathBuf,
}

impl Tools {
    /// The resources of the full design on a family: `xcup`, `xc7` or `xc5v`.
    pub(crate) fn resources<T: DeserializeOwned>(
        &self,
        sources: &Sources,
        family: &str,
    ) -> Result<T, String> {
        self.request("report.py", sources, &["--family", family])
    }

    /// The resources of each module, largest first.
    pub(crate) fn modules(&self, sources: &Sources, family: &str) -> Result<Vec<Module>, String> {
        #[derive(Deserialize)]
        struct Said {
            modules: std::collections::BTreeMap<String, Module>,
        }
        let said: Said = self.request("report.py", sources, &["--family", family, "--modules"])?;
        let named = said.modules.into_iter().map(|(name, module)| Module { name, ..module });
        let mut modules: Vec<Module> = named.collect();
        modules.sort_by_key(|module| std::cmp::Reverse(module.copies * module.luts_all));
        Ok(modules)
    }

    /// The full design, placed and routed.
    pub(crate) fn placed(&self, sources: &Sources) -> Result<Placed, String> {
        self.request("place.py", sources, &[])
    }

    fn request<T: DeserializeOwned>(
        &self,
        script: &str,
        sources: &Sources,
        arguments: &[&str],
    ) -> Result<T, String> {
        let kept = self.cache.join(self.key(script, sources, arguments));
        if let Some(found) =
            fs::read(&kept).ok().and_then(|text| serde_json::from_slice(&text).ok())
        {
            return Ok(found);
        }
        let printed = self.run(script, sources, arguments)?;
        let found =
            serde_json::from_slice(&printed).map_err(|error| format!("{script}: {error}"))?;
        // A result that cannot be cached is still valid.
        let _ = fs::create_dir_all(&self.cache).and_then(|()| fs::write(&kept, &printed));
        Ok(found)
    }

    /// The file name of a cached result.
    pub(crate) fn key(&self, script: &str, sources: &Sources, arguments: &[&str]) -> String {
        let used = if script == "place.py" { "report.py" } else { "paths.py" };
        let texts = SCRIPTS.iter().filter(|(name, _)| *name == script || *name == used);
        let said = texts.map(|(_, text)| *text).chain(arguments.iter().copied());
        let files = sources.files.iter().flat_map(|(name, text)| [&name[..], &text[..]]);
        format!("{:016x}.json", hash(said.chain([&*sources.top]).chain(files)))
    }

    fn run(&self, script: &str, sources: &Sources, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            let parent = path.parent().unwrap_or(Path::new("."));
            let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
            written.map_err(|error| format!("{}: {error}", path.display()))
        };
        for (name, text) in &sources.files {
            write(name, text)?;
        }
        write("files.f", &file_list(sources.files.iter().map(|(name, _)| name.as_str())))?;
        for (name, text) in SCRIPTS {
            write(name, text)?;
        }
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", &self.limit_s.to_string(), "python3", script]);
        command.args(["files.f", &sources.top]).args(arguments).current_dir(folder.path());
        let output = command.output().map_err(|error| format!("timeout: {error}"))?;
        match output.status.code() {
            Some(0) => Ok(output.stdout),
            // The exit codes of `timeout` when it ended, or had to kill, the command.
            Some(124 | 137) => Err(format!("no result within {} s", self.limit_s)),
            _ => Err(format!("{}; `tools/hdl run` finds the tools", last_line(&output.stderr))),
        }
    }
}

/// 64-bit FNV-1a of texts, each terminated.
fn hash<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    fnv1a(texts.flat_map(|text| text.bytes().chain([0])))
}
