// SPDX-License-Identifier: Apache-2.0
//! One TCP connection: records out, lines with the number of settled records back.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::feed::{Feed, Item};
use crate::report::Count;
use crate::run::{Shared, Tries, within};
use crate::tls::{Stream, connect, secure};

/// Maximum unacknowledged text of a connection, in bytes; sending waits beyond it.
const PENDING_BYTES_MAX: usize = 64 << 20;
/// How long to wait for the other side to close when everything is acknowledged.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// The chunks that were sent and not acknowledged.
#[derive(Default)]
struct Pending {
    items: VecDeque<Item>,
    bytes: usize,
    /// Number of settled records of this connection, in whole items.
    settled: u64,
}

/// Sends the feed over one connection. On failure, unacknowledged chunks are returned to the feed.
pub(crate) async fn session(
    shared: &Shared,
    feed: &mut Feed,
    count: &mut Count,
    tries: &mut Tries,
) -> Result<()> {
    let options = &shared.options;
    let mut stream = within(options.timeout, open(shared)).await?;
    count.report.connections += 1;
    if let Some(token) = &options.token {
        stream.write_all(format!("{token}\n").as_bytes()).await?;
    }
    let (reader, writer) = tokio::io::split(stream);
    let pending = Mutex::new(Pending::default());
    let moved = Notify::new();
    let counts = Mutex::new((&mut *count, tries));
    let result = if options.acknowledge {
        count_or(&counts).0.report.acknowledged_records.get_or_insert(0);
        let acknowledged = acknowledgements(reader, &pending, &moved, &counts);
        tokio::pin!(acknowledged);
        let sent = send(writer, feed, &pending, &moved, &counts, true);
        tokio::select! {
            // If the acknowledgements end before everything is sent, this is a failure.
            ended = &mut acknowledged => Err(ended.err().unwrap_or_else(closed)),
            result = sent => match result {
                // The writer is kept until here, because dropping it would not close the other
                // half.
                Ok(writer) => finish(&pending, &moved, acknowledged, options.timeout, writer).await,
                Err(error) => Err(error),
            },
        }
    } else {
        let sent = send(writer, feed, &pending, &moved, &counts, false);
        tokio::pin!(sent);
        let mut drained = Box::pin(drain(reader));
        let result = tokio::select! {
            result = &mut sent => result.map(|writer| (writer, false)),
            ended = &mut drained => match ended {
                // The other side sends nothing; whether it still reads shows when sending fails.
                Ok(()) => sent.await.map(|writer| (writer, true)),
                Err(error) => Err(error),
            },
        };
        match result {
            Ok((_writer, true)) => Ok(()),
            Ok((_writer, false)) => tokio::time::timeout(options.timeout.min(CLOSE_WAIT), drained)
                .await
                .unwrap_or(Ok(())),
            Err(error) => Err(error),
        }
    };
    feed.give_back(lock(&pending).items.drain(..));
    result
}

type Counts<'a> = Mutex<(&'a mut Count, &'a mut Tries)>;

fn count_or<'a, 'b>(counts: &'a Counts<'b>) -> MutexGuard<'a, (&'b mut Count, &'b mut Tries)> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "closed before everything was acknowledged")
}

async fn open(shared: &Shared) -> Result<Box<dyn Stream>> {
    match &shared.listener {
        None => connect(&shared.options.target, shared.tls.as_ref()).await,
        Some(listener) => secure(listener.accept().await?.0, &shared.options.target, None).await,
    }
}

/// Sends everything and closes this direction.
async fn send<W: AsyncWrite + Unpin>(
    mut writer: W,
    feed: &mut Feed,
    pending: &Mutex<Pending>,
    moved: &Notify,
    counts: &Counts<'_>,
    keep: bool,
) -> Result<W> {
    loop {
        while lock(pending).bytes >= PENDING_BYTES_MAX {
            moved.notified().await;
        }
        let Some(item) = feed.next() else { break };
        let text = item.chunk.text.clone();
        {
            // Before it is sent, because an acknowledgement may be faster than this task.
            let mut pending = lock(pending);
            pending.bytes += text.len();
            pending.items.push_back(item.clone());
        }
        sleep_until(item.due.into()).await;
        writer.write_all(&text).await?;
        let mut counts = count_or(counts);
        counts.0.sent(&item);
        if !keep {
            counts.1.succeeded();
            let mut pending = lock(pending);
            pending.items.pop_front();
            pending.bytes -= text.len();
        }
    }
    writer.shutdown().await?;
    Ok(writer)
}

/// Waits for the remaining acknowledgements, as long as they make progress.
async fn finish<W>(
    pending: &Mutex<Pending>,
    moved: &Notify,
    mut acknowledged: std::pin::Pin<&mut impl Future<Output = Result<()>>>,
    timeout: Duration,
    _writer: W,
) -> Result<()> {
    loop {
        if lock(pending).items.is_empty() {
            return Ok(());
        }
        tokio::select! {
            ended = &mut acknowledged => {
                ended?;
                return if lock(pending).items.is_empty() { Ok(()) } else { Err(closed()) };
            }
            progress = tokio::time::timeout(timeout, moved.notified()) => {
                if progress.is_err() {
                    return Err(Error::new(ErrorKind::TimedOut, "no acknowledgement in time"));
                }
            }
        }
    }
}

/// Reads acknowledgements until the other side closes.
async fn acknowledgements<R: AsyncRead + Unpin>(
    mut reader: R,
    pending: &Mutex<Pending>,
    moved: &Notify,
    counts: &Counts<'_>,
) -> Result<()> {
    let mut buffer = [0; 4096];
    let mut number: Option<u64> = None;
    loop {
        let length = reader.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let mut latest = None;
        for &byte in &buffer[..length] {
            if byte == b'\n' {
                latest = number.take().or(latest);
                continue;
            }
            let digit = char::from(byte).to_digit(10);
            let next =
                digit.and_then(|d| number.unwrap_or(0).checked_mul(10)?.checked_add(d.into()));
            let Some(next) = next else {
                let what = "the response is not an acknowledgement";
                return Err(Error::new(ErrorKind::InvalidData, what));
            };
            number = Some(next);
        }
        if let Some(settled) = latest {
            settle(&mut lock(pending), settled, counts)?;
            moved.notify_one();
        }
    }
}

/// Removes the chunks that are completely settled.
fn settle(pending: &mut Pending, settled: u64, counts: &Counts<'_>) -> Result<()> {
    while let Some(item) = pending.items.front() {
        let end = pending.settled + item.chunk.records;
        if end > settled {
            return Ok(());
        }
        pending.settled = end;
        pending.bytes -= item.chunk.text.len();
        let mut counts = count_or(counts);
        counts.0.acknowledged(item);
        counts.1.succeeded();
        pending.items.pop_front();
    }
    if settled > pending.settled {
        let what = format!("{settled} records were acknowledged, {} were sent", pending.settled);
        return Err(Error::new(ErrorKind::InvalidData, what));
    }
    Ok(())
}

/// Reads and discards input until the other side closes.
async fn drain<R: AsyncRead + Unpin>(mut reader: R) -> Result<()> {
    tokio::io::copy(&mut reader, &mut tokio::io::sink()).await.map(|_| ())
}
