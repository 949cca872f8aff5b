// SPDX-License-Identifier: Apache-2.0
//! Sends generated records over TCP or HTTP, at a rate, over many connections, and counts what was
//! acknowledged: the other end of the ingest service, for its users, tests and benchmarks.
//!
//! Stands outside of source → plan → engine → batch → sink and knows nothing of Arrow. It never
//! sends a record twice unless it is told to try again, and never takes a record for acknowledged
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

/// What is sent, where, how fast, and what counts as done.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to.
    pub target: Target,
    /// Wait to be connected to at the target's address instead of connecting. TCP only.
    pub listen: bool,
    /// The records.
    pub source: Source,
    /// When to end.
    pub amount: Amount,
    /// Connections at a time, at least 1. Each sends records of its own seed.
    pub connections: usize,
    /// How fast, all connections together; as fast as possible where there is none.
    pub rate: Option<Rate>,
    /// Bytes of records between two looks at the clock, and of the body of a request. A rate
    /// makes it smaller.
    pub chunk_bytes: usize,
    /// TCP: wait for acknowledgements, which are lines with the number of records that were settled
    /// on the connection so far.
    pub acknowledge: bool,
    /// For how long to try again when a connection fails or a request is answered by 429 or 503.
    /// What was not acknowledged is sent again; it may then arrive twice.
    pub retry: Duration,
    /// Longest wait for a connection, an answer, or the next acknowledgement.
    pub timeout: Duration,
    /// `Authorization: Bearer` of requests; on TCP the first line.
    pub token: Option<String>,
    /// Certificates, as PEM, that may sign the receiver's; the public authorities where there is
    /// none.
    pub ca: Option<PathBuf>,
    /// Certificate and key, as PEM, with which to introduce oneself.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Options {
    /// One connection, 1 MiB, as fast as possible, no second try.
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

/// How much is sent, all connections together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many records.
    Records(u64),
    /// Whole records, until there are at least so many bytes.
    Bytes(u64),
    /// What can be sent in that time.
    Time(Duration),
}

/// How fast it is sent, all connections together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Bytes of text.
    BytesPerSecond(f64),
    /// Records.
    RecordsPerSecond(f64),
}
