// SPDX-License-Identifier: Apache-2.0
//! The routes that show what the service does: metrics, health, status, dashboard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::time::sleep;

use super::history::History;
use super::status::{StatusSource, Texts};
use crate::receive::http::{bearer, is_known};
use crate::receive::refusal::Refusal;
use crate::receive::server::ClientConnection;
use crate::receive::{Common, stopped};

/// What handlers share.
pub(crate) struct Web {
    pub(crate) common: Arc<Common>,
    pub(crate) board: Arc<StatusSource>,
    pub(crate) history: Arc<History>,
    pub(crate) admin_token: Option<String>,
    /// Whether everything has been opened, and ends not yet.
    pub(crate) ready: AtomicBool,
}

impl Web {
    /// The state as JSON, with the text of records for clients that may read them.
    pub(crate) fn status(&self, texts: Texts) -> serde_json::Value {
        self.board.status(*self.common.stop.borrow(), texts)
    }

    /// Which rejected records may be shown: all of them with the admin token; without one, on
    /// loopback only, those of streams without tokens.
    fn texts(&self, client: &ClientConnection) -> Texts {
        match (&self.admin_token, client.loopback) {
            (Some(_), _) => Texts::All,
            (None, true) => Texts::OpenStreams,
            (None, false) => Texts::None,
        }
    }

    /// Why the service is not ready; empty when it is.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.ready.load(Ordering::Acquire) || *self.common.stop.borrow() {
            faults.push("the service starts or ends".to_owned());
        }
        for (stream, sinks) in &self.board.streams {
            if stream.metrics.rejects_writable.get() == 0 {
                faults.push(format!("stream {}: rejects cannot be written", stream.name));
            }
            for (name, sink) in sinks {
                if sink.spool_writable.get() == 0 {
                    let stream = &stream.name;
                    let fault = format!("stream {stream}: the spool of {name} cannot be written");
                    faults.push(fault);
                    continue;
                }
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

/// The routes that show what the service does.
pub(crate) fn routes(web: &Arc<Web>) -> Router {
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
        .route("/", file("text/html; charset=utf-8", include_str!("../../dashboard/index.html")))
        .route(
            "/dashboard.css",
            file("text/css; charset=utf-8", include_str!("../../dashboard/dashboard.css")),
        )
        .route(
            "/dashboard.js",
            file("text/javascript; charset=utf-8", include_str!("../../dashboard/dashboard.js")),
        )
        .with_state(Arc::clone(web))
}

/// Admits only requests with the admin token: as bearer, or `?token=` for browsers.
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
        if let Some(client) = request.extensions().get::<Arc<ClientConnection>>()
            && !client.slot.admit()
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

async fn status(
    State(web): State<Arc<Web>>,
    Extension(client): Extension<Arc<ClientConnection>>,
) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, web.status(web.texts(&client)).to_string()).into_response()
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

/// The state once per second, as server-sent events, until the service ends.
async fn events(
    State(web): State<Arc<Web>>,
    Extension(client): Extension<Arc<ClientConnection>>,
) -> Response {
    let texts = web.texts(&client);
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
