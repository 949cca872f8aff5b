// SPDX-License-Identifier: Apache-2.0
//! HTTP: the routes, and the connections that they are served on.
//!
//! Records come in by [`receive::http`](crate::receive::http); the rest shows what the service does.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrowsmith_publish::Visitor;
use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::history::History;
use crate::receive::http::{bearer, is_known, post as post_records};
use crate::receive::refusal::Refusal;
use crate::receive::tcp::Tasks;
use crate::receive::{Common, stopped};
use crate::status::{Board, Texts};
use crate::stream::Stream;
use crate::tls;

/// Streams of one HTTP/2 connection at a time.
const HTTP2_STREAMS_MAX: u32 = 64;

/// What a client may send ahead of what is taken, of a stream and of all streams of its connection.
const HTTP2_STREAM_BYTES: u32 = 256 << 10;
const HTTP2_CONNECTION_BYTES: u32 = 1 << 20;

/// Longest that open requests may take when the service ends.
const GRACE: Duration = Duration::from_secs(10);

/// Who asks, and where: of the connection that a request came on.
pub(crate) struct Guest {
    pub(crate) visitor: Visitor,
    /// Whether only this machine reaches the listener.
    loopback: bool,
    /// Whether anything was asked for yet.
    asked: AtomicBool,
}

/// What handlers share.
pub(crate) struct Web {
    pub(crate) common: Arc<Common>,
    pub(crate) streams: HashMap<String, Arc<Stream>>,
    pub(crate) board: Board,
    pub(crate) history: History,
    pub(crate) admin_token: Option<String>,
    /// Whether everything has been opened, and ends not yet.
    pub(crate) ready: AtomicBool,
}

impl Web {
    /// The state as JSON, with the text of records for those who may read them.
    pub(crate) fn status(&self, texts: Texts) -> serde_json::Value {
        self.board.status(*self.common.stop.borrow(), texts)
    }

    /// What may be shown of records that were left out: all to who knows the admin's token, else only
    /// on this machine that of streams that anybody may send to.
    fn texts(&self, guest: &Guest) -> Texts {
        match (&self.admin_token, guest.loopback) {
            (Some(_), _) => Texts::All,
            (None, true) => Texts::OpenStreams,
            (None, false) => Texts::None,
        }
    }

    /// What is not as it should be; empty when the service is ready.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.ready.load(Ordering::Acquire) || *self.common.stop.borrow() {
            faults.push("the service starts or ends".to_owned());
        }
        for (stream, sinks) in &self.board.streams {
            for (name, sink) in sinks {
                let spools = stream.config.spool.as_ref();
                let room = spools.is_some_and(|spool| {
                    usize::try_from(sink.spool_bytes.get()).is_ok_and(|bytes| bytes < spool.bytes.0)
                });
                if sink.up.get() == 0 && !room {
                    faults.push(format!("stream {}: sink {name} is away", stream.name));
                }
            }
        }
        faults
    }
}

/// The routes of records.
pub(crate) fn records() -> Router<Arc<Web>> {
    Router::new().route("/v1/{stream}", post(post_records))
}

/// The routes that show what the service does.
pub(crate) fn admin(web: &Arc<Web>) -> Router<Arc<Web>> {
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .route("/v1/status.json", get(status))
        .route("/v1/status/events", get(events))
        .route("/v1/status/history.json", get(history))
        .route_layer(from_fn_with_state(Arc::clone(web), guard));
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    Router::new()
        .merge(guarded)
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/", file("text/html; charset=utf-8", include_str!("../dashboard/index.html")))
        .route(
            "/dashboard.css",
            file("text/css; charset=utf-8", include_str!("../dashboard/dashboard.css")),
        )
        .route(
            "/dashboard.js",
            file("text/javascript; charset=utf-8", include_str!("../dashboard/dashboard.js")),
        )
}

/// Lets only those in who know the token: as bearer, or `?token=` for browsers.
async fn guard(State(web): State<Arc<Web>>, request: Request, next: Next) -> Response {
    if let Some(token) = &web.admin_token {
        let tokens = std::slice::from_ref(token);
        let query = request.uri().query().unwrap_or_default();
        let query =
            query.split('&').find_map(|part| part.strip_prefix("token=")).unwrap_or_default();
        if !is_known(tokens, bearer(request.headers())) && !is_known(tokens, query.as_bytes()) {
            let how = [(header::WWW_AUTHENTICATE, "Bearer")];
            return (StatusCode::UNAUTHORIZED, how, "this needs the admin token\n").into_response();
        }
        if let Some(guest) = request.extensions().get::<Arc<Guest>>()
            && !guest.visitor.admit()
        {
            return Refusal::Crowded.into_response();
        }
    }
    next.run(request).await
}

async fn metrics(State(web): State<Arc<Web>>) -> Response {
    match web.common.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn status(State(web): State<Arc<Web>>, Extension(guest): Extension<Arc<Guest>>) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, web.status(web.texts(&guest)).to_string()).into_response()
}

/// The last hour, stream by stream.
async fn history(State(web): State<Arc<Web>>) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    let names: Vec<&str> = web.board.streams.iter().map(|(stream, _)| &*stream.name).collect();
    (headers, web.history.value(&names).to_string()).into_response()
}

async fn ready(State(web): State<Arc<Web>>) -> Response {
    let faults = web.faults();
    if faults.is_empty() {
        return "ready\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, faults.join("\n") + "\n").into_response()
}

/// The state once a second, as server-sent events, until the service ends.
async fn events(State(web): State<Arc<Web>>, Extension(guest): Extension<Arc<Guest>>) -> Response {
    let texts = web.texts(&guest);
    let events = futures_util::stream::unfold((web, true), move |(web, first)| async move {
        if !first {
            tokio::select! {
                () = sleep(Duration::from_secs(1)) => {}
                () = stopped(web.common.stop.clone()) => return None,
            }
        }
        let event = Event::default().data(web.status(texts).to_string());
        Some((Ok::<_, std::convert::Infallible>(event), (web, false)))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
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
                common.http_doors.make_room();
                common.lines_doors.make_room();
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let visitor = common.http_doors.enter();
        let (common, tls, routes) = (Arc::clone(&common), tls.clone(), routes.clone());
        tasks.spawn(async move {
            drop(socket.set_nodelay(true));
            common.metrics.connections.inc();
            let guest = |visitor| Guest { visitor, loopback, asked: AtomicBool::new(false) };
            match tls {
                None => connection(&common, socket, routes, guest(visitor)).await,
                Some(tls) => {
                    if let Some(socket) = tls::accept(&common, &tls, socket, &visitor).await {
                        connection(&common, socket, routes, guest(visitor)).await;
                    }
                }
            }
            common.metrics.connections.dec();
        });
    }
    drop(listener);
    tasks.wait().await;
}

async fn connection<T>(common: &Common, socket: T, routes: Router, guest: Guest)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    let idle = common.limits.idle_seconds.duration();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(idle.min(Duration::from_secs(30)));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .keep_alive_interval(Some(idle))
        .initial_stream_window_size(HTTP2_STREAM_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_BYTES);
    let guest = Arc::new(guest);
    let routes = TowerToHyperService::new(routes);
    let asker = Arc::clone(&guest);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        asker.asked.store(true, Ordering::Release);
        request.extensions_mut().insert(Arc::clone(&asker));
        routes.call(request)
    });
    let served = builder.serve_connection(TokioIo::new(socket), service);
    tokio::pin!(served);
    // No timer of the protocols runs before their first bytes have come.
    let silent = async {
        sleep(common.greeting()).await;
        if guest.asked.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
    };
    let closed = |why: &str| common.metrics.closed.with_label_values(&[why]).inc();
    let served_or_stopped = tokio::select! {
        served = served.as_mut() => Some(served),
        () = stopped(common.stop.clone()) => None,
        () = silent => return closed("idle"),
        () = guest.visitor.sent_away() => return closed("limit"),
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
