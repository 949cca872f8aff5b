// SPDX-License-Identifier: Apache-2.0
//! Receivers: bytes from connections, requests and files, split into jobs of whole lines.
//!
//! Nothing here parses. A receiver waits for memory before it reads, and for room in the queue
//! before it reads on: that is the backpressure.

mod acknowledge;
pub(crate) mod connection;
pub(crate) mod follow;
pub(crate) mod http;
pub(crate) mod lines;
pub(crate) mod refusal;
pub(crate) mod server;
pub(crate) mod submit;
pub(crate) mod tcp;
pub(crate) mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrowsmith_publish::Slots;
use tokio::sync::watch;

use crate::config::LimitsConfig;
use crate::memory::{Grant, Memory};
use crate::observe::metrics::Metrics;
use crate::sequence::Sequence;

/// What all receivers share.
pub(crate) struct Common {
    pub(crate) limits: LimitsConfig,
    pub(crate) memory: Arc<Memory>,
    /// For long records and bodies while they come, so that these cannot take all of `memory`.
    pub(crate) growing: Arc<Memory>,
    pub(crate) metrics: Arc<Metrics>,
    /// Numbers of senders.
    pub(crate) numbers: Sequence,
    /// For Arrow data beyond the size of the text.
    pub(crate) arrow: Arc<Memory>,
    /// Slots of connections that send lines, and of those that speak HTTP.
    pub(crate) lines_slots: Arc<Slots>,
    pub(crate) http_slots: Arc<Slots>,
    /// True when no more is to be received.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Common {
    /// Bytes that one job of several may become beyond its text.
    pub(crate) fn part_bytes_max(&self) -> u64 {
        self.arrow.bytes_max() as u64 / 8
    }

    /// Waits for a grant of this many bytes of Arrow data; `None` if that is more than the limit.
    pub(crate) async fn arrow_grant(&self, bytes: u64) -> Option<Grant> {
        self.arrow.grant(usize::try_from(bytes).ok()?).await
    }

    /// Time limit of the start of a connection: handshake, token, header of the first request.
    pub(crate) fn greeting(&self) -> Duration {
        self.limits.greeting_seconds.duration().min(self.limits.idle_seconds.duration())
    }
}

/// Limits bytes per second by waiting.
pub(crate) struct Rate {
    bytes_per_second: usize,
    started: Instant,
    bytes: f64,
}

impl Rate {
    pub(crate) fn new(bytes_per_second: usize) -> Self {
        Self { bytes_per_second, started: Instant::now(), bytes: 0.0 }
    }

    /// Waits until `bytes` more are within the rate.
    pub(crate) async fn wait(&mut self, bytes: usize) {
        if self.bytes_per_second == 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let (per_second, bytes) = (self.bytes_per_second as f64, bytes as f64);
        let since = self.started.elapsed().as_secs_f64();
        // A second's bytes may come at once.
        self.bytes = (self.bytes - since * per_second).max(0.0) + bytes;
        self.started = Instant::now();
        let above = (self.bytes - per_second) / per_second;
        if above > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(above.min(3600.0))).await;
        }
    }
}

/// Ends when nothing more is to be received.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    // The sender lives as long as the service; when it is gone, that is the end, too.
    drop(stop.wait_for(|stop| *stop).await);
}
