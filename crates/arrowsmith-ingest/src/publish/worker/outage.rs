// SPDX-License-Identifier: Apache-2.0
//! A sink that fails: what it refuses goes to the rejects, anything else waits until it is back.
//!
//! A sink that panics is replaced by a new one, which knows what is stored. A message at which it
//! panics repeatedly is refused, so that those after it are published.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrowsmith_core::{DataError, ErrorKind, Position, Reject};
use arrowsmith_publish::{Compression, Layout, Message, PublishError, Receipt, encode};
use futures_util::FutureExt;

use super::{From, Panicked, RETRY, Sink, Work};
use crate::clock::{Clock, sleep};
use crate::panics;
use crate::publish::sinks::Needs;

/// How often a sink may panic at one message.
const PANICS_MAX: u32 = 3;

/// How often `give_up` is checked, and the time that a call has once it is set.
const LOOK: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_secs(1);

/// The result of a call of a sink.
pub(super) enum Called<T> {
    Done(T),
    Panicked(String),
    /// The end may not take longer.
    GivenUp,
}

/// Calls a sink, which may wait as it likes, but not for longer than the end may take.
pub(super) async fn called<T>(
    call: impl Future<Output = T>,
    give_up: &AtomicBool,
    clock: &dyn Clock,
) -> Called<T> {
    let given_up = async {
        while !give_up.load(Ordering::Acquire) {
            sleep(clock, LOOK).await;
        }
        sleep(clock, GRACE).await;
    };
    tokio::select! {
        biased;
        result = AssertUnwindSafe(call).catch_unwind() => match result {
            Ok(result) => Called::Done(result),
            Err(panic) => Called::Panicked(panics::why(panic)),
        },
        () = given_up => Called::GivenUp,
    }
}

/// Waits for a receipt.
pub(super) async fn received(receipt: &mut Receipt) -> Result<(), PublishError> {
    let result = AssertUnwindSafe(receipt).catch_unwind().await;
    result.unwrap_or_else(|panic| Err(PublishError::retry(panics::why(panic))))
}

impl Panicked {
    /// The result for the message that caused the panic, if it is not to be published again.
    pub(super) fn fate(
        &self,
        message: &Message,
        stored: Option<u64>,
    ) -> Option<Result<(), PublishError>> {
        if self.sequence != message.sequence {
            return None;
        }
        // It came so far before it panicked.
        if stored > self.stored && stored >= Some(self.sequence) {
            return Some(Ok(()));
        }
        let is_refused = self.times >= PANICS_MAX;
        is_refused.then(|| Err(PublishError::Refused(self.why.as_str().into())))
    }
}

impl Sink {
    /// The sink panicked at a message.
    pub(super) fn panicked(&mut self, work: &mut Work, sequence: u64, why: String) {
        let known = work.panicked.as_ref().filter(|known| known.sequence == sequence);
        let times = known.map_or(0, |known| known.times) + 1;
        self.replace(work, &why);
        work.panicked = Some(Panicked { sequence, times, why, stored: work.stored });
    }

    /// Replaces a sink that panicked, whose state is unknown.
    pub(super) fn replace(&mut self, work: &mut Work, why: &str) {
        let goes_on = self.finish_in_flight(work);
        let sink = self.open.take();
        if catch_unwind(AssertUnwindSafe(|| drop(sink))).is_err() {
            tracing::error!(
                stream = &*self.stream.name,
                sink = &*self.name,
                "dropping it panicked"
            );
        }
        if goes_on {
            self.failed(work, &PublishError::retry(why));
        }
    }

    /// Puts the rows of a message that the sink does not take to the rejects, as one reject.
    pub(super) fn refuse(&mut self, message: &Message, why: &str) -> io::Result<()> {
        let origin = message.origins.first();
        let error = DataError {
            kind: ErrorKind::InvalidValue,
            position: Position {
                source: Some(format!("message {} of {}", message.sequence, self.name).into()),
                record: origin.map_or(0, |origin| origin.first),
                ..Position::default()
            },
            path: String::new(),
            expected: "a message that the sink takes".to_owned(),
            found: why.to_owned(),
            hint: Some("the text is the message as an Arrow IPC stream".to_owned()),
        };
        let text = encode(&message.batch, Layout::SelfContained, Compression::None);
        let record = text.map_err(io::Error::other)?.to_vec();
        self.rejects.add(&[Reject { error, record, kept_as_null: false }])?;
        self.metrics.refused.inc_by(message.rows() as u64);
        Ok(())
    }

    pub(super) fn failed(&mut self, work: &mut Work, error: &PublishError) {
        let (after, fatal) = match error {
            PublishError::Retry { after, .. } => (*after, false),
            _ => (Some(RETRY[1]), true),
        };
        let (stream, sink) = (&*self.stream.name, &*self.name);
        if fatal {
            tracing::error!(stream, sink, %error, "the sink refuses to go on; trying again");
        } else {
            tracing::warn!(stream, sink, %error, wait = ?work.wait, "publishing failed; trying again");
        }
        self.fail(work, after);
    }

    /// Pauses the sink; what was in flight waits again, in order.
    pub(super) fn fail(&mut self, work: &mut Work, after: Option<Duration>) {
        self.metrics.retries.inc();
        for (task, ..) in work.in_flight.drain(..).rev() {
            work.waiting.push_front(task);
        }
        work.away = Some(self.clock.now() + work.wait.max(after.unwrap_or_default()));
        work.wait = (work.wait * 2).min(RETRY[1]);
        if let Some((_, spool)) = &mut self.spool {
            // They are read again when the sink is back.
            work.waiting.retain(|task| matches!(task.from, From::Queue(_)));
            spool.rewind();
        }
    }

    /// Tries to go on after a failure.
    pub(super) async fn reopen(&mut self, work: &mut Work) {
        if self.open.is_none() {
            let opening = self.config.open(&self.stream.name, self.schema.clone(), &self.metrics);
            match called(opening, &self.give_up, &*self.clock).await {
                Called::Done(Ok(sink)) => {
                    let needs = *self
                        .stream
                        .needs
                        .read()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    let needs: Needs = needs.and(Needs::of(&*sink));
                    *self.stream.needs.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
                        needs;
                    work.stored = sink.stored();
                    self.open = Some(sink);
                }
                Called::Done(Err(error)) => return self.failed(work, &error),
                Called::Panicked(why) => return self.failed(work, &PublishError::retry(why)),
                Called::GivenUp => return,
            }
        }
        work.away = None;
    }
}
