// SPDX-License-Identifier: Apache-2.0
//! The queue: who gets what, what is confirmed when, and what is held.

use super::*;

use std::time::SystemTime;

use arrow_array::{Int64Array, RecordBatch};
use arrowsmith_publish::{Compression, Layout, Message, Origin, StageTimes, encode};

/// A message with `rows` rows of one column, ascending from ten times the number.
pub(crate) fn message(sequence: u64, rows: i64) -> Message {
    let first = i64::try_from(sequence).unwrap() * 10;
    let column = Int64Array::from_iter_values(first..first + rows);
    let batch = RecordBatch::try_from_iter([("n", Arc::new(column) as _)]).unwrap();
    Message {
        stream: "s".into(),
        schema: batch.schema(),
        payload: encode(&batch, Layout::SelfContained, Compression::None).unwrap(),
        batch,
        sequence,
        origins: vec![Origin { connection: 1, first: sequence, last: sequence, rows: 1 }],
        key: None,
        received_at: SystemTime::UNIX_EPOCH,
        times: StageTimes::begin(Instant::now()),
    }
}

fn schema() -> FeedSchema {
    let schema = message(0, 0).schema;
    FeedSchema { frame: crate::frames::schema(&schema), schema }
}

/// A queue for this many messages.
fn feed(delivery: Delivery, messages: usize) -> Feed {
    Feed::new(delivery, messages * 10, 2, schema())
}

/// Flight data of ten bytes that say the number.
fn frames(sequence: u64) -> Vec<FlightData> {
    let body = format!("{sequence:010}");
    vec![FlightData { data_body: body.into(), ..FlightData::default() }]
}

fn push(feed: &Feed, sequence: u64) -> Option<Confirmation> {
    feed.push(sequence, frames(sequence)).ok()
}

fn next(feed: &Feed, id: u64) -> Result<u64, Next> {
    match feed.next(id, Instant::now()) {
        Next::Message(frames) => {
            Ok(std::str::from_utf8(&frames[0].data_body).unwrap().parse().unwrap())
        }
        other => Err(other),
    }
}

fn confirmed(confirmation: &mut Confirmation) -> bool {
    confirmation.try_recv().is_ok_and(|result| result.is_ok())
}

#[test]
fn a_message_is_confirmed_when_all_subscribers_have_taken_it_and_one_was_there() {
    let feed = feed(Delivery::Wait, 3);
    let mut first = push(&feed, 1).unwrap();
    let mut second = push(&feed, 2).unwrap();
    assert!(!confirmed(&mut first), "there is no subscriber");
    let (a, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    let (b, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    assert!(feed.subscribe(Start::Oldest, Instant::now()).is_none(), "two at most");
    assert_eq!(next(&feed, a).unwrap(), 1);
    assert_eq!(next(&feed, b).unwrap(), 1);
    assert!(!confirmed(&mut first), "perhaps still on its way");
    assert_eq!(next(&feed, a).unwrap(), 2);
    assert!(!confirmed(&mut first), "b has not requested more");
    assert_eq!(next(&feed, b).unwrap(), 2);
    assert!(confirmed(&mut first) && !confirmed(&mut second));
    assert!(matches!(next(&feed, a), Err(Next::Wait)));
    // The other one goes: that which a has taken is confirmed.
    feed.unsubscribe(b);
    assert!(confirmed(&mut second) && feed.is_idle());
}

#[test]
fn what_no_subscriber_took_waits_for_the_next_and_blocks_the_publisher() {
    let feed = feed(Delivery::Wait, 2);
    let (a, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    let mut first = push(&feed, 1).unwrap();
    push(&feed, 2).unwrap();
    assert!(push(&feed, 3).is_none(), "no room");
    assert_eq!(next(&feed, a).unwrap(), 1);
    feed.unsubscribe(a);
    assert!(!confirmed(&mut first), "it may not have got there");
    assert!(push(&feed, 3).is_none());
    let (b, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    assert_eq!(next(&feed, b).unwrap(), 1);
    assert_eq!(next(&feed, b).unwrap(), 2);
    assert!(confirmed(&mut first));
    assert!(push(&feed, 3).is_some());
    assert_eq!(next(&feed, b).unwrap(), 3);
}

#[test]
fn what_is_confirmed_is_held_for_others_while_there_is_room() {
    let feed = feed(Delivery::Wait, 3);
    let (a, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    for sequence in 1..=5 {
        push(&feed, sequence).unwrap();
        assert_eq!(next(&feed, a).unwrap(), sequence);
        assert!(matches!(next(&feed, a), Err(Next::Wait)));
    }
    let (b, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    // b still reads what it was promised, so there is no room, though all is confirmed.
    assert!(push(&feed, 6).is_none());
    assert_eq!(next(&feed, b).unwrap(), 3);
    assert!(push(&feed, 6).is_some());
    assert_eq!([4, 5, 6].map(|_| next(&feed, b).unwrap()), [4, 5, 6]);
}

#[test]
fn subscribers_begin_where_they_say() {
    for (start, expected) in [
        (Start::Oldest, vec![10, 20, 30, 40]),
        (Start::Now, vec![40]),
        (Start::After(20), vec![30, 40]),
        (Start::After(25), vec![30, 40]),
        (Start::After(9), vec![10, 20, 30, 40]),
        (Start::After(0), vec![]),
        (Start::After(u64::MAX), vec![40]),
    ] {
        let feed = feed(Delivery::Wait, 10);
        for sequence in [10, 20, 30] {
            push(&feed, sequence).unwrap();
        }
        let (id, _) = feed.subscribe(start, Instant::now()).unwrap();
        push(&feed, 40).unwrap();
        let found: Vec<u64> = std::iter::from_fn(|| next(&feed, id).ok()).collect();
        assert_eq!(found, expected, "{start:?}");
    }
}

#[test]
fn without_waiting_the_oldest_go_and_slow_subscribers_are_told() {
    let feed = feed(Delivery::Drop, 3);
    let (slow, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    for sequence in 1..=5 {
        assert!(confirmed(&mut push(&feed, sequence).unwrap()));
    }
    assert!(matches!(next(&feed, slow), Err(Next::Lost(2))));
    assert_eq!(feed.subscribers(), 0);
    let (late, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    assert_eq!([3, 4, 5].map(|_| next(&feed, late).unwrap()), [3, 4, 5]);
}

#[test]
fn a_message_larger_than_the_queue_goes_alone() {
    let feed = feed(Delivery::Wait, 1);
    let large = vec![FlightData { data_body: vec![0; 100].into(), ..FlightData::default() }];
    let mut confirmation = feed.push(1, large.clone()).unwrap();
    assert!(feed.push(2, large).is_err());
    let (a, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    assert!(matches!(feed.next(a, Instant::now()), Next::Message(_)));
    assert!(matches!(feed.next(a, Instant::now()), Next::Wait));
    assert!(confirmed(&mut confirmation) && push(&feed, 2).is_some());
}

#[test]
fn another_schema_ends_the_stream_after_the_last_message_of_the_old() {
    let feed = feed(Delivery::Wait, 10);
    let (a, old) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    let (idle, _) = feed.subscribe(Start::Now, Instant::now()).unwrap();
    let mut first = push(&feed, 1).unwrap();
    feed.unsubscribe(idle);
    feed.set_schema(schema());
    let mut second = push(&feed, 2).unwrap();
    assert_eq!(next(&feed, a).unwrap(), 1);
    assert!(matches!(next(&feed, a), Err(Next::End)));
    assert!(confirmed(&mut first) && !confirmed(&mut second));
    let (b, new) = feed.subscribe(Start::After(1), Instant::now()).unwrap();
    assert!(!Arc::ptr_eq(&old, &new));
    assert_eq!(next(&feed, b).unwrap(), 2);
    // One that waits hears of a new schema without a message of it.
    assert!(matches!(next(&feed, b), Err(Next::Wait)));
    assert!(confirmed(&mut second));
    feed.set_schema(schema());
    assert!(matches!(next(&feed, b), Err(Next::End)));
}

#[test]
fn one_that_hangs_is_cut_off_and_one_that_waits_is_not() {
    let feed = feed(Delivery::Wait, 10);
    let begin = Instant::now();
    let (hangs, _) = feed.subscribe(Start::Oldest, begin).unwrap();
    let (waits, _) = feed.subscribe(Start::Oldest, begin).unwrap();
    let mut first = push(&feed, 1).unwrap();
    assert!(matches!(feed.next(waits, begin), Next::Message(_)));
    assert!(matches!(feed.next(waits, begin), Next::Wait));
    let timeout = Duration::from_secs(60);
    assert_eq!(feed.cut_stalled(begin + Duration::from_secs(59), timeout), 0);
    assert!(!confirmed(&mut first));
    assert_eq!(feed.cut_stalled(begin + Duration::from_secs(60), timeout), 1);
    assert!(confirmed(&mut first));
    assert!(matches!(feed.next(hangs, begin), Next::Stalled));
    assert!(matches!(feed.next(waits, begin), Next::Wait));
}

#[test]
fn the_end_comes_after_what_there_is_and_what_is_left_is_given_back() {
    let feed = feed(Delivery::Wait, 10);
    let (a, _) = feed.subscribe(Start::Oldest, Instant::now()).unwrap();
    let mut first = push(&feed, 1).unwrap();
    feed.close();
    assert!(!feed.is_idle());
    assert_eq!(next(&feed, a).unwrap(), 1);
    assert!(matches!(next(&feed, a), Err(Next::End)));
    assert!(confirmed(&mut first) && feed.is_idle());
    let mut second = push(&feed, 2).unwrap();
    feed.give_up();
    assert!(matches!(second.try_recv(), Ok(Err(PublishError::Retry { .. }))));
    assert!(feed.is_idle());
}

#[test]
fn what_is_no_longer_held_is_said_to_be_lost() {
    let feed = feed(Delivery::Drop, 2);
    let start = |start| feed.subscribe(start, Instant::now()).unwrap().0;
    // Nothing has come yet: the first message tells whether it is the next one.
    let (early, late) = (start(Start::After(9)), start(Start::After(3)));
    assert!(matches!(next(&feed, early), Err(Next::Wait)));
    assert!(matches!(next(&feed, late), Err(Next::Wait)));
    push(&feed, 10).unwrap();
    assert_eq!(next(&feed, early).unwrap(), 10);
    assert!(matches!(next(&feed, late), Err(Next::Gone(3))));
    feed.unsubscribe(early);
    for number in [11, 12, 15] {
        push(&feed, number).unwrap();
    }
    // 12 and 15 are held; numbers that are missing between were never messages of this stream.
    for (after, expected) in [(11, Some(12)), (12, Some(15)), (13, Some(15)), (10, None), (3, None)]
    {
        let id = start(Start::After(after));
        match expected {
            Some(number) => assert_eq!(next(&feed, id).unwrap(), number, "after {after}"),
            None => assert!(matches!(next(&feed, id), Err(Next::Gone(_))), "after {after}"),
        }
        feed.unsubscribe(id);
    }
    let id = start(Start::Oldest);
    assert_eq!(next(&feed, id).unwrap(), 12);
}
