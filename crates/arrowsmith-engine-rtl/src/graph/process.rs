// SPDX-License-Identifier: Apache-2.0
//! The circuit's process, and its protocol over pipes. All numbers are little-endian.
//!
//! | to it | bytes |
//! |---|---|
//! | layout hash, number of vtable pointers, the pointers | 8, 4, 8 each |
//! | then, for each run: number of requests | 4 |
//! | for each: length, header or not, misalignment, region, capacity, the message | 4, 4, 4, 8, 4, length |
//!
//! | from it, for each run | bytes |
//! |---|---|
//! | cycles | 8 |
//! | for each request: tag, code, position, objects, bytes, cycles; the objects if the code is 0 | 4 each, bytes |

use std::io::{Read, Write};
use std::path::PathBuf;

use arrowsmith_graph::{Code, Layout, WireError};

use super::{Answer, Request, Run};
use crate::process::Process;
use crate::{MemoryProfile, RtlError};

/// Maximum bytes of a region.
const CAPACITY_MAX: u32 = 256 << 20;

/// Requests sent in one batch: their answers are read before more are sent, so that no pipe fills
/// up.
const REQUESTS_MAX: usize = 4_096;

/// A compiled circuit.
#[derive(Debug, Clone)]
pub struct Circuit {
    program: PathBuf,
    layout_hash: u64,
    slots: usize,
}

/// A running circuit with its vtable pointers set.
#[derive(Debug)]
pub struct Session {
    process: Process,
}

impl Circuit {
    pub(super) fn new(program: PathBuf, layout: &Layout) -> Self {
        Self { program, layout_hash: layout.wire_hash(), slots: layout.slots() }
    }

    /// Starts the circuit on a memory, with the vtable pointers of the program that will use the
    /// objects, one per slot.
    ///
    /// # Errors
    ///
    /// The process does not start; the number of vtable pointers is not that of the layout.
    pub fn start(&self, vtables: &[u64], memory: &MemoryProfile) -> Result<Session, RtlError> {
        if vtables.len() != self.slots {
            return Err(RtlError::Request(
                0,
                "has another number of vtable pointers than the layout",
            ));
        }
        let mut process = Process::start(&self.program, memory)?;
        let mut hello = self.layout_hash.to_le_bytes().to_vec();
        hello.extend(u32::try_from(vtables.len()).unwrap_or(u32::MAX).to_le_bytes());
        hello.extend(vtables.iter().flat_map(|value| value.to_le_bytes()));
        let sent = process.to.write_all(&hello).and_then(|()| process.to.flush());
        sent.map_err(|_| process.last_error())?;
        Ok(Session { process })
    }
}

impl Session {
    /// Submits requests back to back and waits for the answers.
    ///
    /// # Errors
    ///
    /// An invalid request; a circuit that violated AXI or stopped.
    pub fn run(&mut self, requests: &[Request<'_>]) -> Result<Run, RtlError> {
        let mut run = Run { answers: Vec::with_capacity(requests.len()), cycles: 0 };
        for (index, request) in requests.iter().enumerate() {
            if request.capacity > CAPACITY_MAX {
                return Err(RtlError::Request(index, "has a region of more than 256 MiB"));
            }
            if u32::try_from(request.message.len()).is_err() || request.misalignment > 63 {
                return Err(RtlError::Request(
                    index,
                    "has a message that is too long or misaligned",
                ));
            }
        }
        for some in requests.chunks(REQUESTS_MAX) {
            let done = self.send(some).and_then(|()| self.receive(some, &mut run));
            done.map_err(|_| self.process.last_error())?;
        }
        Ok(run)
    }

    fn send(&mut self, requests: &[Request<'_>]) -> std::io::Result<()> {
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        self.process.to.write_all(&number(requests.len()))?;
        for request in requests {
            self.process.to.write_all(&number(request.message.len()))?;
            self.process.to.write_all(&u32::from(request.header).to_le_bytes())?;
            self.process.to.write_all(&request.misalignment.to_le_bytes())?;
            self.process.to.write_all(&request.region.to_le_bytes())?;
            self.process.to.write_all(&request.capacity.to_le_bytes())?;
            self.process.to.write_all(request.message)?;
        }
        self.process.to.flush()
    }

    fn receive(&mut self, requests: &[Request<'_>], run: &mut Run) -> std::io::Result<()> {
        run.cycles += self.process.long()?;
        for request in requests {
            let [_tag, code, position, objects, bytes, cycles] = self.numbers()?;
            let region = if code == 0 {
                let strange = bytes > request.capacity;
                // Bounded: by the requested capacity.
                let mut region = vec![0; if strange { 0 } else { bytes as usize }];
                self.process.from.read_exact(&mut region)?;
                Ok(region)
            } else {
                let known = Code::ALL.iter().find(|known| known.number() == code);
                let unknown = || std::io::Error::other("an unknown code");
                let code = *known.ok_or_else(unknown)?;
                Err(WireError { code, position: u64::from(position) })
            };
            run.answers.push(Answer { region, objects, cycles });
        }
        Ok(())
    }

    fn numbers(&mut self) -> std::io::Result<[u32; 6]> {
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = self.process.word()?;
        }
        Ok(numbers)
    }
}
