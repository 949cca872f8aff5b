// SPDX-License-Identifier: Apache-2.0
//! `POST /v1/{stream}`: a body of lines, answered when its records are settled.
//!
//! A body is taken whole, within its limit, before anything of it is parsed: so it can be refused
//! as a whole, and a client that dies in the middle has sent nothing.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrowsmith_core::PADDING_BYTES;
use arrowsmith_publish::Slot;
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::BodyExt;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::{timeout, timeout_at};

use super::refusal::Refusal;
use super::server::ClientConnection;
use super::{Common, submit};
use crate::compiled::Compiled;
use crate::config::BadRequests;
use crate::job::{Answer, Fate, Job, Sender, Ticket};
use crate::memory::{Buffer, Grant};
use crate::parse::ANSWER_REJECTS_MAX;
use crate::rejects::RejectLine;
use crate::stream::Stream;
use crate::width::Part;

/// Maximum wait for memory or room in the queue, before the client is told to retry.
const PRESSURE_MAX: Duration = Duration::from_secs(2);

/// Maximum Arrow data of a request that is handled in parts, as a multiple of the memory.
const PARTS_MAX: u64 = 16;

/// Memory of a body before any of it has come, in bytes.
const FIRST_BYTES: usize = 64 << 10;

/// Maximum wait for what was taken to be settled, before the client is answered that the result is
/// unknown.
const SETTLE_MAX: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Reply<'a> {
    records: u64,
    accepted: u64,
    rejected: u64,
    /// Accepted records with nulls in place of values that do not match the schema.
    #[serde(skip_serializing_if = "is_zero")]
    nulled: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejects: Vec<RejectLine<'a>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whether one of `tokens` is `given`, in time that does not depend on their content.
pub(crate) fn is_known(tokens: &[String], given: &[u8]) -> bool {
    tokens.iter().fold(false, |known, token| {
        let token = token.as_bytes();
        let differs = token.len() ^ given.len();
        let differs = token
            .iter()
            .enumerate()
            .fold(differs, |sum, (at, byte)| sum | usize::from(byte ^ given.get(at).unwrap_or(&0)));
        known | (differs == 0 && !token.is_empty())
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

/// The streams that take requests, by name, and what their receivers share.
pub(crate) struct Intake {
    pub(crate) common: Arc<Common>,
    pub(crate) streams: HashMap<String, Arc<Stream>>,
}

/// The route of records.
pub(crate) fn routes(intake: Intake) -> Router {
    Router::new().route("/v1/{stream}", post(records)).with_state(Arc::new(intake))
}

/// Takes a request.
async fn records(
    State(intake): State<Arc<Intake>>,
    Path(name): Path<String>,
    Extension(client): Extension<Arc<ClientConnection>>,
    version: Version,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let known = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    let response =
        if version <= Version::HTTP_10 && !known.iter().any(|name| headers.contains_key(name)) {
            // Whatever follows is not read as its body.
            Err(Refusal::Length)
        } else {
            take(&intake, &name, &client.slot, &headers, body).await
        };
    let response = match response {
        Ok(answer) => reply(&answer),
        Err(refusal) => refusal.into_response(),
    };
    intake.common.metrics.requests.with_label_values(&[response.status().as_str()]).inc();
    response
}

fn reply(answer: &Answer) -> Response {
    let (status, error) = match answer.fate() {
        Fate::Stored => (StatusCode::OK, None),
        Fate::Partly(_) | Fate::Refused(_) => (StatusCode::BAD_REQUEST, None),
        Fate::NotTaken => {
            let why = "a sink refused the records; they are in its rejects, and other sinks may have them";
            (StatusCode::INTERNAL_SERVER_ERROR, Some(why))
        }
    };
    let reply = Reply {
        records: answer.records(),
        accepted: answer.accepted(),
        rejected: answer.rejected(),
        nulled: answer.nulled(),
        error,
        rejects: answer.rejects.iter().map(|reject| RejectLine::new(reject, false)).collect(),
    };
    debug_assert!(status != StatusCode::OK || reply.accepted == reply.records);
    let body = serde_json::to_string(&reply).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn take(
    intake: &Intake,
    name: &str,
    slot: &Slot,
    headers: &HeaderMap,
    body: Body,
) -> Result<Answer, Refusal> {
    let stream = intake.streams.get(name).ok_or(Refusal::UnknownStream)?;
    if !stream.config.tokens.is_empty() && !is_known(&stream.config.tokens, bearer(headers)) {
        return Err(Refusal::Token);
    }
    // It may send: from now on it is not closed for other connections.
    if !slot.admit() {
        return Err(Refusal::Crowded);
    }
    if *intake.common.stop.borrow() {
        return Err(Refusal::Stopping);
    }
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    let encoding = String::from_utf8_lossy(encoding.unwrap_or(b"identity")).to_ascii_lowercase();
    if !["identity", "gzip", "x-gzip", "zstd"].contains(&&*encoding) {
        return Err(Refusal::Encoding(encoding));
    }
    let (start, received_at) = (Instant::now(), SystemTime::now());
    let most = intake.common.limits.body_bytes.0;
    let length = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > most) {
        return Err(Refusal::TooLarge(most));
    }
    let limit = intake.common.limits.record_seconds.duration();
    let collected = timeout(limit, collect(intake, body, length, most)).await;
    let (mut text, mut grant) = collected.map_err(|_| Refusal::Slow)??;
    if encoding != "identity" {
        // The decompressed size is unknown, so the maximum is requested.
        let memory = &intake.common.growing;
        let room = timeout(PRESSURE_MAX, memory.grant(most)).await.ok().flatten();
        let mut room = room.ok_or(Refusal::Pressure)?;
        let plain = tokio::task::spawn_blocking(move || decompress(&encoding, &text, most)).await;
        text = plain.map_err(|error| Refusal::Broken(error.to_string()))??;
        room.shrink(text.len());
        grant = room;
    }
    submit(intake, stream, text, grant, start, received_at).await
}

/// The whole body, within the limit.
async fn collect(
    intake: &Intake,
    mut body: Body,
    length: Option<usize>,
    most: usize,
) -> Result<(Vec<u8>, Grant), Refusal> {
    // Memory for what has come, not for what is announced, which may never come.
    let first = length.unwrap_or(usize::MAX).min(FIRST_BYTES);
    let memory = &intake.common.growing;
    let more = async |bytes: usize| {
        let grant = timeout(PRESSURE_MAX, memory.grant(bytes)).await;
        grant.ok().flatten().ok_or(Refusal::Pressure)
    };
    let mut grant = more(first + PADDING_BYTES).await?;
    // Bounded: by the grant.
    let mut text = Vec::with_capacity(first + PADDING_BYTES);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if text.len() + data.len() > most {
            return Err(Refusal::TooLarge(most));
        }
        if text.len() + data.len() + PADDING_BYTES > text.capacity() {
            let left = most.min(length.unwrap_or(most)).saturating_sub(text.len());
            let add = text.capacity().min(left).max(data.len()) + PADDING_BYTES;
            grant.merge(more(add).await?);
            // Bounded: by the grant.
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
    text.shrink_to(text.len() + PADDING_BYTES);
    if text.len() > most { Err(Refusal::TooLarge(most)) } else { Ok(text) }
}

async fn submit(
    intake: &Intake,
    stream: &Arc<Stream>,
    mut text: Vec<u8>,
    growing: Grant,
    start: Instant,
    received_at: SystemTime,
) -> Result<Answer, Refusal> {
    let number = intake.common.numbers.next();
    let sender = Arc::new(Sender { name: format!("http:{number}").into(), number });
    let compiled = stream.compiled();
    let lines = memchr::memchr_iter(b'\n', &text).count() as u64;
    let whole = stream.config.bad_requests == BadRequests::Refuse;
    let beyond = compiled.width.beyond(&text, lines + 1);
    let memory = intake.common.arrow.bytes_max() as u64;
    // All or nothing cannot be split; the limit on parts keeps a few bytes from filling a disk.
    let most = if whole { memory / 2 } else { memory.saturating_mul(PARTS_MAX) };
    if beyond > most {
        return Err(Refusal::TooWide(beyond, most));
    }
    let parts = if whole {
        vec![Part { range: 0..text.len(), lines, beyond }]
    } else {
        compiled.width.parts(&text, lines, intake.common.part_bytes_max())
    };
    let mut request = Request {
        intake,
        stream,
        compiled,
        sender,
        since: (start, received_at),
        whole,
        place: (1, 0),
        answers: Vec::new(),
        until: None,
    };
    if let [part] = &parts[..] {
        let beyond = part.beyond;
        request.part(std::mem::take(&mut text), beyond).await?;
    } else {
        for part in parts {
            let one = text.get(part.range).unwrap_or_default().to_vec();
            request.part(one, part.beyond).await?;
        }
    }
    drop((text, growing));
    request.answer().await
}

/// A request whose parts are handed over.
struct Request<'a> {
    intake: &'a Intake,
    stream: &'a Arc<Stream>,
    compiled: Arc<Compiled>,
    sender: Arc<Sender>,
    since: (Instant, SystemTime),
    whole: bool,
    /// Line and offset of the next part.
    place: (u64, u64),
    answers: Vec<oneshot::Receiver<Answer>>,
    /// When the parts that were taken have to be settled; `None` while the client may still be
    /// told to retry.
    until: Option<tokio::time::Instant>,
}

impl Request<'_> {
    /// Waits with a time limit. Once a part has been taken, the answer can no longer be that
    /// nothing was.
    async fn wait<T>(&self, what: impl Future<Output = T>) -> Result<T, Refusal> {
        match self.until {
            None => timeout(PRESSURE_MAX, what).await.map_err(|_| Refusal::Pressure),
            Some(until) => timeout_at(until, what).await.map_err(|_| Refusal::Unsettled),
        }
    }

    fn refusal(&self, first: Refusal) -> Refusal {
        if self.until.is_none() { first } else { Refusal::Unsettled }
    }

    async fn part(&mut self, text: Vec<u8>, beyond: u64) -> Result<(), Refusal> {
        let common = &self.intake.common;
        let (line, offset) = self.place;
        let (mut lines, len) = (memchr::memchr_iter(b'\n', &text).count() as u64, text.len());
        self.place = (line + lines, offset + len as u64);
        let mut arrow = None;
        let mut overlong = None;
        let mut passed_bytes = 0;
        let mut text = text;
        if beyond > common.arrow.bytes_max() as u64 {
            let most = common.arrow.bytes_max();
            overlong = Some(submit::wide(&text, &self.sender, (line, offset), beyond, most));
            (text, lines, passed_bytes) = (Vec::new(), 0, len as u64);
        }
        let grant = self.wait(common.memory.grant(text.len() + PADDING_BYTES)).await?;
        let grant = grant.ok_or_else(|| self.refusal(Refusal::Pressure))?;
        if beyond > 0 && overlong.is_none() {
            let grant = self.wait(common.arrow_grant(beyond)).await?;
            arrow = Some(grant.ok_or_else(|| self.refusal(Refusal::Pressure))?);
        }
        let (reply, answer) = oneshot::channel();
        let now = Instant::now();
        let job = Job {
            compiled: Arc::clone(&self.compiled),
            sender: Arc::clone(&self.sender),
            buffer: Buffer::of(text, grant),
            offset,
            line,
            lines,
            received_at: self.since.1,
            start: self.since.0,
            receive: now.saturating_duration_since(self.since.0),
            queued: now,
            overlong,
            passed_bytes,
            arrow,
            late: None,
            whole: self.whole,
            ticket: Ticket::Request(reply),
        };
        if !self.wait(self.stream.submit(job)).await? {
            return Err(self.refusal(Refusal::Stopping));
        }
        self.answers.push(answer);
        self.until.get_or_insert_with(|| tokio::time::Instant::now() + SETTLE_MAX);
        Ok(())
    }

    /// The answer for all parts. If a part gets none, the service was ended by force: some of it
    /// may be stored.
    async fn answer(mut self) -> Result<Answer, Refusal> {
        let mut all: Option<Answer> = None;
        for answer in std::mem::take(&mut self.answers) {
            let answer = self.wait(answer).await?.map_err(|_| Refusal::Unsettled)?;
            all = Some(match all {
                None => answer,
                Some(all) => all.and(answer, ANSWER_REJECTS_MAX),
            });
        }
        all.ok_or(Refusal::Unsettled)
    }
}
