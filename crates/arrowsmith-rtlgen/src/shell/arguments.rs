// SPDX-License-Identifier: Apache-2.0
//! The registers that a host sets, as the arguments of a kernel: one list, from which the kernel's
//! description, its decoder of addresses and the host's header are written.
//!
//! An argument has an address of its own in the kernel, packed from `ARGUMENT_BASE`, because the
//! runtime writes every word from there to the last argument at each start.

use std::fmt::Write as _;

use arrowsmith_core::{Error, Result};

use super::Circuit;
use crate::registers::{Access, BLOCK_BYTES, BUFFER_BASE, INPUT_BASE, Register, RegisterMap};

/// The address of the first argument of a kernel (UG1393, "Control Requirements").
const ARGUMENT_BASE: u32 = 0x10;
/// The runtime sends the arguments in a command of 4,096 bytes with up to 20 of header; they have
/// to end below this address, with a margin.
const ARGUMENT_END_MAX: u32 = 0xf80;

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument {
    /// Its name, an identifier.
    pub name: String,
    /// Its address in the kernel.
    pub offset: u32,
    /// 4 or 8.
    pub bytes: u32,
    /// The circuit's register.
    pub register: u32,
    /// The memory port through which the circuit accesses what it points to.
    pub port: Option<usize>,
}

/// A kind of argument: one for each input or buffer, or a single one.
#[derive(Debug)]
pub(super) struct Kind {
    /// The register's name.
    pub name: &'static str,
    /// The number of the first argument, and how far apart they are.
    pub first: usize,
    pub step: usize,
    /// The circuit's register of the first one.
    pub register: u32,
    pub bytes: u32,
}

/// The registers that the host sets before a run.
fn settings(map: &RegisterMap) -> impl Iterator<Item = &Register> {
    map.registers.iter().filter(|register| {
        matches!(register.access, Access::Control | Access::Setting(_) | Access::Window)
    })
}

/// Settings in the three groups in which they are numbered: single ones, of inputs, of buffers.
fn groups(map: &RegisterMap) -> [Vec<&Register>; 3] {
    let within = |from: u32, to: u32| {
        settings(map).filter(|register| (from..to).contains(&register.offset)).collect()
    };
    [within(0, INPUT_BASE), within(INPUT_BASE, BUFFER_BASE), within(BUFFER_BASE, u32::MAX)]
}

/// All arguments, by number.
///
/// # Errors
/// [`Error::Config`]: more than the runtime can send.
pub(super) fn arguments(map: &RegisterMap, ports: usize) -> Result<Vec<Argument>> {
    let mut out: Vec<Argument> = Vec::new();
    let mut offset = ARGUMENT_BASE;
    for group in groups(map) {
        let count = group.iter().map(|register| register.count).max().unwrap_or(0);
        for (index, block) in (0..count).zip((0_u32..).step_by(BLOCK_BYTES as usize)) {
            for register in &group {
                let name = match register.name.split_once('_') {
                    Some((unit @ ("input" | "buffer"), what)) => format!("{unit}{index}_{what}"),
                    _ => register.name.to_owned(),
                };
                let bytes = register.bits / 8;
                let port = register.name.ends_with("_address").then(|| index * ports / count);
                out.push(Argument { name, offset, bytes, register: register.offset + block, port });
                offset += bytes;
            }
        }
    }
    if offset > ARGUMENT_END_MAX {
        return Err(Error::Config(format!(
            "{} arguments of {} bytes: the runtime sends at most {} at a start; use fewer parsers or columns",
            out.len(),
            offset - ARGUMENT_BASE,
            ARGUMENT_END_MAX - ARGUMENT_BASE
        )));
    }
    Ok(out)
}

/// The kinds of arguments, in the order of their numbers.
pub(super) fn kinds(map: &RegisterMap) -> Vec<Kind> {
    let mut out = Vec::new();
    let mut first = 0;
    for group in groups(map) {
        let count = group.iter().map(|register| register.count).max().unwrap_or(0);
        for (at, register) in group.iter().enumerate() {
            out.push(Kind {
                name: register.name,
                first: first + at,
                step: group.len(),
                register: register.offset,
                bytes: register.bits / 8,
            });
        }
        first += group.len() * count;
    }
    out
}

/// A Verilog function: the address of a word of the arguments → whether there is one, and the
/// circuit's register.
pub(super) fn decoder(arguments: &[Argument]) -> String {
    let mut out = "  // An argument's word: whether there is one, and the circuit's register.\n  \
         function [16:0] argument(input [15:0] address);\n    case (address)\n"
        .to_owned();
    for argument in arguments {
        for word in (0..argument.bytes).step_by(4) {
            let _ = writeln!(
                out,
                "      16'h{:04x}: argument = {{1'b1, 16'h{:04x}}};  // {}",
                argument.offset + word,
                argument.register + word,
                argument.name
            );
        }
    }
    out.push_str("      default: argument = 17'd0;\n    endcase\n  endfunction\n");
    out
}

/// `kernel.xml`, as UG1393 describes it ("RTL Kernel XML File").
pub(super) fn kernel_xml(circuit: &Circuit<'_>, kernel: &str, arguments: &[Argument]) -> String {
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- SPDX-License-Identifier: Apache-2.0 -->\n\
         <!-- Generated by arrowsmith; do not edit. Each start writes the arguments; results are registers from 0x1000. -->\n\
         <root versionMajor=\"1\" versionMinor=\"6\">\n  \
         <kernel name=\"{kernel}\" language=\"ip_c\" vlnv=\"{}\" attributes=\"\" preferredWorkGroupSizeMultiple=\"0\" \
         workGroupSize=\"1\" interrupt=\"true\" hwControlProtocol=\"ap_ctrl_hs\">\n    <ports>\n      \
         <port name=\"s_axi_control\" mode=\"slave\" range=\"0x10000\" dataWidth=\"32\" portType=\"addressable\" base=\"0x0\"/>\n",
        super::xrt::vlnv(kernel),
    );
    for port in 0..circuit.memory_ports {
        let _ = writeln!(
            out,
            "      <port name=\"m_axi_gmem{port}\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"{}\" \
             portType=\"addressable\" base=\"0x0\"/>",
            circuit.beat_bytes * 8
        );
    }
    out.push_str("    </ports>\n    <args>\n");
    for (id, argument) in arguments.iter().enumerate() {
        let port = argument.port.map(|port| format!("m_axi_gmem{port}"));
        let kind = match (argument.port, argument.bytes) {
            (Some(_), _) => "void*",
            (None, 8) => "ulong",
            (None, _) => "uint",
        };
        let _ = writeln!(
            out,
            "      <arg name=\"{}\" addressQualifier=\"{}\" id=\"{id}\" port=\"{}\" size=\"0x{bytes:x}\" offset=\"0x{:03x}\" \
             hostOffset=\"0x0\" hostSize=\"0x{bytes:x}\" type=\"{kind}\"/>",
            argument.name,
            u8::from(argument.port.is_some()),
            port.as_deref().unwrap_or("s_axi_control"),
            argument.offset,
            bytes = argument.bytes,
        );
    }
    out.push_str("    </args>\n  </kernel>\n</root>\n");
    out
}

/// The header of the host: the circuit's numbers, and where its settings are.
pub(super) fn host_header(circuit: &Circuit<'_>, arguments: &[Argument]) -> String {
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0\n\
         // Generated by arrowsmith; do not edit. What the host has to know of the circuit `{}`.\n\
         #pragma once\n\n#include <cstddef>\n#include <cstdint>\n\nnamespace arrowsmith {{\n\n\
         // A setting: number of the kernel's argument, its distance to that of the next input or buffer,\n\
         // the circuit's register of the first one, bytes. Registers are kBlockBytes apart.\n\
         struct Setting {{\n    int argument;\n    int step;\n    uint32_t address;\n    uint32_t bytes;\n}};\n\n",
        circuit.name
    );
    for kind in kinds(circuit.registers) {
        let camel: String = kind
            .name
            .split('_')
            .map(|word| {
                let (first, rest) = word.split_at(word.len().min(1));
                first.to_ascii_uppercase() + rest
            })
            .collect();
        let _ = writeln!(
            out,
            "inline constexpr Setting k{camel}{{{}, {}, 0x{:04x}, {}}};",
            kind.first, kind.step, kind.register, kind.bytes
        );
    }
    let of_inputs: Vec<String> =
        circuit.buffers_of_inputs.iter().map(ToString::to_string).collect();
    let _ = write!(
        out,
        "\ninline constexpr uint32_t kBlockBytes = 0x{BLOCK_BYTES:x};\n\
         inline constexpr uint64_t kSchemaHash = 0x{:016x};\n\
         inline constexpr uint32_t kMemoryPorts = {};\n\
         inline constexpr uint32_t kBeatBytes = {};\n\
         // Bytes that may be written past the end of a string buffer's data, before an invalid end is found.\n\
         inline constexpr uint32_t kOverrunBytes = {};\n\
         // Inputs, and the buffers of each, which follow one another.\n\
         inline constexpr uint32_t kInputs = {};\n\
         inline constexpr uint32_t kBuffersOfInput[kInputs] = {{{}}};\n\n",
        circuit.hash,
        circuit.memory_ports,
        circuit.beat_bytes,
        circuit.overrun_bytes,
        circuit.buffers_of_inputs.len(),
        of_inputs.join(", "),
    );
    if !arguments.is_empty() {
        out.push_str(
            "// The words of the arguments: address in the kernel, the circuit's register.\n\
             struct ArgumentWord {\n    uint16_t offset;\n    uint16_t address;\n};\n\
             inline constexpr ArgumentWord kArgumentWords[] = {\n",
        );
        for argument in arguments {
            for word in (0..argument.bytes).step_by(4) {
                let _ = writeln!(
                    out,
                    "    {{0x{:04x}, 0x{:04x}}},",
                    argument.offset + word,
                    argument.register + word
                );
            }
        }
        out.push_str("};\n\n");
    }
    out.push_str("}  // namespace arrowsmith\n");
    out
}
