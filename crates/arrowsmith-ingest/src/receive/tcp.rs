// SPDX-License-Identifier: Apache-2.0
//! TCP: listening for connections, and dialling sources.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::connection::{Closed, Receiver};
use super::{Common, stopped, tls};
use crate::stream::Stream;

/// First and maximum wait between two attempts to connect.
const DIAL_WAIT: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(10)];

/// Takes connections until the service ends.
pub(crate) async fn listen(
    common: Arc<Common>,
    stream: Arc<Stream>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
) {
    let stop = stopped(common.stop.clone());
    tokio::pin!(stop);
    let tasks = Tasks::new();
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, as a rule: some connection has to end first.
                tracing::warn!(%error, "a connection cannot be taken");
                common.http_slots.evict_oldest();
                common.lines_slots.evict_oldest();
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let slot = common.lines_slots.enter();
        let (common, stream, tls) = (Arc::clone(&common), Arc::clone(&stream), tls.clone());
        tasks.spawn(async move {
            let name = format!("tcp:{peer}");
            drop(socket.set_nodelay(true));
            let _open = Open::new(&common, &stream);
            let receiver =
                |slot| Receiver::new(Arc::clone(&common), Arc::clone(&stream), &name, Some(slot));
            match tls {
                None => {
                    receiver(slot).run(socket).await;
                }
                Some(tls) => {
                    if let Some(socket) = tls::accept(&common, &tls, socket, &slot).await {
                        receiver(slot).run(socket).await;
                    }
                }
            }
        });
    }
    drop(listener);
    tasks.wait().await;
}

/// Connects to a source, again whenever it goes.
pub(crate) async fn dial(common: Arc<Common>, stream: Arc<Stream>, address: String) {
    let mut wait = DIAL_WAIT[0];
    loop {
        match dial_once(&common, &stream, &address).await {
            Ok(Closed::Stop) => return,
            Ok(closed) => {
                tracing::info!(address, why = closed.name(), "the source has gone");
                wait = DIAL_WAIT[0];
            }
            Err(error) => {
                tracing::warn!(address, %error, "the source cannot be reached; trying again");
                wait = (wait * 2).min(DIAL_WAIT[1]);
            }
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = stopped(common.stop.clone()) => return,
        }
    }
}

async fn dial_once(
    common: &Arc<Common>,
    stream: &Arc<Stream>,
    address: &str,
) -> io::Result<Closed> {
    // The end is waited for until there is a connection; then its receiver takes what is there, and
    // ends.
    let connect = async {
        tokio::select! {
            socket = timeout(tls::HANDSHAKE_MAX, TcpStream::connect(address)) => Ok(Some(socket??)),
            () = stopped(common.stop.clone()) => io::Result::Ok(None),
        }
    };
    let Some(socket) = connect.await? else { return Ok(Closed::Stop) };
    let _open = Open::new(common, stream);
    let name = format!("dial:{address}");
    let receiver = Receiver::new(Arc::clone(common), Arc::clone(stream), &name, None);
    match &stream.config.dial_tls {
        None => Ok(receiver.run(socket).await),
        Some(authorities) => {
            let socket = tokio::select! {
                socket = tls::connect(authorities, address, socket) => socket?,
                () = stopped(common.stop.clone()) => return Ok(Closed::Stop),
            };
            Ok(receiver.run(socket).await)
        }
    }
}

/// Counts an open connection.
pub(crate) struct Open {
    common: Arc<Common>,
    stream: Arc<Stream>,
}

impl Open {
    pub(crate) fn new(common: &Arc<Common>, stream: &Arc<Stream>) -> Self {
        common.metrics.connections.inc();
        stream.metrics.connections.inc();
        Self { common: Arc::clone(common), stream: Arc::clone(stream) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.common.metrics.connections.dec();
        self.stream.metrics.connections.dec();
    }
}

/// Tasks that are waited for.
pub(crate) struct Tasks {
    alive: tokio::sync::mpsc::Sender<()>,
    ended: tokio::sync::mpsc::Receiver<()>,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        let (alive, ended) = tokio::sync::mpsc::channel(1);
        Self { alive, ended }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let alive = self.alive.clone();
        tokio::spawn(async move {
            task.await;
            drop(alive);
        });
    }

    /// Waits until all have ended.
    pub(crate) async fn wait(mut self) {
        drop(self.alive);
        // Nothing is ever sent; it ends with the last task.
        let _: Option<()> = self.ended.recv().await;
    }
}
