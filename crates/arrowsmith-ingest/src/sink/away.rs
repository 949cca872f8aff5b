// SPDX-License-Identifier: Apache-2.0
//! A sink that fails: what it refuses goes to the rejects, anything else waits until it is back.

use std::io;
use std::time::Duration;

use arrowsmith_core::{DataError, ErrorKind, Position, Reject};
use arrowsmith_message::{Compression, Layout, Message, PublishError, encode};

use super::{From, RETRY, Sink, Work};
use crate::sinks::Needs;

impl Sink {
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

    /// Lets the sink alone for a while; what was in flight waits again, in order.
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
            match self.config.open(&self.stream.name, self.schema.clone()).await {
                Ok(sink) => {
                    let needs = *self
                        .stream
                        .needs
                        .read()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    let needs: Needs = needs.and(Needs::of(&*sink));
                    *self.stream.needs.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
                        needs;
                    self.open = Some(sink);
                }
                Err(error) => return self.failed(work, &error),
            }
        }
        work.away = None;
    }
}
