// SPDX-License-Identifier: Apache-2.0
//! Bytes on their way to a device: they go while further ones are read, by pieces that stay in the
//! caches of a core, in memory that is used again.

use arrowsmith_core::Result;

use super::{Ptr, Stream, host_len};

/// Bytes that are copied at once, at most.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes that are gathered for the next copy.
#[derive(Debug, Default)]
pub struct Upload {
    bytes: Vec<u8>,
    /// The destination of the first.
    to: Ptr,
}

impl Upload {
    /// Forgets what was not sent.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.to = Ptr(0);
    }

    /// Adds bytes for `room` bytes of memory at `to`, the rest of which becomes 0. They are sent
    /// at [`Upload::send`] at the latest.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn add(&mut self, stream: &mut dyn Stream, to: Ptr, room: u64, bytes: &[u8]) -> Result<()> {
        if to != self.end() || self.bytes.len() >= PIECE_BYTES {
            self.send(stream)?;
            self.to = to;
        }
        let rest = host_len(room)?.saturating_sub(bytes.len());
        let mut tail = bytes;
        if bytes.len() >= PIECE_BYTES {
            self.send(stream)?;
            let (pieces, short) = bytes.as_chunks::<PIECE_BYTES>();
            for piece in pieces {
                stream.copy_in(self.to, piece)?;
                self.to = self.to.offset(PIECE_BYTES as u64);
            }
            tail = short;
        }
        self.bytes.extend_from_slice(tail);
        // Bounded: by two pieces, and the space between two pages.
        self.bytes.resize(self.bytes.len().saturating_add(rest), 0);
        Ok(())
    }

    /// Sends what is left.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn send(&mut self, stream: &mut dyn Stream) -> Result<()> {
        let end = self.end();
        if !self.bytes.is_empty() {
            stream.copy_in(self.to, &self.bytes)?;
        }
        self.bytes.clear();
        self.to = end;
        Ok(())
    }

    fn end(&self) -> Ptr {
        self.to.offset(self.bytes.len() as u64)
    }
}
