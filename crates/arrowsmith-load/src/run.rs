// SPDX-License-Identifier: Apache-2.0
//! [`run`]: all connections, from start to report.

use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::feed::Feed;
use crate::pace::Pace;
use crate::report::Count;
use crate::{Amount, Options, Rate, Report, http, tcp, tls};

/// Interval at which `stop` is polled.
const STOP_LOOK: Duration = Duration::from_millis(20);
/// First and longest wait between retries.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// State shared by the connections.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) tls: Option<TlsConnector>,
    pub(crate) listener: Option<TcpListener>,
}

/// Sends on its own threads, until everything is sent and acknowledged, all connections have
/// failed, or `stop` is set. Failures of connections are in the report.
///
/// # Errors
/// If it cannot start: invalid options, an address that cannot be bound, certificates that cannot
/// be read.
pub fn run(options: &Options, stop: &AtomicBool) -> Result<Report> {
    check(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(run_all(options, stop));
    runtime.shutdown_background();
    report
}

fn check(options: &Options) -> Result<()> {
    let wrong = |what: &str| Err(Error::new(ErrorKind::InvalidInput, what));
    let rate = match options.rate {
        None => 1.0,
        Some(Rate::BytesPerSecond(rate) | Rate::RecordsPerSecond(rate)) => rate,
    };
    if !(rate > 0.0 && rate.is_finite()) {
        return wrong("the rate must be above 0");
    }
    if options.connections == 0 {
        return wrong("there must be at least one connection");
    }
    if options.listen && (options.target.tls || options.target.path.is_some()) {
        return wrong("only tcp:// targets can listen");
    }
    Ok(())
}

async fn run_all(options: &Options, stop: &AtomicBool) -> Result<Report> {
    let listener = match options.listen {
        true => Some(TcpListener::bind(&options.target.authority).await?),
        false => None,
    };
    let tls = tls::connector(options)?;
    let shared = Arc::new(Shared { options: options.clone(), tls, listener });
    let started = Instant::now();
    let mut connections = JoinSet::new();
    for index in 0..options.connections {
        connections.spawn(connection(Arc::clone(&shared), index));
    }
    let mut count = Count::default();
    loop {
        tokio::select! {
            ended = connections.join_next() => match ended {
                Some(Ok(part)) => count.merge(part),
                Some(Err(error)) => return Err(Error::other(error)),
                None => break,
            },
            () = tokio::time::sleep(STOP_LOOK) => {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Interrupted, "stopped"));
                }
            }
        }
    }
    Ok(count.finish(started.elapsed().as_secs_f64()))
}

/// Sends the share of one connection, reconnecting as needed.
async fn connection(shared: Arc<Shared>, index: usize) -> Count {
    let options = &shared.options;
    let pace = Pace::new(options.rate, index, options.connections);
    let amount = share(options.amount, index, options.connections);
    let seed = u64::try_from(index).unwrap_or(u64::MAX);
    let mut feed = Feed::new(&options.source, seed, amount, options.chunk_bytes, pace);
    let mut count = Count::default();
    let mut tries = Tries::new(options.retry);
    loop {
        let result = match &options.target.path {
            Some(path) => http::session(&shared, path, &mut feed, &mut count, &mut tries).await,
            None => tcp::session(&shared, &mut feed, &mut count, &mut tries).await,
        };
        let Err(error) = result else { return count };
        count.failure(error.to_string());
        if !tries.again(None).await {
            count.report.incomplete_connections += 1;
            return count;
        }
    }
}

/// The retry policy.
pub(crate) struct Tries {
    limit: Duration,
    success: Instant,
    wait: Duration,
}

impl Tries {
    fn new(limit: Duration) -> Self {
        Self { limit, success: Instant::now(), wait: BACK_OFF[0] }
    }

    /// Notes progress.
    pub(crate) fn succeeded(&mut self) {
        self.success = Instant::now();
        self.wait = BACK_OFF[0];
    }

    /// Waits, at least as long as the receiver requested; returns `false` when it is time to give
    /// up.
    pub(crate) async fn again(&mut self, asked: Option<Duration>) -> bool {
        let wait = self.wait.max(asked.unwrap_or_default());
        if self.success.elapsed() + wait > self.limit {
            return false;
        }
        tokio::time::sleep(wait).await;
        self.wait = (self.wait * 2).min(BACK_OFF[1]);
        true
    }
}

/// The share of connection `index`.
fn share(amount: Amount, index: usize, connections: usize) -> Amount {
    let [index, count] = [index, connections].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
    let part = |all: u64| all / count + u64::from(index < all % count);
    match amount {
        Amount::Records(all) => Amount::Records(part(all)),
        Amount::Bytes(all) => Amount::Bytes(part(all)),
        Amount::Time(time) => Amount::Time(time),
    }
}

/// Waits with a timeout.
pub(crate) async fn within<T>(limit: Duration, wait: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(limit, wait).await {
        Ok(result) => result,
        Err(_) => Err(Error::new(ErrorKind::TimedOut, "no response in time")),
    }
}
