// SPDX-License-Identifier: Apache-2.0
//! [`Stages`]: what runs in a service, and how it ends: receivers first, then each stage when the
//! one before it has.
//!
//! What is put together, and listened on, is the service's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrowsmith_core::{Error, Result};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use crate::parse;
use crate::publish::order::Order;
use crate::publish::worker::{End, Sink};
use crate::stream::{Queue, Stream};

/// Time that tasks have to end that are not awaited, such as connections.
const SHUTDOWN_MAX: Duration = Duration::from_secs(1);

/// The tasks and threads of a service. Dropping them ends them without draining.
pub(crate) struct Stages {
    /// Gone at the end.
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
    pub(crate) queue: Arc<Queue>,
    /// Set when the shutdown may not take longer.
    pub(crate) give_up: Arc<AtomicBool>,
    streams: Vec<Arc<Stream>>,
    receivers: Vec<tokio::task::JoinHandle<()>>,
    parsers: Vec<JoinHandle<()>>,
    orders: Vec<JoinHandle<()>>,
    sinks: Vec<(String, JoinHandle<End>)>,
}

/// A name that threads have in tools that list them.
fn spawn<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("a thread: {error}"));
    thread::Builder::new().name(name).spawn(work).map_err(|error| failed(error).into())
}

impl Stages {
    /// Nothing runs yet; `threads` parsers will.
    pub(crate) fn new(threads: usize) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(thread::available_parallelism().map_or(2, std::num::NonZero::get))
            .thread_name("receive")
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
            stop: watch::channel(false).0,
            queue: Arc::new(Queue::new(threads)),
            give_up: Arc::default(),
            streams: Vec::new(),
            receivers: Vec::new(),
            parsers: Vec::new(),
            orders: Vec::new(),
            sinks: Vec::new(),
        })
    }

    /// The runtime that receivers and sinks share.
    ///
    /// # Errors
    /// When everything has ended.
    pub(crate) fn runtime(&self) -> Result<Handle> {
        let runtime = self.runtime.as_ref().map(|runtime| runtime.handle().clone());
        runtime.ok_or_else(|| Error::Config("the service has ended".to_owned()))
    }

    /// Becomes true when nothing is to be received any more.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    pub(crate) fn receive(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            self.receivers.push(runtime.spawn(task));
        }
    }

    /// Starts a parser that takes up to this much text at once, in bytes.
    pub(crate) fn parse(&mut self, bytes_max: usize) -> Result<()> {
        let queue = Arc::clone(&self.queue);
        let name = format!("parse-{}", self.parsers.len());
        self.parsers.push(spawn(name, move || parse::work(&queue, bytes_max))?);
        Ok(())
    }

    pub(crate) fn order(&mut self, order: Order) -> Result<()> {
        self.streams.push(Arc::clone(&order.stream));
        let (runtime, name) = (self.runtime()?, format!("order-{}", order.stream.name));
        self.orders.push(spawn(name, move || runtime.block_on(order.run()))?);
        Ok(())
    }

    pub(crate) fn publish(&mut self, sink: Sink) -> Result<()> {
        let runtime = self.runtime()?;
        let (thread, name) =
            (format!("sink-{}", sink.name), format!("{}/{}", sink.stream.name, sink.name));
        let work = move || runtime.block_on(sink.run());
        self.sinks.push((name, spawn(thread, work)?));
        Ok(())
    }

    /// Stops receiving, drains within this time, and ends. Does nothing if it has ended already.
    pub(crate) fn end(&mut self, limit: Duration) {
        let Some(runtime) = self.runtime.take() else { return };
        // No receiver is left when all have ended already.
        let _ = self.stop.send(true);
        let give_up = Arc::clone(&self.give_up);
        let watchdog = spawn("watchdog".to_owned(), move || {
            let until = Instant::now() + limit;
            while Instant::now() < until && !give_up.load(Ordering::Acquire) {
                thread::park_timeout(Duration::from_millis(100));
            }
            give_up.store(true, Ordering::Release);
        });
        if limit.is_zero() || watchdog.is_err() {
            self.give_up.store(true, Ordering::Release);
        }
        let receivers = std::mem::take(&mut self.receivers);
        let all = async {
            for receiver in receivers {
                if let Err(error) = receiver.await {
                    tracing::error!(%error, "a receiver failed");
                }
            }
        };
        // A timeout is made inside of the runtime.
        let ended = runtime.block_on(async { tokio::time::timeout(limit, all).await });
        if ended.is_err() {
            if !limit.is_zero() {
                tracing::error!("receivers did not end in time");
            }
            self.give_up.store(true, Ordering::Release);
        }
        for stream in &self.streams {
            stream.close();
        }
        self.queue.close();
        let parsers = std::mem::take(&mut self.parsers);
        let orders = std::mem::take(&mut self.orders);
        for thread in parsers.into_iter().chain(orders) {
            if thread.join().is_err() {
                tracing::error!("a thread failed");
            }
        }
        for (name, sink) in std::mem::take(&mut self.sinks) {
            match sink.join() {
                Ok(End { unpublished: 0 }) => {}
                Ok(End { unpublished }) => {
                    tracing::error!(sink = name, unpublished, "records were not published");
                }
                Err(_) => tracing::error!(sink = name, "the sink's thread failed"),
            }
        }
        self.give_up.store(true, Ordering::Release);
        if let Ok(watchdog) = watchdog {
            watchdog.thread().unpark();
            drop(watchdog.join());
        }
        runtime.shutdown_timeout(SHUTDOWN_MAX);
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}
