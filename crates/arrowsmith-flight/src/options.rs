// SPDX-License-Identifier: Apache-2.0
//! The service's options and limits, all with defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::auth::Access;
use crate::encode::Compression;

/// Certificates. Without any, connections are in plain text.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// The server's certificate chain, a PEM file.
    pub certificate_file: Option<PathBuf>,
    /// Its key, a PEM file.
    pub key_file: Option<PathBuf>,
    /// The authority of client certificates, a PEM file; without it none are required.
    pub client_ca_file: Option<PathBuf>,
}

/// Options of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Address to listen on. Default 127.0.0.1:8815.
    pub listen: SocketAddr,
    /// Address of the page of metrics; none without it.
    pub metrics_listen: Option<SocketAddr>,
    /// The location in endpoints, such as `grpc+tls://data.example.org:443`; without it clients use
    /// the same connection.
    pub location: Option<String>,
    /// Certificates.
    pub tls: Tls,
    /// Whom to let in.
    pub access: Access,
    /// The key of tickets, where several servers share one; otherwise a random one that ends with
    /// the process.
    pub ticket_key: Option<Vec<u8>>,
    /// How long tickets are good. Default an hour.
    pub ticket_lifetime: Duration,
    /// How long tokens are good that a handshake gave. Default 12 hours.
    pub token_lifetime: Duration,
    /// Maximum number of endpoints of a flight; 0, the default, is one for each core and at least
    /// two.
    pub endpoints_max: usize,
    /// Approximate size of sent messages, in bytes. Default 4 MiB less the size of headers, which
    /// every client takes.
    pub message_bytes: usize,
    /// Compression of buffers on the wire.
    pub compression: Compression,
    /// Maximum size of a received message, in bytes. Default 64 MiB.
    pub request_bytes_max: usize,
    /// Maximum size of one DoPut, in bytes. Default 4 GiB.
    pub put_bytes_max: u64,
    /// Maximum size of a Parquet file that DoExchange takes, in bytes. Default 256 MiB.
    pub exchange_bytes_max: usize,
    /// Memory for streams that are decoded, in bytes; more streams wait for their turn. Default 1
    /// GiB.
    pub memory_bytes_max: u64,
    /// Maximum number of messages of a stream that wait for a slow reader. Default 3.
    pub queue_messages_max: usize,
    /// Maximum number of concurrent streams. Default 4096.
    pub streams_max: usize,
    /// Maximum number of admitted connections. Unauthenticated ones have a limit of their own.
    /// Default 10000.
    pub connections_max: usize,
    /// How long a new connection may take for each of: TLS and the start of HTTP/2, and its first
    /// call that is let in. Default 10 seconds.
    pub handshake_timeout: Duration,
    /// How long a reader may take nothing, and a stream may wait for its turn. Default a minute.
    pub stall_timeout: Duration,
    /// How long a shutdown waits for streams to end. Default 30 seconds.
    pub shutdown_timeout: Duration,
    /// Threads that decode; 0, the default, is one for each core.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8815)),
            metrics_listen: None,
            location: None,
            tls: Tls::default(),
            access: Access::default(),
            ticket_key: None,
            ticket_lifetime: Duration::from_secs(3600),
            token_lifetime: Duration::from_secs(12 * 3600),
            endpoints_max: 0,
            message_bytes: (4 << 20) - (64 << 10),
            compression: Compression::None,
            request_bytes_max: 64 << 20,
            put_bytes_max: 4 << 30,
            exchange_bytes_max: 256 << 20,
            memory_bytes_max: 1 << 30,
            queue_messages_max: 3,
            streams_max: 4096,
            connections_max: 10_000,
            handshake_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(30),
            threads: 0,
        }
    }
}

impl Options {
    pub(crate) fn cores(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    pub(crate) fn endpoints(&self) -> usize {
        match self.endpoints_max {
            0 => self.cores().max(2),
            endpoints => endpoints,
        }
    }
}
