// SPDX-License-Identifier: Apache-2.0
//! Receipts: what a sink has stored is settled, what it refused goes to the rejects.

use std::time::Instant;

use arrowsmith_publish::{Message, PublishError};
use futures_util::FutureExt;

use super::outage::received;
use super::{From, RETRY, Sink, Task, Work};
use crate::observe::metrics::observe;

impl Sink {
    /// Takes the receipts that are ready, before what is in flight is given up. `false` when one of
    /// them has made the sink fail already.
    pub(super) fn finish_in_flight(&mut self, work: &mut Work) -> bool {
        while work.away.is_none()
            && let Some((_, receipt, _)) = work.in_flight.front_mut()
        {
            let Some(result) = received(receipt).now_or_never() else { return true };
            if let Some((task, _, started)) = work.in_flight.pop_front() {
                self.settle(work, task, started, result);
            }
        }
        work.away.is_none()
    }

    /// Handles the result of a receipt.
    pub(super) fn settle(
        &mut self,
        work: &mut Work,
        task: Task,
        started: Instant,
        result: Result<(), PublishError>,
    ) {
        let rows = task.message.as_ref().map_or(0, |message| message.rows() as u64);
        match result {
            Ok(()) => {
                if let Some(message) = &task.message {
                    self.published(message, &task, started);
                }
                work.wait = RETRY[0];
            }
            Err(PublishError::Refused(why)) => {
                if let Some(message) = &task.message
                    && let Err(error) = self.refuse(message, &why)
                {
                    tracing::error!(stream = &*self.stream.name, %error, "rejects cannot be written");
                    work.in_flight.push_front((task, arrowsmith_publish::done(), started));
                    return self.fail(work, None);
                }
                if let From::Queue(settle) = &task.from {
                    settle.refuse();
                }
            }
            Err(error) => {
                // Back to where it was, before those after it: older messages go first again.
                work.in_flight.push_front((task, arrowsmith_publish::done(), started));
                return self.failed(work, &error);
            }
        }
        match task.from {
            From::Queue(settle) => settle.arrive(),
            From::Spool(place) => {
                self.metrics.unspooled.inc_by(rows);
                if let Some((_, spool)) = &mut self.spool
                    && let Err(error) = spool.finish(place, rows)
                {
                    // Some messages may be published twice after the next start, by a sink that
                    // does not know them.
                    tracing::error!(stream = &*self.stream.name, %error, "the spool's place is not noted");
                }
            }
        }
    }

    fn published(&mut self, message: &Message, task: &Task, started: Instant) {
        let rows = message.rows() as u64;
        let bytes = match message.payload.len() {
            0 => message.batch.get_array_memory_size(),
            len => len,
        };
        self.metrics.published.inc_by(rows);
        self.metrics.published_messages.inc();
        self.metrics.published_bytes.inc_by(bytes as u64);
        observe(&self.metrics.publish, started.elapsed());
        if matches!(task.from, From::Queue(_)) {
            observe(&self.metrics.latency, message.times.start.elapsed());
        } else if let Ok(age) = message.received_at.elapsed() {
            observe(&self.metrics.latency, age);
        }
        if let Some(latency) = &mut self.latency {
            latency.note(
                &self.name,
                message,
                bytes,
                started.saturating_duration_since(task.queued),
                started.elapsed(),
            );
        }
    }
}
