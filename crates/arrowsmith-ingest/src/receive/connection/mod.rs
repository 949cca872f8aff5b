// SPDX-License-Identifier: Apache-2.0
//! One connection that sends lines, of any transport.
//!
//! Between lines it holds a small buffer; when bytes come, it waits for a large one, fills it with
//! all available bytes, and hands over the whole lines. A long line is collected separately, within
//! a limit that all connections share.

mod long_lines;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use arrowsmith_publish::Slot;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use super::acknowledge::{Acknowledged, acknowledge};
use super::lines::{Cut, Lines};
use super::submit::{Ended, Submitter};
use super::{Common, Rate, http, stopped};
use crate::job::{Progress, Sender};
use crate::memory::{Buffer, Grant};
use crate::stream::Stream;

/// Bytes of an incomplete line that need no grant.
const SMALL_BYTES: usize = 4 << 10;

/// When the service ends, the bytes in the system's buffers are still received: as long as they
/// come within this time of each other, up to the size of those buffers.
const LINGER: Duration = Duration::from_millis(50);
const LAST_BYTES_MAX: usize = 16 << 20;

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The sender ended it.
    End,
    /// Reading failed.
    Error,
    /// Nothing came for too long.
    Idle,
    /// A line took too long.
    Slow,
    /// There was no memory for a long line.
    Memory,
    /// The first line was not the token.
    Token,
    /// The maximum number of connections is reached.
    Limit,
    /// The service ends.
    Stop,
    /// A buffer of it was lost, so that no acknowledgement would be true any more.
    Lost,
}

impl Closed {
    /// As the metrics call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Error => "error",
            Self::Idle => "idle",
            Self::Slow => "slow",
            Self::Memory => "memory",
            Self::Token => "token",
            Self::Limit => "limit",
            Self::Stop => "stop",
            Self::Lost => "lost",
        }
    }
}

impl From<Ended> for Closed {
    fn from(_: Ended) -> Self {
        Self::Stop
    }
}

/// What reads a connection.
pub(crate) struct Receiver {
    common: Arc<Common>,
    stream: Arc<Stream>,
    submitter: Submitter,
    /// The slot of the connection, if it needs one: unauthenticated until its token is read.
    slot: Option<Arc<Slot>>,
    /// The start of a line.
    carry: Vec<u8>,
    /// For a carry above [`SMALL_BYTES`].
    carry_grant: Option<Grant>,
    /// When the first byte of the carry came.
    carry_since: Option<(Instant, SystemTime)>,
    /// Time spent waiting for the sender since the line started, without the time that the sender
    /// had to wait.
    waited: Duration,
    rate: Rate,
    /// Whether reading failed: the system reports that once, and an end the next time.
    failed: bool,
}

impl Receiver {
    pub(crate) fn new(
        common: Arc<Common>,
        stream: Arc<Stream>,
        name: &str,
        slot: Option<Slot>,
    ) -> Self {
        let sender = Sender { name: name.into(), number: common.numbers.next() };
        let progress = stream.config.acknowledge.then(Arc::<Progress>::default);
        let lines = Lines::new(common.limits.record_bytes.0);
        Self {
            submitter: Submitter::new(
                Arc::clone(&common),
                Arc::clone(&stream),
                sender,
                progress,
                lines,
            ),
            rate: Rate::new(common.limits.rate_bytes_per_second.0),
            slot: slot.map(Arc::new),
            carry: Vec::new(),
            carry_grant: None,
            carry_since: None,
            waited: Duration::ZERO,
            failed: false,
            common,
            stream,
        }
    }

    /// Reads until the connection or the service ends.
    pub(crate) async fn run<T: AsyncRead + AsyncWrite + Send + Unpin>(
        mut self,
        mut transport: T,
    ) -> Closed {
        let closed = match &self.submitter.progress {
            None => {
                let closed = self.read(&mut transport).await;
                // With TLS, only this distinguishes an orderly end from a truncation.
                drop(timeout(LINGER, transport.shutdown()).await);
                closed
            }
            Some(progress) => {
                let progress = Arc::clone(progress);
                let (mut input, mut output) = tokio::io::split(transport);
                let mut acknowledged = Acknowledged::default();
                let (closed, limit) = {
                    let limit = self.common.limits.idle_seconds.duration();
                    let acknowledging = acknowledge(&progress, &mut output, &mut acknowledged);
                    tokio::select! {
                        closed = self.read(&mut input) => (closed, limit),
                        // The client does not read acknowledgements; what it sent is received all
                        // the same.
                        never = acknowledging => match never {},
                        // The sender continues after the last number that it was sent.
                        () = progress.lost() => (Closed::Lost, limit),
                    }
                };
                // What was handed over is settled soon; then the last number is sent.
                let all = async {
                    loop {
                        let changed = progress.changed.notified();
                        let settled = progress.bytes.load(Ordering::Acquire);
                        let sent = progress.sent_bytes.load(Ordering::Acquire);
                        if settled >= sent || progress.is_lost() {
                            break;
                        }
                        changed.await;
                    }
                };
                if timeout(limit, all).await.is_ok() {
                    let last = progress.records.load(Ordering::Acquire);
                    drop(timeout(limit, acknowledged.end(last, &mut output)).await);
                }
                closed
            }
        };
        self.finish(closed).await;
        closed
    }

    async fn read<T: AsyncRead + Unpin>(&mut self, input: &mut T) -> Closed {
        if !self.stream.config.tokens.is_empty()
            && let Err(closed) = self.token(input).await
        {
            return closed;
        }
        let closed = self.receive(input).await;
        self.last(closed).await;
        closed
    }

    async fn receive<T: AsyncRead + Unpin>(&mut self, input: &mut T) -> Closed {
        let stop = stopped(self.common.stop.clone());
        tokio::pin!(stop);
        let slot = self.slot.clone();
        let mut small = [0; SMALL_BYTES];
        // After the end was requested: bytes that may still be received.
        let mut left: Option<usize> = None;
        loop {
            if self.failed {
                return Closed::Error;
            }
            let limit = if left.is_some() { LINGER } else { self.wait() };
            let read = async {
                if self.carry.len() > SMALL_BYTES && !self.submitter.lines.is_passing() {
                    self.read_long(input).await
                } else {
                    input.read(&mut small).await.map_err(|_| Closed::Error)
                }
            };
            let began = Instant::now();
            let count = tokio::select! {
                biased;
                () = &mut stop, if left.is_none() => {
                    left = Some(LAST_BYTES_MAX);
                    continue;
                }
                () = evicted(slot.as_deref()) => return Closed::Limit,
                result = timeout(limit, read) => match result {
                    Ok(Ok(0)) => return Closed::End,
                    Ok(Ok(count)) => count,
                    Ok(Err(closed)) => return closed,
                    Err(_) if left.is_some() => return Closed::Stop,
                    Err(_) if self.carry.is_empty() && !self.submitter.lines.is_passing() => return Closed::Idle,
                    Err(_) => return Closed::Slow,
                },
            };
            // A connection that sends data, after its token if one is needed, is not silent.
            if slot.as_ref().is_some_and(|slot| !slot.admit()) {
                return Closed::Limit;
            }
            let now = (Instant::now(), SystemTime::now());
            if !self.carry.is_empty() || self.submitter.lines.is_passing() {
                self.waited += now.0.saturating_duration_since(began);
            }
            let long = self.carry.len() > SMALL_BYTES && !self.submitter.lines.is_passing();
            let taken = if long {
                self.take_long(count).await
            } else {
                self.take(&small[..count], input, now).await
            };
            match taken {
                Ok(bytes) if left.is_some_and(|left| left < bytes) => return Closed::Stop,
                Ok(bytes) => {
                    left = left.map(|left| left - bytes);
                    self.rate.wait(bytes).await;
                }
                Err(closed) => return closed,
            }
        }
    }

    /// Time limit for the next byte.
    fn wait(&self) -> Duration {
        let limits = &self.common.limits;
        if self.carry.is_empty() && !self.submitter.lines.is_passing() {
            return limits.idle_seconds.duration();
        }
        limits.record_seconds.duration().saturating_sub(self.waited)
    }

    /// Receives the first bytes, and all that are available with them, into a large buffer.
    async fn take<T: AsyncRead + Unpin>(
        &mut self,
        mut first: &[u8],
        input: &mut T,
        now: (Instant, SystemTime),
    ) -> Result<usize, Closed> {
        let mut bytes = first.len();
        self.pass_over(&mut first, false);
        if first.is_empty() && !self.submitter.has_overlong() {
            return Ok(bytes);
        }
        let mut buffer = self.common.memory.buffer().await.ok_or(Closed::Stop)?;
        let known = self.carry.len();
        buffer.append(&std::mem::take(&mut self.carry));
        buffer.append(first);
        let (more, failed) = fill(input, &mut buffer).await;
        bytes += more;
        self.failed |= failed;
        let since = self.carry_since.take().unwrap_or(now);
        match self.submitter.lines.cut(buffer.text(), known) {
            Cut::Whole(len) => {
                self.carry = buffer.split_off(len);
                self.waited = Duration::ZERO;
                self.submitter.over(buffer, since).await?;
                if !self.carry.is_empty() {
                    self.carry_since = Some(now);
                    self.grant_carry().await?;
                }
            }
            Cut::More => {
                self.carry = buffer.text().to_vec();
                self.carry_since = (!self.carry.is_empty()).then_some(since);
                drop(buffer);
                self.grant_carry().await?;
            }
            Cut::TooLong => {
                // Its memory is released before more is requested.
                let text = buffer.text().to_vec();
                drop(buffer);
                self.too_long(&text, since).await?;
            }
        }
        Ok(bytes)
    }

    /// Skips the rest of an overlong line.
    fn pass_over(&mut self, text: &mut &[u8], end: bool) {
        while self.submitter.lines.is_passing() && (!text.is_empty() || end) {
            let used = self.submitter.pass_over(text, end);
            *text = &text[used..];
            if self.submitter.has_overlong() {
                self.carry_since = None;
                self.waited = Duration::ZERO;
            }
        }
    }

    async fn finish(&mut self, closed: Closed) {
        self.common.metrics.closed.with_label_values(&[closed.name()]).inc();
        tracing::debug!(
            sender = &*self.submitter.sender.name,
            why = closed.name(),
            bytes = self.submitter.lines.offset,
            "closed"
        );
    }

    /// Reads the first line, which has to be a token.
    async fn token<T: AsyncRead + Unpin>(&mut self, input: &mut T) -> Result<(), Closed> {
        let most = self.stream.config.tokens.iter().map(String::len).max().unwrap_or(0) + 2;
        let mut line = Vec::new();
        let read = async {
            // Byte by byte, so that nothing after it is consumed; it is short.
            while line.len() < most {
                let byte = input.read_u8().await.map_err(|_| Closed::Token)?;
                if byte == b'\n' {
                    return Ok(());
                }
                line.push(byte);
            }
            Err(Closed::Token)
        };
        let limit = self.common.greeting().min(self.common.limits.record_seconds.duration());
        tokio::select! {
            biased;
            read = timeout(limit, read) => read.map_err(|_| Closed::Slow)??,
            () = evicted(self.slot.as_deref()) => return Err(Closed::Limit),
            () = stopped(self.common.stop.clone()) => return Err(Closed::Stop),
        }
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if http::is_known(&self.stream.config.tokens, line) { Ok(()) } else { Err(Closed::Token) }
    }
}

/// Ends when the slot of a silent connection is needed for another.
async fn evicted(slot: Option<&Slot>) {
    match slot {
        Some(slot) => slot.evicted().await,
        None => std::future::pending().await,
    }
}

/// Fills the buffer with the available bytes, without waiting. Also returns whether reading failed:
/// an end is reported again by the next read, a failure need not be.
async fn fill<T: AsyncRead + Unpin>(input: &mut T, buffer: &mut Buffer) -> (usize, bool) {
    let before = buffer.len;
    let failed = std::future::poll_fn(|context: &mut Context<'_>| {
        loop {
            let room = buffer.room();
            if room.is_empty() {
                return Poll::Ready(false);
            }
            let mut space = ReadBuf::new(room);
            match Pin::new(&mut *input).poll_read(context, &mut space) {
                Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                    let count = space.filled().len();
                    buffer.len += count;
                }
                Poll::Ready(Err(_)) => return Poll::Ready(true),
                _ => return Poll::Ready(false),
            }
        }
    })
    .await;
    (buffer.len - before, failed)
}
