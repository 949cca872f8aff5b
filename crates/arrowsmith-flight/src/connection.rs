// SPDX-License-Identifier: Apache-2.0
//! One connection: authentication, dispatch, and the path of batches (DoGet, DoExchange) to the
//! socket, without tonic's codec.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::{FlightData, Ticket};
use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tonic::codec::Codec;
use tonic::service::Routes;
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstCodec;
use tonic_prost::prost::Message as _;
use tower_service::Service as _;
use tracing::debug;

use crate::body::Body;
use crate::encode::Message;
use crate::produce::segments;
use crate::service::exchange::exchange;
use crate::service::{Replies, Shared};
use crate::ticket::TICKET_BYTES_MAX;
use crate::unauthenticated::ClientConnection;

const DO_GET: &str = "/arrow.flight.protocol.FlightService/DoGet";
const DO_EXCHANGE: &str = "/arrow.flight.protocol.FlightService/DoExchange";
const HANDSHAKE: &str = "/arrow.flight.protocol.FlightService/Handshake";
/// Health checks need no authentication.
const HEALTH: &str = "/grpc.health.v1.Health/";

/// gRPC's prefix: a flag, and the length.
const PREFIX_BYTES: usize = 5;

/// Answers the calls of connections.
#[derive(Clone)]
pub(crate) struct Calls {
    shared: Arc<Shared>,
    routes: Routes,
    /// Whose connection it is; none before there is one.
    client: Option<Arc<ClientConnection>>,
}

impl Calls {
    pub(crate) fn new(shared: Arc<Shared>, routes: Routes) -> Self {
        Self { shared, routes, client: None }
    }

    /// For one connection.
    pub(crate) fn of(&self, client: &Arc<ClientConnection>) -> Self {
        Self { client: Some(Arc::clone(client)), ..self.clone() }
    }

    /// Whether a call may come in, and its connection with it.
    async fn admit(&self, headers: &http::HeaderMap) -> Result<(), Status> {
        self.shared.guard.check(headers)?;
        match &self.client {
            Some(client) => client.admit().await,
            None => Ok(()),
        }
    }

    async fn answer(mut self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let open = path == HANDSHAKE || path.starts_with(HEALTH);
        let response = match self.admit(request.headers()).await {
            Err(status) if !open => {
                self.shared.metrics.refused.inc();
                refusal(status)
            }
            _ if path == DO_GET => self.get(request).await.map_or_else(refusal, sent),
            _ if path == DO_EXCHANGE => self.exchange(request).await.map_or_else(refusal, sent),
            _ => match self.routes.call(request).await {
                Ok(response) => response.map(Body::Tonic),
                Err(never) => match never {},
            },
        };
        self.count(&path, &response);
        response
    }

    async fn get(&self, request: Request<Incoming>) -> Result<Replies<Message>, Status> {
        let ticket = ticket(request.into_body()).await?;
        self.shared.get(ticket).await
    }

    async fn exchange(&self, request: Request<Incoming>) -> Result<Replies<Message>, Status> {
        let decoder = ProstCodec::<FlightData, FlightData>::default().decoder();
        let bytes_max = Some(self.shared.options.request_bytes_max);
        let input = Streaming::new_request(decoder, request.into_body(), None, bytes_max);
        exchange(Arc::clone(&self.shared), input).await
    }

    fn count(&self, path: &str, response: &Response<Body>) {
        let status = response.headers().get("grpc-status").map(HeaderValue::as_bytes);
        let code = status.map_or(Code::Ok, Code::from_bytes);
        // Names that we know: a caller must not be able to make others up without end.
        let method = path.rsplit('/').next().filter(|_| {
            path.starts_with("/arrow.flight.protocol.FlightService/") && code != Code::Unimplemented
        });
        let method = method.unwrap_or("other");
        debug!(method, ?code, "call");
        self.shared.metrics.calls.with_label_values(&[method, &format!("{code:?}")]).inc();
    }
}

fn sent(messages: Replies<Message>) -> Response<Body> {
    let mut response = Response::new(Body::Messages(Some(segments(messages))));
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    response
}

fn refusal(status: Status) -> Response<Body> {
    status.into_http::<tonic::body::Body>().map(Body::Tonic)
}

/// The one message of a DoGet.
async fn ticket(mut body: Incoming) -> Result<Ticket, Status> {
    let mut message = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Status::cancelled("the caller is gone"))?;
        let Ok(data) = frame.into_data() else { continue };
        if message.len() + data.len() > TICKET_BYTES_MAX {
            return Err(Status::invalid_argument("ticket: too long"));
        }
        message.extend_from_slice(&data);
    }
    let mut message: Bytes = message.freeze();
    if message.len() < PREFIX_BYTES {
        return Err(Status::invalid_argument("ticket: there is none"));
    }
    let compressed = message.get_u8() != 0;
    let length = message.get_u32();
    if compressed {
        return Err(Status::unimplemented("compressed requests are not taken"));
    }
    if usize::try_from(length).ok() != Some(message.len()) {
        return Err(Status::invalid_argument("ticket: not one message"));
    }
    Ticket::decode(message).map_err(|_| Status::invalid_argument("ticket: no ticket"))
}

impl hyper::service::Service<Request<Incoming>> for Calls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let calls = self.clone();
        Box::pin(async move { Ok(calls.answer(request).await) })
    }
}
