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

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;
    use crate::device::Event;

    /// Memory of a device from address 0 on, and the bytes of each copy.
    #[derive(Debug)]
    struct Copies(Vec<u8>, Vec<usize>);

    impl Stream for Copies {
        fn copy_in(&mut self, to: Ptr, bytes: &[u8]) -> Result<()> {
            let at = host_len(to.0)?;
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
            self.1.push(bytes.len());
            Ok(())
        }

        fn copy_within(&mut self, _: Ptr, _: Ptr, _: u64) -> Result<()> {
            unreachable!()
        }

        fn fill(&mut self, _: Ptr, _: u8, _: u64) -> Result<()> {
            unreachable!()
        }

        fn launch(&mut self, _: &'static str, _: u64, _: &[u64]) -> Result<()> {
            unreachable!()
        }

        fn fetch(&mut self, _: &[(Ptr, u64)]) -> Result<Vec<Buffer>> {
            unreachable!()
        }

        fn record(&mut self) -> Result<Option<Box<dyn Event>>> {
            unreachable!()
        }
    }

    /// Adds bytes of these lengths, each with some room after it, and compares what arrives.
    fn copies(parts: &[(usize, usize)], gap: usize) -> Vec<usize> {
        let mut stream = Copies(vec![0xA5; 2 << 20], Vec::new());
        let mut expected = stream.0.clone();
        let mut upload = Upload::default();
        let mut at = 512;
        for (number, (len, rest)) in parts.iter().enumerate() {
            let bytes: Vec<u8> = (0..=250).cycle().skip(number).take(*len).collect();
            let room = (len + rest) as u64;
            upload.add(&mut stream, Ptr(at as u64), room, &bytes).unwrap();
            expected[at..at + len].copy_from_slice(&bytes);
            expected[at + len..at + len + rest].fill(0);
            at += len + rest + gap;
        }
        upload.send(&mut stream).unwrap();
        assert!(stream.0 == expected, "{parts:?}, {gap} bytes between");
        stream.1
    }

    #[test]
    fn neighbours_go_together_and_large_ones_in_pieces() {
        let piece = PIECE_BYTES;
        assert_eq!(copies(&[(100, 28), (0, 16), (300, 20)], 0), [464]);
        assert_eq!(copies(&[(100, 28), (0, 16), (300, 20)], 8), [128, 16, 320]);
        assert_eq!(copies(&[(10, 6), (2 * piece + 5, 11), (32, 0)], 0), [16, piece, piece, 48]);
        assert_eq!(copies(&[(piece, 0), (piece - 1, 1), (7, 1)], 0), [piece, piece, 8]);
        assert_eq!(copies(&[], 0), [0; 0]);
    }

    #[test]
    fn what_was_not_sent_is_forgotten() {
        let mut stream = Copies(vec![0; 64], Vec::new());
        let mut upload = Upload::default();
        upload.add(&mut stream, Ptr(0), 16, &[1; 16]).unwrap();
        upload.clear();
        upload.add(&mut stream, Ptr(16), 16, &[2; 16]).unwrap();
        upload.send(&mut stream).unwrap();
        assert_eq!((stream.1, stream.0[0], stream.0[16]), (vec![16], 0, 2));
    }
}
