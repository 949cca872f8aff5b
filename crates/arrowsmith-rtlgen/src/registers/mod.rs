// SPDX-License-Identifier: Apache-2.0
//! The registers of a circuit, described once: the source of the circuit's module, its drivers and
//! its document.
//!
//! Registers are 32-bit words at 16-bit byte addresses; a 64-bit value is two of them, the low one
//! first. Inputs and buffers have blocks of their own, one after another. The C++ driver of the
//! simulation reads the same addresses (`cpp/as_converter_registers.hpp` and
//! `cpp/as_json_registers.hpp` of `arrowsmith-engine-rtl`, which a test keeps equal to
//! [`RegisterMap::c_header`]). It holds no state and accesses no device.

mod json;
mod software;
pub(crate) mod systemverilog;
#[cfg(test)]
mod tests;

/// Bits of an address.
pub const ADDRESS_BITS: u32 = 16;
/// "ARSM", the identity of a converter.
pub const IDENTITY: u32 = 0x4d53_5241;
/// Address of the inputs' first block.
pub const INPUT_BASE: u32 = 0x1000;
/// Address of the buffers' first block.
pub const BUFFER_BASE: u32 = 0x2000;
/// Bytes of a block.
pub const BLOCK_BYTES: u32 = 0x20;
/// Maximum number of inputs.
pub const INPUTS_MAX: usize = 128;
/// Maximum number of buffers.
pub const BUFFERS_MAX: usize = 1024;

/// How host and circuit access a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The host reads a constant.
    Constant(u64),
    /// Each bit that the host writes as one is a pulse of one cycle: name and meaning.
    Command(Vec<(&'static str, &'static str)>),
    /// Each bit is a signal of the circuit: name and meaning.
    Flags(Vec<(&'static str, &'static str)>),
    /// The host writes and reads it, the circuit reads it.
    Control,
    /// The host writes it, the circuit reads this many bits of it. Undefined until it is written.
    Setting(u32),
    /// Words of a buffer's block that the circuit keeps itself: writes are passed on immediately.
    Window,
    /// The circuit sets it, with this many bits, the host reads it.
    Status(u32),
    /// Cycles since the last start in which a signal of the circuit was high.
    Counter,
}

/// A register, or one of each block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Its name, in snake case; ports and constants are named after it.
    pub name: &'static str,
    /// Byte address; of the first one if there are several.
    pub offset: u32,
    /// 32 or 64.
    pub bits: u32,
    /// The number of them, `BLOCK_BYTES` apart.
    pub count: usize,
    /// How host and circuit access it.
    pub access: Access,
    /// Its meaning.
    pub doc: &'static str,
}

/// The registers of one circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterMap {
    /// Prefix of the generated module and of the constants: an identifier in lower case.
    pub name: String,
    /// The content of each input.
    pub inputs: Vec<String>,
    /// The content of each buffer: the column's path and which of its buffers.
    pub buffers: Vec<String>,
    /// All registers, by address.
    pub registers: Vec<Register>,
}

/// The parameters of a converter's registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Prefix of the generated modules.
    pub name: String,
    /// Hash of the schema and of the circuit's features.
    pub schema_hash: u64,
    /// Parallel parsers or columns.
    pub units: u8,
    /// Bytes of a beat of memory.
    pub beat_bytes: u8,
    /// 1 JSON, 2 Parquet.
    pub format: u8,
    /// The content of each input.
    pub inputs: Vec<String>,
    /// The content of each buffer.
    pub buffers: Vec<String>,
}

/// A single register.
fn one(name: &'static str, offset: u32, bits: u32, access: Access, doc: &'static str) -> Register {
    Register { name, offset, bits, count: 1, access, doc }
}

/// The registers that identify a circuit.
fn identity(shape: &Shape, version: u64) -> Vec<Register> {
    let of_shape =
        u64::from(shape.units) | u64::from(shape.beat_bytes) << 8 | u64::from(shape.format) << 16;
    let counts = shape.inputs.len() as u64 | (shape.buffers.len() as u64) << 16;
    vec![
        one("identity", 0x00, 32, Access::Constant(u64::from(IDENTITY)), "\"ARSM\""),
        one("version", 0x04, 32, Access::Constant(version), "of this map"),
        one("schema_hash", 0x08, 64, Access::Constant(shape.schema_hash), "of what it converts"),
        one(
            "shape",
            0x10,
            32,
            Access::Constant(of_shape),
            "bits 7:0 parsers or columns, 15:8 bytes of a beat, 23:16 format (1 JSON, 2 Parquet)",
        ),
        one("counts", 0x14, 32, Access::Constant(counts), "bits 15:0 inputs, 31:16 buffers"),
    ]
}

impl RegisterMap {
    /// The registers of a converter. The caller must refuse more than [`INPUTS_MAX`] inputs or
    /// [`BUFFERS_MAX`] buffers.
    pub fn converter(shape: &Shape) -> Self {
        let commands = vec![
            ("start", "start, with the inputs and buffers as set"),
            ("abort", "give up: no further write begins, and `done` follows"),
        ];
        let flags = vec![
            ("busy", "running"),
            ("done", "has ended since the last start, and every write has its response"),
            ("error", "ended with an error"),
        ];
        let mut registers = identity(shape, 1);
        registers.extend([
            one("control", 0x18, 32, Access::Command(commands), "commands"),
            one("status", 0x1c, 32, Access::Flags(flags), "the state"),
            one("error_code", 0x20, 32, Access::Status(8), "0 none; see the table of codes"),
            one("error_unit", 0x24, 32, Access::Status(16), "parser or column of the error"),
            one("error_position", 0x28, 64, Access::Status(64), "byte of that unit's input"),
            one("rows", 0x40, 64, Access::Status(64), "rows converted"),
            one("cycles", 0x48, 64, Access::Counter, "cycles of work"),
            one("stall_input", 0x50, 64, Access::Counter, "of them, waiting for input"),
            one(
                "stall_output",
                0x58,
                64,
                Access::Counter,
                "of them, waiting for memory to take output",
            ),
        ]);
        let blocks = [
            ("input_address", INPUT_BASE, Access::Control, "address of the input"),
            ("input_length", INPUT_BASE + 8, Access::Control, "bytes of the input"),
            (
                "input_items",
                INPUT_BASE + 16,
                Access::Control,
                "rows or values of the input; 0: unknown",
            ),
            ("input_rows", INPUT_BASE + 24, Access::Status(64), "rows of the input converted"),
            ("buffer_address", BUFFER_BASE, Access::Control, "address of the buffer, beat-aligned"),
            (
                "buffer_capacity",
                BUFFER_BASE + 8,
                Access::Control,
                "bytes of the buffer, full beats",
            ),
            ("buffer_length", BUFFER_BASE + 16, Access::Status(64), "bytes written"),
        ];
        for (name, offset, access, doc) in blocks {
            let many = if offset < BUFFER_BASE { &shape.inputs } else { &shape.buffers };
            registers.push(Register { name, offset, bits: 64, count: many.len(), access, doc });
        }
        Self {
            name: shape.name.clone(),
            inputs: shape.inputs.clone(),
            buffers: shape.buffers.clone(),
            registers,
        }
    }

    /// The registers of a JSON circuit: an input is a parser's text. The bounds are those of
    /// [`RegisterMap::converter`].
    pub fn json(shape: &Shape) -> Self {
        json::map(shape)
    }

    /// The module `NAME_regs`, which needs `as_axil_slave`.
    pub fn systemverilog(&self) -> String {
        systemverilog::text(self)
    }

    /// Constants for a driver in Rust.
    pub fn rust(&self) -> String {
        software::rust(self)
    }

    /// A header for drivers in C and C++.
    pub fn c_header(&self) -> String {
        software::c_header(self)
    }

    /// The document, in Markdown.
    pub fn markdown(&self) -> String {
        software::markdown(self)
    }
}
