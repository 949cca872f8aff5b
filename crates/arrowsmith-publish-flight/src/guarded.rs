// SPDX-License-Identifier: Apache-2.0
//! The connections of the endpoint: how many there may be, and how long one may take to say what it wants.
//!
//! A socket that says nothing, before TLS or in the preface of HTTP/2, never comes to where requests
//! are looked at, and no timer of theirs runs. So each is a stranger with a deadline until a request
//! with a token has come, and makes room for those that come after it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrowsmith_publish::{Doors, Visitor};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;
use tonic::transport::server::Connected;
use tracing::warn;

/// A connection and its place.
pub(crate) struct Guarded {
    socket: TcpStream,
    visitor: Arc<Visitor>,
    deadline: Pin<Box<Sleep>>,
}

/// What a request knows of its connection.
#[derive(Clone)]
pub(crate) struct Guest(Arc<Visitor>);

impl Guest {
    /// Lets the connection stay. `false` when there is no place.
    pub(crate) fn admit(&self) -> bool {
        self.0.admit()
    }
}

/// The connections that come.
pub(crate) fn incoming(
    listener: TcpListener,
    doors: Arc<Doors>,
    greeting: Duration,
) -> BoxStream<'static, io::Result<Guarded>> {
    let next = move |listener: TcpListener| {
        let doors = Arc::clone(&doors);
        async move {
            loop {
                match listener.accept().await {
                    Ok((socket, _)) => {
                        drop(socket.set_nodelay(true));
                        let visitor = Arc::new(doors.enter());
                        let deadline = Box::pin(tokio::time::sleep(greeting));
                        return Some((Ok(Guarded { socket, visitor, deadline }), listener));
                    }
                    Err(error) => {
                        // Out of descriptors, as a rule: some connection has to end first.
                        warn!(%error, "a connection cannot be taken");
                        doors.make_room();
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        }
    };
    stream::unfold(listener, next).boxed()
}

impl Connected for Guarded {
    type ConnectInfo = Guest;

    fn connect_info(&self) -> Guest {
        Guest(Arc::clone(&self.visitor))
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.visitor.is_known()
            && (self.deadline.as_mut().poll(context).is_ready()
                || self.visitor.poll_sent_away(context).is_ready())
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
