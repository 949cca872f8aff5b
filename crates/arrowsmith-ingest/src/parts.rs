// SPDX-License-Identifier: Apache-2.0
//! Parts of the service by themselves, for measurements: receiving, converting, the queues, a sink.
//!
//! The parts are those of the service, with the minimum around them. `examples/parts.rs` is the
//! program; nothing of the service uses this. It is here and not with the benchmarks because it
//! drives what is private, and compiled with the feature `parts` only.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arrowsmith_core::{Error, PADDING_BYTES, Result};
use arrowsmith_publish::{Slots, StageTimes};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};

use crate::config::{Config, LimitsConfig, StreamConfig};
use crate::job::{Draft, Job, Parsed, Sender};
use crate::memory::{Buffer, CHUNK_BYTES, Memory};
use crate::observe::metrics::Metrics;
use crate::parse::{self, Decoders};
use crate::publish::sinks::{Needs, SinkConfig};
use crate::receive::{Common, tcp};
use crate::sequence::Sequence;
use crate::stream::{Queue, Stream};

/// Memory for text, in bytes.
const MEMORY_BYTES: usize = 64 << 20;

/// Arrow data that is made before a sink is measured, and published again and again, in bytes.
const PREPARED_BYTES: usize = 64 << 20;

/// What a part did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// From the first to the last.
    pub seconds: f64,
    /// Bytes of text; of payload for a sink.
    pub bytes: u64,
    /// Buffers, batches, or messages.
    pub units: u64,
    /// Times of each unit by name, sorted, in seconds.
    pub times: Vec<(&'static str, Vec<f64>)>,
}

impl Outcome {
    fn new(started: Instant, bytes: u64, times: Vec<(&'static str, Vec<Duration>)>) -> Self {
        let seconds = started.elapsed().as_secs_f64();
        let units = times.first().map_or(0, |(_, all)| all.len() as u64);
        let sorted = |all: Vec<Duration>| {
            let mut all: Vec<f64> = all.iter().map(Duration::as_secs_f64).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let times = times.into_iter().map(|(name, all)| (name, sorted(all))).collect();
        Self { seconds, bytes, units, times }
    }
}

/// A stream whose jobs are taken from `queue`, and their results from the channel.
struct Parts {
    runtime: Runtime,
    metrics: Arc<Metrics>,
    queue: Arc<Queue>,
    stream: Arc<Stream>,
    results: mpsc::Receiver<oneshot::Receiver<Parsed>>,
}

impl Parts {
    fn new(stream: &StreamConfig, threads: usize) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let metrics = Arc::new(Metrics::new()?);
        let queue = Arc::new(Queue::new(threads));
        let counts = metrics.stream("parts");
        let (stream, results) =
            Stream::new("parts", &Config::default(), stream.clone(), counts, Arc::clone(&queue))?;
        Ok(Self { runtime, metrics, queue, stream, results })
    }

    fn memory(&self) -> Arc<Memory> {
        Memory::new(MEMORY_BYTES, self.metrics.memory_bytes.clone())
    }
}

/// Takes the results of jobs that no parser sees, in order, until the stream is closed; returns the
/// times from the hand-over of each to here.
fn empty(
    queue: &Arc<Queue>,
    stream: &Arc<Stream>,
    mut results: mpsc::Receiver<oneshot::Receiver<Parsed>>,
) -> (thread::JoinHandle<Vec<Instant>>, thread::JoinHandle<Vec<Instant>>) {
    let (queue, stream) = (Arc::clone(queue), Arc::clone(stream));
    let taker = thread::spawn(move || {
        let mut queued = Vec::new();
        while let Some(group) = queue.take(0) {
            for entry in group {
                queued.push(entry.job.queued);
                // No receiver is left once the stream is closed.
                drop(entry.reply.send(Parsed::default()));
            }
        }
        queued
    });
    let order = thread::spawn(move || {
        let mut arrived = Vec::new();
        while let Some(result) = results.blocking_recv() {
            if result.blocking_recv().is_ok() {
                arrived.push(Instant::now());
                stream.passed();
            }
        }
        arrived
    });
    (taker, order)
}

/// From the hand-over of each job to its place in the order.
fn waits(
    taker: thread::JoinHandle<Vec<Instant>>,
    order: thread::JoinHandle<Vec<Instant>>,
) -> Result<Vec<Duration>> {
    let failed = |_| Error::Config("a thread failed".to_owned());
    let (queued, arrived) = (taker.join().map_err(failed)?, order.join().map_err(failed)?);
    Ok(queued.iter().zip(&arrived).map(|(from, to)| to.duration_since(*from)).collect())
}

/// Receives `text` again and again over connections from this process, about `bytes` together, and
/// throws it away.
///
/// # Errors
/// For an invalid schema, and when there is no loopback.
pub fn client(
    stream: &StreamConfig,
    text: &[u8],
    bytes: u64,
    connections: usize,
) -> Result<Outcome> {
    let parts = Parts::new(stream, 1)?;
    let (stop, stopped) = watch::channel(false);
    let common = Arc::new(Common {
        limits: LimitsConfig::default(),
        memory: parts.memory(),
        growing: parts.memory(),
        metrics: Arc::clone(&parts.metrics),
        numbers: Sequence::begin(),
        arrow: parts.memory(),
        lines_slots: Slots::new(connections),
        http_slots: Slots::new(connections),
        stop: stopped,
    });
    let listener = parts.runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let listening =
        parts.runtime.spawn(tcp::listen(common, Arc::clone(&parts.stream), listener, None));
    let (taker, order) = empty(&parts.queue, &parts.stream, parts.results);
    let each = bytes / connections.max(1) as u64;
    let started = Instant::now();
    let sent = thread::scope(|scope| {
        let senders: Vec<_> = (0..connections)
            .map(|_| {
                scope.spawn(move || -> std::io::Result<u64> {
                    let mut socket = TcpStream::connect(address)?;
                    let mut sent = 0;
                    while sent < each {
                        socket.write_all(text)?;
                        sent += text.len() as u64;
                    }
                    // Closed by the other side once it has taken everything.
                    socket.shutdown(Shutdown::Write)?;
                    std::io::copy(&mut socket, &mut std::io::sink())?;
                    Ok(sent)
                })
            })
            .collect();
        senders.into_iter().try_fold(0, |sum, sender| match sender.join() {
            Ok(sent) => sent.map(|sent| sum + sent),
            Err(_) => Err(std::io::Error::other("a sender failed")),
        })
    })?;
    // It takes what the system still holds before it ends. No receiver is left when the listener
    // has ended already.
    let _: std::result::Result<(), _> = stop.send(true);
    drop(parts.runtime.block_on(listening));
    parts.stream.close();
    parts.queue.close();
    let waits = waits(taker, order)?;
    Ok(Outcome::new(started, sent, vec![("hand-over to order", waits)]))
}

/// A job of the service, of whole lines.
fn job(stream: &Stream, memory: &Memory, runtime: &Runtime, text: &[u8]) -> Result<Job> {
    let grant = runtime.block_on(memory.grant(text.len() + PADDING_BYTES));
    let grant = grant.ok_or_else(|| Error::Config("a record is larger than memory".to_owned()))?;
    let sender = Arc::new(Sender { name: "parts".into(), number: 1 });
    Ok(Job::new(stream.compiled(), sender, Buffer::of(text.to_vec(), grant)))
}

/// Text in pieces of whole lines, of the size that receivers hand over.
fn pieces(mut text: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let most = text.len().min(CHUNK_BYTES);
        let end = memchr::memrchr(b'\n', &text[..most])
            .or_else(|| memchr::memchr(b'\n', text))
            .map_or(text.len(), |at| at + 1);
        let (piece, rest) = text.split_at(end);
        pieces.push(piece);
        text = rest;
    }
    pieces
}

/// Parses, splits and serializes `text` again and again, about `bytes` together, on some threads,
/// each for itself.
///
/// # Errors
/// For an invalid schema.
pub fn convert(stream: &StreamConfig, text: &[u8], bytes: u64, threads: usize) -> Result<Outcome> {
    let parts = Parts::new(stream, threads)?;
    let mut needs = Needs { payload: true, message_bytes_max: usize::MAX };
    for sink in &stream.sinks {
        needs = needs.and(sink.needs());
    }
    *parts.stream.needs.write().unwrap_or_else(PoisonError::into_inner) = needs;
    let memory = parts.memory();
    let pieces = pieces(text);
    let each = bytes / threads.max(1) as u64;
    let started = Instant::now();
    let work = || -> Result<(u64, Vec<StageTimes>)> {
        let mut decoders = Decoders::new();
        let (mut done, mut times) = (0, Vec::new());
        for piece in pieces.iter().cycle() {
            if done >= each {
                break;
            }
            done += piece.len() as u64;
            let job = job(&parts.stream, &memory, &parts.runtime, piece)?;
            let parsed = parse::parse(&mut decoders, &parts.stream, vec![job]);
            times.extend(parsed.received.map(|received| received.times));
        }
        Ok((done, times))
    };
    let all: Result<Vec<_>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        ended.map(|end| end.map_err(|_| Error::Config("a thread failed".to_owned()))?).collect()
    });
    let (mut done, mut times) = (0, Vec::new());
    for (one, its) in all? {
        done += one;
        times.extend(its);
    }
    let by = |stage: fn(&StageTimes) -> Duration| times.iter().map(stage).collect();
    let stages = vec![
        ("parse", by(|times| times.parse)),
        ("resize", by(|times| times.resize)),
        ("serialize", by(|times| times.serialize)),
    ];
    Ok(Outcome::new(started, done, stages))
}

/// Brings buffers of one record through the queues from receivers to parsers and back into their
/// order.
///
/// # Errors
/// For an invalid schema.
pub fn queue(stream: &StreamConfig, record: &[u8], count: u64) -> Result<Outcome> {
    let parts = Parts::new(stream, 1)?;
    let memory = parts.memory();
    let (taker, order) = empty(&parts.queue, &parts.stream, parts.results);
    let started = Instant::now();
    for _ in 0..count {
        let job = job(&parts.stream, &memory, &parts.runtime, record)?;
        parts.runtime.block_on(parts.stream.submit(job));
    }
    parts.stream.close();
    parts.queue.close();
    let waits = waits(taker, order)?;
    Ok(Outcome::new(started, count * record.len() as u64, vec![("hand-over to order", waits)]))
}

/// Publishes messages made of `text` again and again, `count` together, with as many on their way
/// as the stream's first sink takes.
///
/// # Errors
/// For an invalid schema, a stream without a sink, and errors of the sink: nothing is retried.
pub fn publish(stream: &StreamConfig, text: &[u8], count: u64) -> Result<Outcome> {
    let parts = Parts::new(stream, 1)?;
    let config = stream.sinks.first();
    let config = config.ok_or_else(|| Error::Config("there is no sink".to_owned()))?;
    let drafts = drafts(&parts, config, text)?;
    let schema = Arc::clone(&parts.stream.compiled().schema);
    let failed = |error: arrowsmith_publish::PublishError| Error::Config(error.to_string());
    let metrics = parts.metrics.sink(&parts.stream.name, "publish");
    parts.runtime.block_on(async {
        let mut sink = config.open(&parts.stream.name, schema, &metrics).await.map_err(failed)?;
        let numbers = Sequence::begin();
        let mut in_flight = VecDeque::new();
        let (mut bytes, mut times) = (0, Vec::new());
        let started = Instant::now();
        for draft in drafts.iter().cycle().zip(0..count).map(|(draft, _)| draft) {
            while in_flight.len() >= sink.in_flight_max().max(1)
                && let Some((sent, receipt)) = in_flight.pop_front()
            {
                let (sent, receipt): (Instant, arrowsmith_publish::Receipt) = (sent, receipt);
                receipt.await.map_err(failed)?;
                times.push(sent.elapsed());
            }
            let message = draft.clone().message(&parts.stream.name, numbers.next(), None);
            bytes += match message.payload.len() {
                0 => message.batch.get_array_memory_size() as u64,
                len => len as u64,
            };
            let sent = Instant::now();
            in_flight.push_back((sent, sink.publish(&message).await.map_err(failed)?));
        }
        sink.flush().await.map_err(failed)?;
        for (sent, receipt) in in_flight {
            receipt.await.map_err(failed)?;
            times.push(sent.elapsed());
        }
        let outcome = Outcome::new(started, bytes, vec![("publish to receipt", times)]);
        sink.close().await.map_err(failed)?;
        Ok(outcome)
    })
}

fn drafts(parts: &Parts, sink: &SinkConfig, text: &[u8]) -> Result<Vec<Draft>> {
    *parts.stream.needs.write().unwrap_or_else(PoisonError::into_inner) = sink.needs();
    let (memory, mut decoders) = (parts.memory(), HashMap::new());
    let (mut drafts, mut bytes) = (Vec::new(), 0);
    for piece in pieces(text) {
        let job = job(&parts.stream, &memory, &parts.runtime, piece)?;
        for draft in parse::parse(&mut decoders, &parts.stream, vec![job]).drafts {
            bytes += draft.batch.get_array_memory_size();
            drafts.push(draft);
        }
        if bytes >= PREPARED_BYTES {
            break;
        }
    }
    if drafts.is_empty() {
        return Err(Error::Config("the text has no good record".to_owned()));
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_does_all_that_it_is_asked_to() {
        let folder = tempfile::tempdir().unwrap();
        let sinks = vec![SinkConfig::directory(folder.path().join("out").to_str().unwrap())];
        let schema = "n: int64".to_owned();
        let config = StreamConfig { schema, sinks, ..StreamConfig::default() };
        let text: String = (0..200_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
        let text = text.as_bytes();
        let twice = 2 * text.len() as u64;

        let got = client(&config, text, twice, 2).unwrap();
        assert_eq!(got.bytes, twice);
        assert!(got.units > 0 && got.seconds > 0.0);

        let got = convert(&config, text, twice, 2).unwrap();
        assert!(got.bytes >= twice && got.times.len() == 3);
        assert_eq!(got.times[0].1.len() as u64, got.units);

        assert_eq!(queue(&config, b"{\"n\":1}\n", 1000).unwrap().units, 1000);

        let got = publish(&config, text, 7).unwrap();
        assert_eq!((got.units, got.times[0].1.len()), (7, 7));
        let files = std::fs::read_dir(folder.path().join("out")).unwrap();
        let named = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().path().extension().is_some_and(|end| end == "arrow")
        };
        assert_eq!(files.map(named).filter(|is| *is).count(), 1);
    }
}
