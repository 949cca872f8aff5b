// SPDX-License-Identifier: Apache-2.0
//! The circuit's process, and its protocol over pipes. All numbers are little-endian.
//!
//! | to it | bytes |
//! |---|---|
//! | schema hash | 8 |
//! | for each run: whether a new text follows; its length, the text | 4; 4, length |
//! | refuse unknown keys, longest record, deepest nesting of skipped values | 4 each |
//! | for each parser: begin and length of its part; for each buffer: capacity | 4 each |
//!
//! | from it | bytes |
//! |---|---|
//! | parsers, buffers | 4 each |
//! | for each run: error, cycles, cycles without input, cycles without room | 4, 8, 8, 8 |
//! | for each parser: fault, position, rows | 4, 8, 4 |
//! | for each buffer: length, bytes | 8, length |

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;

use arrow_buffer::{Buffer, MutableBuffer};

use crate::process::Process;
use crate::{MemoryProfile, RtlError};

/// Maximum bytes read back of one buffer.
const BUFFER_BYTES_MAX: u64 = 1 << 33;

/// A running circuit.
#[derive(Debug)]
pub(crate) struct Session {
    process: Process,
    /// How many parsers it has.
    pub parsers: usize,
    /// How many buffers it has, over all parsers.
    pub buffers: usize,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub refuse_unknown: bool,
    pub record_bytes_max: u32,
    pub depth_max: u32,
}

/// A parser's result for its part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// 0, or the code of the reason why it stopped.
    pub fault: u32,
    /// Complete rows.
    pub rows: u32,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub error: u32,
    pub cycles: u64,
    pub starved: u64,
    pub blocked: u64,
    pub write_bursts: u64,
    pub answers: Vec<Answer>,
    pub buffers: Vec<Buffer>,
}

impl Session {
    pub(crate) fn start(
        program: &Path,
        hash: u64,
        memory: &MemoryProfile,
    ) -> Result<Self, RtlError> {
        let process = Process::start(program, memory)?;
        let mut session = Self { process, parsers: 0, buffers: 0 };
        match session.hello(hash) {
            Ok(()) => Ok(session),
            Err(_) => Err(session.process.last_error()),
        }
    }

    fn hello(&mut self, hash: u64) -> io::Result<()> {
        self.process.to.write_all(&hash.to_le_bytes())?;
        self.process.to.flush()?;
        self.parsers = self.process.word()? as usize;
        self.buffers = self.process.word()? as usize;
        Ok(())
    }

    /// Runs the circuit over parts of a text, one per parser; without a text, over parts of the
    /// previous one.
    pub(super) fn run(
        &mut self,
        text: Option<&[&[u8]]>,
        limits: Limits,
        parts: &[Range<u32>],
        capacities: &[u32],
    ) -> Result<Outcome, RtlError> {
        let sent = self.send(text, limits, parts, capacities);
        sent.and_then(|()| self.receive()).map_err(|_| self.process.last_error())
    }

    fn send(
        &mut self,
        text: Option<&[&[u8]]>,
        limits: Limits,
        parts: &[Range<u32>],
        capacities: &[u32],
    ) -> io::Result<()> {
        self.process.put(u32::from(text.is_some()))?;
        if let Some(pieces) = text {
            let length: usize = pieces.iter().map(|piece| piece.len()).sum();
            self.process.put(u32::try_from(length).map_err(io::Error::other)?)?;
            for piece in pieces {
                self.process.to.write_all(piece)?;
            }
        }
        self.process.put(u32::from(limits.refuse_unknown))?;
        self.process.put(limits.record_bytes_max)?;
        self.process.put(limits.depth_max)?;
        for part in parts {
            self.process.put(part.start)?;
            self.process.put(part.end - part.start)?;
        }
        for capacity in capacities {
            self.process.put(*capacity)?;
        }
        self.process.to.flush()
    }

    fn receive(&mut self) -> io::Result<Outcome> {
        let mut outcome = Outcome {
            error: self.process.word()?,
            cycles: self.process.long()?,
            starved: self.process.long()?,
            blocked: self.process.long()?,
            write_bursts: self.process.long()?,
            // Bounded: by the circuit, both.
            answers: Vec::with_capacity(self.parsers),
            buffers: Vec::with_capacity(self.buffers),
        };
        for _ in 0..self.parsers {
            let fault = self.process.word()?;
            let _position = self.process.long()?;
            outcome.answers.push(Answer { fault, rows: self.process.word()? });
        }
        for _ in 0..self.buffers {
            let length = self.process.long()?;
            let length = usize::try_from(length)
                .ok()
                .filter(|_| length <= BUFFER_BYTES_MAX)
                .ok_or_else(|| io::Error::other("a buffer is too long"))?;
            let mut buffer = MutableBuffer::from_len_zeroed(length);
            self.process.from.read_exact(buffer.as_slice_mut())?;
            outcome.buffers.push(buffer.into());
        }
        Ok(outcome)
    }
}
