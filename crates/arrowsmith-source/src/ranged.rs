// SPDX-License-Identifier: Apache-2.0
//! Remote bytes that are read by ranges: an object in a store, a file on a server.
//!
//! A columnar format requests the ranges that it needs; a reader of text reads everything, in
//! order.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

/// Bytes per request when everything is read in order.
const PIECE_BYTES: u64 = 8 << 20;

/// An object that is read by ranges, from several threads concurrently. It must not change
/// meanwhile.
pub trait Ranged: Send + Sync {
    /// Its length, in bytes.
    fn bytes(&self) -> u64;

    /// The bytes of each range, all inside [`Ranged::bytes`].
    ///
    /// # Errors
    /// If a read fails, or returns another number of bytes.
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>>;

    /// All of it, from the front to the back, where reading a range is
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    ///
    /// # Errors
    /// If it cannot be read like that, or at all.
    fn whole(&self) -> io::Result<Box<dyn Read + Send>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Reads the whole object, from the start.
pub(crate) struct InOrder {
    ranged: Arc<dyn Ranged>,
    at: u64,
    piece: Bytes,
    /// All of it, where there are no ranges.
    whole: Option<Box<dyn Read + Send>>,
}

impl InOrder {
    pub(crate) fn new(ranged: Arc<dyn Ranged>) -> Self {
        Self { ranged, at: 0, piece: Bytes::new(), whole: None }
    }
}

impl Read for InOrder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(whole) = &mut self.whole {
            return whole.read(buffer);
        }
        let end = self.ranged.bytes().min(self.at.saturating_add(PIECE_BYTES));
        if self.piece.is_empty() && self.at < end {
            let range = self.at..end;
            let read = match self.ranged.read(std::slice::from_ref(&range)) {
                Err(error) if self.at == 0 && error.kind() == io::ErrorKind::Unsupported => {
                    return self.whole.insert(self.ranged.whole()?).read(buffer);
                }
                read => read?,
            };
            self.piece = read.into_iter().next().unwrap_or_default();
            if self.piece.len() as u64 != range.end - range.start {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.at = end;
        }
        let count = self.piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}
