// SPDX-License-Identifier: Apache-2.0
//! A buffer of whole lines on its way to a parser, and who waits for its result.

mod answer;
mod parsed;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arrowsmith_core::Reject;
use tokio::sync::{Notify, oneshot};

pub(crate) use self::answer::{Answer, Fate};
pub(crate) use self::parsed::{Draft, Parsed, Received};
use crate::compiled::Compiled;
use crate::memory::{Buffer, Grant};

/// A sender of records: a connection, a request, a file.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Its name in positions.
    pub(crate) name: Arc<str>,
    /// Its number, see [`arrowsmith_publish::Origin::connection`].
    pub(crate) number: u64,
}

/// Whole lines of one sender.
pub(crate) struct Job {
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) sender: Arc<Sender>,
    /// The text and the memory that it has been granted.
    pub(crate) buffer: Buffer,
    /// Offset of the first byte at its sender, in bytes.
    pub(crate) offset: u64,
    /// Line of the first byte, from 1.
    pub(crate) line: u64,
    /// Line ends in it.
    pub(crate) lines: u64,
    pub(crate) received_at: SystemTime,
    /// When its first byte came.
    pub(crate) start: Instant,
    /// How long reading took.
    pub(crate) receive: Duration,
    /// When it was handed over.
    pub(crate) queued: Instant,
    /// A line before the text that was too long, and was skipped.
    pub(crate) overlong: Option<Box<Reject>>,
    /// Bytes of that line.
    pub(crate) passed_bytes: u64,
    /// For Arrow data beyond the size of the text.
    pub(crate) arrow: Option<Grant>,
    /// For more of it, where the schema has grown since.
    pub(crate) late: Option<Grant>,
    /// Whether one bad record makes all of it refused.
    pub(crate) whole: bool,
    pub(crate) ticket: Ticket,
}

impl Job {
    /// Text that came whole just now, from its sender's first byte on: no skipped line, no grant
    /// for Arrow data, no sender that waits.
    #[cfg(any(test, feature = "parts"))]
    pub(crate) fn new(compiled: Arc<Compiled>, sender: Arc<Sender>, buffer: Buffer) -> Self {
        let now = Instant::now();
        Self {
            compiled,
            sender,
            offset: 0,
            line: 1,
            lines: memchr::memchr_iter(b'\n', buffer.text()).count() as u64,
            buffer,
            received_at: SystemTime::now(),
            start: now,
            receive: Duration::ZERO,
            queued: now,
            overlong: None,
            passed_bytes: 0,
            arrow: None,
            late: None,
            whole: false,
            ticket: Ticket::None,
        }
    }

    /// Bytes of its text, and of its Arrow data beyond them.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len + self.arrow.as_ref().map_or(0, Grant::bytes_max)
    }
}

/// Who waits until the records of a job are settled.
#[derive(Debug)]
pub(crate) enum Ticket {
    /// No one: the sender is not acknowledged.
    None,
    /// A connection or a follower of a file.
    Progress(Awaited),
    /// A request.
    Request(oneshot::Sender<Answer>),
}

/// How many of a sender's records are settled.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Records settled.
    pub(crate) records: AtomicU64,
    /// Bytes settled.
    pub(crate) bytes: AtomicU64,
    /// Bytes handed over.
    pub(crate) sent_bytes: AtomicU64,
    /// Whether a buffer was lost: nothing after it is counted, or its records would seem settled.
    lost: AtomicBool,
    pub(crate) changed: Notify,
}

impl Progress {
    /// Whether a buffer was lost, so that this does not go on.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Ends when a buffer is lost.
    pub(crate) async fn lost(&self) {
        while !self.is_lost() {
            let changed = self.changed.notified();
            if self.is_lost() {
                return;
            }
            changed.await;
        }
    }
}

/// A buffer that a sender awaits. One that is dropped before it is settled is lost.
#[derive(Debug)]
pub(crate) struct Awaited {
    progress: Arc<Progress>,
    is_settled: bool,
}

impl Awaited {
    pub(crate) fn new(progress: &Arc<Progress>) -> Self {
        Self { progress: Arc::clone(progress), is_settled: false }
    }

    fn settle(mut self, records: u64, bytes: u64) {
        self.is_settled = true;
        if !self.progress.is_lost() {
            self.progress.records.fetch_add(records, Ordering::AcqRel);
            self.progress.bytes.fetch_add(bytes, Ordering::AcqRel);
            self.progress.changed.notify_waiters();
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if !self.is_settled {
            self.progress.lost.store(true, Ordering::Release);
            self.progress.changed.notify_waiters();
        }
    }
}

/// A job after parsing: what has to happen when its records are settled.
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) answer: Answer,
    /// Give the memory back when dropped: for the text, and for what it became.
    pub(crate) grants: (Grant, [Option<Grant>; 2]),
}

impl Pending {
    fn settle(self) {
        match self.ticket {
            Ticket::None => {}
            Ticket::Progress(awaited) => awaited.settle(self.records, self.bytes),
            // The client may have gone.
            Ticket::Request(reply) => drop(reply.send(self.answer)),
        }
        drop(self.grants);
    }
}

/// Counts the sinks that still have to store messages of some jobs; the last one settles the jobs.
pub(crate) struct Settle {
    remaining: AtomicUsize,
    refused: AtomicBool,
    pending: Mutex<Vec<Pending>>,
}

impl Settle {
    pub(crate) fn new(arrivals: usize, pending: Vec<Pending>) -> Arc<Self> {
        Arc::new(Self {
            remaining: AtomicUsize::new(arrivals),
            refused: AtomicBool::new(false),
            pending: Mutex::new(pending),
        })
    }

    /// A sink refused one of the messages: it is in the rejects and not where it belongs, so that
    /// no request may be answered that its records are stored. The message still has to arrive.
    pub(crate) fn refuse(&self) {
        self.refused.store(true, Ordering::Release);
    }

    /// One message is stored by one sink.
    pub(crate) fn arrive(&self) {
        if self.remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let refused = self.refused.load(Ordering::Acquire);
            for mut job in pending.drain(..) {
                if refused {
                    job.answer.not_taken();
                }
                job.settle();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_behind_a_lost_buffer_seems_settled() {
        let progress = Arc::<Progress>::default();
        let (first, lost) = (Awaited::new(&progress), Awaited::new(&progress));
        let last = Awaited::new(&progress);
        first.settle(2, 20);
        assert!(!progress.is_lost());
        drop(lost);
        last.settle(3, 30);
        let count = |count: &AtomicU64| count.load(Ordering::Acquire);
        assert_eq!((count(&progress.records), count(&progress.bytes)), (2, 20));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(progress.lost());
    }

    #[test]
    fn what_a_sink_refused_is_not_said_to_be_stored() {
        for (refused, expected) in [(false, Fate::Stored), (true, Fate::NotTaken)] {
            let (reply, mut told) = oneshot::channel();
            let used = prometheus::IntGauge::new("used", "used").unwrap();
            let memory = crate::memory::Memory::new(1 << 20, used);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let grant = runtime.block_on(memory.grant(1)).unwrap();
            let answer = Answer::new(3, 0, false, 0);
            let ticket = Ticket::Request(reply);
            let pending =
                Pending { ticket, records: 3, bytes: 9, answer, grants: (grant, [None, None]) };
            let settle = Settle::new(2, vec![pending]);
            if refused {
                settle.refuse();
            }
            settle.arrive();
            assert!(told.try_recv().is_err(), "one sink has it");
            settle.arrive();
            let answer = told.try_recv().unwrap();
            assert_eq!(answer.fate(), expected);
            assert_eq!(answer.accepted(), if refused { 0 } else { 3 });
        }
    }
}
