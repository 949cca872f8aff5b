// SPDX-License-Identifier: Apache-2.0
//! Any converter with the common registers, compiled and run: inputs in, buffers out, cycles
//! counted.
//!
//! It communicates with the circuit's process over pipes; all numbers are little-endian.
//!
//! | to it | bytes |
//! |---|---|
//! | schema hash | 8 |
//! | then, for each run: number of inputs; for each: length, items, misalignment, bytes | 4; 8, 8, 4, length |
//! | number of buffers; for each: capacity | 4; 8 |
//!
//! | from it, for each run | bytes |
//! |---|---|
//! | error code, unit, position; rows, cycles, stalls for input and for output | 4, 4, 8; 8, 8, 8, 8 |
//! | for each input: rows | 8 |
//! | for each buffer: length, bytes | 8, length |

use std::io::{Read, Write};
use std::path::PathBuf;

use crate::compile::{Sources, Verilator};
use crate::process::Process;
use crate::{MEMORY_MODEL, MemoryProfile, PIPES, RtlError};

const CPP: [(&str, &str); 5] = [
    MEMORY_MODEL,
    PIPES,
    ("as_converter_registers.hpp", include_str!("../cpp/as_converter_registers.hpp")),
    ("as_converter_driver.hpp", include_str!("../cpp/as_converter_driver.hpp")),
    ("as_converter_serve.cpp", include_str!("../cpp/as_converter_serve.cpp")),
];

/// A compiled converter.
#[derive(Debug, Clone)]
pub struct Converter {
    program: PathBuf,
    schema_hash: u64,
}

/// A running converter.
#[derive(Debug)]
pub struct Session {
    process: Process,
}

/// The input of one unit.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Rows or values in them, 0 if unknown.
    pub items: u64,
    /// Low bits of their address, below 4096.
    pub misalignment: u32,
}

/// An error that the circuit found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Its number in the register `error_code`.
    pub code: u32,
    /// Parser or column.
    pub unit: u32,
    /// Byte of that unit's input.
    pub position: u64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The error, if there was one.
    pub fault: Option<Fault>,
    /// Rows in total.
    pub rows: u64,
    /// Cycles from start to done.
    pub cycles: u64,
    /// Of them, cycles in which a unit waited for input.
    pub stall_input: u64,
    /// Of them, cycles in which output waited for memory.
    pub stall_output: u64,
    /// Rows of each input.
    pub input_rows: Vec<u64>,
    /// The bytes written to each buffer, up to the last one written.
    pub buffers: Vec<Vec<u8>>,
}

impl Converter {
    /// Compiles a design, or takes it from the cache: `files` in order, packages first, including
    /// the hardware library.
    ///
    /// # Errors
    ///
    /// Errors of Verilator or the C++ compiler.
    pub fn compile(
        verilator: &Verilator,
        top: &str,
        schema_hash: u64,
        files: &[(String, String)],
    ) -> Result<Self, RtlError> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let sources = Sources {
            top: top.to_owned(),
            rtl: files.to_vec(),
            cpp: CPP.iter().map(owned).collect(),
            ..Sources::default()
        };
        Ok(Self { program: verilator.compile(&sources)?, schema_hash })
    }

    /// Starts the circuit on a memory.
    ///
    /// # Errors
    ///
    /// The process does not start.
    pub fn start(&self, memory: &MemoryProfile) -> Result<Session, RtlError> {
        let mut process = Process::start(&self.program, memory)?;
        let sent = process.to.write_all(&self.schema_hash.to_le_bytes());
        sent.map_err(|_| process.last_error())?;
        Ok(Session { process })
    }
}

impl Session {
    /// One conversion.
    ///
    /// # Errors
    ///
    /// A circuit that violated AXI or stopped; an error in the data is an [`Outcome`].
    pub fn run(&mut self, inputs: &[Input<'_>], capacities: &[u64]) -> Result<Outcome, RtlError> {
        let wrong = inputs.iter().position(|input| input.misalignment > 4095);
        if let Some(index) = wrong {
            return Err(RtlError::Request(index, "is misaligned"));
        }
        let done = self.send(inputs, capacities).and_then(|()| self.receive(inputs, capacities));
        done.map_err(|_| self.process.last_error())
    }

    fn send(&mut self, inputs: &[Input<'_>], capacities: &[u64]) -> std::io::Result<()> {
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        self.process.to.write_all(&number(inputs.len()))?;
        for input in inputs {
            self.process.to.write_all(&(input.bytes.len() as u64).to_le_bytes())?;
            self.process.to.write_all(&input.items.to_le_bytes())?;
            self.process.to.write_all(&input.misalignment.to_le_bytes())?;
            self.process.to.write_all(input.bytes)?;
        }
        self.process.to.write_all(&number(capacities.len()))?;
        for capacity in capacities {
            self.process.to.write_all(&capacity.to_le_bytes())?;
        }
        self.process.to.flush()
    }

    fn receive(&mut self, inputs: &[Input<'_>], capacities: &[u64]) -> std::io::Result<Outcome> {
        let [code, unit] = [self.process.word()?, self.process.word()?];
        let position = self.process.long()?;
        let [rows, cycles] = [self.process.long()?, self.process.long()?];
        let [stall_input, stall_output] = [self.process.long()?, self.process.long()?];
        let input_rows = inputs.iter().map(|_| self.process.long()).collect::<Result<_, _>>()?;
        let mut buffers = Vec::with_capacity(capacities.len());
        for capacity in capacities {
            let length = self.process.long()?;
            if length > *capacity {
                return Err(std::io::Error::other("more than the capacity"));
            }
            // Bounded: by the capacity that was announced to the circuit.
            let mut bytes = vec![0; usize::try_from(length).map_err(std::io::Error::other)?];
            self.process.from.read_exact(&mut bytes)?;
            buffers.push(bytes);
        }
        let fault = (code != 0).then_some(Fault { code, unit, position });
        Ok(Outcome { fault, rows, cycles, stall_input, stall_output, input_rows, buffers })
    }
}
