// SPDX-License-Identifier: Apache-2.0
//! A buffer of whole lines on its way to a parser, and who wants to know what became of it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arrowsmith_core::Reject;
use tokio::sync::{Notify, oneshot};

use crate::memory::Buffer;
use crate::stream::Compiled;

/// A sender of records: a connection, a request, a file.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Its name in positions.
    pub(crate) name: Arc<str>,
    /// Its number, see [`arrowsmith_message::Origin::connection`].
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
    /// A line that was too long, and passed over, before the text.
    pub(crate) overlong: Option<Box<Reject>>,
    /// Whether one bad record makes all of it refused.
    pub(crate) whole: bool,
    pub(crate) ticket: Ticket,
}

/// Who wants to know when the records of a job are settled.
#[derive(Debug)]
pub(crate) enum Ticket {
    /// Nobody.
    None,
    /// A connection or a follower of a file.
    Progress(Arc<Progress>),
    /// A request.
    Request(oneshot::Sender<Answer>),
}

/// How far a sender's records are settled.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Records settled.
    pub(crate) records: AtomicU64,
    /// Bytes settled.
    pub(crate) bytes: AtomicU64,
    /// Bytes handed over.
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) changed: Notify,
}

/// What became of a request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) records: u64,
    pub(crate) accepted: u64,
    pub(crate) rejects: Vec<Reject>,
    /// Of all rejects; `rejects` has the first few.
    pub(crate) rejected: u64,
    /// Whether the good records were refused with the bad ones.
    pub(crate) refused: bool,
}

/// A job after parsing: what has to happen when its records are settled.
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) answer: Answer,
    /// Gives the memory back when dropped.
    pub(crate) grant: crate::memory::Grant,
}

impl Pending {
    fn settle(self) {
        match self.ticket {
            Ticket::None => {}
            Ticket::Progress(progress) => {
                progress.records.fetch_add(self.records, Ordering::AcqRel);
                progress.bytes.fetch_add(self.bytes, Ordering::AcqRel);
                progress.changed.notify_one();
            }
            // The client may have gone.
            Ticket::Request(reply) => drop(reply.send(self.answer)),
        }
        drop(self.grant);
    }
}

/// Counts the sinks that still have to store messages of some jobs; the last one settles the jobs.
pub(crate) struct Settle {
    remaining: AtomicUsize,
    pending: Mutex<Vec<Pending>>,
}

impl Settle {
    pub(crate) fn new(arrivals: usize, pending: Vec<Pending>) -> Arc<Self> {
        Arc::new(Self { remaining: AtomicUsize::new(arrivals), pending: Mutex::new(pending) })
    }

    /// One message is stored by one sink.
    pub(crate) fn arrive(&self) {
        if self.remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            for job in pending.drain(..) {
                job.settle();
            }
        }
    }
}
