// SPDX-License-Identifier: Apache-2.0
//! A connection without a network, and a spool that an earlier process left, for fuzz targets. Not a part of the
//! library's face.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrowsmith_core::Result;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Semaphore, watch};

use crate::config::{Config, LimitsConfig, Size, StreamConfig};
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::numbers::Numbers;
use crate::receive::Common;
use crate::receive::connection::Receiver;
use crate::stream::{Queue, Stream};

/// Most portions of a connection: what is handed over waits, and nobody takes it away.
pub const PORTIONS_MAX: usize = 250;

/// Memory for text, in bytes; more than any input that a fuzzer makes.
const MEMORY_BYTES: usize = 1 << 30;

/// What was handed over at once.
#[derive(Debug, PartialEq, Eq)]
pub struct Handed {
    /// A line that was passed over before the text: its number, offset, and what is said of its length.
    pub overlong: Option<(u64, u64, String)>,
    /// Line of the first byte, from 1.
    pub line: u64,
    /// Offset of the first byte.
    pub offset: u64,
    /// Lines; the last one of a connection may have no end.
    pub text: Vec<u8>,
}

/// What a connection hands over on which these portions come, one after another; none is empty.
///
/// # Errors
/// When the parts of a service cannot be made.
pub fn receive(portions: &[Vec<u8>], record_bytes_max: usize) -> Result<Vec<Handed>> {
    let limits = LimitsConfig { record_bytes: Size(record_bytes_max), ..LimitsConfig::default() };
    let config = Config { limits: limits.clone(), ..Config::default() };
    let metrics = Arc::new(Metrics::new()?);
    let queue = Arc::new(Queue::new(1));
    let stream = StreamConfig { schema: "id: int64".to_owned(), ..StreamConfig::default() };
    let counts = metrics.stream("s");
    // The results are awaited by nobody; their channel has to live.
    let (stream, _results) = Stream::new("s", &config, stream, counts, Arc::clone(&queue))?;
    let (_go_on, stop) = watch::channel(false);
    let common = Common {
        limits,
        memory: Memory::new(MEMORY_BYTES, metrics.memory_bytes.clone()),
        growing: Memory::new(MEMORY_BYTES, metrics.memory_bytes.clone()),
        metrics,
        numbers: Numbers::begin(),
        connections: Arc::new(Semaphore::new(1)),
        stop,
    };
    let receiver = Receiver::new(Arc::new(common), Arc::clone(&stream), "fuzzer");
    let transport = Portions { portions, at: 0, taken: 0, wait: false };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A borrowed transport: the future ends before it does.
    runtime.block_on(receiver.run(transport));
    queue.close();
    let jobs = std::iter::from_fn(|| {
        let group = queue.take(0)?;
        queue.passed(&stream);
        Some(group)
    })
    .flatten();
    let handed = jobs.map(|entry| Handed {
        overlong: entry.job.overlong.map(|reject| {
            let position = &reject.error.position;
            (position.line, position.offset, reject.error.found.clone())
        }),
        line: entry.job.line,
        offset: entry.job.offset,
        text: entry.job.buffer.text().to_vec(),
    });
    Ok(handed.collect())
}

/// What a start makes of any bytes as a segment of a spool.
#[derive(Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Rows that wait, as the look at the start says.
    pub rows: u64,
    /// Rows of the messages that were read.
    pub read: u64,
    /// Numbers of the messages.
    pub sequences: Vec<u64>,
    /// Bytes that are no message.
    pub damaged: u64,
}

/// Opens a spool with such a segment and reads it to its end.
///
/// # Errors
/// Those of the disk.
pub fn recover(folder: &std::path::Path, segment: &[u8], place: &str) -> io::Result<Recovered> {
    std::fs::write(folder.join("000000000001.spool"), segment)?;
    std::fs::write(folder.join("place"), place)?;
    let mut spool = crate::spool::Spool::open(crate::disk::system(), folder, u64::MAX)?;
    let rows = spool.rows();
    let (mut read, mut sequences) = (0, Vec::new());
    while let Some((message, place)) = spool.next()? {
        read += message.rows() as u64;
        sequences.push(message.sequence);
        spool.finish(place, message.rows() as u64)?;
    }
    let damaged = spool.damaged_bytes();
    spool.finish_all()?;
    drop(spool);
    for entry in std::fs::read_dir(folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(Recovered { rows, read, sequences, damaged })
}

/// The bytes of a segment with so many messages.
///
/// # Errors
/// Those of the disk.
pub fn segment(folder: &std::path::Path, messages: u64) -> io::Result<Vec<u8>> {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    let mut spool = crate::spool::Spool::open(crate::disk::system(), folder, u64::MAX)?;
    for sequence in 1..=messages {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).map_err(io::Error::other)?;
        spool.append(&arrowsmith_message::Message {
            stream: "s".into(),
            schema: batch.schema(),
            batch,
            payload: bytes::Bytes::new(),
            sequence,
            origins: Vec::new(),
            key: None,
            received_at: std::time::SystemTime::UNIX_EPOCH,
            times: arrowsmith_message::StageTimes::begin(std::time::Instant::now()),
        })?;
    }
    spool.commit(false)?;
    std::fs::read(folder.join("000000000001.spool"))
}

/// Gives portions, with a wait after each; takes nothing.
struct Portions<'a> {
    portions: &'a [Vec<u8>],
    at: usize,
    taken: usize,
    wait: bool,
}

impl AsyncRead for Portions<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.wait) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(portion) = self.portions.get(self.at) else { return Poll::Ready(Ok(())) };
        let rest = portion.get(self.taken..).unwrap_or_default();
        let most = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..most]);
        self.taken += most;
        if most == rest.len() {
            self.at += 1;
            self.taken = 0;
            self.wait = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Portions<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        text: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(text.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(portions: &[&str], record_bytes_max: usize) -> Vec<Handed> {
        let portions: Vec<Vec<u8>> = portions.iter().map(|text| text.as_bytes().to_vec()).collect();
        receive(&portions, record_bytes_max).unwrap()
    }

    #[test]
    fn portions_come_out_as_lines() {
        let found = handed(&["a\nb", "c\nd"], 10);
        let texts: Vec<&[u8]> = found.iter().map(|one| &one.text[..]).collect();
        assert_eq!(texts, [&b"a\n"[..], b"bc\n", b"d"]);
        let places: Vec<(u64, u64)> = found.iter().map(|one| (one.line, one.offset)).collect();
        assert_eq!(places, [(1, 0), (2, 2), (3, 5)]);
        assert!(found.iter().all(|one| one.overlong.is_none()));
    }

    #[test]
    fn two_overlong_lines_one_after_the_other_are_two_rejects() {
        let long = "x".repeat(30);
        let tail = format!("{long}\n{long}");
        for last in ["\nok\n", "\n", ""] {
            let found = handed(&[&long, &tail, last], 10);
            let rejects: Vec<_> = found.iter().filter_map(|one| one.overlong.clone()).collect();
            let expected = [(1, 0, "60 bytes".to_owned()), (2, 61, "30 bytes".to_owned())];
            assert_eq!(rejects, expected, "{found:?}");
        }
    }
}
