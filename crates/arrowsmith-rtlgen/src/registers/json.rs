// SPDX-License-Identifier: Apache-2.0
//! The registers of a JSON circuit.
//!
//! The host's settings are write-only, and the circuit keeps buffer words in RAM: both would
//! otherwise be most of the registers.

use super::{Access, BUFFER_BASE, INPUT_BASE, Register, RegisterMap, Shape, identity, one};

/// Version 1 was a hand-written map.
const VERSION: u64 = 2;

pub(super) fn map(shape: &Shape) -> RegisterMap {
    let commands = vec![("start", "start, with the inputs and buffers as set")];
    let flags = vec![
        ("busy", "running"),
        ("done", "has ended since the last start, and every write has its response"),
        ("error", "ended with an error; the content of the buffers is invalid"),
    ];
    let mut registers = identity(shape, VERSION);
    registers.extend([
        one("control", 0x18, 32, Access::Command(commands), "commands"),
        one("status", 0x1c, 32, Access::Flags(flags), "the state"),
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
            "bit 0: a key that is not in the schema is a fault",
        ),
        one("record_bytes_max", 0x64, 32, Access::Setting(32), "maximum bytes of a record"),
        one(
            "depth_max",
            0x68,
            32,
            Access::Setting(16),
            "maximum nesting depth inside skipped values, up to 63",
        ),
    ]);
    let (inputs, buffers) = (shape.inputs.len(), shape.buffers.len());
    for (name, offset, bits, count, access, doc) in [
        ("input_address", INPUT_BASE, 64, inputs, Access::Setting(64), "address of the text"),
        ("input_length", INPUT_BASE + 0x08, 32, inputs, Access::Setting(32), "bytes of the text"),
        (
            "input_fault",
            INPUT_BASE + 0x0c,
            32,
            inputs,
            Access::Status(8),
            "0, or the fault of the record that was not taken: see the table of faults",
        ),
        (
            "input_position",
            INPUT_BASE + 0x10,
            64,
            inputs,
            Access::Status(64),
            "where it stopped: byte offset, counted from the first beat of the text",
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
            "address of the buffer, beat-aligned",
        ),
        (
            "buffer_capacity",
            BUFFER_BASE + 0x08,
            32,
            buffers,
            Access::Window,
            "bytes of the buffer, full beats",
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
