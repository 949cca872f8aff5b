// SPDX-License-Identifier: Apache-2.0
//! Between a sink and its spool: what waits goes there and is settled, and comes back in its order.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use arrowsmith_publish::{Compression, Layout, encode};

use super::{From, RETRY, Sink, Task, Work};
use crate::config::{Fsync, LayoutConfig, SpoolWhen};

impl Sink {
    /// Whether what comes now goes to the spool.
    pub(super) fn spools(&self, work: &Work) -> bool {
        self.spool.as_ref().is_some_and(|(config, spool)| {
            config.when == SpoolWhen::Always || work.away.is_some() || !spool.is_empty()
        })
    }

    /// Moves what waits into the spool and settles it. What came from there is still there.
    pub(super) fn spool_waiting(&mut self, work: &mut Work) {
        let Some((config, spool)) = &mut self.spool else { return };
        if self.clock.now() < work.spool_from
            || !work.waiting.iter().any(|task| matches!(task.from, From::Queue(_)))
        {
            return;
        }
        let (mut taken, mut kept) = (VecDeque::new(), VecDeque::new());
        let mut failure: Option<io::Error> = None;
        for task in work.waiting.drain(..) {
            if matches!(task.from, From::Spool(_)) {
                kept.push_back(task);
                continue;
            }
            if failure.is_none()
                && let Some(message) = &task.message
            {
                failure = spool.append(message).err();
            }
            if failure.is_some() { kept.push_back(task) } else { taken.push_back(task) }
        }
        if let Err(error) = spool.commit(config.fsync == Fsync::Always) {
            // None of them is in the spool: they wait, and are not acknowledged.
            failure = Some(error);
        } else {
            for task in taken.drain(..) {
                let rows = task.message.as_ref().map_or(0, |message| message.rows() as u64);
                self.metrics.spooled.inc_by(rows);
                if let From::Queue(settle) = task.from {
                    settle.arrive();
                }
            }
        }
        taken.append(&mut kept);
        work.waiting = taken;
        let before =
            std::mem::replace(&mut work.spool_fault, failure.as_ref().map(io::Error::kind));
        match failure {
            Some(error) => {
                if before != work.spool_fault {
                    tracing::error!(stream = &*self.stream.name, %error, "the spool cannot be written; waiting");
                }
                work.spool_from = self.clock.now() + RETRY[0];
            }
            None if before.is_some() => {
                tracing::info!(stream = &*self.stream.name, "the spool is written again");
            }
            None => {}
        }
    }

    /// Takes messages from the spool while the sink has room.
    pub(super) fn fill_from_spool(&mut self, work: &mut Work) {
        let most = self.open.as_ref().map_or(0, |sink| sink.in_flight_max()).max(1);
        let Some((_, spool)) = &mut self.spool else { return };
        while !spool.is_empty() && work.waiting.len() + work.in_flight.len() < most {
            match spool.next() {
                // The sink had it when an earlier process ended, which did not come to note that.
                Ok(Some((message, place)))
                    if spool.was_left(place)
                        && work.stored.is_some_and(|stored| message.sequence <= stored) =>
                {
                    let rows = message.rows() as u64;
                    self.metrics.unspooled.inc_by(rows);
                    // By that process; or the account would miss them.
                    self.metrics.published.inc_by(rows);
                    if let Err(error) = spool.finish(place, rows) {
                        tracing::error!(stream = &*self.stream.name, %error, "the spool's place is not noted");
                    }
                }
                Ok(Some((mut message, place))) => {
                    let config = &self.stream.config;
                    if self.open.as_ref().is_some_and(|sink| sink.needs_payload()) {
                        let layout = match config.layout {
                            LayoutConfig::SelfContained => Layout::SelfContained,
                            LayoutConfig::BatchOnly => Layout::BatchOnly,
                        };
                        let codec: Compression = config.compression.into();
                        message.payload = encode(&message.batch, layout, codec).unwrap_or_default();
                    }
                    work.waiting.push_back(Task {
                        message: Some(Arc::new(message)),
                        from: From::Spool(place),
                        queued: Instant::now(),
                    });
                }
                Ok(None) => {
                    let held =
                        work.waiting.iter().chain(work.in_flight.iter().map(|(task, ..)| task));
                    if !held.into_iter().any(|task| matches!(task.from, From::Spool(_)))
                        && let Err(error) = spool.finish_all()
                    {
                        tracing::error!(stream = &*self.stream.name, %error, "the spool's place is not noted");
                    }
                    break;
                }
                Err(error) => {
                    tracing::error!(stream = &*self.stream.name, %error, "the spool cannot be read");
                    self.fail(work, None);
                    break;
                }
            }
        }
    }

    /// The next task to publish: with older messages in the spool, none that is not from there.
    pub(super) fn next(&self, work: &mut Work) -> Option<Task> {
        if !self.spools(work) {
            return work.waiting.pop_front();
        }
        let first = work.waiting.iter().position(|task| matches!(task.from, From::Spool(_)))?;
        work.waiting.remove(first)
    }
}
