// SPDX-License-Identifier: Apache-2.0
//! The registers of a JSON circuit.
//!
//! What the host sets can be written only, and buffers are kept by the circuit, in RAM: their words would be most of the registers otherwise.

use super::{Access, BUFFER_BASE, INPUT_BASE, Register, RegisterMap, Shape, identity, one};

/// 1 was a map that was written by hand.
const VERSION: u64 = 2;

pub(super) fn map(shape: &Shape) -> RegisterMap {
    let commands = vec![("start", "begin, with the inputs and buffers as they are set")];
    let flags = vec![
        ("busy", "works"),
        ("done", "has ended since the last start, and every write is answered"),
        ("error", "ended with an error; what is in the buffers is worth nothing"),
    ];
    let mut registers = identity(shape, VERSION);
    registers.extend([
        one("control", 0x18, 32, Access::Command(commands), "commands"),
        one("status", 0x1c, 32, Access::Flags(flags), "where it stands"),
        one(
            "error_code",
            0x20,
            32,
            Access::Status(8),
            "0 none, 1 memory refused an access, 2 a buffer is full",
        ),
        one("cycles", 0x48, 64, Access::Counter, "cycles of work"),
        one("starved", 0x50, 64, Access::Counter, "of them, those in which a parser had no input"),
        one(
            "blocked",
            0x58,
            64,
            Access::Counter,
            "of them, those in which a parser had no room for values",
        ),
        one(
            "refuse_unknown",
            0x60,
            32,
            Access::Setting(1),
            "bit 0: a key that the schema does not have is a fault",
        ),
        one("record_bytes_max", 0x64, 32, Access::Setting(32), "longest record"),
        one(
            "depth_max",
            0x68,
            32,
            Access::Setting(16),
            "deepest nesting inside values that are skipped, to 63",
        ),
    ]);
    let (inputs, buffers) = (shape.inputs.len(), shape.buffers.len());
    for (name, offset, bits, count, access, doc) in [
        ("input_address", INPUT_BASE, 64, inputs, Access::Setting(64), "where the text is"),
        ("input_length", INPUT_BASE + 0x08, 32, inputs, Access::Setting(32), "its bytes"),
        (
            "input_fault",
            INPUT_BASE + 0x0c,
            32,
            inputs,
            Access::Status(8),
            "0, or why a record was not taken: see the table of faults",
        ),
        (
            "input_position",
            INPUT_BASE + 0x10,
            64,
            inputs,
            Access::Status(64),
            "where it stopped: byte of the text, counted from the beat that it begins in",
        ),
        (
            "input_rows",
            INPUT_BASE + 0x18,
            32,
            inputs,
            Access::Status(32),
            "records before the one that was not taken",
        ),
        (
            "buffer_address",
            BUFFER_BASE,
            64,
            buffers,
            Access::Window,
            "where the buffer is, at a whole beat",
        ),
        (
            "buffer_capacity",
            BUFFER_BASE + 0x08,
            32,
            buffers,
            Access::Window,
            "its bytes, whole beats",
        ),
    ] {
        registers.push(Register { name, offset, bits, count, access, doc });
    }
    RegisterMap {
        name: shape.name.clone(),
        inputs: shape.inputs.clone(),
        buffers: shape.buffers.clone(),
        registers,
    }
}
