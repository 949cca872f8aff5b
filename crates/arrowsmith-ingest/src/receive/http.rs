// SPDX-License-Identifier: Apache-2.0
//! `POST /v1/{stream}`: a body of lines, answered when its records are settled.
//!
//! A body is taken whole, within its limit, before anything of it is parsed: so it can be refused as
//! a whole, and a client that dies in the middle has sent nothing.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrowsmith_core::PADDING_BYTES;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::job::{Answer, Job, Sender, Ticket};
use crate::memory::{Buffer, Grant};
use crate::rejects::Line;
use crate::stream::Stream;
use crate::web::Web;

/// Longest wait for memory or room in the queue, before the client is told to come again.
const PRESSURE_MAX: Duration = Duration::from_secs(2);

/// Longest wait for what was taken to be settled, before the client is told that it is not known.
const SETTLE_MAX: Duration = Duration::from_secs(60);

/// Why a request is not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    UnknownStream,
    Token,
    Encoding(String),
    Broken(String),
    TooLarge(usize),
    /// The client is faster than it may be, or than the sinks are.
    Pressure,
    Slow,
    Stopping,
    /// It was taken, and is not settled in time: it may be published yet.
    Unsettled,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::UnknownStream => StatusCode::NOT_FOUND,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Encoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Pressure => StatusCode::TOO_MANY_REQUESTS,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unsettled => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::UnknownStream => "there is no stream of this name".to_owned(),
            Self::Token => "the request bears no token of this stream".to_owned(),
            Self::Encoding(name) => {
                format!("content-encoding {name:?}: gzip, zstd and identity are known")
            }
            Self::Broken(why) => why.clone(),
            Self::TooLarge(most) => {
                format!("the body is larger than {most} bytes (limits.body_bytes)")
            }
            Self::Pressure => "the service is busy; send it again later".to_owned(),
            Self::Slow => "the body took too long to come".to_owned(),
            Self::Stopping => "the service ends".to_owned(),
            Self::Unsettled => "the records were taken, but are not stored yet".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.message() }).to_string();
        let json = (header::CONTENT_TYPE, "application/json".to_owned());
        match self {
            Self::Pressure | Self::Stopping => {
                let again = (header::RETRY_AFTER, "1".to_owned());
                (self.status(), [json, again], body).into_response()
            }
            Self::Token => {
                let how = (header::WWW_AUTHENTICATE, "Bearer".to_owned());
                (self.status(), [json, how], body).into_response()
            }
            _ => (self.status(), [json], body).into_response(),
        }
    }
}

#[derive(Serialize)]
struct Reply<'a> {
    records: u64,
    accepted: u64,
    rejected: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejects: Vec<Line<'a>>,
}

/// Whether one of `tokens` is `given`; the time it takes tells nothing of them.
pub(crate) fn is_known(tokens: &[String], given: &[u8]) -> bool {
    tokens.iter().fold(false, |known, token| {
        let token = token.as_bytes();
        let differs = token.len() ^ given.len();
        let differs = token
            .iter()
            .enumerate()
            .fold(differs, |sum, (at, byte)| sum | usize::from(byte ^ given.get(at).unwrap_or(&0)));
        known | (differs == 0)
    })
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> &[u8] {
    let value =
        headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
    match value.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
        _ => &[],
    }
}

/// Takes a request.
pub(crate) async fn post(
    State(web): State<Arc<Web>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let response = match take(&web, &name, &headers, body).await {
        Ok(answer) => reply(&answer),
        Err(refusal) => refusal.into_response(),
    };
    web.common.metrics.requests.with_label_values(&[response.status().as_str()]).inc();
    response
}

fn reply(answer: &Answer) -> Response {
    let reply = Reply {
        records: answer.records,
        accepted: answer.accepted,
        rejected: answer.rejected,
        rejects: answer.rejects.iter().map(|reject| Line::new(reject, false)).collect(),
    };
    let status = if answer.rejected == 0 { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let body = serde_json::to_string(&reply).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn take(web: &Web, name: &str, headers: &HeaderMap, body: Body) -> Result<Answer, Refusal> {
    let stream = web.streams.get(name).ok_or(Refusal::UnknownStream)?;
    if !stream.config.tokens.is_empty() && !is_known(&stream.config.tokens, bearer(headers)) {
        return Err(Refusal::Token);
    }
    if *web.common.stop.borrow() {
        return Err(Refusal::Stopping);
    }
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    let encoding = String::from_utf8_lossy(encoding.unwrap_or(b"identity")).to_ascii_lowercase();
    if !["identity", "gzip", "x-gzip", "zstd"].contains(&&*encoding) {
        return Err(Refusal::Encoding(encoding));
    }
    let (start, received_at) = (Instant::now(), SystemTime::now());
    let most = web.common.limits.body_bytes.0;
    let length = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > most) {
        return Err(Refusal::TooLarge(most));
    }
    let limit = web.common.limits.record_seconds.duration();
    let collected = timeout(limit, collect(web, body, length, most)).await;
    let (mut text, mut grant) = collected.map_err(|_| Refusal::Slow)??;
    if encoding != "identity" {
        // What it becomes is not known before, so the most is asked for.
        let memory = &web.common.growing;
        let room = timeout(PRESSURE_MAX, memory.grant(most)).await.ok().flatten();
        let mut room = room.ok_or(Refusal::Pressure)?;
        let plain = tokio::task::spawn_blocking(move || decompress(&encoding, &text, most)).await;
        text = plain.map_err(|error| Refusal::Broken(error.to_string()))??;
        room.shrink(text.len());
        grant = room;
    }
    submit(web, stream, text, grant, start, received_at).await
}

/// The whole body, within the limit.
async fn collect(
    web: &Web,
    mut body: Body,
    length: Option<usize>,
    most: usize,
) -> Result<(Vec<u8>, Grant), Refusal> {
    let first = length.unwrap_or(64 << 10);
    let memory = &web.common.growing;
    let more = async |bytes: usize| {
        let grant = timeout(PRESSURE_MAX, memory.grant(bytes)).await;
        grant.ok().flatten().ok_or(Refusal::Pressure)
    };
    let mut grant = more(first + PADDING_BYTES).await?;
    let mut text = Vec::with_capacity(first + PADDING_BYTES);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if text.len() + data.len() > most {
            return Err(Refusal::TooLarge(most));
        }
        if text.len() + data.len() + PADDING_BYTES > text.capacity() {
            let add = text.capacity().max(data.len() + PADDING_BYTES);
            grant.merge(more(add).await?);
            text.reserve_exact(add);
        }
        text.extend_from_slice(&data);
    }
    Ok((text, grant))
}

fn decompress(encoding: &str, bytes: &[u8], most: usize) -> Result<Vec<u8>, Refusal> {
    let broken = |error: io::Error| Refusal::Broken(format!("{encoding}: {error}"));
    let mut text = Vec::new();
    let limit = most as u64 + 1;
    match encoding {
        "zstd" => {
            let reader = zstd::stream::read::Decoder::new(bytes).map_err(broken)?;
            reader.take(limit).read_to_end(&mut text).map_err(broken)?;
        }
        _ => {
            let reader = flate2::read::MultiGzDecoder::new(bytes);
            reader.take(limit).read_to_end(&mut text).map_err(broken)?;
        }
    }
    if text.len() > most { Err(Refusal::TooLarge(most)) } else { Ok(text) }
}

async fn submit(
    web: &Web,
    stream: &Arc<Stream>,
    text: Vec<u8>,
    growing: Grant,
    start: Instant,
    received_at: SystemTime,
) -> Result<Answer, Refusal> {
    let memory = &web.common.memory;
    let grant = timeout(PRESSURE_MAX, memory.grant(text.len() + PADDING_BYTES)).await;
    let grant = grant.ok().flatten().ok_or(Refusal::Pressure)?;
    drop(growing);
    let number = web.common.numbers.next();
    let sender = Arc::new(Sender { name: format!("http:{number}").into(), number });
    let lines = memchr::memchr_iter(b'\n', &text).count() as u64;
    let (reply, answer) = oneshot::channel();
    let now = Instant::now();
    let job = Job {
        compiled: stream.compiled(),
        sender,
        buffer: Buffer::of(text, grant),
        offset: 0,
        line: 1,
        lines,
        received_at,
        start,
        receive: now.saturating_duration_since(start),
        queued: now,
        overlong: None,
        whole: stream.config.bad_requests == crate::config::BadRequests::Refuse,
        ticket: Ticket::Request(reply),
    };
    match timeout(PRESSURE_MAX, stream.submit(job)).await {
        Err(_) => return Err(Refusal::Pressure),
        Ok(false) => return Err(Refusal::Stopping),
        Ok(true) => {}
    }
    match timeout(SETTLE_MAX, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(Refusal::Stopping),
        Err(_) => Err(Refusal::Unsettled),
    }
}
