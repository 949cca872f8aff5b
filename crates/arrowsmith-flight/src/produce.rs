// SPDX-License-Identifier: Apache-2.0
//! Streams of messages: decoded ahead of the reader, a few messages at most, by threads that never
//! block on it.
//!
//! A stream is a task with a bounded queue. It decodes the next batch only when there is room for
//! its messages, on a thread of the blocking pool that it releases at once; a slow reader holds its
//! queue and its decoder's pages, and no thread. Before a stream decodes it reserves memory
//! ([`Governor`]); if there is none, it waits for its turn, as long as its client does. A reader
//! that takes nothing for the stall timeout is disconnected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrowsmith::Error;
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tonic::Status;

use crate::body::Segments;
use crate::dataset::{Batches, ipc};
use crate::encode::{Encoder, Message};
use crate::error::{status_of, unwound};
use crate::metrics::Metrics;
use crate::queue;

/// Memory is set aside in pieces of this size, in bytes.
const GRAIN_BYTES: u64 = 64 << 10;

/// The limits of all streams together.
pub(crate) struct Governor {
    memory: Arc<Semaphore>,
    memory_grains: u32,
    streams: Arc<Semaphore>,
    /// One permit for each batch that is being decoded.
    decoders: Arc<Semaphore>,
    cores: usize,
    stall: Duration,
    queue: usize,
    pub(crate) metrics: Arc<Metrics>,
}

/// The right to be a stream, and the memory that was set aside for it.
pub(crate) struct Admission {
    _stream: OwnedSemaphorePermit,
    _memory: Option<OwnedSemaphorePermit>,
    bytes: i64,
    metrics: Arc<Metrics>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.metrics.streams.dec();
        self.metrics.memory_bytes.sub(self.bytes);
    }
}

impl Governor {
    pub(crate) fn new(options: &crate::Options, metrics: Arc<Metrics>) -> Self {
        let grains = options.memory_bytes_max.div_ceil(GRAIN_BYTES).max(1);
        let grains = u32::try_from(grains).unwrap_or(u32::MAX).min(1 << 28);
        Self {
            memory: Arc::new(Semaphore::new(grains as usize)),
            memory_grains: grains,
            streams: Arc::new(Semaphore::new(options.streams_max)),
            decoders: Arc::new(Semaphore::new(options.cores())),
            cores: options.cores(),
            stall: options.stall_timeout,
            queue: options.queue_messages_max.max(1),
            metrics,
        }
    }

    /// Admits a stream that needs this much memory, when it is its turn.
    pub(crate) async fn admit(&self, bytes: u64) -> Result<Admission, Status> {
        let stream = Arc::clone(&self.streams)
            .try_acquire_owned()
            .map_err(|_| Status::resource_exhausted("too many streams at a time"))?;
        let grains = u32::try_from(bytes.div_ceil(GRAIN_BYTES)).unwrap_or(u32::MAX);
        let grains = grains.min(self.memory_grains);
        let memory = if grains == 0 {
            None
        } else {
            // Without a time limit: those before it end, or are disconnected. A client that gives
            // up drops this.
            let turn = Arc::clone(&self.memory).acquire_many_owned(grains).await;
            Some(turn.map_err(|_| Status::unavailable("the server ends"))?)
        };
        let bytes = i64::from(grains) * GRAIN_BYTES as i64;
        self.metrics.streams.inc();
        self.metrics.memory_bytes.add(bytes);
        Ok(Admission {
            _stream: stream,
            _memory: memory,
            bytes,
            metrics: Arc::clone(&self.metrics),
        })
    }

    /// Threads for a stream that begins now: all of them if it is alone.
    pub(crate) fn threads(&self) -> usize {
        let streams = usize::try_from(self.metrics.streams.get()).unwrap_or(1).max(1);
        (self.cores / streams).max(1)
    }
}

/// The parts of a stream.
pub(crate) enum Source {
    Batches(Batches, Origin),
    /// Stored messages.
    Messages(ipc::Messages),
}

/// Where batches come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They are there already.
    Memory,
    /// They have to be decoded, on one of the threads for that.
    Decoder,
    /// Their bytes are still to come from a client, for whom no decoder is kept.
    Client,
    /// A query makes them, on threads of its own, as long as it takes.
    Query,
}

/// One stream.
pub(crate) struct Production {
    pub(crate) dataset: String,
    pub(crate) source: Source,
    pub(crate) encoder: Encoder,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// The batches of a stream on their way through the blocking pool.
struct Work {
    batches: Batches,
    encoder: Encoder,
}

impl Work {
    /// The messages of the next batch; none at the end.
    fn step(&mut self) -> Result<Option<Vec<Message>>, Error> {
        match self.batches.next() {
            Some(batch) => Ok(Some(self.encoder.batch(&batch?)?)),
            None => Ok(None),
        }
    }
}

type Sender = queue::Sender<Message>;

impl Production {
    async fn run(mut self, governor: &Governor, sender: &Sender) -> Result<(), Status> {
        let internal = |error: arrow_schema::ArrowError| Status::internal(error.to_string());
        match self.source {
            Source::Messages(messages) => {
                let schema = Message::stored(messages.schema().clone(), bytes::Bytes::new());
                governor.send(sender, schema).await?;
                let mut messages = messages;
                loop {
                    // Room first, here too. Reading waits for the disk.
                    governor.room(sender).await?;
                    let task = tokio::task::spawn_blocking(move || {
                        let next = messages.next();
                        (messages, next)
                    });
                    let (back, next) =
                        task.await.map_err(|error| unwound(error, "the reader of this stream"))?;
                    messages = back;
                    let Some(message) = next else { return Ok(()) };
                    let (header, body) =
                        message.map_err(|error| status_of(&self.dataset, &error))?;
                    governor.send(sender, Message::stored(header, body)).await?;
                }
            }
            Source::Batches(batches, origin) => {
                for message in self.encoder.schema().map_err(internal)? {
                    governor.send(sender, message).await?;
                }
                let mut work = Work { batches, encoder: self.encoder };
                loop {
                    // Room first: nothing is decoded before it is requested.
                    governor.room(sender).await?;
                    let step = if origin == Origin::Memory {
                        work.step()
                    } else {
                        let permit = match origin {
                            Origin::Decoder => {
                                Arc::clone(&governor.decoders).acquire_owned().await.ok()
                            }
                            _ => None,
                        };
                        let task = tokio::task::spawn_blocking(move || {
                            let step = work.step();
                            drop(permit);
                            (work, step)
                        });
                        let (back, step) = task
                            .await
                            .map_err(|error| unwound(error, "the reader of this stream"))?;
                        work = back;
                        step
                    };
                    // Bytes that a client sent are his to mend, and not ours to have lost.
                    let fault = |error: Error| match origin {
                        Origin::Client => crate::service::exchange::invalid(&error),
                        _ => status_of(&self.dataset, &error),
                    };
                    match step.map_err(fault)? {
                        Some(messages) => {
                            for message in messages {
                                governor.send(sender, message).await?;
                            }
                        }
                        None => return Ok(()),
                    }
                }
            }
        }
    }
}

impl Governor {
    /// Waits until there is room in the queue.
    async fn room(&self, sender: &Sender) -> Result<(), Status> {
        match timeout(self.stall, sender.room()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Status::cancelled("the reader is gone")),
            Err(_) => {
                sender.clear();
                self.metrics.stalled.inc();
                Err(Status::aborted("cut off: nothing was taken for too long"))
            }
        }
    }

    async fn send(&self, sender: &Sender, message: Message) -> Result<(), Status> {
        self.room(sender).await?;
        self.metrics.bytes_sent.inc_by(message.bytes() as u64);
        self.metrics.messages_sent.inc();
        sender.push(message);
        Ok(())
    }
}

/// Ends the work of a stream when its reader is gone.
struct Ender(Arc<AtomicBool>);

impl Drop for Ender {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The messages of a stream. Dropping it stops the work.
pub(crate) fn messages(
    governor: &Arc<Governor>,
    admission: Admission,
    production: Production,
) -> BoxStream<'static, Result<Message, Status>> {
    let (sender, receiver) = queue::queue(governor.queue);
    let ender = Ender(Arc::clone(&production.cancel));
    let governor = Arc::clone(governor);
    let task = tokio::spawn(async move {
        let result = production.run(&governor, &sender).await;
        drop((sender, admission));
        result
    });
    // The status comes from the task itself: a queue that is full has no room for it.
    stream::unfold((receiver, Some(task), ender), |(mut receiver, task, ender)| async move {
        if let Some(message) = receiver.next().await {
            return Some((Ok(message), (receiver, task, ender)));
        }
        match task?.await {
            Ok(Ok(())) => None,
            Ok(Err(status)) => Some((Err(status), (receiver, None, ender))),
            Err(error) => Some((Err(unwound(error, "the stream")), (receiver, None, ender))),
        }
    })
    .boxed()
}

/// Messages as they go over the wire.
pub(crate) fn segments(
    messages: BoxStream<'static, Result<Message, Status>>,
) -> BoxStream<'static, Result<Segments, Status>> {
    let segments = messages.map(|message| {
        let segments = message?.into_segments();
        let too_large = || Status::out_of_range("a message is larger than gRPC can say");
        segments.map(Segments::new).ok_or_else(too_large)
    });
    segments.boxed()
}
