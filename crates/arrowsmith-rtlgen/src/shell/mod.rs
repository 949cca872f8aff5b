// SPDX-License-Identifier: Apache-2.0
//! Shells: what surrounds a circuit on a board. A wrapper with the signals of the shell, scripts
//! for the vendor's tools, a program for the host that tries the circuit, and the simulation of all
//! that.
//!
//! Everything is text, made from the circuit's register map: the numbers of the hardware, of the
//! tools' descriptions and of the host are the same. It runs no tool.

mod arguments;
mod axi;
#[cfg(test)]
mod tests;
mod wrapper;
mod xrt;

use std::fmt;

use arrowsmith_core::{Error, Result};

use crate::library::is_header;
use crate::registers::RegisterMap;

/// What surrounds a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// A kernel of AMD's Vitis, run by XRT: Alveo cards, and others with a Vitis platform.
    Xrt,
    /// A card behind a PCIe bridge of AMD, XDMA or QDMA, without a platform.
    AxiPcie,
    /// The programmable logic of a Zynq UltraScale+.
    Zynq,
}

impl Shell {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Xrt, Self::AxiPcie, Self::Zynq];

    /// Its name, as the command line has it; its files are in the folder `shell/NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xrt => "xrt",
            Self::AxiPcie => "axi-pcie",
            Self::Zynq => "zynq",
        }
    }
}

impl fmt::Display for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A circuit, as a shell sees it.
pub(crate) struct Circuit<'a> {
    /// Its name, a SystemVerilog identifier.
    pub name: &'a str,
    /// Its top module.
    pub top: &'a str,
    /// `json` or `converter`: which driver the host has.
    pub driver: &'static str,
    pub registers: &'a RegisterMap,
    pub beat_bytes: usize,
    pub memory_ports: usize,
    /// The value of its register `schema_hash`.
    pub hash: u64,
    /// Bytes that may be written past the end of a buffer's data.
    pub overrun_bytes: usize,
    /// The number of buffers of each input.
    pub buffers_of_inputs: Vec<usize>,
}

impl Circuit<'_> {
    /// The register whose bit 0 starts it.
    fn start_address(&self) -> u32 {
        let control = self.registers.registers.iter().find(|register| register.name == "control");
        control.map_or(0, |register| register.offset)
    }
}

/// The wrapper of a circuit: the top of a design for the shell; file name and text.
///
/// # Errors
/// [`Error::Config`]: a name that the vendor's tools do not take, more arguments than the runtime
/// sends.
pub(crate) fn wrapper(shell: Shell, circuit: &Circuit<'_>) -> Result<(String, String)> {
    check_name(circuit.name)?;
    let (names, arguments) = match shell {
        Shell::Xrt => (&xrt::NAMES, xrt::arguments(circuit)?),
        Shell::AxiPcie | Shell::Zynq => (&axi::NAMES, Vec::new()),
    };
    let file = format!("{}_{}.v", circuit.name, names.module);
    Ok((file, wrapper::verilog(circuit, names, &arguments)))
}

/// What the simulation of a circuit in its shell is compiled from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    /// The top module: the wrapper under the names of the circuit's own ports.
    pub top: String,
    /// Sources, path and text, dependencies first.
    pub rtl: Vec<(String, String)>,
    /// The text of the C++ header `settings.hpp`.
    pub settings: String,
    /// Whether the host has to speak the block protocol of Vitis.
    pub block_protocol: bool,
}

/// A circuit in a shell, on the memory model of the simulation. `sources` are those of the design,
/// with the wrapper.
///
/// # Errors
/// As [`wrapper`].
pub(crate) fn simulation(
    shell: Shell,
    circuit: &Circuit<'_>,
    sources: Vec<(String, String)>,
) -> Result<Simulation> {
    let (names, arguments) = match shell {
        Shell::Xrt => (&xrt::NAMES, xrt::arguments(circuit)?),
        Shell::AxiPcie | Shell::Zynq => (&axi::NAMES, Vec::new()),
    };
    let top = format!("{}_{}_sim", circuit.name, names.module);
    let mut rtl = sources;
    rtl.push((format!("{top}.sv"), wrapper::simulation(circuit, names)));
    let settings = arguments::host_header(circuit, &arguments);
    Ok(Simulation { top, rtl, settings, block_protocol: names.block_protocol })
}

/// The files of a shell, path below the design's folder and text. `sources` are the paths of all
/// sources, with the wrapper.
///
/// # Errors
/// As [`wrapper`].
pub(crate) fn files(
    shell: Shell,
    circuit: &Circuit<'_>,
    sources: &[&str],
) -> Result<Vec<(String, String)>> {
    let files = match shell {
        Shell::Xrt => xrt::files(circuit, sources)?,
        Shell::AxiPcie | Shell::Zynq => axi::files(shell, circuit, sources),
    };
    let placed = |(path, text): (String, String)| (format!("shell/{shell}/{path}"), text);
    Ok(files.into_iter().map(placed).collect())
}

/// Vivado's IP names have underscores only between letters and digits.
fn check_name(name: &str) -> Result<()> {
    if name.contains("__") || name.ends_with('_') {
        return Err(Error::Config(format!(
            "the name {name}: a shell needs one with underscores only between letters and digits; see --name"
        )));
    }
    Ok(())
}

/// Paths as a Tcl list, one per line; of headers or of the others.
fn tcl_list(sources: &[&str], headers: bool) -> String {
    let wanted = sources.iter().filter(|path| is_header(path) == headers);
    wanted.map(|path| format!("    {path}\n")).collect()
}

/// The names of a shell's own C++ headers, beside the drivers, and their texts.
fn headers(names: &[&str]) -> Vec<(String, String)> {
    const ALL: [(&str, &str); 8] = [
        ("as_json_host.hpp", include_str!("../../cpp/as_json_host.hpp")),
        ("as_converter_host.hpp", include_str!("../../cpp/as_converter_host.hpp")),
        ("as_xrt_board.hpp", include_str!("../../cpp/as_xrt_board.hpp")),
        ("as_xdma_board.hpp", include_str!("../../cpp/as_xdma_board.hpp")),
        ("as_uio_board.hpp", include_str!("../../cpp/as_uio_board.hpp")),
        ("as_mapped_registers.hpp", include_str!("../../cpp/as_mapped_registers.hpp")),
        ("as_xrt_simulated.hpp", include_str!("../../cpp/as_xrt_simulated.hpp")),
        ("as_simulated_board.hpp", include_str!("../../cpp/as_simulated_board.hpp")),
    ];
    let wanted = ALL.into_iter().filter(|(name, _)| names.contains(name));
    wanted.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The rules of a Makefile that compile the host's program with the simulated board, and run it.
/// `arguments` are those of the program.
fn simulation_rules(circuit: &Circuit<'_>, module: &str, arguments: &str) -> String {
    let top = format!("{}_{module}_sim", circuit.name);
    format!(
        "# The simulation: the host's program, the wrapper and the circuit, compiled by Verilator. `make sim VERILATOR=...`\n\
         VERILATOR ?= verilator\nOPTIMIZE ?= 1\n\
         SOURCES := $(addprefix ../../,$(filter-out +%,$(shell cat ../../files.f)))\n\n\
         sim: obj/simulated\n\tobj/simulated {arguments}\n\n\
         obj/simulated: $(SOURCES) sim/{top}.sv host.cpp $(HEADERS) $(wildcard sim/*.hpp ../../bench/*.hpp)\n\
         \t$(VERILATOR) --cc --exe --build --assert -j 2 -O3 --output-split 0 --prefix Vobjects --top-module {top} --Mdir obj -o simulated \\\n\
         \t\t-CFLAGS \"-std=c++20 -O$(OPTIMIZE) -DARROWSMITH_SIMULATED -DARROWSMITH_PORTS={} -I$(CURDIR)/sim -I$(CURDIR) -I$(CURDIR)/../../bench -I$(CURDIR)/../../driver\" \\\n\
         \t\t-F ../../files.f sim/{top}.sv host.cpp\n",
        circuit.memory_ports
    )
}
