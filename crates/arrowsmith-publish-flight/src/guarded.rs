// SPDX-License-Identifier: Apache-2.0
//! The connections of the endpoint: their maximum number, and the time limit of their first
//! request.
//!
//! A socket that sends nothing, before TLS or in the preface of HTTP/2, never reaches the handlers
//! of requests and their timers. So each connection is unauthenticated until a request with a token
//! has come; until then it has a deadline, and may be closed for a newer one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrowsmith_publish::{Slot, Slots};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;
use tonic::transport::server::Connected;
use tracing::warn;

/// A connection and its slot.
pub(crate) struct Guarded {
    socket: TcpStream,
    slot: Arc<Slot>,
    deadline: Pin<Box<Sleep>>,
}

/// The connection of a request.
#[derive(Clone)]
pub(crate) struct ClientConnection(Arc<Slot>);

impl ClientConnection {
    /// Admits the connection. `false` if there is no slot.
    pub(crate) fn admit(&self) -> bool {
        self.0.admit()
    }
}

/// Incoming connections.
pub(crate) fn incoming(
    listener: TcpListener,
    slots: Arc<Slots>,
    greeting: Duration,
) -> BoxStream<'static, io::Result<Guarded>> {
    let next = move |listener: TcpListener| {
        let slots = Arc::clone(&slots);
        async move {
            loop {
                match listener.accept().await {
                    Ok((socket, _)) => {
                        drop(socket.set_nodelay(true));
                        let slot = Arc::new(slots.enter());
                        let deadline = Box::pin(tokio::time::sleep(greeting));
                        return Some((Ok(Guarded { socket, slot, deadline }), listener));
                    }
                    Err(error) => {
                        // Usually out of file descriptors: some connection has to end first.
                        warn!(%error, "a connection cannot be taken");
                        slots.evict_oldest();
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        }
    };
    stream::unfold(listener, next).boxed()
}

impl Connected for Guarded {
    type ConnectInfo = ClientConnection;

    fn connect_info(&self) -> ClientConnection {
        ClientConnection(Arc::clone(&self.slot))
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.slot.is_admitted()
            && (self.deadline.as_mut().poll(context).is_ready()
                || self.slot.poll_evicted(context).is_ready())
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        text: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, text)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
