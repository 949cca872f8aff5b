// SPDX-License-Identifier: Apache-2.0
//! The server: listens, takes connections up to a limit, and ends in peace.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_flight::flight_service_server::FlightServiceServer;
use arrowsmith::{Error, Result};
use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tonic::service::Routes;
use tracing::{debug, info, warn};

use crate::auth::Guard;
use crate::catalog::Catalog;
use crate::connection::Calls;
use crate::extension::Extension;
use crate::io::{Gathered, PREFACE};
use crate::metrics::Metrics;
use crate::options::{Options, Tls};
use crate::produce::Governor;
use crate::service::{Service, Shared};
use crate::ticket::Signer;
use crate::unauthenticated::{ClientConnection, ConnectionLimits};

/// How long a call for the page of metrics may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of HTTP/2 pings on an idle connection, and the time limit of the answer.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Flow-control windows of clients, of a stream and of a connection.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Largest frame that clients may send.
const FRAME_BYTES_MAX: u32 = 1 << 20;

/// Maximum number of concurrent calls of one connection.
const CALLS_MAX: u32 = 1024;

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens and serves, from now on.
    ///
    /// # Errors
    /// [`Error::Io`] for an address that cannot be bound and for certificate files that cannot be
    /// read; [`Error::Config`] for invalid ones.
    pub async fn start(
        catalog: Arc<Catalog>,
        options: Options,
        extension: Option<Arc<dyn Extension>>,
    ) -> Result<Self> {
        let tls = acceptor(&options.tls)?;
        let metrics = Metrics::new().map_err(|error| Error::Config(error.to_string()))?;
        let metrics = Arc::new(metrics);
        let signer = |lifetime| match &options.ticket_key {
            Some(key) => Ok(Signer::new(key, lifetime)),
            None => Signer::random(lifetime),
        };
        let shared = Arc::new(Shared {
            catalog,
            signer: signer(options.ticket_lifetime)?,
            guard: Guard::new(options.access.clone(), signer(options.token_lifetime)?),
            governor: Arc::new(Governor::new(&options, Arc::clone(&metrics))),
            metrics,
            extension,
            started: SystemTime::now(),
            options,
        });
        let options = &shared.options;
        let listener = listen(options.listen).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let metrics_address = match options.metrics_listen {
            Some(address) => {
                let listener = listen(address).await?;
                let address = listener.local_addr()?;
                tokio::spawn(serve_metrics(listener, Arc::clone(&shared), stopped.clone()));
                Some(address)
            }
            None => None,
        };
        let calls = Calls::new(Arc::clone(&shared), routes(&shared).await?);
        let task = tokio::spawn(accept(listener, tls, calls, Arc::clone(&shared), stopped));
        info!(%address, datasets = shared.catalog.iter().count(), "serving");
        Ok(Self { address, metrics_address, stop, task, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page of metrics is.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Accepts no more calls, waits for running ones up to the shutdown timeout, and ends.
    pub async fn shutdown(self) {
        // The receiver is the task below.
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| Error::io(address.to_string(), error))
}

/// tonic's services: Flight but DoGet, health, reflection.
async fn routes(shared: &Arc<Shared>) -> Result<Routes> {
    let flight = FlightServiceServer::new(Service(Arc::clone(shared)))
        .max_decoding_message_size(shared.options.request_bytes_max)
        .max_encoding_message_size(usize::MAX);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<FlightServiceServer<Service>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_file_descriptor_set(crate::reflect::descriptors())
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| Error::Config(format!("reflection: {error}")))?;
    Ok(Routes::new(flight).add_service(health).add_service(reflection).prepare())
}

/// TLS as the files have it; `None` without.
fn acceptor(tls: &Tls) -> Result<Option<TlsAcceptor>> {
    let (certificate, key) = match (&tls.certificate_file, &tls.key_file) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) if tls.client_ca_file.is_none() => return Ok(None),
        _ => {
            let reason = "TLS needs both a certificate and its key";
            return Err(Error::Config(reason.to_owned()));
        }
    };
    let bad = |path: &Path, error: &dyn std::fmt::Display| {
        Error::Config(format!("{}: {error}", path.display()))
    };
    // Another crate of the process may have brought another provider; ours is named here.
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(certificate, &error))?;
    let builder = match &tls.client_ca_file {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(path)? {
                roots.add(root).map_err(|error| bad(path, &error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(|error| bad(path, &error))?)
        }
    };
    let private = PrivateKeyDer::from_pem_slice(&pem(key)?).map_err(|error| bad(key, &error))?;
    let mut config = builder
        .with_single_cert(certificates(certificate)?, private)
        .map_err(|error| bad(certificate, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

fn pem(path: &Path) -> Result<Vec<u8>> {
    whole::read(path, WRITTEN_BYTES_MAX)
        .map_err(|error| Error::Config(format!("{}: {error}", path.display())))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bad = |error: &dyn std::fmt::Display| Error::Config(format!("{}: {error}", path.display()));
    let text = pem(path)?;
    let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| bad(&error))?;
    if certificates.is_empty() {
        return Err(bad(&"there is no certificate in it"));
    }
    Ok(certificates)
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    calls: Calls,
    shared: Arc<Shared>,
    mut stopped: watch::Receiver<bool>,
) {
    let limits = ConnectionLimits::new(&shared.options);
    // Each connection holds a sender; that they are all gone is seen here.
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ended(&mut stopped) => break,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Too many open files, for one.
                warn!(%error, "a connection was not accepted");
                limits.evict_oldest();
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let client = Arc::new(limits.enter());
        let (tls, calls, shared) = (tls.clone(), calls.of(&client), Arc::clone(&shared));
        let (stopped, alive) = (stopped.clone(), alive.clone());
        tokio::spawn(async move {
            shared.metrics.connections.inc();
            connect(socket, tls, calls, &client, stopped).await;
            shared.metrics.connections.dec();
            drop(alive);
        });
    }
    drop((listener, alive));
    if timeout(shared.options.shutdown_timeout, all_gone.recv()).await.is_err() {
        warn!("connections were cut off: they did not end in time");
    }
}

/// Waits until the server is to end.
async fn ended(stopped: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn connect(
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
    calls: Calls,
    client: &ClientConnection,
    stopped: watch::Receiver<bool>,
) {
    // An error here concerns the peer only.
    let _ = socket.set_nodelay(true);
    let socket = Gathered::new(socket);
    match tls {
        None => serve(socket, calls, client, stopped).await,
        Some(tls) => match client.in_time(tls.accept(socket)).await {
            Some(Ok(socket)) => serve(socket, calls, client, stopped).await,
            Some(Err(error)) => debug!(%error, "no TLS handshake"),
            None => debug!("the TLS handshake took too long"),
        },
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    mut socket: S,
    calls: Calls,
    client: &ClientConnection,
    mut stopped: watch::Receiver<bool>,
) {
    // The library below waits for this as long as it takes.
    let mut preface = [0; PREFACE.len()];
    let began = tokio::select! {
        read = client.in_time(socket.read_exact(&mut preface)) => matches!(read, Some(Ok(_))),
        () = ended(&mut stopped) => false,
    };
    if !began || preface != PREFACE {
        debug!("no HTTP/2");
        return;
    }
    let (reader, writer) = tokio::io::split(socket);
    // It is there to be read again.
    let socket = tokio::io::join(PREFACE.chain(reader), writer);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_concurrent_streams(CALLS_MAX)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .serve_connection(TokioIo::new(socket), calls);
    let mut connection = std::pin::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = ended(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = client.given_up() => {
            debug!("a connection without a call was closed");
            return;
        }
    };
    if let Err(error) = result {
        debug!(%error, "a connection ended");
    }
}

/// The page of metrics: `GET /metrics`.
async fn serve_metrics(
    listener: TcpListener,
    shared: Arc<Shared>,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ended(&mut stopped) => return,
        };
        let Ok((socket, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let page = service_fn(move |request: Request<Incoming>| {
                let text = (request.uri().path() == "/metrics").then(|| shared.metrics.text());
                async move {
                    let status = if text.is_some() { 200 } else { 404 };
                    let body = Full::new(bytes::Bytes::from(text.unwrap_or_default()));
                    Response::builder()
                        .status(status)
                        .header("content-type", "text/plain; version=0.0.4")
                        .body(body)
                        .map_err(io::Error::other)
                }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PAGE_TIMEOUT)
                .serve_connection(TokioIo::new(socket), page);
            // An error here concerns the peer only.
            let _ = timeout(PAGE_TIMEOUT, served).await;
        });
    }
}
