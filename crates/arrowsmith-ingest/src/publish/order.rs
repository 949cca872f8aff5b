// SPDX-License-Identifier: Apache-2.0
//! The thread between parsers and sinks of a stream: results in their order, numbered, to every
//! sink.
//!
//! It waits for the result of each job in the order in which jobs were handed over, writes the
//! rejects, and puts messages into the queues of the sinks. A full queue blocks it, and with it
//! everything before it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrowsmith_publish::Message;
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};

use super::worker::Parcel;
use crate::clock::{SharedClock, sleep};
use crate::job::{Parsed, Settle};
use crate::observe::last_rejects::LastRejects;
use crate::observe::metrics::observe;
use crate::panics;
use crate::rejects::{RejectLine, Rejects};
use crate::sequence::Sequence;
use crate::stream::Stream;

/// Maximum wait between two attempts to write rejects.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// What the thread needs.
pub(crate) struct Order {
    pub(crate) stream: Arc<Stream>,
    pub(crate) results: mpsc::Receiver<oneshot::Receiver<Parsed>>,
    pub(crate) sinks: Vec<mpsc::Sender<Parcel>>,
    pub(crate) rejects: Rejects,
    pub(crate) numbers: Arc<Sequence>,
    pub(crate) last_rejects: Arc<LastRejects>,
    pub(crate) clock: SharedClock,
    /// Set when the shutdown may not take longer.
    pub(crate) give_up: Arc<AtomicBool>,
}

impl Order {
    /// Its work, until the stream ends.
    pub(crate) async fn run(mut self) {
        while let Some(result) = self.results.recv().await {
            // Without a result, the job's records are with those of the job before.
            if let Ok(parsed) = result.await {
                // The parsers wait for what is passed on, and the senders for their answers.
                if let Err(panic) = AssertUnwindSafe(self.pass(parsed)).catch_unwind().await {
                    let why = panics::why(panic);
                    tracing::error!(stream = &*self.stream.name, why, "a buffer is lost");
                }
                self.stream.passed();
            }
        }
    }

    async fn pass(&mut self, parsed: Parsed) {
        if !self.reject(&parsed).await {
            // The end may not take longer: what is not settled was never acknowledged.
            return;
        }
        let messages = parsed.drafts.len().max(1);
        let settle = Settle::new(messages * self.sinks.len(), parsed.pending);
        let mut sent = 0;
        for draft in parsed.drafts {
            self.stream.metrics.messages.inc();
            let message = draft.message(&self.stream.name, self.numbers.next(), parsed.received);
            self.send(Some(Arc::new(message)), &settle).await;
            sent += 1;
        }
        if sent == 0 {
            // Records that are all rejected are settled in their turn, too.
            self.send(None, &settle).await;
        }
    }

    async fn send(&self, message: Option<Arc<Message>>, settle: &Arc<Settle>) {
        for sink in &self.sinks {
            let parcel = Parcel {
                message: message.clone(),
                settle: Arc::clone(settle),
                queued: Instant::now(),
            };
            let waited = Instant::now();
            // A sink's thread ends after this one, unless that may not take longer.
            if sink.send(parcel).await.is_err() && !self.give_up.load(Ordering::Acquire) {
                tracing::error!(stream = &*self.stream.name, "a sink has ended too early");
            }
            observe(&self.stream.metrics.stages[5], waited.elapsed());
        }
    }

    /// Writes the rejects; `false` when that cannot be done before the end.
    async fn reject(&mut self, parsed: &Parsed) -> bool {
        if parsed.rejects.is_empty() {
            return true;
        }
        let mut wait = Duration::from_millis(50);
        loop {
            match self.rejects.add(&parsed.rejects) {
                Ok(()) => break,
                Err(error) => {
                    self.stream.metrics.rejects_writable.set(0);
                    let path = self.rejects.path();
                    tracing::error!(path = %path.display(), %error, "rejects cannot be written; trying again");
                    if self.give_up.load(Ordering::Acquire) {
                        return false;
                    }
                    sleep(&*self.clock, wait).await;
                    wait = (wait * 2).min(RETRY_MAX);
                }
            }
        }
        self.stream.metrics.rejects_writable.set(1);
        for reject in &parsed.rejects {
            if reject.kept_as_null {
                self.stream.metrics.nulled.inc();
            } else {
                self.stream.metrics.rejected.inc();
            }
            self.last_rejects.add(&self.stream.name, &RejectLine::new(reject, true));
        }
        true
    }
}
