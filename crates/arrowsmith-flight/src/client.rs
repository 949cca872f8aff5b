// SPDX-License-Identifier: Apache-2.0
//! A client for this server and any other that speaks Flight: lists, describes, reads several
//! endpoints at once, puts.
//!
//! ```no_run
//! use arrowsmith_flight::client::{Client, ClientOptions};
//! use arrowsmith_flight::query::Query;
//! use futures_util::TryStreamExt;
//!
//! # async fn read() -> Result<(), tonic::Status> {
//! let client = Client::connect("grpc://localhost:8815", &ClientOptions::default()).await?;
//! let info = client.info(&Query::all("taxi")).await?;
//! let mut batches = client.read(info, 4).await?;
//! while let Some(batch) = batches.try_next().await? {
//!     println!("{} rows", batch.num_rows());
//! }
//! # Ok(())
//! # }
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{
    Action, Criteria, FlightDescriptor, FlightInfo, HandshakeRequest, SchemaResult, Ticket,
};
use arrow_schema::{Schema, SchemaRef};
use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use crate::error::unwound;
use crate::ipc::{Bounds, batches, schema};
use crate::query::Query;

/// Flow control: bytes that a server may send ahead.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 64 << 20;

/// Maximum number of batches of an endpoint that are read before those of earlier endpoints are
/// consumed.
const AHEAD_BATCHES: usize = 4;

/// Maximum size of a message: that much is allocated before it comes.
const MESSAGE_BYTES_MAX: usize = 512 << 20;

/// How a client connects.
#[derive(Clone, Default)]
pub struct ClientOptions {
    /// A bearer token.
    pub token: Option<String>,
    /// User and password, which a handshake exchanges for a token.
    pub user: Option<(String, String)>,
    /// The authority of the server's certificate, a PEM file; the public ones without it.
    pub ca_file: Option<PathBuf>,
    /// Client certificate and its key, PEM files, for servers that require one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A connection.
#[derive(Clone)]
pub struct Client {
    inner: FlightServiceClient<Channel>,
    authorization: Option<MetadataValue<tonic::metadata::Ascii>>,
}

/// Record batches as they come.
pub type Batches = BoxStream<'static, Result<RecordBatch, Status>>;

/// The status in a Flight error, or one that describes the error in the data.
fn status_of(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => Status::data_loss(other.to_string()),
    }
}

/// The schema that a flight's info holds.
///
/// # Errors
/// `data_loss` for invalid data.
pub fn schema_of(info: &FlightInfo) -> Result<Schema, Status> {
    schema(&info.schema).map_err(|error| Status::data_loss(error.to_string()))
}

/// A ticket that is being read.
struct Reading {
    batches: mpsc::Receiver<Result<RecordBatch, Status>>,
    task: Option<JoinHandle<()>>,
}

impl Reading {
    /// The next batch; `None` at the end. A task that panicked has not read all.
    async fn next(&mut self) -> Option<Result<RecordBatch, Status>> {
        if let Some(batch) = self.batches.recv().await {
            return Some(batch);
        }
        let ended = self.task.take()?.await;
        ended.err().map(|error| Err(unwound(error, "reading")))
    }
}

impl Client {
    /// Connects to `grpc://host:port`, `grpc+tcp://…` or `grpc+tls://…`.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid address and files that cannot be read; `unavailable` for a
    /// server that does not answer; `unauthenticated` for rejected credentials.
    pub async fn connect(url: &str, options: &ClientOptions) -> Result<Self, Status> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| Status::invalid_argument(format!("{url}: no grpc://host:port")))?;
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains(['@', '?', '#']) {
            let message = "credentials and parameters are options, not parts of a grpc:// URL";
            return Err(Status::invalid_argument(message));
        }
        let tls = match scheme {
            "grpc" | "grpc+tcp" => false,
            "grpc+tls" | "grpcs" => true,
            other => return Err(Status::invalid_argument(format!("{other}:// is not known here"))),
        };
        let scheme = if tls { "https" } else { "http" };
        let invalid = |error: &dyn std::fmt::Display| Status::invalid_argument(error.to_string());
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{authority}"))
            .map_err(|error| invalid(&error))?
            .connect_timeout(Duration::from_secs(10))
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        if tls {
            endpoint =
                endpoint.tls_config(tls_config(options)?).map_err(|error| invalid(&error))?;
        }
        let channel = endpoint.connect().await.map_err(|error| {
            let source = std::error::Error::source(&error);
            let source = source.map(|source| format!(": {source}")).unwrap_or_default();
            Status::unavailable(format!("{authority}: {error}{source}"))
        })?;
        let inner = FlightServiceClient::new(channel)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(usize::MAX);
        let mut client = Self { inner, authorization: None };
        if let Some(token) = &options.token {
            client.set_token(token)?;
        } else if let Some((user, password)) = &options.user {
            let token = client.handshake(user, password).await?;
            client.set_token(&token)?;
        }
        Ok(client)
    }

    fn set_token(&mut self, token: &str) -> Result<(), Status> {
        let value = format!("Bearer {token}").parse();
        let value = value.map_err(|_| Status::invalid_argument("a token is plain text"))?;
        self.authorization = Some(value);
        Ok(())
    }

    async fn handshake(&self, user: &str, password: &str) -> Result<String, Status> {
        let basic = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let mut request = Request::new(stream::iter([HandshakeRequest::default()]));
        let value = format!("Basic {basic}").parse();
        let value = value.map_err(|_| Status::invalid_argument("user and password"))?;
        request.metadata_mut().insert("authorization", value);
        let answer = self.inner.clone().handshake(request).await?;
        let header = answer.metadata().get("authorization").and_then(|value| value.to_str().ok());
        if let Some(token) = header.and_then(|header| header.strip_prefix("Bearer ")) {
            return Ok(token.to_owned());
        }
        let message = answer.into_inner().message().await?.unwrap_or_default();
        String::from_utf8(message.payload.to_vec())
            .map_err(|_| Status::unauthenticated("the server's token is not text"))
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(authorization) = &self.authorization {
            request.metadata_mut().insert("authorization", authorization.clone());
        }
        request
    }

    /// All flights.
    ///
    /// # Errors
    /// Errors of the server.
    pub async fn list(&self) -> Result<Vec<FlightInfo>, Status> {
        let answer = self.inner.clone().list_flights(self.request(Criteria::default())).await?;
        answer.into_inner().try_collect().await
    }

    /// Schema, sizes and endpoints of a query.
    ///
    /// # Errors
    /// Errors of the server.
    pub async fn info(&self, query: &Query) -> Result<FlightInfo, Status> {
        let descriptor = match query.is_all() {
            // As every server understands it.
            true => FlightDescriptor::new_path(vec![query.dataset.clone()]),
            false => FlightDescriptor::new_cmd(query.command()),
        };
        Ok(self.inner.clone().get_flight_info(self.request(descriptor)).await?.into_inner())
    }

    /// The schema of a query.
    ///
    /// # Errors
    /// Errors of the server.
    pub async fn schema(&self, query: &Query) -> Result<Schema, Status> {
        let descriptor = FlightDescriptor::new_cmd(query.command());
        let answer: SchemaResult =
            self.inner.clone().get_schema(self.request(descriptor)).await?.into_inner();
        schema(&answer.schema).map_err(|error| Status::data_loss(error.to_string()))
    }

    /// The batches of one ticket. Inconsistent messages are an error, whatever server sent them.
    ///
    /// # Errors
    /// Errors of the server; later ones come with the batches.
    pub async fn get(&self, ticket: Ticket) -> Result<Batches, Status> {
        let answer = self.inner.clone().do_get(self.request(ticket)).await?.into_inner();
        let data = answer.map_err(|status| FlightError::Tonic(Box::new(status))).boxed();
        Ok(batches(data, Bounds::default()).map_err(status_of).boxed())
    }

    /// The batches of all endpoints in their order, up to `parallel` of them being read at a time.
    ///
    /// # Errors
    /// Later errors come with the batches.
    pub async fn read(&self, info: FlightInfo, parallel: usize) -> Result<Batches, Status> {
        let tickets = info.endpoint.into_iter().filter_map(|endpoint| endpoint.ticket);
        let mut waiting: VecDeque<Ticket> = tickets.collect();
        let mut running = VecDeque::new();
        for ticket in waiting.drain(..parallel.max(1).min(waiting.len())) {
            running.push_back(self.start(ticket));
        }
        let state = (self.clone(), waiting, running);
        let batches = stream::unfold(state, |(client, mut waiting, mut running)| async move {
            loop {
                let first: &mut Reading = running.front_mut()?;
                if let Some(batch) = first.next().await {
                    if batch.is_err() {
                        // Nothing follows an error.
                        running.clear();
                        waiting.clear();
                    }
                    return Some((batch, (client, waiting, running)));
                }
                running.pop_front();
                running.extend(waiting.pop_front().map(|ticket| client.start(ticket)));
            }
        });
        Ok(batches.boxed())
    }

    /// Reads a ticket in a task of its own, some batches ahead.
    fn start(&self, ticket: Ticket) -> Reading {
        let (sender, receiver) = mpsc::channel(AHEAD_BATCHES);
        let client = self.clone();
        let task = tokio::spawn(async move {
            let mut batches = match client.get(ticket).await {
                Ok(batches) => batches,
                Err(status) => {
                    // A receiver that is gone does not want to know; so below.
                    let _ = sender.send(Err(status)).await;
                    return;
                }
            };
            loop {
                // A live stream may never have another message, which would reveal that the reader
                // is gone.
                let batch = tokio::select! {
                    batch = batches.next() => batch,
                    () = sender.closed() => return,
                };
                let Some(batch) = batch else { return };
                let failed = batch.is_err();
                if sender.send(batch).await.is_err() || failed {
                    return;
                }
            }
        });
        Reading { batches: receiver, task: Some(task) }
    }

    /// Appends batches to a dataset; returns the server's response.
    ///
    /// # Errors
    /// Errors of the server.
    pub async fn put(
        &self,
        dataset: &str,
        schema: SchemaRef,
        batches: impl futures_util::Stream<Item = RecordBatch> + Send + 'static,
    ) -> Result<Bytes, Status> {
        let data = FlightDataEncoderBuilder::new()
            .with_schema(schema)
            .with_flight_descriptor(Some(FlightDescriptor::new_path(vec![dataset.to_owned()])))
            .build(batches.map(Ok));
        // A batch that cannot be encoded ends the put without an end of stream, so that the server
        // keeps nothing of it.
        let (sender, mut receiver) = mpsc::channel(AHEAD_BATCHES);
        let encode = async move {
            let mut data = std::pin::pin!(data);
            while let Some(message) = data.next().await {
                if sender.send(message.map_err(status_of)?).await.is_err() {
                    break;
                }
            }
            Ok::<(), Status>(())
        };
        let stream = stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let mut inner = self.inner.clone();
        let call = inner.do_put(self.request(stream));
        let (encoded, answer) = tokio::join!(encode, call);
        encoded?;
        let result = answer?.into_inner().message().await?;
        Ok(result.unwrap_or_default().app_metadata)
    }

    /// Runs an action; its results.
    ///
    /// # Errors
    /// Errors of the server.
    pub async fn action(&self, name: &str, body: impl Into<Bytes>) -> Result<Vec<Bytes>, Status> {
        let action = Action::new(name, body);
        let answer = self.inner.clone().do_action(self.request(action)).await?.into_inner();
        answer.map_ok(|result| result.body).try_collect().await
    }

    /// The calls below, for methods that this client does not wrap.
    pub fn inner(&self) -> FlightServiceClient<Channel> {
        self.inner.clone()
    }
}

fn tls_config(options: &ClientOptions) -> Result<ClientTlsConfig, Status> {
    let read = |path: &PathBuf| {
        whole::read(path, WRITTEN_BYTES_MAX)
            .map_err(|error| Status::invalid_argument(format!("{}: {error}", path.display())))
    };
    // Another crate of the process may bring another provider; tonic cannot choose then. One that
    // has been installed already is as good.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let mut config = ClientTlsConfig::new();
    config = match &options.ca_file {
        Some(path) => config.ca_certificate(Certificate::from_pem(read(path)?)),
        None => config.trust_anchors(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    };
    if let Some((certificate, key)) = &options.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a task is not always that of the data.
    #[tokio::test]
    async fn a_task_that_panics_is_an_error() {
        for panics in [true, false] {
            let (sender, batches) = mpsc::channel(1);
            let task = tokio::spawn(async move {
                assert!(!panics, "on purpose");
                drop(sender);
            });
            let mut reading = Reading { batches, task: Some(task) };
            let next = reading.next().await.map(|batch| batch.map_err(|error| error.code()));
            assert_eq!(next, panics.then_some(Err(tonic::Code::Internal)));
            assert!(reading.next().await.is_none());
        }
    }
}
