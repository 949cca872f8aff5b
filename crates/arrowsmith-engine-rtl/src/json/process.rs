// SPDX-License-Identifier: Apache-2.0
//! The process that is the circuit, and what is said to it over pipes. All numbers are little-endian.
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

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use arrow_buffer::{Buffer, MutableBuffer};

use super::Profile;
use crate::RtlError;

/// Bytes that one buffer may bring back.
const BUFFER_BYTES_MAX: u64 = 1 << 33;

/// A circuit under power.
#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// How many parsers it has.
    pub parsers: usize,
    /// How many buffers it has, over all parsers.
    pub buffers: usize,
}

/// What a run is to obey.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub refuse_unknown: bool,
    pub record_bytes_max: u32,
    pub depth_max: u32,
}

/// What a parser says about its part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// 0, or why it stopped.
    pub fault: u32,
    /// Rows that are complete.
    pub rows: u32,
}

/// What came of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub error: u32,
    pub cycles: u64,
    pub starved: u64,
    pub blocked: u64,
    pub answers: Vec<Answer>,
    pub buffers: Vec<Buffer>,
}

impl Session {
    pub(super) fn start(program: &Path, hash: u64, profile: Profile) -> Result<Self, RtlError> {
        let failed = |error| RtlError::Io(program.to_owned(), error);
        let mut child = Command::new(program)
            .args(profile.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::Error::other("has no pipes")));
        };
        let (to, from) =
            (BufWriter::with_capacity(1 << 16, to), BufReader::with_capacity(1 << 16, from));
        let mut session = Self { child, to, from, parsers: 0, buffers: 0 };
        match session.hello(hash) {
            Ok(()) => Ok(session),
            Err(_) => Err(session.last_words()),
        }
    }

    fn hello(&mut self, hash: u64) -> io::Result<()> {
        self.to.write_all(&hash.to_le_bytes())?;
        self.to.flush()?;
        self.parsers = self.word()? as usize;
        self.buffers = self.word()? as usize;
        Ok(())
    }

    /// Lets the circuit run over parts of a text, one a parser; without a text, over parts of the last one.
    pub(super) fn run(
        &mut self,
        text: Option<&[&[u8]]>,
        limits: Limits,
        parts: &[Range<u32>],
        capacities: &[u32],
    ) -> Result<Outcome, RtlError> {
        let sent = self.send(text, limits, parts, capacities);
        sent.and_then(|()| self.receive()).map_err(|_| self.last_words())
    }

    fn send(
        &mut self,
        text: Option<&[&[u8]]>,
        limits: Limits,
        parts: &[Range<u32>],
        capacities: &[u32],
    ) -> io::Result<()> {
        self.put(u32::from(text.is_some()))?;
        if let Some(pieces) = text {
            let length: usize = pieces.iter().map(|piece| piece.len()).sum();
            self.put(u32::try_from(length).map_err(io::Error::other)?)?;
            for piece in pieces {
                self.to.write_all(piece)?;
            }
        }
        self.put(u32::from(limits.refuse_unknown))?;
        self.put(limits.record_bytes_max)?;
        self.put(limits.depth_max)?;
        for part in parts {
            self.put(part.start)?;
            self.put(part.end - part.start)?;
        }
        for capacity in capacities {
            self.put(*capacity)?;
        }
        self.to.flush()
    }

    fn receive(&mut self) -> io::Result<Outcome> {
        let mut outcome = Outcome {
            error: self.word()?,
            cycles: self.long()?,
            starved: self.long()?,
            blocked: self.long()?,
            answers: Vec::with_capacity(self.parsers),
            buffers: Vec::with_capacity(self.buffers),
        };
        for _ in 0..self.parsers {
            let fault = self.word()?;
            let _position = self.long()?;
            outcome.answers.push(Answer { fault, rows: self.word()? });
        }
        for _ in 0..self.buffers {
            let length = self.long()?;
            let length = usize::try_from(length)
                .ok()
                .filter(|_| length <= BUFFER_BYTES_MAX)
                .ok_or_else(|| io::Error::other("a buffer is too long"))?;
            let mut buffer = MutableBuffer::from_len_zeroed(length);
            self.from.read_exact(buffer.as_slice_mut())?;
            outcome.buffers.push(buffer.into());
        }
        Ok(outcome)
    }

    fn put(&mut self, value: u32) -> io::Result<()> {
        self.to.write_all(&value.to_le_bytes())
    }

    fn word(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn long(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.from.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// What the process said before it stopped.
    fn last_words(&mut self) -> RtlError {
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        let said = said.trim();
        RtlError::Broken(if said.is_empty() {
            "it stopped without a word".into()
        } else {
            said.into()
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
