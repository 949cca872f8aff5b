// SPDX-License-Identifier: Apache-2.0
//! The process of a running circuit: started on a memory, reached over pipes, killed when dropped.
//!
//! It transfers numbers and bytes; the module of each kind of circuit documents its protocol.
//! Numbers are little-endian.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::{MemoryProfile, RtlError};

/// A circuit's process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// Its standard input.
    pub to: BufWriter<ChildStdin>,
    /// Its standard output.
    pub from: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(program: &Path, memory: &MemoryProfile) -> Result<Self, RtlError> {
        let failed = |error| RtlError::Io(program.to_owned(), error);
        let mut child = Command::new(program)
            .args(memory.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::Error::other("has no pipes")));
        };
        let to = BufWriter::with_capacity(1 << 16, to);
        let from = BufReader::with_capacity(1 << 16, from);
        Ok(Self { child, to, from })
    }

    pub fn put(&mut self, value: u32) -> io::Result<()> {
        self.to.write_all(&value.to_le_bytes())
    }

    pub fn word(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub fn long(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.from.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Its last message on standard error.
    pub fn last_error(&mut self) -> RtlError {
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

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
