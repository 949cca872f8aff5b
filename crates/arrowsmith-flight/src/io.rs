// SPDX-License-Identifier: Apache-2.0
//! A socket that is written to seldom and much at a time.
//!
//! HTTP/2 wants a frame header before every 16 KiB unless the peer allows more, and the library
//! below flushes after every frame: a system call each. Here frames are gathered until there are
//! [`GATHER_BYTES`] of them, or until the connection's task has nothing left to send: a flush only
//! schedules another poll of the task, and the read at the start of every poll writes what is left.
//! Large writes pass through without a copy.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are gathered before the system is called.
const GATHER_BYTES: usize = 256 << 10;

/// Writes of this size go to the system as they are.
const DIRECT_BYTES: usize = 64 << 10;

/// A stream whose small writes are gathered.
pub(crate) struct Gathered<S> {
    inner: S,
    buffer: Vec<u8>,
    written: usize,
    /// Whether another poll was scheduled.
    asked: bool,
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, buffer: Vec::new(), written: 0, asked: false }
    }

    fn pending(&self) -> &[u8] {
        self.buffer.get(self.written..).unwrap_or_default()
    }

    /// Writes the gathered frames.
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let rest = self.buffer.get(self.written..).unwrap_or_default();
            let count = ready!(Pin::new(&mut self.inner).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.buffer.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

/// The preface of an HTTP/2 connection.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.asked = false;
        // A full socket wakes this task when it has room; reading does not wait for that.
        if let Poll::Ready(Err(error)) = self.drain(cx) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.inner).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if total >= DIRECT_BYTES {
            ready!(self.drain(cx))?;
            return Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        }
        if self.pending().len() + total > GATHER_BYTES {
            ready!(self.drain(cx))?;
        }
        for slice in slices {
            self.buffer.extend_from_slice(slice);
        }
        Poll::Ready(Ok(total))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.pending().is_empty() && !self.asked {
            self.asked = true;
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
