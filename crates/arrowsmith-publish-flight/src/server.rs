// SPDX-License-Identifier: Apache-2.0
//! The Flight service over the feeds of all streams that listen on one address.
//!
//! A ticket is the name of a stream: its subscriber gets the buffered messages and then new ones.
//! `NAME@now` skips the buffered ones, and `NAME@N` starts after message number N, which is in the
//! metadata of each batch. The endpoint is read-only.

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaAsIpc, SchemaResult, Ticket,
};
use arrow_ipc::writer::IpcWriteOptions;
use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use arrowsmith_publish::{PublishError, Slots};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use tracing::{info, warn};

use crate::feed::{Feed, FeedSchema, Next, Start};
use crate::guarded::{ClientConnection, incoming};
use crate::options::{FlightOptions, Tls};

/// A server, and what it serves. It ends when the last of its streams drops it.
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    options: FlightOptions,
    feeds: Arc<Feeds>,
    /// Dropping it ends the server.
    _running: watch::Sender<()>,
}

/// The feeds by the names of their streams.
type Feeds = Mutex<BTreeMap<String, Arc<Feed>>>;

/// The endpoints of this process by the configured address. A lock across the wait for a socket, so
/// that two streams do not both open it.
static ENDPOINTS: tokio::sync::Mutex<Option<HashMap<SocketAddr, Weak<Endpoint>>>> =
    tokio::sync::Mutex::const_new(None);

impl Endpoint {
    /// The endpoint at the address of the options: a new one, or that of another stream.
    pub(crate) async fn at(options: &FlightOptions) -> Result<Arc<Self>, PublishError> {
        let mut endpoints = ENDPOINTS.lock().await;
        let endpoints = endpoints.get_or_insert_default();
        let found = endpoints.get(&options.listen).and_then(Weak::upgrade);
        if let Some(endpoint) = found.filter(|_| options.listen.port() != 0) {
            if (&endpoint.options.tls, &endpoint.options.tokens) != (&options.tls, &options.tokens)
            {
                return Err(PublishError::fatal(format!(
                    "flight: two streams listen on {} with different tls or tokens",
                    options.listen
                )));
            }
            return Ok(endpoint);
        }
        let endpoint = Arc::new(Self::start(options).await?);
        endpoints.insert(options.listen, Arc::downgrade(&endpoint));
        Ok(endpoint)
    }

    async fn start(options: &FlightOptions) -> Result<Self, PublishError> {
        let listen = options.listen;
        let retry = |error: &dyn std::fmt::Display| {
            PublishError::retry(format!("flight: cannot listen on {listen}: {error}"))
        };
        let listener = TcpListener::bind(listen).await.map_err(|error| retry(&error))?;
        let address = listener.local_addr().map_err(|error| retry(&error))?;
        let feeds = Arc::new(Feeds::default());
        let service = Service { feeds: Arc::clone(&feeds), address, tls: options.tls.clone() };
        let allowed = Allowed { tokens: options.tokens.clone().into() };
        let service = FlightServiceServer::with_interceptor(service, allowed);
        let keep_alive = Some(options.keep_alive());
        let mut server = Server::builder()
            .tcp_nodelay(true)
            .http2_keepalive_interval(keep_alive)
            .http2_keepalive_timeout(keep_alive);
        if let Some(tls) = tls(&options.tls)? {
            server = server.tls_config(tls).map_err(|error| {
                // The error itself is called "transport error".
                let why = error.source().unwrap_or(&error);
                PublishError::fatal(format!("flight: option tls: {why}"))
            })?;
        }
        let (running, mut ended) = watch::channel(());
        let slots = Slots::new(options.connections_max);
        let incoming = incoming(listener, slots, options.greeting_timeout());
        let serving = server.add_service(service).serve_with_incoming_shutdown(
            incoming,
            // Nothing is ever sent: it ends when the sender is dropped.
            async move { while ended.changed().await.is_ok() {} },
        );
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                warn!(%address, %error, "the Flight endpoint ended");
            }
        });
        info!(%address, "Flight endpoint listens");
        Ok(Self { address, options: options.clone(), feeds, _running: running })
    }

    /// Adds a stream. One of the same name, of an earlier attempt, is replaced.
    pub(crate) fn add(&self, stream: &str, feed: Arc<Feed>) {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = feeds.insert(stream.to_owned(), feed) {
            before.give_up();
        }
    }

    /// Removes a stream, if this feed is still its.
    pub(crate) fn remove(&self, stream: &str, feed: &Arc<Feed>) {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        if feeds.get(stream).is_some_and(|found| Arc::ptr_eq(found, feed)) {
            feeds.remove(stream);
        }
    }
}

/// TLS as the files of the options have it; `None` without.
pub(crate) fn tls(options: &Tls) -> Result<Option<ServerTlsConfig>, PublishError> {
    // Another crate of the process may bring another provider; tonic cannot choose between them,
    // and panics. A provider that is installed already is fine.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let (Some(certificate), Some(key)) = (&options.certificate_file, &options.key_file) else {
        return Ok(None);
    };
    let read = |path: &Path| {
        whole::read(path, WRITTEN_BYTES_MAX)
            .map_err(|error| PublishError::fatal(format!("flight: {}: {error}", path.display())))
    };
    let mut config =
        ServerTlsConfig::new().identity(Identity::from_pem(read(certificate)?, read(key)?));
    if let Some(path) = &options.client_ca_file {
        config = config.client_ca_root(Certificate::from_pem(read(path)?));
    }
    Ok(Some(config))
}

/// Admits requests with one of the tokens.
#[derive(Clone)]
struct Allowed {
    tokens: Arc<[String]>,
}

impl tonic::service::Interceptor for Allowed {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        if self.tokens.is_empty() {
            return stay(request);
        }
        let header = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let token = header.and_then(|header| header.strip_prefix("Bearer "));
        match token {
            Some(token) if self.tokens.iter().any(|allowed| equal(allowed, token)) => stay(request),
            Some(_) => Err(Status::unauthenticated("this token may not subscribe")),
            None => Err(Status::unauthenticated("a header `authorization: Bearer …` is needed")),
        }
    }
}

/// Admits the connection of an authorized request.
fn stay(request: Request<()>) -> Result<Request<()>, Status> {
    match request.extensions().get::<ClientConnection>().map(ClientConnection::admit) {
        Some(false) => Err(Status::resource_exhausted("there are too many connections")),
        _ => Ok(request),
    }
}

/// Constant-time comparison.
fn equal(ours: &str, theirs: &str) -> bool {
    let differences = ours.bytes().zip(theirs.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    ours.len() == theirs.len() && differences == 0
}

struct Service {
    feeds: Arc<Feeds>,
    address: SocketAddr,
    tls: Tls,
}

type Reply<T> = Result<Response<T>, Status>;
type Replies<T> = BoxStream<'static, Result<T, Status>>;

impl Service {
    /// The stream of this name.
    fn feed(&self, stream: &str) -> Result<Arc<Feed>, Status> {
        let feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.get(stream).cloned().ok_or_else(|| Status::not_found(format!("no stream {stream:?}")))
    }

    fn info(&self, stream: &str, feed: &Feed) -> Result<FlightInfo, Status> {
        let schema = feed.schema();
        let scheme = if self.tls.certificate_file.is_some() { "grpc+tls" } else { "grpc+tcp" };
        let mut endpoint = FlightEndpoint::new().with_ticket(Ticket::new(stream.to_owned()));
        // Listening on all addresses, it is unknown which one the client can reach; without a
        // location it uses the same connection.
        if !self.address.ip().is_unspecified() {
            endpoint = endpoint.with_location(format!("{scheme}://{}", self.address));
        }
        let info = FlightInfo::new()
            .try_with_schema(&schema.schema)
            .map_err(|error| Status::internal(error.to_string()))?;
        Ok(info
            .with_descriptor(FlightDescriptor::new_path(vec![stream.to_owned()]))
            .with_endpoint(endpoint)
            .with_total_records(-1)
            .with_total_bytes(-1)
            .with_ordered(true))
    }

    fn described(&self, descriptor: &FlightDescriptor) -> Result<(String, Arc<Feed>), Status> {
        let stream = match (DescriptorType::try_from(descriptor.r#type), descriptor.path.as_slice())
        {
            (Ok(DescriptorType::Path), [stream]) => stream.clone(),
            (Ok(DescriptorType::Cmd), _) => text(&descriptor.cmd)?,
            _ => return Err(Status::invalid_argument("a path of one part is a stream's name")),
        };
        let feed = self.feed(&stream)?;
        Ok((stream, feed))
    }
}

fn text(bytes: &[u8]) -> Result<String, Status> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Status::invalid_argument("the name of a stream is UTF-8")),
    }
}

/// The stream in a ticket, and where to start.
pub(crate) fn ticket(bytes: &[u8]) -> Result<(String, Start), Status> {
    let text = text(bytes)?;
    let Some((stream, start)) = text.rsplit_once('@') else { return Ok((text, Start::Oldest)) };
    let start = match start {
        "now" => Start::Now,
        number => Start::After(number.parse().map_err(|_| {
            Status::invalid_argument("a ticket is STREAM, STREAM@now or STREAM@NUMBER")
        })?),
    };
    Ok((stream.to_owned(), start))
}

/// A subscriber's stream of a feed.
struct Subscription {
    feed: Arc<Feed>,
    id: u64,
    /// Of the schema or of one message, to be sent.
    frames: std::vec::IntoIter<FlightData>,
    ended: bool,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.unsubscribe(self.id);
    }
}

impl Subscription {
    async fn next(mut self) -> Option<(Result<FlightData, Status>, Self)> {
        if self.ended {
            return None;
        }
        let feed = Arc::clone(&self.feed);
        let status = loop {
            if let Some(frame) = self.frames.next() {
                return Some((Ok(frame), self));
            }
            // Before the check, so that nothing that comes after it is missed.
            let mut arrival = Pin::from(Box::new(feed.arrival.notified()));
            arrival.as_mut().enable();
            match feed.next(self.id, Instant::now()) {
                Next::Message(frames) => self.frames = frames.into_iter(),
                Next::Wait => arrival.await,
                Next::End => return None,
                Next::Lost(count) => {
                    break Status::data_loss(format!("too slow: {count} messages are lost to you"));
                }
                Next::Gone(last) => {
                    break Status::data_loss(format!(
                        "what came after message {last} is no longer held, or came in an earlier run"
                    ));
                }
                Next::Stalled => break Status::aborted("cut off: nothing was taken for too long"),
            }
        };
        self.ended = true;
        Some((Err(status), self))
    }
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Replies<HandshakeResponse>;
    type ListFlightsStream = Replies<FlightInfo>;
    type DoGetStream = Replies<FlightData>;
    type DoPutStream = Replies<PutResult>;
    type DoActionStream = Replies<arrow_flight::Result>;
    type ListActionsStream = Replies<ActionType>;
    type DoExchangeStream = Replies<FlightData>;

    async fn list_flights(&self, _: Request<Criteria>) -> Reply<Self::ListFlightsStream> {
        let feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let infos: Vec<_> = feeds.iter().map(|(stream, feed)| self.info(stream, feed)).collect();
        Ok(Response::new(stream::iter(infos).boxed()))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<FlightInfo> {
        let (stream, feed) = self.described(request.get_ref())?;
        Ok(Response::new(self.info(&stream, &feed)?))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Reply<SchemaResult> {
        let (_, feed) = self.described(request.get_ref())?;
        let schema = feed.schema();
        SchemaAsIpc::new(&schema.schema, &IpcWriteOptions::default())
            .try_into()
            .map(Response::new)
            .map_err(|error: arrow_schema::ArrowError| Status::internal(error.to_string()))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Reply<Self::DoGetStream> {
        let (stream, start) = ticket(&request.get_ref().ticket)?;
        let feed = self.feed(&stream)?;
        let Some((id, schema)) = feed.subscribe(start, Instant::now()) else {
            return Err(Status::resource_exhausted("too many subscribers of this stream"));
        };
        let FeedSchema { frame, .. } = schema.as_ref();
        let frames = vec![frame.clone()].into_iter();
        let subscription = Subscription { feed, id, frames, ended: false };
        Ok(Response::new(stream::unfold(subscription, Subscription::next).boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Reply<Self::HandshakeStream> {
        Err(Status::unimplemented("give a token in the header `authorization`"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Reply<PollInfo> {
        Err(Status::unimplemented("streams are there at once: take get_flight_info"))
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Reply<Self::DoPutStream> {
        Err(Status::unimplemented("this endpoint is read only"))
    }

    async fn do_action(&self, _: Request<Action>) -> Reply<Self::DoActionStream> {
        Err(Status::unimplemented("there are no actions"))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Reply<Self::ListActionsStream> {
        Ok(Response::new(stream::empty().boxed()))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Reply<Self::DoExchangeStream> {
        Err(Status::unimplemented("this endpoint is read only"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_name_a_stream_and_a_beginning() {
        let of = |text: &str| ticket(text.as_bytes()).ok();
        assert_eq!(of("cars"), Some(("cars".to_owned(), Start::Oldest)));
        assert_eq!(of("cars@now"), Some(("cars".to_owned(), Start::Now)));
        assert_eq!(of("a@b@17"), Some(("a@b".to_owned(), Start::After(17))));
        for bad in ["cars@", "cars@yesterday", "cars@-1"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert!(ticket(&[0xff]).is_err());
    }

    #[test]
    fn tokens_are_equal_or_not() {
        for (ours, theirs, same) in
            [("a", "a", true), ("a", "b", false), ("ab", "a", false), ("a", "", false)]
        {
            assert_eq!(equal(ours, theirs), same);
        }
    }
}
