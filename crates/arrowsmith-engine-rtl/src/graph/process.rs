// SPDX-License-Identifier: Apache-2.0
//! The process that is the circuit, and what is said to it over pipes. All numbers are little-endian.
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

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use arrowsmith_graph::{Code, Layout, WireError};

use super::{Answer, Profile, Request, Run};
use crate::RtlError;

/// Bytes that a region may have, at most.
const CAPACITY_MAX: u32 = 256 << 20;

/// Requests that are sent in one go: what they are answered with is read before more is sent, so that no pipe fills up.
const REQUESTS_MAX: usize = 4_096;

/// A compiled circuit.
#[derive(Debug, Clone)]
pub struct Circuit {
    program: PathBuf,
    layout_hash: u64,
    slots: usize,
}

/// A circuit under power: vtable pointers are set.
#[derive(Debug)]
pub struct Session {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Circuit {
    pub(super) fn new(program: PathBuf, layout: &Layout) -> Self {
        Self { program, layout_hash: layout.wire_hash(), slots: layout.slots() }
    }

    /// Starts the circuit on a memory, with the vtable pointers of the program that will use the objects, one a slot.
    ///
    /// # Errors
    ///
    /// The process does not start; the number of vtable pointers is not that of the layout.
    pub fn start(&self, vtables: &[u64], profile: Profile) -> Result<Session, RtlError> {
        if vtables.len() != self.slots {
            return Err(RtlError::Request(
                0,
                "has another number of vtable pointers than the layout",
            ));
        }
        let mut command = Command::new(&self.program);
        for argument in [
            u64::from(profile.read_latency),
            u64::from(profile.write_latency),
            u64::from(profile.stall_percent),
            profile.seed,
        ] {
            command.arg(argument.to_string());
        }
        let failed = |error| RtlError::Io(self.program.clone(), error);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::Error::other("has no pipes")));
        };
        let mut session = Session { child, to: BufWriter::new(to), from: BufReader::new(from) };
        let mut hello = self.layout_hash.to_le_bytes().to_vec();
        hello.extend(u32::try_from(vtables.len()).unwrap_or(u32::MAX).to_le_bytes());
        hello.extend(vtables.iter().flat_map(|value| value.to_le_bytes()));
        let sent = session.to.write_all(&hello).and_then(|()| session.to.flush());
        sent.map_err(|_| session.last_words())?;
        Ok(session)
    }
}

impl Session {
    /// Submits requests back to back and waits for the answers.
    ///
    /// # Errors
    ///
    /// A request that cannot be made; a circuit that broke a rule or stopped.
    pub fn run(&mut self, requests: &[Request<'_>]) -> Result<Run, RtlError> {
        let mut run = Run { answers: Vec::with_capacity(requests.len()), cycles: 0 };
        for (index, request) in requests.iter().enumerate() {
            if request.capacity > CAPACITY_MAX {
                return Err(RtlError::Request(index, "has a region of more than 256 MiB"));
            }
            if u32::try_from(request.message.len()).is_err() || request.misalignment > 63 {
                return Err(RtlError::Request(
                    index,
                    "has a message that is too long or lies wrongly",
                ));
            }
        }
        for some in requests.chunks(REQUESTS_MAX) {
            let done = self.send(some).and_then(|()| self.receive(some, &mut run));
            done.map_err(|_| self.last_words())?;
        }
        Ok(run)
    }

    fn send(&mut self, requests: &[Request<'_>]) -> std::io::Result<()> {
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        self.to.write_all(&number(requests.len()))?;
        for request in requests {
            self.to.write_all(&number(request.message.len()))?;
            self.to.write_all(&u32::from(request.header).to_le_bytes())?;
            self.to.write_all(&request.misalignment.to_le_bytes())?;
            self.to.write_all(&request.region.to_le_bytes())?;
            self.to.write_all(&request.capacity.to_le_bytes())?;
            self.to.write_all(request.message)?;
        }
        self.to.flush()
    }

    fn receive(&mut self, requests: &[Request<'_>], run: &mut Run) -> std::io::Result<()> {
        let mut cycles = [0; 8];
        self.from.read_exact(&mut cycles)?;
        run.cycles += u64::from_le_bytes(cycles);
        for request in requests {
            let [_tag, code, position, objects, bytes, cycles] = self.numbers()?;
            let region = if code == 0 {
                let strange = bytes > request.capacity;
                let mut region = vec![0; if strange { 0 } else { bytes as usize }];
                self.from.read_exact(&mut region)?;
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
            let mut bytes = [0; 4];
            self.from.read_exact(&mut bytes)?;
            *number = u32::from_le_bytes(bytes);
        }
        Ok(numbers)
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
