// SPDX-License-Identifier: Apache-2.0
//! Sends generated records over TCP or HTTP, at a rate, over many connections, and counts what was
//! acknowledged: a load generator for the ingest service, for its users, tests and benchmarks.
//!
//! It is not part of source → plan → engine → batch → sink, and knows nothing of Arrow. It never
//! sends a record twice unless [`Options::retry`] is set, and never counts a record as acknowledged
//! that the receiver did not confirm.
//!
//! ```
//! use std::io::Read;
//! use std::sync::atomic::AtomicBool;
//!
//! use arrowsmith_load::{Amount, Options, Source, run};
//! use arrowsmith_workload::Workload;
//!
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let target = format!("tcp://{}", listener.local_addr()?);
//! let receiver = std::thread::spawn(move || {
//!     let mut text = String::new();
//!     listener.accept().and_then(|(mut stream, _)| stream.read_to_string(&mut text)).map(|_| text)
//! });
//! let options = Options {
//!     amount: Amount::Records(100),
//!     ..Options::new(target.parse()?, Source::new(Workload::Trip))
//! };
//! let report = run(&options, &AtomicBool::new(false))?;
//! assert_eq!(report.sent_records, 100);
//! assert_eq!(receiver.join().unwrap()?.lines().count(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod feed;
mod http;
mod pace;
mod report;
mod run;
mod target;
mod tcp;
mod tls;

#[cfg(test)]
mod tests;

pub use feed::{Chunk, Source};
pub use report::{LatencyMs, Report};
pub use run::run;
pub use target::{Target, TargetError};

use std::path::PathBuf;
use std::time::Duration;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The destination.
    pub target: Target,
    /// Listen on the target's address instead of connecting to it. TCP only.
    pub listen: bool,
    /// The records.
    pub source: Source,
    /// How much to send.
    pub amount: Amount,
    /// Number of concurrent connections, at least 1. Each sends records from its own seed.
    pub connections: usize,
    /// The rate over all connections; `None` means as fast as possible.
    pub rate: Option<Rate>,
    /// Bytes of records per write, or per body of an HTTP request. A rate can reduce it.
    pub chunk_bytes: usize,
    /// TCP: wait for acknowledgements, which are lines with the number of records settled on the
    /// connection so far.
    pub acknowledge: bool,
    /// How long to retry when a connection fails or a request is answered by 429 or 503.
    /// Unacknowledged records are sent again, and may then arrive twice.
    pub retry: Duration,
    /// Timeout of a connection attempt, a response, or the next acknowledgement.
    pub timeout: Duration,
    /// `Authorization: Bearer` of requests; on TCP the first line.
    pub token: Option<String>,
    /// CA certificates (PEM) that the receiver's certificate is verified against; `None` means the
    /// public CAs.
    pub ca: Option<PathBuf>,
    /// Client certificate and private key (PEM).
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Options {
    /// One connection, 1 MiB, as fast as possible, without retries.
    #[must_use]
    pub fn new(target: Target, source: Source) -> Self {
        Self {
            target,
            listen: false,
            source,
            amount: Amount::Bytes(1 << 20),
            connections: 1,
            rate: None,
            chunk_bytes: 256 << 10,
            acknowledge: false,
            retry: Duration::ZERO,
            timeout: Duration::from_secs(30),
            token: None,
            ca: None,
            identity: None,
        }
    }
}

/// How much is sent over all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// This many records.
    Records(u64),
    /// Whole records, until there are at least this many bytes.
    Bytes(u64),
    /// As much as can be sent in this time.
    Time(Duration),
}

/// The rate over all connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Bytes of text.
    BytesPerSecond(f64),
    /// Records.
    RecordsPerSecond(f64),
}
