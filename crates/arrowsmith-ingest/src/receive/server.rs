// SPDX-License-Identifier: Apache-2.0
//! HTTP connections: what serves routes on a listener, within the limits of the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrowsmith_publish::Slot;
use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::tcp::Tasks;
use super::{Common, stopped, tls};

/// Streams of one HTTP/2 connection at a time.
const HTTP2_STREAMS_MAX: u32 = 64;

/// HTTP/2 flow-control windows of a stream and of a connection, in bytes.
const HTTP2_STREAM_BYTES: u32 = 256 << 10;
const HTTP2_CONNECTION_BYTES: u32 = 1 << 20;

/// Maximum duration of open requests when the service ends.
const GRACE: Duration = Duration::from_secs(10);

/// The connection of a request.
pub(crate) struct ClientConnection {
    pub(crate) slot: Slot,
    /// Whether the listener is on loopback.
    pub(crate) loopback: bool,
    /// Whether a request has come yet.
    has_request: AtomicBool,
}

/// Serves routes on the connections of a listener, until the service ends.
pub(crate) async fn serve(
    common: Arc<Common>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    routes: Router,
) {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let stop = stopped(common.stop.clone());
    tokio::pin!(stop);
    let tasks = Tasks::new();
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let (socket, _) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                common.http_slots.evict_oldest();
                common.lines_slots.evict_oldest();
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let slot = common.http_slots.enter();
        let (common, tls, routes) = (Arc::clone(&common), tls.clone(), routes.clone());
        tasks.spawn(async move {
            drop(socket.set_nodelay(true));
            common.metrics.connections.inc();
            let client =
                |slot| ClientConnection { slot, loopback, has_request: AtomicBool::new(false) };
            match tls {
                None => connection(&common, socket, routes, client(slot)).await,
                Some(tls) => {
                    if let Some(socket) = tls::accept(&common, &tls, socket, &slot).await {
                        connection(&common, socket, routes, client(slot)).await;
                    }
                }
            }
            common.metrics.connections.dec();
        });
    }
    drop(listener);
    tasks.wait().await;
}

async fn connection<T>(common: &Common, socket: T, routes: Router, client: ClientConnection)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    let idle = common.limits.idle_seconds.duration();
    // A client may end its side after the request; it still waits for the answer, and its records
    // are stored either way.
    builder
        .http1()
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(idle.min(Duration::from_secs(30)));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .keep_alive_interval(Some(idle))
        .initial_stream_window_size(HTTP2_STREAM_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_BYTES);
    let client = Arc::new(client);
    let routes = TowerToHyperService::new(routes);
    let requester = Arc::clone(&client);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        requester.has_request.store(true, Ordering::Release);
        request.extensions_mut().insert(Arc::clone(&requester));
        routes.call(request)
    });
    let served = builder.serve_connection(TokioIo::new(socket), service);
    tokio::pin!(served);
    // The timers of the protocols start with the first bytes.
    let silent = async {
        sleep(common.greeting()).await;
        if client.has_request.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
    };
    let closed = |why: &str| common.metrics.closed.with_label_values(&[why]).inc();
    let served_or_stopped = tokio::select! {
        served = served.as_mut() => Some(served),
        () = stopped(common.stop.clone()) => None,
        () = silent => return closed("idle"),
        () = client.slot.evicted() => return closed("limit"),
    };
    let ended = match served_or_stopped {
        Some(ended) => ended,
        None => {
            served.as_mut().graceful_shutdown();
            match timeout(GRACE, served).await {
                Ok(ended) => ended,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended");
    }
}
