// SPDX-License-Identifier: Apache-2.0
//! Streams that are kept while they are read: every handle reads the text, whatever the others do.

use std::io::{self, Read};

use arrowsmith_source::Spool;

/// Bytes of the stream, and of what is kept in memory, at most.
const TEXT_BYTES_MAX: usize = 300;

/// Handles at most: each piece of the script may be one more.
const HANDLES_MAX: usize = 8;

/// The byte of the stream at a place.
fn byte(at: usize) -> u8 {
    (at * 31 % 251).to_le_bytes()[0]
}

/// A stream of this many bytes, in pieces whose lengths a seed determines; some reads fail.
struct Source {
    at: usize,
    len: usize,
    seed: u64,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let random = usize::from((self.seed >> 48).to_le_bytes()[0]);
        if random % 16 == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let count = buffer.len().min(self.len - self.at).min(1 + random % 64);
        for piece in &mut buffer[..count] {
            *piece = byte(self.at);
            self.at += 1;
        }
        Ok(count)
    }
}

/// Three bytes for the length, the limit and the memory, one for the pieces; then pairs: which
/// handle, and how many bytes it reads, or 0 for a new one.
pub fn spooled(data: &[u8]) {
    let [len, most, memory, seed, script @ ..] = data else { return };
    let len = usize::from(*len) * TEXT_BYTES_MAX / 255;
    // Often no limit.
    let bytes_max = if *most > 200 { u64::MAX } else { u64::from(*most) };
    let source = Source { at: 0, len, seed: u64::from(*seed) };
    let first = Spool::with_memory(bytes_max, usize::from(*memory)).stream(Box::new(source));
    let mut handles = vec![(first, 0_usize)];
    let mut read = 0;
    for pair in script.chunks_exact(2) {
        let which = usize::from(pair[0]) % handles.len();
        let is_kept = read as u64 <= bytes_max;
        let (handle, at) = &mut handles[which];
        if pair[1] == 0 {
            let again = handle.again();
            assert_eq!(again.is_some(), is_kept, "{read} of {bytes_max}");
            if let Some(again) = again.filter(|_| handles.len() < HANDLES_MAX) {
                handles.push((again, 0));
            }
            continue;
        }
        let mut buffer = vec![0; usize::from(pair[1])];
        match handle.read(&mut buffer) {
            Ok(count) => {
                assert!(is_kept || *at == read, "what is not kept was read");
                assert!(count > 0 || *at == len, "an end at {at} of {len}");
                for (offset, found) in buffer[..count].iter().enumerate() {
                    assert_eq!(*found, byte(*at + offset), "at {at} and {offset}");
                }
                *at += count;
                read = read.max(*at);
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => assert_eq!(*at, read),
            Err(error) => assert!(!is_kept && *at < read, "{error}"),
        }
    }
}
