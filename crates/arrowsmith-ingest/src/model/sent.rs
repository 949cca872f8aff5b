// SPDX-License-Identifier: Apache-2.0
//! What senders of the model send: lines, some of them bad, and what has to become of each.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::oneshot;

use super::Record;
use super::simulated::Chance;
use crate::job::{Answer, Fate, Job, Sender, Ticket};
use crate::memory::{Buffer, Memory};
use crate::stream::Stream;

pub(super) const SCHEMA: &str =
    "connection: uint64 not null, number: uint64 not null, name: dictionary<int8, utf8>";

/// The text of a record with another name than its number has.
pub(super) const MISFIT: &str = "5";

/// What has to become of a record that is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fated {
    /// It is a row, in every sink.
    Row,
    /// It is in the rejects.
    Reject,
}

/// The lines of a request.
pub(super) struct Sent {
    pub(super) records: Vec<(Record, Fated)>,
    text: Vec<u8>,
    /// Line of the first.
    line: u64,
    /// Whether one bad record makes all of it refused.
    whole: bool,
}

impl Sent {
    /// Some lines of a connection, from a number on.
    pub(super) fn new(chance: &mut Chance, connection: u64, next: u64, nulls: bool) -> Self {
        let (mut records, mut text) = (Vec::new(), String::new());
        for number in next..next + chance.below(9) {
            let (name, end, fated) = match chance.below(20) {
                0 => (MISFIT.to_owned(), "}", if nulls { Fated::Row } else { Fated::Reject }),
                1 => (format!("\"{}\"", name(number)), "", Fated::Reject),
                _ => (format!("\"{}\"", name(number)), "}", Fated::Row),
            };
            let ids = format!("\"connection\":{connection},\"number\":{number}");
            text.push_str(&format!("{{{ids},\"name\":{name}{end}\n"));
            records.push(((connection, number), fated));
        }
        Self { records, text: text.into_bytes(), line: next + 1, whole: chance.one_of(2) }
    }

    /// The request, and how it is answered.
    pub(super) fn job(
        &mut self,
        stream: &Stream,
        memory: &Memory,
    ) -> (Job, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        let text = std::mem::take(&mut self.text);
        let mut grant = std::pin::pin!(memory.grant(1));
        let grant = match grant.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(grant) => grant.unwrap(),
            Poll::Pending => unreachable!("there is enough"),
        };
        let connection = self.records.first().map_or(0, |(id, _)| id.0);
        let sender = Arc::new(Sender { name: "model".into(), number: connection });
        let (line, whole, ticket) = (self.line, self.whole, Ticket::Request(reply));
        let job = Job::new(stream.compiled(), sender, Buffer::of(text, grant));
        (Job { line, whole, ticket, ..job }, answer)
    }

    /// Checks the answer against what was sent; returns whether the records are kept.
    pub(super) fn answered(&self, answer: &Answer) -> bool {
        let bad = self.records.iter().filter(|(_, fated)| *fated == Fated::Reject).count() as u64;
        assert_eq!(answer.records(), self.records.len() as u64);
        assert_eq!(answer.rejected(), bad, "{:?}", answer.fate());
        match answer.fate() {
            Fate::Stored => assert_eq!(bad, 0),
            Fate::Partly(_) => assert!(!self.whole),
            Fate::Refused(_) => assert!(self.whole),
            Fate::NotTaken => panic!("the directory refuses nothing"),
        }
        !matches!(answer.fate(), Fate::Refused(_))
    }
}

/// The name that goes with a number.
pub(super) fn name(number: u64) -> String {
    format!("value {}", number % 200)
}

/// The record in the text of a line.
pub(super) fn record(text: &str) -> Record {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let mut number = || numbers.next().unwrap().parse().unwrap();
    (number(), number())
}
