// SPDX-License-Identifier: Apache-2.0
//! Reading ahead on a thread of its own, so that decompression overlaps decoding.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Size of one block, in bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// Maximum number of queued blocks, which limits the memory to about one MiB.
const BLOCKS_MAX: usize = 4;

/// A reader whose bytes are read by another thread.
///
/// Dropping it makes that thread end at its next block. It is not joined, because it may block in a
/// read that cannot be interrupted.
pub(crate) struct ReadAhead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    used: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    start: usize,
    done: bool,
}

impl ReadAhead {
    /// Starts reading.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn new(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let (full, blocks) = sync_channel(BLOCKS_MAX);
        let (used, empty) = sync_channel(BLOCKS_MAX + 2);
        thread::Builder::new()
            .name("arrowsmith-read".to_owned())
            .spawn(move || pump(reader, &full, &empty))?;
        Ok(Self { blocks, used, block: Vec::new(), start: 0, done: false })
    }
}

/// Reads up to the end, an error, or until the receiver is dropped. The end is sent as an empty
/// block, so that the death of the thread is distinguished from it.
fn pump(
    mut reader: Box<dyn Read + Send>,
    full: &SyncSender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        block.resize(BLOCK_BYTES, 0);
        let (filled, error) = fill(&mut reader, &mut block);
        block.truncate(filled);
        // The bytes before an error are valid. The error is kept, because a decompressor need not
        // return it twice.
        if filled > 0 || error.is_none() {
            let last = filled == 0;
            if full.send(Ok(block)).is_err() || last {
                return;
            }
        }
        if let Some(error) = error {
            let _ = full.send(Err(error));
            return;
        }
    }
}

/// Reads once, and continues as long as reads are large: bytes of a slow pipe are passed on
/// immediately.
fn fill(reader: &mut dyn Read, block: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while filled < block.len() / 2 {
        match reader.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start == self.block.len() && !self.done {
            let next = self.blocks.recv().unwrap_or_else(|_| {
                Err(io::Error::other("the reader thread ended before the end of the input"))
            });
            self.done = !matches!(&next, Ok(block) if !block.is_empty());
            let used = std::mem::replace(&mut self.block, next?);
            self.start = 0;
            let _ = self.used.try_send(used);
        }
        let rest = self.block.get(self.start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.start += count;
        Ok(count)
    }
}
